/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: which calls may run. Each direction of a session has a queue, in order of arrival.
 * The first of it starts when there is a place among those running, exposures and memory for
 * all its chunks; until then it holds none of these, so transactions never wait for each other
 * while holding what others need.
 *
 * What a call that waits does hold are its own octets: a client's those in its Receive, which
 * slows the client down; a server's are set aside. So are a client's where Receives are shared and
 * few are left, for all replies need some of these.
 */
#include <string.h>

#include "proxy/session.h"

static void count_taken(struct txn *t, size_t bytes)
{
	session_queue(t->s, t->reverse)->taken += bytes;
	if (t->reverse)
		t->s->proxy->reverse_bytes += bytes;
}

/*
 * The last quarter of the memory is for sessions that have less than their share: what one whose
 * peers stand still holds does not stop the others. And half of it is not for calls of servers,
 * whose answers come behind the calls of clients, which may wait for that memory.
 */
static bool is_greedy(const struct txn *t, size_t need)
{
	const struct proxy *p = t->s->proxy;
	const struct session_queue *q = session_queue(t->s, t->reverse);
	size_t all = buf_zone_bytes(&p->arena, BUF_ZONE_ORDINARY);
	size_t left = buf_available(&p->arena, BUF_TRANSACTION);

	if (t->reverse && p->reverse_bytes + need > all / 2)
		return true;
	return q->taken > 0 && left < need + all / 4 && q->taken + need > all / p->nsessions;
}

/*
 * All or nothing: a place among those running, exposures, then memory; behind whoever waits for
 * memory already, unless it is @t's @turn. Those not running keep their Receives, so a peer that
 * goes beyond its credits runs dry. Return: whether it started (or failed for good).
 */
static bool try_start(struct txn *t, bool turn)
{
	struct session *s = t->s;
	struct session_queue *q = session_queue(s, t->reverse);
	struct buf_arena *arena = &s->proxy->arena;
	unsigned exposures;
	size_t need = txn_need(t, &exposures);

	if (need > (arena->bytes - arena->reserve) / BUDGET_SHARES ||
	    exposures > SESSION_EXPOSURES) {
		txn_fail(t, RPC_ERROR_SYSTEM, 0, 0);
		return true;
	}
	if (q->running >= q->limit ||
	    session_ops(s, t->rsp)->exposed + exposures > SESSION_EXPOSURES)
		return false; /* retried when a transaction of this session ends */
	if (need > 0 && is_greedy(t, need)) {
		if (list_is_empty(&s->modest)) /* others' memory may come free */
			list_add_tail(&s->proxy->modest, &s->modest);
		return false;
	}
	if (need > 0 && ((!turn && buf_must_wait(arena, BUF_TRANSACTION)) || txn_take(t) < 0)) {
		q->waiter.bytes = need;
		q->waiter.purpose = BUF_TRANSACTION;
		buf_wait(arena, &q->waiter);
		return false;
	}
	list_del(&t->wait_link);
	q->running++;
	t->started = true;
	t->exposures = exposures;
	t->taken = need;
	count_taken(t, need);
	session_ops(s, t->rsp)->exposed += exposures;
	t->state = TXN_PULL;
	txn_ops_begin(t);
	return true;
}

void txn_admit(struct session_queue *q, bool turn)
{
	while (!list_is_empty(&q->waiting) && list_is_empty(&q->waiter.link)) {
		if (!try_start(list_first(&q->waiting, struct txn, wait_link), turn))
			return;
		turn = false;
	}
}

/* What is still needed of a Receive, @body, goes elsewhere, unless it lies in memory of the
 * transaction's own. */
static int move_out(struct leg *leg, struct leg_held *held, struct view *body)
{
	const struct leg_rbuf *rb = held->rbuf;
	void *block = NULL;

	if (rb && body->len && body->data >= rb->data && body->data < rb->data + rb->len) {
		block = leg_take_unwaited(leg->arena, body->len);
		if (!block)
			return ERR_AGAIN;
		memcpy(block, body->data, body->len);
		*body = view_of(block, body->len);
	}
	leg_move(leg, held, block);
	return 0;
}

/*
 * A client's calls that wait keep their Receives, so that it slows down. If those of a server did
 * as well, calls of both directions could fill the windows of both legs, and no reply come through
 * for which they wait: version 2 has one window for calls and replies.
 */
static int set_aside(struct txn *t)
{
	struct session_queue *q = session_queue(t->s, t->reverse);

	if (q->aside == SESSION_ASIDE || move_out(t->req, &t->call_held, &t->call_body) < 0)
		return ERR_AGAIN;
	if (t->in.nbody > 0)
		t->in.body[0] = t->call_body;
	t->aside = true;
	q->aside++;
	return 0;
}

/* Where few shared Receives are left, a client's calls give up theirs as well, while there is memory
 * for that: what they wait for are replies, and each needs one. Grants slow the client down there. */
void txn_move_call(struct txn *t)
{
	if (!t->aside && recvs_tight(t->req->recvs))
		(void)set_aside(t);
}

/* What a requester does not take is no reason for others to wait. */
void txn_move_reply(struct txn *t)
{
	if (t->reply_held.rbuf && recvs_tight(t->rsp->recvs))
		(void)move_out(t->rsp, &t->reply_held, &t->reply_body);
}

void txn_queue(struct txn *t)
{
	struct session_queue *q = session_queue(t->s, t->reverse);

	list_add_tail(&q->waiting, &t->wait_link);
	txn_admit(q, false);
	if (list_is_empty(&q->waiting))
		return;
	t->s->proxy->count.budget_waits++; /* it is the last of them */
	if (!t->reverse)
		txn_move_call(t);
	else if (set_aside(t) < 0)
		txn_fail(t, RPC_ERROR_SYSTEM, 0, 0);
}

void txn_unqueue(struct txn *t)
{
	struct session_queue *q = session_queue(t->s, t->reverse);

	list_del(&t->wait_link);
	count_taken(t, -t->taken);
	session_ops(t->s, t->rsp)->exposed -= t->exposures;
	q->running -= t->started;
	q->aside -= t->aside;
}
