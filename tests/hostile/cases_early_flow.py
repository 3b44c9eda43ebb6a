# SPDX-License-Identifier: BSD-2-Clause
"""Clients of the early draft of version 2 that send valid messages at the wrong time: drafts, credits, XIDs, directions,
errors."""
import early
import rpc
import v1
import v2
from case import messages, table
from early import REPLY
from expect import Closes, EarlyError, Other, Refused, Served, Service, V1Error, V2Error
from xdr import Seg

rule = table('client', 'early draft of version 2, course', 'early', 'to-early')
message = messages(rule)

BAD = EarlyError(early.ERR_BAD_HEADER)
SEG = Seg(0x77, 100, 0)


def null(xid, **fixed):
    return early.message(xid, rpc.call(xid), **fixed)


# --- the first message ---

for route, spoken in (('early', '1, 2 and 2-early'), ('only-early', '2-early'), ('v1-or-early', '1 and 2-early')):
    @rule('early-first-of-' + route, 'decision 12', 'a call of the early draft first, where %s is spoken' % spoken,
          Served(), on='early-first', route=route)
    def _(s):
        s.xid = s.end.new_xid()
        s.end.call(rpc.call(s.xid))


@rule('early-first-longest', 'cel-01 2.3', 'a first message of 4096 octets, which every receiver has to take', Served(),
      on='early-first')
def _(s):
    s.xid = s.end.new_xid()
    s.end.call(rpc.call(s.xid) + bytes(4096 - 32 - rpc.CALL_BYTES))


@rule('early-first-option', 'cel-01 3.1', 'an option as the first message', EarlyError(early.ERR_INVAL_OPTION),
      on='early-first')
def _(s):
    s.xid = s.end.new_xid()
    s.end.send(early.option(s.xid))


@rule('early-first-error', 'cel-01 4.2.3', 'an RDMA2_ERROR as the first message, where the early draft alone is spoken',
      Service(), on='early-first', route='only-early')
def _(s):
    s.end.send(early.error(s.end.new_xid()))


@rule('early-first-cut', 'cel-01 4.2', 'an RDMA2_MSG that ends after its type as the first message', BAD,
      on='early-first')
def _(s):
    s.xid = s.end.new_xid()
    s.end.send(early.prefix(s.xid))


@rule('early-first-short', 'cel-01 4.2', 'a first message of 15 octets', Service(), on='early-first')
def _(s):
    s.end.send(bytes(15))


@rule('early-first-1-of-early', 'cel-01 5.2', 'version 1 first, where the early draft alone is spoken', Refused(2, 2),
      on='v1-first', route='only-early')
def _(s):
    s.vers, s.xid = 1, s.end.new_xid()
    s.end.send(v1.message(s.xid, rpc.call(s.xid)))


@rule('early-first-07-of-early', 'decision 106', 'properties of draft -07 first, where the early draft alone is spoken',
      BAD, on='early-first', route='only-early')
def _(s):
    s.xid = s.end.new_xid()
    s.end.send(v2.prefix(s.xid, v2.PROP_FINAL, 1) + v2.PROPS)


@rule('early-first-07-of-1-or-early', 'decision 106',
      'properties of draft -07 first, where version 1 and the early draft are spoken', Refused(1, 1),
      on='early-first', route='v1-or-early')
def _(s):
    s.vers, s.xid = 2, s.end.new_xid()
    s.end.send(v2.prefix(s.xid, v2.PROP_FINAL, 1) + v2.PROPS)


@rule('early-first-not-spoken', 'decision 106', 'a call of the early draft first, where draft -07 is spoken and it is '
      'not', Other('RDMA2_ERR_INVAL_HTYPE, the XID'), on='v2-first', route='only-v2')
def _(s):
    s.xid = s.end.new_xid()
    s.end.send(null(s.xid))
    m = s.end.expect_msg()
    if m.proc == v2.PROP_FINAL:  # what it says of itself may come first
        m = s.end.expect_msg()
    assert (m.xid, m.error) == (s.xid, [v2.ERR_INVAL_HTYPE]), m


@rule('early-first-not-2', 'cel-01 5.2', 'a call of the early draft first, where version 1 alone is spoken',
      Refused(1, 1), on='early-first', route='only-v1')
def _(s):
    s.vers, s.xid = 2, s.end.new_xid()
    s.end.send(null(s.xid))


