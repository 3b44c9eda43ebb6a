# SPDX-License-Identifier: BSD-2-Clause
"""Clients that send invalid messages of the round-trip extension, field by field, over draft -07 and over the early draft.
Sections are those of docs/rtrext-profile.md."""
import time

import early
import peer
import rpc
import rtr
import v2
from case import table
from expect import Closes, EarlyError, Other, Reported, Served, Terminates, V2Error
from rtr import (BADCONT, BADHMT, BADOFF, BADOMT, BADPL, BADSEQ, BADTBSN, BADXID, BYSIZE, CHOICE, CONTINUE, EXRW, NOITEM, REPORT, REQUEST,
                 RESPONSE, TBSN, TOOSHORT, bare, exposed_item, placed_item, request, response, wish, wishes)
from xdr import Seg, u32

BOX, ROOM = 4096, 65536     # the gateway's Receives: the first segment, and the targetable one
FIRST = rpc.CALL_BYTES + 4  # Position of an argument's octets
MOST = 8                    # transmissions of a group: no more than the credits here
RULES = {2: table('client', 'round-trip extension over draft -07', 'v2', 'rtr'),
         'early': table('client', 'round-trip extension over the early draft', 'early', 'rtr')}
PREFIX = {2: 'rtr-', 'early': 'early-rtr-'}
SEG = Seg(0x77, 100, 0)

# The answers to a malformed message, and to an unknown type, over draft -07 and over the early draft.
BAD = {2: V2Error(v2.ERR_BAD_XDR), 'early': EarlyError(early.ERR_BAD_HEADER)}
UNKNOWN = {2: V2Error(v2.ERR_INVAL_HTYPE), 'early': EarlyError(early.ERR_INVAL_OPTION)}


def case(name, section, sent, expect, only=(2, 'early'), **how):
    """Makes a case over draft -07, and one over the early draft, of a function that sends. .xid is a new XID."""
    def wrap(run):
        for version in only:
            one = expect[version] if isinstance(expect, dict) else expect

            @RULES[version](PREFIX[version] + name, section, sent, one, **how)
            def _(s):
                s.xid = s.end.new_xid()
                run(s)
        return run
    return wrap


def body(s, n=8, proc=rpc.NULL):
    """Return: a call with one argument of @n octets, which are not in the payload stream."""
    return rpc.call(s.xid, proc, u32(n))


def send(s, head, stream=None, data=b'', at=BOX, op=REQUEST, direction=rtr.CALL):
    """Sends a transmission: @head, then @stream, then @data at octet @at of the transmission."""
    stream = body(s) if stream is None else stream
    taken = rtr.FIXED[s.end.version] + len(head) + len(stream)
    s.end.rtr(op, head, rtr.pad_to(taken, stream, [(at, data)] if data else []), direction=direction)


def whole(s, *items, sets=(), data=bytes(8), **how):
    """Sends a Transmit Request with @items, and @data at the beginning of the targetable segment. Everything else is valid."""
    send(s, request(len(body(s)), items, sets, **how), None, data)


def variants(section, expect, *rows, **how):
    """Makes cases of each row: name, what is sent, a function that sends."""
    for name, sent, play in rows:
        case(name, section, sent, expect, **how)(play)


def items(section, expect, *rows, **how):
    """Makes cases of each row: name, what is sent, the items of a request. 8 octets of data are in the segment."""
    for name, sent, *those in rows:
        case(name, section, sent, expect, **how)(lambda s, those=those: whole(s, *those))


def unread(version):
    """A case of a client that serves no RDMA Reads. It is served, because its data are in the Send of the call."""
    @RULES[version](PREFIX[version] + 'right-depth-0', '5', 'a call whose 8 octets are in the targetable segment, from a client with IRD 0',
                    Served(), on='nothing')
    def _(s):
        s.use(peer.open_client(s.route.address, version, ird=0))
        s.xid = s.end.new_xid()
        whole(s, placed_item(FIRST, 8, 0))


unread(2)
unread('early')


# --- valid messages, which show that the others fail only for their fault ---

variants(
    '5', Served(),
    ('right', 'a call whose 8 octets are in the targetable segment', lambda s: whole(s, placed_item(FIRST, 8, 0))),
    ('right-plain', 'a call without items', lambda s: send(s, request(rpc.CALL_BYTES), rpc.call(s.xid))),
    ('right-one-octet', 'an item of one octet', lambda s: whole(s, placed_item(FIRST, 1, 0), data=b'x')),
    ('right-all', 'an item that fills the segment, 65536 octets',
     lambda s: whole(s, placed_item(FIRST, ROOM, 0), data=bytes(ROOM))),
    ('right-offset', 'an item from offset 65532 on, of four octets',
     lambda s: send(s, request(44, [placed_item(FIRST, 4, 0, offset=ROOM - 4)]), None, bytes(4), BOX + ROOM - 4)),
    ('right-more', 'octets behind the item, which are padding', lambda s: whole(s, placed_item(FIRST, 8, 0), data=bytes(99))),
    ('right-padding', 'octets before the item that are not zero',
     lambda s: send(s, request(44, [placed_item(FIRST, 8, 0)]), None, b'\xff' * (BOX - 1000 + 8), 1000)),
    ('right-no-wishes', 'a set of directions without any', lambda s: whole(s, sets=[wishes(0, 100)])),
    ('right-reserved-0', 'no Receives kept for the response, which counts as one',
     lambda s: whole(s, placed_item(FIRST, 8, 0), reserved=0)),
    ('right-reserved-last', '2^32 - 1 Receives kept for the response',
     lambda s: whole(s, placed_item(FIRST, 8, 0), reserved=0xffffffff)),
)


