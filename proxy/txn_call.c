/* SPDX-License-Identifier: BSD-2-Clause */
/* A transaction's call: from its arrival until it is sent, in a form that the responder takes
 * (WAITING to WAIT, and back: txn.c has the diagram). */
#include "base/budget.h"
#include "base/log.h"
#include "proxy/txn_call.h"
#include "proxy/internal.h"
#include "proxy/session_end.h"
#include "proxy/txn_admit.h"
#include "proxy/txn_alloc.h"
#include "proxy/txn_cut_through.h"
#include "proxy/txn_device_busy.h"
#include "proxy/txn_form.h"
#include "proxy/txn_memory.h"
#include "proxy/txn_ops.h"
#include "proxy/txn_reply_timeout.h"
#include "proxy/txn_server_quirks.h"
#include "proxy/txn_zero_sink.h"

/* draft-07 4.5: the Responder sanity-checks chunk sizes before it uses them. Decision 159: a data
 * item of max_payload may have a header beside it, and a pad behind it. */
static bool sizes_are_sane(const struct txn *t)
{
	uint32_t max = t->s->proxy->cfg.max_payload;

	if (t->in.has_body_chunk &&
	    (t->in.body_chunk.length > budget_message(max) || !t->in.body_chunk.length))
		return false;
	if (t->in.has_reply && t->in.reply.length > UINT32_MAX)
		return false;
	for (unsigned i = 0; i < t->in.nreads; i++)
		if (t->in.reads[i].length > max)
			return false;
	for (unsigned i = 0; i < t->in.nwrites; i++)
		if (t->in.writes[i].length > budget_result(max))
			return false;
	return true;
}

/* Whether octets of the call are to be read from the requester. */
static bool needs_reads(const struct txn *t)
{
	if (t->in.has_body_chunk)
		return true;
	for (unsigned i = 0; i < t->in.nreads; i++)
		if (t->in.reads[i].length && !rpc_msg_placed(&t->in, &t->in.reads[i]))
			return true;
	return false;
}

/* Whether the call needs RDMA Reads of an end that serves none, or of one that issues none
 * (decision 158). The responder may get a long call in another form than a chunk: plan_to() in
 * txn_form.c. */
static bool needs_impossible_reads(const struct txn *t)
{
	if (t->req->conn->no_reads && needs_reads(t))
		return true;
	if (!t->rsp->conn->issues_no_reads)
		return false;
	for (unsigned i = 0; i < t->in.nreads; i++)
		if (t->in.reads[i].length)
			return true;
	return false;
}

static void count_call(struct session *s, const struct txn *t)
{
	if (t->reverse) {
		s->stat[PROXY_CLIENT].rcalls++;
		s->stat[PROXY_SERVER].rcalls++;
		s->route->count.rcalls++;
		return;
	}
	s->stat[PROXY_CLIENT].calls++;
	s->stat[PROXY_SERVER].calls++;
	s->route->count.calls++;
}

/* Count the octets of the call, once everything that the requester exposed has been read. Before
 * that the lengths of chunks are only what the requester says. */
static void count_call_octets(struct txn *t)
{
	struct session *s = t->s;
	struct proxy_counters *all = &s->route->count;
	uint64_t bytes = txn_call_body_len(t);

	for (unsigned i = 0; i < t->in.nreads; i++)
		bytes += t->in.reads[i].length;
	session_stat(s, t->req)->bytes_in += bytes;
	session_stat(s, t->rsp)->bytes_out += bytes;
	*(t->reverse ? &all->bytes_to_client : &all->bytes_to_server) += bytes;
}

/* Start @t. This may release @t. */
static void begin_now(struct txn *t)
{
	t->state = TXN_PULL;
	t->at[TRACE_ADMITTED] = t->s->proxy->now;
	if (txn_ops_begin(t) && t->ops == 0)
		txn_send_call(t);
}

void txn_run(struct session_queue *q)
{
	enum txn_verdict verdict;
	struct txn *t;

	while ((t = txn_admit_passing(q, true)))
		begin_now(t);
	while ((verdict = txn_admit(q, &t)) != TXN_WAITS) {
		if (verdict == TXN_IMPOSSIBLE)
			txn_fail(t, RPC_ERROR_SYSTEM, 0, 0);
		else
			begin_now(t);
	}
	while ((t = txn_admit_passing(q, false)))
		begin_now(t);
}

/* Start @t, or let it wait. This may release @t. @waited: its wait has been counted. */
static void begin_wait(struct txn *t, bool waited)
{
	struct session_queue *q = session_queue(t->s, t->reverse);
	const struct list *line;

	if (txn_admit_at_once(q, t)) {
		begin_now(t);
		return;
	}
	line = txn_queue(t);
	txn_run(q);
	if (list_is_empty(line))
		return;
	/* A line that is not empty still has @t, because @t is the last of it. */
	if (line == &q->waiting)
		gss_order_waits(&q->gss_order, &t->in);
	if (!waited)
		txn_count_wait(q);
	if (txn_put_by(t) < 0)
		txn_fail(t, RPC_ERROR_SYSTEM, 0, 0);
}

