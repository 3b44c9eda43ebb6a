# SPDX-License-Identifier: BSD-2-Clause
"""The round-trip extension (draft-dnoveck-nfsv4-rpcrdma-rtrext-02 as docs/rtrext-profile.md reads it): its messages and
properties, valid and invalid, and the use of segments of Receives. Written only from those two documents."""
from collections import namedtuple

from xdr import Reader, opaque, u32

REQUEST, RESPONSE, CONTINUE, REPORT = 5, 6, 7, 8
HTYPES = 0x52540000     # over draft -07 a message's header type is its number plus this
OPS = {REQUEST: 'Transmit Request', RESPONSE: 'Transmit Response', CONTINUE: 'Transmit Continue', REPORT: 'Report Error'}
CALL, REPLY = 0, 1

SUPPORT, STRUCTURE, REQUEST_LIMIT, RESPONSE_LIMIT = (HTYPES + n for n in (3, 4, 5, 6))
TAKES_REQUEST, TAKES_RESPONSE, TAKES_CONTINUE = 1, 2, 4
PLT = 1

EXRW, TBSN, CHOICE, BYSIZE, TOOSHORT, NOITEM = range(1, 7)
BADHMT, BADOMT, BADCONT, BADSEQ, BADXID, BADOFF, BADTBSN, BADPL = range(1, 9)
CODES = {code: name for name, code in list(globals().items()) if name.startswith('BAD')}

Item = namedtuple('Item', 'position length type offset numbers segs')
Wish = namedtuple('Wish', 'least type longest segs')


# --- messages to send: elements of lists are octets, so that a case can make each of them invalid ---

def segments(segs):
    return u32(len(segs)) + b''.join(seg.pack() for seg in segs)


def placed_item(position, length, *numbers, offset=0):
    """Return: an item that travels by Send, into segments of a Receive."""
    return u32(position, length, TBSN, offset, len(numbers), *numbers)


def exposed_item(position, length, segs):
    """Return: an item that the receiver has to read, or that the sender has written, by RDMA."""
    return u32(position, length, EXRW) + segments(segs)


def bare(position, length, kind):
    """Return: an item without the fields that follow its type."""
    return u32(position, length, kind)


def wish(least, kind, segs=None, longest=None):
    return u32(least, kind) + (u32(longest) if longest is not None else b'') + (b'' if segs is None else segments(segs))


def wishes(begin, end, *those):
    """Return: a set of directions: a range of lengths, and the directions for items of the reply."""
    return u32(begin, end, len(those)) + b''.join(those)


def request(payload, items=(), sets=(), count=1, reserved=1):
    return u32(len(items)) + b''.join(items) + u32(len(sets)) + b''.join(sets) + u32(count, reserved, payload)


def response(payload, items=(), count=1):
    return u32(len(items)) + b''.join(items) + u32(count, payload)


def cont(number, began, payload=0):
    return u32(number, began, payload)


def report(bad, code, *words, lead=None):
    """Return: the body of a Report Error. @bad, @lead: (XID, direction, number) of a transmission."""
    return u32(*bad) + (u32(0) if lead is None else u32(1, *lead)) + u32(code, *words)


# --- messages in ---

class Body:
    """The parsed body of a message of the extension."""

    def __init__(self, op):
        self.op = op
        self.items, self.sets = [], []
        self.count = self.reserved = 1
        self.payload = self.number = self.began = 0
        self.bad = self.lead = self.report = None
        self.taken = 0      # octets of header and payload stream
        self.raw = b''      # the message

    def __repr__(self):
        return '%s %s' % (OPS[self.op], {k: v for k, v in vars(self).items() if k not in ('op', 'raw')})


def get_segs(r):
    n = r.word()
    assert n, 'a place without segments'
    return [r.seg() for _ in range(n)]


def get_item(r, op):
    position, length, kind = r.word(), r.word(), r.word()
    if kind == EXRW:
        return Item(position, length, kind, 0, [], get_segs(r))
    if kind == TBSN:
        offset, n = r.word(), r.word()
        assert n, 'a place without segments'
        return Item(position, length, kind, offset, [r.word() for _ in range(n)], [])
    assert op == RESPONSE and kind in (TOOSHORT, NOITEM), 'an item of type %d in a %s' % (kind, OPS[op])
    return Item(position, length, kind, 0, [], [])


def get_wish(r):
    least, kind = r.word(), r.word()
    assert kind in (EXRW, TBSN, CHOICE, BYSIZE), 'a direction of type %d' % kind
    longest = r.word() if kind == BYSIZE else 0
    return Wish(least, kind, longest, [] if kind == TBSN else get_segs(r))


def get_id(r):
    return r.word(), int(r.flag()), r.word()