@case('right-exposed', '3', 'an item of 8 octets by explicit RDMA, in two segments of 6', Served())
def _(s):
    segs = [s.conn.expose(bytes(6)), s.conn.expose(bytes(6))]
    whole(s, exposed_item(FIRST, 8, segs), data=b'')


# --- cut off ---

WHOLE = ('the count of items', 'a Position', 'a length', 'a type', 'an offset', 'the count of segments', 'the number',
         'the count of sets', 'the count of transmissions', 'the count of Receives')
for n, where in enumerate(WHOLE):
    case('cut-%d' % (4 * n), '3', 'a Transmit Request that ends before ' + where, BAD)(
        lambda s, n=4 * n: send(s, request(44, [placed_item(FIRST, 8, 0)])[:n], b''))
case('cut-40', '3', 'a Transmit Request that ends before the length of its payload stream', BAD)(
    lambda s: send(s, request(44, [placed_item(FIRST, 8, 0)])[:40], b''))
for n in (2, 27, 43):
    case('cut-%d' % n, '3', 'a Transmit Request of %d octets' % n, BAD)(
        lambda s, n=n: send(s, request(44, [placed_item(FIRST, 8, 0)])[:n], b''))
for n, where in ((16, 'the count of segments'), (20, 'the handle'), (24, 'the length'), (28, 'the offset'),
                 (32, 'half of the offset')):
    case('cut-exposed-%d' % n, '3', 'an item by explicit RDMA, the message ends before ' + where, BAD)(
        lambda s, n=n: send(s, request(44, [exposed_item(FIRST, 8, [SEG])])[:n], b''))
for n, where in ((8, 'the begin of a range'), (12, 'its end'), (16, 'the count of directions'), (20, 'the least length'),
                 (24, 'a type'), (28, 'the longest by Send'), (32, 'the count of segments'), (36, 'a handle'),
                 (44, 'an offset')):
    case('cut-direction-%d' % n, '3', 'a set of directions, the message ends before ' + where, BAD)(
        lambda s, n=n: send(s, request(44, sets=[wishes(0, 99, wish(1, BYSIZE, [SEG], longest=9))])[:n], b''))

# --- counts that lie ---

COUNTS = (('huge', '2^32 - 1', 0xffffffff), ('wraps', '2^30', 1 << 30), ('more', 'two, and one is there', 2))
for name, what, n in COUNTS:
    variants(
        '3', BAD,
        ('items-' + name, 'a count of items of ' + what,
         lambda s, n=n: send(s, u32(n) + placed_item(FIRST, 8, 0) + u32(0, 1, 1, 44)[:4 * (n != 2)], b'')),
        ('numbers-' + name, 'an item of so many segment numbers: ' + what,
         lambda s, n=n: send(s, u32(1, FIRST, 8, TBSN, 0, n, 0), b'')),
        ('exposed-' + name, 'an item of so many segments by explicit RDMA: ' + what,
         lambda s, n=n: send(s, u32(1, FIRST, 8, EXRW, n) + SEG.pack(), b'')),
        ('sets-' + name, 'a count of sets of ' + what, lambda s, n=n: send(s, u32(0, n, 0, 99, 0), b'')),
        ('wishes-' + name, 'a count of directions of ' + what,
         lambda s, n=n: send(s, u32(0, 1, 0, 99, n, 5, TBSN), b'')),
        ('wish-exposed-' + name, 'a direction with so many segments: ' + what,
         lambda s, n=n: send(s, u32(0, 1, 0, 99, 1, 5, CHOICE, n) + SEG.pack(), b'')),
    )
variants(
    '3', BAD,
    ('items-33', '33 items, one more than are held',
     lambda s: whole(s, *[exposed_item(FIRST + 8 * i, 4, [Seg(1, 4, 0)]) for i in range(33)], data=b'')),
    ('exposed-257', '257 segments in all, one more than are held',
     lambda s: s.end.rtr(REQUEST, request(44, [exposed_item(FIRST, 257, [Seg(1, 1, i) for i in range(257)])]), body(s))),
    ('numbers-257', '257 segment numbers, one more than are held',
     lambda s: whole(s, placed_item(FIRST, 8, *range(257)))),
    ('sets-33', '33 sets of directions', lambda s: whole(s, sets=[wishes(i, i + 1) for i in range(33)])),
    ('wishes-33', '33 directions',
     lambda s: whole(s, sets=[wishes(0, 99, *[wish(1, TBSN)] * 16), wishes(99, 100, *[wish(1, TBSN)] * 17)])),
)

# --- types ---

