/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that get no answer. A procedure may have none (Call-only, draft-07 4.7), which only its
 * caller knows, or the responder has lost the call, or takes no more calls. Where the operator has
 * set a time (reply_timeout of the responder's end) a call is let go when that time has passed
 * since all that its requester exposed was here, whether it could be sent or not:
 *
 *     CALL, WAIT --> FAILED: fenced, then its memory given back
 *
 * How long the requester takes to be read is no time of the responder's, nor is that in which what the
 * responder says may have to wait here, for memory or a Receive; and a reply that has begun to come is in
 * time (session_debts.c sees to both). The requester is told nothing: of a call without a reply it expects
 * nothing, and the gateway invents no replies. An answer that comes yet is dropped by the transport, which
 * knows the XID (rpc/late.h); a Receive stays posted for it. RDMA into what was exposed for the call ends the
 * connection like any other use of a handle withdrawn.
 *
 * In version 1 a call without an answer keeps its credit: "a Requester MUST NOT send
 * unacknowledged requests in excess of this granted limit" (RFC 8166 section 3.3.1). Where calls
 * that were let go hold all of them, or all Receives (over the early draft long replies have several kept for them), the
 * first call that cannot be sent in its time ends the session: a new connection has new credits.
 *
 * Where the operator has set no time, calls wait as long as they have to, as long as they are in
 * nobody's way. But Call-only ones of a Requester of version 2 would take one place after the other,
 * for good. When calls behind them cannot go on (txn_is_jammed()) and none was answered for
 * DEBT_PATIENCE, those without chunks are let go: Call-only ones have none (draft-07 4.7). If one of them is
 * answered after all, for its responder only hung, the session ends and the requester sends all
 * calls again: so none is lost.
 *
 * A report of a version 2 responder that may be about a form of the call that was given up
 * (txn_again.c) is believed when no answer follows it within DEBT_PATIENCE: the requester gets an error.
 *
 * What was sent in part is no longer the gateway's to let go: the rest of it is what the peer owes
 * a credit for, which session_debts.c looks after.
 */
#include "proxy/internal.h"

/* While the answer may be here. */
#define LATE_LOOK NSEC_PER_SEC

/* What reply_timeout leaves it; NSEC_NEVER: no limit, or it is over. */
static nsec_t end_of_time(const struct txn *t)
{
	nsec_t patience = t->rsp->cfg->reply_timeout, end = t->pulled + patience;

	return patience && end > t->s->proxy->now ? end : NSEC_NEVER;
}

static bool is_overdue(const struct txn *t)
{
	return t->rsp->cfg->reply_timeout && end_of_time(t) == NSEC_NEVER;
}

/* Time in which what the responder said may have waited here since @t was last looked at: that is none of its. */
static nsec_t take_behind(struct txn *t)
{
	nsec_t before = t->behind;

	t->behind = session_behind(t->s, t->rsp);
	return t->behind - before;
}

static void await_answer(struct txn *t)
{
	nsec_t patience = t->rsp->cfg->reply_timeout, end;

	if (t->doubted && (!patience || patience > DEBT_PATIENCE))
		patience = DEBT_PATIENCE;
	if (!patience)
		return;
	(void)take_behind(t);
	end = t->s->proxy->now + patience;
	/* One that was sent has all of it for its answer: the doubt may be wrong. */
	if (t->doubted && t->state != TXN_WAIT)
		end = nsec_min(end, end_of_time(t));
	timer_arm(&t->s->proxy->timers, &t->late, end);
}

/* Where what the responder says has to wait here the answer may be among it. */
static bool may_be_answered(const struct txn *t)
{
	return leg_is_behind(t->rsp) || leg_hears(t->rsp, t->in.xid);
}

static void on_late(struct timer *timer, nsec_t now)
{
	struct txn *t = container_of(timer, struct txn, late);
	nsec_t more = take_behind(t);

	/* A session about to end gives back all it has. */
	if (t->s->state != SESSION_OPEN)
		return;
	if (may_be_answered(t))
		more = more > LATE_LOOK ? more : LATE_LOOK;
	if (more) {
		timer_arm(&t->s->proxy->timers, timer, now + more);
		return;
	}
	if (t->state == TXN_CALL && leg_is_spent(t->rsp, &t->call_tx)) {
		session_close(t->s, ERR_TIMEOUT, "no call was answered, and no credit is left");
		session_touch(t->s);
		return;
	}
	if (t->doubted && t->state == TXN_WAIT) {
		leg_forget(t->rsp, t->in.xid);
		txn_fail(t, RPC_ERROR_SYSTEM, 0, 0);
		return;
	}
	/* A doubt that comes while another form of the call cannot be sent leaves the call the time it has. */
	if ((t->doubted && !is_overdue(t)) || !txn_let_go(t))
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

bool txn_is_jammed(const struct session_queue *q)
{
	const struct leg *req = session_requester(q), *rsp = session_responder(q);

	if (q->running == 0 || req->state != LEG_OPEN || !req->t ||
	    req->t->ops->traits->counts_calls || rsp->cfg->reply_timeout)
		return false;
	return (q->running >= q->limit && session_calls_wait(q)) || leg_is_closed(req) ||
	       waits_for_credit(rsp);
}

/* Sent, and its Requester used no chunks, nor what the round-trip extension has for them: data that came with the call,
 * and directions for those of the reply, have no segments. */
static bool may_be_call_only(const struct txn *t)
{
	return t->state == TXN_WAIT && !t->replied && t->in.nreads == 0 && t->in.nwrites == 0 &&
	       !t->in.has_reply && !t->in.has_body_chunk && !leg_hears(t->rsp, t->in.xid);
}

const char *txn_unjam(struct session_queue *q)
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

void txn_late_init(struct txn *t)
{
	timer_init(&t->late, on_late);
}

void txn_pulled(struct txn *t)
{
	if (t->pulled)
		return;
	t->pulled = t->s->proxy->now ? t->s->proxy->now : 1;
	await_answer(t);
}

/* What was never formed is none that a report can be about. */
void txn_doubt(struct txn *t)
{
	if (t->doubted || t->replied || !t->pulled || t->state == TXN_FAILED)
		return;
	t->doubted = true;
	await_answer(t);
}
