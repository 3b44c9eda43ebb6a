/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers: a reply, or the responder's error report. txn_memory.c and txn_server_quirks.c decide
 * what of a reply may be used, once the responder can reach nothing of the transaction any more. */
#include "base/log.h"
#include "proxy/txn_reply.h"
#include "proxy/internal.h"
#include "proxy/session_end.h"
#include "proxy/session_hop.h"
#include "proxy/session_log.h"
#include "proxy/txn_admit.h"
#include "proxy/txn_call.h"
#include "proxy/txn_cut_through.h"
#include "proxy/txn_form.h"
#include "proxy/txn_memory.h"
#include "proxy/txn_ops.h"
#include "proxy/txn_remote_inval.h"
#include "proxy/txn_reply_timeout.h"
#include "proxy/txn_retry_form.h"
#include "proxy/txn_server_quirks.h"
#include "xdr/cursor.h"

static void count_reply(struct txn *t, uint64_t body_len)
{
	struct session *s = t->s;
	struct session_stat *from = session_stat(s, t->rsp), *to = session_stat(s, t->req);
	struct proxy_counters *all = &s->route->count;
	bool written = t->reply.len > 0;

	for (unsigned i = 0; i < t->in.nwrites; i++) {
		body_len += t->writes[i].len;
		written |= t->writes[i].len > 0;
	}
	from->written += written;
	all->written += written;
	from->bytes_in += body_len;
	to->bytes_out += body_len;
	if (t->reverse) {
		from->rreplies++;
		to->rreplies++;
		all->rreplies++;
		all->bytes_to_server += body_len;
		return;
	}
	from->replies++;
	to->replies++;
	all->replies++;
	all->bytes_to_client += body_len;
}

void txn_return(struct txn *t)
{
	/* Writes are placed before a later Send arrives, so the reply need not wait for them. */
	t->state = TXN_REPLY;
	t->at[TRACE_RETURNED] = t->s->proxy->now;
	t->reply_tx.tx.msg = &t->out;
	t->reply_tx.tx.reverse = t->reverse;
	t->reply_tx.tx.cover = RPC_COVER_WAIT;
	txn_name_sums(&t->reply_tx, &t->reply_held, t->reply_body, &t->reply, t->writes,
		      t->in.nwrites);
	t->reply_tx.inv_handle = txn_remote_inval_handle(t);
	t->reply_pending = true;
	leg_send(t->req, &t->reply_tx);
	session_touch(t->s);
}

static void push_reply(struct txn *t)
{
	struct rpc_error e;

	t->state = TXN_PUSH;
	if (txn_form_reply(t, &e) < 0) {
		if (txn_was_unheeded(t))
			session_close_for(t->s, t->rsp, ERR_TOOBIG, TXN_NO_WAY);
		else
			txn_fail_with(t, &e);
		return;
	}
	if (txn_ops_begin(t))
		txn_return(t);
}

/* While the reply waited for credits, the requester withdrew its support for the round-trip
 * extension or for data in Sends. */
bool txn_return_again(struct txn *t)
{
	if (t->out.nwishes == 0)
		return false;
	t->plain = true;
	push_reply(t);
	return true;
}

/* Octets that can lie before the @i-th item in the original reply: the rest of the payload
 * stream, the items reported before it, and those whose Position is unknown. */
static uint64_t most_before(const struct txn *t, unsigned i)
{
	uint64_t most = t->reply_body.len - t->writes[i].left_in;

	for (unsigned k = 0; k < t->out.nwishes; k++)
		if (k < i || (k > i && t->writes[k].position == 0))
			most += (t->writes[k].len + UINT64_C(3)) & ~UINT64_C(3);
	return most;
}

/* docs/rtrext-profile.md, section 6: a Position that is given lies in the reply, behind its
 * header. */
static bool are_positions_possible(const struct txn *t)
{
	enum { LEAST_HEADER = 24 };

	for (unsigned i = 0; i < t->out.nwishes; i++) {
		const struct txn_region *r = &t->writes[i];

		if (r->left_in > t->reply_body.len)
			return false;
		if (r->position && (r->position < LEAST_HEADER || r->position > most_before(t, i)))
			return false;
	}
	return true;
}

/* Whether a result that was asked for by Send alone is longer than the requester's Write chunk. */
static bool is_result_too_long(const struct txn *t, struct rpc_error *e)
{
	for (unsigned i = 0; i < t->in.nwrites; i++) {
		const struct txn_region *r = &t->writes[i];

		*e = (struct rpc_error){RPC_ERROR_WRITE_RESOURCE, i + 1, r->len};
		if (r->sent && r->len > r->cap)
			return true;
	}
	return false;
}

/* Whether the payload stream of the reply begins as an RPC reply to the call does (RFC 5531 section
 * 9). */
static bool is_rpc_reply(const struct txn *t)
{
	const uint8_t *words = t->reply_body.data;

	return t->reply_body.len >= 8 && xdr_peek_u32(words) == t->in.xid &&
	       xdr_peek_u32(words + 4) == 1;
}

/* The responder can reach nothing of @t any more: its results may be used. */
void txn_send_reply(struct txn *t)
{
	struct rpc_error e;

	t->at[TRACE_FENCED] = t->s->proxy->now;
	if (txn_check_results(t) < 0) {
		session_breach(t->s, t->rsp, "a reply with more than was written");
		return;
	}
	if (!is_rpc_reply(t)) {
		session_breach(t->s, t->rsp, "the payload of a reply is no RPC reply to its call");
		return;
	}
	if (!are_positions_possible(t)) {
		txn_fail(t, RPC_ERROR_SYSTEM, 0, 0);
		return;
	}
	if (txn_check_reported(t, &e) < 0 || is_result_too_long(t, &e)) {
		txn_fail_with(t, &e);
		return;
	}
	txn_adopt_sent(t);
	/* The call's own octets are no longer needed, so their Receive goes back now. */
	leg_put(t->req, &t->call_held);
	count_reply(t, t->reply_body.len);
	if (!list_is_empty(&t->req->replies)) /* the requester takes no replies at present */
		txn_move_reply(t);
	push_reply(t);
}

