# SPDX-License-Identifier: BSD-2-Clause
"""Clients of version 1 that send valid messages at the wrong time: credits, XIDs, directions."""
import rpc
import v1
from case import messages, table
from expect import Closes, Other, Served, Service, V1Error
from xdr import u32

rule = table('client', 'version 1, course', 'v1', 'to-v1')
message = messages(rule)

CHUNK = V1Error(v1.ERR_CHUNK)


for credit in (0, 1, 0xffffffff):
    @message('v1-credit-%d' % credit, 'rfc5666bis-01 5.1.3', 'a call that asks for %d credits' % credit, Served())
    def _(s, credit=credit):
        return v1.message(s.xid, rpc.call(s.xid), credit=credit)


@rule('v1-xid-twice', 'decision 57', 'the same call again while the server has it', Closes())
def _(s):
    xid = s.end.new_xid()
    for _ in range(2):
        s.end.call(rpc.call(xid, rpc.NEVER))


@rule('v1-xid-twice-other-call', 'decision 57', 'another call with the XID of one that the server has', Closes())
def _(s):
    xid = s.end.new_xid()
    s.end.call(rpc.call(xid, rpc.NEVER))
    s.end.call(rpc.echo_call(xid, bytes(100)))


@rule('v1-xid-again', 'decision 57', 'an XID again after its reply', Served())
def _(s):
    s.end.do_null()
    s.xid = s.end.xid
    s.end.call(rpc.call(s.xid))


for name, xid in (('zero', 0), ('last', 0xffffffff)):
    @rule('v1-xid-' + name, 'rfc5666bis-01 5.1.1', 'a call with XID 0x%08x' % xid, Served())
    def _(s, xid=xid):
        s.xid = xid
        s.end.call(rpc.call(xid), xid=xid)


@message('v1-xid-differs', 'rfc5666bis-01 5.1.1', 'a header with another XID than its call', CHUNK)
def _(s):
    return v1.message(s.xid, rpc.call(s.xid ^ 1))


@message('v1-xid-differs-in-chunk', 'rfc5666bis-01 5.1.1', 'a long call with another XID than its header', CHUNK)
def _(s):
    return v1.long_call(s.xid, [s.conn.expose(rpc.call(s.xid ^ 1))])


@rule('v1-xid-error-frees-it', 'rfc5666bis-01 5.5', 'a call that is refused, then a right one with its XID',
      Other('RDMA_ERROR ERR_CHUNK; the RPC reply'))
def _(s):
    s.xid = s.end.new_xid()
    s.end.send(v1.message(s.xid, rpc.call(s.xid ^ 1)))
    V1Error(v1.ERR_CHUNK, goes_on=False).check(s)
    s.end.call(rpc.call(s.xid))
    s.end.expect_reply(s.xid)


# --- what nobody asked for ---

def with_server(s):
    """Makes a call that the server does not answer yet. The server has granted more than one."""
    s.end.do_null()
    s.xid = s.end.new_xid()
    s.end.call(rpc.call(s.xid, rpc.NEVER))


for name, sent, make in (
        ('reply', 'an RPC reply to nothing', lambda x: v1.message(x, rpc.reply(x))),
        ('reply-with-chunk', 'an RPC reply with a Write chunk to nothing',
         lambda x: v1.prefix(x) + u32(0, 1, 1, 5, 100, 0, 0, 0, 0) + rpc.reply(x)),
        ('err-chunk', 'an ERR_CHUNK about nothing', lambda x: v1.error(x)),
        ('err-vers', 'an ERR_VERS about nothing', lambda x: v1.error(x, v1.ERR_VERS, 1, 1)),
        ('err-vers-absurd', 'an ERR_VERS whose low is above its high',
         lambda x: v1.error(x, v1.ERR_VERS, 9, 3)),
        ('err-vers-cut', 'an ERR_VERS without its range', lambda x: v1.error(x, v1.ERR_VERS)),
        ('err-cut', 'an RDMA_ERROR without a code', lambda x: v1.prefix(x, v1.ERROR)),
        ('err-unknown', 'an RDMA_ERROR with a code that does not exist', lambda x: v1.error(x, 77)),
        ('err-version-0', 'an RDMA_ERROR of version 0', lambda x: v1.error(x, vers=0)),
        ('err-version-3', 'an RDMA_ERROR of version 3', lambda x: v1.error(x, v1.ERR_VERS, 1, 1, vers=3)),
        ('err-of-v2', 'an RDMA2_ERROR', lambda x: v1.error(x, 100, vers=2))):
    @rule('v1-unasked-' + name, 'rfc5666bis-01 5.5', sent, Service())
    def _(s, make=make):
        s.end.do_null()
        s.end.send(make(s.end.new_xid()))


