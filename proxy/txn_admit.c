/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: which calls may run. Each direction of a session has a queue, in order of arrival.
 * The first of it starts when there is a place among those running, exposures and memory for
 * all its chunks; until then it holds none of these, so transactions never wait for each other
 * while holding what others need. For memory a queue stands in line with those of other sessions
 * (memory/quota.c).
 *
 * State: a client's calls wait for memory, and calls without chunks come behind them, which need none. Danger: NFS leases
 * expire beside READs that a server does not answer. Rule: such calls pass all that wait, up to PLAIN_BEYOND more than
 * may run; and of a client's calls that wait only the first holds a place for a transaction, all others stay in their Receives.
 * Pinned: tests/isolation/test_same_route.c.
 *
 * What a call that waits does hold are its own octets: a client's those in its Receive, which
 * slows the client down; a server's are set aside. So are a client's where Receives are shared and
 * few are left, for all replies need some of these.
 *
 * Where what the requester says next waits for a Receive, the data of a call are behind that. Such a call does not begin,
 * or those whose data cannot come would have the memory that others need for getting on (leg_data_are_behind()).
 *
 * Nothing here ends or starts a call: txn.c does, as it is told.
 */
#include <string.h>

#include "proxy/internal.h"

enum { PLAIN_BEYOND = 8 }; /* calls without chunks that run beside as many others as may */

bool txn_has_turn(const struct session_queue *q, const struct leg_out *call)
{
	if (txn_is_plain(call->msg) && !call->held.assembly)
		return true;
	return list_is_empty(&q->kept) && (call->reverse || list_is_empty(&q->waiting));
}

static void count_taken(struct txn *t, size_t bytes)
{
	session_queue(t->s, t->reverse)->taken_bytes += bytes;
	if (!t->reverse)
		return;
	t->s->route->reverse_bytes += bytes;
	t->s->proxy->reverse_bytes += bytes;
}

/*
 * Answers to calls of servers come behind the calls of clients, which may wait for memory: so calls
 * of servers get no more than half of what is common. One that a route has alone always may.
 */
static bool leaves_enough(const struct txn *t, size_t need)
{
	const struct proxy *p = t->s->proxy;

	return !t->reverse || t->s->route->reverse_bytes == 0 ||
	       p->reverse_bytes + need <= buf_zone_bytes(&p->arena, BUF_ZONE_ORDINARY) / 2;
}

static bool take_memory(struct txn *t, size_t need)
{
	struct quota_member *m = &session_queue(t->s, t->reverse)->quota;

	if (need == 0) /* data that came with the call are nobody's quota */
		return !t->in.nplaced || txn_take(t) == 0;
	if (leaves_enough(t, need) && quota_may_take(m, need) && txn_take(t) == 0) {
		quota_served(m);
		return true;
	}
	quota_wait(m, need);
	return false;
}

static void start(struct txn *t, unsigned exposures, size_t need)
{
	struct session_queue *q = session_queue(t->s, t->reverse);

	list_del(&t->wait_link);
	q->running++;
	t->started = true;
	t->exposures = exposures;
	t->taken = need;
	count_taken(t, need);
	session_ops(t->s, t->rsp)->exposed += exposures;
}

/* All or nothing: a place among those running, exposures, then memory. Those not running keep their
 * Receives, so a peer that goes beyond its credits runs dry. */
static enum txn_verdict try_start(struct txn *t)
{
	struct session *s = t->s;
	struct session_queue *q = session_queue(s, t->reverse);
	const struct buf_arena *arena = &s->proxy->arena;
	unsigned exposures, most = leg_exposures(t->rsp->cfg, SESSION_OP_DEPTH);
	size_t need;

