# SPDX-License-Identifier: BSD-2-Clause
"""XDR (RFC 4506) as far as the headers of RPC-over-RDMA and ONC RPC need it."""
import struct
from collections import namedtuple


class Short(Exception):
    """The octets end early."""


def u32(*words):
    """Words in wire order."""
    return struct.pack('>%dI' % len(words), *(w & 0xffffffff for w in words))


def opaque(data):
    """A counted opaque with its pad."""
    return u32(len(data)) + data + bytes(-len(data) % 4)


class Seg(namedtuple('Seg', 'handle length offset')):
    """An RDMA segment, as both versions have it."""

    def pack(self):
        return struct.pack('>IIQ', self.handle, self.length, self.offset)


class Reader:
    """A cursor over received octets."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        if len(self.data) - self.at < n:
            raise Short('%d octets wanted, %d there' % (n, len(self.data) - self.at))
        self.at += n
        return self.data[self.at - n:self.at]

    def word(self):
        return struct.unpack('>I', self.take(4))[0]

    def flag(self):
        value = self.word()
        assert value in (0, 1), 'a discriminator of %d' % value
        return bool(value)

    def opaque(self):
        length = self.word()
        data = self.take(length)
        self.take(-length % 4)
        return data

    def seg(self):
        return Seg(*struct.unpack('>IIQ', self.take(16)))

    def rest(self):
        return self.take(len(self.data) - self.at)


def read_list(reads):
    """[(position, Seg)]: one optional entry after the other."""
    return b''.join(u32(1, position) + seg.pack() for position, seg in reads) + u32(0)


def chunk(segs):
    """A counted array of segments."""
    return u32(len(segs)) + b''.join(seg.pack() for seg in segs)


def write_list(writes):
    return b''.join(u32(1) + chunk(segs) for segs in writes) + u32(0)


def reply_chunk(segs):
    return u32(0) if segs is None else u32(1) + chunk(segs)


def get_read_list(r):
    reads = []
    while r.flag():
        position = r.word()
        reads.append((position, r.seg()))
    return reads


def get_chunk(r):
    return [r.seg() for _ in range(r.word())]


def get_write_list(r):
    writes = []
    while r.flag():
        writes.append(get_chunk(r))
    return writes


def get_reply_chunk(r):
    return get_chunk(r) if r.flag() else None


class Msg:
    """A parsed message of either version; what a header type lacks stays empty."""

    def __init__(self, xid, vers, credit, proc):
        self.xid, self.vers, self.credit, self.proc = xid, vers, credit, proc
        self.inv_handle = 0
        self.call_chunk = None
        self.reads, self.writes, self.reply = [], [], None
        self.remaining = 0
        self.error = None
        self.props = {}
        self.body = b''
        self.rtr = None     # of the round-trip extension: rtr.Body

    def __repr__(self):
        return 'xid=%08x vers=%d credit=%d type=%d error=%s body=%d' % (
            self.xid, self.vers, self.credit, self.proc, self.error, len(self.body))
