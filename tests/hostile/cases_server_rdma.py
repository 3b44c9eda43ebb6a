# SPDX-License-Identifier: BSD-2-Clause
"""Servers that access memory which was not exposed to them, or no longer is, and servers that close the connection."""
import mpa
import rdmap
import rpc
from case import table
from expect import AtServer, Closes, Other, Terminates, Then
from xdr import u32

access = table('server', 'remote access', 'v1-v2', 'v2')
leave = table('server', 'leaving', 'v1-v1', 'v1')

SIZE = 1000
CUT = Closes('to the client: closed, no reply')


def give(s):
    """Waits until the gateway reads from the client, and answers the Read. The gateway passes the call on only after that."""
    before = s.end.conn.reads_seen
    while s.end.conn.reads_seen == before:
        assert s.end.conn.step() is None


def called(s):
    """Makes a call with a Read chunk and a Write chunk of SIZE octets. Return: the message that the server got."""
    s.there, s.back = s.end.conn.expose(bytes(range(250)) * 4), s.end.conn.sink(SIZE)
    s.xid = s.end.new_xid()
    s.end.call(rpc.call(s.xid, rpc.ECHO, u32(SIZE)), [(44, s.there)], [[s.back]])
    give(s)
    m = s.server.expect_msg(s.xid)
    s.read, s.write = m.reads[0][1], m.writes[0][0]
    assert (s.read.length, s.write.length) == (SIZE, SIZE), 'the chunks of the call'
    return m


def answered(s, **how):
    """As called(), and the server answers the call validly."""
    m = called(s)
    data = rpc.echo(s.server.conn.read(s.read))
    s.server.conn.write(s.write, data)
    s.server.reply(rpc.reply(s.xid, u32(SIZE)), [[s.write]], xid=s.xid)
    s.end.expect_reply(s.xid)
    assert s.end.conn.memory(s.back) == data
    return m


def breach(name, section, sent, term, on='v1-v2', route='v2'):
    """A case whose function accesses memory. The server gets a Terminate, and the client's connection ends."""
    expect = Then(AtServer(Terminates(*term)), CUT)

    def wrap(run):
        @access('access-' + name, section, sent, expect, on=on, route=route)
        def _(s):
            run(s)
    return wrap


def request(s, seg, length, offset=0, msn=1):
    payload = rdmap.read_request(1, length, seg.handle, seg.offset + offset & (1 << 64) - 1)
    s.server.conn.ulpdu(rdmap.untagged(rdmap.READ, 1, msn, payload))


def write(s, seg, size, offset=0):
    s.server.conn.ulpdu(rdmap.tagged(rdmap.WRITE, seg.handle, seg.offset + offset & (1 << 64) - 1, bytes(size)))


for name, sent, seg, length, offset, term in (
        ('read-one-more', 'a Read of one octet more than the Read chunk', 'read', SIZE + 1, 0, (0, 1, 1)),
        ('read-behind', 'a Read of one octet behind the Read chunk', 'read', 1, SIZE, (0, 1, 1)),
        ('read-huge', 'a Read of 2^32 - 1 octets', 'read', 0xffffffff, 0, (0, 1, 1)),
        ('read-wraps', 'a Read whose offset wraps', 'read', 100, -50, (0, 1, 4)),
        ('read-far', 'a Read at offset 2^32', 'read', 1, 1 << 32, (0, 1, 1)),
        ('read-of-write', 'a Read of the Write chunk', 'write', SIZE, 0, (0, 1, 2))):
    @breach(name, 'RFC 5040 5.2', sent, term)
    def _(s, seg=seg, length=length, offset=offset):
        called(s)
        request(s, getattr(s, seg), length, offset)

