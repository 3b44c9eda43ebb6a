# SPDX-License-Identifier: BSD-2-Clause
"""What ends of both versions have in common: calls out, calls in, and the program they are about."""
import collections
import itertools
import random
import zlib

from link import Fault
from xdr import Reader, Short, opaque, u32

PROGRAM, VERSION = 0x2004904a, 1
# PUT takes octets and returns their number and sum. GET(n, seed, extra) returns n octets and extra ones,
# of which the first can be placed. ECHO returns each octet inverted. CALLBACK(n) is answered
# when the server got n octets through a call of its own to the client.
NULL, PUT, GET, ECHO, CALLBACK = range(5)
CALL_OCTETS, REPLY_OCTETS = 40, 24
INVERT = bytes(255 - i for i in range(256))


class Refused(Exception):
    """The call ended in an error of the transport."""

    def __init__(self, name, words=()):
        super().__init__(name, *words)
        self.name, self.words = name, list(words)


def octets(seed, n):
    return random.Random(seed).randbytes(n)


def call_header(xid, program, proc):
    return u32(xid, 0, 2, *program, proc, 0, 0, 0, 0)


Pending = collections.namedtuple('Pending', 'xid proc args item room bound reads writes reply')


class End:
    """A connection in one version. Everything happens in the thread that uses it. What a version has to
    add: offer(), send_call(), send_reply(), report() and take()."""

    program = (PROGRAM, VERSION)    # of the calls

    def __init__(self, connection, who):
        self.link, self.who = connection, who
        self.xids = itertools.count(random.randrange(1, 1 << 31))
        self.calls = collections.deque()
        self.answers = {}
        self.open = set()       # XIDs of our calls
        self.errors = collections.Counter()     # told to us
        self.made = 0           # calls
        self.most_back = 0      # octets in a call of the server's that this end can send or take

    # --- out ---

    def begin(self, proc, args=b'', item=None, room=None, bound=0, reply_chunk=False, more_room=()):
        """A call. @item: octets in a Read chunk; @room: of a Write chunk, @more_room: of further ones; @bound:
        how long the reply can be apart from what is placed there."""
        xid = next(self.xids) & 0xffffffff
        body = call_header(xid, self.program, proc) + args
        pieces, most = self.who.pieces, self.most_in_segment()
        reads, writes = [], []
        if item is not None:
            reads = [(len(body) + 4, seg) for seg in self.link.cut(item, pieces, most, False)]
            body += u32(len(item))
        if room is not None:
            writes = [self.link.cut(room, pieces, most, True)]
            if self.who.pads and room % 4:
                writes[0].append(self.link.sink(4))
        writes += [self.link.cut(n, pieces, most, True) for n in more_room]
        reply = self.offer(bound + REPLY_OCTETS, writes, reply_chunk)
        self.made += 1
        self.open.add(xid)
        self.send_call(xid, body, reads, writes, reply)
        return Pending(xid, proc, args, item, room, bound, reads, writes, reply)

    def finish(self, p):
        """Return: what came back inline, what was placed in the first Write chunk; .placed has all."""
        m = self.wait(p.xid)
        if m.error:
            self.forget(p)
            self.errors[m.error[0]] += 1
            if m.error[0] == 'REPLY_RESOURCE' and m.error[1][0] and not p.reply:
                # 7.3.5: the Requester can reconstruct the call with more reply resources.
                return self.finish(self.begin(p.proc, p.args, p.item, p.room, m.error[1][0], True))
            raise Refused(*m.error)
        body = m.body
        if m.reply:
            body = self.link.taken(p.reply or [], m.reply)
        if len(m.writes) != len(p.writes):
            raise Fault('%d Write chunks returned for %d' % (len(m.writes), len(p.writes)))
        self.placed = [self.link.taken(segs, returned) for segs, returned in zip(p.writes, m.writes)]
        self.forget(p)
        if body[:REPLY_OCTETS] != u32(p.xid, 1, 0, 0, 0, 0):
            raise Fault('no RPC reply: %s' % body[:REPLY_OCTETS].hex())
        return body[REPLY_OCTETS:], self.placed[0] if self.placed else None

    def call(self, proc, args=b'', **how):
        return self.finish(self.begin(proc, args, **how))

    def forget(self, p):
        self.link.forget([seg for _, seg in p.reads])
        self.link.forget([seg for chunk in p.writes for seg in chunk])
        self.link.forget(p.reply or [])

    # --- in ---

    def pump(self):
        """One message."""
        for m in self.take(self.link.next()):
            if m.is_call:
                self.calls.append(m)
                continue
            if m.xid not in self.open:
                raise Fault('an answer to no call: %r' % m)
            self.open.discard(m.xid)
            self.answers[m.xid] = m

    def wait(self, xid):
        while xid not in self.answers:
            if self.calls:
                self.answer(self.calls.popleft())
            else:
                self.pump()
        return self.answers.pop(xid)

    def serve(self):
        """Until the connection ends."""
        while True:
            while not self.calls:
                self.pump()
            self.answer(self.calls.popleft())

    def answer(self, m):
        body = self.link.fetch(m.call_chunk) if m.call_chunk else m.body
        try:
            r = Reader(body)
            xid, mtype, rpcvers, prog, vers, proc = (r.word() for _ in range(6))
            if (xid, mtype, rpcvers, prog, vers) != (m.xid, 0, 2, PROGRAM, VERSION):
                raise Fault('no RPC call: %s' % body[:24].hex())
            r.take(16)
            if m.reads:
                if any(position != len(body) for position, _ in m.reads):
                    raise Fault('a Read chunk at %s of %d' % (m.reads, len(body)))
                data = self.link.fetch([seg for _, seg in m.reads])
                r = Reader(body + data + bytes(-len(data) % 4))
                r.take(CALL_OCTETS)
            head, data, tail = self.perform(proc, r)
            r.data[r.at:] and self.fault('octets behind the arguments')
        except Short as why:
            raise Fault('a call cut short: %s' % why) from None
        head = u32(m.xid, 1, 0, 0, 0, 0) + head
        if data is None:
            self.send_reply(m, head, [segs_emptied(w) for w in m.writes])
        elif not m.writes:
            self.send_reply(m, head + opaque(data) + tail, [])
        elif sum(s.length for s in m.writes[0]) < len(data):
            self.report(m, 'WRITE_RESOURCE', 1, len(data))
        else:
            self.send_reply(m, head + u32(len(data)) + tail, [self.link.place(m.writes[0], data)])

    @staticmethod
    def fault(what):
        raise Fault(what)

    def perform(self, proc, r):
        """Return: results before the data, the data that can be placed or None, results behind it."""
        if proc == PUT:
            data = r.opaque()
            return u32(len(data), zlib.crc32(data)), None, b''
        if proc == GET:
            n, seed, extra = r.word(), r.word(), r.word()
            return b'', octets(seed, n), opaque(octets(seed + 1, extra))
        if proc == ECHO:
            return b'', r.opaque().translate(INVERT), b''
        if proc == CALLBACK:
            return u32(self.call_back(r.word())), None, b''
        return b'', None, b''

    def call_back(self, n):
        """Return: 0 it was answered right, 1 it was refused."""
        data = octets(n, n)
        try:
            results, _ = self.call(PUT, opaque(data), bound=8)
        except Refused:
            return 1
        if results != u32(n, zlib.crc32(data)):
            raise Fault('a wrong answer to a call of the server')
        return 0


def segs_emptied(segs):
    return [seg._replace(length=0) for seg in segs]

