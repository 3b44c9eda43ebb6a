# SPDX-License-Identifier: BSD-2-Clause
"""Clients that send invalid DDP segments (RFC 5041) in valid FPDUs."""
import mpa
import rdmap
import rpc
import v1
from case import segments, table
from expect import Served, Service, Terminates

rule = table('client', 'DDP', 'v1', 'to-v2')
segment = segments(rule)


def null_call(s):
    return v1.message(s.xid, rpc.call(s.xid))


def null_segment(s, **lies):
    lies.setdefault('msn', s.conn.send_msn)
    return rdmap.untagged(rdmap.SEND, lies.pop('queue', 0), lies.pop('msn'), null_call(s), **lies)


for version in (0, 2, 3):
    segment('ddp-untagged-version-%d' % version, 'RFC 5041 7.1', 'a Send of DDP version %d' % version,
            Terminates(1, 2, 6))(lambda s, v=version: null_segment(s, ddp=v))
    segment('ddp-tagged-version-%d' % version, 'RFC 5041 7.1', 'a Write of DDP version %d' % version,
            Terminates(1, 1, 4))(lambda s, v=version: rdmap.tagged(rdmap.WRITE, 1, 0, bytes(8), ddp=v))

for queue in (3, 4, 0x80000000, 0xffffffff):
    segment('ddp-queue-%d' % queue, 'RFC 5041 7.1', 'a Send to queue number %d' % queue,
            Terminates(1, 2, 1))(lambda s, q=queue: null_segment(s, queue=q))

for name, sent, change in (('0', 'sequence number 0', lambda n: 0),
                           ('skipped', 'a sequence number left out', lambda n: n + 1),
                           ('far', 'a sequence number 2^31 ahead', lambda n: n + (1 << 31)),
                           ('last', 'sequence number 2^32 - 1', lambda n: 0xffffffff)):
    segment('ddp-msn-' + name, 'RFC 5041 7.1', 'a Send with ' + sent,
            Terminates(1, 2, 3))(lambda s, f=change: null_segment(s, msn=f(s.conn.send_msn)))


@segment('ddp-msn-repeated', 'RFC 5041 7.1', 'a Send with the sequence number of the one before it',
         Terminates(1, 2, 3))
def _(s):
    s.end.do_null()
    return null_segment(s, msn=s.conn.send_msn - 1)


for name, sent, offset in (('4', 'offset 4', 4), ('4096', 'the offset where its Receive ends', 4096),
                           ('last', 'offset 2^32 - 1', 0xffffffff)):
    segment('ddp-offset-' + name, 'RFC 5041 7.1', 'the first segment of a Send with ' + sent,
            Terminates(1, 2, 4))(lambda s, n=offset: null_segment(s, offset=n))


def two_segments(name, section, sent, expect, first, second):
    """A case with a Send in two segments. @first and @second make them from the stage and the octets of a call."""
    @segment(name, section, sent, expect)
    def _(s):
        call = null_call(s)
        s.conn.ulpdu(first(s, call))
        return second(s, call)


def part(s, data, offset=0, last=False, **lies):
    return rdmap.untagged(lies.pop('opcode', rdmap.SEND), 0, s.conn.send_msn, data, offset=offset,
                          last=last, **lies)


for name, sent, shift in (('gap', 'a gap between them', 4), ('overlap', 'an overlap', -4),
                          ('restart', 'the second at offset 0 again', -20)):
    two_segments('ddp-segments-' + name, 'RFC 5041 7.1', 'a Send in two segments with ' + sent,
                 Terminates(1, 2, 4), lambda s, call: part(s, call[:20]),
                 lambda s, call, n=shift: part(s, call[20:], 20 + n, last=True))

two_segments('ddp-segments-other-message', 'RFC 5041 7.1', 'a segment of the next Send before the last of this one',
             Terminates(1, 2, 3), lambda s, call: part(s, call[:20]),
             lambda s, call: null_segment(s, msn=s.conn.send_msn + 1))
