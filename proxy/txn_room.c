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
 */
#include <string.h>

#include "proxy/internal.h"

static size_t room_of(const struct rpc_msg *call)
{
	return offsetof(struct txn, in) + offsetof(struct rpc_msg, segs) +
	       call->nsegs * sizeof(call->segs[0]) +
	       (call->nreads + call->nwrites) * sizeof(struct txn_region);
}

struct txn *txn_take_room(struct session_queue *q, const struct rpc_msg *call)
{
	size_t bytes = room_of(call);
	struct quota_member *m = &q->room;
	struct txn *t;

	if (quota_is_waiting(m))
		return NULL;
	t = quota_may_take(m, buf_round(bytes)) ? quota_take(m, bytes) : NULL;
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
	quota_give(&q->room, t);
}

void txn_keep(struct session_queue *q, const struct leg_out *out)
{
	struct leg *req = session_requester(q);
	bool aside = out->reverse ? q->aside < SESSION_ASIDE : recvs_tight(req->recvs);

	q->s->route->count.budget_waits++;
	q->aside += leg_keep(req, out, &q->kept, aside);
}

bool txn_take_kept(struct session_queue *q, struct leg_out *out, struct txn **t, bool *aside)
{
	struct leg *req = session_requester(q);

	if (list_is_empty(&q->kept) || quota_is_waiting(&q->room))
		return false;
	*aside = leg_again(req, &q->kept, out);
	*t = txn_take_room(q, out->msg);
	if (*t)
		leg_unkeep(req, &q->kept);
	return *t != NULL;
}

void txn_drop_kept(struct session_queue *q)
{
	leg_drop_kept(session_requester(q), &q->kept);
}
