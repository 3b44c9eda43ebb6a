# SPDX-License-Identifier: BSD-2-Clause
"""As much of NFSv3 (RFC 1813) and NFSv4.0 (RFC 7530) as READs need. What a file holds follows from its handle."""
import functools
import random
import struct

from xdr import opaque, u32

NFS3, NFS4 = (100003, 3), (100003, 4)
READ3, COMPOUND = 6, 1
OP_GETATTR, OP_PUTFH, OP_READ = 9, 22, 25
MINOR_VERS_MISMATCH, OP_ILLEGAL = 10021, 10044
FILE_OCTETS = (1 << 20) + 70001
SIZE_BIT = 4    # fattr4 size
OWNER_BIT = 36 - 32     # fattr4 owner, in the second word
LONG_NAME = 6000        # octets: NFS sets no limit, and no client would expect so many
FATTR3 = bytes(range(84))


@functools.lru_cache(8)
def content(handle):
    return random.Random(handle).randbytes(FILE_OCTETS)


def read(handle, offset, count):
    """Return: the octets, whether they are the last."""
    data = content(handle)[offset:offset + count]
    return data, offset + len(data) >= FILE_OCTETS


# --- the client's half ---

def read3_args(handle, offset, count):
    return opaque(handle) + struct.pack('>QI', offset, count)


def putfh(handle):
    return u32(OP_PUTFH) + opaque(handle)


def read4(offset, count):
    return u32(OP_READ) + bytes(16) + struct.pack('>QI', offset, count)


GETATTR = u32(OP_GETATTR, 1, 1 << SIZE_BIT)
GETATTR_OWNER = u32(OP_GETATTR, 2, 0, 1 << OWNER_BIT)


def compound(*ops, minor=0, tag=b'habit'):
    return opaque(tag) + u32(minor, len(ops)) + b''.join(ops)


# --- the server's half: results as a list of octets and Data, which can be placed ---

class Data(bytes):
    """Octets of an opaque that is DDP-eligible (RFC 8267); .count: how many were asked for."""

    def __new__(cls, octets, count):
        self = super().__new__(cls, octets)
        self.count = count
        return self


def serve(prog, vers, proc, r):
    """Results of a call whose arguments are in @r."""
    if proc == 0:
        return []
    if (prog, vers, proc) == (*NFS3, READ3):
        handle = r.opaque()
        offset, count = struct.unpack('>QI', r.take(12))
        data, eof = read(handle, offset, count)
        return [u32(0, 1) + FATTR3 + u32(len(data), eof), Data(data, count)]
    assert (prog, vers, proc) == (*NFS4, COMPOUND), 'program %d version %d procedure %d' % (prog, vers, proc)
    return serve_compound(r)


def serve_compound(r):
    tag, minor, n = r.opaque(), r.word(), r.word()
    if minor:
        return [u32(MINOR_VERS_MISMATCH) + opaque(tag) + u32(0)]
    out, handle = [u32(0) + opaque(tag) + u32(n)], None
    for _ in range(n):
        op = r.word()
        if op == OP_PUTFH:
            handle = r.opaque()
            out.append(u32(op, 0))
        elif op == OP_READ:
            r.take(16)
            offset, count = struct.unpack('>QI', r.take(12))
            data, eof = read(handle, offset, count)
            out += [u32(op, 0, eof), Data(data, count)]
        else:
            assert op == OP_GETATTR, 'operation %d' % op
            asked = [r.word() for _ in range(r.word())]
            out.append(u32(op, 0) + attributes(asked))
    return out


def attributes(asked):
    """A file is as long as all are, or, where that is asked for, its owner has a name that is too long."""
    if asked == [0, 1 << OWNER_BIT]:
        return u32(2, 0, 1 << OWNER_BIT) + opaque(opaque(b'o' * LONG_NAME))
    return u32(1, 1 << SIZE_BIT) + opaque(struct.pack('>Q', FILE_OCTETS))


def stream(results, reduced):
    """The payload stream of @results; @reduced: how many of its Data are left out."""
    out = b''
    for part in results:
        if not isinstance(part, Data):
            out += part
        elif reduced:
            out += u32(len(part))
            reduced -= 1
        else:
            out += opaque(part)
    return out
