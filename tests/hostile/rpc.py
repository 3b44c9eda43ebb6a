# SPDX-License-Identifier: BSD-2-Clause
"""ONC RPC (RFC 5531), and the little program that the witnesses use."""
from xdr import opaque, u32

PROGRAM, VERSION = 0x20049049, 1
NULL, ECHO, FILL, NEVER, HOLD = range(5)
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