def parse(op, r):
    """Table 1 and rtr 10.2, to the letter."""
    b = Body(op)
    if op == CONTINUE:
        b.number, b.began, b.payload = r.word(), r.word(), r.word()
        assert b.number >= 1, 'a continue that is the first of its group'
    elif op == REPORT:
        b.bad = get_id(r)
        b.lead = get_id(r) if r.flag() else None
        code = r.word()
        assert code in CODES, 'error %d' % code
        b.report = [code] + [r.word() for _ in range(0 if code == BADCONT else 2 if code < BADOFF else 3)]
    else:
        b.items = [get_item(r, op) for _ in range(r.word())]
        if op == REQUEST:
            at = 0
            for _ in range(r.word()):
                begin, end = r.word(), r.word()
                assert at <= begin < end, 'ranges that do not rise'
                at = end
                b.sets.append((begin, end, [get_wish(r) for _ in range(r.word())]))
        b.count = r.word()
        assert b.count, 'a group of no transmissions'
        if op == REQUEST:
            b.reserved = r.word()
        b.payload = r.word()
    return b


def take(m, op, r, data, info=None):
    """Into @m the message whose body begins at @r, or, over the early draft, is all of @info."""
    m.rtr = parse(op, info or r)
    if info:
        assert info.at == len(info.data), 'octets behind the body'
    assert r.at + m.rtr.payload <= len(data), 'a payload stream that is longer than its transmission'
    m.body = data[r.at:r.at + m.rtr.payload]
    m.rtr.taken, m.rtr.raw = r.at + m.rtr.payload, data
    if op == REPORT:
        assert len(data) == r.at, 'octets behind a Report Error'


# --- the structure of Receives ---

