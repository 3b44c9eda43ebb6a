# SPDX-License-Identifier: BSD-2-Clause
"""Expectations: what must come after a case has sent. Each has a text for the table, and the check of that text."""
import early
import rpc
import rtr
import v1
import v2
from rdmap import Ended, Terminated


def show(event):
    return repr(event)


class Service:
    """The connection goes on: the next message is the answer to a valid call."""
    text = 'nothing; the next call is answered'

    def check(self, c):
        c.goes_on()


class Served:
    """The call of the case is answered."""

    def __init__(self, results=b'', goes_on=True):
        self.results, self.goes_on = results, goes_on
        self.text = 'the RPC reply, %d octets of results' % len(results) if results else 'the RPC reply'

    def check(self, c):
        assert c.end.expect_reply(c.xid).results == self.results, 'the results'
        if self.goes_on:
            c.goes_on()


class V1Error:
    """RDMA_ERROR of version 1, every field; then the connection goes on."""

    def __init__(self, code, *words, vers=1, xid=None, goes_on=True):
        self.words, self.vers, self.xid, self.goes_on = [code, *words], vers, xid, goes_on
        fields = ' low %d high %d' % words if words else ''
        self.text = 'RDMA_ERROR %s%s, the XID%s%s' % (
            v1.NAMES[code], fields, '' if vers == 1 else ', version %d' % vers,
            '; the next call is answered' if goes_on else '')

    def check(self, c):
        m = c.end.expect_msg(c.xid if self.xid is None else self.xid)
        assert m.error == self.words, 'error %s instead of %s' % (m.error, self.words)
        assert m.vers == self.vers, 'version %d instead of %d' % (m.vers, self.vers)
        assert m.vers != 1 or m.credit > 0, 'credit 0'
        if self.goes_on:
            c.goes_on()


class V2Error:
    """RDMA2_ERROR, every field; then the connection goes on. @about: attribute of the case."""

    def __init__(self, code, *words, vers=2, about='xid', goes_on=True):
        self.words, self.vers, self.about, self.goes_on = [code, *words], vers, about, goes_on
        self.text = 'RDMA2_%s%s, %s%s%s' % (
            v2.NAMES[code], ''.join(' %d' % w for w in words),
            'the XID' if about == 'xid' else 'the XID of the %s' % about,
            '' if vers == 2 else ', version %d' % vers,
            '; the next call is answered' if goes_on else '')

    def check(self, c):
        m = c.end.expect_msg(getattr(c, self.about))
        assert m.error == self.words, 'error %s instead of %s' % (m.error, self.words)
        assert m.vers == self.vers, 'version %d instead of %d' % (m.vers, self.vers)
        if self.goes_on:
            c.goes_on()


class EarlyError:
    """RDMA2_ERROR of the early draft, every field; then the connection goes on."""

    def __init__(self, code, *words, vers=2, goes_on=True):
        self.words, self.vers, self.goes_on = [code, *words], vers, goes_on
        self.text = 'RDMA2_%s%s, the XID%s%s' % (
            early.NAMES[code], ' low %d high %d' % words if words else '', '' if vers == 2 else ', version %d' % vers,
            '; the next call is answered' if goes_on else '')

    def check(self, c):
        m = c.end.expect_msg(c.xid)
        assert m.error == self.words, 'error %s instead of %s' % (m.error, self.words)
        assert m.vers == self.vers, 'version %d instead of %d' % (m.vers, self.vers)
        assert m.credit > 0, 'credit 0'
        if self.goes_on:
            c.goes_on()