for kind, what in ((0, 'none'), (CHOICE, 'CHOICE, a direction'), (BYSIZE, 'BYSIZE, a direction'),
                   (TOOSHORT, 'TOOSHORT, a result'), (NOITEM, 'NOITEM, a result'), (7, 'none'), (0x02000000, 'none'),
                   (0xffffffff, 'none')):
    items('3', BAD, ('item-type-%d' % kind, 'an item of type %d (%s)' % (kind, what), bare(FIRST, 8, kind)))
for kind, what in ((0, 'none'), (TOOSHORT, 'TOOSHORT, a result'), (NOITEM, 'NOITEM, a result'), (7, 'none'),
                   (0xffffffff, 'none')):
    case('wish-type-%d' % kind, '3', 'a direction of type %d (%s)' % (kind, what), BAD)(
        lambda s, kind=kind: whole(s, sets=[wishes(0, 99, wish(1, kind))]))
for kind, name in ((EXRW, 'EXRW'), (CHOICE, 'CHOICE')):
    case('wish-none-%d' % kind, '3', 'a direction %s without segments' % name, BAD)(
        lambda s, kind=kind: whole(s, sets=[wishes(0, 99, wish(1, kind, []))]))
case('wish-none-4', '3', 'a direction BYSIZE without segments', BAD)(
    lambda s: whole(s, sets=[wishes(0, 99, wish(1, BYSIZE, [], longest=9))]))

# --- ranges ---

for name, sent, ranges in (('empty', 'a range that is empty', [(40, 40)]), ('back', 'a range that ends before it begins', [(40, 36)]),
                           ('fall', 'ranges that fall', [(40, 60), (0, 40)]), ('overlap', 'ranges that overlap', [(0, 44), (40, 60)]),
                           ('twice', 'a range twice', [(0, 40), (0, 40)]), ('last', 'a range from 2^32 - 1 to 0', [(0xffffffff, 0)])):
    case('range-' + name, '3', sent, BAD)(lambda s, ranges=ranges: whole(s, sets=[wishes(*r) for r in ranges]))

# --- Positions and lengths of items ---

items(
    '5', BAD,
    ('position-0', 'an item at Position zero, where the RPC header is', placed_item(0, 8, 0)),
    ('position-odd', 'Position 46, no multiple of four', placed_item(46, 8, 0)),
    ('position-behind', 'Position 4000, behind the end of the stream', placed_item(4000, 8, 0)),
    ('position-last', 'Position 2^32 - 4', placed_item(0xfffffffc, 8, 0)),
    ('position-in-header', 'Position 4, within the RPC header', placed_item(4, 8, 0)),
    ('position-twice', 'two items at one Position', placed_item(FIRST, 4, 0), exposed_item(FIRST, 4, [SEG])),
    ('position-falls', 'a second item at a lower Position', placed_item(FIRST, 8, 0), exposed_item(40, 4, [SEG])),
    ('position-within', 'a second item that begins in the first', placed_item(FIRST, 8, 0),
     exposed_item(FIRST + 4, 4, [SEG])),
    ('numbers-none', 'an item by Send without a segment', placed_item(FIRST, 8)),
    ('exposed-none', 'an item by explicit RDMA without a segment', exposed_item(FIRST, 8, [])),
    ('exposed-short', 'an item of 8 octets in segments of 7', exposed_item(FIRST, 8, [Seg(1, 3, 0), Seg(2, 4, 0)])),
)
items(
    '5', Reported(BADTBSN, 0, 0, 0),
    ('length-0', 'an item of no octets in a segment', placed_item(FIRST, 0, 0)),
    ('length-more', 'an item one octet longer than the message', placed_item(FIRST, 9, 0)),
)
items(
    '5', Reported(BADTBSN, 0, 1, 0xffffffff),
    ('length-segment', 'an item one octet longer than its segment', placed_item(FIRST, ROOM + 1, 0)),
    ('length-last', 'an item of 2^32 - 1 octets in one segment', placed_item(FIRST, 0xffffffff, 0)),
)
case('length-offset', '5', 'an item that ends four octets behind its segment', Reported(BADTBSN, 0, 1, 0xffffffff))(
    lambda s: whole(s, placed_item(FIRST, ROOM, 0, offset=4), data=bytes(ROOM)))
case('not-there', '5', 'an item in the segment of a message that ends before it', Reported(BADTBSN, 0, 0, 0))(
    lambda s: whole(s, placed_item(FIRST, 8, 0), data=b''))
case('behind-end', '5', 'an item from an offset on that the message does not reach', Reported(BADTBSN, 0, 0, 0))(
    lambda s: whole(s, placed_item(FIRST, 8, 0, offset=64)))

# --- numbers of segments ---

items('5', Reported(BADTBSN, 1, 0, 0), ('number-1', 'segment 1, where 0 is the only one', placed_item(FIRST, 8, 1)))
items('5', Reported(BADTBSN, 0xffffffff, 0, 0), ('number-last', 'segment 2^32 - 1', placed_item(FIRST, 8, 0xffffffff)))
items('5', Reported(BADTBSN, 65536, 0, 0), ('number-65536', 'segment 65536', placed_item(FIRST, 8, 65536)))
items('5', Reported(BADTBSN, 0, 1, 0), ('number-again', 'one item twice in the same segment', placed_item(FIRST, 8, 0, 0)),
      ('number-shared', 'two items in one segment', placed_item(FIRST, 4, 0), placed_item(FIRST + 8, 4, 0, offset=4)))
