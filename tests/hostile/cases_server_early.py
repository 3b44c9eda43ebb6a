# SPDX-License-Identifier: BSD-2-Clause
"""Servers of the early draft of version 2 that send invalid answers. The client speaks draft -07, and gets the errors into which
docs/errors.md translates those of the server."""
import select

import early
import rpc
import v2
from calls import SIZE, call, chunk_call, reply_chunk_call
from case import table
from cases_server_v1 import Returned
from early import CALL, NOMSG, REPLY
from expect import AtServer, Closes, EarlyError, Other, Served, Service, Then, V2Error
from xdr import Seg, read_list, u32

rule = table('server', 'answers of the early draft of version 2', 'v2-early', 'by-early')
reverse = table('server', 'reverse direction of the early draft of version 2', 'v2-early', 'by-early')

SYSTEM = V2Error(v2.ERR_SYSTEM)
CUT = Closes('to the client: closed, no reply')
BAD_AT_SERVER = AtServer(EarlyError(early.ERR_BAD_HEADER, goes_on=False))
INVAL_AT_SERVER = AtServer(EarlyError(early.ERR_INVAL_OPTION, goes_on=False))


def answer(name, section, sent, expect, begin=call, on='v2-early', before=None):
    """A case whose function returns the server's only answer."""
    def wrap(make):
        @rule('server-early-' + name, section, sent, expect, on=on)
        def _(s):
            if before:
                before(s)
            begin(s)
            data = make(s)
            if data:
                s.server.send(data)
    return wrap


def variants(section, expect, *rows, **how):
    for name, sent, make in rows:
        answer(name, section, sent, expect, **how)(make)


def reply(s, **fixed):
    return early.answer(s.xid, rpc.reply(s.xid), **fixed)


# --- headers that do not parse: the call fails (rfc5666bis-01 5.5), the session goes on ---

for n, where in ((16, 'the type'), (20, 'the direction'), (24, 'the Read list'), (28, 'the Write list')):
    answer('cut-%d' % n, 'cel-01 4.2', 'a reply that ends after ' + where, SYSTEM)(lambda s, n=n: reply(s)[:n])
variants(
    'cel-01 4.2', SYSTEM,
    ('direction-2', 'a reply of direction 2', lambda s: reply(s, direction=2)),
    ('bool', 'a Write list discriminator of 2', lambda s: early.prefix(s.xid) + u32(REPLY, 0, 2, 0) + rpc.reply(s.xid)),
    ('count', 'a Write chunk of 2^32 - 1 segments',
     lambda s: early.prefix(s.xid) + u32(REPLY, 0, 1, -1, 0, 0) + rpc.reply(s.xid)),
    ('reads', 'a reply with a Read list',
     lambda s: early.prefix(s.xid) + u32(REPLY) + read_list([(44, Seg(1, 4, 0))]) + u32(0, 0) + rpc.reply(s.xid)),
    ('version-0', 'a reply of version 0', lambda s: reply(s, vers=0)),
    ('version-1', 'a reply of version 1', lambda s: reply(s, vers=1)),
    ('version-last', 'a reply of version 2^32 - 1', lambda s: reply(s, vers=0xffffffff)),
    ('mtype-2', 'an RPC message of type 2', lambda s: early.answer(s.xid, rpc.reply(s.xid, mtype=2))),
    ('mtype-call', 'direction REPLY, and an RPC call behind it', lambda s: early.answer(s.xid, rpc.call(s.xid))),
    ('two-xids', 'a reply whose header has the right XID and whose message has not',
     lambda s: early.answer(s.xid, rpc.reply(s.xid ^ 1))),
    ('nomsg-empty', 'an RDMA2_NOMSG without a chunk', lambda s: early.prefix(s.xid, NOMSG) + early.lists(REPLY)),
    ('nomsg-short', 'an RDMA2_NOMSG with a Reply chunk of four octets',
     lambda s: early.long_reply(s.xid, [Seg(1, 4, 0)])),
    ('short', 'a reply that ends after its lists', lambda s: reply(s)[:32]),
    ('short-rpc', 'a reply that ends after four octets of RPC', lambda s: reply(s)[:36]),
    ('err-cut', 'an RDMA2_ERROR without a code', lambda s: early.prefix(s.xid, early.ERROR)),
    ('err-cut-18', 'an RDMA2_ERROR with half a code', lambda s: early.error(s.xid)[:18]),
    ('err-vers-cut', 'an RDMA2_ERR_VERS with half its range', lambda s: early.error(s.xid, early.ERR_VERS, 1)),
    ('direction-call', 'a reply with direction CALL', lambda s: reply(s, direction=CALL)),
)