@rule('v1-unasked-errors', 'rfc5666bis-01 5.5', '50 times eight RDMA_ERRORs and a call', Other('50 RPC replies'))
def _(s):
    for i in range(50):
        for code in range(8):
            s.end.send(v1.error(i, code))
        s.end.do_null()


for vers in (0, 1, 3, 0xffffffff):
    @rule('v1-unasked-first-%d' % vers, 'rfc5666bis-01 5.5', 'an RDMA_ERROR of version %d as the first message' % vers,
          Service(), on='v1-first')
    def _(s, vers=vers):
        s.end.send(v1.error(5, vers=vers))


@message('v1-reply-with-reads', 'rfc5666bis-01 5.2', 'an RPC reply with a Read chunk', Service())
def _(s):
    return v1.prefix(s.xid) + u32(1, 44, 5, 100, 0, 0, 0, 0, 0) + rpc.reply(s.xid)


@message('v1-done-of-call', 'rfc5666bis-01 5.7.2', 'an RDMA_DONE with the XID of a call that the server has',
         Service())
def _(s):
    with_server(s)
    return v1.prefix(s.xid, v1.DONE)


@rule('v1-error-about-own-call', 'rfc5666bis-01 5.5', 'an RDMA_ERROR with the XID of its own call that the server has',
      Service())
def _(s):
    with_server(s)
    s.end.send(v1.error(s.xid))


@rule('v1-reply-to-own-call', 'rfc5666bis-01 5.1', 'an RPC reply with the XID of its own call that the server has',
      Service())
def _(s):
    with_server(s)
    s.end.send(v1.message(s.xid, rpc.reply(s.xid)))


# --- many ---


@rule('v1-overrun-bad', 'rfc5666bis-01 5.5', '300 malformed calls, each after the answer to the one before',
      Other('300 times RDMA_ERROR ERR_CHUNK, the XIDs; the next call is answered'))
def _(s):
    for _ in range(300):
        xid = s.end.new_xid()
        s.end.send(v1.prefix(xid))
        assert s.end.expect_msg(xid).error == [v1.ERR_CHUNK]
    s.end.do_null()


@rule('v1-too-many-reports', 'rfc5666bis-01 5.5', '8 malformed calls at once',
      Other('8 times RDMA_ERROR ERR_CHUNK, in order; the next call is answered'))
def _(s):
    xids = [s.end.new_xid() for _ in range(8)]
    for xid in xids:
        s.end.send(v1.prefix(xid))
    for xid in xids:
        assert s.end.expect_msg(xid).error == [v1.ERR_CHUNK]
    s.end.do_null()


@rule('v1-reads-late', 'decision 61', 'four calls whose replies take 90000 octets each, and none is read',
      Other('another session of the route is served meanwhile; then the replies come'))
def _(s):
    calls = []
    for _ in range(4):
        seg = s.conn.sink(100000)
        calls.append(s.end.new_xid())
        s.end.call(rpc.fill_call(s.end.xid, 90000), (), (), [seg])
    s.route.check_witness()
    for xid in calls:
        assert s.end.expect_reply(xid).results == rpc.fill(90000)


@rule('v1-read-stalls', 'decision 61', 'a call with a Read chunk, and no answer to the Read',
      Closes('after about a minute: closed'), slow=True)
def _(s):
    s.conn.serves_reads = False
    xid = s.end.new_xid()
    s.end.call(rpc.call(xid, rpc.ECHO, u32(100)), [(44, s.conn.expose(100))])
