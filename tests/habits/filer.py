# SPDX-License-Identifier: BSD-2-Clause
"""A file server of version 1 that keeps the rules, or has habits that were seen in NFS-Ganesha 6.5. Sections
are those of draft-ietf-nfsv4-rfc5666bis-01."""
import struct

import link
import nfs
import v1
from xdr import Reader, Seg, u32

HABITS = {
    'reply-chunk-wins': 'given a Write and a Reply chunk: no Write list, the data in the Reply chunk (5.2.2)',
    'cuts': 'a reply longer than its Reply chunk is cut to it in silence (5.5: RDMA_ERROR)',
    'no-pdata': 'no private data: takes 1024 octets inline',
    'long-inline': 'sends up to 30000 octets inline, whatever the threshold',
    'malformed': 'a READ that was given no chunk and does not fit inline: a Send that does not parse',
    'any-reply-chunk': 'uses every Reply chunk, even for 228 octets',
    'odd-length': 'an odd number of octets placed is written and told as one more',
    'rounds-down': 'of 1,048,575 octets placed the last three are left out, and the count in the results has them',
    'one-write': 'two Write chunks in a call: no answer',
    'error-for-error': 'RDMA_ERROR is answered with RDMA_ERROR; RDMA_MSGP and RDMA_DONE are refused',
    'odd-pieces': 'a Position-Zero Read chunk in pieces that are no multiple of four: GARBAGE_ARGS',
    'no-mismatch': 'RPC version 3 is not answered',
    'segment-limit': 'dies of a segment longer than 1 MiB (asserts of ntirpc)',
    'reply-limit': 'dies of a Reply chunk longer than 1 MiB (assert of ntirpc)',
    'count-limit': 'dies of a segment of a READ\'s Write chunk that is longer than the count, rounded up to four',
}
ALL = frozenset(HABITS)
GARBAGE_ARGS = 4
MIB = 1 << 20
NOTHING = Seg(0, 0, 0)


class Died(Exception):
    """The server is no more."""


class Filer:
    """One connection. @offers: a list for what came with each READ: its count, lengths of the segments of its Write
    chunks, of its Reply chunk."""

    def __init__(self, sock, habits, offers=None):
        self.habits, self.offers = habits, offers
        bare = 'no-pdata' in habits
        self.link = link.welcome(sock, b'') if bare else link.welcome(sock)
        self.takes = self.sends = 1024 if bare else 4096
        if 'long-inline' in habits:
            self.sends = 30000

    def serve(self):
        while True:
            event = self.link.next()
            assert len(event.data) <= self.takes, '%d octets inline' % len(event.data)
            proc = Reader(event.data[12:]).word()
            if proc in (v1.ERROR, v1.DONE, v1.MSGP):
                if 'error-for-error' in self.habits:
                    self.fail(Reader(event.data).word())
                continue
            self.answer(v1.parse(event.data))

    def fail(self, xid):
        self.link.send(v1.error(xid))

    def answer(self, m):
        self.survive(m)
        body = m.body
        if m.call_chunk:
            body = self.link.fetch(m.call_chunk)
            if 'odd-pieces' in self.habits and any(s.length % 4 for s in m.call_chunk[:-1]):
                self.send(m, u32(m.xid, 1, 0, 0, 0, GARBAGE_ARGS), [])
                return
        r = Reader(body)
        xid, mtype, rpcvers, prog, vers, proc = (r.word() for _ in range(6))
        assert (xid, mtype) == (m.xid, 0), 'no RPC call'
        if rpcvers != 2:
            if 'no-mismatch' not in self.habits:
                self.send(m, u32(m.xid, 1, 1, 0, 2, 2), [])
            return
        for _ in range(2):  # credential and verifier
            r.word()
            r.opaque()
        if 'one-write' in self.habits and len(m.writes) > 1:
            return
        self.respond(m, nfs.serve(prog, vers, proc, r))

    def survive(self, m):
        chunks = [[s for _, s in m.reads], m.call_chunk or [], m.reply or [], *m.writes]
        longest = max(s.length for chunk in [[NOTHING], *chunks] for s in chunk)
        if 'segment-limit' in self.habits and longest > MIB:
            raise Died('a segment of %d octets' % longest)
        room = sum(s.length for s in m.reply or [])
        if 'reply-limit' in self.habits and room > MIB:
            raise Died('a Reply chunk of %d octets' % room)

    def note_offer(self, m, items):
        for item, chunk in zip(items, m.writes):
            longest = max((s.length for s in chunk), default=0)
            if 'count-limit' in self.habits and longest > item.count + -item.count % 4:
                raise Died('a segment of %d octets for a READ of %d' % (longest, item.count))
        if self.offers is not None and items:
            self.offers.append((items[0].count, [[s.length for s in chunk] for chunk in m.writes],
                                [s.length for s in m.reply or []]))

    def respond(self, m, results):
        items = [part for part in results if isinstance(part, nfs.Data)]
        self.note_offer(m, items)
        header = u32(m.xid, 1, 0, 0, 0, 0)
        if m.writes and m.reply and 'reply-chunk-wins' in self.habits:
            self.send(m, header + nfs.stream(results, 0), [])
            return
        if any(sum(s.length for s in chunk) < len(data) for chunk, data in zip(m.writes, items)):
            self.fail(m.xid)
            return
        writes = [self.place(chunk, data) for chunk, data in zip(m.writes, items)]
        writes += [[s._replace(length=0) for s in chunk] for chunk in m.writes[len(items):]]
        reduced = min(len(items), len(m.writes))
        unplaced = len(items) - reduced
        self.send(m, header + nfs.stream(results, reduced), writes, unplaced)

    def place(self, chunk, data):
        room = sum(s.length for s in chunk)
        if 'rounds-down' in self.habits and len(data) == MIB - 1:
            data = data[:-3]
        if 'odd-length' in self.habits and len(data) % 2 and len(data) < room:
            data += b'\0'
        return self.link.place(chunk, data)

    def send(self, m, body, writes, unplaced=0):
        message = v1.message(m.xid, body, (), writes)
        long = len(message) > self.sends
        if m.reply is not None and (long or 'any-reply-chunk' in self.habits or not writes and m.writes):
            self.send_in_chunk(m, body, writes)
        elif not long:
            self.link.send(message)
        elif 'malformed' in self.habits and unplaced:
            self.link.send(v1.prefix(m.xid) + struct.pack('>II', 0, 7) + body[:1000])
        else:
            self.fail(m.xid)

    def send_in_chunk(self, m, body, writes):
        room = sum(s.length for s in m.reply)
        if len(body) > room and 'cuts' not in self.habits:
            self.fail(m.xid)
            return
        self.link.send(v1.long_reply(m.xid, self.link.place(m.reply, body[:room]), writes))