TYPES = (('2', 'message type 2', lambda s: reply(s, proc=2)),
         ('9', 'message type 9', lambda s: reply(s, proc=9)),
         ('13', 'REPLY_INLINE of draft -07', lambda s: reply(s, proc=v2.REPLY_INLINE)))
variants('cel-01 4.2', SYSTEM, *[('type-' + n, sent + ', after a reply', make) for n, sent, make in TYPES],
         before=lambda s: s.goes_on())
variants('decision 101', CUT, *[('type-%s-first' % n, sent + ' to the first call', make) for n, sent, make in TYPES],
         ('props-first', 'properties of draft -07 to the first call',
          lambda s: v2.prefix(0, v2.PROP_FINAL, 8) + v2.PROPS),
         ('grant-first', 'a GRANT of draft -07 to the first call', lambda s: v2.prefix(0, v2.GRANT, 8)))

# --- reports ---

variants(
    'cel-01 4.2.3', SYSTEM,
    ('bad-header', 'RDMA2_ERR_BAD_HEADER', lambda s: early.error(s.xid)),
    ('err-vers-range', 'RDMA2_ERR_VERS with the range 1 to 2, which holds the version it is about',
     lambda s: early.error(s.xid, early.ERR_VERS, 1, 2)),
    ('err-vers-absurd', 'RDMA2_ERR_VERS with low above high, which says nothing',
     lambda s: early.error(s.xid, early.ERR_VERS, 7, 2)),
)
variants(
    'cel-01 5.2', CUT,
    ('err-vers-1', 'RDMA2_ERR_VERS with the range 1 to 1: it will not answer the next call either',
     lambda s: early.error(s.xid, early.ERR_VERS, 1, 1)),
    ('err-vers-3', 'RDMA2_ERR_VERS with the range 3 to 9', lambda s: early.error(s.xid, early.ERR_VERS, 3, 9)),
    ('err-vers-of-1', 'RDMA_ERR_VERS of version 1 with the range 1 to 1',
     lambda s: early.error(s.xid, early.ERR_VERS, 1, 1, vers=1)),
)
variants(
    'decision 101', CUT,
    ('err-4-first', 'the INVAL_HTYPE of draft -07 to the first call', lambda s: early.error(s.xid, 4)),
    ('err-77-first', 'an RDMA2_ERROR with code 77 to the first call', lambda s: early.error(s.xid, 77)),
)
variants(
    'decision 101', SYSTEM,
    ('err-4', 'an RDMA2_ERROR with code 4 after the first reply', lambda s: early.error(s.xid, 4)),
    ('err-77', 'an RDMA2_ERROR with code 77 after the first reply', lambda s: early.error(s.xid, 77)),
    ('err-0', 'an RDMA2_ERROR with code 0 after the first reply', lambda s: early.error(s.xid, 0)),
    before=lambda s: s.goes_on(),
)
answer('to-early-bad-header', 'cel-01 4.2.3', 'RDMA2_ERR_BAD_HEADER, before a client of the early draft',
       EarlyError(early.ERR_BAD_HEADER), on='early-early')(lambda s: early.error(s.xid))

# --- passed over; then the right answer comes ---

