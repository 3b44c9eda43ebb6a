# SPDX-License-Identifier: BSD-2-Clause
"""Version 2's messages as sections 6.3 and 8 of draft-ietf-nfsv4-rpcrdma-version-two-07 have them. Written
from that text alone: neither v2/ nor tests/hostile/v2.py was looked at for it."""
from xdr import (Reader, Short, get_chunk, get_read_list, get_reply_chunk, get_write_list, opaque, read_list,
                 reply_chunk, u32, write_list)

VERSION = 2

# 8.4, header type codes
ERROR = 4
GRANT = 5
CONNPROP_MIDDLE = 6
CONNPROP_FINAL = 7
CALL_EXTERNAL = 8
CALL_MIDDLE = 9
CALL_INLINE = 10
REPLY_EXTERNAL = 11
REPLY_MIDDLE = 12
REPLY_INLINE = 13

CONNPROPS = (CONNPROP_MIDDLE, CONNPROP_FINAL)
CALLS = (CALL_EXTERNAL, CALL_MIDDLE, CALL_INLINE)
REPLIES = (REPLY_EXTERNAL, REPLY_MIDDLE, REPLY_INLINE)
MIDDLES = (CALL_MIDDLE, REPLY_MIDDLE)
INLINES = (CALL_INLINE, REPLY_INLINE)

# 8.4, error codes
ERRORS = {
    1: 'VERS', 2: 'BAD_XDR', 3: 'BAD_PROPVAL', 4: 'INVAL_HTYPE', 5: 'INVAL_CONT', 6: 'READ_CHUNKS',
    7: 'WRITE_CHUNKS', 8: 'SEGMENTS', 9: 'WRITE_RESOURCE', 10: 'REPLY_RESOURCE', 11: 'VERS_MISMATCH', 100: 'SYSTEM',
}
CODES = {name: code for code, name in ERRORS.items()}
# 6.3.1: how many words follow the code
ERROR_WORDS = {1: 2, 6: 1, 7: 1, 8: 1, 9: 2, 10: 1}

# 5.2: property, its code, its default
SBSIZ, RBSIZ, RSSIZ, RCSIZ, BRS, HOSTAUTH = 1, 2, 3, 4, 5, 6
DEFAULTS = {SBSIZ: 4096, RBSIZ: 4096, RSSIZ: 1048576, RCSIZ: 16, BRS: 0}
NONE, SIMPLE, CONT, GENL = range(4)

PREFIX_OCTETS = 16      # 6.4
FIRST_OCTETS = 1024     # 4.3: the first message, whatever the other end speaks
DEFAULT_OCTETS = 4096   # 4.2.2


class Bad(Exception):
    """A message that does not parse: the error code that 7.2 has for it."""


class Message:
    """What was read of one Send."""

    def __init__(self, xid, vers, credit, htype):
        self.xid, self.vers, self.credit, self.htype = xid, vers, credit, htype
        self.inv_handle = 0
        self.call_chunk, self.reads, self.writes, self.reply = [], [], [], None
        self.remaining = 0
        self.error = None       # (name, words)
        self.props = {}
        self.body = b''

    @property
    def is_call(self):
        return self.htype in CALLS

    def segments(self):
        return (len(self.call_chunk) + len(self.reads) + sum(len(w) for w in self.writes) +
                len(self.reply or ()))

    def __repr__(self):
        return 'xid=%08x type=%d credit=%d error=%s body=%d' % (self.xid, self.htype, self.credit, self.error,
                                                                len(self.body))


# --- out ---

def prefix(xid, credit, htype):
    return u32(xid, VERSION, credit, htype)


def connprop(props):
    """rpcrdma2_hdr_connprop; @props: [(code, octets)]."""
    return u32(len(props)) + b''.join(u32(code) + opaque(octets) for code, octets in props)


def call_inline(inv, reads, writes, reply):
    return u32(inv) + read_list(reads) + write_list(writes) + reply_chunk(reply)


def call_external(inv, call, reads, writes, reply):
    return u32(inv) + read_list([(0, seg) for seg in call]) + read_list(reads) + write_list(writes) + reply_chunk(reply)


def reply_inline(writes):
    return write_list(writes)


def reply_external(writes, reply):
    return write_list(writes) + reply_chunk(reply)


def error(name, *words):
    code = CODES[name]
    assert len(words) == ERROR_WORDS.get(code, 0)
    return u32(code, *words)


# --- in ---

def parse(data):
    """The message in @data, or Bad."""
    r = Reader(data)
    m = Message(r.word(), r.word(), r.word(), r.word())
    try:
        _parse_rest(r, m)
    except (Short, AssertionError) as why:
        raise Bad('BAD_XDR: %s in %r' % (why, m))
    return m


def _parse_rest(r, m):
    if m.vers != VERSION:
        raise Bad('version %d' % m.vers)
    if m.htype == ERROR:
        code = r.word()
        m.error = (ERRORS.get(code, 'code %d' % code), [r.word() for _ in range(ERROR_WORDS.get(code, 0))])
    elif m.htype in CONNPROPS:
        for _ in range(r.word()):
            code = r.word()
            m.props[code] = r.opaque()
    elif m.htype in (CALL_INLINE, CALL_EXTERNAL):
        _parse_call(r, m)
    elif m.htype in MIDDLES:
        m.remaining = r.word()
    elif m.htype == REPLY_INLINE:
        m.writes = get_write_list(r)
    elif m.htype == REPLY_EXTERNAL:
        m.writes = get_write_list(r)
        assert r.flag(), 'no Reply chunk (6.3.8)'
        m.reply = get_chunk(r)
    elif m.htype != GRANT:
        raise Bad('header type %d' % m.htype)
    m.body = r.rest()
    if m.htype in MIDDLES + INLINES:
        assert len(m.body) >= 4, 'no rdma_rpc_first_word'
    else:
        assert not m.body, 'octets left over'


def _parse_call(r, m):
    m.inv_handle = r.word()
    if m.htype == CALL_EXTERNAL:
        call = get_read_list(r)
        assert call and all(position == 0 for position, _ in call), 'the Call chunk (6.6.3)'
        m.call_chunk = [seg for _, seg in call]
    m.reads = get_read_list(r)
    m.writes = get_write_list(r)
    m.reply = get_reply_chunk(r)
    positions = [position for position, _ in m.reads]
    assert all(p and p % 4 == 0 for p in positions), 'a Position (4.5.1)'
    assert positions == sorted(positions), 'order of the Read list (4.5.1.1)'
    handles = [seg.handle for _, seg in m.reads] + [s.handle for w in m.writes for s in w]
    handles += [s.handle for s in m.call_chunk + (m.reply or [])]
    assert m.inv_handle == 0 or m.inv_handle in handles, 'rdma_inv_handle names nothing here (6.5)'
