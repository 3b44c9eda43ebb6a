# SPDX-License-Identifier: BSD-2-Clause
"""RPC-over-RDMA version 1 (RFC 8166): headers, right and wrong."""
from xdr import (Msg, Reader, get_read_list, get_reply_chunk, get_write_list, read_list, reply_chunk,
                 u32, write_list)

MSG, NOMSG, MSGP, DONE, ERROR = range(5)
ERR_VERS, ERR_CHUNK = 1, 2
ERR_VERS_MISMATCH = 11  # of version 2, to messages of version 2
NAMES = {ERR_VERS: 'ERR_VERS', ERR_CHUNK: 'ERR_CHUNK', ERR_VERS_MISMATCH: 'ERR_VERS_MISMATCH'}
CREDIT = 8


def prefix(xid, proc=MSG, credit=CREDIT, vers=1):
    return u32(xid, vers, credit, proc)


def lists(reads=(), writes=(), reply=None):
    return read_list(reads) + write_list(writes) + reply_chunk(reply)


def message(xid, body, reads=(), writes=(), reply=None, **fixed):
    return prefix(xid, **fixed) + lists(reads, writes, reply) + body


def long_call(xid, segs, reads=(), writes=(), reply=None, **fixed):
    """The call is in the Position-Zero Read chunk of @segs."""
    zero = [(0, seg) for seg in segs]
    return prefix(xid, NOMSG, **fixed) + lists(zero + list(reads), writes, reply)


def long_reply(xid, reply, writes=(), **fixed):
    return prefix(xid, NOMSG, **fixed) + lists((), writes, reply)


def error(xid, code=ERR_CHUNK, *words, **fixed):
    return prefix(xid, ERROR, **fixed) + u32(code, *words)


def parse(data):
    r = Reader(data)
    m = Msg(r.word(), r.word(), r.word(), r.word())
    if m.proc == ERROR:
        m.error = [r.word()]
        while r.at < len(data):
            m.error.append(r.word())
        return m
    assert m.proc in (MSG, NOMSG), 'type %d' % m.proc
    m.reads = get_read_list(r)
    m.writes = get_write_list(r)
    m.reply = get_reply_chunk(r)
    m.call_chunk = [seg for position, seg in m.reads if position == 0] or None
    m.reads = [(position, seg) for position, seg in m.reads if position]
    m.body = r.rest()
    return m