for name, section, sent, make in (
        ('short', 'rfc5666bis-01 8.3.3', 'a message of 12 octets', lambda s: bytes(12)),
        ('short-other', 'rfc5666bis-01 8.3.3', 'a reply to no call that ends after four octets of RPC',
         lambda s: early.answer(s.xid ^ 1, rpc.reply(s.xid ^ 1))[:36]),
        ('err-cut-other', 'cel-01 4.2', 'an RDMA2_ERROR about no call, without a code',
         lambda s: early.prefix(s.xid ^ 1, early.ERROR)),
        ('inval-option', 'decision 102', 'an RDMA2_ERR_INVAL_OPTION about a call',
         lambda s: early.error(s.xid, early.ERR_INVAL_OPTION))):
    @rule('server-early-then-' + name, section, sent + ', then the right reply', Served())
    def _(s, make=make):
        call(s)
        s.server.send(make(s))
        s.server.send(reply(s))


def then_reply(name, section, sent, expect, make):
    """The server gets a report of its error, and then sends a valid answer."""
    @rule('server-early-' + name, section, sent + ', then the right reply', Then(expect, Served()))
    def _(s):
        call(s)
        s.server.send(make(s))
        s.server.send(reply(s))


then_reply('option', 'cel-01 3.1', 'an option with the XID of the call', INVAL_AT_SERVER,
           lambda s: early.option(s.xid, direction=REPLY))
then_reply('option-call', 'cel-01 3.1', 'an option of direction CALL', INVAL_AT_SERVER, lambda s: early.option(s.xid))
then_reply('option-payload', 'cel-01 3.1', 'an option with the reply behind it', INVAL_AT_SERVER,
           lambda s: early.option(s.xid, direction=REPLY) + rpc.reply(s.xid))
then_reply('option-huge', 'cel-01 4.2', 'an option of direction CALL that says 2^32 - 1 octets of information',
           BAD_AT_SERVER, lambda s: early.prefix(s.xid, early.OPTIONAL) + u32(CALL, 1, -1))

for credit in (0, 0xffffffff):
    @rule('server-early-credit-%d' % credit, 'rfc5666bis-01 5.1.3', 'a reply that grants %d credits' % credit, Served())
    def _(s, credit=credit):
        call(s)
        s.server.send(reply(s, credit=credit))


def nothing_comes(s, why):
    """Checks that the server gets no message while another session is served. RDMA Reads and Writes may come."""
    s.route.check_witness()
    while select.select([s.server.conn.sock], [], [], 0)[0]:
        event = s.server.conn.step()
        assert not event, '%s: %r' % (why, event)


@rule('server-early-asked-once', 'cel-01 5', 'no answer to the first call, and three calls wait',
      Other('one call at the server, of 1024 octets at most; the others after its reply'))
def _(s):
    xids = []
    for _ in range(3):
        xids.append(s.end.new_xid())
        s.end.call(rpc.call(xids[-1]))
    assert s.server.expect_msg(xids[0]).octets <= 1024
    nothing_comes(s, 'a second message before the first reply')
    s.server.send(early.answer(xids[0], rpc.reply(xids[0])))
    for xid in xids[1:]:
        s.server.expect_msg(xid)


@rule('server-early-asked-error', 'cel-01 5', 'RDMA2_ERR_BAD_HEADER with 8 credits to the first call, and two calls wait',
      Other('one call at the server: an error tells no credits'))
def _(s):
    xids = [s.end.new_xid() for _ in range(3)]
    for xid in xids:
        s.end.call(rpc.call(xid), xid=xid)
    s.server.expect_msg(xids[0])
    s.server.send(early.error(xids[0]))
    s.server.expect_msg(xids[1])
    nothing_comes(s, 'a second call without a credit')


@rule('server-early-credit-kept', 'rfc5666bis-01 4.3', 'grants 2, and three calls wait',
      Other('two calls at the server; the third after a reply'))
def _(s):
    call(s)
    s.server.send(reply(s, credit=2))
    s.end.expect_reply(s.xid)
    xids = []
    for _ in range(3):
        xids.append(s.end.new_xid())
        s.end.call(rpc.call(xids[-1]))
    for xid in xids[:2]:
        s.server.expect_msg(xid)
    nothing_comes(s, 'a call without credit')
    s.xid = xids[0]
    s.server.send(reply(s, credit=2))
    s.server.expect_msg(xids[2])
    s.end.expect_reply(xids[0])


