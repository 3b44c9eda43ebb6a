# SPDX-License-Identifier: BSD-2-Clause
"""Servers that send invalid Transmit Responses, over draft -07 and over the early draft.

The client speaks version 1 or the early draft, and offers a Write chunk. The gateway turns the Write chunk into directions.
Sections are those of docs/rtrext-profile.md.
"""
import early
import rpc
import rtr
import v1
import v2
from case import table
from cases_rtr import BOX, ROOM
from cases_server_v1 import Returned
from expect import AtServer, Closes, EarlyError, Reported, Then, V1Error
from rtr import (BADHMT, BADOFF, BADOMT, BADPL, BADSEQ, BADTBSN, BYSIZE, CHOICE, CONTINUE, NOITEM, REPLY, REQUEST, RESPONSE,
                 TBSN, TOOSHORT, bare,
                 exposed_item, placed_item, response)
from stage import OPENERS
from xdr import Seg, opaque, u32

RULES = {2: table('server', 'responses of the round-trip extension', 'v1-asked', 'asked'),
         'early': table('server', 'responses of the round-trip extension over the early draft', 'early-asked', 'early-placed')}
PREFIX = {2: 'server-asked-', 'early': 'server-early-asked-'}
SIZE = 400
MOST = 8                    # transmissions of a response that the gateway takes
AT = rpc.REPLY_BYTES + 4    # Position of the result's octets
FAILED = {2: V1Error(v1.ERR_CHUNK), 'early': EarlyError(early.ERR_BAD_HEADER)}   # the only error that the client's version has for this
CUT = Closes('to the client: closed, no reply')


def told(*words, **where):
    """The server gets a report of the error, and the client an error for its call."""
    return {version: Then(AtServer(Reported(*words, of=REPLY, goes_on=False, **where)), failed)
            for version, failed in FAILED.items()}


def call(s):
    """Makes a call that offers a Write chunk of SIZE octets. It reaches the server as a Transmit Request with one direction."""
    s.xid = s.server_xid = s.end.new_xid()
    s.back = s.end.conn.sink(SIZE)
    s.end.call(rpc.echo_call(s.xid, bytes(SIZE)), (), [[s.back]])
    m = s.server.expect_msg(s.xid)
    assert m.rtr and m.rtr.op == REQUEST and len(m.rtr.sets) == 1, '%r instead of a direction' % m
    (_, _, (s.wish,)), = m.rtr.sets
    assert s.wish.type in (TBSN, CHOICE), s.wish
    assert m.rtr.reserved == (MOST if s.server.version == 2 else 1), m.rtr


def stream(s):
    return rpc.reply(s.xid, u32(SIZE))


def answer(s, *items, payload=None, body=None, data=rpc.fill(SIZE), count=1, at=BOX):
    body = stream(s) if body is None else body
    head = response(len(body) if payload is None else payload, items, count)
    taken = rtr.FIXED[s.server.version] + len(head) + len(body)
    s.server.rtr(RESPONSE, head, rtr.pad_to(taken, body, [(at, data)] if data else []), xid=s.xid, direction=REPLY)


def rule(name, section, sent, expect, only=(2, 'early')):
    """Makes a case over draft -07, and one over the early draft, of a function that sends."""
    def wrap(run):
        for version in only:
            one = expect[version] if isinstance(expect, dict) else expect
            RULES[version](PREFIX[version] + name, section, sent, one)(run)
        return run
    return wrap


def answers(section, expect, *rows, **how):
    for name, sent, play in rows:
        @rule(name, section, sent, expect, **how)
        def _(s, play=play):
            call(s)
            play(s)


def head(s, octets):
    s.server.rtr(RESPONSE, octets, xid=s.xid, direction=REPLY)


answers('6', Returned(SIZE), ('right', 'the data in the targetable segment', lambda s: answer(s, placed_item(AT, SIZE, 0))),
        ('right-unknown', 'the same, at a Position that is not known', lambda s: answer(s, placed_item(0, SIZE, 0))))