for name, sent, seg, size, offset, term in (
        ('write-one-more', 'a Write of one octet more than the Write chunk', 'write', SIZE + 1, 0, (1, 1, 1)),
        ('write-behind', 'a Write of one octet behind the Write chunk', 'write', 1, SIZE, (1, 1, 1)),
        ('write-large', 'a Write of 60000 octets into 1000', 'write', 60000, 0, (1, 1, 1)),
        ('write-wraps', 'a Write whose offset wraps', 'write', 100, -50, (1, 1, 3)),
        ('write-far', 'a Write at offset 2^32', 'write', 1, 1 << 32, (1, 1, 1)),
        ('write-of-read', 'a Write into the Read chunk', 'read', SIZE, 0, (0, 1, 2))):
    @breach(name, 'RFC 5041 7.1', sent, term)
    def _(s, seg=seg, size=size, offset=offset):
        called(s)
        write(s, getattr(s, seg), size, offset)


@breach('read-unknown', 'RFC 5040 5.2', 'a Read of a handle that was never given', (0, 1, 0))
def _(s):
    called(s)
    request(s, rdmap.Seg(s.read.handle ^ 1, 10, 0), 10)


@breach('write-unknown', 'RFC 5041 7.1', 'a Write to a handle that was never given', (1, 1, 0))
def _(s):
    called(s)
    write(s, rdmap.Seg(s.write.handle ^ 1, 10, 0), 10)


@breach('read-of-client', 'RFC 5040 5.2', "a Read of the client's own handle", (0, 1, 0))
def _(s):
    called(s)
    request(s, s.there, 10)


def other_session(name, sent, term, reach):
    """A case in which the witness has a call with a Write chunk at its server. @reach accesses that chunk from another session."""
    @access('access-%s-of-another-session' % name, 'RFC 5042', sent + ' that another session was just given', Other(
        Then(AtServer(Terminates(*term)), CUT).text + '; the other session goes on'))
    def _(s):
        witness, honest = s.route.witness, s.route.honest
        called(s)
        with s.route.lock:
            witness.call(rpc.call(witness.new_xid(), rpc.HOLD), (), [[witness.conn.sink(SIZE)]])
            reach(s, honest.held.get(timeout=rdmap.TIMEOUT).writes[0][0])
            AtServer(Terminates(*term)).check(s)
            honest.release.set()
            witness.expect_reply()
            honest.release.clear()
        CUT.check(s)


other_session('read', 'a Read of a handle', (0, 1, 0), lambda s, seg: request(s, seg, 10))
other_session('write', 'a Write to a handle', (1, 1, 0), lambda s, seg: write(s, seg, 10))


@breach('read-after-reply', 'rfc5666bis-01 5.4', 'the Read chunk again, after the reply', (0, 1, 0))
def _(s):
    answered(s)
    request(s, s.read, SIZE, msn=2)


@breach('write-after-reply', 'rfc5666bis-01 5.4', 'the Write chunk again, after the reply', (1, 1, 0))
def _(s):
    answered(s)
    write(s, s.write, SIZE)


@breach('write-after-error', 'rfc5666bis-01 5.4', 'the Write chunk, after an error report', (1, 1, 0))
def _(s):
    called(s)
    s.server.error(100, xid=s.xid)
    s.end.expect_msg(s.xid)
    write(s, s.write, SIZE)


@breach('write-after-invalidate', 'RFC 5040 5.3', 'a Write to what it has itself invalidated with its reply',
        (1, 1, 0))
def _(s):
    called(s)
    write(s, s.write, SIZE)
    body = u32(1, 1) + s.write.pack() + u32(0) + rpc.reply(s.xid, u32(SIZE))
    s.server.send(u32(s.xid, 2, s.server.credit(), 13) + body, invalidate=s.write.handle)
    s.end.expect_reply(s.xid)
    write(s, s.write, SIZE)


for name, sent, handle in (('client', "the client's own handle", lambda s: s.there.handle),
                           ('unknown', 'a handle that was never given', lambda s: s.write.handle ^ 1),
                           ('zero', 'handle 0', lambda s: 0)):
    @breach('invalidate-' + name, 'RFC 5040 5.3', 'a reply by Send with Invalidate of ' + sent, (0, 1, 9))
    def _(s, handle=handle):
        called(s)
        message = u32(s.xid, 2, s.server.credit(), 13, 0) + rpc.reply(s.xid)
        s.server.send(message, invalidate=handle(s))