items('5', Reported(BADTBSN, 1, 1, 0), ('number-more', 'a second segment, which is not there', placed_item(FIRST, ROOM + 8, 0, 1)),
      ('number-needless', 'a second segment for which nothing is left', placed_item(FIRST, 8, 0, 1)))

# --- offsets ---

for offset, what in ((1, 'no multiple of four'), (2, 'no multiple of four'), (6, 'no multiple of four'),
                     (ROOM, 'the length of the segment'), (ROOM + 4, 'behind the segment'), (0xfffffffc, '2^32 - 4'),
                     (0xffffffff, '2^32 - 1')):
    items('5', Reported(BADOFF, offset, 0, ROOM - 4),
          ('offset-%d' % offset, 'offset %d (%s)' % (offset, what), placed_item(FIRST, 8, 0, offset=offset)))

# --- memory that is not there ---


@case('exposed-unknown', '3', 'an item by explicit RDMA with a handle that the client does not know itself', Closes())
def _(s):
    whole(s, exposed_item(FIRST, 8, [Seg(0x4711, 8, 0)]), data=b'')


@case('exposed-beyond', '3', 'an item by explicit RDMA longer than the memory behind it', Closes())
def _(s):
    whole(s, exposed_item(FIRST, 5000, [s.conn.expose(100)._replace(length=5000)]), data=b'')


@case('exposed-offset', '3', 'an item by explicit RDMA from an offset on that is not exposed', Closes())
def _(s):
    whole(s, exposed_item(FIRST, 8, [s.conn.expose(100)._replace(offset=1 << 40)]), data=b'')


# --- the group, the payload stream ---

for n in (MOST + 1, 17, 0xffffffff):
    case('group-%d' % n, '4', 'a group of %d, where %d is the limit' % (n, MOST), Reported(BADSEQ, MOST, n))(
        lambda s, n=n: whole(s, placed_item(FIRST, 8, 0), count=n))
case('group-0', '3', 'a group of no transmissions', BAD)(lambda s: whole(s, placed_item(FIRST, 8, 0), count=0))
variants(
    '3', BAD,
    ('stream-none', 'no payload stream', lambda s: send(s, request(0), b'')),
    ('stream-3', 'a payload stream of three octets', lambda s: send(s, request(3), body(s)[:3])),
    ('stream-xid', 'a payload stream with another XID', lambda s: send(s, request(40), rpc.call(s.xid ^ 1))),
)
for more, n in ((1, 45), (4, 48), (0xffffffff - 44, 0xffffffff)):
    case('stream-more-%d' % more, '4', 'a payload stream of %d octets, where 44 are left' % n, Reported(BADPL, n, 0, 44))(
        lambda s, n=n: send(s, request(n)))


@case('stream-targetable', '5', 'a payload stream that goes on in the targetable segment',
      Other('OPTRERR_BADPL with what fits before it; the next call is answered'))
def _(s):
    fits = BOX - rtr.FIXED[s.end.version] - len(request(0))
    send(s, request(fits + 4), rpc.call(s.xid, rpc.NULL, bytes(fits + 4 - rpc.CALL_BYTES)))
    Reported(BADPL, fits + 4, 0, fits).check(s)


@case('stream-full', '5', 'a payload stream that ends where the targetable segment begins, and an item there', Served())
def _(s):
    fits = BOX - rtr.FIXED[s.end.version] - len(request(0, [placed_item(0, 8, 0)]))
    stream = rpc.call(s.xid, rpc.NULL, u32(8) + bytes(fits - rpc.CALL_BYTES - 4))
    send(s, request(fits, [placed_item(FIRST, 8, 0)]), stream, bytes(8))


# --- what is no RPC call ---

for n, where in ((4, 'the XID'), (8, 'the message type'), (12, 'the RPC version'), (16, 'the program')):
    case('rpc-cut-%d' % n, '3', 'a payload stream that ends after ' + where, BAD)(
        lambda s, n=n: send(s, request(n), rpc.call(s.xid)[:n]))
variants(
    '1', BAD,
    ('rpc-reply', 'a Transmit Request with an RPC reply in it', lambda s: send(s, request(24), rpc.reply(s.xid))),
    ('rpc-mtype', 'a Transmit Request with an RPC message of type 2', lambda s: send(s, request(40), rpc.call(s.xid, mtype=2))),
)

# --- continues of nothing ---


def began(s):
    return REQUEST + (rtr.HTYPES if s.end.version == 2 else 0)


for n in (0, 1, 3, 0xffffffff):
    case('continue-%d' % n, '4', 'a Transmit Continue with the number %d, and nothing to continue' % n,
         Reported(BADCONT, number=n))(lambda s, n=n: s.end.rtr(CONTINUE, rtr.cont(n, began(s))))
