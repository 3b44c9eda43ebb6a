# SPDX-License-Identifier: BSD-2-Clause
"""Clients of version 2 whose messages are malformed. Sections are those of draft-07."""
import rpc
import v2
from case import table
from expect import Closes, Served, Service, V2Error
from xdr import Seg, chunk, read_list, u32

rule = table('client', 'version 2', 'v2', 'to-v1')

BAD_XDR = V2Error(v2.ERR_BAD_XDR)
SYSTEM = V2Error(v2.ERR_SYSTEM)
HTYPE = V2Error(v2.ERR_INVAL_HTYPE)
SEG = Seg(0x77, 100, 0)


def message(name, section, sent, expect, **how):
    """A case whose function returns one message: its type, and the octets after the prefix. A function that has sent everything
    itself returns None."""
    def wrap(make):
        @rule(name, section, sent, expect, **how)
        def _(s):
            s.xid = s.end.new_xid()
            made = make(s)
            if made:
                s.end.send2(s.xid, *made)
    return wrap


def variants(htype, section, expect, *rows, **how):
    """Makes a case of each row: name, what is sent, a function from an XID to the octets after the prefix."""
    for name, sent, make in rows:
        message(name, section, sent, expect, **how)(lambda s, f=make: (htype, f(s.xid)))


def inline(xid, reads=(), writes=(), reply=None, inv=0):
    return v2.call_lists(reads, writes, reply, inv) + rpc.call(xid)


# --- cut off ---

for n in (0, 4, 8, 12, 15):
    @message('v2-cut-%d' % n, '7', 'a message of %d octets' % n, Service())
    def _(s, n=n):
        s.end.send(v2.prefix(s.xid, v2.CALL_INLINE, s.end.credit())[:n])

for n, where in ((0, 'the prefix'), (4, 'the handle to invalidate'), (8, 'the Read list'), (12, 'the Write list'),
                 (16, 'the Reply chunk: no payload'), (19, 'three octets of payload')):
    variants(v2.CALL_INLINE, '7.2.1', BAD_XDR,
             ('v2-inline-cut-%d' % n, 'a CALL_INLINE that ends after ' + where,
              lambda x, n=n: inline(x)[:n]))
variants(v2.CALL_INLINE, 'decision 39', BAD_XDR,
         ('v2-inline-of-reply', 'a CALL_INLINE, and an RPC reply to nothing behind it',
          lambda x: v2.call_lists() + rpc.reply(x)))
for n, where in ((8, 'the discriminator'), (12, 'the Position'), (16, 'the handle'), (20, 'the length'),
                 (24, 'half of the offset'), (28, 'the segment')):
    variants(v2.CALL_INLINE, '7.2.1', BAD_XDR,
             ('v2-read-cut-%d' % n, 'a Read segment, the message ends after ' + where,
              lambda x, n=n: inline(x, [(44, SEG)])[:n]))
for n, where in ((12, 'the discriminator'), (16, 'the count'), (20, 'the handle'), (28, 'half of the offset')):
    variants(v2.CALL_INLINE, '7.2.1', BAD_XDR,
             ('v2-write-cut-%d' % n, 'a Write chunk, the message ends after ' + where,
              lambda x, n=n: inline(x, (), [[SEG]])[:n]))
for n, where in ((16, 'the discriminator'), (20, 'the count'), (24, 'the handle')):
    variants(v2.CALL_INLINE, '7.2.1', BAD_XDR,
             ('v2-reply-cut-%d' % n, 'a Reply chunk, the message ends after ' + where,
              lambda x, n=n: inline(x, (), (), [SEG])[:n]))
for n, where in ((0, 'the prefix'), (4, 'the handle to invalidate'), (8, 'the discriminator of its Call chunk'),
                 (24, 'half of the offset'), (28, 'its first segment'), (32, 'its Call chunk'),
                 (36, 'its Read list'), (40, 'its Write list')):
    variants(v2.CALL_EXTERNAL, '7.2.1', BAD_XDR,
             ('v2-external-cut-%d' % n, 'a CALL_EXTERNAL that ends after ' + where,
              lambda x, n=n: v2.external_lists([SEG])[:n]))

# --- lists that lie ---

