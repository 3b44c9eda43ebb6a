# SPDX-License-Identifier: BSD-2-Clause
"""Clients of version 1 that send malformed messages, or valid messages in the wrong place."""
import rdmap
import rpc
import v1
from case import messages, table
from expect import Closes, Refused, Served, Service, V1Error
from xdr import Seg, opaque, u32

rule = table('client', 'version 1', 'v1', 'to-v2')
message = messages(rule)

CHUNK = V1Error(v1.ERR_CHUNK)
SEG = Seg(0x77, 100, 0)


def variants(section, expect, *rows, **how):
    """Makes a case of each row: name, what is sent, a function from an XID to the message."""
    for name, sent, make in rows:
        message(name, section, sent, expect, **how)(lambda s, f=make: f(s.xid))


def null(xid, reads=(), writes=(), reply=None, **fixed):
    return v1.message(xid, rpc.call(xid), reads, writes, reply, **fixed)


def words(xid, *rest, proc=v1.MSG):
    """Return: a header whose lists are @words, with a call after it."""
    return v1.prefix(xid, proc) + u32(*rest) + rpc.call(xid)


# --- cut off ---

WHERE = ('an octet of the XID', 'the XID', 'the version', 'the credit')
for n, where in zip((1, 4, 8, 12), WHERE):
    variants('rfc5666bis-01 5.1', Service(), ('v1-cut-%d' % n, 'a message that ends after ' + where,
                                         lambda xid, n=n: null(xid)[:n]))
for n, where in ((16, 'the type'), (20, 'the Read list'), (24, 'the Write list')):
    variants('rfc5666bis-01 5.2', CHUNK, ('v1-cut-%d' % n, 'an RDMA_MSG that ends after ' + where,
                                     lambda xid, n=n: null(xid)[:n]))
for n, where in ((28, 'its lists'), (32, 'the XID of the call'), (36, 'the message type of the call'),
                 (40, 'the RPC version'), (44, 'the program'), (48, "the program's version")):
    variants('rfc5666bis-01 8.3.3', Service(), ('v1-cut-%d' % n, 'an RDMA_MSG that ends after ' + where,
                                                lambda xid, n=n: null(xid)[:n]))
for n, where in ((20, 'the discriminator'), (24, 'the Position'), (28, 'the handle'), (32, 'the length'),
                 (36, 'half of the offset')):
    variants('rfc5666bis-01 5.2', CHUNK,
             ('v1-cut-read-%d' % n, 'a Read segment that ends after ' + where,
              lambda xid, n=n: null(xid, [(44, SEG)])[:n]))
for n, where in ((24, 'the discriminator'), (28, 'the count'), (32, 'the handle'), (36, 'the length'),
                 (40, 'half of the offset'), (44, 'the segment')):
    variants('rfc5666bis-01 5.2', CHUNK,
             ('v1-cut-write-%d' % n, 'a Write chunk, the message ends after ' + where,
              lambda xid, n=n: null(xid, (), [[SEG]])[:n]))
for n, where in ((28, 'the discriminator'), (32, 'the count'), (36, 'the handle'), (44, 'half of the offset')):
    variants('rfc5666bis-01 5.2', CHUNK,
             ('v1-cut-reply-%d' % n, 'a Reply chunk, the message ends after ' + where,
              lambda xid, n=n: null(xid, (), (), [SEG])[:n]))

# --- lists that lie ---

