/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 *   call arrives          Reads done           call sent           reply arrives
 *   WAITING --> PULL ------------> CALL ------------> WAIT ------------> FENCE
 *   (memory)                                                               |
 *                  done <-- REPLY <-- PUSH (Writes, then the reply) <------+
 *
 *   form refused:  CALL, WAIT --> AGAIN (exposures withdrawn) --> CALL: txn_again.c
 *   memory large:  PULL --> BLANK (some in each turn) --> CALL: txn_blank.c
 *   device short:  CALL --> SHORT (the same, and a pause) --> CALL: txn_short.c
 *
 * Any step can end in FAILED: the requester gets an error report of its own
 * version, every exposure is fenced, and the rest waits for what is posted.
 *
 * All memory is taken before anything is posted (WAITING holds none), so
 * transactions never wait for each other while holding memory.
 */
#include "proxy/internal.h"

#include <assert.h>
#include <string.h>

#include "base/log.h"

static struct txn **bucket(struct session *s, uint32_t xid)
{
	return &s->buckets[(xid ^ xid >> 16) % SESSION_BUCKETS];
}

/* One that has its answer, or is about to get it, is no longer in flight: its XID is free. */
static struct txn *find(struct session *s, uint32_t xid, bool reverse)
{
	struct txn *t = *bucket(s, xid);

	while (t && (t->in.xid != xid || t->reverse != reverse || t->state >= TXN_REPLY))
		t = t->hash_next;
	return t;
}

static void copy_msg(struct rpc_msg *to, const struct rpc_msg *from)
{
	memcpy(to, from, offsetof(struct rpc_msg, segs));
	to->nsegs = from->nsegs;
	memcpy(to->segs, from->segs, from->nsegs * sizeof(from->segs[0]));
}

static void unhash(struct txn *t)
{
	struct txn **p = bucket(t->s, t->in.xid);

	while (*p != t)
		p = &(*p)->hash_next;
	*p = t->hash_next;
}

void txn_release(struct txn *t)
{
	struct session *s = t->s;
	struct session_queue *q = session_queue(s, t->reverse);

	unhash(t);
	txn_unname(t);
	list_del(&t->link);
	list_del(&t->op_link);
	timer_disarm(&s->proxy->timers, &t->late);
	leg_put(t->req, &t->call_held);
	leg_put(t->rsp, &t->reply_held);
	txn_give(t);
	txn_unqueue(t);
	s->ntxns--;
	txn_give_room(q, t);
}

static void finish_if_idle(struct txn *t)
{
	struct session *s = t->s;

	if (t->ops || t->call_pending || t->reply_pending)
		return;
	txn_release(t);
	session_touch(s);
}

/* Nothing more becomes of @t. Its memory is given back when nobody can reach it any more. */
static void give_up(struct txn *t)
{
	t->state = TXN_FAILED;
	list_del(&t->op_link);
	list_del(&t->wait_link);
	timer_disarm(&t->s->proxy->timers, &t->late);
	if (t->exposed)
		txn_fence(t);
	session_touch(t->s);
	finish_if_idle(t);
}

/* The requester is told @e in its own version's words; exposures are fenced. */
static void fail(struct txn *t, const struct rpc_error *e)
{
	if (t->state == TXN_FAILED)
		return;
	log_debug("txn.error", "session=%llu xid=%08x reverse=%d cause=%s a=%u b=%u",
		  (unsigned long long)t->s->id, t->in.xid, t->reverse, rpc_error_name(e->code),
		  e->a, e->b);
	t->s->proxy->count.errors_to_requester++;
	leg_report(t->req, t->in.xid, RPC_CALL, e);
	give_up(t);
}

