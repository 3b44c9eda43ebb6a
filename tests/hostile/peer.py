# SPDX-License-Identifier: BSD-2-Clause
"""Ends of RPC-over-RDMA connections that keep the rules. A case uses such an end and breaks one rule."""
import itertools
import queue
import random
import socket
import threading

import early
import mpa
import rpc
import rtr
import v1
import v2
from rdmap import TIMEOUT, Conn, Sent, read_frame
from xdr import Reader, opaque, u32


class End:
    """A connection that speaks one version: 1, 2, or 'early', the early draft of 2."""

    def __init__(self, conn, version):
        self.conn, self.version = conn, version
        self.received = 0
        self.advertised = v2.ADVERTISED
        self.limit = 1  # version 2: number of messages that the gateway has permitted in all
        self.sent = 0
        self.xids = itertools.count(random.randrange(1, 1 << 31))
        self.xid = 0
        self.inbox = []  # messages that arrived while this end waited for credit

    def new_xid(self):
        self.xid = next(self.xids) & 0xffffffff
        return self.xid

    # --- messages out ---

    def credit(self):
        return self.received + self.advertised if self.version == 2 else v1.CREDIT

    def no_credit(self):
        """Return: a credit value that permits the gateway no message, not even a GRANT (4.2.1.1).

        A peer that overruns its credits sends this value. Otherwise the gateway could process half of the messages in one turn,
        and grant more credits before the other half.
        """
        return (self.received - 1) & 0xffffffff

    def send(self, message, **how):
        self.sent += 1
        self.conn.send(message, **how)

    def send2(self, xid, htype, rest=b'', credit=None, vers=2):
        """Sends a message of version 2 with the present credit value. Waits first until the gateway's credits permit it."""
        while (self.limit - self.sent) & 0xffffffff >= 1 << 31 or self.limit == self.sent & 0xffffffff:
            self.inbox.append(self.take(grants=True))
            assert hasattr(self.inbox[-1], 'proc'), '%r instead of credit' % (self.inbox[-1],)
        credit = self.credit() if credit is None else credit
        self.send(v2.prefix(xid, htype, credit, vers) + rest)

    def call(self, body, reads=(), writes=(), reply=None, xid=None, inv=0):
        """Sends a call inline."""
        xid = self.xid if xid is None else xid
        if self.version == 1:
            self.send(v1.message(xid, body, reads, writes, reply))
        elif self.version == 'early':
            self.send(early.message(xid, body, reads, writes, reply))
        else:
            self.send2(xid, v2.CALL_INLINE, v2.call_lists(reads, writes, reply, inv) + body)

    def long_call(self, segs, reads=(), writes=(), reply=None, xid=None):
        xid = self.xid if xid is None else xid
        if self.version == 1:
            self.send(v1.long_call(xid, segs, reads, writes, reply))
        elif self.version == 'early':
            self.send(early.long_call(xid, segs, reads, writes, reply))
        else:
            self.send2(xid, v2.CALL_EXTERNAL, v2.external_lists(segs, reads, writes, reply))

    def reply(self, body, writes=(), xid=None):
        xid = self.xid if xid is None else xid
        if self.version == 1:
            self.send(v1.message(xid, body, (), writes))
        elif self.version == 'early':
            self.send(early.answer(xid, body, writes))
        else:
            self.send2(xid, v2.REPLY_INLINE, v2.write_list(writes) + body)

    def long_reply(self, reply, writes=(), xid=None):
        xid = self.xid if xid is None else xid
        if self.version == 1:
            self.send(v1.long_reply(xid, reply, writes))
        elif self.version == 'early':
            self.send(early.long_reply(xid, reply, writes))
        else:
            self.send2(xid, v2.REPLY_EXTERNAL, v2.write_list(writes) + v2.reply_chunk(reply))

    def error(self, code, *words, xid=None, vers=None):
        xid = self.xid if xid is None else xid
        vers = 1 if self.version == 1 and vers is None else 2 if vers is None else vers
        if self.version == 1:
            self.send(v1.error(xid, code, *words, vers=vers))
        elif self.version == 'early':
            self.send(early.error(xid, code, *words, vers=vers))
        else:
            self.send2(xid, v2.ERROR, u32(code, *words), vers=vers)

    def rtr(self, op, head, rest=b'', xid=None, direction=rtr.CALL):
        """Sends a message of the round-trip extension: its body @head, and the octets @rest after it."""
        xid = self.xid if xid is None else xid
        if self.version == 'early':
            self.send(early.option(xid, op, head, direction) + rest)
        else:
            self.send2(xid, rtr.HTYPES + op, head + rest)

    # --- messages in ---

    def take(self, timeout=TIMEOUT, grants=False):
        """Return: the next event. A message is parsed, and also has .invalidated and .octets."""
        while True:
            event = self.conn.recv(timeout)
            if not isinstance(event, Sent):
                return event
            self.received += 1
            vers = Reader(event.data[4:]).word()
            # An error report has the version of the message that it answers, which can be any number. Its layout does not differ.
            m = (v1 if self.version == 1 or vers != 2 else early if self.version == 'early' else v2).parse(event.data)
            m.invalidated, m.octets = event.invalidated, len(event.data)
            if self.version == 2:
                self.limit = m.credit
            if grants or self.version != 2 or m.proc != v2.GRANT:
                return m

    def recv(self, timeout=TIMEOUT):
        """Return: the next event that is no GRANT."""
        while self.inbox:
            m = self.inbox.pop(0)
            if m.proc != v2.GRANT:
                return m
        return self.take(timeout)

    def expect_msg(self, xid=None):
        event = self.recv()
        assert hasattr(event, 'proc'), '%r instead of a message' % (event,)
        if xid is not None:
            assert event.xid == xid, 'xid %08x instead of %08x: %r' % (event.xid, xid, event)
        return event

    def expect_reply(self, xid=None):
        """Return: the next message, which must be an RPC reply. Its .body is whole, also if it was continued or in a Reply chunk."""
        xid = self.xid if xid is None else xid
        m = self.expect_msg(xid)
        assert m.error is None, 'error %s instead of a reply' % (m.error,)
        body = m.body
        while self.version == 2 and m.proc == v2.REPLY_MIDDLE:
            left = m.remaining
            m = self.expect_msg(xid)
            assert len(m.body) + m.remaining == left, 'rdma_remaining does not add up'
            body += m.body
        external = v2.REPLY_EXTERNAL if self.version == 2 else v1.NOMSG
        if m.proc == external:
            body = b''.join(self.conn.memory(s)[:s.length] for s in m.reply)
        m.body = body
        r = Reader(body)
        assert [r.word() for _ in range(6)] == [xid, 1, 0, 0, 0, 0], 'an RPC reply'
        m.results = r.rest()
        return m

    def do_null(self):
        """Makes a valid NULL. Its reply must be the next message, so nothing else has come since the last one."""
        self.call(rpc.call(self.new_xid()))
        assert self.expect_reply().results == b''

    def do_echo(self, size):
        """Makes a valid ECHO: the data go in a Read chunk and come back in a Write chunk."""
        data = random.randbytes(size)
        there, back = self.conn.expose(data), self.conn.sink(size)
        xid = self.new_xid()
        body = rpc.call(xid, rpc.ECHO, u32(size))
        self.call(body, [(rpc.CALL_BYTES + 4, there)], [[back]])
        m = self.expect_reply()
        assert Reader(m.results).word() == size, 'the count of the reply'
        assert [s.length for s in m.writes[0]] == [size], 'the Write chunk of the reply'
        assert self.conn.memory(back) == rpc.echo(data), 'the data'
        for seg in (there, back):
            del self.conn.regions[seg.handle]
        return m

    # --- negotiation ---

    def negotiate(self, props=v2.PROPS):
        """Negotiates as the initiator: sends properties, and receives the gateway's."""
        self.send2(self.new_xid(), v2.PROP_FINAL, props)
        m = self.expect_msg()
        assert m.proc == v2.PROP_FINAL, '%r instead of CONNPROP_FINAL' % m
        return m

    def answer_negotiation(self, props=v2.PROPS):
        """Negotiates as the acceptor: receives the gateway's properties, and sends its own."""
        m = self.expect_msg()
        assert m.proc == v2.PROP_FINAL, '%r instead of CONNPROP_FINAL' % m
        self.send2(m.xid, v2.PROP_FINAL, props)
        return m

    def close(self):
        self.conn.close()


