# SPDX-License-Identifier: BSD-2-Clause
"""Messages as section 4.2 of draft-cel-nfsv4-rpcrdma-version-two-01 has them: the text's XDR, word by word.
No code is shared with v2early/ or tests/hostile/early.py."""
from xdr import Reader, Short, get_chunk, get_read_list, get_write_list, opaque, read_list, reply_chunk, u32, write_list

VERSION = 2

# enum msg_type, enum rpcrdma2_proc, enum rpcrdma2_errcode
CALL, REPLY = 0, 1
MSG, NOMSG, ERROR, OPTIONAL = 0, 1, 4, 5
ERRORS = {1: 'VERS', 2: 'BAD_HEADER', 3: 'INVAL_OPTION'}
CODES = {name: code for code, name in ERRORS.items()}

FIRST_OCTETS = 1024     # section 5: of the first message
INLINE_OCTETS = 4096    # section 2.3: of every other, in both directions


class Bad(Exception):
    """A message that is not as the text has it."""


class Message:
    def __init__(self, xid, credit, proc):
        self.xid, self.credit, self.proc = xid, credit, proc
        self.direction = REPLY
        self.call_chunk, self.reads, self.writes, self.reply = [], [], [], None
        self.error = None       # (name, words)
        self.option = None      # (type, octets)
        self.body = b''

    @property
    def is_call(self):
        return self.direction == CALL and self.proc in (MSG, NOMSG)

    def segments(self):
        return len(self.call_chunk) + len(self.reads) + sum(len(w) for w in self.writes) + len(self.reply or ())

    def __repr__(self):
        return 'xid=%08x proc=%d direction=%d credit=%d error=%s body=%d' % (
            self.xid, self.proc, self.direction, self.credit, self.error, len(self.body))


# --- out ---

def fixed(xid, credit, proc):
    return u32(xid, VERSION, credit, proc)


def chunks(direction, reads=(), writes=(), reply=None):
    """struct rpcrdma2_chunk_lists"""
    return u32(direction) + read_list(reads) + write_list(writes) + reply_chunk(reply)


def error(name, *words):
    assert len(words) == (2 if name == 'VERS' else 0)
    return u32(CODES[name], *words)


def optional(direction, opttype, info):
    return u32(direction, opttype) + opaque(info)


# --- in ---

def parse(data):
    try:
        r = Reader(data)
        xid, vers, credit, proc = (r.word() for _ in range(4))
        if vers != VERSION:
            raise Bad('version %d' % vers)
        m = Message(xid, credit, proc)
        if proc == ERROR:
            code = r.word()
            m.error = (ERRORS.get(code, 'code %d' % code), [r.word(), r.word()] if code == 1 else [])
        elif proc == OPTIONAL:
            m.direction = _direction(r)
            m.option = (r.word(), r.opaque())
        elif proc in (MSG, NOMSG):
            _parse_chunks(r, m)
        else:
            raise Bad('type %d' % proc)
        m.body = r.rest()
    except (Short, AssertionError) as why:
        raise Bad('%s in %s' % (why, data.hex())) from None
    _check(m)
    return m


def _direction(r):
    value = r.word()
    assert value in (CALL, REPLY), 'a direction of %d' % value
    return value


def _parse_chunks(r, m):
    m.direction = _direction(r)
    reads = get_read_list(r)
    m.writes = get_write_list(r)
    m.reply = get_chunk(r) if r.flag() else None
    m.call_chunk = [seg for position, seg in reads if position == 0]
    m.reads = [(position, seg) for position, seg in reads if position]


def _check(m):
    """4.2.1, 4.2.2, and what version 1 says of such messages."""
    if m.credit == 0:
        raise Bad('no credit: %r' % m)
    if m.proc == ERROR and m.body:
        raise Bad('a payload behind an RDMA2_ERROR (4.2.1)')
    if m.proc == MSG:
        if len(m.body) < 8 or int.from_bytes(m.body[:4], 'big') != m.xid:
            raise Bad('no payload stream of that XID (4.2.1): %r' % m)
        if int.from_bytes(m.body[4:8], 'big') != m.direction:
            raise Bad('a direction that is not that of the RPC message (4.2.2): %r' % m)
        if m.call_chunk:
            raise Bad('a Position-Zero Read chunk beside a payload stream: %r' % m)
    if m.proc == NOMSG and m.body:
        raise Bad('a payload stream behind an RDMA2_NOMSG: %r' % m)
    if m.proc == NOMSG and not (m.call_chunk if m.direction == CALL else m.reply):
        raise Bad('an RDMA2_NOMSG without its chunk: %r' % m)
    if m.direction == REPLY and (m.reads or m.call_chunk):
        raise Bad('a reply with Read chunks: %r' % m)
    positions = [position for position, _ in m.reads]
    if any(position % 4 for position in positions) or positions != sorted(positions):
        raise Bad('Positions %s' % positions)