bool txn_let_go(struct txn *t)
{
	bool sent = t->state == TXN_WAIT || (t->call_pending && t->call_tx.encoded);

	if (t->call_pending && !sent) {
		if (!leg_unsend(t->rsp, &t->call_tx))
			return false;
		t->call_pending = false;
	}
	log_debug("txn.let_go", "session=%llu xid=%08x reverse=%d sent=%d",
		  (unsigned long long)t->s->id, t->in.xid, t->reverse, sent);
	t->s->proxy->count.let_go++;
	if (sent && t->rsp->cfg->reply_timeout)
		leg_forget(t->rsp, t->in.xid);
	else if (sent)
		leg_give_up(t->rsp);
	leg_unanswered(t->req);
	give_up(t);
	return true;
}

void txn_fail(struct txn *t, enum rpc_error_code code, uint32_t a, uint32_t b)
{
	const struct rpc_error e = {code, a, b};

	fail(t, &e);
}

/* A peer of @s broke the protocol: that session ends, nobody else's. */
static void breach(struct session *s, const char *why)
{
	if (s->state != SESSION_CLOSING)
		s->proxy->count.peer_faults++;
	session_close(s, ERR_PROTO, why);
}

/* 4.5: the Responder sanity-checks chunk sizes before it uses them. */
static bool sizes_are_sane(const struct txn *t)
{
	uint32_t max = t->s->proxy->cfg.max_payload;

	if (t->in.has_body_chunk && (t->in.body_chunk.length > max || !t->in.body_chunk.length))
		return false;
	if (t->in.has_reply && t->in.reply.length > UINT32_MAX)
		return false;
	for (unsigned i = 0; i < t->in.nreads; i++)
		if (t->in.reads[i].length > max)
			return false;
	for (unsigned i = 0; i < t->in.nwrites; i++)
		if (t->in.writes[i].length > max)
			return false;
	return true;
}

static void init(struct txn *t, struct session *s, struct leg *req, struct leg_out *out)
{
	struct txn **b;

	memset(t, 0, offsetof(struct txn, out));
	t->s = s;
	t->reverse = out->reverse;
	t->req = req;
	t->rsp = req == &s->client ? &s->server : &s->client;
	t->call_held = out->held;
	t->call_tx.owner = t->reply_tx.owner = t;
	copy_msg(&t->in, out->msg);
	txn_set_room(t);
	list_init(&t->op_link);
	list_init(&t->wait_link);
	txn_late_init(t);
	list_add_tail(&s->txns, &t->link);
	b = bucket(s, t->in.xid);
	t->hash_next = *b;
	*b = t;
	s->ntxns++;
	txn_name(t);
}

static void count_call(struct session *s, struct txn *t)
{
	struct session_stat *from = session_stat(s, t->req), *to = session_stat(s, t->rsp);
	uint64_t bytes = txn_call_body_len(t);

	for (unsigned i = 0; i < t->in.nreads; i++)
		bytes += t->in.reads[i].length;
	from->bytes_in += bytes;
	to->bytes_out += bytes;
	if (t->reverse) {
		from->rcalls++;
		to->rcalls++;
		s->proxy->count.rcalls++;
		s->proxy->count.bytes_to_client += bytes;
		return;
	}
	from->calls++;
	to->calls++;
	s->proxy->count.calls++;
	s->proxy->count.bytes_to_server += bytes;
}

void txn_run(struct session_queue *q)
{
	enum txn_verdict verdict;
	struct txn *t;

	while ((verdict = txn_admit(q, &t)) != TXN_WAITS) {
		if (verdict == TXN_IMPOSSIBLE) {
			txn_fail(t, RPC_ERROR_SYSTEM, 0, 0);
			continue;
		}
		t->state = TXN_PULL;
		txn_await(t);
		txn_ops_begin(t);
	}
}

/* Its turn may be now; it may be released. */
static void begin_wait(struct txn *t)
{
	struct session_queue *q = session_queue(t->s, t->reverse);

	txn_queue(t);
	txn_run(q);
	/* Where others are left, it is the last of them. */
	if (!list_is_empty(&q->waiting) && txn_put_by(t) < 0)
		txn_fail(t, RPC_ERROR_SYSTEM, 0, 0);
}

