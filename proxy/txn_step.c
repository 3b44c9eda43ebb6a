/* SPDX-License-Identifier: BSD-2-Clause */
/* From one step of a transaction to the next, as its messages are sent and its operations
 * complete. The files with the steps of a call (txn_call.c) and of an answer (txn_reply.c) do not
 * depend on this one. */
#include <assert.h>

#include "proxy/txn_step.h"
#include "proxy/internal.h"
#include "proxy/session_debts.h"
#include "proxy/session_end.h"
#include "proxy/session_flow.h"
#include "proxy/txn_call.h"
#include "proxy/txn_cut_through.h"
#include "proxy/txn_device_busy.h"
#include "proxy/txn_memory.h"
#include "proxy/txn_ops.h"
#include "proxy/txn_reply.h"
#include "proxy/txn_retry_form.h"

static void step_call_not_sent(struct txn *t, int status)
{
	/* The call was flushed because the session ends. */
	if (status == ERR_FLUSHED || status == ERR_CLOSED)
		return;
	/* The call could not be continued: the credits that it was formed for are gone, or a
	 * continued call is impossible here. */
	t->stream_kept = true;
	if (status == ERR_TOOBIG && t->s->state == SESSION_OPEN &&
	    txn_avoid(t, RPC_ERROR_INVAL_CONT))
		txn_go_again(t);
	else
		txn_fail(t, RPC_ERROR_SYSTEM, 0, 0);
}

static void step_count_joined(const struct txn *t)
{
	struct proxy_counters *count = &t->s->route->count;

	if (!t->joined)
		return;
	count->joined++;
	count->joined_bytes += t->reads[0].len;
}

static void step_call_sent(struct txn *t, int status)
{
	t->call_pending = false;
	if (t->state == TXN_FAILED) {
		txn_finish_if_idle(t);
		return;
	}
	if (status < 0) {
		step_call_not_sent(t, status);
		return;
	}
	if (t->refused && t->s->state == SESSION_OPEN) {
		txn_go_again(t);
		return;
	}
	t->state = TXN_WAIT;
	t->at[TRACE_SENT] = t->s->proxy->now;
	step_count_joined(t);
	txn_keep_stream(t);
	if (t->replied && t->s->state == SESSION_OPEN)
		txn_fence_then_reply(t);
}

/* Times are those of turns: no clock is read here. */
static void step_measure(const struct txn *t)
{
	struct latency *l = t->s->route->count.latency[t->kind];
	nsec_t called = t->at[TRACE_CALLED], answered = t->at[TRACE_ANSWERED];

	if (answered < called)
		return;
	latency_add(&l[LATENCY_CALL], called - t->at[TRACE_ARRIVED]);
	latency_add(&l[LATENCY_RESPONDER], answered - called);
	latency_add(&l[LATENCY_REPLY], t->s->proxy->now - answered);
}

void txn_sent(struct txn *t, const struct leg_tx *tx)
{
	int status = tx->status;

	if (tx == &t->call_tx) {
		step_call_sent(t, status);
		return;
	}
	t->reply_pending = false;
	if (status == ERR_TOOBIG && t->s->state == SESSION_OPEN) {
		/* draft-07 6.6.4: the requester's credits do not cover it, and will not. */
		if (!txn_return_again(t))
			txn_fail(t, RPC_ERROR_REPLY_RESOURCE, (uint32_t)t->reply_body.len, 0);
		return;
	}
	if (status < 0 && status != ERR_FLUSHED && status != ERR_CLOSED)
		/* draft-07 7.4: a reply that cannot be sent MUST close the connection. */
		session_close_for(t->s, t->req, status, "a reply could not be expressed");
	if (status >= 0 && t->state == TXN_REPLY) {
		t->outcome = TRACE_REPLIED;
		step_measure(t);
	}
	txn_finish_if_idle(t);
}

/* The last operation of a step completed. */
static void step_done(struct txn *t)
{
	switch (t->state) {
	case TXN_PULL:
		if (list_is_empty(&t->op_link))
			txn_send_call(t);
		break;
	case TXN_AGAIN:
		txn_form_again(t);
		break;
	case TXN_FENCE:
		txn_send_reply(t);
		break;
	case TXN_FAILED:
	case TXN_REPLY:
		txn_finish_if_idle(t);
		break;
	default:
		break;
	}
}

