# SPDX-License-Identifier: BSD-2-Clause
"""An end of version 2 with a personality. Sections are those of draft-07."""
import time

import draft
from draft import (BRS, CALL_EXTERNAL, CALL_INLINE, CALL_MIDDLE, CONNPROP_FINAL, CONNPROP_MIDDLE, GRANT, RBSIZ, RCSIZ,
                   REPLY_EXTERNAL, REPLY_INLINE, REPLY_MIDDLE, RSSIZ, SBSIZ)
from end import End
from link import Fault
from xdr import opaque, u32

UNKNOWN_PROPERTY = 0x7fff1234


def over(a, b):
    """a - b of counters that wrap."""
    return (a - b + (1 << 31)) % (1 << 32) - (1 << 31)


class V2End(End):
    def __init__(self, connection, who):
        super().__init__(connection, who)
        self.most_back = 6000
        self.level = draft.GENL
        self.sent = self.received = 0
        self.limit = 1          # "Received credits" (4.2.1)
        self.told = 1           # what the gateway may send
        self.heard = False
        self.latest = 0         # type of the last message that was looked at
        self.peer = dict(draft.DEFAULTS)
        self.final = None       # the gateway's properties are complete
        self.finished = False   # so are ours
        self.part = None        # of a continued message: (type, xid, octets, remaining)
        self.broken = set()     # XIDs of continued messages that were refused
        self.in_parts = False

    # --- setting up (4.3, 5, 6.3.3, 6.3.4) ---

    def start_client(self):
        self.send_props(1)
        while not self.final and self.who.props != 'none':
            self.pump()
        if self.who.props != 'none':
            self.most_back = {draft.NONE: 0, draft.SIMPLE: 100}.get(self.who.reverse, 6000)
        else:
            self.most_back = 0

    def start_server(self):
        while not self.final:
            self.pump()
        self.send_props(0)
        # 5.2.5: calls of ours have the forms that the client said it takes.
        self.level = self.peer[BRS]
        if self.level < draft.CONT:
            self.most_back = self.inline() - 128 if self.level == draft.SIMPLE else 0

    def send_props(self, xid):
        who = self.who
        props = [(SBSIZ, u32(who.sends)), (RBSIZ, u32(who.receives)), (RSSIZ, u32(who.segment)),
                 (RCSIZ, u32(who.segments)), (BRS, u32(who.reverse))]
        xid = xid and next(self.xids)
        if who.props == 'one':
            self.post(xid, CONNPROP_FINAL, draft.connprop(props))
        elif who.props == 'many':
            for prop in [(UNKNOWN_PROPERTY, opaque(b'what')), *props]:
                self.post(xid, CONNPROP_MIDDLE, draft.connprop([prop]))
            self.post(xid, CONNPROP_FINAL, draft.connprop([]))
        elif not xid:
            self.post(0, GRANT)
        self.finished = who.props != 'none'

    # --- credits (4.2.1) ---

    def value(self):
        return (self.sent if self.who.literal else self.received) + self.who.advertised

    def may_post(self):
        if not self.heard:
            return self.sent < 1  # 4.3: one, until the other end was heard
        return over(self.sent, self.limit) <= (0 if self.who.literal else -1)

    def post(self, xid, htype, rest=b'', invalidate=None):
        while not self.may_post():
            self.pump()
        self.post_now(xid, htype, rest, invalidate)
        if self.who.grants and htype in draft.MIDDLES:
            self.grant()

    def post_now(self, xid, htype, rest=b'', invalidate=None):
        if self.who.pause:
            time.sleep(self.who.pause)
        value = self.value() & 0xffffffff
        if over(value, self.told) > 0:
            self.check_arrived()
            self.told = value
        self.sent += 1
        self.link.send(draft.prefix(xid, value, htype) + rest, invalidate=invalidate)

    def check_arrived(self):
        """Nothing came that the gateway could not know to be granted: one GRANT may be beyond (4.2.1.1)."""
        self.link.drain()
        excess = over(self.link.arrived, self.told)
        granting = self.latest == GRANT or any(e.data[12:16] == u32(GRANT) for e in self.link.early)
        if excess > (1 if granting else 0):
            raise Fault('more messages than were granted: %d, %d' % (self.link.arrived, self.told))

    def grant(self):
        """4.2.1.1: one more than the window may go out."""
        if self.heard and over(self.sent, self.limit) <= 0:
            self.post_now(0, GRANT)

    def left(self):
        return over(self.told, self.received)

    def refresh(self, m, replies):
        """After @m came. @replies: what is sent for it brings the credits as well."""
        who, low = self.who, self.left() <= self.who.advertised // 2
        if who.quiet or who.strict and self.in_parts:
            return
        if m.htype == GRANT:
            low = self.left() < 1
        if who.grants and m.htype != GRANT:
            self.grant()
        elif low and not replies:
            self.grant()
            # The letter gives back one with each message, so it takes several.
            while who.literal and self.left() <= who.advertised // 2 and over(self.sent, self.limit) <= 0:
                self.grant()

    # --- out ---

    def most_in_segment(self):
        return min(self.who.segment, int(self.peer[RSSIZ]))

    def inline(self):
        return min(self.who.sends, self.peer[RBSIZ]) if self.heard else draft.FIRST_OCTETS

    def offer(self, bound, writes, wanted):
        """A Reply chunk, or None."""
        header = 16 + len(draft.reply_inline(writes))
        if self.level < draft.GENL:
            return None
        if not wanted and (bound <= self.who.offers or header + bound <= self.who.receives and self.who.offers >= 0):
            return None
        return self.link.cut(bound, self.who.pieces, self.most_in_segment(), True)

    def parts(self, length, last_header):
        """Messages that @length octets take when they are continued."""
        room, each = self.inline() - last_header, self.inline() - draft.PREFIX_OCTETS - 4
        return 1 + -(-max(0, length - room) // each)

    def may_continue(self, length, last_header):
        if length > self.who.continues:
            return False
        window = over(self.limit, self.sent)
        return not self.who.by_window or self.parts(length, last_header) <= window

    def post_parts(self, xid, middle, last, header, body, invalidate=None):
        self.in_parts = True
        each = (self.inline() - draft.PREFIX_OCTETS - 4) & ~3
        while len(body) + len(header) + draft.PREFIX_OCTETS > self.inline():
            part, body = body[:min(each, len(body) - 4)], body[min(each, len(body) - 4):]
            self.post(xid, middle, u32(len(body)) + part)
        self.post(xid, last, header + body, invalidate)
        self.in_parts = False

    def send_call(self, xid, body, reads, writes, reply):
        handles = [seg.handle for w in writes for seg in w] + [seg.handle for _, seg in reads]
        inv = handles[0] if handles and self.who.invalidates else 0
        header = draft.call_inline(inv, reads, writes, reply)
        whole = draft.PREFIX_OCTETS + len(header) + len(body)
        external = self.who.external and self.level == draft.GENL
        if not external and whole <= self.inline():
            self.post(xid, CALL_INLINE, header + body)
        elif not external and self.may_continue(len(body), draft.PREFIX_OCTETS + len(header)):
            self.post_parts(xid, CALL_MIDDLE, CALL_INLINE, header, body)
        else:
            segs = self.link.cut(body, self.who.pieces, self.most_in_segment(), False)
            self.post(xid, CALL_EXTERNAL, draft.call_external(inv, segs, reads, writes, reply))

    def send_reply(self, m, body, writes):
        header = draft.reply_inline(writes)
        whole = draft.PREFIX_OCTETS + len(header) + len(body)
        fits = m.reply and sum(seg.length for seg in m.reply) >= len(body)
        inv = m.inv_handle or None if self.who.invalidates else None
        if whole <= self.inline() and not (self.who.external and fits):
            self.post(m.xid, REPLY_INLINE, header + body, inv)
        elif fits:
            reply = self.link.place(m.reply, body)
            self.post(m.xid, REPLY_EXTERNAL, draft.reply_external(writes, reply), inv)
        elif self.may_continue(len(body), draft.PREFIX_OCTETS + len(header)):
            self.post_parts(m.xid, REPLY_MIDDLE, REPLY_INLINE, header, body, inv)
        else:
            self.report(m, 'REPLY_RESOURCE', len(body))

    def report(self, m, name, *words):
        if not self.who.silent:
            self.post(m.xid, draft.ERROR, draft.error(name, *words))

    # --- in ---

    def take(self, event):
        """The messages that are whole with @event."""
        self.check(event)
        self.received = (self.received + 1) & 0xffffffff
        try:
            m = draft.parse(event.data)
        except draft.Bad as why:
            raise Fault(str(why)) from None
        if over(self.received, self.told) > (1 if m.htype == GRANT else 0):
            raise Fault('more messages than were granted: %d, %d' % (self.received, self.told))
        self.heard, self.limit, self.latest = True, m.credit, m.htype
        whole = self.digest(m)
        self.refresh(m, replies=any(w.is_call for w in whole))
        return whole

    def check(self, event):
        most = self.who.receives if self.finished else draft.DEFAULT_OCTETS
        if self.received == 0 and not self.sent:
            most = draft.FIRST_OCTETS
        if not draft.PREFIX_OCTETS <= len(event.data) <= most:
            raise Fault('a message of %d octets where %d are taken' % (len(event.data), most))

    def digest(self, m):
        if self.part and (m.htype not in draft.MIDDLES + draft.INLINES or m.xid != self.part[1]):
            if self.who.strict or m.htype not in (GRANT, draft.ERROR):
                raise Fault('%r between the parts of %08x' % (m, self.part[1]))
        if m.htype == GRANT:
            return []
        if m.htype in draft.CONNPROPS:
            self.learn(m)
            return []
        if m.htype == draft.ERROR:
            # Of a message of ours: no call, then nothing waits for it.
            return [m] if m.xid in self.open else self.note(m)
        if m.htype in draft.MIDDLES and not self.who.reassembles:
            self.report(m, 'INVAL_HTYPE')
            return []
        if m.htype in draft.MIDDLES + draft.INLINES:
            return self.assemble(m)
        return self.accept(m)

    def note(self, m):
        self.errors[m.error[0]] += 1
        return []

    def learn(self, m):
        if self.final:
            raise Fault('properties after CONNPROP_FINAL (6.3.4)')
        for code, octets in m.props.items():
            if code in draft.DEFAULTS and len(octets) not in (0, 4):
                raise Fault('property %d has %d octets' % (code, len(octets)))
            if code in draft.DEFAULTS and octets:
                self.peer[code] = int.from_bytes(octets, 'big')
        self.final = m.htype == CONNPROP_FINAL or None

    def assemble(self, m):
        """6.3.6, 6.3.9, 6.6.2"""
        last = m.htype in draft.INLINES
        if m.xid in self.broken:
            if last:
                self.broken.discard(m.xid)
            return []
        if not self.part:
            if last:
                return self.accept(m)
            if len(m.body) + m.remaining > self.who.reassembles:
                self.broken.add(m.xid)
                self.report(m, 'INVAL_CONT')
                return []
            self.part = (m.htype, m.xid, [m.body], m.remaining)
            return []
        htype, xid, body, remaining = self.part
        if m.is_call != (htype == CALL_MIDDLE) or len(m.body) + m.remaining != remaining or bool(m.remaining) == last:
            raise Fault('%r, %d remaining, where %d were' % (m, m.remaining, remaining))
        body.append(m.body)
        self.part = None if last else (htype, xid, body, m.remaining)
        if not last:
            return []
        m.body = b''.join(body)
        return self.accept(m)

    def accept(self, m):
        """A whole message."""
        if m.body and int.from_bytes(m.body[:4], 'big') != m.xid:
            if self.who.reassembles:
                raise Fault('the XID of the header and of the payload differ')
            # The last part of a message whose first parts were refused.
            self.report(m, 'BAD_XDR')
            return []
        if m.is_call and m.segments() > self.who.segments:
            raise Fault('%d segments, %d are taken (5.2.4)' % (m.segments(), self.who.segments))
        if m.is_call and m.segments():
            longest = max(s.length for s in m.call_chunk + (m.reply or []) + [s for w in m.writes for s in w] +
                          [s for _, s in m.reads])
            if longest > (self.who.segment if self.finished else draft.DEFAULTS[RSSIZ]):
                raise Fault('a segment of %d octets (5.2.3)' % longest)
        return [m]

