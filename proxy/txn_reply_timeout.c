/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that get no answer
 *
 * A call may have no answer for three reasons: its procedure has no reply (Call-only, draft-07
 * 4.7), which only the requester knows; the responder has lost it; or the responder takes no more
 * calls.
 *
 * State:  a call holds memory, exposures and a credit, and is not answered. The operator has set a
 *         reply_timeout for the responder's side.
 * Danger: such calls accumulate until no other call can run.
 * Rule:   the call is abandoned reply_timeout after the gateway has read all that the requester
 *         exposed for it, whether the call could be sent or not.
 * - The time in which the gateway reads from the requester does not count, nor the time in which
 *   the responder's input was blocked here (memory, Receives). A reply that has begun to arrive is
 *   in time; session_debts.c sees that it continues. If the process stood still, the gateway looks
 *   again REPLY_CHECK later.
 * - The call fails (CALL, WAIT --> FAILED): its exposures are withdrawn, then its memory is given
 *   back. The requester is not notified: for a Call-only call it expects nothing, and the gateway
 *   invents no replies.
 * - A late answer is dropped by the transport, which remembers the XID (rpc/late.h); a Receive
 *   stays posted for it. RDMA to an exposure of the call ends the connection, as for any withdrawn
 *   handle.
 * Pinned: tests/session/test_late.c, tests/session/test_debts.c, decision 68.
 *
 * State:  in version 1 an abandoned call keeps its credit: "a Requester MUST NOT send
 *         unacknowledged requests in excess of this granted limit" (RFC 8166 section 3.3.1). Over
 *         the early draft long replies keep several Receives.
 * Danger: abandoned calls hold all credits or all Receives, and no call of the session can ever be
 *         sent.
 * Rule:   the first call that cannot be sent in its time for that reason ends the session. A new
 *         connection has new credits.
 * Pinned: tests/session/test_late.c:without_credits_the_session_ends
 *
 * State:  no reply_timeout is set, the requester speaks version 2, and unanswered calls keep all
 *         others from proceeding (txn_queue_is_blocked()).
 * Danger: Call-only calls take one place after the other for ever.
 * Rule:   if none was answered for DEBT_TIMEOUT, the unanswered calls without chunks are abandoned,
 *         because Call-only calls have no chunks (draft-07 4.7). If one of them is answered after
 *         all, its responder only hung: the session ends and the requester sends all calls again,
 *         so none is lost. If none can be abandoned and no credit is left, the session ends.
 * Pinned: tests/session/test_call_only.c:call_only_calls_are_in_nobodys_way,
 *         :call_only_calls_give_exposures_back, :call_only_calls_let_large_reads_proceed,
 *         :slow_clients_are_no_reason_to_abandon, :slow_answers_are_not_lost
 *
 * State:  a version 2 responder sent a report that may be about an earlier form of the call
 *         (txn_retry_form.c).
 * Danger: if the report is about the present form, the call waits for an answer that never comes.
 * Rule:   the report counts if no answer follows within DEBT_TIMEOUT: the requester gets an error.
 * Pinned: tests/session/test_continue.c:a_report_that_may_be_late_is_heard_in_the_end
 *
 * A call of which a part was sent is not abandoned here. The peer owes a credit for the rest;
 * session_debts.c sees to that.
 */
#include "proxy/txn_reply_timeout.h"
#include "proxy/internal.h"
#include "proxy/session_debts.h"
#include "proxy/session_end.h"
#include "proxy/txn_admit.h"

/* Interval of looks while the answer may have arrived and lie unread. */
#define REPLY_CHECK NSEC_PER_SEC

/* When reply_timeout ends for @t; NSEC_NEVER: there is none, or it is over. */
static nsec_t end_of_time(const struct txn *t)
{
	nsec_t timeout = t->rsp->cfg->reply_timeout, end = t->pulled + timeout;

	return timeout && end > t->s->proxy->now ? end : NSEC_NEVER;
}

static bool is_overdue(const struct txn *t)
{
	return t->rsp->cfg->reply_timeout && end_of_time(t) == NSEC_NEVER;
}

/* The time since the last look at @t in which the responder's input was blocked here: it does not
 * count against the responder. */
static nsec_t take_blocked(struct txn *t)
{
	nsec_t before = t->blocked_ns;

	t->blocked_ns = session_blocked_ns(t->s, t->rsp);
	return t->blocked_ns - before;
}

