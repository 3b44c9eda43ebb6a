# SPDX-License-Identifier: BSD-2-Clause
"""The iWARP connection below an end: tests/hostile's, which is independent of the project's code."""
import select
import socket

import mpa
from rdmap import Conn, Sent, read_frame

TIMEOUT = 30  # seconds: for a loaded machine; only what goes wrong waits so long


class Fault(Exception):
    """What the gateway may not do."""


class Lost(Exception):
    """The connection is gone."""


class TimedOut(Exception):
    """Nothing came."""


class Link(Conn):
    """Sends that arrive while something else is waited for are kept."""

    def __init__(self, sock):
        super().__init__(sock, crc=False)
        self.early = []
        self.arrived = 0    # Sends, looked at or not

    def next(self):
        """The next Send."""
        return self.early.pop(0) if self.early else self.sent()

    def sent(self):
        try:
            event = self.recv(TIMEOUT)
        except AssertionError as why:
            raise (TimedOut if str(why) == 'nothing came' else Fault)(str(why)) from None
        except (EOFError, OSError) as why:
            raise Lost(repr(why)) from None
        if not isinstance(event, Sent):
            raise Lost(repr(event))
        self.arrived += 1
        return event

    def drain(self):
        """What is there by now has arrived."""
        while select.select([self.sock], [], [], 0)[0]:
            try:
                event = self.step()
            except AssertionError as why:
                raise Fault(str(why)) from None
            if isinstance(event, Sent):
                self.arrived += 1
                self.early.append(event)
            elif event:
                raise Lost(repr(event))

    def fetch(self, segs):
        """RDMA Read of @segs, one after the other."""
        data = []
        for seg in segs:
            if not seg.length:
                continue
            sink = self.post_read(seg)
            while sink in self.pending:
                try:
                    event = self.step()
                except AssertionError as why:
                    raise Fault(str(why)) from None
                if isinstance(event, Sent):
                    self.arrived += 1
                    self.early.append(event)
                elif event:
                    raise Lost(repr(event))
            data.append(self.done)
        return b''.join(data)

    def place(self, segs, data):
        """RDMA Write of @data into @segs in order. Return: the segments with what is in each."""
        filled = []
        for seg in segs:
            part, data = data[:seg.length], data[seg.length:]
            if part:
                self.write(seg, part)
            filled.append(seg._replace(length=len(part)))
        assert not data, 'more than there is room for'
        return filled

    def cut(self, data, pieces, most, writable):
        """@data (octets, or their number) exposed as a chunk of @pieces segments, none longer than @most."""
        total = data if writable else len(data)
        pieces = max(min(pieces, total), -(-total // most), 1)
        size = max(1, -(-total // pieces))
        # Odd lengths where it goes on: boundaries are anywhere (4.4.1).
        if pieces > 1 and size > 4 and size < most:
            size |= 1
        segs = []
        for at in range(0, total, size):
            n = min(size, total - at)
            segs.append(self.sink(n) if writable else self.expose(data[at:at + n]))
        return segs or [self.sink(0) if writable else self.expose(b'')]

    def taken(self, segs, returned):
        """What the peer says, and did, write into @segs."""
        if [(s.handle, s.offset) for s in segs] != [(s.handle, s.offset) for s in returned]:
            raise Fault('segments returned are not those offered')
        if any(r.length > s.length for s, r in zip(segs, returned)):
            raise Fault('a segment returned is longer than offered')
        return b''.join(self.memory(s)[:r.length] for s, r in zip(segs, returned))

    def forget(self, segs):
        for seg in segs:
            self.regions.pop(seg.handle, None)


def dial(address):
    sock = socket.create_connection(address, TIMEOUT)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.sendall(mpa.request(flags=mpa.ENHANCED))
    try:
        answer = read_frame(sock)
    except EOFError:
        raise Lost('no Reply Frame') from None
    if answer.flags & mpa.REJECT:
        raise Lost('rejected')
    return Link(sock)


def welcome(sock, pdata=mpa.PDATA):
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.settimeout(TIMEOUT)
    asked = read_frame(sock)
    if asked.key != mpa.REQUEST_KEY:
        raise Fault('the key of the Request Frame')
    sock.sendall(mpa.reply(flags=mpa.ENHANCED, pdata=pdata))
    return Link(sock)