@rule('early-then-07', 'decision 12', 'properties of draft -07 after a call of the early draft', BAD)
def _(s):
    s.end.do_null()
    s.xid = s.end.new_xid()
    s.end.send(v2.prefix(s.xid, v2.PROP_FINAL, 1) + v2.PROPS)


@rule('early-then-grant', 'decision 12', 'a GRANT of draft -07 after a call of the early draft: an option that ends '
      'after its type', EarlyError(early.ERR_BAD_HEADER))
def _(s):
    s.end.do_null()
    s.xid = s.end.new_xid()
    s.end.send(v2.prefix(s.xid, v2.GRANT, 1))


@rule('early-after-1', 'draft-07 7.1.2', 'a call of the early draft on a connection that speaks version 1',
      V1Error(v1.ERR_VERS_MISMATCH, vers=2), on='v1')
def _(s):
    s.end.do_null()
    s.xid = s.end.new_xid()
    s.end.send(null(s.xid))


@rule('early-after-07', 'decision 12', 'a call of the early draft on a connection that speaks draft -07',
      V2Error(v2.ERR_INVAL_HTYPE), on='v2')
def _(s):
    s.end.do_null()
    s.xid = s.end.new_xid()
    s.end.sent += 1
    s.end.conn.send(v2.prefix(s.xid, early.MSG, s.end.credit()) + early.lists(early.CALL) + rpc.call(s.xid))


# --- credits and XIDs ---

for credit in (0, 1, 0xffffffff):
    @message('early-credit-%d' % credit, 'rfc5666bis-01 5.1.3', 'a call that asks for %d credits' % credit, Served())
    def _(s, credit=credit):
        return null(s.xid, credit=credit)


for name, xid in (('zero', 0), ('last', 0xffffffff)):
    @rule('early-xid-' + name, 'rfc5666bis-01 5.1.1', 'a call with XID 0x%08x' % xid, Served())
    def _(s, xid=xid):
        s.xid = xid
        s.end.call(rpc.call(xid), xid=xid)


@message('early-xid-differs', 'rfc5666bis-01 5.1.1', 'a header with another XID than its call', BAD)
def _(s):
    return early.message(s.xid, rpc.call(s.xid ^ 1))


@message('early-xid-differs-in-chunk', 'rfc5666bis-01 5.1.1', 'a long call with another XID than its header', BAD)
def _(s):
    return early.long_call(s.xid, [s.conn.expose(rpc.call(s.xid ^ 1))])


@message('early-chunk-reply', 'cel-01 4.2.2', 'a long call whose chunk holds an RPC reply', BAD)
def _(s):
    return early.long_call(s.xid, [s.conn.expose(rpc.reply(s.xid) + bytes(16))])


@rule('early-xid-twice', 'decision 57', 'the same call again while the server has it', Closes())
def _(s):
    xid = s.end.new_xid()
    for _ in range(2):
        s.end.call(rpc.call(xid, rpc.NEVER))


@rule('early-xid-again', 'decision 57', 'an XID again after its reply', Served())
def _(s):
    s.end.do_null()
    s.xid = s.end.xid
    s.end.call(rpc.call(s.xid))


@rule('early-xid-of-option', 'cel-01 3.1', 'an option with the XID of a call that the server has',
      Other('RDMA2_ERR_INVAL_OPTION with that XID; the next call is answered'))
def _(s):
    s.end.do_null()
    xid = s.end.new_xid()
    s.end.call(rpc.call(xid, rpc.NEVER))
    s.end.send(early.option(xid))
    assert s.end.expect_msg(xid).error == [early.ERR_INVAL_OPTION]
    s.goes_on()


# --- what nobody asked for ---

