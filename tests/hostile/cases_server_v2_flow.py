# SPDX-License-Identifier: BSD-2-Clause
"""Servers of version 2: error reports and the errors that clients get for them, credits, reverse calls. Sections are those
of draft-07."""
import mpa
import rpc
import v1
import v2
from calls import call
from case import table
from cases_server_v2 import CUT, FAILED, right
from expect import AtServer, Closes, Other, Served, Service, Then, V2Error
from xdr import Seg, u32

errors = table('server', 'reports of version 2, translated', 'v1-v2', 'v2')
credit = table('server', 'credits of version 2', 'v1-v2', 'v2')
reverse = table('server', 'reverse direction of version 2', 'v1-v2', 'v2')


def report(name, section, sent, expect, words, on='v1-v2'):
    """A case in which the server's only answer is an ERROR of these words."""
    @errors('server-v2-' + name, section, sent, expect, on=on)
    def _(s):
        call(s)
        s.server.error(*words, xid=s.xid)


# --- every report about a call, to clients of both versions ---

for code, words in ((v2.ERR_BAD_XDR, ()), (v2.ERR_BAD_PROPVAL, ()), (v2.ERR_INVAL_CONT, ()),
                    (v2.ERR_READ_CHUNKS, (3,)), (v2.ERR_WRITE_CHUNKS, (0,)), (v2.ERR_SEGMENTS, (0xffffffff,)),
                    (v2.ERR_WRITE_RESOURCE, (1, 70000)), (v2.ERR_REPLY_RESOURCE, (0x80000000,)),
                    (v2.ERR_SYSTEM, ())):
    text = ' '.join([v2.NAMES[code], *map(str, words)])
    same = code not in (v2.ERR_BAD_XDR, v2.ERR_BAD_PROPVAL, v2.ERR_INVAL_CONT)
    to_v2 = V2Error(code, *words) if same else V2Error(v2.ERR_SYSTEM)
    for on, expect in (('v1-v2', FAILED), ('v2-v2', to_v2)):
        report('err-%d-to-%s' % (code, on[:2]), '7', '%s about the call, before a client of version %s' % (
            text, on[1]), expect, (code, *words), on)

for code, words, sent in ((v2.ERR_VERS, (3, 9), 'ERR_VERS without version 2'), (v2.ERR_VERS_MISMATCH, (),
                          'ERR_VERS_MISMATCH'), (v2.ERR_INVAL_HTYPE, (), 'ERR_INVAL_HTYPE about a CALL_INLINE')):
    report('err-%d' % code, '7.1', sent, CUT, (code, *words))

for name, sent, words in (('0', 'an ERROR with code 0', (0,)),
                          ('12', 'an ERROR with code 12', (12,)), ('last', 'an ERROR with code 2^32 - 1', (-1,))):
    @errors('server-v2-err-bad-' + name, '7', sent + ', then the right reply', Served())
    def _(s, words=words):
        call(s)
        s.server.send2(s.xid, v2.ERROR, u32(*words))
        right(s)


for name, sent, words in (('none', 'an ERROR without a code', ()),
                          ('vers-cut', 'an ERR_VERS without its range', (v2.ERR_VERS,)),
                          ('read-cut', 'an ERR_READ_CHUNKS without its number', (v2.ERR_READ_CHUNKS,)),
                          ('write-cut', 'an ERR_WRITE_RESOURCE without its length', (v2.ERR_WRITE_RESOURCE, 1))):
    @errors('server-v2-err-' + name, 'decision 88', sent, FAILED)
    def _(s, words=words):
        call(s)
        s.server.send2(s.xid, v2.ERROR, u32(*words))


@errors('server-v2-err-nothing', '7', 'ERR_SYSTEM about no call, then the right reply', Served())
def _(s):
    call(s)
    s.server.error(v2.ERR_SYSTEM, xid=s.xid ^ 0x1000)
    right(s)


