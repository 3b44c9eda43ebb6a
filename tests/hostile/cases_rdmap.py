# SPDX-License-Identifier: BSD-2-Clause
"""Clients that break RDMAP (RFC 5040), and clients that close the connection at the wrong moment."""
import struct

import mpa
import rdmap
import rpc
import v1
from case import segments, table
from expect import Closes, Other, Served, Terminates

rule = table('client', 'RDMAP', 'v1', 'to-v2')
leave = table('client', 'leaving', 'v1', 'to-v2')
segment = segments(rule)


def null_segment(s, opcode=rdmap.SEND, queue=0, **lies):
    call = v1.message(s.xid, rpc.call(s.xid))
    return rdmap.untagged(opcode, queue, s.conn.send_msn, call, **lies)


for version in (0x00, 0x80, 0xc0):
    segment('rdmap-version-%d' % (version >> 6), 'RFC 5040 4.1', 'a Send of RDMAP version %d' % (version >> 6),
            Terminates(0, 2, 5))(lambda s, v=version: null_segment(s, rdmap=v))

for opcode in range(8, 16):
    segment('rdmap-opcode-%d' % opcode, 'RFC 5040 4.1', 'opcode %d, which is none here' % opcode,
            Terminates(0, 2, 6))(lambda s, o=opcode: null_segment(s, o))

for name, sent, make in (
        ('send-tagged', 'a Send in a tagged segment', lambda s: rdmap.tagged(rdmap.SEND, 1, 0, bytes(40))),
        ('write-untagged', 'a Write in an untagged segment', lambda s: null_segment(s, rdmap.WRITE)),
        ('response-untagged', 'a Read Response in an untagged segment',
         lambda s: null_segment(s, rdmap.RESPONSE)),
        ('read-tagged', 'a Read Request in a tagged segment',
         lambda s: rdmap.tagged(rdmap.READ, 1, 0, bytes(28))),
        ('terminate-tagged', 'a Terminate in a tagged segment',
         lambda s: rdmap.tagged(rdmap.TERMINATE, 1, 0, bytes(4))),
        ('read-on-queue-0', "a Read Request on the Sends' queue", lambda s: null_segment(s, rdmap.READ)),
        ('send-on-queue-1', "a Send on the Read Requests' queue", lambda s: null_segment(s, queue=1)),
        ('send-on-queue-2', "a Send on the Terminates' queue", lambda s: null_segment(s, queue=2)),
        ('terminate-on-queue-0', "a Terminate on the Sends' queue",
         lambda s: null_segment(s, rdmap.TERMINATE))):
    segment('rdmap-' + name, 'RFC 5040 4.1', sent, Terminates(0, 2, 6))(make)


@segment('rdmap-solicited', 'RFC 5040 5.3', 'a call by Send with Solicited Event', Served())
def _(s):
    data = null_segment(s, rdmap.SEND_SE)
    s.conn.send_msn += 1
    return data


for name, opcode, stag in (('unknown', rdmap.SEND_INV, 0x4711), ('zero', rdmap.SEND_INV, 0),
                           ('unknown-solicited', rdmap.SEND_SE_INV, 0x4711)):
    segment('rdmap-invalidate-' + name, 'RFC 5040 5.3',
            'a call by %s of handle 0x%x, which is none' % (
                'Send with Invalidate' if opcode == rdmap.SEND_INV else 'Send with Solicited Event and Invalidate',
                stag), Terminates(0, 1, 9))(lambda s, o=opcode, h=stag: null_segment(s, o, stag=h))


# --- Reads ---

def read_segment(s, length=100, source=0x4711, offset=0, msn=1, **lies):
    payload = rdmap.read_request(1, length, source, offset)
    return rdmap.untagged(rdmap.READ, 1, msn, lies.pop('payload', payload), **lies)


for name, sent, lies in (('unknown', 'of a handle that was never given', {}),
                         ('zero-handle', 'of handle 0', {'source': 0}),
                         ('huge', 'of 2^32 - 1 octets', {'length': 0xffffffff}),
                         ('wrap', 'at an offset that wraps', {'offset': (1 << 64) - 50})):
    segment('rdmap-read-' + name, 'RFC 5040 5.2', 'a Read Request ' + sent,
            Terminates(0, 1, 0))(lambda s, how=lies: read_segment(s, **how))

