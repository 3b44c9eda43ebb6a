/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: which calls may run
 *
 * Each direction of a session has a queue, in order of arrival. Its first call starts when it can
 * have a place among the running calls, exposures, and memory for all of its chunks. Until then it
 * holds none of these, so transactions never wait for each other while they hold what others need.
 * For memory the queue waits in line with those of other sessions (memory/quota.c).
 *
 * State:  a client's calls wait for memory; calls without chunks, which need none, are behind them.
 * Danger: NFS leases expire, because RENEW or SEQUENCE waits behind READs that a server does not
 *         answer.
 * Rule:   calls without chunks pass all calls that wait. Up to PLAIN_BEYOND of them run beyond the
 *         limit. Further calls without chunks wait only for a place (.passing). A place within the
 *         limit goes to the call that came first, if that call lacks nothing else. Otherwise a
 *         steady stream of calls without chunks would take all places. With RPCSEC_GSS few calls
 *         pass others (gss_order.c). Of a client's calls that wait only the first holds a
 *         transaction block; the others stay in their Receives.
 * Pinned: tests/isolation/test_same_route.c;
 *         tests/session/test_rooms.c:calls_without_chunks_pass_those_that_wait,
 *         :calls_without_chunks_run_beyond_the_limit, :calls_without_chunks_wait_for_places_alone,
 *         :calls_without_chunks_do_not_keep_all_places.
 *
 * State:  a client's waiting calls hold their Receives, which slows the client down. Where
 *         connections share Receives, few may be left.
 * Danger: the calls wait for replies to other calls, and each reply needs a Receive.
 * Rule:   a client's waiting calls are copied out of their Receives if their leg holds many
 *         Receives, or if few are left (leg_should_copy_out()). A server's waiting calls always
 *         are.
 * Pinned: tests/session/test_shared_short.c:calls_that_wait_make_room_for_replies, decision 81.
 *
 * A call does not begin while its data would arrive behind input that waits for a Receive
 * (leg_reads_are_blocked()).
 *
 * This file only decides. The caller ends a call or begins its first step, as the verdict says.
 */
#include <string.h>

#include "proxy/txn_admit.h"
#include "proxy/internal.h"
#include "proxy/txn_alloc.h"
#include "proxy/txn_cut_through.h"
#include "proxy/txn_memory.h"
#include "proxy/txn_retry_form.h"
#include "proxy/txn_server_quirks.h"

enum { PLAIN_BEYOND = 8 }; /* calls without chunks that may run beyond the limit of the queue */

/* Whether no call that waits is before @call. */
static bool is_next(const struct session_queue *q, const struct leg_out *call)
{
	return list_is_empty(&q->deferred) && (call->reverse || list_is_empty(&q->waiting));
}

bool txn_has_turn(struct session_queue *q, const struct leg_out *call)
{
	bool next = is_next(q, call);

	if (next && (call->reverse || list_is_empty(&q->s->busy_calls))) {
		gss_order_none_waits(&q->gss_order);
		return true;
	}
	return (next || (txn_is_plain(call->msg) && !call->held.reasm)) &&
	       gss_order_may_pass(&q->gss_order, call->msg);
}