answers('6', Returned(100), ('right-shorter', '100 octets for 400', lambda s: answer(s, placed_item(AT, 100, 0), data=rpc.fill(100))))
answers(
    '3', FAILED,
    ('empty', 'a Transmit Response of no octets', lambda s: head(s, b'')),
    ('cut-item', 'a response that ends in its item', lambda s: head(s, response(28, [placed_item(AT, SIZE, 0)])[:20])),
    ('cut-count', 'a response that ends before its count', lambda s: head(s, response(28, [placed_item(AT, SIZE, 0)])[:28])),
    ('items-huge', 'a count of items of 2^32 - 1', lambda s: head(s, u32(-1) + placed_item(AT, SIZE, 0) + u32(1, 28))),
    ('items-more', 'a count of two items, and one is there', lambda s: head(s, u32(2) + placed_item(AT, SIZE, 0))),
    ('numbers-huge', 'an item of 2^32 - 1 segment numbers', lambda s: head(s, u32(1, AT, SIZE, TBSN, 0, -1, 0, 1, 28))),
    ('numbers-none', 'an item of no segment', lambda s: answer(s, placed_item(AT, SIZE))),
    ('count-0', 'a group of no transmissions', lambda s: answer(s, placed_item(AT, SIZE, 0), count=0)),
    ('type-0', 'an item of type 0', lambda s: answer(s, bare(AT, SIZE, 0))),
    ('type-choice', 'an item of type CHOICE, a direction', lambda s: answer(s, bare(AT, SIZE, CHOICE))),
    ('type-bysize', 'an item of type BYSIZE, a direction', lambda s: answer(s, bare(AT, SIZE, BYSIZE))),
    ('type-7', 'an item of type 7', lambda s: answer(s, bare(AT, SIZE, 7))),
    ('type-last', 'an item of type 2^32 - 1', lambda s: answer(s, bare(AT, SIZE, -1))),
    ('stream-none', 'a response without payload stream', lambda s: answer(s, placed_item(AT, SIZE, 0), payload=0, body=b'')),
    ('stream-xid', 'a response whose payload stream has another XID',
     lambda s: answer(s, placed_item(AT, SIZE, 0), body=rpc.reply(s.xid ^ 1, u32(SIZE)))),
    ('position-odd', 'an item at Position 30', lambda s: answer(s, placed_item(30, SIZE, 0))),
    ('position-header', "an item at Position 20, within the reply's header", lambda s: answer(s, placed_item(20, SIZE, 0))),
    ('position-behind', 'an item four octets behind the end of the reply', lambda s: answer(s, placed_item(AT + 4, SIZE, 0))),
    ('position-last', 'an item at Position 2^32 - 4', lambda s: answer(s, placed_item(0xfffffffc, SIZE, 0))),
)
answers('5', told(BADTBSN, 1, 0, 0), ('number-1', 'segment 1, where 0 is the only one', lambda s: answer(s, placed_item(AT, SIZE, 1))))
answers('5', told(BADTBSN, 0xffffffff, 0, 0), ('number-last', 'segment 2^32 - 1',
                                              lambda s: answer(s, placed_item(AT, SIZE, 0xffffffff))))
answers('5', told(BADTBSN, 0, 1, 0), ('number-again', 'the same segment twice', lambda s: answer(s, placed_item(AT, SIZE, 0, 0))))
answers('5', told(BADTBSN, 0, 0, 0),
        ('not-there', 'an item in the segment of a message that ends before it', lambda s: answer(s, placed_item(AT, SIZE, 0), data=b'')),
        ('length-more', 'an item one octet longer than the message', lambda s: answer(s, placed_item(AT, SIZE + 1, 0))))
answers('5', told(BADTBSN, 0, 1, 0xffffffff), ('length-segment', 'an item longer than its segment',
                                               lambda s: answer(s, placed_item(AT, ROOM + 1, 0))))
for offset in (2, ROOM, 0xfffffffc):
    answers('5', told(BADOFF, offset, 0, ROOM - 4), ('offset-%d' % offset, 'an item from offset %d on' % offset,
                                                     lambda s, o=offset: answer(s, placed_item(AT, SIZE, 0, offset=o))))
answers('4', told(BADPL, 99, 0, 28), ('stream-longer', 'a payload stream of 99 octets, where 28 are left',
                                      lambda s: answer(s, placed_item(AT, SIZE, 0), payload=99, data=b'')))


# --- groups ---

def more(s, number=1, data=b'', stream=b'', payload=None, kind=RESPONSE + rtr.HTYPES):
    body = rtr.cont(number, kind, len(stream) if payload is None else payload)
    taken = rtr.FIXED[2] + len(body) + len(stream)
    s.server.rtr(CONTINUE, body, rtr.pad_to(taken, stream, [(BOX, data)] if data else []), xid=s.xid)


