# SPDX-License-Identifier: BSD-2-Clause
"""Servers that send invalid messages of the round-trip extension: reports of requests, properties, and unexpected messages.

The cases run over draft -07 and over the early draft. The client speaks version 1. Sections are those of docs/rtrext-profile.md.
"""
import random

import early
import rpc
import rtr
import v1
import v2
from case import table
from expect import AtServer, Closes, EarlyError, Other, Reported, Service, Then, V1Error, V2Error
from rtr import BADTBSN, CONTINUE, PLT, REPORT, REQUEST, RESPONSE, Structure, cont, placed_item, report, request, response
from xdr import Seg, opaque, u32

RULES = {2: table('server', 'round-trip extension over draft -07, servers', 'v1-placed', 'placed'),
         'early': table('server', 'round-trip extension over the early draft, servers', 'v1-early-placed', 'early-placed')}
PREFIX = {2: 'server-rtr-', 'early': 'server-early-rtr-'}
FIRST = rpc.CALL_BYTES + 4
SIZE = 3000

FAILED = V1Error(v1.ERR_CHUNK)  # the only error that version 1 has for this
CUT = Closes('to the client: closed, no reply')
UNKNOWN = {2: AtServer(V2Error(v2.ERR_INVAL_HTYPE, goes_on=False)),
           'early': AtServer(EarlyError(early.ERR_INVAL_OPTION, goes_on=False))}


def case(name, section, sent, expect, only=(2, 'early'), **how):
    def wrap(run):
        for version in only:
            RULES[version](PREFIX[version] + name, section, sent, expect[version] if isinstance(expect, dict) else expect,
                           **how)(run)
        return run
    return wrap


def ask(s):
    """Makes a call with a Read chunk, and waits until the gateway has read it."""
    s.xid = s.server_xid = s.end.new_xid()
    s.data = random.randbytes(SIZE)
    before = s.end.conn.reads_seen
    s.end.call(rpc.sum_call(s.xid, u32(SIZE)), [(FIRST, s.end.conn.expose(s.data))])
    while s.end.conn.reads_seen == before:
        event = s.end.conn.step()
        assert not event, '%r instead of a Read' % (event,)


def call(s):
    """Makes a call, which reaches the server with its data in the same Send. Return: the message that the server got."""
    ask(s)
    m = s.server.expect_msg(s.xid)
    assert m.rtr and m.rtr.op == REQUEST, '%r instead of a Transmit Request' % m
    assert rtr.ROOMY.collect(m, [m]) == {FIRST: s.data}, 'the data'
    return m


def right(s, xid=None):
    s.server.reply(rpc.reply(s.xid, rpc.total(s.data)), xid=s.xid)


class Again:
    """The gateway sends the call again in a form of the base protocol, and the calls after it, too."""
    text = 'to the server: the call once more, with a Read chunk, and so the next one; to the client: their replies'

    def check(self, c):
        self.once(c)
        ask(c)
        self.once(c)
        c.goes_on()

    def once(self, c):
        m = c.server.expect_msg(c.xid)
        assert not m.rtr and [position for position, _ in m.reads] == [FIRST], '%r instead of a Read chunk' % m
        assert c.server.conn.read(m.reads[0][1]) == c.data, 'the data'
        right(c)
        assert c.end.expect_reply(c.xid).results == rpc.total(c.data)


class Summed:
    """The client gets its reply."""
    text = 'the RPC reply; the next call is answered'

    def check(self, c):
        assert c.end.expect_reply(c.xid).results == rpc.total(c.data)
        c.goes_on()


def answers(section, expect, *rows, **how):
    """Makes cases of each row: name, the server's answer, a function that sends it."""
    for name, sent, play in rows:
        def run(s, play=play):
            call(s)
            play(s)
        case(name, section, sent, expect, **how)(run)


def say(s, data, xid=None, direction=rtr.REPLY):
    s.server.rtr(REPORT, data, xid=s.xid if xid is None else xid, direction=direction)