/* Decision 57: a call whose XID is in flight. */
static void call_again(struct session *s, struct leg *req, uint32_t xid)
{
	if (req->t->version == 1) {
		/* A transport that loses nothing has no use for retransmission: Linux, too,
		 * gives up a connection on which an XID is in flight twice. */
		breach(s, "two calls in flight with one XID");
		return;
	}
	/* Draft-07 4.6.5: the Requester may send it again. The one in flight is answered. */
	log_debug("txn.duplicate", "session=%llu xid=%08x", (unsigned long long)s->id, xid);
	s->proxy->count.duplicates++;
	leg_unanswered(req);
}

/* Of a call that arrived on @req; @t is the place for it. */
static void begin(struct session *s, struct leg *req, struct leg_out *out, struct txn *t,
		  bool aside)
{
	struct session_queue *q = session_queue(s, out->reverse);
	struct plan_call p;

	if (find(s, out->msg->xid, out->reverse)) {
		txn_give_room(q, t);
		q->aside -= aside;
		leg_put(req, &out->held);
		call_again(s, req, out->msg->xid);
		return;
	}
	init(t, s, req, out);
	t->aside = aside;
	if (t->in.nbody > 0)
		t->call_body = t->in.body[0];
	count_call(s, t);
	if (!sizes_are_sane(t)) {
		txn_fail(t, RPC_ERROR_SYSTEM, 0, 0);
		return;
	}
	txn_plan(t, 0, &p);
	if (p.form == PLAN_REFUSED) {
		fail(t, &p.error);
		return;
	}
	t->reply_bytes = txn_reply_room(t, p.reply_bytes);
	begin_wait(t);
}

void txn_call(struct session *s, struct leg *req, struct leg_out *out)
{
	struct session_queue *q = session_queue(s, out->reverse);
	struct txn *t = list_is_empty(&q->kept) ? txn_take_room(q, out->msg) : NULL;

	if (t)
		begin(s, req, out, t, false);
	else
		txn_keep(q, out);
}

void txn_resume(struct session_queue *q)
{
	struct leg_out out;
	struct txn *t;
	bool aside;

	while (q->s->state == SESSION_OPEN && txn_take_kept(q, &out, &t, &aside))
		begin(q->s, out.reverse ? &q->s->server : &q->s->client, &out, t, aside);
}

/* The responder's fabric is short of something: what was exposed of the call is not needed meanwhile. */
static bool send_later(struct txn *t)
{
	if (!txn_short_call(t))
		return false;
	t->state = TXN_SHORT;
	(void)txn_fence(t);
	return true;
}

void txn_blanked(struct txn *t)
{
	struct rpc_error e;
	int err;

	t->state = TXN_CALL;
	if (!list_is_empty(&t->rsp->calls)) /* the responder takes no more at present */
		txn_move_call(t);
	err = txn_form_call(t, &e);
	if (err < 0) {
		/* A responder that is gone is no error of this call: the session ends, and the
		 * requester may send it again. */
		if (err != ERR_CLOSED && (err != ERR_AGAIN || !send_later(t)))
			fail(t, &e);
		return;
	}
	t->short_since = 0;
	t->call_tx.tx.msg = &t->out;
	t->call_tx.tx.reverse = t->reverse;
	t->call_pending = true;
	leg_send(t->rsp, &t->call_tx);
	session_touch(t->s);
}

static void send_call(struct txn *t)
{
	txn_complete_call(t);
	t->state = TXN_BLANK;
	if (txn_blank(t))
		txn_blanked(t);
}

void txn_form_again(struct txn *t)
{
	txn_forget_handles(t);
	send_call(t);
}

/* The call goes another way: nothing of the form that was refused can be reached any more by then. */
static void go_again(struct txn *t)
{
	log_debug("txn.again", "session=%llu xid=%08x reverse=%d avoid=%x",
		  (unsigned long long)t->s->id, t->in.xid, t->reverse, t->avoid);
	t->s->proxy->count.formed_again++;
	t->refused = false;
	t->state = TXN_AGAIN;
	if (txn_fence(t))
		txn_form_again(t);
}

