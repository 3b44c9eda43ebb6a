# SPDX-License-Identifier: BSD-2-Clause
"""Clients of version 2 that send valid messages at the wrong time: continuation, credits, errors, directions.
Sections are those of draft-07."""
import mpa
import rpc
import v2
from case import table
from expect import Closes, Other, Served, Service, Then, V2Error
from xdr import u32

cont = table('client', 'continuation', 'v2', 'to-v1')
credit = table('client', 'credits', 'v2', 'to-v1')
errors = table('client', 'errors', 'v2', 'to-v1')

CONT = V2Error(v2.ERR_INVAL_CONT)
BAD_XDR = V2Error(v2.ERR_BAD_XDR)


def case(rule, name, section, sent, expect, **how):
    """As @rule. Each case has a new XID, in .xid."""
    def wrap(run):
        @rule(name, section, sent, expect, **how)
        def _(s):
            s.xid = s.broken = s.end.new_xid()
            run(s)
    return wrap


# --- continuation ---

SIZE = 2000  # of the stream that is cut


def body(s, size=SIZE):
    """Return: a call of @size octets."""
    return rpc.call(s.xid, rpc.NULL, bytes(size - rpc.CALL_BYTES))


def middle(s, data, remaining, xid=None):
    s.end.send2(s.xid if xid is None else xid, v2.CALL_MIDDLE, u32(remaining) + data)


def last(s, data, xid=None):
    s.end.send2(s.xid if xid is None else xid, v2.CALL_INLINE, v2.call_lists() + data)


@case(cont, 'cont-right', '6.3.6', 'a call in three parts', Served())
def _(s):
    middle(s, body(s)[:800], SIZE - 800)
    middle(s, body(s)[800:1600], SIZE - 1600)
    last(s, body(s)[1600:])


@case(cont, 'cont-words', '6.3.6', 'a call of 48 octets in parts of one word', Served())
def _(s):
    call = body(s, 48)
    for at in range(0, 44, 4):
        middle(s, call[at:at + 4], 44 - at)
    last(s, call[44:])


@case(cont, 'cont-odd', '6.3.6', 'a call cut at an odd octet', Served())
def _(s):
    middle(s, body(s)[:777], SIZE - 777)
    last(s, body(s)[777:])


@case(cont, 'cont-cut', '7.2.1', 'a CALL_MIDDLE that ends after its prefix', BAD_XDR)
def _(s):
    s.end.send2(s.xid, v2.CALL_MIDDLE)


@case(cont, 'cont-no-payload', '7.2.1', 'a CALL_MIDDLE without payload', BAD_XDR)
def _(s):
    middle(s, b'', 100)


@case(cont, 'cont-xid', '6.3.6', 'a CALL_MIDDLE whose stream has another XID', BAD_XDR)
def _(s):
    middle(s, rpc.call(s.xid ^ 1), 100)


@case(cont, 'cont-remaining-0', '7.1.4', 'a CALL_MIDDLE with nothing remaining', CONT)
def _(s):
    middle(s, body(s), 0)


for name, remaining in (('max', (1 << 20) + 1), ('31', 0x7fffffff), ('32', 0xffffffff)):
    @case(cont, 'cont-remaining-' + name, '7.1.4', 'a CALL_MIDDLE with %d octets remaining, above max_payload' %
          remaining, CONT)
    def _(s, remaining=remaining):
        middle(s, body(s), remaining)


for name, sent, remaining in (('same', 'does not fall', SIZE - 800), ('rises', 'rises', SIZE),
                              ('falls-more', 'falls by more than the part brings', SIZE - 1700),
                              ('falls-less', 'falls by less than the part brings', SIZE - 1500),
                              ('zero', 'falls to nothing before the last part', 0)):
    @case(cont, 'cont-second-' + name, '7.1.4', 'a second CALL_MIDDLE whose rdma_remaining ' + sent, CONT)
    def _(s, remaining=remaining):
        middle(s, body(s)[:800], SIZE - 800)
        middle(s, body(s)[800:1600], remaining)


for name, sent, data in (('short', 'one word short', slice(800, SIZE - 4)),
                         ('empty', 'of one word, where 1200 octets are due', slice(SIZE - 4, SIZE))):
    @case(cont, 'cont-last-' + name, '7.1.4', 'a last part ' + sent, CONT)
    def _(s, data=data):
        middle(s, body(s)[:800], SIZE - 800)
        last(s, body(s)[data])


@case(cont, 'cont-last-long', '7.1.4', 'a last part one word too long', CONT)
def _(s):
    middle(s, body(s)[:800], SIZE - 800)
    last(s, body(s)[800:] + bytes(4))