static void await_answer(struct txn *t)
{
	nsec_t timeout = t->rsp->cfg->reply_timeout, end;

	if (t->is_suspected && (!timeout || timeout > DEBT_TIMEOUT))
		timeout = DEBT_TIMEOUT;
	if (!timeout)
		return;
	(void)take_blocked(t);
	end = t->s->proxy->now + timeout;
	/* A call that was sent has the whole time for its answer, because the report may be about
	 * an older form. */
	if (t->is_suspected && t->state != TXN_WAIT)
		end = nsec_min(end, end_of_time(t));
	timer_arm(&t->s->proxy->timers, &t->late, end);
}

/* Whether the answer may have arrived and lie unread, or has begun to arrive. If the process stood
 * still, its input may not have been read yet. */
static bool may_be_answered(const struct txn *t)
{
	const struct proxy *p = t->s->proxy;

	return leg_input_is_blocked(t->rsp) || leg_reply_is_in_progress(t->rsp, t->in.xid) ||
	       pause_excuses(p->paused_until, REPLY_CHECK, p->now);
}

static void on_reply_timeout(struct timer *timer, nsec_t now)
{
	struct txn *t = container_of(timer, struct txn, late);
	nsec_t more = take_blocked(t);

	/* A session that is ending gives back all it has. */
	if (t->s->state != SESSION_OPEN)
		return;
	if (may_be_answered(t))
		more = more > REPLY_CHECK ? more : REPLY_CHECK;
	if (more) {
		timer_arm(&t->s->proxy->timers, timer, now + more);
		return;
	}
	if (t->state == TXN_CALL && leg_has_no_credit_ever(t->rsp, &t->call_tx)) {
		session_close_for(t->s, t->rsp, ERR_TIMEOUT,
				  "no call was answered, and no credit is left");
		session_touch(t->s);
		return;
	}
	if (t->is_suspected && t->state == TXN_WAIT) {
		leg_forget(t->rsp, t->in.xid);
		txn_fail(t, RPC_ERROR_SYSTEM, 0, 0);
		return;
	}
	/* If a suspected report came before the new form of the call could be sent, the call keeps
	 * its own reply_timeout. */
	if ((t->is_suspected && !is_overdue(t)) || !txn_let_go(t))
		await_answer(t);
}

static bool waits_for_credit(const struct leg *rsp)
{
	const struct leg_tx *first;

	if (rsp->state != LEG_OPEN || !rsp->t->ops->traits->counts_calls ||
	    list_is_empty(&rsp->calls))
		return false;
	first = list_first(&rsp->calls, struct leg_tx, link);
	return !rsp->t->ops->may_send(rsp->t, &first->tx);
}

bool txn_queue_is_blocked(const struct session_queue *q)
{
	const struct leg *req = session_requester(q), *rsp = session_responder(q);
	const struct session_ops *ops = session_ops(q->s, req);

	if (q->running == 0 || req->state != LEG_OPEN || !req->t ||
	    req->t->ops->traits->counts_calls || rsp->cfg->reply_timeout ||
	    ops->reads.posted + ops->writes.posted > 0)
		return false;
	return (!txn_queue_has_place(q) && session_calls_wait(q)) ||
	       txn_first_waits_for_others(q) || leg_peer_has_no_credit(req) ||
	       waits_for_credit(rsp);
}

/* Whether @t may be Call-only: it was sent, and its Requester used no chunks, nor what the
 * round-trip extension has instead. Data that came with the call, and directions for data of the
 * reply, have no segments. */
static bool may_be_call_only(const struct txn *t)
{
	return t->state == TXN_WAIT && !t->replied && t->in.nreads == 0 && t->in.nwrites == 0 &&
	       !t->in.has_reply && !t->in.has_body_chunk &&
	       !leg_reply_is_in_progress(t->rsp, t->in.xid);
}

const char *txn_abandon_call_only(struct session_queue *q)
{
	struct session *s = q->s;
	unsigned n = 0;

	list_for_each_safe(it, tmp, &s->txns)
	{
		struct txn *t = container_of(it, struct txn, link);

		if (session_queue(s, t->reverse) == q && may_be_call_only(t))
			n += txn_let_go(t);
	}
	if (n == 0 && waits_for_credit(session_responder(q)) && session_responder(q)->awaiting == 0)
		return "no call was answered, and no credit is left";
	return NULL;
}

void txn_reply_timeout_init(struct txn *t)
{
	timer_init(&t->late, on_reply_timeout);
}

void txn_pulled(struct txn *t)
{
	if (t->pulled)
		return;
	t->pulled = t->s->proxy->now ? t->s->proxy->now : 1;
	t->sink_ns = session_ops(t->s, t->rsp)->sink_blocked_ns;
	await_answer(t);
}

/* A report cannot be about a call that was never formed. */
void txn_suspect_report(struct txn *t)
{
	if (t->is_suspected || t->replied || !t->pulled || t->state == TXN_FAILED)
		return;
	t->is_suspected = true;
	await_answer(t);
}
