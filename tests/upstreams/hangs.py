# SPDX-License-Identifier: BSD-2-Clause
"""hangs.py ADDRESS PORT: a server that accepts TCP connections and completes MPA set-up, and answers no call."""
import os
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'hostile'))
import mpa  # noqa: E402


def serve(s):
    try:
        head = s.recv(20, socket.MSG_WAITALL)
        s.recv(int.from_bytes(head[18:20], 'big'), socket.MSG_WAITALL)
        s.sendall(mpa.reply())
        while s.recv(65536):
            pass
    except OSError:
        pass


listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
print('listening', flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
