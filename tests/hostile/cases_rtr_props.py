# SPDX-License-Identifier: BSD-2-Clause
"""Clients whose properties of the round-trip extension are absurd (docs/rtrext-profile.md, sections 2 and 7)."""
import rpc
import rtr
import v2
from case import table
from cases_props import Answered, prop
from expect import Service, V2Error
from rtr import CHOICE, EXRW, PLT, REQUEST, REQUEST_LIMIT, RESPONSE, RESPONSE_LIMIT, STRUCTURE, SUPPORT, TBSN
from xdr import opaque, u32

rule = table('client', 'properties of the round-trip extension', 'v2-first', 'rtr')

BAD = V2Error(v2.ERR_BAD_PROPVAL)
NAMES = {SUPPORT: 'RTR Support', STRUCTURE: 'Receive Buffer Structure', REQUEST_LIMIT: 'Request Transmission Receive Limit',
         RESPONSE_LIMIT: 'Response Transmission Send Limit'}
SHORT = {SUPPORT: 'support', STRUCTURE: 'structure', REQUEST_LIMIT: 'requests', RESPONSE_LIMIT: 'responses'}


def final(name, section, sent, then, *props, **how):
    """A case in which the client's first message is a CONNPROP_FINAL with @props."""
    @rule('rtr-prop-' + name, section, sent, Answered(then), **how)
    def _(s):
        s.xid = s.end.new_xid()
        s.end.send2(s.xid, v2.PROP_FINAL, v2.properties(*props))


def structure(name, sent, then, *words, **how):
    final('structure-' + name, '7', 'a structure ' + sent, then, prop(STRUCTURE, u32(*words)), **how)


# --- of another length ---

for which, title in NAMES.items():
    for length in (1, 3, 4, 12) if which == STRUCTURE else (1, 3, 5, 8):
        final('%s-length-%d' % (SHORT[which], length), '2', '%s of %d octets' % (title, length), BAD,
              prop(which, bytes(length)))
    final('%s-default' % SHORT[which], '2', '%s of no octets: the default' % title, Service(), prop(which, b''))
for which in (SUPPORT, REQUEST_LIMIT, RESPONSE_LIMIT):
    for value in (0, 8, 0xffffffff):
        final('%s-value-%d' % (SHORT[which], value), '2', '%s of %d' % (NAMES[which], value), Service(),
              v2.prop(which, value))
    final('%s-twice' % SHORT[which], '2', '%s twice' % NAMES[which], Service(), v2.prop(which, 1), v2.prop(which, 7))
for which in (rtr.HTYPES, rtr.HTYPES + 2, rtr.HTYPES + 7, rtr.HTYPES + 0xffff):
    final('%08x' % which, '2', 'property 0x%08x, which is none, of 5 octets' % which, Service(), prop(which, b'abcde'))

# --- structures ---

BOX, PAGE = (1, 4096, 1, 0), (1, 8192, 4096, PLT)
for name, sent, words in (
        ('none', 'of no groups', (0, 0)),
        ('sum-more', 'whose length is one octet too many', (12289, 2, *BOX, *PAGE)),
        ('sum-less', 'whose length is one octet too few', (12287, 2, *BOX, *PAGE)),
        ('sum-0', 'of length 0', (0, 2, *BOX, *PAGE)),
        ('groups-more', 'of three groups, and two are there', (12288, 3, *BOX, *PAGE)),
        ('groups-less', 'of one group, and two are there', (4096, 1, *BOX, *PAGE)),
        ('groups-huge', 'of 2^32 - 1 groups', (12288, -1, *BOX, *PAGE)),
        ('groups-wraps', 'of 2^28 groups, 2^32 octets', (12288, 1 << 28, *BOX, *PAGE)),
        ('count-0', 'with a group of no segments', (8192, 2, 0, 4096, 1, 0, *PAGE)),
        ('length-0', 'with segments of no octets', (8192, 2, 1, 0, 1, 0, *PAGE)),
        ('align-3', 'with an alignment of 3', (12288, 2, 1, 4096, 3, 0, *PAGE)),
        ('align-last', 'with an alignment of 2^32 - 1', (12288, 2, 1, 4096, -1, 0, *PAGE)),
        ('wraps', 'of 2^16 segments of 2^16 octets, and a length of 0', (0, 1, 1 << 16, 1 << 16, 1, PLT)),
        ('wraps-sum', 'of two groups of 2^31 octets, and a length of 0', (0, 2, 1, 1 << 31, 1, 0, 1, 1 << 31, 1, PLT)),
        ('wraps-both', 'of 2^32 - 1 segments of 2^32 - 1 octets, and a length of 1', (1, 1, -1, -1, 1, PLT)),
        ('cut', 'that ends in its second group', (12288, 2, *BOX, 1, 8192)),
        ('trailing', 'with a word behind it', (12288, 2, *BOX, *PAGE, 0))):
    structure(name, sent, BAD, *words)