variants(
    '4', Reported(BADCONT, number=1),
    ('continue-stream', 'a Transmit Continue with a whole call, and nothing to continue',
     lambda s: s.end.rtr(CONTINUE, rtr.cont(1, began(s), 40), rpc.call(s.xid))),
    ('continue-longer', 'a Transmit Continue whose payload stream is not there',
     lambda s: s.end.rtr(CONTINUE, rtr.cont(1, began(s), 4000))),
    ('continue-type', 'a Transmit Continue of a group that began with type 0',
     lambda s: s.end.rtr(CONTINUE, rtr.cont(1, 0))),
)
for n in (0, 4, 8, 11):
    case('continue-cut-%d' % n, '3', 'a Transmit Continue of %d octets' % n, BAD)(
        lambda s, n=n: s.end.rtr(CONTINUE, rtr.cont(1, began(s))[:n]))

# --- groups ---


def first(s, count=2, data=bytes(8), numbers=(0,), length=8, **how):
    """Sends the first transmission of a group of @count."""
    whole(s, placed_item(FIRST, length, *numbers), data=data, count=count, **how)


def more(s, number=1, stream=b'', data=b'', payload=None, kind=None, xid=None):
    """Sends a Transmit Continue."""
    head = rtr.cont(number, began(s) if kind is None else kind, len(stream) if payload is None else payload)
    taken = rtr.FIXED[s.end.version] + len(head) + len(stream)
    s.end.rtr(CONTINUE, head, rtr.pad_to(taken, stream, [(BOX, data)] if data else []), xid=xid)


def spread(s, count, length):
    """Sends a group whose item of @length octets is divided among all @count transmissions."""
    first(s, count, bytes(ROOM), range(count), length)
    for i in range(1, count):
        more(s, i, data=bytes(min(ROOM, length - i * ROOM)))


def told(s, xid, code, *words, number=0, lead=None):
    """Checks that the next message is a Report Error about transmission @number of @xid."""
    m = s.end.expect_msg(xid)
    assert m.rtr and m.rtr.op == REPORT, '%r instead of a Report Error' % m
    assert m.rtr.bad == (xid, rtr.CALL, number) and m.rtr.report == [code, *words], m.rtr
    assert m.rtr.lead == (None if lead is None else (lead, rtr.CALL, 0)), 'lead %s' % (m.rtr.lead,)


def in_group(s, htype, option=None):
    """Return: the words of a report about a message that is no continue: code, expected type, type that came."""
    if s.end.version == 2:
        return BADHMT, rtr.HTYPES + CONTINUE, htype
    return (BADOMT, CONTINUE, option) if option is not None else (BADHMT, early.OPTIONAL, htype)


variants(
    '4', Served(),
    ('group-right', 'a group of two, an item of 65537 octets in both', lambda s: spread(s, 2, ROOM + 1)),
    ('group-all', 'a group of %d, all of whose segments are full' % MOST, lambda s: spread(s, MOST, MOST * ROOM)),
    ('group-empty', 'a group whose continues have nothing', lambda s: (first(s, 3), more(s, 1), more(s, 2))),
    ('group-late-item', 'a group whose item is in the last of three',
     lambda s: (first(s, 3, b'', (2,)), more(s, 1), more(s, 2, data=bytes(8)))),
    ('group-streams', 'a payload stream of four octets in the first transmission, the rest in two others',
     lambda s: (send(s, request(4, [placed_item(FIRST, 8, 0)], count=3), body(s)[:4], bytes(8)),
                more(s, 1, body(s)[4:24]), more(s, 2, body(s)[24:]))),
)


@case('group-slow', '4', 'a group of two, a second apart', Served(), slow=True)
def _(s):
    first(s, 2, bytes(ROOM), (0, 1), ROOM + 8)
    time.sleep(1)
    more(s, data=bytes(8))


@case('group-grant', '4', 'a group of two with a GRANT in it', Served(), only=[2])
def _(s):
    first(s)
    s.end.send2(0, v2.GRANT)
    more(s)


@case('group-error', '4', 'a group of two with an RDMA2_ERROR in it', Served())
def _(s):
    first(s)
    s.end.error(v2.ERR_BAD_XDR if s.end.version == 2 else early.ERR_BAD_HEADER, xid=s.xid ^ 7)
    more(s)


for name, sent, want, play in (
        ('second-first', 'the second continue first', (BADSEQ, 1, 2, 2), lambda s: (first(s, 3), more(s, 2), more(s, 1))),
        ('again', 'the first continue twice', (BADSEQ, 2, 1, 1), lambda s: (first(s, 3), more(s, 1), more(s, 1), more(s, 2))),
        ('number-0', 'a continue with the number 0', (BADSEQ, 1, 0, 0), lambda s: (first(s), more(s, 0))),
        ('last', 'a continue with the number 2^32 - 1', (BADSEQ, 1, 0xffffffff, 0xffffffff),
         lambda s: (first(s), more(s, 0xffffffff))),
        ('stream-long', 'a continue whose payload stream is not there', (BADPL, 4, 0, 0, 1), lambda s: (first(s), more(s, payload=4))),
        ('stream-wraps', 'a continue with a payload stream of 2^32 - 4', (BADPL, 0xfffffffc, 0, 0, 1),
         lambda s: (first(s), more(s, payload=0xfffffffc))),
        ('stream-word', 'a payload stream that ends within a word, though more is to come', (BADPL, 3, 0, 3, 1),
         lambda s: (first(s, 3), more(s, 1, b'abc'), more(s, 2, b'd'))),
        ('cut-short', 'an item that its last transmission does not hold', (BADTBSN, 1, 1, 1, 1),
         lambda s: (first(s, 2, bytes(ROOM), (0, 1), ROOM + 8), more(s, data=bytes(4)))),
        ('not-there', 'an item in a transmission without data', (BADTBSN, 1, 1, 1, 1),
         lambda s: (first(s, 2, b'', (1,)), more(s)))):
    case('group-' + name, '4', sent, Reported(*want[:-1], number=want[-1], lead=0))(lambda s, play=play: play(s))


