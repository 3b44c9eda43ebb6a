# SPDX-License-Identifier: BSD-2-Clause
"""An end of version 1, for the gateway's other side."""
import v1
from end import End
from link import Fault
from xdr import Reader

INLINE = 4096  # both directions, as RFC 8797 private data of ours says
SEGMENT = 1 << 20   # no client of version 1 has longer ones
ERRORS = {1: 'ERR_VERS', 2: 'ERR_CHUNK'}


class V1End(End):
    def __init__(self, connection, who):
        super().__init__(connection, who)
        self.granted, self.most_back = 1, 2048

    def start_client(self):
        pass

    def start_server(self):
        pass

    def most_in_segment(self):
        return SEGMENT

    def offer(self, bound, writes, wanted):
        if not wanted and bound + 28 + sum(8 + 16 * len(w) for w in writes) <= INLINE:
            return None
        return self.link.cut(bound, 1, SEGMENT, True)

    def send_call(self, xid, body, reads, writes, reply):
        while len(self.open) > self.granted:
            self.pump()
        message = v1.message(xid, body, reads, writes, reply)
        if len(message) > INLINE:
            message = v1.long_call(xid, self.link.cut(body, self.who.pieces, SEGMENT, False), reads, writes, reply)
        self.link.send(message)

    def send_reply(self, m, body, writes):
        message = v1.message(m.xid, body, (), writes)
        if len(message) > INLINE:
            if not m.reply or sum(s.length for s in m.reply) < len(body):
                self.report(m, 'ERR_CHUNK')
                return
            message = v1.long_reply(m.xid, self.link.place(m.reply, body), writes)
        self.link.send(message)

    def report(self, m, *_):
        self.link.send(v1.error(m.xid, v1.ERR_CHUNK))

    def take(self, event):
        m = v1.parse(event.data)
        if len(event.data) > INLINE or m.vers != 1:
            raise Fault('%d octets of version %d' % (len(event.data), m.vers))
        m.is_call = m.error is None and (bool(m.call_chunk) or len(m.body) >= 8 and Reader(m.body[4:]).word() == 0)
        if m.error:
            m.error = (ERRORS.get(m.error[0], '?'), m.error[1:])
        if not m.is_call:
            self.granted = max(m.credit, 1)
        m.reply = None if not m.is_call and m.proc == v1.MSG else m.reply
        return [m]
