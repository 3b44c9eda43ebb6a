/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SESSION_PEER_H
#define TESTS_SESSION_PEER_H

#include "fabric/mem/mem.h"
#include "proxy/leg/leg.h"
#include "v2early/traits.h"
#include "tests/rng.h"

/**
 * peer - an endpoint at either end of the gateway: makes calls of any chunk
 * shape and serves them, in both directions, and checks every octet. The call's
 * own octets tell the responder what to return, so that both ends agree without
 * sharing state.
 */

enum {
	PEER_CALLS = 96,
	PEER_CHUNKS = 4,
	PEER_SEGS = 3,
	PEER_FIXED = 64, /* octets of a call's payload stream before its first item */
};

/** struct peer_spec - one call: sizes in octets. */
struct peer_spec {
	uint32_t body; /* payload stream of the call, at least 64 */
	bool by_chunk; /* in a body chunk instead of inline */
	unsigned nreads, nwrites;
	uint32_t reads[PEER_CHUNKS];	  /* data items of the call */
	uint32_t write_caps[PEER_CHUNKS]; /* room offered for results */
	uint32_t writes[PEER_CHUNKS];	  /* what the responder is to return there */
	uint32_t reply_cap;		  /* Reply chunk offered, 0 none */
	uint32_t reply;			  /* payload stream of the reply, at least 24 */
	unsigned segs;			  /* segments a chunk is cut into, 1 .. PEER_SEGS */
	/* Instead of the peer's own: what follows the XID in the call; and any reply will do. For raw servers. */
	const uint32_t *words;
	unsigned nwords;
	bool exact; /* ... but the one that a peer gives */
};

struct peer_region {
	uint8_t *addr;
	uint32_t len, cap;
	uint32_t handles[PEER_SEGS];
	unsigned nhandles;
	bool lent; /* it lies in a Receive */
};

struct peer_call {
	bool busy, sent, answered;
	struct peer *peer;
	uint32_t xid;
	nsec_t began;
	struct peer_spec spec;
	struct leg_tx tx;
	struct rpc_msg msg;
	struct peer_region body, reads[PEER_CHUNKS], writes[PEER_CHUNKS], reply;
	unsigned fences;
};

struct peer_serve {
	bool busy;
	struct peer *peer;
	struct rpc_msg in, out;
	struct leg_held held;
	struct leg_tx tx;
	struct peer_region body, reads[PEER_CHUNKS], writes[PEER_CHUNKS], reply;
	unsigned ops;
	bool held_back, replying, dry;
};

struct peer {
	nsec_t (*now)(void *clock);
	void *clock;
	struct fabric *fabric;
	struct buf_arena arena;
	struct leg leg;
	bool has_leg, open, closed;
	int status;
	struct leg_config cfg;
	struct fabric_addr from; /* a client's; .len 0: 127.0.0.1 */
	bool holds;		 /* takes calls and does not answer, until peer_release() */
	bool scatters;	  /* writes what it returns in pieces, the last first, with gaps between */
	bool divides;	  /* ... in a few, in order, as long as not many are under way */
	unsigned writing; /* RDMA Reads and Writes of calls served, under way */
	bool places;	  /* data of calls go in their Send, where the other end takes that */
	bool asks;	  /* ... and calls tell how the data of their replies may come */
	uint64_t placed_in, placed_out; /* calls that came, or went, so */
	uint64_t asked, returned_in,
		returned_out; /* calls that told; items of replies that came, went, so */
	bool linux_reply_len; /* report Reply chunk lengths as knfsd 6.1 does */
	uint32_t next_xid;
	uint64_t done, errors, served, corrupt, unexpected;
	uint64_t late;	 /* answers to calls let go, so far */
	uint64_t joined; /* of those served: their item was in the payload stream */
	struct rpc_error last_error;
	/* The last, for they have most of it, and tests make thousands of peers: of what is not .busy nothing else
	 * is meant, and it is not cleared. */
	struct peer_call calls[PEER_CALLS];
	struct peer_serve serves[PEER_CALLS];
};

/** peer_clear - as if it had been zeroed. */
void peer_clear(struct peer *p);

/** peer_init - on @net; @versions as in leg_config. */
void peer_init(struct peer *p, struct memnet *net, unsigned versions, uint32_t inline_bytes,
	       uint32_t credits, uint32_t first_xid, size_t memory);

/** peer_init_on - the same on any fabric, which it takes. */
void peer_init_on(struct peer *p, struct fabric *fabric, nsec_t (*now)(void *clock), void *clock,
		  unsigned versions, uint32_t inline_bytes, uint32_t credits, uint32_t first_xid,
		  size_t memory);

/** peer_connect - open p->leg to @to. */
void peer_connect(struct peer *p, const struct fabric_addr *to);

/** peer_turn - handle all events, pump, flush. Accepts one connection when attached. */
void peer_turn(struct peer *p);

/** peer_call - queue a call. Return: false when PEER_CALLS are busy. */
bool peer_call(struct peer *p, const struct peer_spec *spec);

/** peer_release - @answer the calls held, or be done with them without. Return: how many. */
unsigned peer_release(struct peer *p, bool answer);

/** peer_forget - let go every call that was sent and has no answer. Return: how many. */
unsigned peer_forget(struct peer *p);

/** peer_count - @more calls are waited for, where its version counts these, as kernel clients do. */
void peer_count(struct peer *p, uint32_t more);

/** peer_count_late - those that its leg has taken off for late answers: what was let go counted as ended before. */
void peer_count_late(struct peer *p);

/** peer_busy - calls not ended. */
unsigned peer_busy(const struct peer *p);

/** peer_end - connection and calls given up; memory back. */
void peer_end(struct peer *p);

/** peer_fini - after peer_end(): everything down. */
void peer_fini(struct peer *p);

/** peer_is_early - it speaks the early draft of version 2. */
static inline bool peer_is_early(const struct peer *p)
{
	return p->leg.t && p->leg.t->ops->traits == &early_traits;
}

/** peer_has_rival - in the early draft one of calls with the same place alone is an option: another comes before
 * @c. */
bool peer_has_rival(const struct peer_call *c);

/** peer_random_spec - a shape out of @r; @reverse and @version bound it to what may be sent. */
struct peer_spec peer_random_spec(struct rng *r, unsigned version, bool reverse,
				  uint32_t inline_bytes);

#endif