for name, sent, term, lies in (
        ('msn-0', 'with sequence number 0', (1, 2, 3), {'msn': 0}),
        ('msn-2', 'with sequence number 2, the first of all', (1, 2, 3), {'msn': 2}),
        ('offset', 'with a message offset of 4', (1, 2, 4), {'offset_': 4}),
        ('short', 'of 27 octets', (1, 2, 5), {'payload': bytes(27)}),
        ('long', 'of 29 octets', (1, 2, 5), {'payload': bytes(29)}),
        ('empty', 'without payload', (1, 2, 5), {'payload': b''}),
        ('not-last', 'that says that more of it follows', (1, 2, 5), {'last': False})):
    def _make(s, how=lies):
        how = dict(how)
        mo = how.pop('offset_', None)
        data = read_segment(s, **how)
        return data if mo is None else data[:14] + struct.pack('>I', mo) + data[18:]
    segment('rdmap-read-' + name, 'RFC 5040 5.2', 'a Read Request ' + sent, Terminates(*term))(_make)


@rule('rdmap-read-nothing', 'RFC 5040 5.2', 'a Read Request of no octets of a handle that was never given',
      Other('a Read Response of no octets; the next call is answered'))
def _(s):
    s.end.do_null()
    assert s.conn.read(rdmap.Seg(0x4711, 0, 0)) == b''
    s.end.do_null()


@rule('rdmap-read-depth', 'RFC 5040 6.1', '60 Read Requests of no octets at once; 32 were agreed', Terminates(1, 2, 2))
def _(s):
    s.end.do_null()
    s.conn.raw(b''.join(mpa.fpdu(read_segment(s, 0, msn=i + 1)) for i in range(60)))
    s.conn.take_tagged = lambda ulpdu: None  # ignores Read Responses that the gateway sent before the Terminate


for name, stag, payload in (('unexpected', 0x4711, bytes(100)), ('unexpected-empty', 0, b'')):
    segment('rdmap-response-' + name, 'RFC 5040 5.2',
            'a Read Response of %d octets, and no Read was made' % len(payload), Terminates(0, 2, 6))(
                lambda s, h=stag, p=payload: rdmap.tagged(rdmap.RESPONSE, h, 0, p))


def answer(name, sent, expect, make):
    """A case with a Read chunk of 1000 octets. @make returns the answer to the gateway's Read, from its sink and the octets."""
    @rule('rdmap-response-' + name, 'RFC 5040 5.2', "to the gateway's Read of 1000 octets: " + sent, expect)
    def _(s):
        s.xid = s.end.new_xid()
        data = bytes(1000)
        seg = s.conn.expose(data)
        sink = []
        s.conn.serve = lambda *asked: sink.append(asked)
        s.end.call(rpc.call(s.xid, rpc.ECHO, struct.pack('>I', 1000)), [(44, seg)])
        while not sink:
            assert s.conn.step() is None
        del s.conn.serve
        s.conn.raw(b''.join(mpa.fpdu(part) for part in make(sink[0][0], data)))


def response(stag, offset, data, last=True):
    return rdmap.tagged(rdmap.RESPONSE, stag, offset, data, last)


answer('other-sink', 'a Response to another sink', Terminates(1, 1, 0),
       lambda h, d: [response(h ^ 1, 0, d)])
answer('offset', 'a Response that begins at offset 8', Terminates(1, 1, 1), lambda h, d: [response(h, 8, d[8:])])
answer('gap', 'a Response with a gap', Terminates(1, 1, 1),
       lambda h, d: [response(h, 0, d[:500], False), response(h, 508, d[508:])])
answer('repeat', 'a Response whose second segment repeats the first', Terminates(1, 1, 1),
       lambda h, d: [response(h, 0, d[:500], False), response(h, 0, d[:500])])
answer('long', 'a Response of 1001 octets', Terminates(1, 1, 1), lambda h, d: [response(h, 0, d + b'x')])
answer('longer', 'a Response of 60000 octets', Terminates(1, 1, 1), lambda h, d: [response(h, 0, d * 60)])
answer('short', 'a Response of 999 octets, the last', Terminates(0, 2, 7), lambda h, d: [response(h, 0, d[:999])])
answer('empty', 'a Response of no octets, the last', Terminates(0, 2, 7), lambda h, d: [response(h, 0, b'')])
answer('not-last', 'all 1000 octets, and more are promised', Terminates(0, 2, 7),
       lambda h, d: [response(h, 0, d, False)])
answer('twice', 'the Response, and once more', Terminates(0, 2, 6),
       lambda h, d: [response(h, 0, d), response(h, 0, d)])