class Reported:
    """Report Error of the round-trip extension, every field; then the connection goes on."""

    def __init__(self, code, *words, number=0, lead=None, of=rtr.CALL, goes_on=True):
        self.words, self.number, self.lead, self.of, self.goes_on = [code, *words], number, lead, of, goes_on
        self.text = 'OPTRERR_%s%s about transmission %d%s%s%s' % (
            rtr.CODES[code], ''.join(' %d' % w for w in words), number, ' of the response' if of else '',
            '' if lead is None else ', lead %d' % lead, '; the next call is answered' if goes_on else '')

    def check(self, c):
        m = c.end.expect_msg(c.xid)
        assert m.rtr and m.rtr.op == rtr.REPORT, '%r instead of a Report Error' % m
        assert m.rtr.bad == (c.xid, self.of, self.number), 'it is about %s' % (m.rtr.bad,)
        assert m.rtr.lead == (None if self.lead is None else (c.xid, self.of, self.lead)), 'lead %s' % (m.rtr.lead,)
        assert m.rtr.report == self.words, 'error %s instead of %s' % (m.rtr.report, self.words)
        assert c.end.version == 2 or m.direction == 1 - self.of, 'the direction'
        if self.goes_on:
            c.goes_on()


class Refused:
    """ERR_VERS to a first message, with the range of the listener."""

    def __init__(self, low, high):
        self.words = [1, low, high]
        self.text = 'ERR_VERS %d to %d, the XID and version echoed' % (low, high)

    def check(self, c):
        m = c.end.expect_msg(c.xid)
        assert m.error == self.words, 'error %s instead of %s' % (m.error, self.words)
        assert m.vers == c.vers, 'version %d instead of %d' % (m.vers, c.vers)


class Terminates:
    """A Terminate with these fields, then the end."""

    def __init__(self, layer, etype, code):
        self.event = Terminated(layer, etype, code)
        self.text = 'Terminate layer %d type %d code 0x%02x, then closed' % self.event

    def check(self, c):
        event = c.conn.recv()
        assert event == self.event, '%s instead of %s' % (show(event), show(self.event))
        event = c.conn.recv()
        assert isinstance(event, Ended), '%s instead of the end' % show(event)


class Closes:
    """The connection ends, and no message comes before the end."""

    def __init__(self, words='closed'):
        self.text = words

    def check(self, c):
        event = c.end.recv() if c.end else c.conn.recv()
        assert isinstance(event, Ended), '%s instead of the end' % show(event)


class Drops:
    """The gateway closes TCP without having sent an octet, so without an answer to a set-up frame."""
    text = 'closed, not an octet sent'

    def check(self, c):
        c.sock.settimeout(60)
        try:
            data = c.sock.recv(1)
        except ConnectionResetError:
            data = b''
        assert data == b'', 'an answer'


class Other:
    """A text for the table. The case checks it itself."""

    def __init__(self, text):
        self.text = text

    def check(self, c):
        pass


class Then:
    """Several expectations, in this order."""

    def __init__(self, *parts):
        self.parts = parts
        self.text = '; '.join(part.text for part in parts)

    def check(self, c):
        for part in self.parts:
            part.check(c)


class AtServer:
    """What the server behind the gateway must see."""

    def __init__(self, part):
        self.part = part
        self.text = 'to the server: ' + part.text

    def check(self, c):
        self.part.check(Mirror(c))


class Mirror:
    """A case with its ends exchanged."""

    def __init__(self, c):
        self.c, self.end, self.conn = c, c.server, c.server.conn
        self.server_xid = self.xid = c.server_xid

    def goes_on(self):
        self.c.goes_on()


class Inline:
    """A reply message of @threshold octets comes inline. One with four octets more is refused."""

    def __init__(self, threshold):
        self.threshold = threshold
        self.text = ('a reply message of %d octets comes inline; one of %d draws ERR_CHUNK' %
                     (threshold, threshold + 4))

    def check(self, c):
        most = self.threshold - 28 - rpc.REPLY_BYTES
        c.end.call(rpc.fill_call(c.end.new_xid(), most))
        m = c.end.expect_reply()
        assert (m.results, m.octets) == (rpc.fill(most), self.threshold), '%d octets' % m.octets
        c.xid = c.end.new_xid()
        c.end.call(rpc.fill_call(c.xid, most + 4))
        V1Error(v1.ERR_CHUNK).check(c)
