# SPDX-License-Identifier: BSD-2-Clause
"""Servers that fail while the gateway connects to them. The client waits meanwhile, and then gets a rejection."""

import mpa
import peer
import rpc
import v1
import v2
from case import table
from expect import Other
from rdmap import Conn, Ended, Sent, Terminated, read_frame
from xdr import opaque, u32

setup = table('server', 'connecting', 'nothing', 'v1')
negotiation = table('server', 'negotiation', 'nothing', 'v2')


class Rejected:
    """The client gets a Reply Frame that rejects it, and the gateway closes."""
    text = 'the client is rejected: a Reply Frame with R'

    def check(self, c):
        c.sock.settimeout(120)
        answer = read_frame(c.sock)
        assert answer.flags & mpa.REJECT, 'not rejected'
        assert c.sock.recv(1) == b'', 'not closed'


REJECTED = Rejected()


def tcp(s):
    """Return: the socket of the gateway's TCP connection to the server, after its Request Frame."""
    s.knock()
    sock = s.route.accept()
    sock.settimeout(120)
    asked = read_frame(sock)
    assert asked.key == mpa.REQUEST_KEY and asked.flags == mpa.CRC | mpa.ENHANCED, 'the Request Frame'
    return sock


def closed(sock):
    """Waits until the gateway closes @sock."""
    try:
        while sock.recv(4096):
            pass
    except ConnectionResetError:
        pass
    sock.close()


def answers(name, section, sent, data):
    """A case in which the server answers the Request Frame with @data."""
    @setup(name, section, sent, REJECTED)
    def _(s):
        sock = tcp(s)
        sock.sendall(data)
        closed(sock)


answers('server-mpa-reject', 'RFC 5044 7.1.1', 'a Reply Frame with R', mpa.reply(mpa.CRC | mpa.ENHANCED | mpa.REJECT))
answers('server-mpa-reject-short', 'RFC 5044 7.1.1', 'a Reply Frame with R and S, without IRD and ORD',
        mpa.frame(mpa.REPLY_KEY, mpa.REJECT | mpa.ENHANCED, 2, b''))
answers('server-mpa-request', 'RFC 5044 7.1.1', 'a Request Frame instead of a Reply', mpa.request())
answers('server-mpa-key', 'RFC 5044 7.1.1', 'a Reply Frame with a wrong key',
        mpa.frame(b'MPA ID Rep Frama', mpa.CRC, 2, b''))
answers('server-mpa-revision-0', 'RFC 5044 7.1.1', 'revision 0', mpa.reply(revision=0))
answers('server-mpa-revision-7', 'RFC 6581', 'revision 7', mpa.reply(revision=7))
answers('server-mpa-markers', 'RFC 5044 7.1.1', 'a Reply Frame that asks for markers',
        mpa.reply(mpa.CRC | mpa.ENHANCED | mpa.MARKERS))
answers('server-mpa-pdata-513', 'RFC 5044 7.1.1', '513 octets of private data',
        mpa.frame(mpa.REPLY_KEY, mpa.CRC, 2, bytes(513)))
answers('server-mpa-pdata-65535', 'RFC 5044 7.1.1', 'a private data length of 65535',
        mpa.frame(mpa.REPLY_KEY, mpa.CRC, 2, bytes(600), length=65535))
answers('server-mpa-enhanced-cut', 'RFC 6581', 'S set, and two octets where IRD and ORD take four',
        mpa.frame(mpa.REPLY_KEY, mpa.CRC | mpa.ENHANCED, 2, bytes(2)))


@setup('server-mpa-depth', 'RFC 6581',
       'an ORD of 1000, above the IRD of 32 that was asked for: the server gets a Terminate, MPA, insufficient IRD resources',
       REJECTED)
def _(s):
    sock = tcp(s)
    sock.sendall(mpa.reply(ord_=1000))
    told = Conn(sock).recv()
    assert told == Terminated(2, 0, 6), '%r instead of the Terminate' % (told,)
    closed(sock)


