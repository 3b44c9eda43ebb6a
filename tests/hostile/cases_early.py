# SPDX-License-Identifier: BSD-2-Clause
"""Clients of the early draft of version 2 whose messages are malformed, field by field."""
import early
import rpc
from case import messages, table
from early import CALL, NOMSG, OPTIONAL, REPLY
from expect import Closes, EarlyError, Served, Service
from xdr import Seg, opaque, u32

rule = table('client', 'early draft of version 2', 'early', 'early')
message = messages(rule)

BAD = EarlyError(early.ERR_BAD_HEADER)
INVAL = EarlyError(early.ERR_INVAL_OPTION)
SEG = Seg(0x77, 100, 0)


def variants(section, expect, *rows, **how):
    """Makes a case of each row: name, what is sent, a function from an XID to the message."""
    for name, sent, make in rows:
        message('early-' + name, section, sent, expect, **how)(lambda s, f=make: f(s.xid))


def null(xid, reads=(), writes=(), reply=None, **fixed):
    return early.message(xid, rpc.call(xid), reads, writes, reply, **fixed)


def words(xid, *rest, proc=early.MSG):
    """Return: a header whose direction and lists are @words, with a call after it."""
    return early.prefix(xid, proc) + u32(*rest) + rpc.call(xid)


# --- cut off ---

for n, where in zip((1, 4, 8, 12), ('an octet of the XID', 'the XID', 'the version', 'the credit')):
    variants('cel-01 4.2', Service(),
             ('cut-%d' % n, 'a message that ends after ' + where, lambda xid, n=n: null(xid)[:n]))
for n, where in ((16, 'the type'), (18, 'half of the direction'), (20, 'the direction'), (24, 'the Read list'),
                 (28, 'the Write list')):
    variants('cel-01 4.2', BAD,
             ('cut-%d' % n, 'an RDMA2_MSG that ends after ' + where, lambda xid, n=n: null(xid)[:n]))
for n, where in ((32, 'its lists: no payload stream follows'), (36, 'the XID of the call'),
                 (40, 'the message type of the call'), (44, 'the RPC version'), (48, 'the program')):
    variants('cel-01 4.2.1', Service(),
             ('cut-%d' % n, 'an RDMA2_MSG that ends after ' + where, lambda xid, n=n: null(xid)[:n]))
for n, where in ((24, 'the discriminator'), (28, 'the Position'), (32, 'the handle'), (36, 'the length'),
                 (40, 'half of the offset')):
    variants('cel-01 4.2', BAD, ('cut-read-%d' % n, 'a Read segment that ends after ' + where,
                                 lambda xid, n=n: null(xid, [(44, SEG)])[:n]))
for n, where in ((28, 'the discriminator'), (32, 'the count'), (36, 'the handle'), (40, 'the length'),
                 (44, 'half of the offset'), (48, 'the segment')):
    variants('cel-01 4.2', BAD, ('cut-write-%d' % n, 'a Write chunk, the message ends after ' + where,
                                 lambda xid, n=n: null(xid, (), [[SEG]])[:n]))
for n, where in ((32, 'the discriminator'), (36, 'the count'), (40, 'the handle'), (48, 'half of the offset')):
    variants('cel-01 4.2', BAD, ('cut-reply-%d' % n, 'a Reply chunk, the message ends after ' + where,
                                 lambda xid, n=n: null(xid, (), (), [SEG])[:n]))

# --- the direction ---

