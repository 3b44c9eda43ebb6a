# SPDX-License-Identifier: BSD-2-Clause
"""ONC RPC (RFC 5531), and the little program that the witnesses use."""
import zlib

from xdr import Reader, opaque, u32

PROGRAM, VERSION = 0x20049049, 1
NULL, ECHO, FILL, NEVER, HOLD = range(5)
SUM = 7     # has the numbers of NFS version 3's WRITE: everybody knows that its reply is short
# What stands before the argument of a call with AUTH_NONE: the Position of its first data item
# is that and its count.
CALL_BYTES = 40


def call(xid, proc=NULL, args=b'', prog=PROGRAM, vers=VERSION, rpcvers=2, mtype=0):
    return u32(xid, mtype, rpcvers, prog, vers, proc, 0, 0, 0, 0) + args


def reply(xid, results=b'', mtype=1):
    """Accepted, SUCCESS, no verifier."""
    return u32(xid, mtype, 0, 0, 0, 0) + results


REPLY_BYTES = len(reply(0))


def echo(data):
    """What ECHO makes of its argument: each octet the other way round, so that no end can pass by
    handing back what it got."""
    return bytes(octet ^ 0xff for octet in data)


def fill(n):
    return bytes(i * 7 & 0xff for i in range(n))


def fill_call(xid, n):
    """FILL returns @n octets."""
    return call(xid, FILL, u32(n))


def echo_call(xid, data):
    return call(xid, ECHO, opaque(data))


def sum_call(xid, args):
    return call(xid, SUM, args, prog=100003, vers=3)


def total(*items):
    """Results of SUM, whose arguments these are."""
    data = b''.join(items)
    return u32(len(data), zlib.crc32(data))


def unreduced(stream, items):
    """@stream with the data items (Position, octets) that were taken out of it, and their pads."""
    out, at = b'', 0
    for position, data in sorted(items):
        here = at + position - len(out)
        assert at <= here <= len(stream), 'Position %d' % position
        out += stream[at:here] + data + bytes(-len(data) % 4)
        at = here
    return out + stream[at:]


def arguments(stream, items):
    """All opaques that a call's arguments are."""
    r = Reader(unreduced(stream, items))
    r.take(CALL_BYTES)
    out = []
    while r.at < len(r.data):
        out.append(r.opaque())
    return out