variants(
    v2.CALL_INLINE, '7.2.1', BAD_XDR,
    ('v2-bool-read', 'a Read list discriminator of 2', lambda x: u32(0, 2, 0, 0) + rpc.call(x)),
    ('v2-bool-write', 'a Write list discriminator of 2', lambda x: u32(0, 0, 2, 0) + rpc.call(x)),
    ('v2-bool-reply', 'a Reply chunk discriminator of 2', lambda x: u32(0, 0, 0, 2) + rpc.call(x)),
    ('v2-bool-huge', 'a Read list discriminator of 2^32 - 1', lambda x: u32(0, -1, 0, 0) + rpc.call(x)),
    ('v2-write-count-huge', 'a Write chunk of 2^32 - 1 segments', lambda x: u32(0, 0, 1, -1, 0, 0) + rpc.call(x)),
    ('v2-write-count-wraps', 'a Write chunk of 2^28 segments, 2^32 octets',
     lambda x: u32(0, 0, 1, 1 << 28, 0, 0) + rpc.call(x)),
    ('v2-reply-count-huge', 'a Reply chunk of 2^32 - 1 segments', lambda x: u32(0, 0, 0, 1, -1) + rpc.call(x)),
    ('v2-xid-differs', 'a payload stream with another XID than the prefix', lambda x: inline(x ^ 1)),
    ('v2-inv-unknown', 'a handle to invalidate that is in no chunk of the call',
     lambda x: inline(x, (), [[SEG]], None, 0x78)),
    ('v2-inv-no-chunks', 'a handle to invalidate in a call without chunks', lambda x: inline(x, inv=0x77)),
)
variants(
    v2.CALL_INLINE, '4.5.1.1', BAD_XDR,
    ('v2-position-odd', 'Position 45, no multiple of four', lambda x: inline(x, [(45, SEG)])),
    ('v2-position-zero', 'Position zero in rdma_reads', lambda x: inline(x, [(0, SEG)])),
    ('v2-position-falls', 'Read chunks by falling Position, which MUST rise',
     lambda x: v2.call_lists([(148, SEG), (44, SEG)]) + rpc.echo_call(x, bytes(400))),
    ('v2-position-returns', 'a Position that comes again behind another one',
     lambda x: v2.call_lists([(44, SEG), (148, SEG), (44, SEG)]) + rpc.echo_call(x, bytes(400))),
)


@message('v2-position-overlap', '4.5.1', 'a Position within the chunk before', BAD_XDR)
def _(s):
    reads = [(44, s.conn.expose(bytes(100))), (100, s.conn.expose(bytes(100)))]
    return v2.CALL_INLINE, v2.call_lists(reads) + rpc.echo_call(s.xid, bytes(400))


for position, where in ((4, 'within the RPC header'), (36, 'where the smallest RPC header ends four octets later')):
    @message('v2-position-%d' % position, '4.5.1', 'Position %d, %s' % (position, where), BAD_XDR)
    def _(s, position=position):
        return v2.CALL_INLINE, inline(s.xid, [(position, s.conn.expose(bytes(100)))])


for position in (4000, 0xfffffffc):
    @message('v2-position-%d' % position, '4.5.1', 'Position %d, behind the end of the stream' % position, BAD_XDR)
    def _(s, position=position):
        return v2.CALL_INLINE, inline(s.xid, [(position, s.conn.expose(bytes(100)))])


variants(
    v2.CALL_EXTERNAL, '6.3.5', BAD_XDR,
    ('v2-external-no-chunk', 'a CALL_EXTERNAL without a Call chunk', lambda x: v2.external_lists([])),
    ('v2-external-position', 'a Call chunk with a segment at Position 4',
     lambda x: u32(0) + read_list([(4, SEG)]) + u32(0, 0, 0)),
    ('v2-external-position-later', 'a Call chunk whose second segment is at Position 100',
     lambda x: u32(0) + read_list([(0, SEG), (100, SEG)]) + u32(0, 0, 0)),
    ('v2-external-payload', 'a CALL_EXTERNAL with payload behind it', lambda x: v2.external_lists([SEG]) + rpc.call(x)),
    ('v2-external-one-octet', 'a CALL_EXTERNAL with one octet behind it', lambda x: v2.external_lists([SEG]) + b'x'),
    ('v2-external-reads-zero', 'a CALL_EXTERNAL with Position zero in rdma_reads, too',
     lambda x: v2.external_lists([SEG], [(0, SEG)])),
    ('v2-external-inv', 'a CALL_EXTERNAL that lets a handle be invalidated which it does not have',
     lambda x: v2.external_lists([SEG], inv=5)),
)