variants(
    'cel-01 4.2', BAD,
    ('direction-2', 'a direction of 2', lambda x: null(x, direction=2)),
    ('direction-last', 'a direction of 2^32 - 1', lambda x: null(x, direction=0xffffffff)),
    ('direction-swapped', 'a direction of 1 in the other octet order', lambda x: null(x, direction=0x01000000)),
)
variants(
    'cel-01 4.2.2', BAD,
    ('direction-of-reply', 'direction CALL, and an RPC reply behind it',
     lambda x: early.answer(x, rpc.reply(x), direction=CALL)),
    ('direction-of-mtype-2', 'direction CALL, and an RPC message of type 2',
     lambda x: early.message(x, rpc.call(x, mtype=2))),
    ('direction-of-long-reply', 'an RDMA2_NOMSG of direction CALL whose only chunk is a Reply chunk',
     lambda x: early.long_reply(x, [SEG], direction=CALL)),
)
variants(
    'decision 104', Service(),
    ('direction-of-call', 'direction REPLY, and an RPC call behind it: a reply to nothing',
     lambda x: null(x, direction=REPLY)),
    ('direction-absent', 'a call as version 1 has it, whose Read list begins where the direction should be: a reply',
     lambda x: early.prefix(x) + u32(1, 44) + SEG.pack() + u32(0, 0, 0) + rpc.call(x)),
    ('direction-of-long-call', 'a long call of direction REPLY', lambda x: early.long_call(x, [SEG], direction=REPLY)),
)

# --- lists that lie ---

variants(
    'cel-01 4.2', BAD,
    ('bool-read', 'a Read list discriminator of 2', lambda x: words(x, CALL, 2, 0, 0)),
    ('bool-write', 'a Write list discriminator of 2', lambda x: words(x, CALL, 0, 2, 0)),
    ('bool-reply', 'a Reply chunk discriminator of 2', lambda x: words(x, CALL, 0, 0, 2)),
    ('bool-huge', 'a Read list discriminator of 2^32 - 1', lambda x: words(x, CALL, 0xffffffff, 0, 0)),
    ('write-count-huge', 'a Write chunk of 2^32 - 1 segments', lambda x: words(x, CALL, 0, 1, 0xffffffff, 0, 0)),
    ('write-count-wraps', 'a Write chunk of 2^28 segments, 2^32 octets',
     lambda x: words(x, CALL, 0, 1, 1 << 28, 0, 0)),
    ('write-count-one-more', 'a Write chunk of two segments with the octets of one',
     lambda x: early.prefix(x) + u32(CALL, 0, 1, 2) + SEG.pack()),
    ('reply-count-huge', 'a Reply chunk of 2^32 - 1 segments', lambda x: words(x, CALL, 0, 0, 1, 0xffffffff)),
    ('read-without-end', 'a Read list of 160 segments that goes on to the end of the message',
     lambda x: early.prefix(x) + u32(CALL) + b''.join(u32(1, 44 + 4 * i) + SEG.pack() for i in range(160))),
    ('reads-too-many', 'a Read list of 40 chunks, above the 32 that are taken',
     lambda x: null(x, [(44 + 104 * i, SEG) for i in range(40)])),
    ('writes-too-many', 'a Write list of 40 chunks, above the 32 that are taken',
     lambda x: null(x, (), [[SEG]] * 40)),
    ('writes-empty-too-many', 'a Write list of 400 chunks without segments', lambda x: null(x, (), [[]] * 400)),
)
variants(
    'rfc5666bis-01 4.4.4', BAD,
    ('position-odd', 'Position 45, no multiple of four', lambda x: null(x, [(45, SEG)])),
    ('position-in-header', 'Position 4, within the RPC header', lambda x: null(x, [(4, SEG)])),
    ('position-behind', 'Position 4000, behind the end of the stream', lambda x: null(x, [(4000, SEG)])),
    ('position-last', 'Position 2^32 - 4', lambda x: null(x, [(0xfffffffc, SEG)])),
    ('position-overlap', 'a Position within the chunk before',
     lambda x: early.message(x, rpc.echo_call(x, bytes(400)), [(44, SEG), (100, SEG)])),
    ('position-returns', 'a Position that comes again behind another one',
     lambda x: early.message(x, rpc.echo_call(x, bytes(400)), [(44, SEG), (148, SEG), (44, SEG)])),
    ('position-zero-inline', 'a Position-Zero chunk beside an inline message', lambda x: null(x, [(0, SEG)])),
    ('position-zero-twice', 'Position-Zero segments, another, and Position zero again',
     lambda x: early.prefix(x, NOMSG) + early.lists(CALL, [(0, SEG), (44, SEG), (0, SEG)])),
)