@errors('server-v2-err-external', '7.1.3', 'ERR_INVAL_HTYPE about a continued call, and about the same in a Call chunk', FAILED)
def _(s):
    s.xid = s.end.new_xid()
    s.end.long_call([s.end.conn.expose(rpc.call(s.xid, rpc.NULL, bytes(6000)))])
    while not s.end.conn.reads_seen:
        assert s.end.conn.step() is None
    assert s.server.expect_msg(s.xid).proc == v2.CALL_MIDDLE
    assert s.server.expect_msg(s.xid).proc == v2.CALL_INLINE
    s.server.error(v2.ERR_INVAL_HTYPE, xid=s.xid)
    assert s.server.expect_msg(s.xid).proc == v2.CALL_EXTERNAL
    s.server.error(v2.ERR_INVAL_HTYPE, xid=s.xid)


# --- credits ---


@credit('server-v2-overrun', '4.2.1', 'two messages more than were granted: one may be (decision 83)', CUT)
def _(s):
    call(s)
    granted = (s.server.limit - s.server.sent) & 0xffffffff
    s.server.conn.raw(b''.join(mpa.fpdu(s.server.conn.send_ulpdu(
        v2.prefix(i, v2.ERROR, s.server.no_credit()) + u32(v2.ERR_SYSTEM))) for i in range(granted + 2)))


@credit('server-v2-grants', '4.2.1.1', '40 times four GRANTs and an answered call', Other('40 RPC replies'))
def _(s):
    for _ in range(40):
        call(s)
        for _ in range(4):
            s.server.send2(0, v2.GRANT)
        right(s)
        s.end.expect_reply(s.xid)


@credit('server-v2-errors', '7', '40 times three ERRORs about nothing and an answered call', Other('40 RPC replies'))
def _(s):
    for i in range(40):
        call(s)
        for code in (v2.ERR_SYSTEM, 99, v2.ERR_BAD_XDR):
            s.server.error(code, xid=i)
        right(s)
        s.end.expect_reply(s.xid)


@credit('server-v2-closed', '4.2.1', 'a credit value of what it has received; a call waits; then a GRANT',
        Other('the call does not come before the GRANT'))
def _(s):
    call(s)
    s.server.send2(s.xid, v2.REPLY_INLINE, u32(0) + rpc.reply(s.xid), credit=s.server.received)
    s.end.expect_reply(s.xid)
    s.xid = s.end.new_xid()
    s.end.call(rpc.call(s.xid))
    s.route.check_witness()  # the call would have come by now
    s.server.conn.sock.setblocking(False)
    try:
        assert not s.server.conn.sock.recv(1), 'closed'
        raise AssertionError('octets without credit')
    except BlockingIOError:
        s.server.conn.sock.setblocking(True)
    s.server.send2(0, v2.GRANT)
    s.server.expect_msg(s.xid)
    right(s)
    s.end.expect_reply(s.xid)


@credit('server-v2-behind', '4.2.1', 'a credit value 2^31 behind, then a GRANT with the right one',
        Served())
def _(s):
    call(s)
    s.server.send2(0, v2.GRANT, credit=s.server.received - 0x80000000)
    s.server.send2(0, v2.GRANT)
    right(s)


@credit('server-v2-huge', '4.2.1', 'a credit value 2^31 - 1 ahead', Served())
def _(s):
    call(s)
    s.server.send2(s.xid, v2.REPLY_INLINE, u32(0) + rpc.reply(s.xid), credit=s.server.received + 0x7fffffff)


# --- the reverse direction ---


def reverse_call(name, section, sent, words, make, on='v1-v2'):
    """A case in which the gateway answers a call of the server with an error report. The session goes on."""
    @reverse('server-v2-reverse-' + name, section, sent, Then(AtServer(V2Error(*words, goes_on=False)), Service()),
             on=on)
    def _(s):
        s.goes_on()
        s.server_xid = s.server.new_xid()
        s.server.send2(s.server_xid, *make(s.server_xid))