# --- too many, too large ---

variants(
    v2.CALL_INLINE, '7.3.1', V2Error(v2.ERR_READ_CHUNKS, 32),
    ('v2-reads-33', '33 Read chunks', lambda x: inline(x, [(44 + 4 * i, SEG) for i in range(33)])),
)
variants(
    v2.CALL_INLINE, '7.3.2', V2Error(v2.ERR_WRITE_CHUNKS, 32),
    ('v2-writes-33', '33 Write chunks', lambda x: inline(x, (), [[SEG]] * 33)),
    ('v2-writes-empty-300', '300 Write chunks without segments', lambda x: inline(x, (), [[]] * 300)),
)
variants(
    v2.CALL_INLINE, '7.3.3', V2Error(v2.ERR_SEGMENTS, 16),
    ('v2-segments-17', '17 Read chunks, where the server takes 16 segments',
     lambda x: inline(x, [(40 + 4 * i, Seg(1, 4, 0)) for i in range(17)])),
    route='to-v2',
)
variants(
    v2.CALL_EXTERNAL, '7.4.1', SYSTEM,
    ('v2-external-empty', 'a Call chunk of no octets', lambda x: v2.external_lists([Seg(1, 0, 0)])),
    ('v2-external-huge', 'a Call chunk of 2^32 - 1 octets', lambda x: v2.external_lists([Seg(1, 0xffffffff, 0)])),
)
variants(
    v2.CALL_INLINE, '7.4.1', SYSTEM,
    ('v2-read-huge', 'a Read chunk of 2^32 - 1 octets', lambda x: inline(x, [(40, Seg(1, 0xffffffff, 0))])),
    ('v2-read-beyond-max', 'a Read chunk one octet above max_payload',
     lambda x: inline(x, [(40, Seg(1, (1 << 20) + 1, 0))])),
    ('v2-read-sum', 'a Read chunk of 140 segments of 2^32 - 1 octets: the sum passes 2^32',
     lambda x: inline(x, [(40, Seg(1, 0xffffffff, 0))] * 140)),
    ('v2-write-huge', 'a Write chunk of 2^32 - 1 octets', lambda x: inline(x, (), [[Seg(1, 0xffffffff, 0)]])),
    ('v2-write-sum', 'a Write chunk of two segments of 2^31 octets: the sum is 2^32',
     lambda x: inline(x, (), [[Seg(1, 1 << 31, 0)] * 2])),
    ('v2-reply-sum', 'a Reply chunk of two segments of 2^31 octets: the sum is 2^32',
     lambda x: inline(x, (), (), [Seg(1, 1 << 31, 0)] * 2)),
)


@message('v2-write-too-small', '7.3.4', 'a call with 1000 octets of result, a Write chunk of 100', SYSTEM)
def _(s):
    # The server speaks version 1 and answers ERR_CHUNK, which does not say which chunk is wrong.
    return v2.CALL_INLINE, v2.call_lists((), [[s.conn.sink(100)]]) + rpc.echo_call(s.xid, bytes(1000))


@message('v2-write-too-small-to-v2', '7.3.4', 'the same before a server of version 2, with a chunk that fits first',
         V2Error(v2.ERR_WRITE_RESOURCE, 1, 1000), route='to-v2')
def _(s):
    return v2.CALL_INLINE, v2.call_lists((), [[s.conn.sink(100)]]) + rpc.echo_call(s.xid, bytes(1000))


@message('v2-reply-chunk-too-small', '6.6.4', 'a call whose reply takes 9000 octets, a Reply chunk of 1000',
         Served(rpc.fill(9000)), route='to-v2')
def _(s):
    return v2.CALL_INLINE, v2.call_lists((), (), [s.conn.sink(1000)]) + rpc.fill_call(s.xid, 9000)


@message('v2-no-reply-chunk', '6.6.4', 'a call whose reply takes 9000 octets, no Reply chunk, a server of version 1',
         Served(rpc.fill(9000)))
def _(s):
    return v2.CALL_INLINE, v2.call_lists() + rpc.fill_call(s.xid, 9000)