@case('group-kind', '4', 'a continue of a group that began with another type',
      Other('OPTRERR_BADOMT, and what came; the next call is answered'))
def _(s):
    first(s)
    more(s, kind=99)
    Reported(BADOMT, began(s), 99, number=1, lead=0).check(s)


@case('group-stream-cut', '4', 'a payload stream of 42 octets, though a continue is to follow',
      Other('OPTRERR_BADPL with 42; the continue is dropped, the next call is answered'))
def _(s):
    send(s, request(42, [placed_item(FIRST, 8, 0)], count=2), body(s)[:42], bytes(8))
    more(s, 1, body(s)[42:])
    Reported(BADPL, 42, 0, BOX - rtr.FIXED[s.end.version] - len(request(42, [placed_item(FIRST, 8, 0)]))).check(s)


@case('group-xid', '4', 'a continue with the XID of no group', Other('OPTRERR_BADXID with both; the next call is answered'))
def _(s):
    first(s)
    more(s, xid=s.xid ^ 3)
    told(s, s.xid ^ 3, BADXID, s.xid, s.xid ^ 3, number=1, lead=s.xid)
    more(s)     # the rest of the group
    s.goes_on()


@case('group-call', '4', 'a call of the base protocol in a group', Other('OPTRERR_BADHMT, and neither is carried out'))
def _(s):
    first(s)
    s.end.call(rpc.call(s.xid ^ 5), xid=s.xid ^ 5)
    more(s)
    told(s, s.xid ^ 5, *in_group(s, v2.CALL_INLINE if s.end.version == 2 else early.MSG), lead=s.xid)
    s.goes_on()


@case('group-request', '4', 'another Transmit Request in a group', Other('a Report Error about it; the next call is answered'))
def _(s):
    first(s)
    was, s.xid = s.xid, s.end.new_xid()
    first(s, 1)
    told(s, s.xid, *in_group(s, rtr.HTYPES + REQUEST, REQUEST), lead=was)
    s.goes_on()


@case('group-option', '4', 'a type that does not exist in a group', Other('a Report Error about it; the next call is answered'))
def _(s):
    first(s)
    s.end.rtr(77, b'', xid=s.xid ^ 9)
    told(s, s.xid ^ 9, *in_group(s, rtr.HTYPES + 77, 77), lead=s.xid)
    more(s)
    s.goes_on()


for n in range(4):
    case('group-stream-%d' % n, '3', 'a group of two, %d octets of payload stream in the first; the continue is dropped' % n, BAD)(
        lambda s, n=n: (send(s, request(n, [placed_item(FIRST, 8, 0)], count=2), body(s)[:n], bytes(8)), more(s)))
for n in (0, 4, 8, 11):
    case('group-cut-%d' % n, '3', 'a continue of %d octets in a group; what is left is dropped' % n, BAD)(
        lambda s, n=n: (first(s, 3), s.end.rtr(CONTINUE, rtr.cont(1, began(s))[:n]), more(s, 2)))
case('group-wrong', '4', 'a wrong item in the first of four: what continues it is dropped', Reported(BADTBSN, 9, 0, 3))(
    lambda s: (first(s, 4, numbers=(9,)), more(s, 1), more(s, 2), more(s, 3)))


@case('group-never', '4', 'groups that are begun and never ended, on one connection',
      Other('a Report Error for each but the last; other sessions go on'))
def _(s):
    xids = []
    for _ in range(20):
        s.xid = s.end.new_xid()
        xids.append(s.xid)
        first(s, MOST, bytes(ROOM), range(MOST), MOST * ROOM)
        if len(xids) > 1:
            told(s, s.xid, *in_group(s, rtr.HTYPES + REQUEST, REQUEST), lead=xids[-2])
            xids.pop()      # the group before was lost, too
            s.xid = s.end.new_xid()
            xids[-1] = s.xid
            first(s, MOST, bytes(ROOM), range(MOST), MOST * ROOM)
    s.conn.reset()


# --- what a client may not send ---

for code, words in ((1, (7, 5)), (2, (7, 5)), (3, ()), (4, (1, 2)), (5, (1, 2)), (6, (8, 0, 4)), (7, (8, 0, 4)), (8, (8, 0, 4))):
    case('report-%d' % code, '2', 'OPTRERR_%s about a request, which the gateway never sent' % rtr.CODES[code], UNKNOWN,
         only=[2])(
        lambda s, code=code, words=words: s.end.rtr(REPORT, rtr.report((s.xid, 1, 0), code, *words),
                                                    direction=rtr.REPLY))
variants(
    '2', UNKNOWN,
    ('report-9', 'a Report Error with code 9', lambda s: s.end.rtr(REPORT, rtr.report((s.xid, 1, 0), 9, 1, 2, 3))),
    ('report-cut', 'a Report Error of no octets', lambda s: s.end.rtr(REPORT, b'')),
    only=[2],
)