/* Decision 57: a call whose XID is in flight. */
static void call_again(struct session *s, struct leg *req, uint32_t xid)
{
	if (!req->t->ops->traits->resends) {
		/* Version 1 has no retransmission, because its transport loses nothing. Linux
		 * closes a connection as well on which an XID is in flight twice. */
		session_breach(s, req, "two calls in flight with one XID");
		return;
	}
	/* Draft-07 4.6.5: the Requester may send it again. The one in flight is answered. */
	log_debug("txn.duplicate", "session=%llu xid=%08x", (unsigned long long)s->id, xid);
	s->route->count.duplicates++;
	leg_unanswered(req);
}

/* Begin the transaction of a call that arrived; @t is the block for it. @waited: the call was
 * deferred. */
static void txn_begin(struct session_queue *q, struct leg_out *out, struct txn *t, bool waited)
{
	struct leg *req = session_requester(q);
	struct session *s = q->s;

	if (!txn_xid_is_free(s, out->msg->xid, out->reverse)) {
		txn_free_block(q, t);
		leg_put(req, &out->held);
		call_again(s, req, out->msg->xid);
		return;
	}
	txn_init(t, s, req, out);
	txn_reply_timeout_init(t);
	t->hdr_err = ERR_SHORT; /* until the header is here */
	if (t->in.nbody > 0) {
		t->call_body = t->in.body[0];
		txn_snapshot(t);
	}
	count_call(s, t);
	if (!sizes_are_sane(t)) {
		txn_fail(t, RPC_ERROR_SYSTEM, 0, 0);
		return;
	}
	if (needs_impossible_reads(t)) {
		/* After a disconnect the requester would send the call again, and lose the next
		 * connection as well. */
		txn_fail(t, RPC_ERROR_READ_CHUNKS, 0, 0);
		return;
	}
	txn_plan(t);
	if (t->plan.form == PLAN_REFUSED) {
		txn_fail_with(t, &t->plan.error);
		return;
	}
	t->reply_bytes = txn_reply_room(t, t->plan.reply_bytes);
	begin_wait(t, waited);
}

/* Refuse a server's call: there is no memory for its state, and it may not wait (copy_out() in
 * txn_admit.c). */
static void refuse(struct session_queue *q, struct leg_out *out)
{
	const struct rpc_error system = {.code = RPC_ERROR_SYSTEM};
	struct leg *req = session_requester(q);
	struct proxy_counters *count = &q->s->route->count;
	uint32_t xid = out->msg->xid;

	count->errors_to_requester++;
	count->errors_to[session_side(req)][system.code]++;
	leg_put(req, &out->held);
	leg_reject(req, xid, &system);
}

void txn_call(struct session *s, struct leg_out *out)
{
	struct session_queue *q = session_queue(s, out->reverse);
	struct txn *t = txn_has_turn(q, out) ? txn_alloc_block(q, out->msg) : NULL;

	if (t)
		txn_begin(q, out, t, false);
	else if (txn_defer(q, out) < 0)
		refuse(q, out);
}

void txn_resume(struct session_queue *q)
{
	struct leg_out out;
	struct txn *t;

	while (q->s->state == SESSION_OPEN && txn_take_deferred(q, &out, &t))
		txn_begin(q, &out, t, true);
}

/* The responder's device is short of resources: exposures of the call are withdrawn until the
 * next attempt. */
static bool send_later(struct txn *t)
{
	if (!txn_device_busy_retry(t))
		return false;
	gss_order_waits(&session_queue(t->s, t->reverse)->gss_order, &t->in);
	t->state = TXN_SHORT;
	(void)txn_fence(t);
	return true;
}

void txn_blanked(struct txn *t)
{
	struct rpc_error e;
	int err;

	t->state = TXN_CALL;
	if (leg_should_copy_out(t->req) && leg_would_wait(t->rsp, &t->in))
		txn_move_call(t);
	err = txn_form_call(t, &e);
	if (err < 0) {
		/* If the responder is gone the call gets no error: the session ends, and the
		 * requester may send the call again. */
		if (err != ERR_CLOSED && (err != ERR_AGAIN || !send_later(t)))
			txn_fail_with(t, &e);
		return;
	}
	t->busy_since = 0;
	t->at[TRACE_CALLED] = t->s->proxy->now;
	t->call_tx.inv_handle = 0;
	t->call_tx.tx.msg = &t->out;
	t->call_tx.tx.reverse = t->reverse;
	txn_name_sums(&t->call_tx, &t->call_held, t->call_body, &t->body, t->reads, t->in.nreads);
	t->call_pending = true;
	leg_send(t->rsp, &t->call_tx);
	session_touch(t->s);
}

void txn_send_call(struct txn *t)
{
	if (!t->pulled)
		count_call_octets(t);
	txn_pulled(t);
	txn_complete_call(t);
	t->state = TXN_BLANK;
	if (txn_blank(t))
		txn_blanked(t);
}

void txn_form_again(struct txn *t)
{
	txn_forget_handles(t);
	txn_send_call(t);
}

/* Send the call in another form, once nothing of the refused form can be reached any more. */
void txn_go_again(struct txn *t)
{
	bool is_fenced;

	log_debug("txn.again", "session=%llu xid=%08x reverse=%d avoid=%x",
		  (unsigned long long)t->s->id, t->in.xid, t->reverse, t->avoid);
	t->s->route->count.formed_again++;
	t->refused = false;
	t->state = TXN_AGAIN;
	is_fenced = txn_fence(t);
	txn_cut_through_stop(t);
	if (is_fenced && !txn_cut_through_waits(t))
		txn_form_again(t);
}