variants(
    'rfc5666bis-01 5.2', CHUNK,
    ('v1-bool-read', 'a Read list discriminator of 2', lambda x: words(x, 2, 0, 0)),
    ('v1-bool-write', 'a Write list discriminator of 2', lambda x: words(x, 0, 2, 0)),
    ('v1-bool-reply', 'a Reply chunk discriminator of 2', lambda x: words(x, 0, 0, 2)),
    ('v1-bool-huge', 'a Read list discriminator of 2^32 - 1', lambda x: words(x, 0xffffffff, 0, 0)),
    ('v1-bool-swapped', 'a Read list discriminator of 1 in the other octet order',
     lambda x: words(x, 0x01000000, 0, 0)),
    ('v1-write-count-huge', 'a Write chunk of 2^32 - 1 segments', lambda x: words(x, 0, 1, 0xffffffff, 0, 0)),
    ('v1-write-count-wraps', 'a Write chunk of 2^28 segments, 2^32 octets',
     lambda x: words(x, 0, 1, 1 << 28, 0, 0)),
    ('v1-write-count-one-more', 'a Write chunk of two segments with the octets of one',
     lambda x: v1.prefix(x) + u32(0, 1, 2) + SEG.pack()),
    ('v1-reply-count-huge', 'a Reply chunk of 2^32 - 1 segments', lambda x: words(x, 0, 0, 1, 0xffffffff)),
    ('v1-read-without-end', 'a Read list of 160 segments that goes on to the end of the message',
     lambda x: v1.prefix(x) + b''.join(u32(1, 44 + 4 * i) + SEG.pack() for i in range(160))),
    ('v1-reads-too-many', 'a Read list of 40 chunks, above the 32 that are taken',
     lambda x: null(x, [(44 + 104 * i, SEG) for i in range(40)])),
    ('v1-writes-too-many', 'a Write list of 40 chunks, above the 32 that are taken',
     lambda x: null(x, (), [[SEG]] * 40)),
    ('v1-writes-empty-too-many', 'a Write list of 400 chunks without segments', lambda x: null(x, (), [[]] * 400)),
)

variants(
    'rfc5666bis-01 4.4.4', CHUNK,
    ('v1-position-odd', 'Position 45, no multiple of four', lambda x: null(x, [(45, SEG)])),
    ('v1-position-in-header', 'Position 4, within the RPC header', lambda x: null(x, [(4, SEG)])),
    ('v1-position-36', 'Position 36, where the smallest RPC header ends four octets later',
     lambda x: null(x, [(36, SEG)])),
    ('v1-position-behind', 'Position 4000, behind the end of the stream', lambda x: null(x, [(4000, SEG)])),
    ('v1-position-last', 'Position 2^32 - 4', lambda x: null(x, [(0xfffffffc, SEG)])),
    ('v1-position-overlap', 'a Position within the chunk before',
     lambda x: v1.message(x, rpc.echo_call(x, bytes(400)), [(44, SEG), (100, SEG)])),
    ('v1-position-returns', 'a Position that comes again behind another one',
     lambda x: v1.message(x, rpc.echo_call(x, bytes(400)), [(44, SEG), (148, SEG), (44, SEG)])),
    ('v1-position-zero-inline', 'a Position-Zero chunk beside an inline message',
     lambda x: null(x, [(0, SEG)])),
    ('v1-position-zero-twice', 'Position-Zero segments, another, and Position zero again',
     lambda x: v1.prefix(x, v1.NOMSG) + v1.lists([(0, SEG), (44, SEG), (0, SEG)])),
)


@message('v1-position-disorder', 'rfc5666bis-01 5.2.1', 'Read chunks by falling Position, which only SHOULD rise',
         Served())
def _(s):
    there = [s.conn.expose(bytes(8)), s.conn.expose(bytes(4))]
    body = rpc.call(s.xid, rpc.NULL, opaque(b'')[:4] + bytes(4))
    return v1.message(s.xid, body, [(44 + 4 + 4, there[0]), (44, there[1])])


# --- sizes ---

