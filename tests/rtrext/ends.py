# SPDX-License-Identifier: BSD-2-Clause
"""A client and a server that speak the round-trip extension over either draft, from docs/rtrext-profile.md and the drafts
alone. What the gateway sends is held against every rule that they have."""
import random

import early
import mpa
import peer
import rpc
import rtr
import v2
from rtr import BADTBSN, BYSIZE, CHOICE, CONTINUE, EXRW, NOITEM, REPORT, REQUEST, RESPONSE, TBSN
from xdr import Reader, opaque, u32

QUICK = {'flags': mpa.ENHANCED}     # no CRCs: Python is slow at them
FIRST = rpc.CALL_BYTES + 4          # Position of an argument's octets
MOST = 16                           # transmissions of a group, where both ends here say so


class Client:
    """@told: what an operator knows of the gateway's Receives, for the early draft. @own: its own Receives; @kept: how
    many of them it keeps for a response."""

    def __init__(self, address, version, told, own=rtr.ROOMY, kept=MOST):
        conn, _ = peer.open_rdma(address, **QUICK)
        self.end, self.version, self.own, self.kept = peer.End(conn, version), version, own, kept
        if version == 2:
            takes = rtr.TAKES_REQUEST | rtr.TAKES_RESPONSE | rtr.TAKES_CONTINUE
            props = rtr.properties(v2.prop, own, takes, requests=MOST, responses=MOST)
            self.heed(self.end.negotiate(v2.properties(*v2.BASE, *props)).props)
        else:
            self.structure, self.requests = told, MOST
            self.end.do_null()  # requests follow the first reply (section 2)

    def heed(self, props):
        """What the gateway's properties say, and that they are sound."""
        numbers = {which: Reader(value).word() for which, value in props.items()
                   if which in (rtr.SUPPORT, rtr.REQUEST_LIMIT, rtr.RESPONSE_LIMIT)}
        assert numbers[rtr.SUPPORT] & rtr.TAKES_REQUEST, 'it takes no requests'
        assert numbers[rtr.SUPPORT] & rtr.TAKES_CONTINUE or numbers.get(rtr.REQUEST_LIMIT, 1) == 1, 'a limit for nothing'
        self.responses = numbers.get(rtr.RESPONSE_LIMIT, 1)
        self.requests = numbers.get(rtr.REQUEST_LIMIT, 1) or 1
        self.structure = rtr.Structure.parse(props[rtr.STRUCTURE])
        assert self.structure.targets, 'no placement-targetable segment'
        size = Reader(props[v2.RBSIZ]).word()
        assert size <= self.structure.size, 'Receives of %d, messages of %d' % (self.structure.size, size)

    def room(self):
        """The longest item that one transmission takes."""
        return self.structure.targets[0][1]

    # --- calls ---

    def request(self, body, items=(), exposed=(), offsets=(), sets=()):
        """A call with @items (Position, octets) in its Sends and @exposed ones to be read."""
        for op, head, rest in rtr.group(self.version, self.structure, body, items, offsets, exposed, sets=sets,
                                        reserved=self.kept if sets else 1):
            self.end.rtr(op, head, rest)
        return self.end.xid

    def answer(self, xid, results):
        got = self.end.expect_reply(xid).results
        assert got == results, '%d octets of results, %s...' % (len(got), got[:16].hex())

    def null(self):
        self.answer(self.request(rpc.call(self.end.new_xid())), b'')

    def placed(self, n, offset=0):
        data = random.randbytes(n)
        body = rpc.sum_call(self.end.new_xid(), u32(n))
        self.answer(self.request(body, [(FIRST, data)], offsets=[offset]), rpc.total(data))

    def long_stream(self, n, k):
        """An argument of @n octets in a payload stream of several transmissions, and an item of @k."""
        data, more = random.randbytes(n), random.randbytes(k)
        body = rpc.sum_call(self.end.new_xid(), opaque(data) + u32(k))
        self.answer(self.request(body, [(len(body), more)]), rpc.total(data, more))

    def exposed(self, n, pieces=1):
        """An item by explicit RDMA."""
        data = random.randbytes(n)
        body = rpc.sum_call(self.end.new_xid(), u32(n))
        self.answer(self.request(body, exposed=[(FIRST, self.expose(data, pieces))]), rpc.total(data))

    def expose(self, data, pieces):
        size = -(-len(data) // pieces)
        return [self.end.conn.expose(data[at:at + size]) for at in range(0, len(data), size)]

    def both(self, n, k):
        """Two items: one in the Send, the other to be read."""
        data, more = random.randbytes(n), random.randbytes(k)
        body = rpc.sum_call(self.end.new_xid(), u32(n, k))
        second = FIRST + n + -n % 4 + 4
        self.answer(self.request(body, [(FIRST, data)], [(second, self.expose(more, 2))]), rpc.total(data, more))

    def inline(self, n):
        """A request whose argument is in the payload stream."""
        data = random.randbytes(n)
        self.answer(self.request(rpc.sum_call(self.end.new_xid(), opaque(data))), rpc.total(data))

    def echo(self, n):
        data = random.randbytes(n)
        body = rpc.call(self.end.new_xid(), rpc.ECHO, u32(n))
        self.answer(self.request(body, [(FIRST, data)]), opaque(rpc.echo(data)))

    def long_reply(self, n):
        """Over the early draft a reply that is longer than a message needs a Reply chunk, which a request cannot offer."""
        xid = self.request(rpc.fill_call(self.end.new_xid(), n))
        if self.version == 2:
            self.answer(xid, rpc.fill(n))
        else:
            m = self.end.expect_msg(xid)
            assert m.error == [early.ERR_BAD_HEADER], m
            self.base_fill(n)

    def base_fill(self, n):
        xid, room = self.end.new_xid(), self.end.conn.sink(n + rpc.REPLY_BYTES)
        self.end.call(rpc.fill_call(xid, n), reply=[room])
        self.answer(xid, rpc.fill(n))

    # --- directions ---

    def asked(self, n, kind, longest=None, least=0, room=None, begin=0):
        """ECHO, whose data go as they are asked for: Table 2 (section 6)."""
        data = random.randbytes(n)
        there = self.end.conn.sink(n if room is None else room)
        wish = rtr.wish(least, kind, None if kind == TBSN else [there], longest)
        body = rpc.call(self.end.new_xid(), rpc.ECHO, u32(n))
        self.request(body, [(FIRST, data)], sets=[rtr.wishes(begin, 0xffffffff, wish)])
        m = self.end.expect_msg(self.end.xid)
        assert m.error is None, 'error %s' % (m.error,)
        assert m.rtr and m.rtr.op == RESPONSE, '%r instead of a Transmit Response' % m
        sends = self.continued(m)
        assert len(m.rtr.items) == 1, m.rtr
        assert self.version == 2 or m.direction == rtr.REPLY, 'the direction of a Transmit Response'
        assert m.body == rpc.reply(self.end.xid, u32(n)), 'the payload stream'
        item = m.rtr.items[0]
        assert item.position in (0, rpc.REPLY_BYTES + 4) and item.length == n, item
        may = {EXRW: (EXRW,), TBSN: (TBSN,), CHOICE: (EXRW, TBSN),
               BYSIZE: (TBSN,) if longest is not None and n <= longest else (EXRW,)}[kind]
        assert item.type in may, '%r for a direction of type %d' % (item, kind)
        if item.type == TBSN:
            got, = self.own.collect(m, sends).values()
        else:
            assert item.segs == [there._replace(length=n)], item
            got = self.end.conn.memory(there)[:n]
        assert got == rpc.echo(data), 'the data'

    def continued(self, first):
        """All of the group that @first began, in order and with nothing between; its payload stream is put together."""
        sends = [first]
        assert first.rtr.count <= self.kept, 'a group of %d' % first.rtr.count
        while len(sends) < first.rtr.count:
            m = self.end.expect_msg(first.xid)
            assert m.rtr and m.rtr.op == CONTINUE and m.rtr.number == len(sends), m
            assert m.rtr.began == RESPONSE + (rtr.HTYPES if self.version == 2 else 0), m.rtr
            sends.append(m)
        first.body = b''.join(m.body for m in sends)
        return sends

    def no_item(self):
        """A direction for what does not come."""
        xid = self.end.new_xid()
        there = self.end.conn.sink(100)
        self.request(rpc.call(xid), sets=[rtr.wishes(0, 0xffffffff, rtr.wish(0, CHOICE, [there]))])
        m = self.end.expect_msg(xid)
        assert m.rtr and m.rtr.op == RESPONSE and m.body == rpc.reply(xid), m
        assert [(i.type, i.position, i.length) for i in m.rtr.items] == [(NOITEM, 0, 0)], m.rtr

    def burst(self, n, calls):
        waiting = {}
        for _ in range(calls):
            data = random.randbytes(n)
            body = rpc.sum_call(self.end.new_xid(), u32(n))
            waiting[self.request(body, [(FIRST, data)])] = rpc.total(data)
        while waiting:
            m = self.end.expect_msg()
            assert m.error is None and not m.rtr, m
            assert m.body == rpc.reply(m.xid, waiting.pop(m.xid)), 'the results of %08x' % m.xid

    # --- what the gateway refuses ---

    def reported(self, number, code, *words, lead=None):
        """A Report Error; the request is sent again as the base protocol has it (rtr 5.4)."""
        xid = self.end.xid
        m = self.end.expect_msg(xid)
        assert m.rtr and m.rtr.op == REPORT, '%r instead of a Report Error' % m
        assert m.rtr.bad == (xid, rtr.CALL, number), m.rtr
        assert m.rtr.lead == lead and m.rtr.report == [code, *words], m.rtr
        assert self.version == 2 or m.direction == rtr.REPLY, 'the direction of a Report Error'
        data = random.randbytes(500)
        self.end.call(rpc.sum_call(xid, u32(500)), [(FIRST, self.end.conn.expose(data))])
        self.answer(xid, rpc.total(data))

    def wrong_segment(self):
        body = rpc.sum_call(self.end.new_xid(), u32(4))
        n = len(self.structure.targets)
        self.end.rtr(REQUEST, rtr.request(len(body), [rtr.placed_item(FIRST, 4, n + 6)]), body)
        self.reported(0, BADTBSN, n + 6, 0, n - 1)

    def wrong_offset(self):
        body = rpc.sum_call(self.end.new_xid(), u32(4))
        self.end.rtr(REQUEST, rtr.request(len(body), [rtr.placed_item(FIRST, 4, 0, offset=2)]), body)
        self.reported(0, rtr.BADOFF, 2, 0, self.room() - 4)

    def wrong_payload(self):
        body = rpc.call(self.end.new_xid())
        self.end.rtr(REQUEST, rtr.request(len(body) + 4), body)
        self.reported(0, rtr.BADPL, len(body) + 4, 0, len(body))

    def nothing_to_continue(self):
        self.end.new_xid()
        began = REQUEST + (rtr.HTYPES if self.version == 2 else 0)
        self.end.rtr(CONTINUE, rtr.cont(1, began))
        self.reported(1, rtr.BADCONT)

    def wrong_order(self):
        """The second continue before the first one; those that come yet are dropped."""
        body = rpc.sum_call(self.end.new_xid(), u32(3 * self.room()))
        sends = rtr.group(self.version, self.structure, body, [(FIRST, bytes(3 * self.room()))])
        for op, head, rest in (sends[0], sends[2], sends[1]):
            self.end.rtr(op, head, rest)
        self.reported(2, rtr.BADSEQ, 1, 2, lead=(self.end.xid, rtr.CALL, 0))


class Server(peer.HonestServer):
    """Serves as it is asked: requests of the extension, and all of the base protocol."""

    def __init__(self, sock, version, kind):
        props = v2.PROPS
        if version == 2 and kind.support is not None:
            props = v2.properties(*v2.BASE, *rtr.properties(v2.prop, kind.structure, kind.support, kind.most))
        super().__init__(sock, version, props, **QUICK)
        self.kind = kind
        self.refuse = []        # reports for the requests that come next
        self.requests = self.placed = self.refused = self.asked = 0
        self.group = []         # transmissions of one that have come
        self.groups = self.returned = 0

    def answer(self, m):
        if m.rtr:
            m = self.complete(m)
            if not m:
                return
            assert not self.refused, 'a request although one was refused (section 8)'
            self.requests += 1
            self.check(m)
            if self.refuse:
                self.refused += 1
                self.report(m, self.refuse.pop())
                return
        super().answer(m)

    def complete(self, m):
        """The first of a group, once all that continues it has come: the streams are concatenated (section 4)."""
        if self.group:
            first = self.group[0]
            assert m.rtr.op == CONTINUE and m.xid == first.xid, '%r within a group' % m.rtr
            assert m.rtr.number == len(self.group), m.rtr
            assert m.rtr.began == REQUEST + (rtr.HTYPES if self.version == 2 else 0), m.rtr
            assert len(m.rtr.raw) > m.rtr.taken or m.body, 'a continue of nothing'
        else:
            assert m.rtr.op == REQUEST, '%r, which nobody takes here' % m.rtr
            assert m.rtr.count <= self.limit(), 'a group of %d' % m.rtr.count
            first = m
        self.group.append(m)
        if len(self.group) < first.rtr.count:
            assert len(m.body) % 4 == 0, 'a part that ends within a word'
            return None
        first.sends, self.group = self.group, []
        first.body = b''.join(s.body for s in first.sends)
        self.groups += first.rtr.count > 1
        return first

    def limit(self):
        return MOST if self.version == 'early' else self.kind.most or 1

    def check(self, m):
        b = m.rtr
        assert self.kind.takes(), 'a request to an end that takes none'
        for begin, end, those in b.sets:
            assert (begin, end) == (0, 0xffffffff) and 0 < len(those) <= 4, b.sets
        assert m.body, 'no payload stream'
        at = 0
        for item in b.items:
            assert item.position >= max(at, rpc.CALL_BYTES) and item.position % 4 == 0, item
            at = item.position + item.length
        m.placed = self.kind.structure.collect(m, m.sends) if self.kind.structure else {}
        self.placed += len(m.placed)

    def answer_echo(self, m):
        """As it is asked for; CHOICE by turns."""
        if not m.rtr or not m.rtr.sets:
            super().answer_echo(m)
            return
        data = rpc.echo(*self.arguments(m))
        (_, _, (wish,)), = m.rtr.sets
        self.asked += 1
        body = rpc.reply(m.xid, u32(len(data)))
        to = rtr.ROOMY if self.version == 'early' else rtr.Structure.parse(self.told[rtr.STRUCTURE])
        send = wish.type == TBSN or wish.type == CHOICE and self.asked % 2 or \
            wish.type == BYSIZE and len(data) <= wish.longest
        at = rpc.REPLY_BYTES + 4
        if send and len(data) <= to.targets[0][1] * m.rtr.reserved:
            self.returned += len(data) > to.targets[0][1]
            for op, head, rest in rtr.group(self.version, to, body, [(at, data)], build=rtr.response):
                self.end.rtr(op, head, rest, xid=m.xid, direction=rtr.REPLY)
            return
        else:
            segs, left = [], data
            for seg in wish.segs:
                part, left = left[:seg.length], left[seg.length:]
                if part:
                    self.end.conn.write(seg, part)
                    segs.append(seg._replace(length=len(part)))
            assert not left, 'no room for %d octets in %s' % (len(data), wish)
            head, rests = rtr.transmit(self.version, to, body, [], exposed=[(at, segs)], build=rtr.response)
        self.end.rtr(RESPONSE, head, rests[0], xid=m.xid, direction=rtr.REPLY)

    def report(self, m, words):
        bad = (m.xid, rtr.CALL, 0)
        self.end.rtr(REPORT, rtr.report(bad, *words), xid=m.xid, direction=rtr.REPLY)

    def items(self, m):
        items = dict(super().items(m))
        if m.rtr:
            items.update(m.placed)
            for item in m.rtr.items:
                if item.type == rtr.EXRW:
                    items[item.position] = b''.join(self.end.conn.read(s) for s in item.segs)[:item.length]
        return items.items()


class Receives:
    """Of a client: how many are kept for a response, and items that it asks for by Send alone, the last as long as all."""

    def __init__(self, name, structure, kept, sizes):
        self.name, self.structure, self.kept, self.sizes = name, structure, kept, sizes


class Kind:
    """What a server says of its Receives, and so may be sent."""

    def __init__(self, name, structure, support=rtr.TAKES_REQUEST, places=True, most=None):
        self.name, self.structure, self.support, self.places, self.most = name, structure, support, places, most

    def takes(self):
        return self.support is not None and self.support & rtr.TAKES_REQUEST

    def room(self, version, n):
        """Whether a call of SUM with an item of @n octets fits the Sends that are taken."""
        if not self.places or not self.takes() or not self.structure or not self.structure.targets:
            return False
        try:
            _, rests = rtr.transmit(version, self.structure, bytes(FIRST), [(FIRST, bytes(n))])
        except AssertionError:
            return False
        most = self.most if self.most and self.support & rtr.TAKES_CONTINUE else 1
        if version == 'early':
            most = min(MOST, early.CREDIT)
        return len(rests) <= most