	txn_choose_way(t);
	need = txn_need(t, &exposures);
	if (need > (arena->bytes - arena->reserve) / BUDGET_SHARES || exposures > most)
		return TXN_IMPOSSIBLE;
	/* Few of those that may be exposed really are (txn_need()): where too many are, they wait (txn_short.c). */
	if (q->running >= q->limit || session_ops(s, t->rsp)->exposed + exposures > most + most / 2)
		return TXN_WAITS; /* retried when a transaction of this session ends */
	if (!take_memory(t, need))
		return TXN_WAITS;
	start(t, exposures, need);
	if (txn_is_large(t)) {
		session_stat(s, t->req)->large++;
		s->route->count.large++;
	}
	return TXN_STARTS;
}

bool txn_passes(struct txn *t)
{
	const struct session_queue *q = session_queue(t->s, t->reverse);
	unsigned exposures;

	if (t->reverse || list_is_empty(&q->waiting) || !txn_is_plain(&t->in) ||
	    t->call_held.assembly || q->running >= q->limit + PLAIN_BEYOND ||
	    txn_need(t, &exposures) > 0)
		return false;
	start(t, 0, 0);
	return true;
}

enum txn_verdict txn_admit(struct session_queue *q, struct txn **t)
{
	if (list_is_empty(&q->waiting) || quota_is_waiting(&q->quota))
		return TXN_WAITS;
	*t = list_first(&q->waiting, struct txn, wait_link);
	if (leg_data_are_behind((*t)->req, &(*t)->in)) /* tried again when it is so no more */
		return TXN_WAITS;
	return try_start(*t);
}

/* What is still needed of a Receive, @body, goes elsewhere, unless it lies in memory of the
 * transaction's own. */
static int move_out(struct leg *leg, struct leg_held *held, struct view *body)
{
	const struct leg_rbuf *rb = held->rbuf;
	void *block = NULL;

	if (rb && body->len && body->data >= rb->data && body->data < rb->data + rb->len) {
		block = leg_take_unwaited(leg, body->len);
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

	if (t->aside)
		return 0;
	if (q->aside >= SESSION_ASIDE || t->in.nplaced ||
	    move_out(t->req, &t->call_held, &t->call_body) < 0)
		return ERR_AGAIN;
	if (t->in.nbody > 0)
		t->in.body[0] = t->call_body;
	t->aside = true;
	q->aside++;
	return 0;
}

/* Where few shared Receives are left, for all or for its own connection, a client's calls give up theirs as well, while
 * there is memory for that: what they wait for are replies, and each needs one. Grants slow the client down there. */
void txn_move_call(struct txn *t)
{
	if (leg_keeps_many(t->req))
		(void)set_aside(t);
}

/* What a requester does not take is no reason for others to wait. */
void txn_move_reply(struct txn *t)
{
	if (t->reply_held.rbuf && leg_keeps_many(t->rsp))
		(void)move_out(t->rsp, &t->reply_held, &t->reply_body);
}

/* Those that are formed point to their octets. */
void txn_move_all(struct session *s, const struct leg *leg)
{
	for (struct list *it = s->txns.next; it != &s->txns; it = it->next) {
		struct txn *t = container_of(it, struct txn, link);

		if (t->req == leg && t->call_held.rbuf &&
		    (t->state == TXN_WAITING || t->state == TXN_PULL))
			(void)set_aside(t);
		else if (t->req == leg && t->state == TXN_WAIT)
			txn_keep_no_longer(t);
	}
	if (leg == &s->client)
		txn_move_kept(&s->forward);
}

void txn_queue(struct txn *t)
{
	list_add_tail(&session_queue(t->s, t->reverse)->waiting, &t->wait_link);
}

int txn_put_by(struct txn *t)
{
	t->s->route->count.budget_waits++;
	if (t->reverse)
		return set_aside(t);
	txn_move_call(t);
	return 0;
}

void txn_unqueue(struct txn *t)
{
	struct session_queue *q = session_queue(t->s, t->reverse);

	list_del(&t->wait_link);
	if (t->reverse && t->taken) /* it may be what leaves_enough() saw */
		quota_again(&q->quota);
	count_taken(t, -t->taken);
	session_ops(t->s, t->rsp)->exposed -= t->exposures;
	q->running -= t->started;
	q->aside -= t->aside;
	q->ended++;
}
