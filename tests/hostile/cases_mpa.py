# SPDX-License-Identifier: BSD-2-Clause
"""Clients that send invalid MPA set-up frames or invalid FPDUs."""
import random
import struct
import time

import early
import mpa
import peer
import rpc
import v1
import v2
from case import table
from expect import Closes, Drops, EarlyError, Other, Served, Service, Terminates, V1Error, V2Error
from rdmap import Conn, Seg, read_frame
from xdr import opaque, u32

setup = table('client', 'MPA set-up', 'tcp', 'to-v1')
frames = table('client', 'MPA framing', 'v1', 'to-v2')


# --- frames that are none: dropped without an answer ---

def dropped(name, section, sent, data):
    setup(name, section, sent, Drops())(lambda s: s.sock.sendall(data))


ENH = struct.pack('>HH', 16, 16)

dropped('mpa-key-wrong', 'RFC 5044 7.1.1', 'a Request Frame with the key "NOT ID Req Frame"',
        mpa.frame(b'NOT ID Req Frame', mpa.CRC, 1, b''))
dropped('mpa-key-of-reply', 'RFC 5044 7.1.1', 'a Request Frame with the key of a Reply',
        mpa.frame(mpa.REPLY_KEY, mpa.CRC, 1, b''))
dropped('mpa-key-last-octet', 'RFC 5044 7.1.1', 'a key whose last octet is wrong',
        mpa.frame(b'MPA ID Req Framf', mpa.CRC, 1, b''))
dropped('mpa-key-case', 'RFC 5044 7.1.1', 'the key in small letters',
        mpa.frame(b'mpa id req frame', mpa.CRC, 1, b''))
dropped('mpa-revision-0', 'RFC 5044 7.1.1', 'revision 0', mpa.request(revision=0))
dropped('mpa-revision-3', 'RFC 6581', 'revision 3', mpa.request(revision=3))
dropped('mpa-revision-255', 'RFC 6581', 'revision 255', mpa.request(revision=255))
dropped('mpa-pdata-513', 'RFC 5044 7.1.1', '513 octets of private data, one more than there may be',
        mpa.frame(mpa.REQUEST_KEY, mpa.CRC, 1, bytes(513)))
dropped('mpa-pdata-65535', 'RFC 5044 7.1.1', 'a private data length of 65535',
        mpa.frame(mpa.REQUEST_KEY, mpa.CRC, 1, bytes(1000), length=65535))
for have in (0, 3):
    dropped('mpa-enhanced-%d' % have, 'RFC 6581', 'S set, but %d octets where IRD and ORD take four' % have,
            mpa.frame(mpa.REQUEST_KEY, mpa.CRC | mpa.ENHANCED, 2, bytes(have)))
dropped('mpa-http', 'RFC 5044 7.1.1', 'an HTTP request', b'GET / HTTP/1.1\r\nHost: filer\r\n\r\n')
dropped('mpa-tls', 'RFC 5044 7.1.1', 'a TLS ClientHello',
        bytes.fromhex('16030100f8010000f40303') + bytes(200))
dropped('mpa-zeros', 'RFC 5044 7.1.1', '3000 zeros', bytes(3000))
dropped('mpa-noise', 'RFC 5044 7.1.1', '3000 random octets (of a fixed seed)',
        random.Random(7).randbytes(3000))



@setup('mpa-markers', 'RFC 5044 7.1.1', 'a Request Frame that requires markers, which the gateway does not send',
       Other('a Reply Frame with R, then closed'))
def _(s):
    s.sock.sendall(mpa.request(mpa.CRC | mpa.ENHANCED | mpa.MARKERS))
    answer = read_frame(s.sock)
    assert answer.flags & (mpa.REJECT | mpa.MARKERS) == mpa.REJECT, '0x%02x' % answer.flags
    Drops().check(s)


# --- slow ones ---

@setup('mpa-silence', 'RFC 5044 7.1.2', 'nothing', Drops(), route='impatient', slow=True)
def _(s):
    pass


@setup('mpa-half-key', 'RFC 5044 7.1.2', 'half a key, then nothing', Drops(), route='impatient', slow=True)
def _(s):
    s.sock.sendall(b'MPA ID R')


@setup('mpa-header-alone', 'RFC 5044 7.1.2', 'a header that promises private data, then nothing', Drops(),
       route='impatient', slow=True)
def _(s):
    s.sock.sendall(mpa.request()[:20])


@setup('mpa-pdata-half', 'RFC 5044 7.1.2', 'a Request Frame without its last octet', Drops(), route='impatient',
       slow=True)
def _(s):
    s.sock.sendall(mpa.request()[:-1])