def bad(s):
    return s.xid, rtr.CALL, 0


# --- valid answers, which show that the others fail only for their fault ---

answers('5', Summed(), ('right', 'the right reply', right))

# --- reports of every kind ---

WORDS = {1: (0x52540007, 10), 2: (7, 5), 3: (), 4: (1, 1), 5: (1, 2), 6: (0, 0, 65532), 7: (0, 0, 0), 8: (44, 0, 44)}
for code, words in WORDS.items():
    answers('8', Again(), ('report-%d' % code, 'OPTRERR_%s about the request' % rtr.CODES[code],
                           lambda s, code=code, words=words: say(s, report(bad(s), code, *words))))
    answers('8', Again(), ('report-lead-%d' % code, 'OPTRERR_%s about the request, with itself as what led to it' %
                           rtr.CODES[code],
                           lambda s, code=code, words=words: say(s, report(bad(s), code, *words, lead=bad(s)))))
answers(
    '8', Again(),
    ('report-number', 'a report about transmission 2^32 - 1 of the request',
     lambda s: say(s, report((s.xid, 0, 0xffffffff), BADTBSN, 0, 0, 0))),
    ('report-of-other', 'a report with the XID of the request, about another in its identifier',
     lambda s: say(s, report((s.xid ^ 1, 0, 0), BADTBSN, 0, 0, 0))),
    ('report-words', 'a report whose words are 2^32 - 1', lambda s: say(s, report(bad(s), BADTBSN, -1, -1, -1))),
)
answers('8', Again(), ('report-credit', 'a report that grants no credits',
                       lambda s: s.server.send(early.option(s.xid, REPORT, report(bad(s), 3), rtr.REPLY, credit=0))),
        only=['early'])
answers('8', Again(), ('report-direction', 'a report of direction CALL',
                       lambda s: say(s, report(bad(s), BADTBSN, 0, 0, 0), direction=rtr.CALL)), only=['early'])


def twice(s, data):
    with s.server.conn.together():
        say(s, data)
        say(s, data)


def then_right(s, data):
    say(s, data)
    right(s)


# What does not parse says nothing; the reply counts.
for name, sent, make in (
        ('cut-0', 'of no octets', lambda s: b''),
        ('cut-12', 'that ends after its identifier', lambda s: report(bad(s), 3)[:12]),
        ('cut-16', 'that ends before its code', lambda s: report(bad(s), 3)[:16]),
        ('cut-24', 'that ends in its words', lambda s: report(bad(s), BADTBSN, 0, 0, 0)[:24]),
        ('cut-lead', 'that ends in what led to it', lambda s: report(bad(s), 3, lead=bad(s))[:20]),
        ('code-0', 'with code 0', lambda s: report(bad(s), 0)),
        ('code-9', 'with code 9', lambda s: report(bad(s), 9, 1, 2, 3)),
        ('code-last', 'with code 2^32 - 1', lambda s: report(bad(s), -1)),
        ('direction-2', 'about direction 2', lambda s: report((s.xid, 2, 0), 3)),
        ('lead-flag-2', 'whose discriminator is 2', lambda s: u32(*bad(s), 2, 3)),
        ('lead-direction', 'with a direction of 2 in what led to it', lambda s: report(bad(s), 3, lead=(s.xid, 2, 0)))):
    answers('3', Summed(), ('report-' + name, 'a Report Error ' + sent + ', then the right reply',
                            lambda s, make=make: then_right(s, make(s))), only=[2])

# --- other words about the request's form ---

