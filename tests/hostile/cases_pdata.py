# SPDX-License-Identifier: BSD-2-Clause
"""Private data of RFC 8797: the gateway must use valid values, and ignore invalid ones."""

import peer
import rpc
from case import table
from expect import Inline, Other, Terminates

rule = table('client', 'private data', 'nothing', 'to-v2')

MAGIC = bytes.fromhex('f6ab0e18')


def threshold(name, section, sent, pdata, inline):
    """A case with this private data. It checks the length of the gateway's largest message to the client."""
    @rule(name, section, sent, Inline(inline))
    def _(s):
        s.use(peer.open_client(s.route.address, 1, pdata=pdata))


def said(vers=1, flags=0, send=3, recv=3):
    return MAGIC + bytes([vers, flags, send, recv])


threshold('pdata-none', 'RFC 8797 5.1', 'no private data', b'', 1024)
threshold('pdata-4096', 'RFC 8797 4.2', 'receive size 4096', said(), 4096)
threshold('pdata-smallest', 'RFC 8797 4.2', 'send and receive size 1024', said(send=0, recv=0), 1024)
threshold('pdata-2048', 'RFC 8797 4.2', 'send size 4096, receive size 2048', said(recv=1), 2048)
threshold('pdata-largest', 'RFC 8797 4.2', 'both sizes 262144, far above the 4096 of the gateway',
          said(send=255, recv=255), 4096)
threshold('pdata-magic', 'RFC 8797 5.2', 'another identifier', b'\xf6\xab\x0e\x19' + said()[4:], 1024)
threshold('pdata-magic-swapped', 'RFC 8797 5.2', 'the identifier in the other octet order',
          MAGIC[::-1] + said()[4:], 1024)
threshold('pdata-version-0', 'RFC 8797 6', 'format version 0', said(vers=0), 1024)
threshold('pdata-version-2', 'RFC 8797 6', 'format version 2', said(vers=2), 1024)
threshold('pdata-short', 'RFC 8797 5.2', 'seven of the eight octets', said()[:7], 1024)
threshold('pdata-magic-alone', 'RFC 8797 5.2', 'the identifier alone', MAGIC, 1024)
threshold('pdata-behind-others', 'RFC 8797 5.2', "behind five octets of another layer's", b'other' + said(), 4096)
threshold('pdata-at-the-end', 'RFC 8797 5.2', 'behind 500 octets, the last of 512 with IRD and ORD',
          bytes(500) + said(), 4096)
threshold('pdata-cut-at-the-end', 'RFC 8797 5.2', 'behind 501 octets, cut by the end', bytes(501) + said()[:7], 1024)
threshold('pdata-second-counts', 'RFC 8797 5.2', 'format version 9 first, then version 1',
          said(vers=9, recv=0) + said(), 4096)
threshold('pdata-first-counts', 'RFC 8797 5.2', 'twice, with 2048 and then 4096', said(recv=1) + said(), 2048)
threshold('pdata-reserved', 'RFC 8797 4', 'all reserved bits set', said(flags=0xfe), 4096)


def invalidation(name, sent, pdata, wanted):
    @rule(name, 'RFC 8797 4.1', sent + '; then a call with a Write chunk', Other(
        'the reply by %s' % ('Send with Invalidate of its handle' if wanted else 'a plain Send')))
    def _(s):
        s.use(peer.open_client(s.route.address, 1, pdata=pdata))
        seg = s.conn.sink(100)
        s.end.call(rpc.echo_call(s.end.new_xid(), bytes(100)), (), [[seg]])
        m = s.end.expect_reply()
        assert s.conn.memory(seg) == rpc.echo(bytes(100))
        assert m.invalidated == (seg.handle if wanted else None), 'invalidated %s' % m.invalidated
        s.end.do_null()


invalidation('pdata-r-set', 'R set', said(flags=1), True)
invalidation('pdata-r-clear', 'R clear', said(flags=0), False)
invalidation('pdata-r-in-other-version', 'R set under format version 2', said(vers=2, flags=1), False)
invalidation('pdata-r-among-reserved', 'R clear, all reserved bits set', said(flags=0xfe), False)


@rule('pdata-r-two-handles', 'RFC 8797 4.1', 'R set; a call with chunks of two handles',
      Other('the reply by a plain Send: which of them could be the wrong one'))
def _(s):
    s.use(peer.open_client(s.route.address, 1, pdata=said(flags=1)))
    assert s.end.do_echo(500).invalidated is None


@rule('pdata-more-than-receive', 'RFC 8797 4.2',
      'send size 262144, then a message of 4097 octets: what was said does not make Receives larger',
      Terminates(1, 2, 5))
def _(s):
    s.use(peer.open_client(s.route.address, 1, pdata=said(send=255)))
    s.conn.send(bytes(4097))