@setup('mpa-drip', 'RFC 5044 7.1.2', 'a Request Frame, one octet every half second: the time is for all of it',
       Drops(), route='impatient', slow=True)
def _(s):
    try:
        for octet in mpa.request():
            s.sock.sendall(bytes([octet]))
            time.sleep(0.5)
    except (BrokenPipeError, ConnectionResetError):
        pass


@setup('mpa-no-first-message', 'draft-07 4.3', 'set-up, then no first message', Closes(), on='v1-first',
       route='impatient', slow=True)
def _(s):
    pass


@setup('mpa-half-first-fpdu', 'draft-07 4.3', 'set-up, then half an FPDU', Closes(), on='v1-first',
       route='impatient', slow=True)
def _(s):
    s.conn.raw(mpa.fpdu(s.conn.send_ulpdu(v1.message(1, rpc.call(1))))[:40])


@setup('mpa-short-first-message', 'draft-07 7', 'set-up, a first message of 12 octets, then nothing', Closes(),
       on='v1-first', route='impatient', slow=True)
def _(s):
    s.conn.send(bytes(12))


# --- closed in the middle ---

def cut(name, sent, data, how):
    @setup(name, 'RFC 5044 7.1.2', sent, Other('closed'))
    def _(s):
        s.sock.sendall(data)
        if how == 'fin':
            s.sock.shutdown(1)
            Drops().check(s)
        else:
            Conn.reset(Conn(s.sock))
            s.sock = None


cut('mpa-fin-at-once', 'a FIN at once', b'', 'fin')
cut('mpa-fin-in-key', 'half a key and a FIN', b'MPA ID R', 'fin')
cut('mpa-fin-in-pdata', 'a Request Frame without its last octet and a FIN', mpa.request()[:-1], 'fin')
cut('mpa-rst-at-once', 'a reset at once', b'', 'rst')
cut('mpa-rst-in-key', 'half a key and a reset', b'MPA ID R', 'rst')
cut('mpa-rst-after-request', 'a Request Frame and a reset', mpa.request(), 'rst')


# --- odd, and accepted ---

def accepted(name, section, sent, data, text, check, route='to-v1'):
    """A case whose Reply Frame must pass @check. Then a call must be served."""
    @setup(name, section, sent, Other('a Reply Frame %s; a call is served' % text), route=route)
    def _(s):
        s.sock.sendall(data)
        answer = read_frame(s.sock)
        assert answer.key == mpa.REPLY_KEY and not answer.flags & mpa.REJECT
        check(answer)
        s.use(peer.End(Conn(s.sock, bool(answer.flags & mpa.CRC)), 1))
        s.sock = None
        s.end.do_null()


def is_(**wanted):
    def check(answer):
        for key, value in wanted.items():
            assert getattr(answer, key) == value, '%s is %r' % (key, getattr(answer, key))
    return check


accepted('mpa-revision-1', 'RFC 5044 7.1.1', 'a Request Frame of revision 1', mpa.request(mpa.CRC, 1),
         'of revision 1, without S', is_(revision=1, flags=mpa.CRC))
accepted('mpa-s-in-revision-1', 'RFC 6581', 'revision 1 with the bit that is S in revision 2',
         mpa.frame(mpa.REQUEST_KEY, mpa.CRC | mpa.ENHANCED, 1, mpa.PDATA), 'of revision 1, without S',
         is_(revision=1, flags=mpa.CRC))
accepted('mpa-reject-in-request', 'RFC 5044 7.1.1', 'a Request Frame with R, which has a meaning in a Reply only',
         mpa.request(mpa.CRC | mpa.ENHANCED | mpa.REJECT), 'without R', is_(revision=2))
accepted('mpa-reserved-bits', 'RFC 5044 7.1.1', 'a Request Frame with the reserved bits set',
         mpa.request(mpa.CRC | mpa.ENHANCED | 0x0f), 'with them zero', is_(flags=mpa.CRC | mpa.ENHANCED))
accepted('mpa-crc-not-asked', 'RFC 5044 7.1.1', 'C zero, where the gateway has CRC on', mpa.request(mpa.ENHANCED),
         'with C set', is_(flags=mpa.CRC | mpa.ENHANCED))
accepted('mpa-crc-asked', 'RFC 5044 7.1.1', 'C set, where the gateway has CRC off', mpa.request(),
         'with C set', is_(flags=mpa.CRC | mpa.ENHANCED), route='no-crc')
accepted('mpa-depth-0', 'RFC 6581', 'IRD 0 and ORD 0', mpa.request(ird=0, ord_=0), 'with ORD 0', is_(ord=0))
accepted('mpa-depth-most', 'RFC 6581', 'IRD and ORD of 16383',
         mpa.request(ird=0x3fff, ord_=0x3fff), "with the gateway's own 32", is_(ird=32, ord=32))