@case(cont, 'cont-middle-takes-all', '7.1.4', 'a second CALL_MIDDLE that brings all that remains', CONT)
def _(s):
    middle(s, body(s)[:800], SIZE - 800)
    middle(s, body(s)[800:], 4)


@case(cont, 'cont-later-parts', '7.1.4', 'after a part that is refused, two more and the last', CONT)
def _(s):
    middle(s, body(s)[:800], SIZE - 800)
    middle(s, body(s)[800:1600], 7)
    middle(s, body(s)[1600:1800], 200)
    last(s, body(s)[1800:])


def intrude(name, sent, expect, send):
    """A case in which @send sends something, with the XID .xid, between the parts of the continued call .broken."""
    @cont('cont-intruder-' + name, '6.3.6', 'between two parts of a call: ' + sent, expect)
    def _(s):
        s.xid = s.broken = s.end.new_xid()
        middle(s, body(s)[:800], SIZE - 800)
        s.xid = s.end.new_xid()
        send(s)
        last(s, bytes(1200), s.broken)


BOTH = Then(V2Error(v2.ERR_INVAL_CONT, goes_on=False), V2Error(v2.ERR_INVAL_CONT, about='broken'))

intrude('inline', 'another call', BOTH, lambda s: s.end.call(rpc.call(s.xid)))
intrude('external', 'a CALL_EXTERNAL', BOTH, lambda s: s.end.long_call([s.conn.expose(rpc.call(s.xid))]))
intrude('middle', 'a part of another call', BOTH, lambda s: middle(s, body(s)[:800], SIZE - 800))
intrude('reply', 'a Reply', BOTH, lambda s: s.end.reply(rpc.reply(s.xid)))
intrude('reply-middle', 'a part of a Reply', BOTH,
        lambda s: s.end.send2(s.xid, v2.REPLY_MIDDLE, u32(100) + rpc.reply(s.xid)))
intrude('same-reply', 'a Reply with the same XID', CONT,
        lambda s: (setattr(s, 'xid', s.broken), s.end.reply(rpc.reply(s.xid), xid=s.xid)))
intrude('same-external', 'a CALL_EXTERNAL with the same XID', CONT,
        lambda s: (setattr(s, 'xid', s.broken), s.end.long_call([s.conn.expose(rpc.call(s.xid))], xid=s.xid)))
intrude('connprop', 'properties', BOTH, lambda s: s.end.send2(s.xid, v2.PROP_FINAL, v2.PROPS))
intrude('connprop-middle', 'a CONNPROP_MIDDLE', BOTH, lambda s: s.end.send2(s.xid, v2.PROP_MIDDLE, v2.PROPS))
intrude('unknown', 'a type that does not exist',
        Then(V2Error(v2.ERR_INVAL_HTYPE, goes_on=False), V2Error(v2.ERR_INVAL_CONT, about='broken')),
        lambda s: s.end.send2(s.xid, 99))


for name, sent, send in (
        ('grant', 'a GRANT', lambda s: s.end.send2(0, v2.GRANT)),
        ('error', 'an ERROR about nothing', lambda s: s.end.error(v2.ERR_SYSTEM, xid=5)),
        ('short', 'a message of 15 octets', lambda s: s.end.send(bytes(15)))):
    @case(cont, 'cont-between-' + name, '6.3.6', 'between two parts of a call: %s, which carries nothing' % sent,
          Served())
    def _(s, send=send):
        middle(s, body(s)[:800], SIZE - 800)
        send(s)
        last(s, body(s)[800:])


@case(cont, 'cont-version-between', '7.1.1', 'between two parts of a call: a message of version 3',
      Then(V2Error(v2.ERR_VERS, 1, 2, vers=3, about='intruder', goes_on=False), Served()))
def _(s):
    middle(s, body(s)[:800], SIZE - 800)
    s.intruder = s.end.new_xid()
    s.end.send2(s.intruder, v2.CALL_INLINE, vers=3)
    last(s, body(s)[800:])


@case(cont, 'cont-xid-in-flight', 'decision 57', 'a continued call with the XID of one that the server has', Service(),
      route='to-v2')
def _(s):
    s.end.call(rpc.call(s.xid, rpc.NEVER))
    middle(s, body(s)[:800], SIZE - 800)
    last(s, body(s)[800:])