# --- sizes ---

variants(
    'rfc5666bis-01 5.5', BAD,
    ('read-huge', 'a Read chunk of 2^32 - 1 octets', lambda x: null(x, [(40, Seg(1, 0xffffffff, 0))])),
    ('read-beyond-max', 'a Read chunk one octet above max_payload',
     lambda x: null(x, [(40, Seg(1, (1 << 20) + 1, 0))])),
    ('read-sum', 'a Read chunk of 160 segments of 2^32 - 1 octets: the sum passes 2^32',
     lambda x: null(x, [(40, Seg(1, 0xffffffff, 0))] * 160)),
    ('write-huge', 'a Write chunk of 2^32 - 1 octets', lambda x: null(x, (), [[Seg(1, 0xffffffff, 0)]])),
    ('write-sum', 'a Write chunk of two segments of 2^31 octets: the sum is 2^32',
     lambda x: null(x, (), [[Seg(1, 1 << 31, 0)] * 2])),
    ('reply-sum', 'a Reply chunk of two segments of 2^31 octets: the sum is 2^32',
     lambda x: null(x, (), (), [Seg(1, 1 << 31, 0)] * 2)),
    ('long-call-huge', 'a long call of 2^32 - 1 octets', lambda x: early.long_call(x, [Seg(1, 0xffffffff, 0)])),
)

# --- memory that is not there ---


@message('early-read-unknown', 'rfc5666bis-01 5.5', 'a Read chunk with a handle the client does not know itself',
         Closes())
def _(s):
    return null(s.xid, [(40, Seg(0x4711, 100, 0))])


@message('early-read-too-long', 'rfc5666bis-01 5.5', 'a Read chunk longer than the memory behind it', Closes())
def _(s):
    return null(s.xid, [(40, s.conn.expose(100)._replace(length=5000))])


@message('early-write-too-small', 'rfc5666bis-01 5.5', 'a call with 1000 octets of result, a Write chunk of 100', BAD)
def _(s):
    return early.message(s.xid, rpc.echo_call(s.xid, bytes(1000)), (), [[s.conn.sink(100)]])


@message('early-reply-chunk-too-small', 'rfc5666bis-01 5.5',
         'a call whose reply takes 5000 octets, a Reply chunk of 1000', BAD)
def _(s):
    return early.message(s.xid, rpc.fill_call(s.xid, 5000), (), (), [s.conn.sink(1000)])


@message('early-no-reply-chunk', 'rfc5666bis-01 5.5', 'a call whose reply takes 5000 octets, no Reply chunk', BAD)
def _(s):
    return early.message(s.xid, rpc.fill_call(s.xid, 5000))


@message('early-reply-chunk-in-pieces', 'rfc5666bis-01 4.4.5', 'a Reply chunk of 64 segments of 100 octets',
         Served(rpc.fill(5000)))
def _(s):
    return early.message(s.xid, rpc.fill_call(s.xid, 5000), (), (), [s.conn.sink(100) for _ in range(64)])


# --- types ---

for proc, what in ((2, 'RDMA_MSGP of version 1'), (3, 'RDMA_DONE of version 1'), (6, 'none'),
                   (7, 'CONNPROP_FINAL of draft -07'), (10, 'CALL_INLINE of draft -07'), (99, 'none'),
                   (0x80000000, 'none'), (0xffffffff, 'none')):
    variants('cel-01 4.2', BAD,
             ('type-%d' % proc, 'message type %d, which is none here (%s)' % (proc, what) if what != 'none' else
              'message type %d, which is none' % proc, lambda x, p=proc: null(x, proc=p)))