/* Every Read or Write of @t is posted. */
static void step_ops_posted(struct txn *t)
{
	if (t->state != TXN_PULL)
		txn_return(t);
	else if (t->ops == 0)
		txn_send_call(t);
}

/* Do the next step of @t, unless operations or cut-through Writes are still under way. */
static void step_go_on(struct txn *t)
{
	if (t->ops == 0 && !txn_cut_through_waits(t))
		step_done(t);
}

static void step_run_queue(struct session *s, struct leg *leg)
{
	struct txn *t;

	while ((t = txn_ops_next(s, leg)))
		step_ops_posted(t);
}

static void step_run_pieces(struct session *s, struct leg *leg)
{
	struct txn *t;

	while ((t = txn_cut_through_next(s, leg)))
		step_go_on(t);
}

/*
 * State:  a client takes results slowly, so Writes are held back. They wait in two lists: .queue
 *         has results that were stored, .cut_through_txns has results that are sent while they
 *         arrive.
 * Danger: one list never becomes empty, and the results in the other wait for ever.
 * Rule:   the lists take turns. A turn ends when an operation was posted.
 * Pinned: tests/session/test_large.c:stored_ones_do_not_keep_back_those_sent_early
 */
static void step_run_ops(struct session *s, struct leg *leg)
{
	struct session_ops *ops = session_ops(s, leg);
	bool pieces_first = ops->pieces_first;
	unsigned before = session_ops_posted(ops);

	if (pieces_first)
		step_run_pieces(s, leg);
	else
		step_run_queue(s, leg);
	if (session_ops_posted(ops) != before)
		ops->pieces_first = !pieces_first;
	if (pieces_first)
		step_run_queue(s, leg);
	else
		step_run_pieces(s, leg);
}

/* A cut-through Write completed. */
static void step_cut_through(struct txn *t, const struct leg_out *out)
{
	struct session *s = t->s;
	struct leg *req = t->req;

	txn_cut_through_written(t);
	if (out->status == 0)
		step_go_on(t);
	session_completed(&session_ops(s, req)->writes, s->proxy->now);
	step_run_ops(s, req);
}

void txn_op(struct txn *t, const struct leg_out *out)
{
	struct session *s = t->s;
	struct leg *req = t->req;

	if (out->op == FABRIC_EV_PLACED) {
		txn_placed(t, out);
		return;
	}
	/* Writes complete in order, so cut-through ones come first. */
	if (out->op == FABRIC_EV_WRITE && t->cut_through_writes > 0) {
		step_cut_through(t, out);
		return;
	}
	assert(t->ops > 0);
	t->ops--;
	if (out->op == FABRIC_EV_WITHDRAWN && out->status == 0)
		txn_fenced(t, out->handle, out->written);
	/* A failed operation broke its connection: the session's end follows. */
	if (out->status == 0)
		step_go_on(t);
	if (out->op == FABRIC_EV_WITHDRAWN)
		return;
	session_completed(out->op == FABRIC_EV_READ ? &session_ops(s, req)->reads
						    : &session_ops(s, req)->writes,
			  s->proxy->now);
	step_run_ops(s, req);
}

/* Try the calls again that wait for resources of the device (txn_device_busy.c). */
static void step_try_calls(struct session *s)
{
	struct list again, *item;

	list_init(&again);
	while ((item = list_pop(&s->busy_calls)))
		list_add_tail(&again, item);
	while (!list_is_empty(&again) && s->state == SESSION_OPEN) {
		struct txn *t = list_first(&again, struct txn, wait_link);

		list_del(&t->wait_link);
		if (t->ops == 0)
			txn_form_again(t);
		else if (!txn_device_busy_retry(t)) /* a withdrawal has not ended in time */
			txn_fail(t, RPC_ERROR_SYSTEM, 0, 0);
	}
	while ((item = list_pop(&again)))
		list_add_tail(&s->busy_calls, item);
}

static void on_busy_timer(struct timer *timer, nsec_t now)
{
	struct session *s = container_of(timer, struct session, busy_timer);

	(void)now;
	if (s->state != SESSION_OPEN)
		return;
	step_try_calls(s);
	step_run_ops(s, &s->client);
	step_run_ops(s, &s->server);
	session_touch(s);
}

void txn_device_busy_init(struct session *s)
{
	list_init(&s->busy_calls);
	timer_init(&s->busy_timer, on_busy_timer);
}

void txn_device_busy_end(struct session *s)
{
	timer_disarm(&s->proxy->timers, &s->busy_timer);
}