accepted('mpa-pdata-512', 'RFC 5044 7.1.1', '512 octets of private data, none of them ours',
         mpa.frame(mpa.REQUEST_KEY, mpa.CRC | mpa.ENHANCED, 2, ENH + bytes(508)), 'of revision 2', is_(revision=2))
accepted('mpa-p2p-nothing-offered', 'RFC 6581', 'peer-to-peer without any ready-to-receive operation',
         mpa.request(ird=mpa.P2P | 16), 'that proposes the Write of no octets',
         is_(ird=mpa.P2P | 32, ord=mpa.RTR_WRITE | 16))

@setup('mpa-octets', 'RFC 5044 7.1.2', 'a Request Frame in TCP segments of one octet', Service())
def _(s):
    for octet in mpa.request():
        s.sock.sendall(bytes([octet]))
    assert not read_frame(s.sock).flags & mpa.REJECT
    s.use(peer.End(Conn(s.sock), 1))
    s.sock = None


@setup('mpa-early-call', 'RFC 5044 7.1.2', 'a Request Frame and, unasked, a whole call behind it',
       Other('a Reply Frame, then the RPC reply'))
def _(s):
    xid = 0x1234
    call = Conn(s.sock).send_ulpdu(v1.message(xid, rpc.call(xid)))
    s.sock.sendall(mpa.request() + mpa.fpdu(call))
    assert not read_frame(s.sock).flags & mpa.REJECT
    s.use(peer.End(Conn(s.sock), 1))
    s.sock = None
    assert s.end.expect_reply(xid).results == b''
    s.conn.send_msn = 2
    s.end.do_null()


@setup('mpa-early-noise', 'RFC 5044 7.1.2', 'a Request Frame and 200 octets of noise behind it',
       Other('a Reply Frame, then a Terminate of MPA'))
def _(s):
    s.sock.sendall(mpa.request() + struct.pack('>H', 60) + random.Random(3).randbytes(198))
    assert not read_frame(s.sock).flags & mpa.REJECT
    s.conn = Conn(s.sock)
    s.sock = None
    Terminates(2, 0, 2).check(s)


@setup('mpa-p2p-send', 'RFC 6581', 'peer-to-peer by a Send of no octets, and that Send',
       Other('the Send is not taken for a message: a call behind it is served'))
def _(s):
    s.sock.sendall(mpa.request(ird=mpa.P2P | mpa.RTR_SEND | 16))
    answer = read_frame(s.sock)
    assert answer.ird & (mpa.P2P | mpa.RTR_SEND) == mpa.P2P | mpa.RTR_SEND
    s.use(peer.End(Conn(s.sock), 1))
    s.sock = None
    s.conn.send(b'')
    s.end.do_null()


def unreadable(name, version, expect, route='to-v1'):
    """Cases of a client that serves no RDMA Reads. The gateway refuses each call alone and keeps the connection, because the calls
    could not succeed over another connection either."""
    @setup('mpa-depth-0-and-read-chunk' + name, 'RFC 6581', 'IRD 0, then a call with a Read chunk, which cannot be read',
           expect, on='nothing', route=route)
    def _(s):
        s.use(peer.open_client(s.route.address, version, ird=0))
        seg = s.conn.expose(100)
        s.xid = s.end.new_xid()
        s.end.call(rpc.call(s.xid, rpc.ECHO, u32(100)), [(44, seg)])

    @setup('mpa-depth-0-and-call-chunk' + name, 'RFC 6581', 'IRD 0, then a call that is in a chunk, which cannot be read',
           expect, on='nothing', route=route)
    def _(s):
        s.use(peer.open_client(s.route.address, version, ird=0))
        s.xid = s.end.new_xid()
        s.end.long_call([s.conn.expose(rpc.call(s.xid, rpc.ECHO, opaque(bytes(100))))])


unreadable('', 1, V1Error(v1.ERR_CHUNK))
unreadable('-v2', 2, V2Error(v2.ERR_READ_CHUNKS, 0))
unreadable('-early', 'early', EarlyError(early.ERR_BAD_HEADER), route='early')


@setup('mpa-depth-0-and-empty-read-chunk', 'RFC 6581', 'IRD 0, then a call with a Read chunk without octets', Served(u32(0)),
       on='nothing')
def _(s):
    s.use(peer.open_client(s.route.address, 1, ird=0))
    s.xid = s.end.new_xid()
    s.end.call(rpc.call(s.xid, rpc.ECHO, u32(0)), [(44, Seg(0, 0, 0))])