for name, sent, make in (
        ('reply', 'an RPC reply to nothing', lambda x: early.answer(x, rpc.reply(x))),
        ('reply-with-chunk', 'an RPC reply with a Write chunk to nothing',
         lambda x: early.answer(x, rpc.reply(x), [[SEG]])),
        ('reply-with-reads', 'an RPC reply with a Read chunk',
         lambda x: early.message(x, rpc.reply(x), [(44, SEG)], direction=REPLY)),
        ('long-reply', 'a long reply to nothing', lambda x: early.long_reply(x, [SEG])),
        ('reply-cut', 'a reply that ends after its direction', lambda x: early.answer(x, rpc.reply(x))[:20]),
        ('option-cut', 'an option of direction REPLY that ends after that',
         lambda x: early.option(x, direction=REPLY)[:20]),
        ('bad-header', 'an RDMA2_ERR_BAD_HEADER about nothing', lambda x: early.error(x)),
        ('inval-option', 'an RDMA2_ERR_INVAL_OPTION about nothing',
         lambda x: early.error(x, early.ERR_INVAL_OPTION)),
        ('err-vers', 'an RDMA2_ERR_VERS about nothing', lambda x: early.error(x, early.ERR_VERS, 1, 1)),
        ('err-vers-absurd', 'an RDMA2_ERR_VERS whose low is above its high',
         lambda x: early.error(x, early.ERR_VERS, 9, 3)),
        ('err-vers-cut', 'an RDMA2_ERR_VERS without its range', lambda x: early.error(x, early.ERR_VERS)),
        ('err-cut', 'an RDMA2_ERROR without a code', lambda x: early.prefix(x, early.ERROR)),
        ('err-0', 'an RDMA2_ERROR with code 0', lambda x: early.error(x, 0)),
        ('err-unknown', 'an RDMA2_ERROR with a code that does not exist', lambda x: early.error(x, 77)),
        ('err-payload', 'an RDMA2_ERROR with a call behind it', lambda x: early.error(x) + rpc.call(x)),
        ('err-version-0', 'an RDMA2_ERROR of version 0', lambda x: early.error(x, vers=0)),
        ('err-version-1', 'an RDMA_ERROR of version 1', lambda x: early.error(x, vers=1)),
        ('err-version-3', 'an RDMA2_ERROR of version 3', lambda x: early.error(x, early.ERR_VERS, 1, 1, vers=3))):
    @rule('early-unasked-' + name, 'cel-01 4.2.3', sent, Service())
    def _(s, make=make):
        s.end.do_null()
        s.end.send(make(s.end.new_xid()))


@rule('early-error-about-own-call', 'rfc5666bis-01 5.5', 'an RDMA2_ERROR with the XID of its own call that the server '
      'has', Service())
def _(s):
    s.end.do_null()
    xid = s.end.new_xid()
    s.end.call(rpc.call(xid, rpc.NEVER))
    s.end.send(early.error(xid))


# --- many ---


@rule('early-many-bad', 'cel-01 4.2.3', '300 malformed calls, each after the answer to the one before',
      Other('300 times RDMA2_ERR_BAD_HEADER, the XIDs; the next call is answered'))
def _(s):
    for _ in range(300):
        xid = s.end.new_xid()
        s.end.send(early.prefix(xid))
        assert s.end.expect_msg(xid).error == [early.ERR_BAD_HEADER]
    s.end.do_null()


@rule('early-many-options', 'cel-01 3.1', '300 options, each after the answer to the one before',
      Other('300 times RDMA2_ERR_INVAL_OPTION, the XIDs; the next call is answered'))
def _(s):
    for i in range(300):
        xid = s.end.new_xid()
        s.end.send(early.option(xid, 1000 + i, bytes(i)))
        assert s.end.expect_msg(xid).error == [early.ERR_INVAL_OPTION]
    s.end.do_null()


@rule('early-options-at-once', 'cel-01 3.1', '8 options at once',
      Other('8 times RDMA2_ERR_INVAL_OPTION, in order; the next call is answered'))
def _(s):
    s.end.do_null()
    xids = [s.end.new_xid() for _ in range(8)]
    for xid in xids:
        s.end.send(early.option(xid))
    for xid in xids:
        assert s.end.expect_msg(xid).error == [early.ERR_INVAL_OPTION]
    s.end.do_null()


@rule('early-read-late', 'decision 61', 'four calls whose replies take 90000 octets each, and none is read',
      Other('another session of the route is served meanwhile; then the replies come'))
def _(s):
    s.end.do_null()
    calls = []
    for _ in range(4):
        seg = s.conn.sink(100000)
        calls.append(s.end.new_xid())
        s.end.call(rpc.fill_call(s.end.xid, 90000), (), (), [seg])
    s.route.check_witness()
    for xid in calls:
        assert s.end.expect_reply(xid).results == rpc.fill(90000)


@rule('early-data-both-ways', 'cel-01 4.2', 'data through a Read chunk and a Write chunk, which is right',
      Other('the data, each octet inverted'))
def _(s):
    for n in (1, 1023, 1024, 4096, 100000, 1 << 20):
        s.end.do_echo(n)
