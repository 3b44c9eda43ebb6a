# SPDX-License-Identifier: BSD-2-Clause
"""Servers of version 2 that send invalid answers. Sections are those of draft-07."""
import rpc
import v1
import v2
from calls import SIZE, call, chunk_call, reply_chunk_call
from case import table
from expect import AtServer, Closes, Served, Then, V1Error, V2Error
from xdr import Seg, chunk, u32

rule = table('server', 'answers of version 2', 'v1-v2', 'v2')

FAILED = V1Error(v1.ERR_CHUNK)  # the only error that version 1 has for this
CUT = Closes('to the client: closed, no reply')


def answer(name, section, sent, expect, begin=call):
    """A case whose function returns the header type of the server's only answer, and the octets after its prefix."""
    def wrap(make):
        @rule('server-v2-' + name, section, sent, expect)
        def _(s):
            begin(s)
            s.server.send2(s.xid, *make(s))
    return wrap


def variants(htype, section, expect, *rows, **how):
    for name, sent, make in rows:
        answer(name, section, sent, expect, **how)(lambda s, f=make: (htype, f(s)))


def right(s):
    s.server.reply(rpc.reply(s.xid), xid=s.xid)


# --- answers that do not parse: the call fails, nothing is reported (decision 39) ---

variants(
    v2.REPLY_INLINE, '7', FAILED,
    ('cut-0', 'a REPLY_INLINE that ends after its prefix', lambda s: b''),
    ('cut-4', 'a REPLY_INLINE without payload', lambda s: u32(0)),
    ('cut-7', 'a REPLY_INLINE with three octets of payload', lambda s: bytes(7)),
    ('bool', 'a Write list discriminator of 2', lambda s: u32(2) + rpc.reply(s.xid)),
    ('count', 'a Write chunk of 2^32 - 1 segments', lambda s: u32(1, -1) + bytes(40)),
    ('count-wraps', 'a Write chunk of 2^28 segments, 2^32 octets', lambda s: u32(1, 1 << 28) + bytes(40)),
    ('two-xids', 'a reply whose prefix has the right XID and whose stream has not',
     lambda s: u32(0) + rpc.reply(s.xid ^ 1)),
)
variants(
    v2.REPLY_EXTERNAL, '6.3.8', FAILED,
    ('external-none', 'a REPLY_EXTERNAL without a Reply chunk', lambda s: u32(0, 0)),
    ('external-cut', 'a REPLY_EXTERNAL that ends in its Reply chunk', lambda s: u32(0, 1, 1, 7)),
    ('external-payload', 'a REPLY_EXTERNAL with payload', lambda s: u32(0, 1) + chunk([]) + rpc.reply(s.xid)),
    ('external-bool', 'a REPLY_EXTERNAL with a discriminator of 3', lambda s: u32(0, 3)),
)
variants(
    v2.REPLY_MIDDLE, '7', FAILED,
    ('middle-cut', 'a REPLY_MIDDLE that ends after its prefix', lambda s: b''),
    ('middle-empty', 'a REPLY_MIDDLE without payload', lambda s: u32(100)),
    ('middle-xid', 'a REPLY_MIDDLE whose stream has another XID', lambda s: u32(100) + rpc.reply(s.xid ^ 1)),
)

# --- a reply that calls itself a call: its sender gets a report, and the call fails all the same ---

for name, htype, sent, lists in (('call-inline', v2.CALL_INLINE, 'CALL_INLINE', v2.call_lists()),
                                 ('call-middle', v2.CALL_MIDDLE, 'the first CALL_MIDDLE of two', u32(40))):
    answer('reply-in-' + name, 'decision 39', 'the reply as ' + sent,
           Then(AtServer(V2Error(v2.ERR_BAD_XDR, goes_on=False)), FAILED))(
        lambda s, htype=htype, lists=lists: (htype, lists + rpc.reply(s.xid)))

# --- answers that parse, and are none: the session ends ---

variants(
    v2.REPLY_INLINE, '4.5.2.1', CUT,
    ('short', 'a reply of four octets', lambda s: u32(0, s.xid)),
    ('call', 'a call as the reply', lambda s: u32(0) + rpc.call(s.xid)),
    ('mtype-7', 'an RPC message of type 7', lambda s: u32(0) + rpc.reply(s.xid, mtype=7)),
    ('chunk', 'a Write chunk that was not offered',
     lambda s: u32(1) + chunk([Seg(1, 4, 0)]) + u32(0) + rpc.reply(s.xid)),
)