# --- FPDUs ---

def framing(name, section, sent, expect, on='v1', route='to-v2'):
    """A case whose function returns octets. They are sent unchanged."""
    def wrap(make):
        @frames(name, section, sent, expect, on=on, route=route)
        def _(s):
            s.xid = s.end.new_xid()
            s.conn.raw(make(s))
    return wrap


def null_ulpdu(s):
    return s.conn.send_ulpdu(v1.message(s.xid, rpc.call(s.xid)))


for length in (0, 1, 13, 17):
    framing('fpdu-length-%d' % length, 'RFC 5041 4', 'an FPDU of ULPDU length %d: no DDP header fits' % length,
            Terminates(2, 0, 3))(
                lambda s, n=length: mpa.fpdu((b'\xc1\x40' if n == 13 else b'\x41\x43') + bytes(60), length=n))


@framing('fpdu-bad-crc', 'RFC 5044 4.4', 'a call whose CRC is wrong', Terminates(2, 0, 2))
def _(s):
    return mpa.fpdu(null_ulpdu(s), spoil=True)


@framing('fpdu-no-crc', 'RFC 5044 4.4', 'a call with a CRC of zero, where CRC was agreed', Terminates(2, 0, 2))
def _(s):
    return mpa.fpdu(null_ulpdu(s), crc=False)


@framing('fpdu-bad-crc-of-control', 'RFC 5044 4.4', 'a Read Request whose CRC is wrong', Terminates(2, 0, 2))
def _(s):
    return mpa.fpdu(bytes.fromhex('4141') + bytes(44), spoil=True)


@framing('fpdu-bad-crc-large', 'RFC 5044 4.4', 'a message of 4000 octets whose CRC is wrong', Terminates(2, 0, 2))
def _(s):
    call = v1.message(s.xid, rpc.echo_call(s.xid, bytes(3900)))
    return mpa.fpdu(s.conn.send_ulpdu(call), spoil=True)


@framing('fpdu-crc-other-order', 'RFC 5044 4.4', "a call whose CRC has its octets in the network's order",
         Terminates(2, 0, 2))
def _(s):
    good = mpa.fpdu(null_ulpdu(s))
    return good[:-4] + good[:-5:-1]


@framing('fpdu-pad-not-zero', 'RFC 5044 4', 'a pad of 0xff octets, rightly in the CRC', Served())
def _(s):
    return mpa.fpdu(s.conn.send_ulpdu(v1.message(s.xid, rpc.call(s.xid))), pad=0xff)


@framing('fpdu-octets', 'RFC 5044 5', 'a call in TCP segments of one octet', Served())
def _(s):
    for octet in mpa.fpdu(null_ulpdu(s)):
        s.conn.raw(bytes([octet]))
    return b''


@framing('fpdu-two-at-once', 'RFC 5044 5', 'two calls in one TCP segment', Served())
def _(s):
    first = null_ulpdu(s)
    second = s.conn.send_ulpdu(v1.message(s.xid + 1, rpc.call(s.xid + 1)))
    s.conn.raw(mpa.fpdu(first) + mpa.fpdu(second))
    assert s.end.expect_reply(s.xid).xid == s.xid
    s.xid += 1
    return b''


@framing('fpdu-largest', 'RFC 5041 5.3', 'an FPDU of 65535 octets', Terminates(1, 2, 5))
def _(s):
    return mpa.fpdu(s.conn.send_ulpdu(bytes(65517)))


@framing('fpdu-cut-by-fin', 'RFC 5044 7.2', 'half an FPDU and a FIN', Closes())
def _(s):
    s.conn.raw(mpa.fpdu(null_ulpdu(s))[:50])
    s.conn.sock.shutdown(1)
    return b''


@framing('fpdu-shifted', 'RFC 5044 5', 'one octet too many before a call', Terminates(2, 0, 2))
def _(s):
    return b'\1' + mpa.fpdu(null_ulpdu(s)) + bytes(300)


@frames('fpdu-crc-off', 'RFC 5044 4.4', 'a call with a wrong CRC, where neither side wanted one', Served(),
        on='nothing', route='no-crc')
def _(s):
    s.use(peer.open_client(s.route.address, 1, flags=mpa.ENHANCED))
    assert not s.conn.crc
    s.xid = s.end.new_xid()
    s.conn.raw(mpa.fpdu(null_ulpdu(s), spoil=True))


@frames('fpdu-reset', 'RFC 5044 7.2', 'a call and a reset at once', Other('the session ends'))
def _(s):
    s.xid = s.end.new_xid()
    s.conn.raw(mpa.fpdu(null_ulpdu(s)))
    s.conn.reset()
    s.conn = s.end = None