answer('terminate', 'a Terminate', Closes(),
       lambda h, d: [rdmap.untagged(rdmap.TERMINATE, 2, 1, rdmap.terminate(0, 1, 0))])


# --- leaving ---

def leaving(name, section, sent, expect=None, on='v1'):
    return leave(name, section, sent, expect or Closes(), on=on)


def say_terminate(s, payload=rdmap.terminate(0, 2, 0xff), msn=1):
    s.conn.ulpdu(rdmap.untagged(rdmap.TERMINATE, 2, msn, payload))


@leaving('leave-terminate-first', 'RFC 5040 5.4', 'a Terminate as the first FPDU', on='v1-first')
def _(s):
    say_terminate(s)


@leaving('leave-terminate-idle', 'RFC 5040 5.4', 'a Terminate between calls')
def _(s):
    s.end.do_null()
    say_terminate(s)


@leaving('leave-terminate-calling', 'RFC 5040 5.4', 'a Terminate while a call is with the server')
def _(s):
    s.end.call(rpc.call(s.end.new_xid(), rpc.NEVER))
    say_terminate(s)


@leaving('leave-terminate-in-send', 'RFC 5040 5.4', 'a Terminate between the segments of a Send')
def _(s):
    s.conn.ulpdu(rdmap.untagged(rdmap.SEND, 0, s.conn.send_msn, bytes(40), last=False))
    say_terminate(s)


@leaving('leave-terminate-empty', 'RFC 5040 5.4', 'a Terminate without payload')
def _(s):
    say_terminate(s, b'')


@leaving('leave-terminate-long', 'RFC 5040 5.4', 'a Terminate of 4000 octets with a code that does not exist')
def _(s):
    say_terminate(s, b'\xff' * 4000)


@leaving('leave-terminate-v2', 'RFC 5040 5.4', 'a Terminate right after the properties', on='v2')
def _(s):
    say_terminate(s)


@leaving('leave-fin-first', 'RFC 5044 7.2', 'half of the connection is closed before a first message', on='v1-first')
def _(s):
    s.conn.sock.shutdown(1)


@leaving('leave-fin-idle', 'RFC 5044 7.2', 'half of the connection is closed between calls')
def _(s):
    s.end.do_null()
    s.conn.sock.shutdown(1)


@leaving('leave-fin-calling', 'RFC 5044 7.2', 'half of the connection is closed while a call is with the server')
def _(s):
    s.end.call(rpc.call(s.end.new_xid(), rpc.NEVER))
    s.conn.sock.shutdown(1)


@leaving('leave-fin-in-send', 'RFC 5044 7.2', 'half of the connection is closed between the segments of a Send')
def _(s):
    s.conn.ulpdu(rdmap.untagged(rdmap.SEND, 0, s.conn.send_msn, bytes(40), last=False))
    s.conn.sock.shutdown(1)


@leaving('leave-fin-in-read', 'RFC 5044 7.2', 'half of the connection is closed instead of an answer to a Read')
def _(s):
    s.conn.serves_reads = False
    seg = s.conn.expose(1000)
    s.end.call(rpc.call(s.end.new_xid(), rpc.ECHO, struct.pack('>I', 1000)), [(44, seg)])
    while not s.conn.reads_seen:
        assert s.conn.step() is None
    s.conn.sock.shutdown(1)


@leaving('leave-fin-connprop', 'RFC 5044 7.2', 'half of the connection is closed after the properties', on='v2')
def _(s):
    s.conn.sock.shutdown(1)


def gone(name, sent):
    def wrap(run):
        @leave(name, 'RFC 5044 7.2', sent, Other('the session ends'))
        def _(s):
            run(s)
            s.conn.reset()
            s.conn = s.end = None
    return wrap


@gone('leave-rst-idle', 'a reset between calls')
def _(s):
    s.end.do_null()


@gone('leave-rst-calling', 'a reset while eight calls are with the server')
def _(s):
    for _ in range(8):
        s.end.call(rpc.call(s.end.new_xid(), rpc.NEVER))


@gone('leave-rst-reading', 'a reset instead of an answer to a Read')
def _(s):
    s.conn.serves_reads = False
    seg = s.conn.expose(1000)
    s.end.call(rpc.call(s.end.new_xid(), rpc.ECHO, struct.pack('>I', 1000)), [(44, seg)])
    while not s.conn.reads_seen:
        assert s.conn.step() is None