class Structure:
    """The segments of a Receive, in groups of (count, length, alignment, flags)."""

    def __init__(self, *groups):
        self.groups = groups
        self.targets = []   # targetable segments: (offset in the Receive, length)
        self.size = 0
        for count, length, _, flags in groups:
            for _ in range(count):
                if flags & PLT:
                    self.targets.append((self.size, length))
                self.size += length

    def value(self):
        return u32(self.size, len(self.groups)) + b''.join(u32(*g) for g in self.groups)

    @classmethod
    def parse(cls, value):
        r = Reader(value)
        size = r.word()
        s = cls(*[(r.word(), r.word(), r.word(), r.word()) for _ in range(r.word())])
        assert r.at == len(value), 'octets behind the structure'
        assert s.groups and s.size == size, 'a structure that does not add up'
        for count, length, align, _ in s.groups:
            assert count and length and align & (align - 1) == 0, 'a group %s' % ((count, length, align),)
        return s

    def free(self, taken):
        """Return: the first targetable segment that a header and payload stream of @taken octets do not reach."""
        return next((i for i, (at, _) in enumerate(self.targets) if at >= taken), len(self.targets))

    def lay_out(self, taken, items, later=None):
        """Places @items, (octets, offset) each, in the first free segments.

        @taken: octets of header and payload stream of the first transmission; @later: of each other transmission.
        Return: the segment numbers of each item; the pieces of each transmission, (offset, octets).
        """
        n, number = len(self.targets), 0
        numbers, sends = [], [[]]
        for data, offset in items:
            numbers.append([])
            at = 0
            while at < len(data):
                number = self.next_free(number, taken, taken if later is None else later)
                begin, room = self.targets[number % n]
                part = data[at:at + room - offset]
                while len(sends) <= number // n:
                    sends.append([])
                sends[number // n].append((begin + offset, part))
                numbers[-1].append(number)
                at, offset, number = at + len(part), 0, number + 1
        return numbers, sends

    def next_free(self, number, taken, later):
        n = len(self.targets)
        assert n > self.free(later), 'no segment that is free'
        if number < n:
            number = max(number, self.free(taken))
        if number >= n:
            number = max(number, number // n * n + self.free(later))
        return number

    def collect(self, first, messages):
        """Return: the items that came by Send in the group @messages: {Position: octets}. Checks the rules of section 5."""
        n, used, out, last = len(self.targets), {}, {}, -1
        for item in first.rtr.items:
            if item.type != TBSN:
                continue
            assert item.offset % 4 == 0 and item.length, 'offset %d, length %d' % (item.offset, item.length)
            data, offset = b'', item.offset
            for number in item.numbers:
                assert number > last, 'segment %d behind %d' % (number, last)
                assert number // n < len(messages), 'segment %d, which was not sent' % number
                last, b = number, messages[number // n].rtr
                begin, room = self.targets[number % n]
                assert begin >= b.taken, 'segment %d is taken by the payload stream' % number
                assert offset < room, 'offset %d in %d octets' % (offset, room)
                part = b.raw[begin + offset:begin + min(room, offset + item.length - len(data))]
                assert part, 'segment %d holds nothing' % number
                used.setdefault(number // n, []).append((begin + offset, len(part)))
                data, offset = data + part, 0
            assert len(data) == item.length, '%d octets of an item of %d' % (len(data), item.length)
            out[item.position] = data
        for i, m in enumerate(messages):
            self.check_padding(m.rtr, used.get(i, []))
        return out

    def check_padding(self, b, pieces):
        """Checks that octets between items are zero, and that no octets follow the last item."""
        assert len(b.raw) <= self.size, 'a transmission of %d octets into Receives of %d' % (len(b.raw), self.size)
        at = b.taken
        for begin, length in pieces:
            assert not any(b.raw[at:begin]), 'padding that is not zero'
            at = begin + length
        assert not any(b.raw[at:]), 'octets behind the last item'


# The structure of Receives of the gateway in these suites, and of all ends here that take data.
ROOMY = Structure((1, 4096, 1, 0), (1, 65536, 4096, PLT))


def properties(prop, structure, support=TAKES_REQUEST, requests=None, responses=None):
    """The properties of an end with Receives of @structure; @prop: v2.prop."""
    out = [prop(SUPPORT, support)]
    if structure:
        out.append(u32(STRUCTURE) + opaque(structure.value()))
    for which, value in ((REQUEST_LIMIT, requests), (RESPONSE_LIMIT, responses)):
        if value is not None:
            out.append(prop(which, value))
    return out


# Where a Transmit Request's body begins.
FIXED = {2: 16, 'early': 28}


def transmit(version, structure, body, items, offsets=(), exposed=(), build=request, **how):
    """Makes a Transmit Request (or what @build makes), the first message of a group.

    It has @items (Position, octets), which travel by Send and begin at @offsets in their segments, and the exposed items
    @exposed (Position, segments). Return: its body; for each transmission, the octets after the body.
    """
    offsets = list(offsets) + [0] * (len(items) - len(offsets))
    numbers, found = None, [[0]] * len(items)
    while found != numbers:     # more segment numbers make the header longer, and that can change the numbers
        numbers = found
        entries = [(p, placed_item(p, len(d), *n, offset=o)) for (p, d), n, o in zip(items, numbers, offsets)]
        entries += [(p, exposed_item(p, sum(s.length for s in segs), segs)) for p, segs in exposed]
        head = build(len(body), [entry for _, entry in sorted(entries)], **how)
        taken = FIXED[version] + len(head) + len(body)
        found, sends = structure.lay_out(taken, [(d, o) for (_, d), o in zip(items, offsets)])
    return head, [pad_to(taken, body, sends[0])] + [pad_to(FIXED[version] + 12, b'', p) for p in sends[1:]]


def group(version, structure, body, items, offsets=(), exposed=(), build=request, **how):
    """Return: the transmissions of a group: (option, body, the octets after it) each. A payload stream that does not fit before
    the first targetable segment goes on in the continues."""
    room = structure.targets[0][0] if structure.targets and structure.targets[0][0] else structure.size
    fixed = FIXED[version]
    least = build(len(body), [placed_item(p, len(d), 0) for p, d in items], **how)
    if fixed + len(least) + len(body) > room:
        return long_group(version, structure, body, items, build, **how)
    head, rests = transmit(version, structure, body, items, offsets, exposed, build, **how)
    head, rests = transmit(version, structure, body, items, offsets, exposed, build, count=len(rests), **how)
    began = (RESPONSE if build is response else REQUEST) + (HTYPES if version == 2 else 0)
    op = RESPONSE if build is response else REQUEST
    return [(op, head, rests[0])] + [(CONTINUE, cont(i, began), rest) for i, rest in enumerate(rests) if i]


def long_group(version, structure, body, items, build, **how):
    """As group(), for a @body that takes several transmissions. Its only item begins in the last of these."""
    fixed, room = FIXED[version], structure.targets[0][0]
    (position, data), = items
    n, size = len(structure.targets), structure.targets[0][1]
    began = REQUEST + (HTYPES if version == 2 else 0)
    count, numbers = 1, []
    while True:     # more segment numbers make the header longer, and that can change the numbers
        head = build(0, [placed_item(position, len(data), *numbers)], count=count, **how)
        first = room - fixed - len(head)
        parts = [body[:first]] + [body[at:at + room - fixed - 12] for at in range(first, len(body), room - fixed - 12)]
        begin = len(parts) - 1
        want = [n * (begin + i) for i in range(-(-len(data) // size))]
        if want == numbers and count == begin + max(1, len(want)):
            break
        numbers, count = want, begin + max(1, len(want))
    parts += [b''] * (count - len(parts))
    out = []
    for i, part in enumerate(parts):
        placed = data[(i - begin) * size:(i - begin + 1) * size] if i >= begin else b''
        own = build(len(part), [placed_item(position, len(data), *numbers)], count=count, **how) if i == 0 else \
            cont(i, began, len(part))
        out.append((CONTINUE if i else REQUEST, own,
                    pad_to(fixed + len(own) + len(part), part, [(room, placed)] if placed else [])))
    return out


def pad_to(taken, body, pieces):
    """Return: @body, then zeros with @pieces at their offsets. @taken is the offset at which @body ends in the transmission."""
    out = bytearray(body)
    for at, part in pieces:
        out += bytes(at - (taken - len(body)) - len(out)) + part
    return bytes(out)