@message('v2-read-unknown', '4.5', 'a Read chunk with a handle the client does not know itself', Closes())
def _(s):
    return v2.CALL_INLINE, inline(s.xid, [(40, Seg(0x4711, 100, 0))])


@message('v2-read-too-long', '4.5', 'a Call chunk longer than the memory behind it', Closes())
def _(s):
    return v2.CALL_EXTERNAL, v2.external_lists([s.conn.expose(100)._replace(length=5000)])


# --- types ---

for htype in (0, 1, 2, 3, 14, 15, 255, 0x0a000000, 0xffffffff):
    variants(htype, '7.1.3', HTYPE, ('v2-type-%d' % htype, 'header type %d, which is none' % htype, inline))

variants(v2.GRANT, '6.3.2', BAD_XDR,
         ('v2-grant-with-more', 'a GRANT with four octets behind it', lambda x: u32(0)))


@message('v2-grant-xid', '6.3.2', 'a GRANT with an XID, which MUST be ignored', Service())
def _(s):
    return v2.GRANT, b''


# --- replies nobody waits for: not reported (decision 39), and what parses ends the session ---

variants(
    v2.REPLY_INLINE, '7', Service(),
    ('v2-reply-malformed', 'a REPLY_INLINE that ends after its prefix', lambda x: b''),
    ('v2-reply-bool', 'a REPLY_INLINE with a Write list discriminator of 2', lambda x: u32(2) + rpc.reply(x)),
    ('v2-reply-xid', 'a REPLY_INLINE whose stream has another XID', lambda x: u32(0) + rpc.reply(x ^ 1)),
)
variants(
    v2.REPLY_EXTERNAL, '6.3.8', Service(),
    ('v2-reply-external-none', 'a REPLY_EXTERNAL without a Reply chunk', lambda x: u32(0, 0)),
    ('v2-reply-external-payload', 'a REPLY_EXTERNAL with payload behind it',
     lambda x: u32(0, 1) + chunk([SEG]) + b'xxxx'),
)
variants(
    v2.REPLY_INLINE, 'decision 60', Closes(),
    ('v2-reply-unasked', 'a Reply to nothing', lambda x: u32(0) + rpc.reply(x)),
    ('v2-reply-unasked-chunk', 'a Reply to nothing, with a Write chunk',
     lambda x: u32(1) + chunk([SEG]) + u32(0) + rpc.reply(x)),
)
variants(
    v2.REPLY_EXTERNAL, 'decision 60', Closes(),
    ('v2-reply-external-unasked', 'a REPLY_EXTERNAL to nothing', lambda x: u32(0, 1) + chunk([SEG])),
)


@message('v2-reply-to-own-call', 'decision 60', 'a Reply with the XID of its own call that the server has', Closes())
def _(s):
    s.end.call(rpc.call(s.xid, rpc.NEVER))
    return v2.REPLY_INLINE, u32(0) + rpc.reply(s.xid)


# --- versions ---

for vers in (0, 3, 0x02000000, 0xffffffff):
    @message('v2-version-%d' % vers, '7.1.1', 'version %d on a connection that speaks 2' % vers,
             V2Error(v2.ERR_VERS, 1, 2, vers=vers))
    def _(s, vers=vers):
        s.end.send2(s.xid, v2.CALL_INLINE, inline(s.xid), vers=vers)


@message('v2-version-1', '7.1.2', 'version 1 on a connection that speaks 2', V2Error(v2.ERR_VERS_MISMATCH, vers=1))
def _(s):
    s.end.send2(s.xid, 0, u32(0, 0, 0) + rpc.call(s.xid), vers=1)


@message('v2-version-1-only-2', '7.1.1', 'version 1 on a connection that speaks 2, the listener for 2 alone',
         V2Error(v2.ERR_VERS, 2, 2, vers=1), route='only-v2')
def _(s):
    s.end.send2(s.xid, 0, u32(0, 0, 0) + rpc.call(s.xid), vers=1)


for vers in (0, 1, 3):
    @message('v2-error-version-%d' % vers, '7', 'an ERROR of version %d' % vers, Service())
    def _(s, vers=vers):
        s.end.send2(s.xid, v2.ERROR, u32(v2.ERR_BAD_XDR), vers=vers)