answers('8', Again(), ('inval-htype', 'RDMA2_ERR_INVAL_HTYPE', lambda s: s.server.error(v2.ERR_INVAL_HTYPE, xid=s.xid)),
        ('bad-xdr', 'RDMA2_ERR_BAD_XDR', lambda s: s.server.error(v2.ERR_BAD_XDR, xid=s.xid)),
        ('inval-cont', 'RDMA2_ERR_INVAL_CONT', lambda s: s.server.error(v2.ERR_INVAL_CONT, xid=s.xid)),
        ('read-chunks', 'RDMA2_ERR_READ_CHUNKS with 1', lambda s: s.server.error(v2.ERR_READ_CHUNKS, 1, xid=s.xid)),
        ('segments', 'RDMA2_ERR_SEGMENTS with 16', lambda s: s.server.error(v2.ERR_SEGMENTS, 16, xid=s.xid)), only=[2])
answers('8', Again(), ('inval-option', 'RDMA2_ERR_INVAL_OPTION',
                       lambda s: s.server.error(early.ERR_INVAL_OPTION, xid=s.xid)), only=['early'])
answers('8', FAILED, ('system', 'RDMA2_ERR_SYSTEM', lambda s: s.server.error(v2.ERR_SYSTEM, xid=s.xid)),
        only=[2])

# --- about something else ---

def plain(s):
    """Makes a call in a form of the base protocol, which is then at the server."""
    s.xid = s.server_xid = s.end.new_xid()
    s.data = b''
    s.end.call(rpc.sum_call(s.xid, opaque(b'')))
    m = s.server.expect_msg(s.xid)
    assert not m.rtr, m


@case('report-of-plain', '8', 'a report about a call of the base protocol, then its reply', Summed())
def _(s):
    plain(s)
    then_right(s, report(bad(s), 3))


for flip in (1, 0x1000):
    @case('report-of-nothing-%d' % flip, '8', 'a report with the XID of no call, which differs in %#x, then the right reply' % flip,
          Summed())
    def _(s, flip=flip):
        call(s)
        say(s, report(bad(s), 3), xid=s.xid ^ flip)
        right(s)


@case('report-late', '8', 'a report about a request that was answered', Service())
def _(s):
    call(s)
    right(s)
    assert s.end.expect_reply(s.xid).results == rpc.total(s.data)
    say(s, report(bad(s), 3))


@case('report-and-reply', '8', 'a report about the request, and its reply, in one flush',
      Other('the client has one reply, or is cut off; other sessions go on'))
def _(s):
    call(s)
    with s.server.conn.together():
        say(s, report(bad(s), 3))
        right(s)


@case('report-twice', '8', 'the same report twice in one flush',
      Other('the call goes once more, or fails, or the client is cut off; other sessions go on'))
def _(s):
    call(s)
    twice(s, report(bad(s), 3))


@case('report-again', '8', 'a report about the request, one about the call as the base protocol has it, then its reply',
      Summed())
def _(s):
    call(s)
    say(s, report(bad(s), 3))
    assert not s.server.expect_msg(s.xid).rtr
    say(s, report(bad(s), 3))
    right(s)


# --- unasked ---

def unasked(name, section, sent, play, told=UNKNOWN, **how):
    """A case with an unexpected message: the server gets a report, and its reply is passed on."""
    def run(s):
        call(s)
        play(s)
        right(s)
    for version in how.pop('only', (2, 'early')):
        case(name, section, sent + ', then the right reply', Then(told[version], Summed()), only=[version], **how)(run)


unasked('response', '2', 'a Transmit Response, although nobody takes any',
        lambda s: s.server.rtr(RESPONSE, response(24), rpc.reply(s.xid), xid=s.xid, direction=rtr.REPLY), only=[2])
unasked('response-placed', '2', 'a Transmit Response with an item in a segment',
        lambda s: s.server.rtr(RESPONSE, response(24, [placed_item(28, 4, 0)]), rpc.reply(s.xid), xid=s.xid,
                               direction=rtr.REPLY), only=[2])
unasked('response-exposed', '2', 'a Transmit Response with an item in memory that was not offered',
        lambda s: s.server.rtr(RESPONSE, response(24, [rtr.exposed_item(28, 4, [Seg(7, 4, 0)])]), rpc.reply(s.xid),
                               xid=s.xid, direction=rtr.REPLY), only=[2])
