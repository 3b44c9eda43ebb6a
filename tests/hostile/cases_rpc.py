# SPDX-License-Identifier: BSD-2-Clause
"""Clients that send valid transport headers with invalid RPC messages (RFC 5531)."""
import rpc
import v1
import v2
from case import table
from expect import Served, Service, V1Error, V2Error
from xdr import u32

one = table('client', 'RPC', 'v1', 'to-v2')
two = table('client', 'RPC', 'v2', 'to-v1')

# The gateway passes a call whose RPC header it can read. The server decides about the rest. The server of this suite
# answers every call.
PASSED = Served()


def both(name, section, sent, expect1, expect2, make):
    """Two cases with the same call: in version 1 and in version 2."""
    @one('rpc-v1-' + name, section, sent + ', version 1', expect1)
    def _(s):
        s.xid = s.end.new_xid()
        s.end.call(make(s.xid))

    @two('rpc-v2-' + name, section, sent + ', version 2', expect2)
    def _(s):
        s.xid = s.end.new_xid()
        s.end.call(make(s.xid))


CHUNK, BAD_XDR = V1Error(v1.ERR_CHUNK), V2Error(v2.ERR_BAD_XDR)

both('short-8', 'RFC 5531 9', 'a call of 8 octets', Service(), BAD_XDR, lambda x: rpc.call(x)[:8])
both('short-20', 'RFC 5531 9', 'a call of 20 octets', Service(), BAD_XDR, lambda x: rpc.call(x)[:20])
both('mtype-2', 'RFC 5531 9', 'a message type of 2', CHUNK, BAD_XDR, lambda x: rpc.call(x, mtype=2))
both('mtype-last', 'RFC 5531 9', 'a message type of 2^32 - 1', CHUNK, BAD_XDR,
     lambda x: rpc.call(x, mtype=0xffffffff))
both('rpcvers-3', 'RFC 5531 9', 'RPC version 3, which is the server\'s to refuse', PASSED, PASSED,
     lambda x: rpc.call(x, rpcvers=3))
both('auth-huge', 'RFC 5531 8.2', 'a credential of 2^32 - 1 octets', PASSED, PASSED,
     lambda x: u32(x, 0, 2, rpc.PROGRAM, 1, 0, 1, 0xffffffff, 0, 0))
both('auth-401', 'RFC 5531 8.2', 'a credential of 401 octets, one more than there may be', PASSED, PASSED,
     lambda x: u32(x, 0, 2, rpc.PROGRAM, 1, 0, 1, 401) + bytes(404 + 8))
both('no-auth', 'RFC 5531 9', 'a call that ends before its credential', PASSED, PASSED,
     lambda x: rpc.call(x)[:24])
both('nfs3-cut', 'RFC 1813 3.3.6', 'an NFSv3 READ that ends in its credential', PASSED, PASSED,
     lambda x: u32(x, 0, 2, 100003, 3, 0, 1, 0x7ffffff0, 0))
both('nfs3-auth-wraps', 'RFC 1813 3.3.6', 'an NFS call whose credential length wraps a 32-bit sum', PASSED, PASSED,
     lambda x: u32(x, 0, 2, 100003, 3, 0, 1, 0xfffffffc, 0, 0xfffffffc, 0, 0))
both('nfs4-ops-huge', 'RFC 8881 16.2', 'an NFSv4 COMPOUND of 2^32 - 1 operations', PASSED, PASSED,
     lambda x: u32(x, 0, 2, 100003, 4, 0, 0, 0, 0, 0, 0, 1, 0xffffffff))
both('odd-octets', 'RFC 4506 3', 'a call of 41 octets', PASSED, PASSED, lambda x: rpc.call(x) + b'x')
both('trailing', 'RFC 5531 9', 'a call with 1000 octets behind its arguments', PASSED, PASSED,
     lambda x: rpc.call(x) + bytes(1000))


def long(name, section, sent, expect1, expect2, make):
    """As both(), with the call in a chunk."""
    @one('rpc-v1-long-' + name, section, sent + ', version 1', expect1)
    def _(s):
        s.xid = s.end.new_xid()
        s.end.long_call([s.conn.expose(make(s.xid))])

    @two('rpc-v2-long-' + name, section, sent + ', version 2', expect2)
    def _(s):
        s.xid = s.end.new_xid()
        s.end.long_call([s.conn.expose(make(s.xid))])


long('mtype-1', 'RFC 5531 9', 'a long call that is a reply', CHUNK, BAD_XDR, lambda x: rpc.call(x, mtype=1))
long('mtype-9', 'RFC 5531 9', 'a long call with a message type of 9', CHUNK, BAD_XDR,
     lambda x: rpc.call(x, mtype=9))
long('short', 'RFC 5531 9', 'a long call of 23 octets', CHUNK, BAD_XDR, lambda x: rpc.call(x)[:23])
long('xid', 'RFC 5531 9', 'a long call of zeros', CHUNK, BAD_XDR, lambda x: bytes(100))
long('small', 'RFC 5531 9', 'a long call that would have fit inline', PASSED, PASSED, rpc.call)