def dial(address, timeout=TIMEOUT):
    sock = socket.create_connection(address, timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def open_rdma(address, **frame):
    """Connects to a listener with TCP and MPA. Return: Conn, the Reply Frame."""
    sock = dial(address)
    sock.sendall(mpa.request(**frame))
    answer = read_frame(sock)
    assert answer.key == mpa.REPLY_KEY, 'the key of the Reply Frame'
    assert not answer.flags & mpa.REJECT, 'rejected'
    return Conn(sock, bool(answer.flags & mpa.CRC)), answer


def open_client(address, version, **frame):
    """Connects, and negotiates if the version has it. Return: a client that can make calls."""
    conn, answer = open_rdma(address, **frame)
    end = End(conn, version)
    end.frame = answer
    if version == 2:
        end.negotiate()
    elif version == 'early':
        end.do_null()  # by the first message the gateway tells draft -07 from the early draft
    return end


def accept_rdma(sock, timeout=TIMEOUT, **frame):
    """Completes MPA set-up on an accepted TCP connection. Return: Conn."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.settimeout(timeout)
    asked = read_frame(sock)
    assert asked.key == mpa.REQUEST_KEY, 'the key of the Request Frame'
    answer = mpa.reply(**frame)
    sock.sendall(answer)
    return Conn(sock, bool((asked.flags | answer[16]) & mpa.CRC))


class HonestServer:
    """Serves the program of rpc.py on one connection until that ends."""

    def __init__(self, sock, version, props=v2.PROPS, **frame):
        self.sock, self.version, self.props, self.frame = sock, version, props, frame
        self.end = None
        self.told = {}  # the gateway's properties
        self.held = queue.Queue()
        self.release = threading.Event()

    def run(self):
        self.end = End(accept_rdma(self.sock, **self.frame), self.version)
        if self.end.version == 2:
            self.told = self.end.answer_negotiation(self.props).props
        parts = {}
        while True:
            m = self.end.recv(timeout=None)
            if not hasattr(m, 'proc'):
                self.end.close()
                return
            if m.error is not None:
                continue
            if self.end.version == 2 and m.proc == v2.CALL_MIDDLE:
                parts[m.xid] = parts.get(m.xid, b'') + m.body
                continue
            m.body = parts.pop(m.xid, b'') + m.body
            self.answer(m)

    def answer(self, m):
        if m.call_chunk:
            m.body = b''.join(self.end.conn.read(seg) for seg in m.call_chunk)
        proc = Reader(m.body[20:]).word()
        if proc == rpc.NEVER:
            return
        if proc == rpc.HOLD:
            self.held.put(m)
            self.release.wait(TIMEOUT)
        if proc == rpc.ECHO:
            self.answer_echo(m)
        elif proc == rpc.SUM:
            self.finish(m, rpc.total(*self.arguments(m)))
        elif proc == rpc.FILL:
            self.finish(m, rpc.fill(Reader(m.body[rpc.CALL_BYTES:]).word()))
        else:
            self.finish(m, b'')

    def items(self, m):
        """Return: the data items of a call that are in Read chunks: (Position, octets)."""
        items = {}
        for position, seg in m.reads:
            items[position] = items.get(position, b'') + self.end.conn.read(seg)
        return items.items()

    def arguments(self, m):
        return rpc.arguments(m.body, self.items(m))

    def answer_echo(self, m):
        data = rpc.echo(*self.arguments(m))
        if not m.writes:
            self.finish(m, opaque(data))
            return
        seg = m.writes[0][0]
        if seg.length < len(data):
            code = [v2.ERR_WRITE_RESOURCE, 1, len(data)] if self.end.version == 2 else [v1.ERR_CHUNK]
            self.end.error(*code, xid=m.xid)
            return
        self.end.conn.write(seg, data)
        self.finish(m, u32(len(data)), [[seg._replace(length=len(data))]])

    def finish(self, m, results, writes=()):
        """Sends the reply in the first form that fits: inline, in the Reply chunk, continued. If none fits, sends an error."""
        body = rpc.reply(m.xid, results)
        if len(body) <= 3900:
            self.end.reply(body, writes, xid=m.xid)
        elif m.reply and m.reply[0].length >= len(body):
            self.end.conn.write(m.reply[0], body)
            self.end.long_reply([m.reply[0]._replace(length=len(body))], writes, xid=m.xid)
        elif self.end.version == 2:
            self.end.send2(m.xid, v2.REPLY_MIDDLE, u32(len(body) - 3900) + body[:3900])
            while len(body) > 7800:
                body = body[3900:]
                self.end.send2(m.xid, v2.REPLY_MIDDLE, u32(len(body) - 3900) + body[:3900])
            self.end.send2(m.xid, v2.REPLY_INLINE, v2.write_list(writes) + body[3900:])
        else:
            self.end.error(v1.ERR_CHUNK, xid=m.xid)


def serve(sock, version):
    """Serves one connection honestly in a new thread, which ends with the connection."""
    return attend(HonestServer(sock, version))


def attend(server):
    def run():
        try:
            server.run()
        except (EOFError, OSError):
            pass  # the session ended, which is right or wrong depending on the case
        except AssertionError as why:
            if not getattr(serve, 'over', False):
                serve.faults.append('honest server: %s' % (why,))
            if server.end:
                server.end.close()  # otherwise the client would wait for an answer
    threading.Thread(target=run, daemon=True).start()
    return server


serve.faults = []