@rule('server-v2-other-xid', 'decision 60', 'a reply with the XID of no call', CUT)
def _(s):
    call(s)
    s.server.reply(rpc.reply(s.xid ^ 0x1000), xid=s.xid ^ 0x1000)


@rule('server-v2-twice', 'decision 60', 'the reply twice', Then(Served(goes_on=False), CUT))
def _(s):
    call(s)
    right(s)
    right(s)


@rule('server-v2-error-and-reply', '7', 'ERR_SYSTEM, then the reply all the same',
      Then(V1Error(v1.ERR_CHUNK, goes_on=False), CUT))
def _(s):
    call(s)
    s.server.error(v2.ERR_SYSTEM, xid=s.xid)
    right(s)


# --- chunks that are not what was offered, or not what was written ---

def returned(s, *lengths, write=SIZE, more=()):
    """Writes @write octets, returns one Write chunk with these lengths."""
    if write:
        s.server.conn.write(s.write, rpc.fill(write))
    segs = [s.write._replace(length=n) for n in lengths]
    return u32(1) + chunk(segs) + b''.join(u32(1) + chunk(c) for c in more) + u32(0) + rpc.reply(s.xid, u32(SIZE))


variants(
    v2.REPLY_INLINE, '4.5.2.1', CUT,
    ('chunk-longer', 'a Write chunk one octet longer than offered', lambda s: returned(s, SIZE + 1)),
    ('chunk-huge', 'a Write chunk of 2^32 - 1 octets', lambda s: returned(s, 0xffffffff)),
    ('chunk-many', 'a Write chunk of 100 segments of 2^32 - 1 octets', lambda s: returned(s, *[0xffffffff] * 100)),
    ('chunk-unwritten', 'a Write chunk as offered, and nothing was written', lambda s: returned(s, SIZE, write=0)),
    ('chunk-half-written', 'a Write chunk as offered, and half of it was written',
     lambda s: returned(s, SIZE, write=SIZE // 2)),
    ('chunk-second', 'a second Write chunk, never offered', lambda s: returned(s, SIZE, more=[[Seg(1, 4, 0)]])),
    begin=chunk_call,
)
variants(
    v2.REPLY_EXTERNAL, '6.3.8', CUT,
    ('reply-chunk', 'a Reply chunk that was not offered', lambda s: u32(0, 1) + chunk([Seg(6, 100, 0)])),
)
WHOLE = rpc.REPLY_BYTES + 20000


def long_reply(s, told, body):
    s.server.conn.write(s.large, body)
    return u32(0, 1) + chunk([s.large._replace(length=told)])


variants(
    v2.REPLY_EXTERNAL, '6.6.3', CUT,
    ('reply-chunk-longer', 'a Reply chunk one octet longer than offered',
     lambda s: long_reply(s, s.large.length + 1, rpc.reply(s.xid))),
    ('reply-chunk-unwritten', 'a Reply chunk into which nothing was written',
     lambda s: u32(0, 1) + chunk([s.large])),
    ('reply-chunk-noise', 'a Reply chunk with 0xff octets', lambda s: long_reply(s, 100, b'\xff' * 100)),
    ('reply-chunk-xid', 'a Reply chunk with the reply to another call',
     lambda s: long_reply(s, 24, rpc.reply(s.xid ^ 1))),
    begin=reply_chunk_call,
)
variants(
    v2.REPLY_INLINE, '6.5', Served(),
    ('reply-chunk-unused', 'an inline reply where a Reply chunk was offered', lambda s: u32(0) + rpc.reply(s.xid)),
    begin=reply_chunk_call,
)

# --- continued replies ---

BODY_BYTES = 2000


def body(s):
    return rpc.reply(s.xid, rpc.fill(BODY_BYTES - rpc.REPLY_BYTES))


def middle(s, data, remaining, xid=None):
    s.server.send2(s.xid if xid is None else xid, v2.REPLY_MIDDLE, u32(remaining) + data)


def last(s, data, xid=None):
    s.server.send2(s.xid if xid is None else xid, v2.REPLY_INLINE, u32(0) + data)


def continued(name, sent, expect, slow=False, route='v2'):
    def wrap(run):
        @rule('server-v2-cont-' + name, '6.3.9', sent, expect, slow=slow, route=route)
        def _(s):
            call(s)
            run(s)
    return wrap


@continued('right', 'a reply in three parts', Served(rpc.fill(BODY_BYTES - rpc.REPLY_BYTES)))
def _(s):
    middle(s, body(s)[:800], 1200)
    middle(s, body(s)[800:1600], 400)
    last(s, body(s)[1600:])


BROKEN = Then(AtServer(V2Error(v2.ERR_INVAL_CONT, goes_on=False)), FAILED)

for name, sent, first, rest in (
        ('none', 'a REPLY_MIDDLE with nothing remaining', 0, None),
        ('max', 'a REPLY_MIDDLE with 1048577 octets remaining, above max_payload', (1 << 20) + 1, None),
        ('last', 'a REPLY_MIDDLE with 2^32 - 1 octets remaining', 0xffffffff, None),
        ('same', 'a second part whose rdma_remaining does not fall', 1200, 1200),
        ('falls-more', 'a second part whose rdma_remaining falls by more than it brings', 1200, 300),
        ('zero', 'a second part whose rdma_remaining falls to nothing', 1200, 0)):
    @continued(name, sent, BROKEN)
    def _(s, first=first, rest=rest):
        middle(s, body(s)[:800], first)
        if rest is not None:
            middle(s, body(s)[800:1600], rest)


@continued('last-short', 'a last part that is a word short', BROKEN)
def _(s):
    middle(s, body(s)[:800], 1200)
    last(s, body(s)[800:-4])


@continued('last-long', 'a last part that is a word too long', BROKEN)
def _(s):
    middle(s, body(s)[:800], 1200)
    last(s, body(s)[800:] + bytes(4))


class BothAtServer:
    """The server gets two reports: about the intruding message, and about the continued reply that it interrupted."""
    text = 'to the server: RDMA2_ERR_INVAL_CONT with each XID'

    def check(self, c):
        for xid in (c.intruder, c.xid):
            assert c.server.expect_msg(xid).error == [v2.ERR_INVAL_CONT]


def intruder(name, sent, send):
    @continued('intruder-' + name, 'between two parts: ' + sent, Then(BothAtServer(), FAILED))
    def _(s):
        middle(s, body(s)[:800], 1200)
        s.intruder = s.xid ^ 0x2000
        send(s, s.intruder)
        last(s, body(s)[800:])


intruder('reply', 'another reply', lambda s, x: s.server.reply(rpc.reply(x), xid=x))
intruder('middle', 'a part of another reply', lambda s, x: middle(s, rpc.reply(x), 100, x))
intruder('call', 'a reverse call', lambda s, x: s.server.call(rpc.call(x), xid=x))
intruder('connprop', 'properties', lambda s, x: s.server.send2(x, v2.PROP_FINAL, v2.PROPS))


@continued('never-ends', 'half of a reply, and no more', Closes('after about a minute: closed'), slow=True,
           route='slow-v2')
def _(s):
    middle(s, body(s)[:800], 1200)


@continued('other-xid', 'a reply in two parts to no call', CUT)
def _(s):
    xid = s.xid ^ 0x3000
    middle(s, rpc.reply(xid), 100, xid)
    last(s, bytes(100), xid)


@continued('too-long-for-client', 'a reply of 9000 octets in parts, before a client of version 1 without Reply chunk',
           FAILED)
def _(s):
    data = rpc.reply(s.xid, rpc.fill(9000))
    middle(s, data[:4000], len(data) - 4000)
    middle(s, data[4000:8000], len(data) - 8000)
    last(s, data[8000:])


# --- types and versions that are none: reported; then the right reply ---

for htype in (0, 1, 3, 14, 0xffffffff):
    @rule('server-v2-type-%d' % htype, '7.1.3', 'header type %d, then the right reply' % htype,
          Then(AtServer(V2Error(v2.ERR_INVAL_HTYPE, goes_on=False)), Served()))
    def _(s, htype=htype):
        call(s)
        s.server.send2(s.xid, htype, u32(0) + rpc.reply(s.xid))
        right(s)

for vers in (0, 3, 0xffffffff):
    @rule('server-v2-version-%d' % vers, '7.1.1', 'version %d, then the right reply' % vers,
          Then(AtServer(V2Error(v2.ERR_VERS, 2, 2, vers=vers, goes_on=False)), Served()))
    def _(s, vers=vers):
        call(s)
        s.server.send2(s.xid, v2.REPLY_INLINE, u32(0) + rpc.reply(s.xid), vers=vers)
        right(s)


@rule('server-v2-grant-bad', '6.3.2', 'a GRANT with octets behind it, then the right reply',
      Then(AtServer(V2Error(v2.ERR_BAD_XDR, goes_on=False)), Served()))
def _(s):
    call(s)
    s.server.send2(s.xid, v2.GRANT, u32(1))
    right(s)
