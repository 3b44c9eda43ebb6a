# SPDX-License-Identifier: BSD-2-Clause
"""The early draft of version 2 (draft-cel-nfsv4-rpcrdma-version-two-01): headers, right and wrong."""
import rtr
from xdr import (Msg, Reader, get_read_list, get_reply_chunk, get_write_list, opaque, read_list, reply_chunk, u32,
                 write_list)

CALL, REPLY = range(2)
MSG, NOMSG, ERROR, OPTIONAL = 0, 1, 4, 5
ERR_VERS, ERR_BAD_HEADER, ERR_INVAL_OPTION = 1, 2, 3
NAMES = {ERR_VERS: 'ERR_VERS', ERR_BAD_HEADER: 'ERR_BAD_HEADER', ERR_INVAL_OPTION: 'ERR_INVAL_OPTION'}
CREDIT = 8


def prefix(xid, proc=MSG, credit=CREDIT, vers=2):
    return u32(xid, vers, credit, proc)


def lists(direction, reads=(), writes=(), reply=None):
    return u32(direction) + read_list(reads) + write_list(writes) + reply_chunk(reply)


def message(xid, body, reads=(), writes=(), reply=None, direction=CALL, **fixed):
    return prefix(xid, **fixed) + lists(direction, reads, writes, reply) + body


def long_call(xid, segs, reads=(), writes=(), reply=None, direction=CALL, **fixed):
    """Return: a header whose call is in a Position Zero Read chunk with the segments @segs."""
    zero = [(0, seg) for seg in segs]
    return prefix(xid, NOMSG, **fixed) + lists(direction, zero + list(reads), writes, reply)


def answer(xid, body, writes=(), direction=REPLY, **fixed):
    return message(xid, body, (), writes, direction=direction, **fixed)


def long_reply(xid, reply, writes=(), direction=REPLY, **fixed):
    return prefix(xid, NOMSG, **fixed) + lists(direction, (), writes, reply)


def error(xid, code=ERR_BAD_HEADER, *words, **fixed):
    return prefix(xid, ERROR, **fixed) + u32(code, *words)


def option(xid, opttype=0x7e57, info=b'', direction=CALL, **fixed):
    return prefix(xid, OPTIONAL, **fixed) + u32(direction, opttype) + opaque(info)


def parse(data):
    r = Reader(data)
    m = Msg(r.word(), r.word(), r.word(), r.word())
    assert m.vers == 2, 'version %d' % m.vers
    if m.proc == ERROR:
        m.error = [r.word()]
        while r.at < len(data):
            m.error.append(r.word())
        assert len(m.error) == (3 if m.error[0] == ERR_VERS else 1), 'octets behind an error (4.2.1)'
        return m
    if m.proc == OPTIONAL:
        return parse_option(r, m)
    assert m.proc in (MSG, NOMSG), 'type %d' % m.proc
    direction = r.word()
    m.reads = get_read_list(r)
    m.writes = get_write_list(r)
    m.reply = get_reply_chunk(r)
    m.call_chunk = [seg for position, seg in m.reads if position == 0] or None
    m.reads = [(position, seg) for position, seg in m.reads if position]
    m.body = r.rest()
    if m.proc == MSG:
        assert Reader(m.body[4:]).word() == direction, 'a direction that is not that of the RPC message (4.2.2)'
    else:
        assert direction == (CALL if m.call_chunk else REPLY), 'a direction that is not that of the chunks (4.2.2)'
    return m


def parse_option(r, m):
    """Parses an option, which must be one of the round-trip extension: the gateway sends no other."""
    direction, opttype = r.word(), r.word()
    assert opttype in rtr.OPS, 'an option of type %d' % opttype
    rtr.take(m, opttype, r, r.data, Reader(r.opaque()))
    if m.body:
        assert Reader(m.body[4:]).word() == direction, 'a direction that is not that of the RPC message (4.2.2)'
    m.direction = direction
    return m