variants(
    'cel-01 4.2.1', BAD,
    ('nomsg-nothing', 'an RDMA2_NOMSG without any chunk', lambda x: early.prefix(x, NOMSG) + early.lists(CALL)),
    ('nomsg-inline', 'an RDMA2_NOMSG with an inline call', lambda x: null(x, proc=NOMSG)),
    ('nomsg-no-zero', 'an RDMA2_NOMSG with a Read chunk, none at Position zero',
     lambda x: early.prefix(x, NOMSG) + early.lists(CALL, [(44, SEG)])),
    ('nomsg-empty', 'a long call of no octets', lambda x: early.long_call(x, [Seg(1, 0, 0)])),
    ('nomsg-short', 'a long call of 20 octets', lambda x: early.long_call(x, [Seg(1, 20, 0)])),
    ('nomsg-direction-cut', 'an RDMA2_NOMSG that ends after its type', lambda x: early.prefix(x, NOMSG)),
    ('nomsg-lists-cut', 'an RDMA2_NOMSG that ends after its Read list',
     lambda x: early.long_call(x, [SEG])[:44]),
)


@message('early-nomsg-more', 'cel-01 4.2.1', 'a right long call with 100 octets behind its header', Served())
def _(s):
    return early.long_call(s.xid, [s.conn.expose(rpc.call(s.xid))]) + bytes(100)


# --- options ---

for opttype in (0, 1, 4, 0x7e57, 0x80000000, 0xffffffff):
    variants('cel-01 3.1', INVAL, ('option-%d' % opttype, 'an option of type %d, which nobody knows' % opttype,
                                   lambda x, t=opttype: early.option(x, t)))
variants(
    'cel-01 3.1', INVAL,
    ('option-of-reply', 'an option of direction REPLY', lambda x: early.option(x, direction=REPLY)),
    ('option-info', 'an option with 5 octets of information', lambda x: early.option(x, info=b'hello')),
    ('option-info-long', 'an option with 4000 octets of information', lambda x: early.option(x, info=bytes(4000))),
    ('option-payload', 'an option with a whole call behind it, which nobody may execute',
     lambda x: early.option(x) + rpc.call(x)),
    ('option-payload-part', 'an option with four octets of a call behind it',
     lambda x: early.option(x) + rpc.call(x)[:4]),
    ('option-payload-other', 'an option of direction CALL with a reply behind it',
     lambda x: early.option(x) + rpc.reply(x)),
)
variants(
    'cel-01 4.2', BAD,
    ('option-direction-2', 'an option of direction 2', lambda x: early.option(x, direction=2)),
    ('option-cut-direction', 'an option that ends after half of its direction', lambda x: early.option(x)[:18]),
    ('option-cut-20', 'an option that ends after its direction', lambda x: early.option(x)[:20]),
    ('option-cut-24', 'an option that ends after its type', lambda x: early.option(x)[:24]),
    ('option-info-lies', 'an option with 100 octets of information, and 96 are there',
     lambda x: early.option(x, info=bytes(100))[:-4]),
    ('option-info-huge', 'an option with 2^32 - 1 octets of information',
     lambda x: early.prefix(x, OPTIONAL) + u32(CALL, 9, 0xffffffff) + bytes(100)),
    ('option-pad', 'an option with one octet of information, without its pad',
     lambda x: early.option(x, info=b'x')[:-3]),
)

# --- versions ---

for vers, low, high in ((0, 1, 2), (1, 2, 2), (3, 1, 2), (0x02000000, 1, 2), (0xffffffff, 1, 2)):
    variants('cel-01 5.2', EarlyError(early.ERR_VERS, low, high, vers=1 if vers == 1 else 2),
             ('version-%d' % vers, 'version %d on a connection that speaks the early draft' % vers,
              lambda x, v=vers: null(x, vers=v)))


@message('early-position-disorder', 'rfc5666bis-01 5.2.1', 'Read chunks by falling Position, which only SHOULD rise',
         Served())
def _(s):
    there = [s.conn.expose(bytes(8)), s.conn.expose(bytes(4))]
    body = rpc.call(s.xid, rpc.NULL, opaque(b'')[:4] + bytes(4))
    return early.message(s.xid, body, [(44 + 4 + 4, there[0]), (44, there[1])])
