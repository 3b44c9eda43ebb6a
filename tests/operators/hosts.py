# SPDX-License-Identifier: BSD-2-Clause
"""hosts.py URL: a host that misbehaves at the metrics listener keeps no other host from a scrape."""
import multiprocessing
import socket
import sys
import time
import urllib.request

URL = sys.argv[1]
HOST, PORT = URL.split("/")[2].rsplit(":", 1)
AT = HOST, int(PORT)
GET = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
MISBEHAVES = "127.0.0.9"  # scrapes come from another address
SCRAPES = 12


def tcp():
    """Return: a socket with small segments and a small window. Otherwise the gateway's socket could buffer a whole answer."""
    s = socket.socket()
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    s.settimeout(1)
    s.bind((MISBEHAVES, 0))
    return s


def ask(s):
    """Return: whether the request was sent."""
    try:
        s.connect(AT)
        s.sendall(GET)
    except OSError:
        return False
    return True


def is_over(s):
    s.setblocking(False)
    try:
        return s.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def reads_nothing():
    """40 connections that request the metrics and do not read. One that ends is replaced."""
    crowd = []
    while True:
        while len(crowd) < 40:
            s = tcp()
            if not ask(s):
                s.close()
                break
            crowd.append(s)
        time.sleep(0.05)
        for s in [s for s in crowd if is_over(s)]:
            crowd.remove(s)
            s.close()


def connects():
    """Connections without a request, as fast as possible; the last 200 stay open."""
    crowd = []
    while True:
        s = tcp()
        s.setblocking(False)
        s.connect_ex(AT)
        crowd.append(s)
        if len(crowd) > 200:
            crowd.pop(0).close()


def requests():
    """Connections with a request, as fast as possible; the last 200 stay open."""
    crowd = []
    while True:
        s = tcp()
        if ask(s):
            crowd.append(s)
        else:
            s.close()
        if len(crowd) > 200:
            crowd.pop(0).close()


def scrape():
    began = time.monotonic()
    try:
        with urllib.request.urlopen(URL, timeout=10) as answer:
            octets = answer.read()
            assert len(octets) == int(answer.headers["Content-Length"])
    except OSError as e:
        return "failed after %.2f s: %s" % (time.monotonic() - began, e)
    return "%d octets in %.2f s" % (len(octets), time.monotonic() - began)


failed = 0
for misbehave in (reads_nothing, connects, requests):
    process = multiprocessing.Process(target=misbehave, daemon=True)
    process.start()
    time.sleep(1)
    for _ in range(SCRAPES):
        result = scrape()
        failed += result.startswith("failed")
        print(misbehave.__name__, result, flush=True)
        time.sleep(0.1)
    process.kill()
    process.join()
sys.exit("%d scrapes failed" % failed if failed else 0)