# --- where it is not spoken ---

for op in rtr.OPS:
    heads = {REQUEST: request(40), RESPONSE: response(40), CONTINUE: rtr.cont(1, REQUEST), REPORT: rtr.report((1, 0, 0), 3)}
    RULES[2]('rtr-off-%d' % op, '2', 'a %s where no receive_structure is configured' % rtr.OPS[op], UNKNOWN[2], on='v2',
             route='to-v1')(lambda s, op=op, head=heads[op]: s.end.rtr(op, head, rpc.call(s.end.new_xid()), xid=fresh(s)))
    RULES['early']('early-rtr-off-%d' % op, '1', 'a %s where no receive_structure is configured' % rtr.OPS[op],
                   UNKNOWN['early'], on='early', route='early')(
        lambda s, op=op, head=heads[op]: s.end.rtr(op, head, rpc.call(s.end.new_xid()), xid=fresh(s)))


def fresh(s):
    s.xid = s.end.xid
    return s.xid


# --- types beside the extension's ---

for htype in (0x52540000, 0x52540001, 0x52540002, 0x52540003, 0x52540004, 0x52540009, 0x5254ffff, 0x05005452, 0x52550005):
    case('type-%08x' % htype, '1', 'header type 0x%08x, which is none, with a Transmit Request behind it' % htype, UNKNOWN,
         only=[2])(lambda s, htype=htype: s.end.send2(s.xid, htype, request(40) + rpc.call(s.xid)))
for opttype in (1, 2, 3, 4, 9, 0x52540005, 0x05000000):
    case('type-%d' % opttype, '1', 'an option of type %d, which is none, with a Transmit Request in it' % opttype, UNKNOWN,
         only=['early'])(lambda s, opttype=opttype: s.end.send(early.option(s.xid, opttype, request(40)) + rpc.call(s.xid)))

# --- the early draft's header ---


def option(s, info=None, direction=rtr.CALL, stream=None):
    s.end.send(early.option(s.xid, REQUEST, request(40) if info is None else info, direction) +
               (rpc.call(s.xid) if stream is None else stream))


for name, sent, play in (
        ('info-more', 'a Transmit Request with four octets behind it in its information',
         lambda s: option(s, request(40) + bytes(4))),
        ('info-odd', 'a Transmit Request with an octet behind it in its information', lambda s: option(s, request(40) + b'x')),
        ('info-less', 'information that ends before the Transmit Request does', lambda s: option(s, request(40)[:-4])),
        ('info-none', 'a Transmit Request without information', lambda s: option(s, b'')),
        ('info-lies', 'information of 2^32 - 1 octets',
         lambda s: s.end.send(early.prefix(s.xid, early.OPTIONAL) + u32(0, REQUEST, -1) + request(40) + rpc.call(s.xid))),
        ('info-stream', 'the payload stream in the information', lambda s: option(s, request(40) + rpc.call(s.xid), stream=b'')),
        ('direction-2', 'a Transmit Request of direction 2', lambda s: option(s, direction=2))):
    case(name, '1', sent, BAD, only=['early'])(play)
case('direction-reply', '1', 'a Transmit Request of direction REPLY', UNKNOWN, only=['early'])(
    lambda s: option(s, direction=rtr.REPLY))

# --- longer than there is room ---

case('long', '2', 'a Transmit Request four octets longer than the Receives are', Terminates(1, 2, 5))(
    lambda s: whole(s, placed_item(FIRST, 8, 0), data=bytes(ROOM + 4)))
case('long-call', '2', 'a call of the base protocol that is longer than 4096 octets', Closes(), only=[2])(
    lambda s: s.end.send2(s.xid, v2.CALL_INLINE, v2.call_lists() + rpc.call(s.xid) + bytes(5000)))
case('long-call', '2', 'a call of the base protocol that is longer than 4096 octets', Closes(), only=['early'])(
    lambda s: s.end.send(early.message(s.xid, rpc.call(s.xid) + bytes(5000))))
case('long-middle', '2', 'a CALL_MIDDLE that is longer than 4096 octets', Closes(), only=[2])(
    lambda s: s.end.send2(s.xid, v2.CALL_MIDDLE, u32(1000) + rpc.call(s.xid) + bytes(5000)))
case('long-grant', '2', 'a GRANT that is longer than 4096 octets', Closes(), only=[2])(
    lambda s: s.end.send2(0, v2.GRANT, bytes(5000)))
case('long-error', '2', 'an RDMA2_ERROR that is longer than 4096 octets', Closes())(
    lambda s: s.end.send2(s.xid, v2.ERROR, u32(2) + bytes(5000)) if s.end.version == 2 else
    s.end.send(early.error(s.xid) + bytes(5000)))
case('long-report', '2', 'a Report Error that is longer than 4096 octets', Closes(), only=[2])(
    lambda s: s.end.rtr(REPORT, rtr.report((s.xid, 1, 0), 3), bytes(5000)))

# --- the version ---

