/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SESSION_PEER_H
#define TESTS_SESSION_PEER_H

#include "fabric/mem/mem.h"
#include "proxy/leg/leg.h"
#include "v2early/traits.h"
#include "tests/rng.h"

/**
 * peer - an endpoint at either side of the gateway. It makes calls with any chunks, serves calls,
 * in both directions, and checks every octet. The call's own octets tell the responder what to
 * return, so both ends agree without shared state.
 */

enum {
	PEER_CALLS = 96,
	PEER_CHUNKS = 4,
	PEER_SEGS = 3,
	PEER_FIXED = 64, /* octets of a call's payload stream before its first item */
};

/** struct peer_spec - one call: sizes in octets. */
struct peer_spec {
	uint32_t body; /* octets of the call's payload stream, at least 64 */
	bool by_chunk; /* in a body chunk instead of inline */
	unsigned nreads, nwrites;
	uint32_t reads[PEER_CHUNKS];	  /* data items of the call */
	uint32_t write_caps[PEER_CHUNKS]; /* capacity offered for results */
	uint32_t writes[PEER_CHUNKS];	  /* octets that the responder returns there */
	uint32_t reply_cap;		  /* capacity of the Reply chunk offered; 0: none */
	uint32_t reply;			  /* octets of the reply's payload stream, at least 24 */
	unsigned segs;			  /* number of segments of each chunk, 1 to PEER_SEGS */
	/* Words behind the XID in the call, in place of the peer's own; any reply is then accepted.
	 * For raw servers. */
	const uint32_t *words;
	unsigned nwords;
	bool exact; /* only the reply of a peer is accepted */
};

struct peer_region {
	uint8_t *addr;
	uint32_t len, cap;
	uint32_t handles[PEER_SEGS];
	unsigned nhandles;
	bool lent; /* it is part of a Receive */
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
	struct fabric_addr from; /* address of a client; .len 0: 127.0.0.1 */
	bool holds;		 /* receives calls and does not answer until peer_release() */
	bool scatters;		 /* writes results in pieces, the last first, with gaps */
	bool divides;	  /* writes results in a few pieces, in order, if few are in flight */
	unsigned writing; /* RDMA Reads and Writes in flight for calls being served */
	bool places;	  /* sends data of calls in their Send, if the other end accepts that */
	bool asks;	  /* calls say how the data of their replies may come */
	uint64_t placed_in, placed_out; /* calls received, or sent, with data in the Send */
	/* calls that said so; items of replies that were received, or sent, in that way */
	uint64_t asked, returned_in, returned_out;
	bool linux_reply_len; /* reports lengths of Reply chunks as knfsd 6.1 does */
	uint32_t next_xid;
	uint64_t done, errors, served, corrupt, unexpected;
	uint64_t late;	 /* answers to abandoned calls so far */
	uint64_t joined; /* calls served whose data item was in the payload stream */
	struct rpc_error last_error;
	/* Last members, because they are large and tests make thousands of peers. In an entry that
	 * is not .busy all else is undefined. */
	struct peer_call calls[PEER_CALLS];
	struct peer_serve serves[PEER_CALLS];
};

/** peer_clear - reset @p, as if it were zeroed. */
void peer_clear(struct peer *p);

/** peer_init - set up on @net; @versions as in leg_config. */
void peer_init(struct peer *p, struct memnet *net, unsigned versions, uint32_t inline_bytes,
	       uint32_t credits, uint32_t first_xid, size_t memory);

/** peer_init_on - set up on any fabric, which is taken. */
void peer_init_on(struct peer *p, struct fabric *fabric, nsec_t (*now)(void *clock), void *clock,
		  unsigned versions, uint32_t inline_bytes, uint32_t credits, uint32_t first_xid,
		  size_t memory);

/** peer_connect - open p->leg to @to. */
void peer_connect(struct peer *p, const struct fabric_addr *to);

/** peer_turn - handle all events, pump, flush. Accepts one connection if attached. */
void peer_turn(struct peer *p);

/** peer_call - queue a call. Return: false if PEER_CALLS are busy. */
bool peer_call(struct peer *p, const struct peer_spec *spec);

/** peer_release - answer the held calls, or, without @answer, drop them. Return: how many. */
unsigned peer_release(struct peer *p, bool answer);

/** peer_forget - abandon every call that was sent and has no answer. Return: how many. */
unsigned peer_forget(struct peer *p);

/** peer_count - count @more calls as in flight, if its version counts calls, as kernel clients
 * do. */
void peer_count(struct peer *p, uint32_t more);

/** peer_count_late - add the late answers that its leg counted off to the calls in flight: abandoned
 * calls were counted off when they were abandoned. */
void peer_count_late(struct peer *p);

/** peer_read_of - a READ of @length octets, which the server writes into one Write chunk. */
struct peer_spec peer_read_of(uint32_t length);

/** peer_busy - number of calls that have not ended. */
unsigned peer_busy(const struct peer *p);

/** peer_end - end connection and calls; all memory is returned. */
void peer_end(struct peer *p);

/** peer_fini - free everything, after peer_end(). */
void peer_fini(struct peer *p);

/** peer_is_early - whether it speaks the early draft of version 2. */
static inline bool peer_is_early(const struct peer *p)
{
	return p->leg.t && p->leg.t->ops->traits == &early_traits;
}

/** peer_has_rival - in the early draft only one of several calls with the same place can be an
 * option: whether another one comes before @c. */
bool peer_has_rival(const struct peer_call *c);

/** peer_random_spec - a random call; @reverse and @version limit it to what may be sent. */
struct peer_spec peer_random_spec(struct rng *r, unsigned version, bool reverse,
				  uint32_t inline_bytes);

#endif
