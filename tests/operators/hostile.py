# SPDX-License-Identifier: BSD-2-Clause
"""Hostile clients of the control socket and of the metrics listener. The gateway must keep serving other clients."""
import os
import random
import socket
import sys
import threading
import time

import client

CONTROL, URL = sys.argv[1], sys.argv[2]
HOST, PORT = URL.split("/")[2].rsplit(":", 1)
seed = int(os.environ.get("SEED", "15"))
print("SEED=%d" % seed)
rng = random.Random(seed)


def tcp():
    s = socket.create_connection((HOST.strip("[]"), int(PORT)), timeout=20)
    return s


def served():
    """Checks that the control socket and the metrics listener answer a new client."""
    assert client.one(CONTROL, {"do": "status"}, "status")["state"] == "serving"
    assert client.metrics(URL)


def send(s, octets):
    """Sends @octets. The gateway may close the connection before it has read them all. It must not leave them unread."""
    try:
        s.sendall(octets)
    except TimeoutError:
        raise
    except OSError:
        pass


def garbage(connect):
    for _ in range(100):
        with connect() as s:
            send(s, rng.randbytes(rng.randrange(1, 20000)))
    served()


def endless(connect, octet):
    """Sends 400 KiB of a request that has no end. The gateway answers with an error or not, and closes the connection long before its
    limit of 20 s for a request."""
    with connect() as s:
        s.settimeout(10)
        for _ in range(100):
            send(s, octet * 4096)
        try:
            s.shutdown(socket.SHUT_WR)
            while s.recv(65536):
                pass
        except TimeoutError:
            raise
        except OSError:
            pass
    served()


def flood(connect, n):
    """Opens far more connections than the gateway accepts. They send nothing or a part of a request, and stay open."""
    crowd = []
    for i in range(n):
        s = connect()
        crowd.append(s)
        if i % 2:
            send(s, b"GET" if connect is tcp else b"{")
        if i % 100 == 0:
            served()
    served()
    for s in crowd:
        s.close()


def deaf():
    """Eight clients send requests until the socket is full, and read no answer."""
    crowd = []
    for _ in range(8):
        s = client.unix(CONTROL)
        s.setblocking(False)
        try:
            while True:
                s.send(b'{"do":"routes"}\n' * 100)
        except BlockingIOError:
            pass
        crowd.append(s)
    served()
    time.sleep(0.5)
    served()
    for s in crowd:
        s.close()


def gone():
    """Clients hang up before they have read an answer."""
    for _ in range(100):
        with client.unix(CONTROL) as s:
            send(s, b'{"do":"status"}\n{"do":"sessions"}\n')
        with tcp() as s:
            send(s, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
    served()


def behind():
    """A client with a small window sends 20,000 more octets after its request. It still gets the whole page."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    s.settimeout(20)
    with s:
        s.connect((HOST.strip("[]"), int(PORT)))
        s.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" + b"x" * 20000)
        # Reading begins after the gateway has written all it can.
        time.sleep(0.3)
        octets = b""
        while more := s.recv(65536):
            octets += more
    head, _, page = octets.partition(b"\r\n\r\n")
    assert b"Content-Length: %d\r\n" % len(page) in head, (head, len(page))


def rebound():
    """DNS rebinding: the gateway refuses requests whose Host is a foreign name, and answers its addresses and own names."""
    def status(*hosts):
        with tcp() as s:
            s.sendall(b"GET /metrics HTTP/1.1\r\n" + b"".join(b"Host: %s\r\n" % h.encode() for h in hosts) + b"\r\n")
            octets = b""
            while more := s.recv(65536):
                octets += more
        assert (b"rpcrdma_gw_" in octets) == octets.startswith(b"HTTP/1.1 200 "), octets[:200]
        return int(octets.split()[1])

    own = socket.gethostname()
    assert [status(h) for h in (HOST, "%s:%s" % (HOST, PORT), "localhost", own, "gw.example:%s" % PORT)] == [200] * 5
    assert [status(h) for h in ("evil.example", "evil.example:%s" % PORT, own + ".evil", "")] == [421] * 4
    assert [status(), status(HOST, HOST)] == [400] * 2


def asked_without_end(what, most):
    """Eight clients send requests all the time, and each gets answers. Idle workers wake up less than most(seconds) times."""
    pid = client.one(CONTROL, {"do": "status"}, "status")["pid"]

    def sleeps():
        """Return: how often each worker's thread has gone to sleep, by thread."""
        n = {}
        for task in os.scandir("/proc/%d/task" % pid):
            with open(task.path + "/comm", encoding="ascii") as f:
                is_worker = f.read().startswith("worker-")
            with open(task.path + "/status", encoding="ascii") as f:
                if is_worker:
                    n[task.name] = [int(line.split()[1]) for line in f if line.startswith("voluntary_ctxt_switches:")][0]
        return n

    def ask(i):
        while time.monotonic() < began + 1:
            what(i)
            answered[i] += 1

    began, answered, before = time.monotonic(), [0] * 8, sleeps()
    threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # One worker has a session with calls all the time. The least number is that of the other worker.
    took, slept = time.monotonic() - began, min(n - before[task] for task, n in sleeps().items())
    print("asked %d times in %.1f s, a worker without sessions woke up %d times" % (sum(answered), took, slept))
    assert min(answered) > 0 and slept < most(took), (answered, slept, took)


def figures(i):
    if i % 2:
        client.one(CONTROL, {"do": "status"}, "status")
    else:
        client.get(URL)


def sessions(i, s=[]):
    """Requests a list of sessions, for which the gateway asks each worker. Client @i keeps its connection."""
    while len(s) <= i:
        s.append(client.unix(CONTROL))
    s[i].sendall(b'{"do":"sessions"}\n')
    while b'"done"' not in s[i].recv(65536):
        pass


def listeners():
    """Clients that trace and hang up at once, never ask for the records, or ask and do not read them."""
    for i in range(100):
        with client.unix(CONTROL) as s:
            send(s, b'{"do":"%s"}\n' % (b"trace", b"capture")[i % 2])
    served()
    idle = []
    for do in (b"trace", b"capture"):
        s = client.unix(CONTROL)
        # The gateway notices later that the clients above have hung up.
        end = time.monotonic() + 20
        said = b""
        while b'"done"' not in said:
            assert time.monotonic() < end, said
            s.sendall(b'{"do":"%s"}\n' % do)
            said = s.recv(65536)
        s.sendall(b'{"do":"%s"}\n' % do)
        assert b"a trace or a capture already" in s.recv(65536)
        idle.append(s)
    with client.unix(CONTROL) as s:
        s.sendall(b'{"do":"trace"}\n')
        assert b"too many traces and captures" in s.recv(65536)
    time.sleep(1)
    served()
    idle[1].setblocking(False)
    try:
        while True:
            idle[1].send(b'{"do":"more"}\n' * 100)
    except BlockingIOError:
        pass
    served()
    for s in idle:
        s.close()


garbage(lambda: client.unix(CONTROL))
garbage(tcp)
endless(lambda: client.unix(CONTROL), b"[")
endless(tcp, b"x")
flood(lambda: client.unix(CONTROL), 400)
flood(tcp, 200)
deaf()
listeners()
gone()
behind()
rebound()
asked_without_end(figures, lambda took: 100 * took)
asked_without_end(sessions, lambda took: 500 * took + 100)
print("served throughout")