answers('server-mpa-noise', 'RFC 5044 7.1.1', '500 octets of 0xa5', b'\xa5' * 500)
answers('server-mpa-http', 'RFC 5044 7.1.1', 'an HTTP answer', b'HTTP/1.1 400 Bad Request\r\n\r\n')


def leaves(name, sent, data):
    @setup(name, 'RFC 5044 7.1.2', sent, REJECTED)
    def _(s):
        sock = tcp(s)
        sock.sendall(data)
        sock.close()


leaves('server-fin-after-request', 'a FIN instead of a Reply Frame', b'')
leaves('server-fin-in-reply', 'half a Reply Frame and a FIN', mpa.reply()[:11])


@setup('server-rst-after-request', 'RFC 5044 7.1.2', 'a reset instead of a Reply Frame', REJECTED)
def _(s):
    Conn(tcp(s)).reset()


@setup('server-rst-at-once', 'RFC 5044 7.1.2', 'a reset as soon as TCP is up', REJECTED)
def _(s):
    s.knock()
    Conn(s.route.accept()).reset()


@setup('server-silent', 'RFC 5044 7.1.2', 'nothing after the TCP connection', REJECTED, route='hurried-v1', slow=True)
def _(s):
    closed(tcp(s))


@setup('server-half-reply', 'RFC 5044 7.1.2', 'half a Reply Frame, then nothing', REJECTED, route='hurried-v1',
       slow=True)
def _(s):
    sock = tcp(s)
    sock.sendall(mpa.reply()[:22])
    closed(sock)


@setup('server-client-leaves', 'RFC 5044 7.1.2', 'no Reply Frame yet, and the client leaves',
       Other('the connection to the server ends when that has answered or at its time-out'), route='hurried-v1',
       slow=True)
def _(s):
    sock = tcp(s)
    s.sock.close()
    s.sock = None
    closed(sock)


def odd(name, section, sent, data, crc=True):
    """A case with an unusual answer that the gateway accepts: the client is served."""
    @setup(name, section, sent, Other('the client is accepted and served'))
    def _(s):
        sock = tcp(s)
        sock.sendall(data)
        s.server = peer.End(Conn(sock, crc), 1)
        s.enter(1)
        s.goes_on()


odd('server-mpa-revision-1', 'RFC 5044 7.1.1', 'a Reply Frame of revision 1', mpa.reply(mpa.CRC, 1))
odd('server-mpa-reserved', 'RFC 5044 7.1.1', 'the reserved bits set',
    mpa.reply(mpa.CRC | mpa.ENHANCED | 0x0f))
odd('server-mpa-no-crc', 'RFC 5044 7.1.1', 'C zero where the gateway asked for CRC: it is used all the same',
    mpa.reply(mpa.ENHANCED))
odd('server-mpa-no-pdata', 'RFC 8797 5.1', 'no private data', mpa.reply(pdata=b''))
odd('server-mpa-512', 'RFC 5044 7.1.1', '512 octets of private data', mpa.reply(pdata=bytes(508)))


@setup('server-early', 'RFC 5044 7.1.2', 'a reply to nothing behind its Reply Frame, before the gateway said a word',
       Other('the client is accepted and served: nothing is in flight that this could be about'))
def _(s):
    sock = tcp(s)
    conn = Conn(sock)
    early = mpa.fpdu(conn.send_ulpdu(v1.message(7, rpc.reply(7))))
    sock.sendall(mpa.reply() + early)
    s.server = peer.End(conn, 1)
    s.enter(1)
    s.goes_on()


# --- negotiation of version 2 ---

def asked(s, **frame):
    """Connects. Return: the gateway's CONNPROP_FINAL."""
    s.knock()
    s.server = peer.End(peer.accept_rdma(s.route.accept(), **frame), 2)
    return s.server.expect_msg()


def until_end(s):
    """Skips the gateway's messages to this server up to the end of the connection."""
    while True:
        event = s.server.conn.recv()
        if not isinstance(event, Sent):
            assert isinstance(event, Ended), event
            return


