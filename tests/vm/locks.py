# SPDX-License-Identifier: BSD-2-Clause
"""locks.py count fcntl|flock FILE N: adds one to the number in FILE, N times, each under a lock.
locks.py hold fcntl|flock FILE FLAG: takes a lock, makes FLAG, and holds it until FLAG is removed.
locks.py try fcntl|flock FILE: exit status 0 if the lock is free."""
import fcntl
import os
import sys
import time


def lock(f, kind, how):
    (fcntl.lockf if kind == "fcntl" else fcntl.flock)(f, how)


def count(kind, path, n):
    fd = os.open(path, os.O_RDWR)
    for _ in range(n):
        lock(fd, kind, fcntl.LOCK_EX)
        number = int(os.pread(fd, 20, 0) or b"0")
        os.pwrite(fd, b"%d\n" % (number + 1), 0)
        lock(fd, kind, fcntl.LOCK_UN)


def hold(kind, path, flag):
    fd = os.open(path, os.O_RDWR)
    lock(fd, kind, fcntl.LOCK_EX)
    with open(flag, "w", encoding="ascii"):
        pass
    while os.path.exists(flag):
        time.sleep(0.1)


def main():
    what, kind, path = sys.argv[1:4]
    if what == "count":
        count(kind, path, int(sys.argv[4]))
    elif what == "hold":
        hold(kind, path, sys.argv[4])
    else:
        try:
            lock(os.open(path, os.O_RDWR), kind, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(1)


main()
