/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_LEG_RECVS_H
#define PROXY_LEG_RECVS_H

#include <assert.h>

#include "base/list.h"
#include "fabric/fabric.h"
#include "proxy/memory/buf.h"

/**
 * recvs - the Receives that all connections of one fabric instance share, so that their memory
 * grows with the load and not with the number of connections
 *
 * The fabric says how many it wants posted; here is their memory, taken from the connections'
 * part of the arena (BUF_FIXED) in blocks of BUDGET_BLOCK as the load comes, and given back when
 * it has gone. A leg that needs to send more at once than its own headers hold borrows one.
 *
 * What legs promise their peers is not backed one by one. A pool that is nearly used up says
 * so (recvs_tight()), and grants shrink. One that is used up makes senders wait, nothing worse;
 * but messages that wait for memory keep their Receives, and what would free that memory may
 * need one. Over a fabric that shares them out nobody keeps so many that others have none; else whoever sits
 * on them ends (recvs_are_scarce(), session_recvs.c).
 *
 * One thread only.
 */

struct recvs_chunk;
struct rpc_msg;

enum { RECVS_RECENT = 256 };

/** struct leg_rbuf - one Receive: shared, or a leg's own. */
struct leg_rbuf {
	struct list link; /* the holder's */
	uint8_t *data;
	uint8_t *block; /* a leg's own: owned by the one that lies first in it, else NULL */
	struct recvs_chunk *chunk; /* shared: where it belongs */
	uint32_t len;
	uint32_t invalidated; /* handle of ours, or 0 */
	/* Of a call that is kept (leg_keep()): */
	void *assembly; /* its body, where it was continued */
	uint32_t assembly_len;
	bool aside; /* this is no Receive, but a copy of one in a block of the arena that begins here */
	uint16_t look; /* shared: the pool's, when its message came */
};

struct recvs {
	struct fabric *fabric;
	struct buf_arena *arena;
	uint32_t bytes; /* of each */
	uint32_t total, free_count, posted;
	uint32_t busy;	       /* legs that hold some */
	uint32_t most;	       /* it may grow to */
	uint32_t recent_count; /* free ones that came back last; in free_count as well */
	struct list partial, whole, unused; /* chunks: some of it is free, all; it has no block */
	struct recvs_chunk *chunk_store;
	struct leg_rbuf *buf_store;
	struct rpc_msg *msg; /* what a leg received, while it is looked at */
	unsigned
		looks; /* in a row that found them scarce, and the same ones held: session_recvs.c */
	uint16_t look; /* since ever */
	struct leg_rbuf *recent[RECVS_RECENT];
};

/**
 * recvs_init - let the connections of @f share Receives of @bytes octets, at most BUDGET_BLOCK
 * @share: octets of the connections' part of @arena that they may come to, at least one block
 *
 * Return: 0; ERR_CONFIG when @f cannot, ERR_NOMEM: recvs_fini() is not due.
 */
int recvs_init(struct recvs *r, struct fabric *f, struct buf_arena *arena, size_t share,
	       uint32_t bytes) WARN_UNUSED;

/** recvs_fini - once all connections of the fabric are destroyed: gives all memory back. */
void recvs_fini(struct recvs *r);

/** recvs_of - what connections of @f share, or NULL: their Receives are their own. */
static inline struct recvs *recvs_of(const struct fabric *f)
{
	return f->receives;
}

/** recvs_fill - post what the fabric wants, as far as there is memory. */
void recvs_fill(struct recvs *r);

/** recvs_arrived - the fabric gave one back, with a message or without: it is the caller's. */
void recvs_arrived(struct recvs *r);

/** recvs_take - one for another use, or NULL. */
struct leg_rbuf *recvs_take_of_chunk(struct recvs *r);
static inline struct leg_rbuf *recvs_take(struct recvs *r)
{
	if (r->recent_count == 0)
		return recvs_take_of_chunk(r);
	r->free_count--;
	return r->recent[--r->recent_count];
}

/** recvs_put - takes @rb: it is posted again with the next fill. */
void recvs_put_in_chunk(struct recvs *r, struct leg_rbuf *rb);
static inline void recvs_put_free(struct recvs *r, struct leg_rbuf *rb)
{
	r->free_count++;
	if (r->recent_count < RECVS_RECENT)
		r->recent[r->recent_count++] = rb;
	else
		recvs_put_in_chunk(r, rb);
}

static inline void recvs_put(struct recvs *r, struct leg_rbuf *rb)
{
	assert(list_is_empty(&rb->link));
	recvs_put_free(r, rb);
}

/** recvs_tight - little is left: peers should be granted less. @r may be NULL: nothing is shared. */
bool recvs_tight_growing(const struct recvs *r);
static inline bool recvs_tight(const struct recvs *r)
{
	/* Seen at once in most cases: with room to grow it is only more. */
	return r && r->free_count + r->posted <= r->total / 4 && recvs_tight_growing(r);
}

/** recvs_part - @grant, or what each of @n legs may have, or of those that hold some where these are more, if all use as
 * many at once and a part is left to others, where that is less. */
static inline uint32_t recvs_part(const struct recvs *r, uint32_t n, uint32_t grant)
{
	uint32_t most = r ? r->most - r->most / FABRIC_READS : UINT32_MAX;

	if (r && n <= r->busy)
		n = r->busy + 1;
	return (uint64_t)grant * n > most ? most / n : grant;
}

/** recvs_left - what is posted, free, or may be had yet, about. */
static inline uint64_t recvs_left(const struct recvs *r)
{
	return (uint64_t)r->posted + r->fabric->receives_left;
}

/** recvs_trim - give back memory that the load needs no more. Every few seconds. */
void recvs_trim(struct recvs *r);

/** recvs_are_out - none is posted, nor to be had: whatever peers say waits. @r may be NULL, as above. */
bool recvs_are_out(const struct recvs *r);

/** recvs_are_scarce - whoever needs one may wait for somebody else to give one back: none is left, or none for those whom
 * the fabric keeps from getting on; or, where it does not share them out, few are. */
bool recvs_are_scarce(const struct recvs *r);

#endif