unasked('response-group', '4', 'a Transmit Response of a group of two',
        lambda s: s.server.rtr(RESPONSE, response(24, count=2), rpc.reply(s.xid), xid=s.xid, direction=rtr.REPLY), only=[2])
unasked('continue', '2', 'a Transmit Continue of nothing',
        lambda s: s.server.rtr(CONTINUE, cont(1, RESPONSE), xid=s.xid, direction=rtr.REPLY),
        told={**UNKNOWN, 'early': AtServer(Reported(rtr.BADCONT, number=1, of=rtr.REPLY, goes_on=False))})
unasked('request', '2', 'a Transmit Request of its own',
        lambda s: s.server.rtr(REQUEST, request(40), rpc.call(s.xid), xid=s.xid))


@case('long', '2', 'a reply that is longer than 4096 octets, as if there were a second segment',
      CUT)
def _(s):
    call(s)
    s.server.reply(rpc.reply(s.xid, rpc.total(s.data)) + bytes(5000), xid=s.xid)


# --- replies to a request that are not right ---

for name, sent, make in (('write-chunk', 'a reply with a Write chunk, and a request offers none', lambda s: [[Seg(7, 4, 0)]]),
                         ('write-empty', 'a reply with a Write chunk without segments', lambda s: [[]])):
    @case(name, '6', sent, CUT)
    def _(s, make=make):
        call(s)
        s.server.reply(rpc.reply(s.xid, rpc.total(s.data)), make(s), xid=s.xid)


# --- credits ---

@case('credit-kept', '1', 'grants two, and three calls with data wait',
      Other('two requests at the server; the third after a reply'), only=['early'])
def _(s):
    call(s)
    s.server.send(early.answer(s.xid, rpc.reply(s.xid, rpc.total(s.data)), credit=2))
    s.end.expect_reply(s.xid)
    xids = []
    for _ in range(3):
        ask(s)
        xids.append(s.xid)
    for xid in xids[:2]:
        s.server.expect_msg(xid)
    s.route.check_witness()
    s.server.send(early.answer(xids[0], rpc.reply(xids[0]), credit=2))
    s.server.expect_msg(xids[2])
    s.end.expect_reply(xids[0])


# --- what servers say of themselves ---

def told(name, sent, expect, *props):
    """A case with a server that has these properties, and a call with data."""
    @RULES[2]('server-rtr-prop-' + name, '7', sent, expect, on='nothing')
    def _(s):
        s.knock()
        s.come(2, v2.properties(*v2.BASE, *props))
        s.enter(1)
        ask(s)


class Fetched:
    """The server gets the call with a Read chunk."""

    def __init__(self, error=None):
        self.error = error
        self.text = '%sto the server: the call with a Read chunk; to the client: its reply' % (
            'RDMA2_%s, the XID; ' % v2.NAMES[error] if error else '')

    def check(self, c):
        m = c.server.expect_msg()
        if self.error:
            assert m.error == [self.error], m
            m = c.server.expect_msg(c.xid)
        assert not m.rtr and [p for p, _ in m.reads] == [FIRST], '%r instead of a Read chunk' % m
        assert c.server.conn.read(m.reads[0][1]) == c.data
        right(c)
        assert c.end.expect_reply(c.xid).results == rpc.total(c.data)


class Sent:
    """The server gets the call with its data in the same Send."""

    def __init__(self, structure):
        self.structure = structure
        self.text = 'to the server: a Transmit Request with the data where they belong; to the client: its reply'

    def check(self, c):
        m = c.server.expect_msg(c.xid)
        assert m.rtr, '%r instead of a Transmit Request' % m
        assert self.structure.collect(m, [m]) == {FIRST: c.data}
        right(c)
        assert c.end.expect_reply(c.xid).results == rpc.total(c.data)