def begin(s, count=2, number=1):
    """Sends the first transmission of a group whose item is in transmission @number."""
    answer(s, placed_item(AT, SIZE, number), data=b'', count=count)


answers('4', Returned(SIZE),
        ('group', 'a group of two, the data in the second', lambda s: (begin(s), more(s, data=rpc.fill(SIZE)))),
        ('group-empty', 'a group of three, the data in the first, nothing in the others',
         lambda s: (answer(s, placed_item(AT, SIZE, 0), count=3), more(s), more(s, 2))),
        ('group-all', 'a group of %d, the data in the last' % MOST,
         lambda s: (begin(s, MOST, MOST - 1), [more(s, i) for i in range(1, MOST - 1)], more(s, MOST - 1, rpc.fill(SIZE)))),
        ('group-stream', 'a payload stream in three parts',
         lambda s: (answer(s, placed_item(AT, SIZE, 2), body=stream(s)[:4], data=b'', count=3), more(s, 1, stream=stream(s)[4:12]),
                    more(s, 2, rpc.fill(SIZE), stream(s)[12:]))), only=[2])
for n in (MOST + 1, 0xffffffff):
    answers('4', told(BADSEQ, MOST, n), ('group-%d' % n, 'a group of %d' % n, lambda s, n=n: begin(s, n)), only=[2])
    answers('4', told(BADSEQ, 1, n), ('group-%d' % n, 'a group of %d, where each call keeps one Receive' % n,
                                      lambda s, n=n: begin(s, n)), only=['early'])
for name, sent, want, play in (
        ('order', 'the second continue first', (BADSEQ, 1, 2, 2), lambda s: (begin(s, 3), more(s, 2), more(s, 1))),
        ('again', 'a continue twice', (BADSEQ, 2, 1, 1), lambda s: (begin(s, 3, 2), more(s), more(s), more(s, 2))),
        ('long', 'a continue whose payload stream is not there', (BADPL, 8, 0, 0, 1), lambda s: (begin(s), more(s, payload=8))),
        ('word', 'a part that ends within a word, though more is to come', (BADPL, 2, 0, 2, 1),
         lambda s: (begin(s, 3, 2), more(s, stream=b'ab'), more(s, 2, rpc.fill(SIZE)))),
        ('short', 'an item that is not in its transmission', (BADTBSN, 1, 1, 1, 1), lambda s: (begin(s), more(s)))):
    answers('4', told(*want[:-1], number=want[-1], lead=0), ('group-' + name, sent, play), only=[2])
answers('4', told(BADSEQ, 1, 0, number=0, lead=0), ('group-number-0', 'a continue with the number 0',
                                                    lambda s: (begin(s), more(s, 0))), only=[2])
for kind in (RESPONSE, REQUEST + rtr.HTYPES, 0):
    answers('4', told(BADOMT, RESPONSE + rtr.HTYPES, kind, number=1, lead=0),
            ('group-kind-%d' % kind, 'a continue of what began with type %d' % kind,
             lambda s, kind=kind: (begin(s), more(s, kind=kind))), only=[2])
for n in range(4):
    answers('3', FAILED, ('group-stream-%d' % n, 'a group of two, %d octets of payload stream in the first' % n,
                          lambda s, n=n: (answer(s, placed_item(AT, SIZE, 0), body=stream(s)[:n], count=2), more(s))), only=[2])
answers('3', FAILED, ('group-cut', 'a continue that is cut off', lambda s: (begin(s, 3), s.server.rtr(CONTINUE, u32(1), xid=s.xid))), only=[2])


@rule('group-reply', '4', "the reply of the base protocol in the midst of a group of the same call",
      Then(AtServer(Reported(BADHMT, rtr.HTYPES + CONTINUE, v2.REPLY_INLINE, of=REPLY, lead=0, goes_on=False)), FAILED[2]), only=[2])
def _(s):
    call(s)
    begin(s, 3)
    s.server.reply(stream(s), xid=s.xid)
    more(s)


@rule('group-other', '4', 'a group of a response to no call', CUT, only=[2])
def _(s):
    call(s)
    s.xid ^= 0x1000
    begin(s)
    more(s, data=rpc.fill(SIZE))