@case(cont, 'cont-reply-unasked', 'decision 60', 'a Reply in two parts to nothing', Closes())
def _(s):
    reply = rpc.reply(s.xid, bytes(100))
    s.end.send2(s.xid, v2.REPLY_MIDDLE, u32(len(reply) - 40) + reply[:40])
    s.end.send2(s.xid, v2.REPLY_INLINE, u32(0) + reply[40:])


@case(cont, 'cont-never-ends', 'decision 61', 'half of a continued call, and no more',
      Closes('after about a minute: closed'), slow=True)
def _(s):
    middle(s, body(s)[:800], SIZE - 800)


# --- credits ---

@case(credit, 'credit-overrun', '4.2.1', 'two calls more than were granted: one may be (decision 83)', Closes())
def _(s):
    s.end.do_null()
    granted = (s.end.limit - s.end.sent) & 0xffffffff
    data = b''
    for _ in range(granted + 2):
        xid = s.end.new_xid()
        data += fpdu(s, v2.prefix(xid, v2.CALL_INLINE, s.end.no_credit()) + v2.call_lists() + rpc.call(xid, rpc.NEVER))
    s.conn.raw(data)
    skip_messages(s)


@case(credit, 'credit-overrun-grants', '4.2.1.1', 'GRANTs, two more than messages were granted: one may be', Closes())
def _(s):
    s.end.do_null()
    granted = (s.end.limit - s.end.sent) & 0xffffffff
    s.conn.raw(b''.join(fpdu(s, v2.prefix(0, v2.GRANT, s.end.no_credit())) for _ in range(granted + 2)))
    skip_messages(s)


@case(credit, 'credit-overrun-first', '4.3', 'four messages before the first answer; one may be, and one more (decision 83)',
      Closes(), on='v2-first')
def _(s):
    data = fpdu(s, v2.prefix(1, v2.PROP_FINAL, 0) + v2.PROPS)
    for xid in (2, 3, 4):
        data += fpdu(s, v2.prefix(xid, v2.CALL_INLINE, 0) + v2.call_lists() + rpc.call(xid))
    s.conn.raw(data)
    skip_messages(s)


def fpdu(s, message):
    return mpa.fpdu(s.conn.send_ulpdu(message))


def skip_messages(s):
    """Skips messages up to the end of the connection. The case does not check them."""
    real = s.conn.recv

    def recv(timeout=60):
        while True:
            event = real(timeout)
            if not hasattr(event, 'data'):
                return event
    s.conn.recv = recv


def null_with(s, value):
    xid = s.end.new_xid()
    s.end.send2(xid, v2.CALL_INLINE, v2.call_lists() + rpc.call(xid), credit=value)
    return xid


@case(credit, 'credit-falls', '4.2.1', 'a credit value below the one before, above what was sent',
      Service())
def _(s):
    s.xid = null_with(s, s.end.received + 1000)
    s.end.expect_reply(s.xid)
    s.end.send2(0, v2.GRANT, credit=s.end.received + 5)


@case(credit, 'credit-huge', '4.2.1', 'a credit value 2^31 - 1 ahead', Service())
def _(s):
    s.xid = null_with(s, s.end.received + 0x7fffffff)
    s.end.expect_reply(s.xid)


@case(credit, 'credit-closed', '4.2.1',
      'a credit value of what it has received: nothing may be sent; then a GRANT', Other(
          'nothing until the GRANT, then the RPC reply'))
def _(s):
    s.end.do_null()
    s.xid = null_with(s, s.end.received)
    s.end.send2(s.end.new_xid(), v2.ERROR, u32(v2.ERR_SYSTEM), credit=s.end.received)
    s.route.check_witness()  # the reply would have come by now
    s.conn.sock.setblocking(False)
    try:
        assert not s.conn.sock.recv(1), 'closed'
        raise AssertionError('octets without credit')
    except BlockingIOError:
        s.conn.sock.setblocking(True)
    s.end.send2(0, v2.GRANT)
    s.end.expect_reply(s.xid)
    s.end.do_null()


@case(credit, 'credit-behind', '4.2.1', 'a credit value of 2^31 behind, then one that is right', Served())
def _(s):
    s.end.do_null()
    s.xid = null_with(s, s.end.received - 0x80000000)
    s.end.send2(0, v2.GRANT)


@case(credit, 'credit-in-short', '7', 'a message of 12 octets with a credit value of 0', Service())
def _(s):
    s.end.send(v2.prefix(5, v2.GRANT, 0)[:12])


@case(credit, 'credit-of-other-version', '7.1.1', 'a credit value of 0 in a message of version 3',
      V2Error(v2.ERR_VERS, 1, 2, vers=3))