static bool take_memory(struct txn *t, size_t need)
{
	struct quota_member *m = &session_queue(t->s, t->reverse)->quota;

	if (need == 0) /* data that came with the call are charged to no quota */
		return !t->in.nplaced || txn_take(t) == 0;
	if (quota_may_take(m, need) && txn_take(t) == 0) {
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
	q->taken_bytes += need;
	session_ops(t->s, t->rsp)->exposed += exposures;
}

/* txn_need() counts each region that may be exposed. So a call that runs never lacks exposures, and
 * a call that needs many waits only until calls before it have ended. */
static bool exposures_are_left(const struct txn *t, unsigned exposures)
{
	return session_ops(t->s, t->rsp)->exposed + exposures <=
	       leg_exposures(t->rsp->cfg, SESSION_OP_DEPTH);
}

bool txn_first_waits_for_others(const struct session_queue *q)
{
	const struct txn *first;
	unsigned exposures;

	if (list_is_empty(&q->waiting))
		return false;
	first = list_first(&q->waiting, struct txn, wait_link);
	(void)txn_need(first, &exposures);
	return !exposures_are_left(first, exposures) || txn_waits_for_speed(first);
}

bool txn_queue_has_place(const struct session_queue *q)
{
	return q->running - q->beyond < q->limit;
}

/* Start @t if it can have everything: a place among the running calls, exposures, then memory.
 * Calls that wait keep their Receives, so a peer that exceeds its credits finds no Receive. */
static enum txn_verdict try_start(struct txn *t)
{
	struct session *s = t->s;
	struct session_queue *q = session_queue(s, t->reverse);
	const struct buf_arena *arena = &s->proxy->arena;
	unsigned exposures, most = leg_exposures(t->rsp->cfg, SESSION_OP_DEPTH);
	size_t need, largest = (arena->bytes - arena->reserve) / BUDGET_SHARES;

	if (txn_waits_for_speed(t))
		return TXN_WAITS; /* tried again when a transaction of this session ends */
	txn_choose_cut_through(t);
	need = txn_need(t, &exposures);
	if (need > largest && t->reply_bytes > s->proxy->cfg.max_payload) {
		/* BUDGET_HEADERS may have doubled the block of the Reply chunk. */
		t->reply_bytes = txn_reply_room(t, UINT32_MAX);
		need = txn_need(t, &exposures);
	}
	if (need > largest || exposures > most)
		return TXN_IMPOSSIBLE;
	if (!txn_queue_has_place(q) || !exposures_are_left(t, exposures)) {
		/* Chosen again when a transaction of this session ends. By then there may be room
		 * to store the result, or the requester may be slow. */
		t->way = TXN_STORED;
		return TXN_WAITS;
	}
	if (!take_memory(t, need))
		return TXN_WAITS;
	start(t, exposures, need);
	if (txn_is_large(t)) {
		session_stat(s, t->req)->large++;
		s->route->count.large++;
	}
	return TXN_STARTS;
}

/* Whether @t passes calls that wait: it has no chunks, and needs neither payload memory nor
 * exposures. */
static bool passes_others(const struct txn *t)
{
	return !t->reverse && txn_is_plain(&t->in) && !t->call_held.reasm && !t->reply_bytes &&
	       t->plan.form == PLAN_INLINE;
}

/* Whether @t had to wait before the first of .waiting. */
static bool came_first(const struct session_queue *q, const struct txn *t)
{
	return list_is_empty(&q->waiting) ||
	       (int32_t)(t->turn - list_first(&q->waiting, struct txn, wait_link)->turn) < 0;
}

struct txn *txn_admit_passing(struct session_queue *q, bool in_turn)
{
	struct txn *t;

	if (list_is_empty(&q->passing))
		return NULL;
	t = list_first(&q->passing, struct txn, wait_link);
	if (in_turn && (!txn_queue_has_place(q) || !came_first(q, t)))
		return NULL;
	if (!txn_queue_has_place(q)) {
		if (q->beyond >= PLAIN_BEYOND)
			return NULL;
		t->is_beyond = true;
		q->beyond++;
	}
	start(t, 0, 0);
	return t;
}

bool txn_admit_at_once(struct session_queue *q, struct txn *t)
{
	if (!list_is_empty(&q->waiting) || !list_is_empty(&q->passing) || !passes_others(t) ||
	    !txn_queue_has_place(q))
		return false;
	start(t, 0, 0);
	return true;
}

enum txn_verdict txn_admit(struct session_queue *q, struct txn **t)
{
	if (list_is_empty(&q->waiting) || quota_is_waiting(&q->quota))
		return TXN_WAITS;
	*t = list_first(&q->waiting, struct txn, wait_link);
	if (leg_reads_are_blocked((*t)->req, &(*t)->in)) /* tried again when that state has ended */
		return TXN_WAITS;
	return try_start(*t);
}

/* Give the Receive of @held back. If @body lies in that Receive, copy it to a block first. Return:
 * 0, or ERR_AGAIN: there is no block. */
static int move_out(struct leg *leg, struct leg_held *held, struct view *body)
{
	const struct leg_rbuf *rb = held->rbuf;
	void *block = NULL;

	if (body->len && body->data >= rb->data && body->data < rb->data + rb->len) {
		block = leg_alloc_nowait(leg, body->len);
		if (!block)
			return ERR_AGAIN;
		memcpy(block, body->data, body->len);
		*body = view_of(block, body->len);
	}
	leg_move(leg, held, block);
	return 0;
}

/*
 * State:  calls wait. A client's calls keep their Receives, so that the client slows down.
 * Danger: if a server's calls kept their Receives as well, calls of both directions could fill the
 *         windows of both legs. Then no reply that they wait for could arrive, because version 2
 *         has one window for calls and replies.
 * Rule:   a server's calls that wait are copied out of their Receives. If there is no memory for
 *         the copy, the call is refused. txn_defer() does the same with calls for whose state there
 *         is no memory.
 * Pinned: tests/session/test_credits.c:calls_fill_both_windows_at_once,
 *         :more_reverse_calls_than_can_be_kept, :more_reverse_calls_than_there_is_memory_for,
 *         decision 74.
 */
static int copy_out(struct txn *t)
{
	if (!t->call_held.rbuf)
		return 0;
	if (t->in.nplaced || move_out(t->req, &t->call_held, &t->call_body) < 0)
		return ERR_AGAIN;
	if (t->in.nbody > 0)
		t->in.body[0] = t->call_body;
	return 0;
}

/* The rule is in the first comment of this file. Grants slow the client down while its calls are
 * copied. */
void txn_move_call(struct txn *t)
{
	if (leg_should_copy_out(t->req))
		(void)copy_out(t);
}

/* A reply that its requester does not take yet must not keep a Receive from others. */
void txn_move_reply(struct txn *t)
{
	if (t->reply_held.rbuf && leg_should_copy_out(t->rsp))
		(void)move_out(t->rsp, &t->reply_held, &t->reply_body);
}

/* Only calls that are not formed yet are copied, because the message of a formed call points into
 * the Receive. */
void txn_move_all(struct session *s, const struct leg *leg)
{
	for (struct list *it = s->txns.next; it != &s->txns; it = it->next) {
		struct txn *t = container_of(it, struct txn, link);

		if (t->req == leg && t->call_held.rbuf &&
		    (t->state == TXN_WAITING || t->state == TXN_PULL))
			(void)copy_out(t);
		else if (t->req == leg && t->state == TXN_WAIT)
			txn_give_back_stream(t);
	}
	if (leg == &s->client)
		txn_copy_out_deferred(&s->forward);
}

struct list *txn_queue(struct txn *t)
{
	struct session_queue *q = session_queue(t->s, t->reverse);
	struct list *line = passes_others(t) ? &q->passing : &q->waiting;

	t->turn = q->next_turn++;
	list_add_tail(line, &t->wait_link);
	return line;
}

int txn_put_by(struct txn *t)
{
	if (t->reverse)
		return copy_out(t);
	txn_move_call(t);
	return 0;
}

void txn_unqueue(struct txn *t)
{
	struct session_queue *q = session_queue(t->s, t->reverse);

	list_del(&t->wait_link);
	q->taken_bytes -= t->taken;
	session_ops(t->s, t->rsp)->exposed -= t->exposures;
	q->running -= t->started;
	q->beyond -= t->is_beyond;
	q->ended++;
}
