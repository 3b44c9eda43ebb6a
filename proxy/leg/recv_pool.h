/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_LEG_RECV_POOL_H
#define PROXY_LEG_RECV_POOL_H

#include <assert.h>

#include "base/list.h"
#include "fabric/fabric.h"
#include "proxy/memory/buf.h"

/**
 * recv_pool - the Receives that all connections of one fabric instance share, so that their memory
 * grows with the load and not with the number of connections
 *
 * The fabric says how many it wants posted. Their memory is taken from the connections' part of the
 * arena (BUF_CONN), in blocks of BUDGET_BLOCK as the load comes, and given back when it has gone. A
 * leg that needs more header buffers for Sends than it has borrows a Receive.
 *
 * State:  the credits that legs granted to their peers exceed the Receives there are.
 * Danger: messages that wait for memory hold Receives, and the messages that would free that memory
 *         find none.
 * Rule:
 * - If few Receives are left (recv_pool_is_low()), grants shrink.
 * - If no Receive is left, senders wait.
 * - Some fabrics limit each connection's share, so that no connection leaves the others without
 *   Receives. If few are left over another fabric, or if connections that need a Receive find none
 *   (recv_pool_is_starving()), session_recv_reclaim.c ends sessions that hold Receives.
 * Pinned: tests/session/test_shared.c, tests/session/test_recv_reclaim.c, decisions 81, 82.
 *
 * One thread only.
 */

struct recv_pool_chunk;
struct rpc_msg;

enum { RECV_POOL_RECENT = 256 }; /* room in recv_pool.recent, Receives */

/** struct leg_rbuf - one Receive: a shared one, or a leg's own. */
struct leg_rbuf {
	struct list link; /* in a list of its holder */
	uint8_t *data;
	/* The memory it is cut from. A leg's own: the block, owned by the first Receive in it, else
	 * NULL. */
	union {
		uint8_t *block;
		struct recv_pool_chunk *chunk; /* shared */
	};
	struct fabric_sums *sums; /* of its message; NULL: none */
	uint32_t len;
	uint32_t invalidated; /* our handle that its message invalidated, or 0 */
	/* While it holds a deferred call (leg_defer()): */
	void *reasm; /* body of a continued call */
	uint32_t reasm_len;
	/* This is not a Receive but a copy of one, in a block of the arena that begins here. */
	bool copied;
	uint16_t look; /* of a shared Receive: .look of the pool when the message came */
};

struct recv_pool {
	struct fabric *fabric;
	struct buf_arena *arena;
	uint32_t bytes; /* octets of each Receive */
	/* Receives of the pool: all, those in no use, those posted to the fabric. */
	uint32_t total, free_count, posted;
	uint32_t busy; /* legs whose messages hold Receives */
	uint32_t most; /* most Receives that it may grow to */
	/* Free Receives that came back last; counted in .free_count as well. */
	uint32_t recent_count;
	/* Chunks of which some Receives are free, of which all are, and without a block. */
	struct list partial, whole, unused;
	struct recv_pool_chunk *chunk_store;
	struct leg_rbuf *buf_store;
	struct rpc_msg *msg; /* the message that a leg received, while it is processed */
	/* Looks of session_recv_reclaim.c in a row that found Receives short, and most of those in
	 * use held since the look before. */
	unsigned looks;
	uint16_t look; /* number of the last look, modulo 65536 */
	struct leg_rbuf *recent[RECV_POOL_RECENT];
};

/**
 * recv_pool_init - let the connections of @f share Receives of @bytes octets, at most BUDGET_BLOCK
 * @share: octets of the connections' part of @arena that they may take, at least one block
 *
 * Return: 0; ERR_CONFIG if @f cannot share, ERR_NOMEM: recv_pool_fini() is not due.
 */
int recv_pool_init(struct recv_pool *r, struct fabric *f, struct buf_arena *arena, size_t share,
		   uint32_t bytes) WARN_UNUSED;

/** recv_pool_fini - once all connections of the fabric are destroyed: give all memory back. */
void recv_pool_fini(struct recv_pool *r);

/** recv_pool_of - the shared Receives of @f, or NULL: its connections have their own. */
static inline struct recv_pool *recv_pool_of(const struct fabric *f)
{
	return f->receives;
}

/** recv_pool_fill - post as many as the fabric wants, as far as there is memory. */
void recv_pool_fill(struct recv_pool *r);

/** recv_pool_arrived - the fabric gave a Receive back, with a message or without: it belongs to the
 * caller. */
void recv_pool_arrived(struct recv_pool *r);

/** recv_pool_take - take a free Receive for another use. Return: for recv_pool_put(); or NULL. */
struct leg_rbuf *recv_pool_take_of_chunk(struct recv_pool *r);
static inline struct leg_rbuf *recv_pool_take(struct recv_pool *r)
{
	if (r->recent_count == 0)
		return recv_pool_take_of_chunk(r);
	r->free_count--;
	return r->recent[--r->recent_count];
}

/** recv_pool_put - takes @rb: it is posted again with the next fill. */
void recv_pool_put_in_chunk(struct recv_pool *r, struct leg_rbuf *rb);
static inline void recv_pool_put_free(struct recv_pool *r, struct leg_rbuf *rb)
{
	r->free_count++;
	if (r->recent_count < RECV_POOL_RECENT)
		r->recent[r->recent_count++] = rb;
	else
		recv_pool_put_in_chunk(r, rb);
}

static inline void recv_pool_put(struct recv_pool *r, struct leg_rbuf *rb)
{
	assert(list_is_empty(&rb->link) && !rb->sums);
	recv_pool_put_free(r, rb);
}

/** recv_pool_is_low - whether few Receives are left, so that peers should be granted less. @r may
 * be NULL: nothing is shared. */
bool recv_pool_is_low_growing(const struct recv_pool *r);
static inline bool recv_pool_is_low(const struct recv_pool *r)
{
	/* Decided here in most cases; the function counts what the pool can still grow by. */
	return r && r->free_count + r->posted <= r->total / 4 && recv_pool_is_low_growing(r);
}

/**
 * recv_pool_share - @grant, or less if @n legs would together use more than there are
 *
 * Each leg then gets an equal part; if more than @n legs hold Receives their number counts. Some
 * Receives are left to other uses.
 */
static inline uint32_t recv_pool_share(const struct recv_pool *r, uint32_t n, uint32_t grant)
{
	uint32_t most = r ? r->most - r->most / FABRIC_RECV_READER_DIV : UINT32_MAX;

	if (r && n <= r->busy)
		n = r->busy + 1;
	return (uint64_t)grant * n > most ? most / n : grant;
}

/** recv_pool_left - about how many Receives are posted, are free, or can still be taken. */
static inline uint64_t recv_pool_left(const struct recv_pool *r)
{
	return (uint64_t)r->posted + r->fabric->receives_left;
}

/** recv_pool_trim - give back memory that the load no longer needs; call it every few seconds. */
void recv_pool_trim(struct recv_pool *r);

/** recv_pool_is_exhausted - whether no Receive is posted and none can be posted, so that all input
 * of peers waits. @r may be NULL: nothing is shared. */
bool recv_pool_is_exhausted(const struct recv_pool *r);

/**
 * recv_pool_is_starving - whether a connection that needs a Receive may have to wait until another
 * connection gives one back
 *
 * True if none is left; if connections that cannot continue without one find none; or, if the
 * fabric does not limit each connection's share, if few are left.
 */
bool recv_pool_is_starving(const struct recv_pool *r);

#endif