def _(s):
    s.end.send2(s.xid, v2.CALL_INLINE, credit=0, vers=3)


@case(credit, 'credit-grants', '4.2.1.1', '300 GRANTs, within what is granted', Service())
def _(s):
    for _ in range(60):
        for _ in range(5):
            s.end.send2(0, v2.GRANT)
        s.end.do_null()


@case(credit, 'credit-takes-no-replies', 'decision 61', 'four calls, and no credit for their replies',
      Closes('after about a minute: closed'), slow=True)
def _(s):
    s.end.do_null()
    value = s.end.received
    for _ in range(4):
        null_with(s, value)


@case(credit, 'xid-twice', 'decision 57', 'the same call again while the server has it', Service(),
      route='to-v2')
def _(s):
    for _ in range(2):
        s.end.call(rpc.call(s.xid, rpc.NEVER))


# --- errors nobody asked for ---

def unasked(name, sent, words, expect=None):
    @case(errors, 'error-' + name, '7', sent, expect or Service())
    def _(s):
        s.end.send2(0x5555, v2.ERROR, u32(*words))


unasked('none', 'an ERROR without a code', [])
unasked('code-0', 'an ERROR with code 0', [0])
unasked('code-12', 'an ERROR with code 12, which is none', [12])
unasked('code-last', 'an ERROR with code 2^32 - 1', [-1])
unasked('bad-xdr', 'ERR_BAD_XDR about nothing', [v2.ERR_BAD_XDR])
unasked('propval', 'ERR_BAD_PROPVAL about nothing', [v2.ERR_BAD_PROPVAL])
unasked('cont', 'ERR_INVAL_CONT about nothing', [v2.ERR_INVAL_CONT])
unasked('read-chunks', 'ERR_READ_CHUNKS about nothing', [v2.ERR_READ_CHUNKS, 9])
unasked('read-chunks-cut', 'ERR_READ_CHUNKS without its number', [v2.ERR_READ_CHUNKS])
unasked('write-resource', 'ERR_WRITE_RESOURCE about nothing', [v2.ERR_WRITE_RESOURCE, 7, -1])
unasked('write-resource-cut', 'ERR_WRITE_RESOURCE without its length', [v2.ERR_WRITE_RESOURCE, 7])
unasked('system', 'ERR_SYSTEM about nothing', [v2.ERR_SYSTEM])
unasked('long', 'ERR_SYSTEM with 1000 words behind it', [v2.ERR_SYSTEM] + [7] * 1000)
unasked('vers-with-2', 'ERR_VERS whose range has version 2', [v2.ERR_VERS, 1, 2])
unasked('vers-cut', 'ERR_VERS without its range', [v2.ERR_VERS])
unasked('vers-without-2', 'ERR_VERS whose range lacks version 2: it MUST NOT be sent again',
        [v2.ERR_VERS, 3, 9], Closes())
unasked('vers-absurd', 'ERR_VERS whose low is above its high', [v2.ERR_VERS, 9, 1], Closes())
unasked('mismatch', 'ERR_VERS_MISMATCH: version 2 MUST NOT be sent again', [v2.ERR_VERS_MISMATCH], Closes())
unasked('htype', 'ERR_INVAL_HTYPE about nothing', [v2.ERR_INVAL_HTYPE])


@case(errors, 'error-flood', '7', '60 times five ERRORs and a call', Other('60 RPC replies'))
def _(s):
    for i in range(60):
        for code in range(6, 11):
            s.end.send2(i, v2.ERROR, u32(code, 1, 2))
        s.end.do_null()


@case(errors, 'error-about-own-call', '7', 'an ERROR with the XID of its own call that the server has', Service())
def _(s):
    s.end.do_null()
    xid = s.end.new_xid()
    s.end.call(rpc.call(xid, rpc.NEVER))
    s.end.error(v2.ERR_SYSTEM, xid=xid)


@case(errors, 'error-first', '7', 'an ERROR as the first message', Service(), on='v2-first')
def _(s):
    s.end.error(v2.ERR_SYSTEM)
    first = s.end.expect_msg()
    assert first.proc == v2.PROP_FINAL, first


@case(errors, 'error-bad-flood', '7.2.1', '200 malformed calls, each after the answer to the one before',
      Other('200 times RDMA2_ERR_BAD_XDR, the XIDs; the next call is answered'))
def _(s):
    for _ in range(200):
        xid = s.end.new_xid()
        s.end.send2(xid, v2.CALL_INLINE)
        assert s.end.expect_msg(xid).error == [v2.ERR_BAD_XDR]
    s.end.do_null()