# --- answers to nothing ---

variants(
    'decision 60', CUT,
    ('other-xid', 'a reply with the XID of no call',
     lambda s: early.answer(s.xid ^ 0x1000, rpc.reply(s.xid ^ 0x1000))),
    ('err-other-xid', 'an RDMA2_ERR_BAD_HEADER with the XID of no call', lambda s: early.error(s.xid ^ 0x1000)),
)


@rule('server-early-twice-idle', 'decision 23', 'the reply twice, no other call waits', Then(Served(), Service()))
def _(s):
    call(s)
    s.server.send(reply(s))
    s.server.send(reply(s))


@rule('server-early-error-and-reply', 'rfc5666bis-01 5.5', 'RDMA2_ERR_BAD_HEADER, then the reply all the same', SYSTEM)
def _(s):
    call(s)
    s.server.send(early.error(s.xid))
    s.server.send(reply(s))


# --- chunks that are not what was offered, or not what was written ---

def returned(s, *lengths, write=SIZE, more=()):
    """Writes @write octets, returns one Write chunk with these lengths."""
    if write:
        s.server.conn.write(s.write, rpc.fill(write))
    segs = [s.write._replace(length=n) for n in lengths]
    return early.answer(s.xid, rpc.reply(s.xid, u32(SIZE)), [segs, *more])


