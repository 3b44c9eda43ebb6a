# SPDX-License-Identifier: BSD-2-Clause
"""Servers that return other lengths than they have written.

A client gets all octets that the server wrote for it, in any order, or no reply. It never gets octets that another client's call
left in the gateway's memory.
"""
import random

import mpa
import rpc
import v1
import v2
from case import table
from calls import reply_chunk_call
from expect import Closes, Other, Served
from rdmap import SEND, SEND_INV, WRITE, tagged
from xdr import u32

rule = table('server', 'what was written', 'v1-v2', 'v2')

LARGE = 60000
CUT = Closes('to the client: closed, no reply')
PAIRS = (('v1', 1), ('v2', 2))


def large_call(s):
    """Another client, of another route, READs; then a call that offers a Write chunk as large as that."""
    others = [r for r in s.gateway.routes if r is not s.route and r.witness]
    for other in others[:2]:
        with other.lock:
            other.witness.do_echo(LARGE)
    s.xid, s.back = s.end.new_xid(), s.end.conn.sink(LARGE)
    s.end.call(rpc.call(s.xid, rpc.ECHO, u32(0)), (), [[s.back]])
    m = s.server.expect_msg(s.xid)
    s.write = m.writes[0][0]
    assert s.write.length == LARGE


def message(s, kind):
    """A message of that kind, which may be any time. Return: its octets."""
    one, credit = s.server.version == 1, s.server.credit()
    if kind == 'reply':
        body = rpc.reply(s.xid, u32(LARGE))
        return v1.message(s.xid, body, (), [[s.write]]) if one else (
            v2.prefix(s.xid, v2.REPLY_INLINE, credit) + v2.write_list([[s.write]]) + body)
    if kind == 'error':
        return v1.error(s.xid, v1.ERR_CHUNK) if one else v2.prefix(s.xid, v2.ERROR, credit) + u32(100)
    if kind == 'call':
        xid = s.server.new_xid()
        return v1.message(xid, rpc.call(xid)) if one else (
            v2.prefix(xid, v2.CALL_INLINE, credit) + v2.call_lists() + rpc.call(xid))
    return v2.prefix(0, v2.GRANT, credit)


class NothingOf(Closes):
    """The connection ends, and no octet of the memory that the client offered has changed."""

    def check(self, c):
        super().check(c)
        assert c.end.conn.memory(c.back) == bytes(LARGE), 'octets of somebody else'


def claims(version, kind, sent):
    name, number = version

    @rule('server-%s-claim-and-%s' % (name, kind), 'decision 70', sent,
          NothingOf('to the client: closed, no reply, and not an octet written'),
          on='v1-' + name, route=name)
    def _(s):
        large_call(s)
        s.server.conn.raw(
            mpa.fpdu(s.server.conn.send_ulpdu(message(s, 'reply'), SEND)) +
            mpa.fpdu(s.server.conn.send_ulpdu(message(s, kind), SEND_INV, s.write.handle)))


for version in PAIRS:
    for kind, words in (('reply', 'the reply once more'), ('error', 'an error report'), ('call', 'a call'),
                        ('grant', 'a GRANT')):
        if kind != 'grant' or version[1] == 2:
            claims(version, kind, 'a reply with a full Write chunk, nothing written; in the same segment %s that '
                   'invalidates it' % words)


def half(name, number):
    @rule('server-%s-claim-and-write' % name, 'rfc5666bis-01 3.2.2',
          'a reply with a full Write chunk, nothing written; in the same segment a Write of it all but for its CRC',
          NothingOf('to the client: closed, no reply, and not an octet written'), on='v1-' + name, route=name)
    def _(s):
        large_call(s)
        s.server.conn.raw(
            mpa.fpdu(s.server.conn.send_ulpdu(message(s, 'reply'), SEND)) +
            mpa.fpdu(tagged(WRITE, s.write.handle, s.write.offset, bytes(LARGE)))[:-4])


def scattered(s, seg, data, pieces, seed):
    """Writes @data into @seg: piece by piece, the last first (seed None), or in any order."""
    at = [i * len(data) // pieces for i in range(pieces + 1)]
    order = list(range(pieces))[::-1]
    if seed is not None:
        random.Random(seed).shuffle(order)
    for i in order:
        s.server.conn.write(seg, data[at[i]:at[i + 1]], at[i])


def orders(name, number):
    for word, sent, seed in (('backwards', 'in 30 pieces, the last first', None),
                             ('shuffled', 'in 30 pieces, in any order', 7)):
        @rule('server-%s-chunk-%s' % (name, word), 'rfc5666bis-01 3.2.2', 'a Write chunk written ' + sent,
              Other('the RPC reply, and all of the Write chunk'), on='v1-' + name, route=name)
        def _(s, seed=seed):
            large_call(s)
            data = random.Random(3).randbytes(LARGE)
            scattered(s, s.write, data, 30, seed)
            s.server.conn.send(message(s, 'reply'))
            s.end.expect_reply(s.xid)
            assert s.end.conn.memory(s.back) == data, 'the data'

        @rule('server-%s-reply-chunk-%s' % (name, word), 'rfc5666bis-01 3.2.2', 'a Reply chunk written ' + sent,
              Served(rpc.fill(20000), goes_on=False), on='v1-' + name, route=name)
        def _(s, seed=seed):
            reply_chunk_call(s)
            body = rpc.reply(s.xid, rpc.fill(20000))
            scattered(s, s.large, body, 30, seed)
            s.server.long_reply([s.large._replace(length=len(body))], xid=s.xid)

    @rule('server-%s-reply-chunk-begun' % name, 'decision 14', 'a Reply chunk with a whole reply at its beginning, '
          'which is said to be longer', CUT, on='v1-' + name, route=name)
    def _(s):
        reply_chunk_call(s)
        s.server.conn.write(s.large, rpc.reply(s.xid, rpc.fill(10000)))
        s.server.long_reply([s.large._replace(length=rpc.REPLY_BYTES + 20000)], xid=s.xid)


for version in PAIRS:
    half(*version)
    orders(*version)