static void count_reply(struct txn *t, uint64_t body_len)
{
	struct session *s = t->s;
	struct session_stat *from = session_stat(s, t->rsp), *to = session_stat(s, t->req);

	for (unsigned i = 0; i < t->in.nwrites; i++)
		body_len += t->writes[i].len;
	from->bytes_in += body_len;
	to->bytes_out += body_len;
	if (t->reverse) {
		from->rreplies++;
		to->rreplies++;
		s->proxy->count.rreplies++;
		s->proxy->count.bytes_to_server += body_len;
		return;
	}
	from->replies++;
	to->replies++;
	s->proxy->count.replies++;
	s->proxy->count.bytes_to_client += body_len;
}

/* Everything the responder could reach is fenced: what it returned may be used. */
static void send_reply(struct txn *t)
{
	struct rpc_error e;
	struct rpchdr hdr;

	if (txn_check_results(t) < 0) {
		breach(t->s, "a reply with more than was written");
		return;
	}
	if (rpchdr_peek(&hdr, t->reply_body) < 0 || hdr.mtype != 1 || hdr.xid != t->in.xid) {
		breach(t->s, "the payload of a reply is no RPC reply to its call");
		return;
	}
	if (txn_check_told(t, &e) < 0) {
		fail(t, &e);
		return;
	}
	/* The call's own octets are no longer needed: their Receive goes back now. */
	leg_put(t->req, &t->call_held);
	count_reply(t, t->reply_body.len);
	if (!list_is_empty(&t->req->replies)) /* the requester takes no more at present */
		txn_move_reply(t);
	t->state = TXN_PUSH;
	if (txn_form_reply(t, &e) < 0) {
		fail(t, &e);
		return;
	}
	txn_ops_begin(t);
}

void txn_ops_done(struct txn *t)
{
	if (t->state == TXN_PULL) {
		if (t->ops == 0)
			send_call(t);
		return;
	}
	/* Writes are placed before a later Send arrives: no need to wait for them. */
	t->state = TXN_REPLY;
	t->reply_tx.tx.msg = &t->out;
	t->reply_tx.tx.reverse = t->reverse;
	t->reply_tx.tx.cover = RPC_COVER_WAIT;
	t->reply_tx.inv_handle = txn_inv_handle(t);
	t->reply_pending = true;
	leg_send(t->req, &t->reply_tx);
	session_touch(t->s);
}

static void fence_then_reply(struct txn *t)
{
	t->state = TXN_FENCE;
	if (txn_fence(t))
		send_reply(t);
}

/* Whether @t can be answered by @rsp now: not before a first part of the call was sent. */
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
	struct txn *t = find(s, out->msg->xid, out->reverse);

	if (!awaits_answer(t, rsp)) {
		/* Every call is answered once. What was counted for this answer was another's. */
		leg_put(rsp, &out->held);
		breach(s, "a reply to no call");
		return;
	}
	t->replied = true;
	txn_proved(t);
	timer_disarm(&s->proxy->timers, &t->late);
	t->reply_held = out->held;
	if (txn_take_results(t, out) < 0) {
		breach(s, "a reply with lengths or a handle beyond what was offered");
		return;
	}
	if (!t->call_pending)
		fence_then_reply(t);
}

/* Decision 11: what a responder reports, in terms of the requester's leg. */
static struct rpc_error translate(const struct rpc_error *e)
{
	switch (e->code) {
	case RPC_ERROR_READ_CHUNKS:
	case RPC_ERROR_WRITE_CHUNKS:
	case RPC_ERROR_SEGMENTS:
	case RPC_ERROR_WRITE_RESOURCE:
	case RPC_ERROR_REPLY_RESOURCE:
		return *e;
	default:
		/* About the gateway's own header or version: nothing the requester could mend. */
		return (struct rpc_error){.code = RPC_ERROR_SYSTEM};
	}
}

