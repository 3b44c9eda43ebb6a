# SPDX-License-Identifier: BSD-2-Clause
"""Servers of version 1 that send invalid answers. The client speaks version 2, and gets the errors into which docs/errors.md
translates those of the server."""
import rpc
import v1
import v2
from calls import SIZE, call, chunk_call, reply_chunk_call
from case import table
from expect import AtServer, Closes, Other, Served, Service, Then, V1Error, V2Error
from xdr import Seg, chunk, read_list, u32

rule = table('server', 'answers of version 1', 'v2-v1', 'v1')
reverse = table('server', 'reverse direction of version 1', 'v2-v1', 'v1')

SYSTEM = V2Error(v2.ERR_SYSTEM)
CUT = Closes('to the client: closed, no reply')


def answer(name, section, sent, expect, begin=call, on='v2-v1', slow=False, route='v1'):
    """A case whose function returns the server's only answer."""
    def wrap(make):
        @rule('server-v1-' + name, section, sent, expect, on=on, route=route, slow=slow)
        def _(s):
            begin(s)
            data = make(s)
            if data:
                s.server.send(data)
    return wrap


def variants(section, expect, *rows, **how):
    for name, sent, make in rows:
        answer(name, section, sent, expect, **how)(make)


def reply(s, **fixed):
    return v1.message(s.xid, rpc.reply(s.xid), **fixed)


# --- headers that do not parse: the call fails (5.5), the session goes on ---

for n, where in ((16, 'the type'), (20, 'the Read list'), (24, 'the Write list')):
    answer('cut-%d' % n, 'rfc5666bis-01 5.5', 'a reply that ends after ' + where, SYSTEM)(lambda s, n=n: reply(s)[:n])
variants(
    'rfc5666bis-01 5.5', SYSTEM,
    ('bool', 'a Write list discriminator of 2',
     lambda s: v1.prefix(s.xid) + u32(0, 2, 0) + rpc.reply(s.xid)),
    ('count', 'a Write chunk of 2^32 - 1 segments',
     lambda s: v1.prefix(s.xid) + u32(0, 1, -1, 0, 0) + rpc.reply(s.xid)),
    ('reads', 'a reply with a Read list',
     lambda s: v1.prefix(s.xid) + read_list([(44, Seg(1, 4, 0))]) + u32(0, 0) + rpc.reply(s.xid)),
    ('type-9', 'message type 9', lambda s: reply(s, proc=9)),
    ('version-0', 'a reply of version 0', lambda s: reply(s, vers=0)),
    ('version-2', 'a reply of version 2', lambda s: reply(s, vers=2)),
    ('version-last', 'a reply of version 2^32 - 1', lambda s: reply(s, vers=0xffffffff)),
    ('mtype-2', 'an RPC message of type 2', lambda s: v1.message(s.xid, rpc.reply(s.xid, mtype=2))),
    ('two-xids', 'a reply whose header has the right XID and whose message has not',
     lambda s: v1.message(s.xid, rpc.reply(s.xid ^ 1))),
    ('nomsg-empty', 'an RDMA_NOMSG without a chunk', lambda s: v1.prefix(s.xid, v1.NOMSG) + v1.lists()),
    ('nomsg-short', 'an RDMA_NOMSG with a Reply chunk of four octets',
     lambda s: v1.long_reply(s.xid, [Seg(1, 4, 0)])),
    ('short', 'a reply that ends after its lists', lambda s: reply(s)[:28]),
    ('short-rpc', 'a reply that ends after four octets of RPC', lambda s: reply(s)[:32]),
    ('err-cut', 'an RDMA_ERROR without a code', lambda s: v1.prefix(s.xid, v1.ERROR)),
    ('err-cut-18', 'an RDMA_ERROR with half a code', lambda s: v1.error(s.xid)[:18]),
    ('err-vers-cut', 'an ERR_VERS without its range', lambda s: v1.error(s.xid, v1.ERR_VERS)),
)

# --- reports ---