variants(
    'rfc5666bis-01 5.5', CHUNK,
    ('v1-read-huge', 'a Read chunk of 2^32 - 1 octets', lambda x: null(x, [(40, Seg(1, 0xffffffff, 0))])),
    ('v1-read-beyond-max', 'a Read chunk one octet above max_payload',
     lambda x: null(x, [(40, Seg(1, (1 << 20) + 1, 0))])),
    ('v1-read-sum', 'a Read chunk of 160 segments of 2^32 - 1 octets: the sum passes 2^32',
     lambda x: null(x, [(40, Seg(1, 0xffffffff, 0))] * 160)),
    ('v1-write-huge', 'a Write chunk of 2^32 - 1 octets', lambda x: null(x, (), [[Seg(1, 0xffffffff, 0)]])),
    ('v1-write-sum', 'a Write chunk of two segments of 2^31 octets: the sum is 2^32',
     lambda x: null(x, (), [[Seg(1, 1 << 31, 0)] * 2])),
    ('v1-reply-sum', 'a Reply chunk of two segments of 2^31 octets: the sum is 2^32',
     lambda x: null(x, (), (), [Seg(1, 1 << 31, 0)] * 2)),
    ('v1-long-call-huge', 'a long call of 2^32 - 1 octets', lambda x: v1.long_call(x, [Seg(1, 0xffffffff, 0)])),
    ('v1-segments-17', '17 Read chunks, where the server takes 16 segments',
     lambda x: null(x, [(40 + 4 * i, Seg(1, 4, 0)) for i in range(17)])),
)

# --- memory that is not there ---


@message('v1-read-unknown', 'rfc5666bis-01 5.5', 'a Read chunk with a handle the client does not know itself', Closes())
def _(s):
    return null(s.xid, [(40, Seg(0x4711, 100, 0))])


@message('v1-read-too-long', 'rfc5666bis-01 5.5', 'a Read chunk longer than the memory behind it', Closes())
def _(s):
    return null(s.xid, [(40, s.conn.expose(100)._replace(length=5000))])


@rule('v1-write-unknown', 'rfc5666bis-01 5.5',
      'a Write chunk with a handle the client does not know; its adapter ends the connection', Closes())
def _(s):
    s.xid = s.end.new_xid()
    unknown = rdmap.untagged(rdmap.TERMINATE, 2, 1, rdmap.terminate(1, 1, 0))
    s.conn.take_tagged = lambda ulpdu: s.conn.ulpdu(unknown)
    s.conn.take_untagged = lambda ulpdu: None
    s.end.call(rpc.echo_call(s.xid, bytes(1000)), (), [[Seg(0x4711, 1000, 0)]])


@message('v1-write-too-small', 'rfc5666bis-01 5.5', 'a call with 1000 octets of result, a Write chunk of 100', CHUNK)
def _(s):
    return v1.message(s.xid, rpc.echo_call(s.xid, bytes(1000)), (), [[s.conn.sink(100)]])


@message('v1-reply-chunk-too-small', 'rfc5666bis-01 5.5', 'a call whose reply takes 5000 octets, a Reply chunk of 1000',
         CHUNK)
def _(s):
    return v1.message(s.xid, rpc.fill_call(s.xid, 5000), (), (), [s.conn.sink(1000)])


@message('v1-no-reply-chunk', 'rfc5666bis-01 5.5', 'a call whose reply takes 5000 octets, no Reply chunk', CHUNK)
def _(s):
    return v1.message(s.xid, rpc.fill_call(s.xid, 5000))


@message('v1-reply-chunk-in-pieces', 'rfc5666bis-01 4.4.5', 'a Reply chunk of 64 segments of 100 octets',
         Served(rpc.fill(5000)))
def _(s):
    return v1.message(s.xid, rpc.fill_call(s.xid, 5000), (), (), [s.conn.sink(100) for _ in range(64)])


# --- types ---

for proc in (5, 6, 13, 0x80000000, 0xffffffff):
    variants('rfc5666bis-01 5.1.4', CHUNK, ('v1-type-%d' % proc, 'message type %d, which is none' % proc,
                                       lambda x, p=proc: null(x, proc=p)))