two_segments('ddp-segments-other-opcode', 'RFC 5040 4.1',
             'a Send whose second segment says Send with Solicited Event', Terminates(0, 2, 6),
             lambda s, call: part(s, call[:20]),
             lambda s, call: part(s, call[20:], 20, last=True, opcode=rdmap.SEND_SE))
two_segments('ddp-segments-too-long', 'RFC 5041 7.1', 'a Send of 4000 and 97 octets for a Receive of 4096',
             Terminates(1, 2, 5), lambda s, call: part(s, bytes(4000)),
             lambda s, call: part(s, bytes(97), 4000, last=True))


@segment('ddp-too-long', 'RFC 5041 7.1', 'a Send of 4097 octets for a Receive of 4096', Terminates(1, 2, 5))
def _(s):
    return s.conn.send_ulpdu(bytes(4097))


@segment('ddp-endless', 'RFC 5041 7.1', 'a Send whose last segment never comes, until the Receive is full',
         Terminates(1, 2, 5))
def _(s):
    for at in range(0, 4096, 512):
        s.conn.ulpdu(part(s, bytes(512), at))
    return part(s, bytes(512), 4096)


@segment('ddp-segments', 'RFC 5041 5.1', 'a call in segments of one octet', Served())
def _(s):
    call = null_call(s)
    for at in range(len(call) - 1):
        s.conn.ulpdu(part(s, call[at:at + 1], at))
    data = part(s, call[-1:], len(call) - 1, last=True)
    s.conn.send_msn += 1
    return data


@segment('ddp-reserved-bits', 'RFC 5041 4.1', 'a call with the reserved bits of the control octet set', Served())
def _(s):
    data = null_segment(s, reserved=0x3c)
    s.conn.send_msn += 1
    return data


@segment('ddp-empty-send', 'rfc5666bis-01 5.1', 'a Send of no octets', Service())
def _(s):
    return s.conn.send_ulpdu(b'')


# --- tagged segments: nothing of the gateway is exposed to this client ---

for name, sent, stag, offset in (('unknown', 'a handle that was never given', 0x12345678, 0),
                                 ('zero', 'handle 0', 0, 0),
                                 ('last', 'handle 2^32 - 1', 0xffffffff, 0),
                                 ('wrap', 'an offset that wraps, and no such handle', 1, (1 << 64) - 8)):
    segment('ddp-write-' + name, 'RFC 5041 7.1', 'a Write of 100 octets to ' + sent,
            Terminates(1, 1, 0))(lambda s, h=stag, o=offset: rdmap.tagged(rdmap.WRITE, h, o, bytes(100)))


@segment('ddp-write-empty', 'RFC 5040 5.1', 'a Write of no octets to a handle that was never given', Service())
def _(s):
    return rdmap.tagged(rdmap.WRITE, 0x12345678, 99, b'')


@segment('ddp-write-own', 'RFC 5041 7.1', "a Write to a handle of the client's own, as the gateway has heard it",
         Terminates(1, 1, 0))
def _(s):
    s.end.do_echo(100)
    return rdmap.tagged(rdmap.WRITE, s.conn.sink(100).handle, 0, bytes(100))


@segment('ddp-write-while-calling', 'RFC 5041 7.1', 'a call, and a Write to a handle never given behind it',
         Terminates(1, 1, 0))
def _(s):
    s.end.call(rpc.call(s.xid, rpc.NEVER))
    return rdmap.tagged(rdmap.WRITE, 7, 0, bytes(100))


@rule('ddp-no-receive', 'RFC 5041 7.1', '60 calls at once, with 8 granted: more than there are Receives',
      Terminates(1, 2, 2))
def _(s):
    data = b''
    for _ in range(60):
        xid = s.end.new_xid()
        data += mpa.fpdu(s.conn.send_ulpdu(v1.message(xid, rpc.call(xid, rpc.NEVER))))
    s.conn.raw(data)