answers(
    '6', CUT,
    ('group-more', 'a group with more octets than were asked for',
     lambda s: (answer(s, placed_item(AT, SIZE + 100, 1), data=b'', count=2), more(s, data=bytes(SIZE + 100)))),
    ('group-items', 'a group with no item for one direction', lambda s: (answer(s, data=b'', count=2), more(s))), only=[2])
answers(
    '6', CUT,
    ('items-none', 'no item for one direction', lambda s: answer(s, data=b'')),
    ('items-two', 'two items for one direction',
     lambda s: answer(s, placed_item(AT, SIZE, 0), bare(0, 0, NOITEM))),
    ('longer', 'more octets than were asked for', lambda s: answer(s, placed_item(AT, SIZE + 100, 0), data=bytes(SIZE + 100))),
    ('exposed', 'an item in memory that was not offered',
     lambda s: answer(s, exposed_item(AT, SIZE, [Seg(0x666, SIZE, 0)]), data=b'')),
    ('no-item-length', 'NOITEM of 400 octets', lambda s: answer(s, bare(AT, SIZE, NOITEM), data=b'')),
    ('too-short', 'TOOSHORT where any length was asked for', lambda s: answer(s, bare(AT, SIZE, TOOSHORT), data=b'')),
    ('call', 'a response with an RPC call in it', lambda s: answer(s, placed_item(AT, SIZE, 0), body=rpc.call(s.xid))),
)


# --- the base protocol's forms instead of a response ---


class Inline:
    """The client gets the server's reply unchanged: the octets are in its payload stream, and the Write chunk is unused."""
    text = 'to the client: the RPC reply with the octets in it; the next call is answered'

    def check(self, c):
        m = c.end.expect_msg(c.xid)
        assert m.error is None, 'error %s' % (m.error,)
        assert m.body == inline(c), 'the payload stream'
        assert [[seg.length for seg in chunk] for chunk in m.writes] == [[0]], m.writes
        c.goes_on()


def inline(s):
    return rpc.reply(s.xid, u32(SIZE) + rpc.fill(SIZE))


for name, sent, lists in (('empty', 'a Write chunk without segments', [[]]), ('none', 'no Write list', [])):
    answers('6', Inline(), ('base-' + name, "a reply of the base protocol with %s, the octets in it" % sent,
                            lambda s, lists=lists: s.server.reply(inline(s), lists, xid=s.xid)))



def read_args(s, n):
    return rpc.call(s.xid, 6, opaque(bytes(8)) + u32(0, 0, n), prog=100003, vers=3)


def read(s, n):
    """Makes a READ of NFSv3. The gateway asks for its @n octets only by Send, because the rest of the reply is short."""
    s.xid = s.server_xid = s.end.new_xid()
    s.back = s.end.conn.sink(n)
    s.end.call(read_args(s, n), (), [[s.back]])
    m = s.server.expect_msg(s.xid)
    (_, _, (wish,)), = m.rtr.sets
    assert wish.type == TBSN, wish


def read_result(s, n):
    return rpc.reply(s.xid, u32(0, 0, n, 1) + opaque(rpc.fill(n)))


class ReadInline(Inline):
    """As Inline, for the reply to a READ."""

    def check(self, c):
        m = c.end.expect_msg(c.xid)
        assert m.error is None and m.body == read_result(c, c.back.length), m
        assert [[seg.length for seg in chunk] for chunk in m.writes] == [[0]], m.writes
        c.goes_on()


@rule('base-read', '6', "a reply of the base protocol to a READ, a Write chunk without segments, the octets in it", ReadInline(),
      only=[2])
def _(s):
    read(s, SIZE)
    s.server.reply(read_result(s, SIZE), [[]], xid=s.xid)


# --- errors instead of a response ---

class Once:
    """The gateway sends the call again with a Write chunk, and the next call with a Write chunk, too."""
    text = 'to the server: the call once more, with a Write chunk, and so the next one; to the client: their replies'

    def check(self, c):
        self.returned(c)
        base_call(c)
        self.returned(c)
        c.goes_on()

    def returned(self, c):
        m = c.server.expect_msg(c.xid)
        assert not m.rtr and len(m.writes) == 1, '%r instead of a Write chunk' % m
        c.server.conn.write(m.writes[0][0], rpc.fill(SIZE))
        c.server.reply(stream(c), m.writes, xid=c.xid)
        c.end.expect_reply(c.xid)
        assert c.end.conn.memory(c.back) == rpc.fill(SIZE), 'the octets'


