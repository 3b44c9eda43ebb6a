# SPDX-License-Identifier: BSD-2-Clause
"""Clients whose transport properties are absurd. Sections are those of draft-07."""
import rpc
import v2
from case import table
from expect import Service, V2Error
from xdr import opaque, u32

rule = table('client', 'properties', 'v2-first', 'to-v1')

NAMES = {v2.SBSIZ: 'Maximum Send Size', v2.RBSIZ: 'Receive Buffer Size', v2.RSSIZ: 'Maximum Segment Size',
         v2.RCSIZ: 'Maximum Segment Count', v2.BRS: 'Reverse-Direction Support',
         v2.HOSTAUTH: 'Host Authentication Message'}
BAD_PROPVAL, BAD_XDR = V2Error(v2.ERR_BAD_PROPVAL), V2Error(v2.ERR_BAD_XDR)


class Answered:
    """The gateway's properties come first, then @then."""

    def __init__(self, then):
        self.then = then
        self.text = "the gateway's properties; " + then.text

    def check(self, c):
        m = c.end.expect_msg()
        assert m.proc == v2.PROP_FINAL, '%r instead of CONNPROP_FINAL' % m
        self.then.check(c)


def final(name, section, sent, props, then, **how):
    """A case in which the client's first message is a CONNPROP_FINAL with @props."""
    @rule(name, section, sent, Answered(then), **how)
    def _(s):
        s.xid = s.end.new_xid()
        s.end.send2(s.xid, v2.PROP_FINAL, props)


def prop(which, data):
    return u32(which) + opaque(data)


# --- values that are not of their type: ERR_BAD_PROPVAL ---

for which, title in NAMES.items():
    for length in (1, 3) if which == v2.HOSTAUTH else (1, 3, 8):
        final('prop-%d-length-%d' % (which, length), '5.1', '%s of %d octets' % (title, length),
              v2.properties(prop(which, bytes(length))), BAD_PROPVAL)
final('prop-6-inner', '5.2.6', 'Host Authentication Message whose opaque says more than there is',
      v2.properties(prop(v2.HOSTAUTH, u32(100) + bytes(8))), BAD_PROPVAL)
final('prop-6-inner-huge', '5.2.6', 'Host Authentication Message whose opaque says 2^32 - 1',
      v2.properties(prop(v2.HOSTAUTH, u32(-1))), BAD_PROPVAL)
final('prop-6-trailing', '5.2.6', 'Host Authentication Message with octets behind its opaque',
      v2.properties(prop(v2.HOSTAUTH, opaque(b'abcd') + bytes(4))), BAD_PROPVAL)
for which in (v2.RBSIZ, 99):
    final('prop-%d-beyond' % which, '5.1', 'property %d whose data is longer than the message' % which,
          u32(1, which, 100) + bytes(8), BAD_PROPVAL)
    final('prop-%d-beyond-32' % which, '5.1', 'property %d of 2^32 - 1 octets' % which,
          u32(1, which, -1) + bytes(8), BAD_PROPVAL)

# --- lists that do not parse: ERR_BAD_XDR ---

final('props-cut-0', '7.2.1', 'a CONNPROP_FINAL that ends after its prefix', b'', BAD_XDR)
final('props-count-2', '7.2.1', 'a count of two with one property', u32(2) + v2.prop(v2.RBSIZ, 4096), BAD_XDR)
final('props-count-huge', '7.2.1', 'a count of 2^32 - 1', u32(-1) + v2.prop(v2.RBSIZ, 4096), BAD_XDR)
final('props-count-wraps', '7.2.1', 'a count of 2^29, 2^32 octets at the least',
      u32(1 << 29) + v2.prop(v2.RBSIZ, 4096), BAD_XDR)
final('props-cut-name', '7.2.1', 'a property that ends after its number', u32(1, v2.RBSIZ), BAD_XDR)
final('props-trailing', '7.2.1', 'octets behind the last property', v2.PROPS + bytes(4), BAD_XDR)
final('props-none-trailing', '7.2.1', 'a count of none with a property', u32(0) + v2.prop(v2.RBSIZ, 4096), BAD_XDR)

# --- absurd, and accepted ---

