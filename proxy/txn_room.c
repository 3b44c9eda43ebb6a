/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: what the gateway keeps of an RPC beside its octets lies in a block of the arena, as
 * large as the call's own chunks and segments want (most fit the smallest that is used), and counts
 * as the session's. Where there is none the call is kept as it came (leg_keep.c), and its queue stands
 * in line with those of other sessions, as for payload memory:
 *
 *     call --> room? --yes--> transaction (txn.c)
 *                |  ^
 *               no  | quota_next(): memory came back, and it is this queue's turn
 *                v  |
 *               kept, in order; replies and others' calls pass
 *
 * Nothing is refused for that, be it a session's first call. Those of clients and of servers have
 * a part each, for a client's may be answered only after a server's was. A server's are copied out of
 * their Receives, as those are that wait for payload memory (txn_admit.c).
 *
 * A place that comes free while others of its session are in use is kept for the session's next call,
 * for to share memory out anew with each RPC costs as much as all of its plan. Such spares count as the
 * session's, are few, and stay with it as long as nobody has to wait for a place: whoever would gets all that
 * there are given back first. A session that is idle has none.
 */
#include <string.h>

#include "base/asan.h"
#include "proxy/internal.h"

enum {
	SPARE_BYTES = 2 * BUF_MIN_BLOCK, /* what most calls take; others are not kept */
	SPARES_OF_QUEUE = 32,
	SPARES_OF_WORKER =
		512, /* so to give all of them back takes no longer than others' turns may */
};

/** struct txn_spare - a place with nobody in it. */
struct txn_spare {
	struct txn_spare *next;
};

static size_t room_of(const struct rpc_msg *call)
{
	return offsetof(struct txn, in) + offsetof(struct rpc_msg, segs) +
	       call->nsegs * sizeof(call->segs[0]) +
	       (call->nreads + call->nwrites) * sizeof(struct txn_region);
}

static struct txn *take_spare(struct session_queue *q)
{
	struct txn_spare *spare = q->spares;

	q->spares = spare->next;
	q->nspares--;
	q->s->proxy->nspares--;
	if (!q->spares)
		list_del(&q->spare_link);
	ASAN_UNPOISON_MEMORY_REGION(spare, SPARE_BYTES);
	return (struct txn *)(void *)spare;
}

static void keep_spare(struct session_queue *q, struct txn *t)
{
	struct txn_spare *spare = (struct txn_spare *)(void *)t;

	if (!q->spares)
		list_add_tail(&q->s->proxy->spare_queues, &q->spare_link);
	*spare = (struct txn_spare){q->spares};
	q->spares = spare;
	q->nspares++;
	q->s->proxy->nspares++;
	ASAN_POISON_MEMORY_REGION(spare + 1, SPARE_BYTES - sizeof(*spare));
}

static bool may_keep_spare(const struct session_queue *q, const struct txn *t)
{
	const struct session *s = q->s;

	return s->state == SESSION_OPEN && s->ntxns > 0 && q->nspares < SPARES_OF_QUEUE &&
	       s->proxy->nspares < SPARES_OF_WORKER && !quota_anybody_waits(&q->room) &&
	       buf_block_bytes(&s->proxy->arena, t) == SPARE_BYTES;
}

void txn_give_spares(struct session_queue *q)
{
	while (q->spares)
		quota_give(&q->room, take_spare(q));
}

static void give_all_spares(struct proxy *p)
{
	while (!list_is_empty(&p->spare_queues))
		txn_give_spares(list_first(&p->spare_queues, struct session_queue, spare_link));
}

static struct txn *take_new(struct quota_member *m, size_t bytes)
{
	return quota_may_take(m, buf_round(bytes)) ? quota_take(m, bytes) : NULL;
}

struct txn *txn_take_room(struct session_queue *q, const struct rpc_msg *call)
{
	size_t bytes = room_of(call);
	struct quota_member *m = &q->room;
	struct txn *t;

	if (q->spares && bytes <= SPARE_BYTES)
		return take_spare(q);
	/* The first of the calls that are kept stands in line; a plain one passes it. */
	if (quota_is_waiting(m))
		return txn_is_plain(call) ? take_new(m, bytes) : NULL;
	t = take_new(m, bytes);
	if (!t && q->s->proxy->nspares > 0) {
		give_all_spares(q->s->proxy);
		t = take_new(m, bytes);
	}
	if (t)
		quota_served(m);
	else
		quota_wait(m, buf_round(bytes));
	return t;
}

void txn_set_room(struct txn *t)
{
	t->reads = (struct txn_region *)(void *)(t->in.segs + t->in.nsegs);
	t->writes = t->reads + t->in.nreads;
	memset(t->reads, 0, (t->in.nreads + t->in.nwrites) * sizeof(t->reads[0]));
}

void txn_give_room(struct session_queue *q, struct txn *t)
{
	if (may_keep_spare(q, t))
		keep_spare(q, t);
	else
		quota_give(&q->room, t);
}

void txn_keep(struct session_queue *q, const struct leg_out *out)
{
	struct leg *req = session_requester(q);
	bool aside = out->reverse ? q->aside < SESSION_ASIDE : leg_keeps_many(req);

	q->s->route->count.budget_waits++;
	q->aside += leg_keep(req, out, &q->kept, aside);
}

void txn_move_kept(struct session_queue *q)
{
	q->aside += leg_keep_aside(session_requester(q), &q->kept);
}

bool txn_take_kept(struct session_queue *q, struct leg_out *out, struct txn **t, bool *aside)
{
	struct leg *req = session_requester(q);

	if (list_is_empty(&q->kept) || quota_is_waiting(&q->room) ||
	    (q == &q->s->forward && !list_is_empty(&q->waiting)))
		return false;
	*aside = leg_again(req, &q->kept, out);
	if (leg_data_are_behind(req, out->msg)) /* tried again when it is so no more */
		return false;
	*t = txn_take_room(q, out->msg);
	if (*t)
		leg_unkeep(req, &q->kept);
	return *t != NULL;
}

void txn_drop_kept(struct session_queue *q)
{
	leg_drop_kept(session_requester(q), &q->kept);
}
