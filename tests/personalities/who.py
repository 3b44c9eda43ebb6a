# SPDX-License-Identifier: BSD-2-Clause
"""The personalities: how an implementation of version 2 may read the draft, and what it may lack."""
from dataclasses import dataclass, replace

import draft

MIB = 1 << 20


@dataclass(frozen=True)
class Who:
    name: str
    tells: str = ''                     # what is particular, in words
    sends: int = 4096                   # 5.2.1 .. 5.2.5, as this end has them
    receives: int = 4096
    segment: int = MIB
    segments: int = 16
    reverse: int = draft.GENL
    props: str = 'one'                  # 'one' message, 'many', 'none'
    advertised: int = 32
    literal: bool = False               # 4.2.1 to the letter: Sent + Advertised, may post at equality
    reassembles: int = 4 * MIB          # longest continued message that is taken; 0: the types are not known
    continues: int = 4 * MIB            # longest message that is sent so
    by_window: bool = False             # begins to continue only what the open window covers
    strict: bool = False                # nothing between the parts of a message, not even a GRANT (6.3.6)
    external: bool = False              # every message that can go as EXTERNAL does
    offers: int = 4 * MIB               # a Reply chunk for what may be longer than this
    grants: bool = False                # a GRANT for each message, and between its own parts
    quiet: bool = False                 # no GRANT, ever
    silent: bool = False                # reports nothing
    pause: float = 0.0                  # before each message
    pieces: int = 1                     # segments of a chunk of its own
    pads: bool = False                  # as Linux in version 1: a Write chunk that is no multiple of four has a segment
    #                                     of 4 octets behind it
    invalidates: bool = True
    early: bool = False                 # speaks the early draft, of which only credits, offers, external, pieces count
    options: bool = False               # ... and sends an option that nobody knows before each message


PLAIN = Who('plain')

ALL = (
    Who('strict', 'parts follow each other, nothing between; segments of 128 KiB; chunks in three', strict=True,
        by_window=True, segment=MIB // 8, offers=0, pieces=3, reverse=draft.SIMPLE),
    Who('literal', 'rdma_credit is Sent + Advertised; posts while Sent is not greater than Received', literal=True),
    Who('no-grants', 'literal, and sends no GRANT: what is continued to it is lost to the window', literal=True,
        quiet=True, continues=0, offers=0),
    Who('no-props', 'no CONNPROP, ever', props='none', reverse=draft.NONE),
    Who('many-props', 'each property in a message of its own, one unknown; the last message has none', props='many',
        pieces=2),
    Who('tiny', 'reassembles and continues 8 KiB at most', reassembles=8192, continues=8192, offers=8192,
        reverse=draft.CONT),
    Who('one-credit', 'advertises one message', advertised=1),
    Who('small', 'sends and receives 1024 octets', sends=1024, receives=1024),
    Who('no-cont', 'knows no MIDDLE types: ERR_INVAL_HTYPE', reassembles=0, continues=0, offers=0,
        reverse=draft.GENL),
    Who('external', 'EXTERNAL for whatever can be', continues=0, offers=-1, external=True),
    Who('grants', 'a GRANT after each message and between its own parts', grants=True),
    Who('silent', 'reports no error', silent=True, invalidates=False),
    Who('slow', 'waits before each message', pause=0.004, advertised=4),
)

# Of the early draft (early.py).
EARLY = tuple(replace(one, early=True, reverse=draft.SIMPLE) for one in (
    Who('early', 'as short as can be, and as soon as the text allows'),
    Who('early-one', 'grants one call', advertised=1),
    Who('early-external', 'RDMA2_NOMSG for whatever can be', offers=-1, external=True),
    Who('early-pieces', 'chunks in three', pieces=3, advertised=3),
    Who('early-options', 'an option that nobody knows before each message', options=True),
    Who('early-slow', 'waits before each message', pause=0.004, advertised=4),
))
