# SPDX-License-Identifier: BSD-2-Clause
"""peer.py serve ADDRESS PORT...: answers each request, by TCP or UDP, with the address that it came from.
peer.py ask tcp|udp ADDRESS PORT [FROM_PORT]: asks, and prints the answer; exit status 1 when there is none."""
import select
import socket
import sys

TIMEOUT = 40
AGAIN = 5  # a datagram may be lost


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def serve(address, ports):
    sockets = []
    for port in ports:
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            s = socket.socket(family(address), kind)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind((address, port))
            if kind == socket.SOCK_STREAM:
                s.listen()
            sockets.append(s)
    print("serving", flush=True)
    while True:
        for s in select.select(sockets, [], [])[0]:
            answer(s)


def answer(s):
    if s.type == socket.SOCK_DGRAM:
        peer = s.recvfrom(100)[1]
        s.sendto(b"%s %d" % (peer[0].encode(), peer[1]), peer)
    else:
        connection, peer = s.accept()
        with connection:
            connection.settimeout(TIMEOUT)
            try:
                connection.recv(100)
                connection.sendall(b"%s %d" % (peer[0].encode(), peer[1]))
            except OSError:
                pass  # it has gone


def ask(kind, address, port, own):
    with socket.socket(family(address), socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM) as s:
        s.settimeout(TIMEOUT)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if own:
            s.bind(("", own))
        try:
            s.connect((address, port))
            if kind == "udp":
                s.settimeout(AGAIN)
            for left in reversed(range(TIMEOUT // AGAIN)):
                s.send(b"who am I?")
                try:
                    answer = s.recv(100).decode()
                    break
                except TimeoutError:
                    if kind == "tcp" or not left:
                        raise
        except OSError as e:
            print(e)
            return 1
        print(answer, s.getsockname()[1])
        return 0 if answer else 1


if sys.argv[1] == "serve":
    serve(sys.argv[2], map(int, sys.argv[3:]))
else:
    sys.exit(ask(sys.argv[2], sys.argv[3], int(sys.argv[4]), int((sys.argv[5:] or [0])[0])))