void txn_fence_then_reply(struct txn *t)
{
	t->state = TXN_FENCE;
	if (txn_fence(t) && !txn_cut_through_waits(t))
		txn_send_reply(t);
}

/* Whether @rsp may answer @t now: not before the first part of the call was sent. */
static bool awaits_answer(const struct txn *t, const struct leg *rsp)
{
	const struct leg_tx *tx = t ? &t->call_tx : NULL;

	if (!t || t->rsp != rsp || t->replied || t->refused)
		return false;
	return t->state == TXN_WAIT ||
	       (t->state == TXN_CALL && (tx->posted || tx->encoded || tx->tx.body_sent));
}

void txn_reply(struct session *s, struct leg *rsp, struct leg_out *out)
{
	/* A reply travels against its call: reverse replies answer reverse calls. */
	struct txn *t = txn_find(s, out->msg->xid, out->reverse);

	if (!awaits_answer(t, rsp)) {
		/* Every call is answered once. The leg has counted this reply as the answer to
		 * another call, so its counts of credits are wrong. */
		leg_put(rsp, &out->held);
		session_breach(s, rsp, "a reply to no call");
		return;
	}
	t->replied = true;
	t->at[TRACE_ANSWERED] = s->proxy->now;
	session_answered(s, rsp, t->at[TRACE_ANSWERED] - t->at[TRACE_CALLED]);
	txn_proved(t);
	timer_disarm(&s->proxy->timers, &t->late);
	t->reply_held = out->held;
	if (txn_take_results(t, out) < 0) {
		session_breach(s, rsp, "a reply with lengths or a handle beyond what was offered");
		return;
	}
	if (!t->call_pending)
		txn_fence_then_reply(t);
}

/* Decision 11: translate a responder's report for the requester's leg. A report that the responder
 * takes no Read chunks at all is passed on only if the requester's call has Read chunks. */
static struct rpc_error txn_translate(const struct txn *t, const struct rpc_error *e)
{
	const struct rpc_error system = {.code = RPC_ERROR_SYSTEM};

	switch (e->code) {
	case RPC_ERROR_READ_CHUNKS:
		return e->a || t->in.nreads || t->in.has_body_chunk ? *e : system;
	case RPC_ERROR_WRITE_CHUNKS:
	case RPC_ERROR_SEGMENTS:
	case RPC_ERROR_WRITE_RESOURCE:
	case RPC_ERROR_REPLY_RESOURCE:
		return *e;
	default:
		/* The report is about the gateway's own header or version, which the requester
		 * cannot change. */
		return system;
	}
}

/* Whether ERR_CHUNK, which may be about any chunk of the call (RFC 8166 4.5.3), can only be about
 * the reply: the requester's call has no other chunks. Only then is it remembered for all calls to
 * the server. */
static bool is_about_reply(const struct txn *t, const struct rpc_error *report)
{
	return report->code == RPC_ERROR_CHUNK && t->in.nreads == 0 && t->in.nwrites == 0 &&
	       !t->out.has_body_chunk;
}

/* Decision 49: a peer without RDMA2_CALL_INLINE takes no calls. A request of the round-trip
 * extension has a type of its own. */
static bool is_inline_unknown(const struct txn *t, const struct rpc_error *report)
{
	return report->code == RPC_ERROR_INVAL_HTYPE && t->form == PLAN_INLINE && !t->out.nplaced &&
	       !t->out.nwishes;
}

static void form_again(struct txn *t)
{
	if (t->call_pending)
		t->refused = true;
	else
		txn_go_again(t);
}

/* The responder refused the call: try another form, or end the session, or report the error. A
 * call that is being sent is sent to its end first. */
static void txn_refused(struct txn *t, const struct rpc_error *report)
{
	struct rpc_error e = txn_translate(t, report);

	if (is_about_reply(t, report) && txn_outgrew(t))
		session_close_for(t->s, t->rsp, ERR_TOOBIG, TXN_OUTGREW);
	else if (txn_had_no_way(t, report))
		session_close_for(t->s, t->rsp, ERR_TOOBIG, TXN_NO_WAY);
	else if (txn_avoid(t, report->code))
		form_again(t);
	else if (is_inline_unknown(t, report))
		session_breach(t->s, t->rsp, "the server does not know RDMA2_CALL_INLINE");
	else
		txn_fail_with(t, &e);
}

void txn_error(struct session *s, struct leg *rsp, const struct leg_out *out)
{
	struct txn *t = txn_find(s, out->xid, out->reverse);

	if (out->cut && !awaits_answer(t, rsp))
		return;
	if (out->cut)
		leg_cut(rsp, out->xid);
	s->route->count.errors_from_responder++;
	s->route->count.errors_from[session_side(rsp)][out->error.code]++;
	session_log_report(s, rsp, out);
	if (t && (out->doubtful || txn_is_stale(t, out->error.code)))
		txn_suspect_report(t);
	else if (t && awaits_answer(t, rsp))
		txn_refused(t, &out->error);
	else if (rsp->t->ops->traits->counts_calls)
		/* In version 1 every error answers a call. Version 2 also reports errors about
		 * other messages. */
		session_breach(s, rsp, "an error about no call");
}