variants(
    'rfc5666bis-01 5.5', SYSTEM,
    ('err-chunk', 'ERR_CHUNK', lambda s: v1.error(s.xid)),
    ('err-vers', 'ERR_VERS with the range 1 to 1', lambda s: v1.error(s.xid, v1.ERR_VERS, 1, 1)),
    ('err-vers-absurd', 'ERR_VERS with low above high, which says nothing',
     lambda s: v1.error(s.xid, v1.ERR_VERS, 7, 2)),
    ('err-unknown', 'an RDMA_ERROR with code 77', lambda s: v1.error(s.xid, 77)),
    ('err-code-0', 'an RDMA_ERROR with code 0', lambda s: v1.error(s.xid, 0)),
    ('err-other-version', 'an ERR_VERS of version 2', lambda s: v1.error(s.xid, v1.ERR_VERS, 1, 1, vers=2)),
)
variants(
    'rfc5666bis-01 5.5', CUT,
    ('err-vers-2', 'ERR_VERS with a range that lacks 1: it will not answer the next call either',
     lambda s: v1.error(s.xid, v1.ERR_VERS, 2, 2)),
)
for code, words, text in ((v1.ERR_CHUNK, (), 'ERR_CHUNK'), (v1.ERR_VERS, (1, 1), 'ERR_VERS')):
    answer('to-v1-' + text, 'rfc5666bis-01 5.5', text + ', before a client of version 1', V1Error(v1.ERR_CHUNK),
           on='v1-v1')(lambda s, c=code, w=words: v1.error(s.xid, c, *w))

# --- passed over; then the right answer comes ---

for name, section, sent, make in (
        ('short', '8.3.3', 'a message of 12 octets', lambda s: bytes(12)),
        ('short-other', '8.3.3', 'a reply to no call that ends after its lists',
         lambda s: v1.message(s.xid ^ 1, rpc.reply(s.xid ^ 1))[:28]),
        ('err-cut-other', '5.5', 'an RDMA_ERROR about no call, without a code', lambda s: v1.prefix(s.xid ^ 1, v1.ERROR)),
        ('done', '5.7.2', 'an RDMA_DONE', lambda s: v1.prefix(s.xid, v1.DONE))):
    @rule('server-v1-then-' + name, 'rfc5666bis-01 ' + section, sent + ', then the right reply', Served())
    def _(s, make=make):
        call(s)
        s.server.send(make(s))
        s.server.send(reply(s))


@rule('server-v1-msgp', 'rfc5666bis-01 5.7.1', 'the reply as RDMA_MSGP', Served())
def _(s):
    call(s)
    s.server.send(v1.prefix(s.xid, v1.MSGP) + u32(64, 64) + v1.lists() + rpc.reply(s.xid))


for credit in (0, 0xffffffff):
    @rule('server-v1-credit-%d' % credit, 'rfc5666bis-01 5.1.3', 'a reply that grants %d credits' % credit, Served())
    def _(s, credit=credit):
        call(s)
        s.server.send(reply(s, credit=credit))


