# SPDX-License-Identifier: BSD-2-Clause
"""ONC RPC (RFC 5531), and the RPC program that the suites use."""
import zlib

from xdr import Reader, opaque, u32

PROGRAM, VERSION = 0x20049049, 1
NULL, ECHO, FILL, NEVER, HOLD = range(5)
SUM = 7     # program, version and number are those of NFSv3's WRITE, so the gateway knows that its reply is short
# Octets before the arguments of a call with AUTH_NONE. The Position of a data item that comes first is 4 more, for its count.
CALL_BYTES = 40


def call(xid, proc=NULL, args=b'', prog=PROGRAM, vers=VERSION, rpcvers=2, mtype=0):
    return u32(xid, mtype, rpcvers, prog, vers, proc, 0, 0, 0, 0) + args


def reply(xid, results=b'', mtype=1):
    """Return: an accepted reply with SUCCESS and no verifier."""
    return u32(xid, mtype, 0, 0, 0, 0) + results


REPLY_BYTES = len(reply(0))


def echo(data):
    """Return: the result of ECHO: its argument with all bits inverted. So a server that returned the argument itself would fail."""
    return bytes(octet ^ 0xff for octet in data)


def fill(n):
    return bytes(i * 7 & 0xff for i in range(n))


def fill_call(xid, n):
    """Return: a call of FILL, which returns @n octets."""
    return call(xid, FILL, u32(n))


def echo_call(xid, data):
    return call(xid, ECHO, opaque(data))


def sum_call(xid, args):
    return call(xid, SUM, args, prog=100003, vers=3)


def total(*items):
    """Return: the results of SUM with these arguments."""
    data = b''.join(items)
    return u32(len(data), zlib.crc32(data))


def unreduced(stream, items):
    """Return: @stream with its data items (Position, octets) put back, with their pads."""
    out, at = b'', 0
    for position, data in sorted(items):
        here = at + position - len(out)
        assert at <= here <= len(stream), 'Position %d' % position
        out += stream[at:here] + data + bytes(-len(data) % 4)
        at = here
    return out + stream[at:]


def arguments(stream, items):
    """Return: the arguments of a call, which must all be opaques."""
    r = Reader(unreduced(stream, items))
    r.take(CALL_BYTES)
    out = []
    while r.at < len(r.data):
        out.append(r.opaque())
    return out
