#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""works.py WORK DIR: does that work in DIR, a folder of a mount, and prints a line: milliseconds, then a result.
The result is a digest of all that was read, the same for every right path to the same server; or "error" and why.
works.py prepare DIR: makes what works read that do not write first.
works.py: the names of all works."""
import errno
import fcntl
import hashlib
import mmap
import os
import random
import shutil
import struct
import subprocess
import sys
import time

PATTERN = random.Random(39).randbytes(8 << 20)  # the contents of all files
POWERS = [4096 << n for n in range(11)]  # to 4 MiB
NEIGHBOURS = (-5, -3, -2, -1, 0, 1, 5)  # of files
PAGES = mmap.mmap(-1, 8 << 20)  # direct I/O wants memory of its own pages
READ_OF_A_MIB_LESS_ONE = (1 << 20) - 1
COUNTS = sorted({(1 << power) + n for power in range(23) for n in range(-5, 6)} - set(range(-5, 1)))  # of READs, to 4 MiB
FICLONE, FICLONERANGE = 0x40049409, 0x4020940D
STRESSORS = {"hdd": 20, "rename": 50, "dentry": 100, "seek": 50, "utime": 20}


class Wrong(Exception):
    """What was read is not what was written."""


def same(what, got, want):
    if got != want:
        raise Wrong(f"{what}: {len(got)} octets instead of {len(want)}, or others")


def drop_caches():
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as f:
        f.write("3")


def contents(size):
    return PATTERN[size % 4096 :][:size]


def write_file(path, data, flags=0):
    fd = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | flags, 0o644)
    view, done = memoryview(data), 0
    if flags & os.O_DIRECT:
        PAGES[: len(data)] = data
        view = memoryview(PAGES)
    while done < len(data):
        done += os.write(fd, view[done : len(data)])
    os.fsync(fd)
    os.close(fd)


def read_direct(fd, count, offset=0):
    """One read of that count, as often as a short result asks for another."""
    done = 0
    while done < count:
        n = os.preadv(fd, [memoryview(PAGES)[done:count]], offset + done)
        if n == 0:
            break
        done += n
    return PAGES[:done]


def all_sizes():
    return [power + n for power in POWERS for n in NEIGHBOURS]


def written(there, flags):
    for size in all_sizes():
        write_file(f"{there}/{size}", contents(size), flags)


def read_back(there, flags):
    """Of what is there: lengths and contents."""
    drop_caches()
    told = hashlib.sha256()
    for size in all_sizes():
        fd = os.open(f"{there}/{size}", os.O_RDONLY | flags)
        data = read_direct(fd, size + 1)
        os.close(fd)
        same(f"{size} octets", data, contents(size))
        told.update(data)
    return told.hexdigest()


def work_write_direct(there):
    written(there, os.O_DIRECT)
    return read_back(there, 0)


def work_write_buffered(there):
    written(there, 0)
    return read_back(there, 0)


def beside(there, name):
    return os.path.join(os.path.dirname(there), name)


def prepare(top):
    """What the works read that do not write first: files of all sizes, and a folder of 5,000 names."""
    shutil.rmtree(top, ignore_errors=True)
    os.makedirs(f"{top}/.sizes")
    os.mkdir(f"{top}/.names")
    written(f"{top}/.sizes", 0)
    write_file(f"{top}/.sizes/long", PATTERN)
    for n in range(5000):
        os.close(os.open(f"{top}/.names/a-name-of-some-length-{n:05}", os.O_CREAT | os.O_WRONLY))


def work_read_direct(there):
    return read_back(beside(there, ".sizes"), os.O_DIRECT)


def work_read_buffered(there):
    return read_back(beside(there, ".sizes"), 0)


def work_read_counts(there):
    """READs of these counts out of a longer file, at offsets without a common divisor."""
    fd = os.open(f"{beside(there, '.sizes')}/long", os.O_RDONLY | os.O_DIRECT)
    told = hashlib.sha256()
    for count in COUNTS:
        offset = count % 977
        data = read_direct(fd, count, offset)
        same(f"READ of {count}", data, PATTERN[offset : offset + count])
        told.update(data)
    os.close(fd)
    return told.hexdigest()


def work_read_1048575(there):
    fd = os.open(f"{beside(there, '.sizes')}/{READ_OF_A_MIB_LESS_ONE}", os.O_RDONLY | os.O_DIRECT)
    told = hashlib.sha256()
    for _ in range(10):
        data = read_direct(fd, READ_OF_A_MIB_LESS_ONE)
        same("READ", data, contents(READ_OF_A_MIB_LESS_ONE))
        told.update(data)
    os.close(fd)
    return told.hexdigest()


def listed(there):
    drop_caches()
    names = sorted((entry.name, entry.stat(follow_symlinks=False).st_size) for entry in os.scandir(there))
    return hashlib.sha256(repr(names).encode()).hexdigest() + f" {len(names)}"


def work_readdir_5000(there):
    return listed(beside(there, ".names"))


def work_small_files(there):
    for n in range(300):
        write_file(f"{there}/{n}", contents(17 * n + 1))
    drop_caches()
    told = hashlib.sha256()
    for n in range(300):
        with open(f"{there}/{n}", "rb") as f:
            data = f.read()
        same(f"file {n}", data, contents(17 * n + 1))
        told.update(data)
    for n in range(0, 300, 2):
        os.remove(f"{there}/{n}")
    return told.hexdigest() + listed(there)


def links(there, lengths):
    for n in lengths:
        os.symlink("x" * n, f"{there}/{n}")
    drop_caches()
    for n in lengths:
        same(f"a link of {n}", os.readlink(f"{there}/{n}"), "x" * n)
    return repr(lengths)


def work_readlink(there):
    return links(there, (1, 2, 3, 4, 5, 100, 254, 255))


def work_readlink_1023(there):
    return links(there, (500, 1000, 1021, 1022, 1023))


def work_readlink_4095(there):
    """XFS has none of these."""
    return links(there, (1025, 2000, 4094, 4095))


def work_names(there):
    """Rename, link, remove, truncate, times, rights, and names up to the longest."""
    write_file(f"{there}/a", contents(100000))
    os.link(f"{there}/a", f"{there}/b")
    os.rename(f"{there}/a", f"{there}/c")
    os.mkdir(f"{there}/d")
    os.rename(f"{there}/b", f"{there}/d/b")
    for n in (1, 2, 3, 4, 5, 254, 255):
        write_file(f"{there}/" + "n" * n, b"")
    os.truncate(f"{there}/c", 99999)
    os.chmod(f"{there}/c", 0o640)
    os.utime(f"{there}/c", (1000, 2000))
    os.mkfifo(f"{there}/pipe")
    with open(f"{there}/sparse", "wb") as f:
        f.seek(3 << 20)
        f.write(b"end")
    told = []
    try:
        os.mkdir(f"{there}/d")
    except OSError as e:
        told.append(errno.errorcode[e.errno])
    try:
        os.rmdir(f"{there}/d")
    except OSError as e:
        told.append(errno.errorcode[e.errno])
    drop_caches()
    s = os.stat(f"{there}/c")
    with open(f"{there}/sparse", "rb") as f:
        told.append(hashlib.sha256(f.read()).hexdigest())
    same("what was renamed", open(f"{there}/d/b", "rb").read(), contents(100000)[:99999])
    # Linux 7.3 with delegated attributes loses times that utimensat() has set. Others are those of now.
    kept = (int(s.st_atime) == 1000, int(s.st_mtime) == 2000)
    return repr(told + [s.st_mode, s.st_nlink, s.st_size, kept]) + listed(there)


def work_locks(there):
    """Each lock is asked for at the server; a second process of the same client is told of it."""
    path = f"{there}/locked"
    write_file(path, contents(1000))
    told = []
    for begin in range(0, 1000, 50):
        fd = os.open(path, os.O_RDWR)
        fcntl.lockf(fd, fcntl.LOCK_EX, 25, begin)
        child = os.fork()
        if child == 0:
            other = os.open(path, os.O_RDWR)
            free = []
            for where in (begin, begin + 24, begin + 25):
                try:
                    fcntl.lockf(other, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, where)
                    free.append(where)
                except OSError:
                    pass
            os._exit(0 if free == [begin + 25] else 1)
        told.append(os.waitpid(child, 0)[1])
        os.pwrite(fd, b"%03d" % begin, begin)
        fcntl.lockf(fd, fcntl.LOCK_UN)
        os.close(fd)
    if any(told):
        raise Wrong("a lock was not kept")
    drop_caches()
    return hashlib.sha256(open(path, "rb").read()).hexdigest()


def work_xattr(there):
    path = f"{there}/attributed"
    write_file(path, b"text")
    told = []
    for n in (0, 1, 3, 5, 100, 1000, 2000):
        os.setxattr(path, f"user.of-{n}", contents(n))
    drop_caches()
    for name in sorted(os.listxattr(path)):
        if name.startswith("user."):
            told.append((name, hashlib.sha256(os.getxattr(path, name)).hexdigest()))
    os.removexattr(path, "user.of-100")
    return repr(told) + repr(sorted(n for n in os.listxattr(path) if n.startswith("user.")))


def work_acl(there):
    """Version 4's ACL as the server gives it, set again; version 3's of POSIX."""
    path = f"{there}/listed"
    write_file(path, b"text")
    try:
        acl, name = os.getxattr(path, "system.nfs4_acl"), "system.nfs4_acl"
    except OSError:
        entries = [(1, 6, -1), (2, 4, 1000), (4, 4, -1), (16, 4, -1), (32, 0, -1)]  # user, user 1000, group, mask, others
        acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *e) for e in entries)
        name = "system.posix_acl_access"
    os.setxattr(path, name, acl)
    drop_caches()
    return hashlib.sha256(os.getxattr(path, name)).hexdigest()


def work_sparse(there):
    """Holes before, between and behind data, read through the page cache and directly."""
    fd = os.open(f"{there}/holes", os.O_CREAT | os.O_RDWR)
    for n, offset in enumerate((4095, 70000, 1 << 20, (2 << 20) - 3, 3 << 20)):
        os.pwrite(fd, contents(1000 * n + 1), offset)
    os.ftruncate(fd, (4 << 20) + 1)
    os.fsync(fd)
    os.close(fd)
    told = []
    for flags in (0, os.O_DIRECT):
        drop_caches()
        fd = os.open(f"{there}/holes", os.O_RDONLY | flags)
        told.append(hashlib.sha256(read_direct(fd, 5 << 20)).hexdigest())
        os.close(fd)
    same("what is read directly", told[1], told[0])
    return told[0]


def work_copy(there):
    """COPY where the version has it; else the client reads and writes."""
    write_file(f"{there}/from", PATTERN)
    a, b = os.open(f"{there}/from", os.O_RDONLY), os.open(f"{there}/to", os.O_CREAT | os.O_RDWR)
    done = 0
    while done < len(PATTERN):
        done += os.copy_file_range(a, b, len(PATTERN) - done)
    os.close(a)
    os.close(b)
    drop_caches()
    with open(f"{there}/to", "rb") as f:
        same("the copy", f.read(), PATTERN)
    return "copied"


def work_clone(there):
    """CLONE of a whole file, and of a part of it; each of both is changed alone then."""
    write_file(f"{there}/from", PATTERN)
    a, b = os.open(f"{there}/from", os.O_RDWR), os.open(f"{there}/to", os.O_CREAT | os.O_RDWR)
    fcntl.ioctl(b, FICLONE, a)
    os.pwrite(b, b"changed", 4095)
    fcntl.ioctl(b, FICLONERANGE, struct.pack("qQQQ", a, 1 << 20, 2 << 20, 6 << 20))
    os.pwrite(a, b"too late", 0)
    os.fsync(a)
    os.fsync(b)
    os.close(a)
    os.close(b)
    drop_caches()
    want = bytearray(PATTERN)
    want[4095:4102] = b"changed"
    want[6 << 20 : 8 << 20] = PATTERN[1 << 20 : 3 << 20]
    with open(f"{there}/to", "rb") as f:
        same("the clone", f.read(), bytes(want))
    with open(f"{there}/from", "rb") as f:
        same("the source", f.read(), b"too late" + PATTERN[8:])
    return "cloned"


def work_exercise(there):
    """Reads, writes, truncations and mappings of one file at random places, each compared with what the file should have."""
    draw, path, want = random.Random(1), f"{there}/exercised", bytearray()
    longest = 1 << 20
    fd = os.open(path, os.O_CREAT | os.O_RDWR)
    for step in range(600):
        what, offset = draw.randrange(8), draw.randrange(longest)
        count = draw.randrange(1, draw.choice((10, 5000, 200000)))
        count = min(count, longest - offset)
        if what < 3:
            data = PATTERN[step * 1000 :][:count]
            os.pwrite(fd, data, offset)
            want.extend(bytes(max(0, offset - len(want))))
            want[offset : offset + count] = data
        elif what == 3:
            os.ftruncate(fd, offset)
            del want[offset:]
            want.extend(bytes(offset - len(want)))
        elif what == 4 and want:
            with mmap.mmap(fd, len(want)) as view:
                at = offset % len(want)
                data = PATTERN[step * 999 :][: min(count, len(want) - at)]
                view[at : at + len(data)] = want[at : at + len(data)] = data
        elif what == 5:
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)
            fd = os.open(path, os.O_RDWR)
        same(f"step {step}", os.pread(fd, count, offset), bytes(want[offset : offset + count]))
    os.close(fd)
    drop_caches()
    with open(path, "rb") as f:
        same("what was exercised", f.read(), bytes(want))
    return hashlib.sha256(want).hexdigest()


def suite(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise Wrong(" ".join(done.stdout.split())[-300:] or str(done.returncode))
    return "no error"


def work_dbench(there):
    return suite("dbench", "-D", there, "-c", "/usr/share/dbench/client.txt", "-t", "3", "2")


def work_stress_ng(there):
    """Its stressors of files, each so often, with what it verifies of them itself."""
    stressors = []
    for name, often in STRESSORS.items():
        stressors += [f"--{name}", "1", f"--{name}-ops", str(often)]
    return suite("stress-ng", "--temp-path", there, "--verify", "--hdd-bytes", "4M", "--timeout", "120", *stressors)


def work_statfs(there):
    s = os.statvfs(there)
    return repr((s.f_bsize, s.f_blocks > 0, s.f_namemax))


def main():
    if len(sys.argv) == 1:
        print("\n".join(name[5:] for name in globals() if name.startswith("work_")))
        return
    if sys.argv[1] == "prepare":
        prepare(sys.argv[2])
        return
    there = os.path.join(sys.argv[2], sys.argv[1])
    try:
        shutil.rmtree(there, ignore_errors=True)
        os.mkdir(there)
        began = time.monotonic()
        told = globals()["work_" + sys.argv[1]](there)
        ms = (time.monotonic() - began) * 1000
        shutil.rmtree(there)
        print(f"{ms:.0f} {hashlib.sha256(told.encode()).hexdigest()[:16]}")
    except (OSError, Wrong) as e:
        print(f"0 error {type(e).__name__}: {e}")


main()