def refused(name, section, sent, make, expect=REJECTED, route='v2', **how):
    """A case in which the server sends what @make(stage, XID) returns. Then the gateway closes the connection to the server."""
    @negotiation(name, section, sent, expect, route=route, **how)
    def _(s):
        m = asked(s)
        data = make(s, m.xid)
        if data is not None:
            s.server.send(data)
        until_end(s)


def err_vers(xid, low, high, vers=2):
    return u32(xid, vers, 32, v2.ERROR, v2.ERR_VERS, low, high)


for name, low, high in (('1-1', 1, 1), ('0-0', 0, 0), ('3-9', 3, 9), ('huge', 0x80000000, 0xffffffff)):
    refused('server-vers-' + name, '4.3.2', 'ERR_VERS with the range %d to %d' % (low, high),
            lambda s, x, a=low, b=high: err_vers(x, a, b))
refused('server-vers-absurd', '4.3.2', 'ERR_VERS with low 9 above high 1', lambda s, x: err_vers(x, 9, 1))
refused('server-vers-by-1', '4.3.2', 'ERR_VERS of version 1', lambda s, x: err_vers(x, 1, 1, 1))
refused('server-vers-3-9-auto', '4.3.2', 'ERR_VERS with the range 3 to 9, where 1 would do',
        lambda s, x: err_vers(x, 3, 9), route='auto')
refused('server-connprop-fin', '4.3', 'nothing, and a FIN',
        lambda s, x: s.server.conn.sock.shutdown(1))
refused('server-connprop-silence', '4.3', 'nothing', lambda s, x: None, route='hurried-v2', slow=True)
refused('server-connprop-middle-only', '6.3.3', 'a CONNPROP_MIDDLE, and no FINAL',
        lambda s, x: v2.prefix(x, v2.PROP_MIDDLE, 32) + v2.PROPS, route='hurried-v2', slow=True)
refused('server-connprop-terminate', 'RFC 5040 5.4', 'a Terminate',
        lambda s, x: s.server.conn.ulpdu(bytes.fromhex('4147 00000000 00000002 00000001 00000000 01000000')))
refused('server-err-mismatch', '7.1.2', 'ERR_VERS_MISMATCH', lambda s, x: v2.prefix(x ^ 1, v2.ERROR, 32) +
        u32(v2.ERR_VERS_MISMATCH))


@negotiation('server-fall-back', '4.3.2', 'ERR_VERS with the range 1 to 1, where 1 is allowed, too',
             Other('version 1 on the same connection; the client is served'), route='auto')
def _(s):
    m = asked(s)
    s.server.send(err_vers(m.xid, 1, 1))
    s.server.version = 1
    s.enter(1)
    s.goes_on()


@negotiation('server-hangs-up', '4.3.2', 'a FIN after CONNPROP, where 1 is allowed, too',
             Other('a second connection in version 1; the client is served'), route='auto')
def _(s):
    asked(s)
    s.server.close()
    s.come(1)
    s.enter(1)
    s.goes_on()


@negotiation('server-hangs-up-twice', '4.3.2', 'a FIN after CONNPROP, and a FIN on the second connection',
             REJECTED, route='auto')
def _(s):
    asked(s)
    s.server.close()
    s.route.accept().close()
    s.server = None


@negotiation('server-silent-to-2', '4.3.2', 'silence to CONNPROP, where 1 is allowed, too',
             Other('after its time-out a second connection in version 1; the client is served'), route='hurried-auto',
             slow=True)
def _(s):
    asked(s)
    first = s.server
    s.come(1)
    first.close()
    s.enter(1)
    s.goes_on()


# --- absurd properties of a server: accepted, and kept to ---

def properties(name, section, sent, props, words='the client is served'):
    @negotiation(name, section, sent, Other(words))
    def _(s):
        s.knock()
        s.come(2, props)
        s.enter(1)
        s.goes_on()


def prop(which, data):
    return u32(which) + opaque(data)


