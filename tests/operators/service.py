# SPDX-License-Identifier: BSD-2-Clause
"""service.py restart|lend PROGRAM CONF LOG HOST:PORT...: a service manager with the gateway as its service.

The manager passes listening sockets to the gateway, receives the gateway's notifications, and has a watchdog.
"""
import os
import re
import signal
import socket
import subprocess
import sys
import time

WHAT, PROGRAM, CONF, LOG = sys.argv[1:5]
SOCKETS = [tuple(where.rsplit(":", 1)) for where in sys.argv[5:]]
with open(CONF) as conf:
    DRAIN = int(re.search(r"drain_timeout = (\d+)", conf.read()).group(1))
TIMEOUT = 30
RESTARTS = 20


def listening(host, port):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((host, int(port)))
    s.listen(100)
    return s


class Manager:
    started = []

    def __init__(self, abstract):
        self.told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.name = "\0rpcrdma-gw-test-%d" % os.getpid() if abstract else CONF + ".notify"
        self.told.bind(self.name)
        self.told.settimeout(TIMEOUT)

    def start(self, sockets=(), watchdog=None):
        def pass_on():
            # The service finds its sockets from descriptor 3 on (sd_listen_fds(3)).
            spare = [os.dup2(s.fileno(), 100 + i) for i, s in enumerate(sockets)]
            for i, fd in enumerate(spare):
                os.dup2(fd, 3 + i, inheritable=True)
                os.close(fd)

        env = dict(os.environ, NOTIFY_SOCKET=self.name.replace("\0", "@"), LISTEN_FDS=str(len(sockets)))
        if watchdog:
            env["WATCHDOG_USEC"] = str(int(watchdog * 1e6))
        # LISTEN_PID must be the number of the gateway's own process.
        words = "export LISTEN_PID=$$; exec \"$0\" -c \"$1\""
        with open(LOG, "ab") as log:
            self.process = subprocess.Popen(
                ["/bin/sh", "-c", words, PROGRAM, CONF], env=env, stderr=log, close_fds=False, preexec_fn=pass_on
            )
        self.started.append(self.process)
        return self.process

    def hear(self, want):
        """Return: the fields of the next notification, which must have @want. Skips the watchdog's, unless @want is that."""
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            lines = self.told.recv(4096).decode().split("\n")
            if lines == ["WATCHDOG=1"] and want != "WATCHDOG=1":
                continue
            assert want in lines, (want, lines)
            return dict(line.split("=", 1) for line in lines)
        raise AssertionError("nothing but the watchdog's: " + want)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        stopping = self.hear("STOPPING=1")
        # Otherwise systemd would kill the gateway if a drain takes longer than the unit's TimeoutStopSec.
        assert int(stopping.get("EXTEND_TIMEOUT_USEC", 0)) > DRAIN * 1000000, stopping
        assert self.process.wait(TIMEOUT) == 0, self.process.returncode


def logged(words):
    with open(LOG, "rb") as log:
        return log.read().count(words.encode())


def come_to_log(words):
    """Return: how often @words are in the log. Waits for the first, because the gateway's log can be later than a notification."""
    end = time.monotonic() + TIMEOUT
    while not logged(words) and time.monotonic() < end:
        time.sleep(0.05)
    return logged(words)


def await_file(name):
    end = time.monotonic() + TIMEOUT
    while not os.path.exists(name) and time.monotonic() < end:
        time.sleep(0.05)


def lend():
    """Starts a gateway with sockets that stay open in this process, even when a reload removes their route."""
    sockets = [listening(*where) for where in SOCKETS]
    m = Manager(abstract=False)
    m.start(sockets)
    m.hear("READY=1")
    print(m.process.pid, "ready", flush=True)
    await_file(CONF + ".end")
    assert m.process.wait(TIMEOUT) == 0, m.process.returncode


def restart():
    sockets = [listening(*where) for where in SOCKETS]
    stray = listening(SOCKETS[0][0], 20999)
    m = Manager(abstract=False)
    m.start(watchdog=0.4)
    # Without the sockets the gateway cannot listen, because this process has the address.
    assert m.process.wait(TIMEOUT) == 3, m.process.returncode
    assert logged("why=\"Address already in use") > 0
    m.start(sockets + [stray], watchdog=0.4)
    ready = m.hear("READY=1")
    assert int(ready["MAINPID"]) == m.process.pid, ready
    assert come_to_log("event=listen.unused") == 1, "the stray socket was not told"
    for _ in range(3):
        m.hear("WATCHDOG=1")
    m.process.send_signal(signal.SIGHUP)
    before = time.monotonic_ns() // 1000
    reloading = m.hear("RELOADING=1")
    assert abs(int(reloading["MONOTONIC_USEC"]) - before) < TIMEOUT * 1000000, reloading
    m.hear("READY=1")
    m.stop()
    m.told.close()
    # No client is refused while the gateway is away: a client that comes waits in the sockets that stay open.
    waits = socket.create_connection(sockets[0].getsockname(), TIMEOUT)
    print("away", flush=True)
    time.sleep(0.5)
    m = Manager(abstract=True)
    m.start(sockets)
    m.hear("READY=1")
    print("back", flush=True)
    await_file(CONF + ".go")
    waits.close()
    # As in upgrades: the old or the new process serves a client, whenever the client connects.
    for _ in range(RESTARTS):
        m.stop()
        m.start(sockets)
        m.hear("READY=1")
    print("restarted", flush=True)
    await_file(CONF + ".end")
    m.stop()
    print("done", flush=True)


try:
    {"lend": lend, "restart": restart}[WHAT]()
finally:
    # After any failure: a gateway that still ran would hold sockets of this process.
    for process in Manager.started:
        if process.poll() is None:
            process.kill()
            process.wait()