variants(
    'rfc5666bis-01 5.7.2', Service(),
    ('v1-done', 'an RDMA_DONE', lambda x: v1.prefix(x, v1.DONE)),
    ('v1-done-with-more', 'an RDMA_DONE with a call behind it', lambda x: null(x, proc=v1.DONE)),
)
variants(
    'rfc5666bis-01 5.7.1', Served(),
    ('v1-msgp', 'an RDMA_MSGP', lambda x: v1.prefix(x, v1.MSGP) + u32(0, 0) + v1.lists() + rpc.call(x)),
    ('v1-msgp-absurd', 'an RDMA_MSGP whose alignment and threshold are 2^32 - 1',
     lambda x: v1.prefix(x, v1.MSGP) + u32(-1, -1) + v1.lists() + rpc.call(x)),
)
variants(
    'rfc5666bis-01 5.7.1', CHUNK,
    ('v1-msgp-cut', 'an RDMA_MSGP that ends after its alignment', lambda x: v1.prefix(x, v1.MSGP) + u32(0)),
)
variants(
    'rfc5666bis-01 5.1.4', CHUNK,
    ('v1-nomsg-nothing', 'an RDMA_NOMSG without any chunk', lambda x: v1.prefix(x, v1.NOMSG) + v1.lists()),
    ('v1-nomsg-inline', 'an RDMA_NOMSG with an inline call', lambda x: null(x, proc=v1.NOMSG)),
    ('v1-nomsg-no-zero', 'an RDMA_NOMSG with a Read chunk, none at Position zero',
     lambda x: v1.prefix(x, v1.NOMSG) + v1.lists([(44, SEG)])),
    ('v1-nomsg-empty', 'a long call of no octets', lambda x: v1.long_call(x, [Seg(1, 0, 0)])),
    ('v1-nomsg-short', 'a long call of 20 octets', lambda x: v1.long_call(x, [Seg(1, 20, 0)])),
    ('v1-nomsg-reply', 'an RDMA_NOMSG with a Reply chunk alone: a long reply, but nobody called',
     lambda x: v1.prefix(x, v1.NOMSG) + v1.lists((), (), [SEG])),
)

# --- versions ---

for vers in (0, 3, 4, 0x01000000, 0xffffffff):
    variants('rfc5666bis-01 5.5', V1Error(v1.ERR_VERS, 1, 2, vers=vers),
             ('v1-version-%d' % vers, 'version %d on a connection that speaks 1' % vers,
              lambda x, v=vers: null(x, vers=v)))


@rule('v1-version-2', '7.1.2', 'version 2 on a connection that speaks 1',
      V1Error(v1.ERR_VERS_MISMATCH, vers=2))
def _(s):
    s.end.do_null()
    s.xid = s.end.new_xid()
    s.end.send(null(s.xid, vers=2))


def first(name, vers, route, low, high, section='rfc5666bis-01 5.5'):
    @rule(name, section, 'version %d as the first message, on a listener for %s' % (
        vers, {'only-v1': '1', 'only-v2': '2', 'to-v2': '1 and 2'}[route]), Refused(low, high), on='v1-first',
          route=route)
    def _(s):
        s.vers, s.xid = vers, s.end.new_xid()
        s.end.send(null(s.xid, vers=vers))


first('v1-first-version-0', 0, 'to-v2', 1, 2)
first('v1-first-version-3', 3, 'to-v2', 1, 2)
first('v1-first-version-last', 0xffffffff, 'to-v2', 1, 2)
first('v1-first-version-2-of-1', 2, 'only-v1', 1, 1)
first('v1-first-version-1-of-2', 1, 'only-v2', 2, 2)
first('v1-first-version-3-of-2', 3, 'only-v2', 2, 2, 'draft-07 4.3.2')


@rule('v1-first-refused-then-right', 'draft-07 4.3.3', 'version 9 first, then a call of version 1', Served(),
      on='v1-first')
def _(s):
    s.vers, s.xid = 9, s.end.new_xid()
    s.end.send(null(s.xid, vers=9))
    Refused(1, 2).check(s)
    s.end.call(rpc.call(s.end.new_xid()))
    s.xid = s.end.xid


@rule('v1-first-short', 'draft-07 7', 'a first message of 15 octets', Service(), on='v1-first')
def _(s):
    s.end.send(bytes(15))