@rule('server-v1-credit-kept', 'rfc5666bis-01 4.3', 'grants 2, and three calls wait',
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
    s.route.check_witness()  # a third one would have come before the witness was served
    s.server.conn.sock.setblocking(False)
    try:
        assert not s.server.conn.sock.recv(1), 'closed'
        raise AssertionError('a call without credit')
    except BlockingIOError:
        s.server.conn.sock.setblocking(True)
    s.xid = xids[0]
    s.server.send(reply(s, credit=2))
    s.server.expect_msg(xids[2])
    s.end.expect_reply(xids[0])


# --- answers to nothing ---

variants(
    'decision 60', CUT,
    ('other-xid', 'a reply with the XID of no call',
     lambda s: v1.message(s.xid ^ 0x1000, rpc.reply(s.xid ^ 0x1000))),
    ('err-other-xid', 'an ERR_CHUNK with the XID of no call', lambda s: v1.error(s.xid ^ 0x1000)),
)


@rule('server-v1-twice', 'decision 60', 'the reply twice, while another call waits', CUT)
def _(s):
    call(s)
    s.server.send(reply(s))
    s.end.expect_reply(s.xid)
    first, second = s.xid, s.end.new_xid()
    s.end.call(rpc.call(second))
    s.server.expect_msg(second)
    s.server.send(v1.message(first, rpc.reply(first)))


@rule('server-v1-twice-idle', 'decision 23', 'the reply twice, no other call waits', Then(Served(), Service()))
def _(s):
    call(s)
    s.server.send(reply(s))
    s.server.send(reply(s))


@rule('server-v1-error-and-reply', 'rfc5666bis-01 5.5', 'ERR_CHUNK, then the reply all the same', SYSTEM)
def _(s):
    call(s)
    s.server.send(v1.error(s.xid))
    s.server.send(reply(s))


# --- chunks that are not what was offered, or not what was written ---

def returned(s, *lengths, write=SIZE, more=()):
    """Writes @write octets, returns one Write chunk with these lengths."""
    if write:
        s.server.conn.write(s.write, rpc.fill(write))
    segs = [s.write._replace(length=n) for n in lengths]
    return v1.message(s.xid, rpc.reply(s.xid, u32(SIZE)), (), [segs, *more])


for name, sent, make in (
        ('longer', 'a Write chunk one octet longer than offered', lambda s: returned(s, SIZE + 1)),
        ('huge', 'a Write chunk of 2^32 - 1 octets', lambda s: returned(s, 0xffffffff)),
        ('sum', 'two segments of 2^31 octets for one', lambda s: returned(s, 1 << 31, 1 << 31)),
        ('unwritten', 'a Write chunk as offered, and nothing was written', lambda s: returned(s, SIZE, write=0)),
        ('half-written', 'a Write chunk as offered, and half of it was written',
         lambda s: returned(s, SIZE, write=SIZE // 2)),
        ('second', 'a second Write chunk, never offered', lambda s: returned(s, SIZE, more=[[Seg(1, 4, 0)]])),
        ('reply-chunk', 'a Reply chunk that was not offered',
         lambda s: v1.long_reply(s.xid, [Seg(0x666, 1000, 0)]))):
    answer('chunk-' + name, 'rfc5666bis-01 5.2', sent, CUT, begin=chunk_call)(make)


class Returned:
    """The reply, with a Write chunk of as many octets."""

    def __init__(self, n):
        self.n = n
        self.text = 'the RPC reply, %d octets in its Write chunk' % n

    def check(self, c):
        m = c.end.expect_reply(c.xid)
        assert sum(seg.length for chunk_ in m.writes for seg in chunk_) == self.n, m.writes
        assert c.end.conn.memory(c.back)[:self.n] == rpc.fill(self.n), 'the octets'
        assert c.end.conn.memory(c.back)[self.n:] == bytes(SIZE - self.n), 'octets behind'
        c.goes_on()


for name, sent, n, make in (
        ('shorter', 'a Write chunk of 100 octets, all written', 100, lambda s: returned(s, 100, write=100)),
        ('zero', 'a Write chunk of no octets', 0, lambda s: returned(s, 0, write=0)),
        ('none', 'no Write chunk', 0, lambda s: reply(s)),
        ('no-segments', 'a Write chunk without segments', 0, lambda s: returned(s, write=0)),
        ('in-two', 'two segments for one, with the right sum', SIZE, lambda s: returned(s, 100, SIZE - 100)),
        ('other-handle', 'a Write chunk whose handle is another', SIZE,
         lambda s: returned(s, SIZE).replace(s.write.pack()[:4], b'\x12\x34\x56\x78'))):
    answer('chunk-' + name, 'rfc5666bis-01 5.2', sent, Returned(n), begin=chunk_call)(make)


def long_reply(s, told, body=None, xid=None):
    """Writes a reply into the Reply chunk, and returns the chunk with a length of @told octets."""
    xid = s.xid if xid is None else xid
    s.server.conn.write(s.large, rpc.reply(xid, rpc.fill(20000)) if body is None else body)
    return v1.long_reply(s.xid, [s.large._replace(length=told)])


WHOLE = rpc.REPLY_BYTES + 20000
variants(
    'rfc5666bis-01 5.2', CUT,
    ('reply-chunk-longer', 'a Reply chunk one octet longer than offered',
     lambda s: long_reply(s, s.large.length + 1)),
    ('reply-chunk-huge', 'a Reply chunk of 2^32 - 1 octets', lambda s: long_reply(s, 0xffffffff)),
    ('reply-chunk-unwritten', 'a Reply chunk into which nothing was written',
     lambda s: v1.long_reply(s.xid, [s.large._replace(length=WHOLE)])),
    ('reply-chunk-noise', 'a Reply chunk with 0xff octets', lambda s: long_reply(s, 100, b'\xff' * 100)),
    ('reply-chunk-xid', 'a Reply chunk with the reply to another call',
     lambda s: long_reply(s, WHOLE, xid=s.xid ^ 1)),
    ('reply-chunk-call', 'a Reply chunk with a call', lambda s: long_reply(s, 40, rpc.call(s.xid))),
    begin=reply_chunk_call,
)
answer('reply-chunk-more-told', 'decision 14', 'a Reply chunk of 25000 octets, 20024 were written',
       CUT, begin=reply_chunk_call)(lambda s: long_reply(s, 25000))


@rule('server-v1-reply-chunk-cut', 'decision 89',
      'a reply of 2 MiB, cut to the Reply chunk, which is shorter than that of the client (max_payload)',
      V2Error(v2.ERR_REPLY_RESOURCE, 0))
def _(s):
    s.xid = s.end.new_xid()
    s.end.call(rpc.fill_call(s.xid, 2 << 20), (), (), [s.end.conn.sink(3 << 20)])
    offered = s.server.expect_msg(s.xid).reply
    whole = rpc.reply(s.xid, rpc.fill(2 << 20))
    for segment in offered:
        s.server.conn.write(segment, whole[:segment.length])
        whole = whole[segment.length:]
    assert whole
    s.server.send(v1.long_reply(s.xid, offered))


answer('reply-chunk-inline', 'decision 50', 'an inline reply where a Reply chunk was offered', Served(),
       begin=reply_chunk_call)(reply)


# --- the reverse direction: calls of the server ---


def reverse_call(name, section, sent, expect, make):
    @reverse('server-v1-reverse-' + name, section, sent, expect)
    def _(s):
        s.goes_on()
        s.server_xid = s.server.new_xid()
        s.server.send(make(s.server_xid))


REFUSED = Then(AtServer(V1Error(v1.ERR_CHUNK, goes_on=False)), Service())

for name, sent, make in (
        ('read-chunk', 'a reverse call with a Read chunk',
         lambda x: v1.message(x, rpc.call(x), [(40, Seg(1, 4, 0))])),
        ('write-chunk', 'a reverse call with a Write chunk',
         lambda x: v1.message(x, rpc.call(x), (), [[Seg(1, 4, 0)]])),
        ('reply-chunk', 'a reverse call with a Reply chunk',
         lambda x: v1.message(x, rpc.call(x), (), (), [Seg(1, 100, 0)])),
        ('long', 'a long reverse call', lambda x: v1.long_call(x, [Seg(1, 100, 0)]))):
    reverse_call(name, 'rfc5666bis-01 8.3.4', sent, REFUSED, make)


@reverse('server-v1-reverse-right', 'rfc5666bis-01 8.3', 'a reverse call that is right',
         Other('it comes to the client as version 2; its reply comes back'))
def _(s):
    s.goes_on()
    xid = s.server.new_xid()
    s.server.call(rpc.call(xid))
    assert s.end.expect_msg(xid).proc == v2.CALL_INLINE
    s.end.reply(rpc.reply(xid), xid=xid)
    assert s.server.expect_reply(xid).results == b''
    s.goes_on()


@reverse('server-v1-reverse-same-xid', 'rfc5666bis-01 8.3', 'a reverse call with the XID of the forward call in flight',
         Other('both go on their way'))
def _(s):
    m = call(s)
    s.server.call(rpc.call(m.xid), xid=m.xid)
    assert s.end.expect_msg(m.xid).proc == v2.CALL_INLINE
    s.end.reply(rpc.reply(m.xid), xid=m.xid)
    assert s.server.expect_msg(m.xid).body == rpc.reply(m.xid)
    s.server.send(reply(s))
    s.end.expect_reply(m.xid)


@reverse('server-v1-reverse-twice', 'rfc5666bis-01 8.3', 'a reverse call twice with one XID',
         Closes('to the client: closed'))
def _(s):
    s.goes_on()
    xid = s.server.new_xid()
    for _ in range(2):
        s.server.call(rpc.call(xid))
    assert s.end.expect_msg(xid).proc == v2.CALL_INLINE


@reverse('server-v1-reverse-client-errs', 'draft-07 7', 'a right reverse call; the client reports ERR_SYSTEM', Then(
    AtServer(V1Error(v1.ERR_CHUNK, goes_on=False)), Service()))
def _(s):
    s.goes_on()
    s.server_xid = s.server.new_xid()
    s.server.call(rpc.call(s.server_xid))
    s.end.expect_msg(s.server_xid)
    s.end.error(v2.ERR_SYSTEM, xid=s.server_xid)


@reverse('server-v1-reverse-client-marks-call', 'decision 39', 'a right reverse call; the client replies in a CALL_INLINE', Then(
    V2Error(v2.ERR_BAD_XDR, about='server_xid', goes_on=False), AtServer(V1Error(v1.ERR_CHUNK, goes_on=False)), Service()))
def _(s):
    s.goes_on()
    s.server_xid = s.server.new_xid()
    s.server.call(rpc.call(s.server_xid))
    s.end.expect_msg(s.server_xid)
    s.end.send2(s.server_xid, v2.CALL_INLINE, v2.call_lists() + rpc.reply(s.server_xid))


@reverse('server-v1-reverse-client-chunk', 'draft-07 6.3.8',
         'a right reverse call; the client answers with a Write chunk that was never offered', Closes('closed'))
def _(s):
    s.goes_on()
    xid = s.server.new_xid()
    s.server.call(rpc.call(xid))
    s.end.expect_msg(xid)
    s.end.send2(xid, v2.REPLY_INLINE, u32(1) + chunk([Seg(1, 8, 0)]) + u32(0) + rpc.reply(xid))
