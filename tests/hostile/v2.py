# SPDX-License-Identifier: BSD-2-Clause
"""RPC-over-RDMA version 2 (draft-ietf-nfsv4-rpcrdma-version-two-07): headers, right and wrong."""
import rtr
from xdr import (Msg, Reader, get_chunk, get_read_list, get_reply_chunk, get_write_list, opaque,
                 read_list, reply_chunk, u32, write_list)

(ERROR, GRANT, PROP_MIDDLE, PROP_FINAL, CALL_EXTERNAL, CALL_MIDDLE, CALL_INLINE, REPLY_EXTERNAL,
 REPLY_MIDDLE, REPLY_INLINE) = range(4, 14)

(ERR_VERS, ERR_BAD_XDR, ERR_BAD_PROPVAL, ERR_INVAL_HTYPE, ERR_INVAL_CONT, ERR_READ_CHUNKS,
 ERR_WRITE_CHUNKS, ERR_SEGMENTS, ERR_WRITE_RESOURCE, ERR_REPLY_RESOURCE,
 ERR_VERS_MISMATCH) = range(1, 12)
ERR_SYSTEM = 100
NAMES = {code: name for name, code in list(globals().items()) if name.startswith('ERR_')}

SBSIZ, RBSIZ, RSSIZ, RCSIZ, BRS, HOSTAUTH = range(1, 7)
ADVERTISED = 32  # messages the ends here let the gateway send


def prefix(xid, htype, credit, vers=2):
    return u32(xid, vers, credit, htype)


def prop(which, *words):
    return u32(which) + opaque(u32(*words))


def properties(*props):
    return u32(len(props)) + b''.join(props)


BASE = [prop(SBSIZ, 4096), prop(RBSIZ, 4096), prop(RSSIZ, 1 << 20), prop(RCSIZ, 16), prop(BRS, 3)]
PROPS = properties(*BASE)


def call_lists(reads=(), writes=(), reply=None, inv=0):
    return u32(inv) + read_list(reads) + write_list(writes) + reply_chunk(reply)


def external_lists(call, reads=(), writes=(), reply=None, inv=0):
    return (u32(inv) + read_list([(0, seg) for seg in call]) + read_list(reads) +
            write_list(writes) + reply_chunk(reply))


def parse(data):
    r = Reader(data)
    m = Msg(r.word(), r.word(), r.word(), r.word())
    if m.proc - rtr.HTYPES in rtr.OPS:
        rtr.take(m, m.proc - rtr.HTYPES, r, data)
        return m
    PARSERS[m.proc](r, m)
    if m.proc in (CALL_MIDDLE, CALL_INLINE, REPLY_MIDDLE, REPLY_INLINE):
        m.body = r.rest()
    else:
        assert r.at == len(data), 'octets left over'
    return m


def _error(r, m):
    m.error = [r.word()]
    while r.at < len(r.data):
        m.error.append(r.word())


def _grant(r, m):
    assert m.xid == 0, 'a GRANT with an XID'


def _props(r, m):
    for _ in range(r.word()):
        which = r.word()
        m.props[which] = r.opaque()


def _call(r, m):
    m.inv_handle = r.word()
    if m.proc == CALL_EXTERNAL:
        reads = get_read_list(r)
        assert reads and not any(position for position, _ in reads), 'a Call chunk'
        m.call_chunk = [seg for _, seg in reads]
    m.reads = get_read_list(r)
    m.writes = get_write_list(r)
    m.reply = get_reply_chunk(r)


def _middle(r, m):
    m.remaining = r.word()


def _reply(r, m):
    m.writes = get_write_list(r)
    if m.proc == REPLY_EXTERNAL:
        assert r.flag(), 'no Reply chunk'
        m.reply = get_chunk(r)


PARSERS = {ERROR: _error, GRANT: _grant, PROP_MIDDLE: _props, PROP_FINAL: _props,
           CALL_EXTERNAL: _call, CALL_INLINE: _call, CALL_MIDDLE: _middle, REPLY_MIDDLE: _middle,
           REPLY_EXTERNAL: _reply, REPLY_INLINE: _reply}