/* There may be another way; what has begun to be sent is sent first. */
static void refused(struct txn *t, const struct rpc_error *report)
{
	struct rpc_error e = translate(report);

	if (!txn_avoid(t, report->code))
		fail(t, &e);
	else if (t->call_pending)
		t->refused = true;
	else
		go_again(t);
}

void txn_error(struct session *s, struct leg *rsp, const struct leg_out *out)
{
	struct txn *t = find(s, out->xid, out->reverse);

	s->proxy->count.errors_from_responder++;
	session_log_report(s, rsp, out);
	if (t && txn_is_stale(t, out->error.code))
		return;
	if (t && awaits_answer(t, rsp))
		refused(t, &out->error);
	else if (rsp->t->version == 1)
		/* There every error answers a call. Version 2 has other messages to complain of. */
		breach(s, "an error about no call");
}

static void call_not_sent(struct txn *t, int status)
{
	/* Flushed: the session ends. */
	if (status == ERR_FLUSHED || status == ERR_CLOSED)
		return;
	/* The credits that were there when it was formed are not; or it was impossible after all. */
	t->kept = true;
	if (status == ERR_TOOBIG && t->s->state == SESSION_OPEN &&
	    txn_avoid(t, RPC_ERROR_INVAL_CONT))
		go_again(t);
	else
		txn_fail(t, RPC_ERROR_SYSTEM, 0, 0);
}

static void call_sent(struct txn *t, int status)
{
	t->call_pending = false;
	if (t->state == TXN_FAILED) {
		finish_if_idle(t);
		return;
	}
	if (status < 0) {
		call_not_sent(t, status);
		return;
	}
	if (t->refused && t->s->state == SESSION_OPEN) {
		go_again(t);
		return;
	}
	t->state = TXN_WAIT;
	txn_keep_call(t);
	if (t->replied && t->s->state == SESSION_OPEN)
		fence_then_reply(t);
}

void txn_sent(struct txn *t, const struct leg_out *out)
{
	if (out->tx == &t->call_tx) {
		call_sent(t, out->status);
		return;
	}
	t->reply_pending = false;
	if (out->status == ERR_TOOBIG && t->s->state == SESSION_OPEN) {
		/* 6.6.4: the requester's credits do not cover it, and will not. */
		txn_fail(t, RPC_ERROR_REPLY_RESOURCE, (uint32_t)t->reply_body.len, 0);
		return;
	}
	if (out->status < 0 && out->status != ERR_FLUSHED && out->status != ERR_CLOSED)
		/* 7.4: a reply that cannot be sent MUST close the connection. */
		session_close(t->s, out->status, "a reply could not be expressed");
	finish_if_idle(t);
}

/* The last operation of a step completed. */
static void step_done(struct txn *t)
{
	switch (t->state) {
	case TXN_PULL:
		if (list_is_empty(&t->op_link))
			send_call(t);
		break;
	case TXN_AGAIN:
		txn_form_again(t);
		break;
	case TXN_FENCE:
		send_reply(t);
		break;
	case TXN_FAILED:
	case TXN_REPLY:
		finish_if_idle(t);
		break;
	default:
		break;
	}
}

void txn_op(struct txn *t, const struct leg_out *out)
{
	struct session *s = t->s;
	struct leg *req = t->req;

	assert(t->ops > 0);
	t->ops--;
	if (out->op == FABRIC_EV_WITHDRAWN && out->status == 0)
		txn_fenced(t, out->withdrawn, out->written);
	/* A failed operation broke its connection: the session's end follows. */
	if (out->status == 0 && t->ops == 0)
		step_done(t);
	if (out->op == FABRIC_EV_WITHDRAWN)
		return;
	session_completed(out->op == FABRIC_EV_READ ? &session_ops(s, req)->reads
						    : &session_ops(s, req)->writes);
	txn_ops_run(s, req);
}
