# SPDX-License-Identifier: BSD-2-Clause
"""An end of the early draft of version 2, with a personality. Sections without a document are those of
draft-cel-nfsv4-rpcrdma-version-two-01; what it leaves to version 1 is as RFC 8166 and RFC 8167 have it."""
import time

import early_draft as draft
from early_draft import CALL, ERROR, MSG, NOMSG, OPTIONAL, REPLY
from end import End
from link import Fault
from xdr import u32

SEGMENTS = 16       # in one message, as version 1's implementations take them
OPTTYPE = 0x7e57    # of no document


class EarlyEnd(End):
    def __init__(self, connection, who):
        super().__init__(connection, who)
        self.most_back = 2048
        self.granted = 1        # calls of ours (5)
        self.spoken = False     # the first call was answered
        self.is_client = False
        self.owed = set()       # XIDs of calls of the gateway that were not answered
        self.asked = set()      # XIDs of options
        self.refused = 0        # options that were

    def start_client(self):
        self.is_client = True

    def start_server(self):
        pass

    # --- out ---

    def most_in_segment(self):
        return 1 << 30

    def inline(self):
        """5: the end that connects begins with a short message. The end that answers MUST receive 4096 octets (2.3), so
        its answer may be as long as any."""
        return draft.FIRST_OCTETS if self.is_client and not self.spoken else draft.INLINE_OCTETS

    def offer(self, bound, writes, wanted):
        """A Reply chunk, or None."""
        header = 16 + len(draft.chunks(REPLY, (), writes))
        if not self.is_client or not wanted and self.who.offers >= 0 and header + bound <= draft.INLINE_OCTETS:
            return None
        return self.link.cut(bound, self.who.pieces, self.most_in_segment(), True)

    def post(self, xid, credit, proc, rest):
        if self.who.pause:
            time.sleep(self.who.pause)
        message = draft.fixed(xid, credit, proc) + rest
        assert len(message) <= self.inline(), 'a message of %d octets' % len(message)
        self.link.send(message)

    def send_call(self, xid, body, reads, writes, reply):
        self.open.discard(xid)
        self.try_option()
        while len(self.open) >= self.granted:
            self.pump()
        self.open.add(xid)
        lists = draft.chunks(CALL, reads, writes, reply)
        external = self.who.external and self.is_client
        if not external and 16 + len(lists) + len(body) <= self.inline():
            self.post(xid, 32, MSG, lists + body)
        else:
            zero = [(0, seg) for seg in self.link.cut(body, self.who.pieces, self.most_in_segment(), False)]
            self.post(xid, 32, NOMSG, draft.chunks(CALL, zero + list(reads), writes, reply))

    def send_reply(self, m, body, writes):
        self.try_option()
        lists = draft.chunks(REPLY, (), writes)
        fits = m.reply and sum(seg.length for seg in m.reply) >= len(body)
        if 16 + len(lists) + len(body) <= self.inline() and not (self.who.external and fits):
            proc, rest = MSG, lists + body
        elif fits:
            proc, rest = NOMSG, draft.chunks(REPLY, (), writes, self.link.place(m.reply, body))
        else:
            self.report(m)
            return
        self.owed.remove(m.xid)
        self.spoken = True
        self.post(m.xid, self.who.advertised, proc, rest)

    def report(self, m, *_):
        """4.2.3: as ERR_CHUNK in version 1."""
        self.owed.remove(m.xid)
        self.post(m.xid, self.who.advertised, ERROR, draft.error('BAD_HEADER'))

    def try_option(self):
        """3.1, by its refusal; only while nothing else is under way from here that takes a Receive."""
        if not self.who.options or not self.spoken or self.open:
            return
        xid = next(self.xids) & 0xffffffff
        self.asked.add(xid)
        # 4.2.2: without a payload a Requester says CALL, and a Responder REPLY.
        direction = CALL if self.is_client else REPLY
        self.post(xid, 32, OPTIONAL, draft.optional(direction, OPTTYPE, bytes(self.refused % 7)))
        while self.asked:
            self.pump()

    # --- in ---

    def take(self, event):
        self.check(event)
        try:
            m = draft.parse(event.data)
        except draft.Bad as why:
            raise Fault(str(why)) from None
        if m.option:
            raise Fault('an option, and none is known: %r' % m)
        if m.error and m.error[0] == 'INVAL_OPTION':
            if m.xid not in self.asked:
                raise Fault('INVAL_OPTION about no option: %r' % m)
            self.asked.remove(m.xid)
            self.refused += 1
            return []
        if m.is_call:
            return self.take_call(m)
        if not m.error and self.is_client:
            self.spoken = True
        # 5: only what is no error tells how many are taken.
        if self.spoken:
            self.granted = m.credit
        m.reply = m.reply if m.proc == NOMSG else None
        return [m]

    def check(self, event):
        most = draft.INLINE_OCTETS if self.spoken or self.is_client else draft.FIRST_OCTETS  # 2.3, 5
        if not 20 <= len(event.data) <= most:
            raise Fault('a message of %d octets where %d are taken' % (len(event.data), most))
        if event.invalidated is not None:
            raise Fault('a handle was invalidated')

    def take_call(self, m):
        if m.xid in self.owed:
            raise Fault('a call again: %r' % m)
        if self.is_client and (m.reads or m.writes or m.reply or m.call_chunk):
            raise Fault('a backward call with chunks (4.2.2, RFC 8167): %r' % m)
        if m.segments() > SEGMENTS:
            raise Fault('%d segments' % m.segments())
        self.owed.add(m.xid)
        # 5: one, until a reply has told the number.
        most = self.who.advertised if self.spoken else 1
        if len(self.owed) > most:
            raise Fault('%d calls unanswered, %d were granted' % (len(self.owed), most))
        return [m]