SEG = Seg(1, 100, 0)
for name, section, sent, words, make in (
        ('read-chunk', '7.3.1', 'a reverse call with a Read chunk, toward a client of version 1',
         (v2.ERR_READ_CHUNKS, 0), lambda x: (v2.CALL_INLINE, v2.call_lists([(40, SEG)]) + rpc.call(x))),
        ('write-chunk', '7.3.2', 'a reverse call with a Write chunk, toward a client of version 1',
         (v2.ERR_WRITE_CHUNKS, 0), lambda x: (v2.CALL_INLINE, v2.call_lists((), [[SEG]]) + rpc.call(x))),
        ('bad-xdr', '7.2.1', 'a reverse call that does not parse', (v2.ERR_BAD_XDR,),
         lambda x: (v2.CALL_INLINE, u32(0, 7))),
        ('xid', '6.3.7', 'a reverse call whose stream has another XID', (v2.ERR_BAD_XDR,),
         lambda x: (v2.CALL_INLINE, v2.call_lists() + rpc.call(x ^ 1))),
        ('mtype', '4.6.1', 'a reverse call that is a reply', (v2.ERR_BAD_XDR,),
         lambda x: (v2.CALL_INLINE, v2.call_lists() + rpc.call(x, mtype=1))),
        ('segments', '7.3.3', 'a reverse call with 33 Read chunks', (v2.ERR_READ_CHUNKS, 32),
         lambda x: (v2.CALL_INLINE, v2.call_lists([(44 + 4 * i, SEG) for i in range(33)]) + rpc.call(x))),
        ('huge', '7.4.1', 'a reverse call with a Read chunk of 2^32 - 1 octets', (v2.ERR_SYSTEM,),
         lambda x: (v2.CALL_INLINE, v2.call_lists([(40, Seg(1, 0xffffffff, 0))]) + rpc.call(x)))):
    reverse_call(name, section, sent, words, make)


@reverse('server-v2-reverse-right', '4.6.1', 'a reverse call that is right',
         Other('it comes to the client as version 1; its reply comes back'))
def _(s):
    s.goes_on()
    xid = s.server.new_xid()
    s.server.call(rpc.call(xid))
    assert s.end.expect_msg(xid).body == rpc.call(xid)
    s.end.reply(rpc.reply(xid), xid=xid)
    assert s.server.expect_reply(xid).results == b''
    s.goes_on()


@reverse('server-v2-reverse-client-cut', 'rfc5666bis-01 5.5',
         'a right reverse call; the client of version 1 reports an error without a code',
         Then(AtServer(V2Error(v2.ERR_SYSTEM, goes_on=False)), Service()))
def _(s):
    s.goes_on()
    s.server_xid = s.server.new_xid()
    s.server.call(rpc.call(s.server_xid))
    s.end.expect_msg(s.server_xid)
    s.end.send(v1.error(s.server_xid)[:16])


@reverse('server-v2-reverse-read-unknown', '4.6.4',
         'a reverse call with a Read chunk of memory that it does not know itself', Closes('closed'), on='v2-v2')
def _(s):
    s.goes_on()
    xid = s.server.new_xid()
    s.server.call(rpc.call(xid), [(40, Seg(0x4711, 100, 0))], xid=xid)
    while not s.server.conn.reads_seen:
        assert s.server.conn.step() is None


@reverse('server-v2-reverse-depth-0', '4.6.4',
         'IRD 0, then a reverse call with a Read chunk, which cannot be read',
         Then(AtServer(V2Error(v2.ERR_READ_CHUNKS, 0, goes_on=False)), Service()), on='nothing')
def _(s):
    s.knock()
    s.come(2, ird=0)
    s.enter(2)
    s.goes_on()
    s.server_xid = s.server.new_xid()
    s.server.call(rpc.call(s.server_xid), [(40, s.server.conn.expose(100))], xid=s.server_xid)


@reverse('server-v2-reverse-stalls', '4.6.4', 'a reverse call with a Read chunk, and no answer to the Read',
         Closes('after about a minute: closed'), on='v2-v2', route='slow-v2', slow=True)
def _(s):
    s.goes_on()
    s.server.conn.serves_reads = False
    xid = s.server.new_xid()
    s.server.call(rpc.call(xid), [(40, s.server.conn.expose(100))], xid=xid)