@breach('invalidate-twice', 'RFC 5040 5.3', 'a reply in two parts, and both invalidate its handle', (0, 1, 9))
def _(s):
    handle = called(s).inv_handle
    body = rpc.reply(s.xid, bytes(100))
    s.server.conn.raw(b''.join(
        mpa.fpdu(s.server.conn.send_ulpdu(u32(s.xid, 2, s.server.credit(), *words) + part, rdmap.SEND_INV, handle))
        for words, part in (((12, len(body) - 40), body[:40]), ((13, 0), body[40:]))))


def invalidates(name, sent, make):
    """A case whose function returns a handle, and the message that invalidates it."""
    @access('access-invalidate-' + name, 'decision 70', sent, CUT)
    def _(s):
        handle, message = make(s, called(s))
        s.server.send(message, invalidate=handle)


invalidates('by-grant', 'a GRANT that invalidates the handle which the reply may invalidate',
            lambda s, m: (m.inv_handle, u32(0, 2, s.server.credit(), 5)))
invalidates('by-error', 'an ERROR that invalidates the handle which the reply may invalidate',
            lambda s, m: (m.inv_handle, u32(s.xid, 2, s.server.credit(), 4, 100)))
invalidates('other', 'a reply that invalidates the other handle of its call',
            lambda s, m: (s.read.handle + s.write.handle - m.inv_handle,
                          u32(s.xid, 2, s.server.credit(), 13, 0) + rpc.reply(s.xid)))


@access('access-invalidate-right', '6.5', 'a reply that invalidates the handle which it may',
        Other('the RPC reply'))
def _(s):
    m = called(s)
    s.server.send(u32(s.xid, 2, s.server.credit(), 13, 0) + rpc.reply(s.xid), invalidate=m.inv_handle)
    s.end.expect_reply(s.xid)
    s.goes_on()


@breach('read-depth', 'RFC 5040 6.1', '60 Reads at once; 32 were agreed', (1, 2, 2))
def _(s):
    called(s)
    s.server.conn.raw(b''.join(
        mpa.fpdu(rdmap.untagged(rdmap.READ, 1, i + 1, rdmap.read_request(1, 0, s.read.handle)))
        for i in range(60)))
    s.server.conn.take_tagged = lambda ulpdu: None


@breach('too-long', 'RFC 5041 7.1', 'a reply of 4097 octets for a Receive of 4096', (1, 2, 5))
def _(s):
    called(s)
    s.server.send(bytes(4097))


@breach('crc', 'RFC 5044 4.4', 'a reply whose CRC is wrong', (2, 0, 2))
def _(s):
    called(s)
    s.server.conn.raw(mpa.fpdu(s.server.conn.send_ulpdu(bytes(80)), spoil=True))


@breach('crc-of-write', 'RFC 5044 4.4', 'a Write whose CRC is wrong: placed, never told', (2, 0, 2))
def _(s):
    called(s)
    s.server.conn.raw(mpa.fpdu(rdmap.tagged(rdmap.WRITE, s.write.handle, 0, bytes(SIZE)), spoil=True))


@breach('fpdu-length', 'RFC 5041 4', 'an FPDU of length 0', (2, 0, 3))
def _(s):
    called(s)
    s.server.conn.raw(bytes(40))


@breach('msn', 'RFC 5041 7.1', 'a reply with the sequence number of the one before', (1, 2, 3))
def _(s):
    answered(s)
    called(s)
    s.server.send(bytes(80), msn=1)


@breach('flood', 'RFC 5041 7.1', '60 messages at once: more than there are Receives', (1, 2, 2))
def _(s):
    called(s)
    s.server.conn.raw(b''.join(mpa.fpdu(s.server.conn.send_ulpdu(bytes(80))) for _ in range(60)))


@breach('flood-v1', 'RFC 5041 7.1', '60 messages at once: more than there are Receives, version 1', (1, 2, 2),
        on='v2-v1', route='v1')
def _(s):
    called(s)
    s.server.conn.raw(b''.join(mpa.fpdu(s.server.conn.send_ulpdu(bytes(80))) for _ in range(60)))