for which, value in ((v2.SBSIZ, 0), (v2.SBSIZ, 0xffffffff), (v2.RBSIZ, 0xffffffff), (v2.RSSIZ, 0xffffffff),
                     (v2.RCSIZ, 0), (v2.RCSIZ, 0xffffffff), (v2.RSSIZ, 0), (v2.BRS, 4), (v2.BRS, 0xffffffff)):
    final('prop-%d-value-%d' % (which, value), '5.2', '%s of %d' % (NAMES[which], value),
          v2.properties(v2.prop(which, value)), Service())
for which in (v2.SBSIZ, v2.RBSIZ, v2.RSSIZ, v2.RCSIZ, v2.BRS, v2.HOSTAUTH):
    final('prop-%d-default' % which, '5.1', '%s of no octets: the default' % NAMES[which],
          v2.properties(prop(which, b'')), Service())
final('prop-unknown', '5.1', 'properties 0, 7 and 2^32 - 1, which do not exist',
      v2.properties(prop(0, b'x'), prop(7, b'abcde'), prop(0xffffffff, b'')), Service())
final('props-none', '5.2', 'no property at all', v2.properties(), Service())
final('props-huge', '5.1', 'an unknown property of 3000 octets', v2.properties(prop(1000, bytes(3000))), Service())
final('props-many', '5.1', '500 unknown properties', v2.properties(*[prop(1000 + i, b'') for i in range(500)]),
      Service())
final('props-auth-long', '5.2.6', 'a Host Authentication Message of 3000 octets',
      v2.properties(prop(v2.HOSTAUTH, opaque(bytes(3000)))), Service())


class Threshold:
    """The gateway divides a reply of 3000 octets into messages of at most @bytes_ octets."""

    def __init__(self, bytes_):
        self.bytes = bytes_
        self.text = 'a reply of 3000 octets comes in messages of %d octets at most' % bytes_

    def check(self, c):
        xid = c.end.new_xid()
        c.end.call(rpc.fill_call(xid, 3000))
        sizes = []
        real = c.conn.recv

        def recv(timeout):
            event = real(timeout)
            sizes.append(len(event.data))
            return event
        c.conn.recv = recv
        assert c.end.expect_reply(xid).results == rpc.fill(3000)
        assert self.bytes - 16 <= max(sizes) <= self.bytes, sizes


for value, bytes_ in ((1024, 1024), (0, 1024), (1, 1024), (1023, 1024), (2048, 2048), (1026, 1026)):
    final('prop-rbsiz-%d' % value, '5.2.2', 'Receive Buffer Size of %d' % value,
          v2.properties(v2.prop(v2.RBSIZ, value)), Threshold(bytes_))
final('prop-rbsiz-last-wins', '5.1', 'Receive Buffer Size twice, 4096 and then 2048',
      v2.properties(v2.prop(v2.RBSIZ, 4096), v2.prop(v2.RBSIZ, 2048)), Threshold(2048))

# --- the order of things ---


@rule('props-split', '6.3.3', 'properties in three CONNPROP_MIDDLE and a FINAL', Answered(Threshold(2048)))
def _(s):
    for part in (v2.prop(v2.SBSIZ, 4096), v2.prop(v2.RBSIZ, 2048)):
        s.end.send2(s.end.new_xid(), v2.PROP_MIDDLE, v2.properties(part))
    s.end.send2(s.end.new_xid(), v2.PROP_FINAL, v2.properties())


def second(name, section, sent, expect, send):
    """A case that begins after a successful negotiation."""
    @rule(name, section, sent, expect, on='v2')
    def _(s):
        s.xid = s.end.new_xid()
        send(s)


CONT = V2Error(v2.ERR_INVAL_CONT)
second('props-again', '6.3.4', 'a second CONNPROP_FINAL', CONT,
       lambda s: s.end.send2(s.xid, v2.PROP_FINAL, v2.PROPS))
second('props-again-middle', '6.3.4', 'a CONNPROP_MIDDLE after the FINAL', CONT,
       lambda s: s.end.send2(s.xid, v2.PROP_MIDDLE, v2.PROPS))
second('props-again-bad', '6.3.4', 'a second CONNPROP_FINAL that does not parse', CONT,
       lambda s: s.end.send2(s.xid, v2.PROP_FINAL, b''))