ERR = 'RDMA2_ERR_%s, the XID; the client is served'
for which in range(1, 7):
    def _bad(s, which=which):
        m = asked(s)
        s.server.send2(m.xid, v2.PROP_FINAL, v2.properties(prop(which, bytes(3))))
        expect_error(s, m.xid, v2.ERR_BAD_PROPVAL)
    negotiation('server-prop-%d-bad' % which, '7.2.2', 'property %d of three octets' % which,
                Other(ERR % 'BAD_PROPVAL'))(_bad)
for name, sent, rest in (('cut', 'a CONNPROP_FINAL that ends after its prefix', b''),
                         ('count', 'a count of 2^32 - 1', u32(-1)),
                         ('trailing', 'octets behind the last property', v2.PROPS + bytes(4))):
    def _bad_xdr(s, rest=rest):
        m = asked(s)
        s.server.send2(m.xid, v2.PROP_FINAL, rest)
        expect_error(s, m.xid, v2.ERR_BAD_XDR)
    negotiation('server-props-' + name, '7.2.1', sent, Other(ERR % 'BAD_XDR'))(_bad_xdr)


def expect_error(s, xid, *words):
    """Checks that the gateway sends an error report, and that the session works."""
    s.enter(1)
    report = s.server.expect_msg(xid)
    assert report.error == list(words), report
    s.goes_on()


properties('server-props-none', '5.2', 'no property', v2.properties())
properties('server-props-zero', '5.2', 'all sizes and counts 0', v2.properties(*[v2.prop(i, 0) for i in range(1, 6)]))
properties('server-props-most', '5.2', 'all values 2^32 - 1', v2.properties(*[v2.prop(i, -1) for i in range(1, 6)]))
properties('server-props-unknown', '5.1', 'properties that do not exist',
           v2.properties(prop(0, b''), prop(999, b'xyz')))


@negotiation('server-htype', '7.1.3', 'ERR_INVAL_HTYPE about CONNPROP: it knows none',
             Other('defaults hold; the client is served'))
def _(s):
    m = asked(s)
    s.server.error(v2.ERR_INVAL_HTYPE, xid=m.xid)
    s.enter(1)
    s.goes_on()


for code in (v2.ERR_SYSTEM, 12, 0):
    @negotiation('server-error-then-props-%d' % code, '7', 'an ERROR %d about CONNPROP, then its properties' % code,
                 Other('the negotiation goes on; the client is served'))
    def _(s, code=code):
        m = asked(s)
        s.server.error(code, xid=m.xid)
        s.server.send2(m.xid, v2.PROP_FINAL, v2.PROPS)
        s.enter(1)
        s.goes_on()


@negotiation('server-props-twice', '6.3.4', 'its CONNPROP_FINAL twice', Other(ERR % 'INVAL_CONT'))
def _(s):
    m = asked(s)
    s.server.send2(m.xid, v2.PROP_FINAL, v2.PROPS)
    s.server.send2(m.xid, v2.PROP_FINAL, v2.PROPS)
    expect_error(s, m.xid, v2.ERR_INVAL_CONT)


@negotiation('server-call-in-props', '6.3.3', 'a reverse call between CONNPROP_MIDDLE and FINAL',
             Other(ERR % 'INVAL_CONT'))
def _(s):
    m = asked(s)
    s.server.send2(m.xid, v2.PROP_MIDDLE, v2.PROPS)
    xid = s.server.new_xid()
    s.server.call(rpc.call(xid))
    s.server.send2(m.xid, v2.PROP_FINAL, v2.properties())
    expect_error(s, xid, v2.ERR_INVAL_CONT)


@negotiation('server-call-first', '4.6.3', 'a reverse call at once, before the client said a word',
             Other('RDMA2_ERR_SYSTEM, the XID; the client is served'))
def _(s):
    s.knock()
    s.come(2)
    xid = s.server.new_xid()
    s.server.call(rpc.call(xid))
    expect_error(s, xid, v2.ERR_SYSTEM)