for name, sent, make in (
        ('longer', 'a Write chunk one octet longer than offered', lambda s: returned(s, SIZE + 1)),
        ('huge', 'a Write chunk of 2^32 - 1 octets', lambda s: returned(s, 0xffffffff)),
        ('sum', 'two segments of 2^31 octets for one', lambda s: returned(s, 1 << 31, 1 << 31)),
        ('unwritten', 'a Write chunk as offered, and nothing was written', lambda s: returned(s, SIZE, write=0)),
        ('half-written', 'a Write chunk as offered, and half of it was written',
         lambda s: returned(s, SIZE, write=SIZE // 2)),
        ('second', 'a second Write chunk, never offered', lambda s: returned(s, SIZE, more=[[Seg(1, 4, 0)]])),
        ('reply-chunk', 'a Reply chunk that was not offered',
         lambda s: early.long_reply(s.xid, [Seg(0x666, 1000, 0)]))):
    answer('chunk-' + name, 'rfc5666bis-01 5.2', sent, CUT, begin=chunk_call)(make)
for name, sent, n, make in (
        ('shorter', 'a Write chunk of 100 octets, all written', 100, lambda s: returned(s, 100, write=100)),
        ('in-two', 'two segments for one, with the right sum', SIZE, lambda s: returned(s, 100, SIZE - 100))):
    answer('chunk-' + name, 'rfc5666bis-01 5.2', sent, Returned(n), begin=chunk_call)(make)


def long_reply(s, told, body=None, xid=None):
    """Writes a reply into the Reply chunk, and returns the chunk with a length of @told octets."""
    xid = s.xid if xid is None else xid
    s.server.conn.write(s.large, rpc.reply(xid, rpc.fill(20000)) if body is None else body)
    return early.long_reply(s.xid, [s.large._replace(length=told)])


WHOLE = rpc.REPLY_BYTES + 20000
variants(
    'rfc5666bis-01 5.2', CUT,
    ('reply-chunk-longer', 'a Reply chunk one octet longer than offered',
     lambda s: long_reply(s, s.large.length + 1)),
    ('reply-chunk-huge', 'a Reply chunk of 2^32 - 1 octets', lambda s: long_reply(s, 0xffffffff)),
    ('reply-chunk-unwritten', 'a Reply chunk into which nothing was written',
     lambda s: early.long_reply(s.xid, [s.large._replace(length=WHOLE)])),
    ('reply-chunk-xid', 'a Reply chunk with the reply to another call',
     lambda s: long_reply(s, WHOLE, xid=s.xid ^ 1)),
    ('reply-chunk-call', 'a Reply chunk with a call', lambda s: long_reply(s, 40, rpc.call(s.xid))),
    begin=reply_chunk_call,
)
answer('reply-chunk-inline', 'decision 50', 'an inline reply where a Reply chunk was offered', Served(),
       begin=reply_chunk_call)(reply)


# --- the reverse direction: calls of the server ---


for name, sent, make in (
        ('read-chunk', 'a reverse call with a Read chunk',
         lambda x: early.message(x, rpc.call(x), [(40, Seg(1, 4, 0))])),
        ('write-chunk', 'a reverse call with a Write chunk',
         lambda x: early.message(x, rpc.call(x), (), [[Seg(1, 4, 0)]])),
        ('reply-chunk', 'a reverse call with a Reply chunk',
         lambda x: early.message(x, rpc.call(x), (), (), [Seg(1, 100, 0)])),
        ('long', 'a long reverse call', lambda x: early.long_call(x, [Seg(1, 100, 0)]))):
    @reverse('server-early-reverse-' + name, 'rfc5666bis-01 8.3.4', sent, Then(BAD_AT_SERVER, Service()))
    def _(s, make=make):
        s.goes_on()
        s.server_xid = s.server.new_xid()
        s.server.send(make(s.server_xid))


@reverse('server-early-reverse-reply-in-it', 'decision 104', 'direction CALL, and an RPC reply to nothing behind it',
         Service())
def _(s):
    s.goes_on()
    xid = s.server.new_xid()
    s.server.send(early.answer(xid, rpc.reply(xid), direction=CALL))


@reverse('server-early-reverse-right', 'cel-01 4.2.2', 'a reverse call that is right',
         Other('it comes to the client in draft -07; its reply comes back'))
def _(s):
    s.goes_on()
    xid = s.server.new_xid()
    s.server.call(rpc.call(xid))
    assert s.end.expect_msg(xid).proc == v2.CALL_INLINE
    s.end.reply(rpc.reply(xid), xid=xid)
    assert s.server.expect_reply(xid).results == b''
    s.goes_on()


@reverse('server-early-reverse-to-early', 'cel-01 4.2.2', 'a reverse call to a client of the early draft',
         Other('it comes to the client; its reply comes back'), on='early-early')
def _(s):
    s.goes_on()
    xid = s.server.new_xid()
    s.server.call(rpc.call(xid))
    assert s.end.expect_msg(xid).body == rpc.call(xid)
    s.end.reply(rpc.reply(xid), xid=xid)
    assert s.server.expect_reply(xid).results == b''
    s.goes_on()


@reverse('server-early-reverse-client-chunk', 'rfc5666bis-01 8.3.5',
         'a right reverse call; the client, of the early draft, answers with a Write chunk',
         AtServer(EarlyError(early.ERR_BAD_HEADER, goes_on=False)), on='early-early')
def _(s):
    s.goes_on()
    s.server_xid = s.server.new_xid()
    s.server.call(rpc.call(s.server_xid))
    s.end.expect_msg(s.server_xid)
    s.end.reply(rpc.reply(s.server_xid), [[Seg(1, 8, 0)]], xid=s.server_xid)


@reverse('server-early-reverse-same-xid', 'rfc5666bis-01 8.3', 'a reverse call with the XID of the forward call in '
         'flight', Other('both go on their way'))
def _(s):
    m = call(s)
    s.server.call(rpc.call(m.xid), xid=m.xid)
    assert s.end.expect_msg(m.xid).proc == v2.CALL_INLINE
    s.end.reply(rpc.reply(m.xid), xid=m.xid)
    assert s.server.expect_msg(m.xid).body == rpc.reply(m.xid)
    s.server.send(reply(s))
    s.end.expect_reply(m.xid)


@reverse('server-early-reverse-twice', 'rfc5666bis-01 8.3', 'a reverse call twice with one XID',
         Closes('to the client: closed'))
def _(s):
    s.goes_on()
    xid = s.server.new_xid()
    for _ in range(2):
        s.server.call(rpc.call(xid))
    assert s.end.expect_msg(xid).proc == v2.CALL_INLINE