def base_call(s):
    s.xid = s.server_xid = s.end.new_xid()
    s.back = s.end.conn.sink(SIZE)
    s.end.call(rpc.echo_call(s.xid, bytes(SIZE)), (), [[s.back]])


for n in (0, 1):
    answers('6', Once(), ('write-chunks-%d' % n, 'RDMA2_ERR_WRITE_CHUNKS with %d' % n,
                          lambda s, n=n: s.server.error(v2.ERR_WRITE_CHUNKS, n, xid=s.xid)), only=[2])
answers('6', FAILED, ('write-resource', 'RDMA2_ERR_WRITE_RESOURCE: more than the Write chunk of the client has room for',
                      lambda s: s.server.error(v2.ERR_WRITE_RESOURCE, 1, SIZE + 1, xid=s.xid)), only=[2])


class Anew:
    """The session ends. In the next session calls have a Write chunk, because this server accepts no directions."""
    text = CUT.text + '; to the server: closed, and the call not once more; over a new connection calls have Write chunks'

    def check(self, c):
        CUT.check(c)
        AtServer(Closes()).check(c)
        c.close()
        OPENERS['v1-asked'](c)
        base_call(c)
        Once().returned(c)
        c.goes_on()


@RULES[2]('server-asked-no-way', '6', 'RDMA2_ERR_WRITE_RESOURCE with what the Write chunk of the client has room for', Anew(),
          route='wayless')
def _(s):
    call(s)
    s.server.error(v2.ERR_WRITE_RESOURCE, 1, SIZE, xid=s.xid)


class Unheeded(Anew):
    """The session ends, because so many octets fit into no payload stream to a version 1 client. The client gets no answer."""

    def base(self, c):
        n = 20000
        c.xid = c.server_xid = c.end.new_xid()
        c.back = c.end.conn.sink(n)
        c.end.call(read_args(c, n), (), [[c.back]])
        m = c.server.expect_msg(c.xid)
        assert not m.rtr and len(m.writes) == 1, '%r instead of a Write chunk' % m

    def check(self, c):
        CUT.check(c)
        AtServer(Closes()).check(c)
        c.close()
        OPENERS['v1-asked'](c)
        self.base(c)


@RULES[2]('server-asked-base-read-long', '6', 'a reply of the base protocol to a READ of 20000 octets, in parts, the octets in it',
          Unheeded(), route='unheeded')
def _(s):
    n, part = 20000, 4000
    read(s, n)
    left = read_result(s, n)
    while len(left) > part:
        s.server.send2(s.xid, v2.REPLY_MIDDLE, u32(len(left) - part) + left[:part])
        left = left[part:]
    s.server.send2(s.xid, v2.REPLY_INLINE, v2.write_list([[]]) + left)


@rule('other-xid', 'decision 60', 'a right response with the XID of no call', CUT)
def _(s):
    call(s)
    s.xid ^= 0x1000
    answer(s, placed_item(AT, SIZE, 0))


@rule('base-call', '6', "a response to a call in the base protocol's form", {2: CUT, 'early': FAILED['early']})
def _(s):
    s.xid = s.server_xid = s.end.new_xid()
    s.end.call(rpc.echo_call(s.xid, bytes(8)))
    m = s.server.expect_msg(s.xid)
    assert not m.rtr, '%r instead of the base form' % m
    answer(s, body=rpc.reply(s.xid, u32(8) + bytes(8)), data=b'')


def proved_then(s, play):
    """The server gives a valid answer to a request. Then @play answers the next request."""
    call(s)
    answer(s, placed_item(AT, SIZE, 0))
    s.end.expect_msg(s.xid)
    call(s)
    play(s)


@rule('proved-report', '8', 'after a right answer: a Report Error about the next request', FAILED, only=(2, 'early'))
def _(s):
    proved_then(s, lambda s: s.server.rtr(rtr.REPORT, rtr.report((s.xid, 0, 0), 3), xid=s.xid, direction=REPLY))


@rule('proved-htype', '8', 'after a right answer: ERR_INVAL_HTYPE about the next request', FAILED, only=(2,))
def _(s):
    proved_then(s, lambda s: s.server.error(v2.ERR_INVAL_HTYPE, xid=s.xid))
