/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: call forms that a responder refuses
 *
 * A version 2 responder may refuse the form of a call before it has looked at the RPC in it, and
 * the Requester can send the call again in another form (draft-07 6.6.3, 7.3.1, 7.3.3). The
 * requester on the other leg had no part in the choice, so it gets an error only if no form is
 * left:
 *
 *     refused                        next form
 *     continued (INVAL_CONT, _HTYPE)   in a Call chunk
 *     Call chunk (INVAL_HTYPE,         continued
 *       READ_CHUNKS, SEGMENTS)
 *     Reply chunk (SEGMENTS)           without it: the Reply may be continued
 *     data in the Send, directions     as draft -07 has it
 *       (any of these, a Report Error,
 *       WRITE_CHUNKS)
 *
 * Each form is given up once at most, so this ends. The transport remembers what the connection as
 * a whole does not take (v2/peer_rejections.h), so the next call begins with the right form.
 *
 * State:  the responder reports ERR_WRITE_RESOURCE: it has no way to return an item of its reply
 *         (rtrext-profile.md, section 6). It has carried out the call.
 * Danger: the call is carried out twice.
 * Rule:   the call is not sent again here. If the requester's own Write chunk was too short, the
 *         error goes to the requester. If directions that the gateway chose left no way, the
 *         session ends and RPC sends the call again, as after a reply that outgrew its chunk
 *         (txn_server_quirks.c). Calls to that server (servers' calls: all of the route) then carry
 *         no directions for a while, because otherwise the session would end for each such call.
 * Pinned: tests/hostile/cases_server_asked.py, decision 124
 *
 * State:  a call may have to be formed again until it is answered, if this responder has not been
 *         seen to take its form. For that its payload stream is kept; other calls give theirs back
 *         when they are sent.
 * Danger: a kept payload stream in a Receive keeps that Receive from other calls, and perhaps from
 *         a message that has to come before the answer.
 * Rule:   a stream in a reassembly block or in memory of its own is always kept. A stream in a
 *         Receive is kept only while half of the leg's Receives are left and, if Receives are
 *         shared, while there are enough for all (leg_should_copy_out()).
 * Pinned: tests/session/test_continue.c:calls_that_may_be_refused_leave_receives
 */
#include "proxy/txn_retry_form.h"
#include "proxy/internal.h"
#include "proxy/session_log.h"

/* Octets of the payload stream, as it was sent. */
static size_t stream_of(const struct txn *t)
{
	return t->joined ? rpc_msg_body_len(&t->out) : t->call_body.len;
}

/* Whether the call was sent with the round-trip extension. */
static bool is_extended(const struct txn *t)
{
	return t->out.nplaced || t->out.nwishes;
}

static bool is_proved(const struct txn *t)
{
	const struct session_proof *p = session_proof(t->s, t->rsp);

	if ((t->out.nplaced && !p->placed) || (t->out.nwishes && !p->wishes))
		return false;
	return t->out.nsegs <= p->segments &&
	       (t->form != PLAN_CONTINUED || stream_of(t) <= p->continued);
}

static bool lies_in(struct view body, const struct leg_rbuf *rb)
{
	return rb && body.data >= rb->data && body.data < rb->data + rb->len;
}

static bool has_spare_receives(const struct leg *leg)
{
	return leg->posted > leg->nrbufs / 2 && !leg_should_copy_out(leg);
}

void txn_keep_stream(struct txn *t)
{
	/* The responder reads the body, or data, from the Receive. */
	t->stream_kept = t->out.has_body_chunk || t->in.nplaced;
	if (t->stream_kept)
		return;
	if (t->body.owned) {
		t->stream_kept = true;
		leg_put(t->req, &t->call_held);
	} else if ((!t->rsp->t->ops->traits->refuses_forms && !is_extended(t)) || is_proved(t)) {
		leg_put(t->req, &t->call_held);
	} else if (!lies_in(t->call_body, t->call_held.rbuf)) {
		t->stream_kept = true;
		leg_move(t->req, &t->call_held, NULL);
	} else if (has_spare_receives(t->req)) {
		t->stream_kept = true;
	} else {
		leg_put(t->req, &t->call_held);
	}
}

void txn_give_back_stream(struct txn *t)
{
	if (t->out.has_body_chunk || t->in.nplaced || !lies_in(t->call_body, t->call_held.rbuf))
		return;
	t->stream_kept = false;
	leg_put(t->req, &t->call_held);
}

void txn_proved(const struct txn *t)
{
	struct session_proof *p = session_proof(t->s, t->rsp);

	if (t->out.nsegs > p->segments)
		p->segments = t->out.nsegs;
	p->placed |= t->out.nplaced > 0;
	p->wishes |= t->out.nwishes > 0;
	if (t->form == PLAN_CONTINUED && stream_of(t) > p->continued)
		p->continued = (uint32_t)stream_of(t);
}

/* Whether @code refuses the form of a call with the round-trip extension. */
static bool is_of_form(enum rpc_error_code code)
{
	return code == RPC_ERROR_INVAL_HTYPE || code == RPC_ERROR_INVAL_CONT ||
	       code == RPC_ERROR_READ_CHUNKS || code == RPC_ERROR_WRITE_CHUNKS ||
	       code == RPC_ERROR_SEGMENTS || code == RPC_ERROR_BAD_XDR;
}

/* The form to avoid; 0: the report is not about the form. */
static unsigned way_of(const struct txn *t, enum rpc_error_code code)
{
	bool continued = t->form == PLAN_CONTINUED, chunk = t->form == PLAN_BODY_CHUNK;

	if (is_extended(t))
		return is_of_form(code) ? TXN_AVOID_PLACED : 0;
	switch (code) {
	case RPC_ERROR_INVAL_CONT:
		return continued ? TXN_AVOID_CONTINUED : 0;
	case RPC_ERROR_INVAL_HTYPE:
		return continued ? TXN_AVOID_CONTINUED : chunk ? TXN_AVOID_BODY_CHUNK : 0;
	case RPC_ERROR_READ_CHUNKS:
		return chunk ? TXN_AVOID_BODY_CHUNK : 0;
	case RPC_ERROR_SEGMENTS:
		if (t->out.has_reply)
			return TXN_AVOID_REPLY_CHUNK;
		return chunk ? TXN_AVOID_BODY_CHUNK : 0;
	default:
		return 0;
	}
}

bool txn_avoid(struct txn *t, enum rpc_error_code code)
{
	unsigned way = way_of(t, code);

	if ((!t->rsp->t->ops->traits->refuses_forms && way != TXN_AVOID_PLACED) || !way ||
	    (t->avoid & way))
		return false;
	if (!t->stream_kept && !t->call_pending)
		return false;
	t->avoid |= way;
	return true;
}

/* Whether the requester offered less than the responder needs. */
static bool is_chunk_short(const struct txn *t, const struct rpc_error *e)
{
	return e->a > 0 && e->a <= t->in.nwrites && e->b > t->in.writes[e->a - 1].length;
}

/* Send calls to the server (or servers' calls of the route) without directions, for DEBT_TIMEOUT at
 * least: until then the requester has sent the call again. */
static void ask_no_more(struct txn *t)
{
	struct route_state *rs = t->s->route;
	nsec_t memory = rs->route->version_memory;

	session_log_habit(t->s, "no way for data that a reply was to bring along");
	if (memory < DEBT_TIMEOUT)
		memory = DEBT_TIMEOUT;
	if (t->reverse)
		rs->no_reverse_wish_until = t->s->proxy->now + memory;
	else
		session_remember_habit(t->s, SERVERS_NO_WAY, memory);
}

bool txn_had_no_way(struct txn *t, const struct rpc_error *e)
{
	if (e->code != RPC_ERROR_WRITE_RESOURCE || t->out.nwishes == 0 || is_chunk_short(t, e))
		return false;
	ask_no_more(t);
	return true;
}

bool txn_was_unheeded(struct txn *t)
{
	bool left_in = t->unheeded;

	for (unsigned i = 0; i < t->in.nwrites; i++)
		left_in &= t->writes[i].len == 0;
	if (left_in)
		ask_no_more(t);
	return left_in;
}

bool txn_may_ask(const struct txn *t)
{
	if (t->reverse)
		return t->s->proxy->now >= t->s->route->no_reverse_wish_until;
	return !session_server_has_habit(t->s, SERVERS_NO_WAY);
}

bool txn_is_stale(const struct txn *t, enum rpc_error_code code)
{
	return code == RPC_ERROR_INVAL_CONT && t->form != PLAN_CONTINUED &&
	       t->avoid & TXN_AVOID_CONTINUED;
}