# --- a client that reaches for what the server was given ---


def client_breach(name, sent, term, run):
    @access('access-client-' + name, 'RFC 5042', sent, Then(
        Terminates(*term), AtServer(Closes('closed'))))
    def _(s):
        called(s)
        run(s)


client_breach('read', 'the client reads the memory that the server may read', (0, 1, 0),
              lambda s: s.end.conn.ulpdu(rdmap.untagged(
                  rdmap.READ, 1, 1, rdmap.read_request(1, 10, s.read.handle))))
client_breach('write', 'the client writes to the memory that the server may write', (1, 1, 0),
              lambda s: s.end.conn.ulpdu(rdmap.tagged(rdmap.WRITE, s.write.handle, 0, bytes(10))))
client_breach('invalidate', 'the client invalidates a handle that the server was given', (0, 1, 9),
              lambda s: s.end.send(bytes(80), invalidate=s.read.handle))


# --- leaving, with a call in flight ---

def leaving(name, sent, on='v1-v1', route='v1', slow=False, expect=None):
    def wrap(run):
        @leave('server-leaves-' + name, 'decision 63', sent, expect or CUT,
               on=on, route=route, slow=slow)
        def _(s):
            run(s)
    return wrap


def terminate(s):
    s.server.conn.ulpdu(rdmap.untagged(rdmap.TERMINATE, 2, 1, rdmap.terminate(0, 2, 0xff)))


for pair, route in (('v1-v1', 'v1'), ('v2-v2', 'v2')):
    @leaving('fin-' + pair, 'a FIN with a call in flight, %s' % pair, pair, route)
    def _(s):
        called(s)
        s.server.conn.sock.shutdown(1)

    @leaving('rst-' + pair, 'a reset with a call in flight, %s' % pair, pair, route)
    def _(s):
        called(s)
        s.server.conn.reset()

    @leaving('terminate-' + pair, 'a Terminate with a call in flight, %s' % pair, pair, route)
    def _(s):
        called(s)
        terminate(s)

    @leaving('idle-' + pair, 'a FIN between calls, %s' % pair, pair, route)
    def _(s):
        answered(s)
        s.server.conn.sock.shutdown(1)


@leaving('in-read', 'a FIN with half of its Read Response taken')
def _(s):
    called(s)
    request(s, s.read, SIZE)
    s.server.conn.octets(20)
    s.server.conn.sock.shutdown(1)


@leaving('in-write', 'a FIN in the middle of a Write')
def _(s):
    called(s)
    s.server.conn.raw(mpa.fpdu(rdmap.tagged(rdmap.WRITE, s.write.handle, 0, bytes(SIZE)))[:500])
    s.server.conn.sock.shutdown(1)


@leaving('in-reply', 'a FIN in the middle of a reply')
def _(s):
    called(s)
    s.server.conn.raw(mpa.fpdu(s.server.conn.send_ulpdu(bytes(80)))[:50])
    s.server.conn.sock.shutdown(1)


@leaving('before-reply', 'Writes all it should, then a FIN instead of the reply')
def _(s):
    called(s)
    s.server.conn.write(s.write, bytes(SIZE))
    s.server.conn.sock.shutdown(1)


@leaving('after-client', 'the client has gone; then the reply comes', expect=Other(
    'the connection to the server ends, too'))
def _(s):
    called(s)
    s.end.close()
    s.end = s.conn = None
    assert isinstance(s.server.conn.recv(), rdmap.Ended)
    s.server.reply(rpc.reply(s.xid), xid=s.xid)


@leaving('takes-no-octets', 'Reads of 20 MB altogether, and no octet is taken', 'v1-v2', 'slow-v2', True,
         Closes('after half a minute or so: closed'))
def _(s):
    seg = s.end.conn.expose(1 << 20)
    s.xid = s.end.new_xid()
    s.end.call(rpc.call(s.xid, rpc.ECHO, u32(1 << 20)), [(44, seg)])
    give(s)
    m = s.server.expect_msg(s.xid)
    for i in range(20):
        request(s, m.reads[0][1], 1 << 20, msn=i + 1)