def structure(*words):
    return u32(rtr.STRUCTURE) + opaque(u32(*words))


TAKES, BOX = v2.prop(rtr.SUPPORT, 1), (1, 4096, 1, 0)
for name, sent, props in (
        ('none', 'RTR Support alone', [TAKES]),
        ('unsaid', 'a structure, and no RTR Support', [structure(12288, 2, *BOX, 1, 8192, 1, PLT)]),
        ('responses', 'a structure, and RTR Support for responses and continues alone',
         [v2.prop(rtr.SUPPORT, 6), structure(12288, 2, *BOX, 1, 8192, 1, PLT)]),
        ('short', 'a targetable segment one octet shorter than the data',
         [TAKES, structure(4096 + SIZE - 1, 2, *BOX, 1, SIZE - 1, 1, PLT)]),
        ('octets', '65536 targetable segments of an octet', [TAKES, structure(4096 + 65536, 2, *BOX, 65536, 1, 1, PLT)]),
        ('targets', '2^31 targetable segments of an octet', [TAKES, structure(4096 + (1 << 31), 2, *BOX, 1 << 31, 1, 1, PLT)]),
        ('far', 'a targetable segment behind a MiB of others',
         [TAKES, structure((1 << 20) + 8192, 2, 1, 1 << 20, 1, 0, 1, 8192, 1, PLT)]),
        ('end', 'a targetable segment that ends at octet 2^32 - 1, all before it is others',
         [TAKES, structure(-1, 2, 1, 0xffffffff - SIZE - 500, 1, 0, 1, SIZE + 500, 1, PLT)]),
        ('taken', 'a targetable segment of 40 octets before anything else, which the header takes',
         [TAKES, structure(40 + 4096, 2, 1, 40, 1, PLT, *BOX)]),
        ('tiny', 'Receives of one octet', [TAKES, structure(1, 1, 1, 1, 1, PLT)]),
        ('default', 'a structure of no octets behind a right one', [TAKES, structure(12288, 2, *BOX, 1, 8192, 1, PLT),
                                                                    u32(rtr.STRUCTURE, 0)])):
    told(name, sent, Fetched(), *props)
GAPS = ((1, 1024, 1, 0), (1, 2048, 1, PLT), (1, 2048, 1, 0), (1, 2048, 1, PLT), (1, 2048, 1, 0))
told('gaps', 'segments with others between them, each shorter than the data', Sent(Structure(*GAPS)), TAKES,
     structure(1024 + 4 * 2048, 5, *[word for group in GAPS for word in group]))
for name, sent, words in (('sum', 'a structure that does not add up', (12287, 2, *BOX, 1, 8192, 1, PLT)),
                          ('wraps', 'a structure of 2^32 octets', (0, 1, 1 << 16, 1 << 16, 1, PLT)),
                          ('align', 'an alignment of 3', (12288, 2, *BOX, 1, 8192, 3, PLT)),
                          ('empty', 'a structure of no groups', (0, 0))):
    told('bad-' + name, sent, Fetched(v2.ERR_BAD_PROPVAL), TAKES, structure(*words))
for name, sent, groups in (
        ('pages', 'targetable segments of 512 octets', [(1, 1024, 1, 0), (8, 512, 512, PLT)]),
        ('odd', 'targetable segments of 1001 octets behind one of 997', [(1, 997, 1, 0), (4, 1001, 1, PLT)]),
        ('first', 'targetable segments of which the header takes some', [(30, 200, 1, PLT)]),
        ('flags', 'flags that mean nothing beside the one that does', [(1, 4096, 1, 0xfffffffe), (1, 8192, 1, 0xffffffff)])):
    told(name, sent, Sent(Structure(*groups)), v2.prop(rtr.SUPPORT, 0xffffffff),
         u32(rtr.STRUCTURE) + opaque(Structure(*groups).value()))
