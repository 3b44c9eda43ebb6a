/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: blocks for transactions
 *
 * State:  a transaction, without its payload, lies in a block of the arena. The block is as large
 *         as the call's chunks and segments require (the smallest size fits most calls) and is
 *         charged to the session.
 * Danger: calls without end fill the memory for transactions, or are refused while others hold it.
 * Rule:   if there is no block, the call is deferred as it came (leg_defer.c), and its queue waits
 *         in line with those of other sessions, as for payload memory. No call is refused for that,
 *         not even a session's first. Exception: a server's call that cannot be copied out of its
 *         Receive (below).
 * Pinned: tests/session/test_rooms.c
 *
 *     call --> block? --yes--> transaction (txn.c)
 *                |  ^
 *               no  | quota_next(): memory came back, and it is this queue's turn
 *                v  |
 *               deferred, in order; replies and other sessions' calls pass it
 *
 * Calls of clients and calls of servers each have a part of that memory, because a client's call
 * may be answered only after a server's call was. A server's calls are copied out of their
 * Receives, like those that wait for payload memory, or refused (copy_out() in txn_admit.c).
 *
 * A block that comes free while others of its session are in use is cached for the session's next
 * call, because taking one from the shared memory for each RPC costs as much as planning the RPC.
 * Cached blocks are charged to the session. They are freed before any call has to wait for
 * a block, and when the session is idle.
 */
#include <string.h>

#include "base/asan.h"
#include "proxy/txn_alloc.h"
#include "proxy/internal.h"
#include "proxy/leg/leg_defer.h"
#include "proxy/txn_admit.h"

/* Octets of the block that most calls take; other sizes are not cached. */
enum { CACHED_BYTES = 2 * BUF_MIN_BLOCK };

/** struct txn_cached - a cached block. */
struct txn_cached {
	struct txn_cached *next;
};

static size_t block_size_of(const struct rpc_msg *call)
{
	return offsetof(struct txn, in) + offsetof(struct rpc_msg, segs) +
	       call->nsegs * sizeof(call->segs[0]) +
	       (call->nreads + call->nwrites) * sizeof(struct txn_region);
}

static struct txn *take_cached(struct session_queue *q)
{
	struct txn_cached *cached = q->cached;

	q->cached = cached->next;
	if (!q->cached)
		list_del(&q->cached_link);
	ASAN_UNPOISON_MEMORY_REGION(cached, CACHED_BYTES);
	return (struct txn *)(void *)cached;
}

static void cache_block(struct session_queue *q, struct txn *t)
{
	struct txn_cached *cached = (struct txn_cached *)(void *)t;

	if (!q->cached)
		list_add_tail(&q->s->proxy->caching_queues, &q->cached_link);
	*cached = (struct txn_cached){q->cached};
	q->cached = cached;
	ASAN_POISON_MEMORY_REGION(cached + 1, CACHED_BYTES - sizeof(*cached));
}

static bool may_cache(const struct session_queue *q, const struct txn *t)
{
	const struct session *s = q->s;

	return s->state == SESSION_OPEN && s->ntxns > 0 && !quota_anybody_waits(&q->block_quota) &&
	       buf_block_bytes(&s->proxy->arena, t) == CACHED_BYTES;
}

void txn_free_cached(struct session_queue *q)
{
	while (q->cached)
		quota_give(&q->block_quota, take_cached(q));
}

static struct txn *take_new(struct quota_member *m, size_t bytes)
{
	return quota_may_take(m, buf_round(bytes)) ? quota_take(m, bytes) : NULL;
}

struct txn *txn_alloc_block(struct session_queue *q, const struct rpc_msg *call)
{
	size_t bytes = block_size_of(call);
	struct quota_member *m = &q->block_quota;
	struct list *caching = &q->s->proxy->caching_queues;
	struct txn *t;

	if (q->cached && bytes <= CACHED_BYTES)
		return take_cached(q);
	/* The first of the deferred calls waits in line; a call without chunks passes it. */
	if (quota_is_waiting(m))
		return txn_is_plain(call) ? take_new(m, bytes) : NULL;
	while (!(t = take_new(m, bytes)) && !list_is_empty(caching))
		txn_free_cached(list_first(caching, struct session_queue, cached_link));
	if (t)
		quota_served(m);
	else
		quota_wait(m, buf_round(bytes));
	return t;
}

void txn_init_block(struct txn *t)
{
	t->reads = (struct txn_region *)(void *)(t->in.segs + t->in.nsegs);
	t->writes = t->reads + t->in.nreads;
	memset(t->reads, 0, (t->in.nreads + t->in.nwrites) * sizeof(t->reads[0]));
}

void txn_free_block(struct session_queue *q, struct txn *t)
{
	if (may_cache(q, t))
		cache_block(q, t);
	else
		quota_give(&q->block_quota, t);
}

void txn_count_wait(struct session_queue *q)
{
	struct proxy_counters *count = &q->s->route->count;

	if (quota_is_waiting(&q->quota) || quota_is_waiting(&q->block_quota))
		count->budget_waits++;
	else
		count->place_waits++;
}

int txn_defer(struct session_queue *q, const struct leg_out *out)
{
	struct leg *req = session_requester(q);
	bool is_copied;

	if (!out->reverse)
		gss_order_deferred(&q->gss_order, out->msg);
	is_copied = (out->reverse || leg_should_copy_out(req)) &&
		    leg_defer_copy(req, out, &q->deferred);
	if (out->reverse && !is_copied)
		return ERR_AGAIN;
	if (!is_copied)
		leg_defer(out, &q->deferred);
	txn_count_wait(q);
	return 0;
}

void txn_copy_out_deferred(struct session_queue *q)
{
	leg_copy_out_deferred(session_requester(q), &q->deferred);
}

bool txn_take_deferred(struct session_queue *q, struct leg_out *out, struct txn **t)
{
	bool are_busy = q == &q->s->forward && !list_is_empty(&q->s->busy_calls);
	struct leg *req = session_requester(q);

	if (list_is_empty(&q->deferred) || quota_is_waiting(&q->block_quota) ||
	    (q == &q->s->forward && !list_is_empty(&q->waiting)))
		return false;
	leg_redecode(req, &q->deferred, out);
	if (are_busy && gss_order_is_behind(&q->gss_order, out->msg))
		return false; /* tried again each time that the busy calls are */
	*t = txn_alloc_block(q, out->msg);
	if (!*t)
		return false;
	leg_undefer(req, &q->deferred);
	gss_order_taken(&q->gss_order, !are_busy);
	return true;
}

void txn_drop_deferred(struct session_queue *q)
{
	leg_drop_deferred(session_requester(q), &q->deferred);
}