case('version-1', '7.1.2', 'a Transmit Request of version 1', V2Error(v2.ERR_VERS_MISMATCH, vers=1), only=[2])(
    lambda s: s.end.send2(s.xid, rtr.HTYPES + REQUEST, request(40) + rpc.call(s.xid), vers=1))
case('version-3', '7.1.1', 'a Transmit Request of version 3', V2Error(v2.ERR_VERS, 1, 2, vers=3), only=[2])(
    lambda s: s.end.send2(s.xid, rtr.HTYPES + REQUEST, request(40) + rpc.call(s.xid), vers=3))
case('version-1', 'cel-01 5.2', 'a Transmit Request of version 1', EarlyError(early.ERR_VERS, 2, 2, vers=1), only=['early'])(
    lambda s: s.end.send(early.option(s.xid, REQUEST, request(40), vers=1) + rpc.call(s.xid)))

# --- several at once, in one flush ---


class Several:
    """The answers to several messages, in any order. Each is found by its XID."""

    def __init__(self, text):
        self.text = text

    def check(self, c):
        wanted = dict(c.wanted)
        while wanted:
            m = c.end.expect_msg()
            assert m.xid in wanted, '%r, which answers nothing' % m
            want = wanted.pop(m.xid)
            got = tuple(m.error) if m.error else tuple(m.rtr.report) if m.rtr else m.body
            assert got == want, '%s instead of %s' % (got, want)
        c.goes_on()


def several(name, sent, text, *plays, **how):
    """A case in which each of @plays sends a message with a new XID, and returns the expected answer. All messages leave at once."""
    def run(s):
        s.wanted = []
        with s.conn.together():
            for play in plays:
                s.xid = s.end.new_xid()
                want = play(s)
                if want is not None:
                    s.wanted.append((s.xid, want))
    case('at-once-' + name, '4', sent, Several(text), **how)(run)


def a_bad(s):
    return (v2.ERR_BAD_XDR if s.end.version == 2 else early.ERR_BAD_HEADER,)


def a_right(s):
    whole(s, placed_item(FIRST, 8, 0))
    return rpc.reply(s.xid)


def a_segment(s):
    whole(s, placed_item(FIRST, 8, 7))
    return BADTBSN, 7, 0, 0


def an_offset(s):
    whole(s, placed_item(FIRST, 8, 0, offset=2))
    return BADOFF, 2, 0, ROOM - 4


def a_stream(s):
    send(s, request(99))
    return BADPL, 99, 0, 44


def a_continue(s):
    s.end.rtr(CONTINUE, rtr.cont(2, began(s)))
    return (BADCONT,)


def a_group(s):
    spread(s, 2, ROOM + 4)
    return rpc.reply(s.xid)


def a_broken_group(s):
    first(s, 3)
    more(s, 2)
    more(s, 1)
    return BADSEQ, 1, 2


def a_type(s):
    whole(s, bare(FIRST, 8, NOITEM))
    return a_bad(s)


def a_cut(s):
    send(s, request(44)[:9], b'')
    return a_bad(s)


def a_null(s):
    s.end.call(rpc.call(s.xid))
    return rpc.reply(s.xid)


several('segments', 'four requests with wrong segments', 'four Report Errors; the next call is answered', *[a_segment] * 4)
several('faults', 'a wrong segment, a wrong offset, a wrong payload stream, a continue of nothing',
        'a Report Error for each; the next call is answered', a_segment, an_offset, a_stream, a_continue)
several('malformed', 'four malformed requests', 'four errors of the base protocol; the next call is answered',
        a_type, a_cut, a_type, a_cut)
several('between', 'wrong requests between right ones and a call of the base protocol',
        'a reply to each right one, a report about each wrong one; the next call is answered', a_right, a_segment, a_null,
        a_type, a_right, an_offset)
several('right', 'six right requests', 'six replies; the next call is answered', *[a_right] * 6)
several('groups', 'two groups of two and right requests between', 'a reply to each', a_group, a_right, a_group)
several('broken', 'a group in wrong order, a right one, and a malformed request',
        'a report about each wrong one, a reply to the right one; the next call is answered', a_broken_group, a_group, a_cut)
several('continues', 'six continues of nothing', 'six Report Errors; the next call is answered', *[a_continue] * 6)


@case('at-once-cut-off', '4', 'a right request, a wrong one, and the end of TCP', Other('nothing; other sessions go on'))
def _(s):
    with s.conn.together():
        a_right(s)
        s.end.new_xid()
        s.xid = s.end.xid
        a_segment(s)
    s.conn.reset()


# --- more than was granted ---


@case('credit', '6.1', 'forty right requests at once, where 8 credits were granted', Closes('closed'), only=[2])
def _(s):
    sent = []
    s.end.limit = s.end.sent + 100
    with s.conn.together():
        for _ in range(40):
            s.xid = s.end.new_xid()
            sent.append(a_right(s))
    drain(s)


def drain(s):
    """Lets the end skip replies to earlier requests, which may come before the connection ends."""
    import rdmap
    recv = s.end.recv

    def last(*how):
        while True:
            event = recv(*how)
            if not hasattr(event, 'proc'):
                assert isinstance(event, (rdmap.Ended, rdmap.Terminated)), event
                return event if isinstance(event, rdmap.Ended) else last(*how)
    s.end.recv = last