for name, sent, words in (
        ('right', 'of 4 KiB, and 8 KiB that are targetable', (12288, 2, *BOX, *PAGE)),
        ('plain', 'of one segment that is not targetable', (4096, 1, *BOX)),
        ('align-0', 'with an alignment of 0, which counts as 1', (12288, 2, 1, 4096, 0, 0, *PAGE)),
        ('align-31', 'with an alignment of 2^31', (12288, 2, 1, 4096, 1 << 31, 0, *PAGE)),
        ('flags', 'with all flags but the one that means something', (4096, 1, 1, 4096, 1, 0xfffffffe)),
        ('octets', 'of 4096 targetable segments of an octet', (4096, 1, 4096, 1, 1, PLT)),
        ('targets', 'of 65537 targetable segments, one more than are held', (65537, 1, 65537, 1, 1, PLT)),
        ('targets-most', 'of 2^32 - 1 targetable segments', (-1, 1, -1, 1, 1, PLT)),
        ('groups-17', 'of 17 groups, one more than are held', (17 * 4096, 17, *BOX * 17)),
        ('small', 'of one octet', (1, 1, 1, 1, 1, PLT))):
    structure(name, sent, Service(), *words)

# --- where nothing of it is configured they are not known ---

for name, data in (('support', prop(SUPPORT, bytes(3))), ('structure', prop(STRUCTURE, u32(1, 1)))):
    final('off-' + name, '2', 'a bad %s where no receive_structure is configured' % name, Service(), data, route='to-v1')


@rule('rtr-prop-split', '2', 'the structure in a CONNPROP_MIDDLE, RTR Support in the FINAL', Answered(Service()))
def _(s):
    s.end.send2(s.end.new_xid(), v2.PROP_MIDDLE, v2.properties(prop(STRUCTURE, u32(12288, 2, *BOX, *PAGE))))
    s.end.send2(s.end.new_xid(), v2.PROP_FINAL, v2.properties(v2.prop(SUPPORT, 1)))


@rule('rtr-prop-again', '6.3.4', 'the structure once more, after the properties were complete',
      V2Error(v2.ERR_INVAL_CONT), on='v2')
def _(s):
    s.xid = s.end.new_xid()
    s.end.send2(s.xid, v2.PROP_FINAL, v2.properties(prop(STRUCTURE, u32(12288, 2, *BOX, *PAGE))))


# --- segments that no Send reaches, and an answer that is wanted there ---

SIZE = 400
FAR = u32(-1, 2, 1, 0xffffffff - 1024, 1, 0, 1, 1024, 1, PLT)


class Written:
    """A Transmit Response comes, whose item was written to the memory that the direction offered."""
    text = 'a Transmit Response, %d octets written by RDMA; the next call is answered' % SIZE

    def check(self, c):
        m = c.end.expect_msg(c.xid)
        assert m.rtr and m.rtr.op == RESPONSE, '%r instead of a Transmit Response' % m
        assert [(i.type, i.length) for i in m.rtr.items] == [(EXRW, SIZE)], m.rtr
        assert c.conn.memory(c.back) == rpc.echo(bytes(SIZE)), 'the octets'
        c.goes_on()


def wanted(name, sent, expect, kind, offers):
    @rule('rtr-prop-structure-far-' + name, '6', 'a structure whose targetable segment begins 1024 octets before 2^32, RTR Support '
          'for responses, and an ECHO of %d octets with a direction %s' % (SIZE, sent), expect)
    def _(s):
        s.end.negotiate(v2.properties(v2.prop(SUPPORT, 2), u32(STRUCTURE) + opaque(FAR)))
        s.xid = s.end.new_xid()
        s.back = s.conn.sink(SIZE)
        body = rpc.echo_call(s.xid, bytes(SIZE))
        direction = rtr.wish(1, kind, [s.back] if offers else None)
        s.end.rtr(REQUEST, rtr.request(len(body), sets=[rtr.wishes(0, len(body), direction)]), body)


wanted('choice', 'CHOICE', Written(), CHOICE, True)
wanted('sent', 'TBSN', V2Error(v2.ERR_WRITE_RESOURCE, 1, SIZE), TBSN, False)
