/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The receiving half of a leg: detect the version, pass messages to the transport, reassemble
 * continued ones
 *
 * State:  a part of a continued message finds no memory.
 * Danger: the next part cannot be appended before this one, and a peer that goes on sending would
 *         fill all Receives.
 * Rule:   the leg stalls: messages that arrive after the part wait in rxq, their Receives are not
 *         posted again, and the peer's credits run out, until leg_resume(). Only GRANTs are handled
 *         meanwhile.
 * Pinned: tests/session/test_pressure.c
 */
#include <assert.h>
#include <string.h>

#include "proxy/leg/leg_rx.h"
#include "proxy/leg/internal.h"
#include "proxy/leg/leg_reasm.h"
#include "proxy/leg/leg_conn.h"
#include "proxy/leg/leg_group.h"
#include "proxy/leg/leg_defer.h"
#include "proxy/leg/leg_memory.h"
#include "proxy/leg/leg_tx.h"
#include "proxy/leg/leg_version.h"
#include "v2/header.h"

/* Answer a first message in a version that is not spoken here. The version stays undecided,
 * because the next message may fit. */
static void refuse_version(struct leg *leg, const struct v2_hdr *in)
{
	struct rpc_params own = leg_own_params(leg);
	struct leg_slot *slot = leg_take_slot(leg);
	struct fabric_sge sge;
	int len;

	if (!slot)
		return;
	if (in->vers == 2) /* the message is of the draft that this end does not speak */
		own.vers_high = 1;
	len = v2_vers_error_encode(in, &own, slot->data, leg->cfg->inline_bytes);
	assert(len > 0);
	sge = (struct fabric_sge){slot->data, (uint32_t)len};
	if (leg_post_send(leg, slot, &sge, 1, 0) >= 0)
		leg->refused++;
}

/* An acceptor learns the version from the first message (draft-07 4.3.3). Return: whether the
 * version is known now. */
static bool detect_version(struct leg *leg, struct view in)
{
	struct v2_hdr h = {0};
	bool has_prefix = v2_prefix_decode(&h, in) == 0; /* the four words all versions have */
	enum leg_version version = has_prefix ? leg_version_of(leg, h.vers, in) : 0;

	leg->is_other_draft = version && leg_is_other_draft(version, in);
	if (version)
		return leg_set_version(leg, version) == 0;
	leg->early++;
	/* No answer to a message that is too short for a valid XID (draft-07 7), nor to an error
	 * report. */
	if (!has_prefix || h.htype == V2_ERROR)
		return false;
	refuse_version(leg, &h);
	/* Profile section 7.3: the peer must not try again in version 1 either. */
	if (h.vers == 1 && leg->proof && leg->proof->auth.required)
		leg_close(leg, ERR_AUTH, leg_auth_refuse(leg));
	return false;
}

/* Return: whether @rb may be given back at once. */
static bool on_part(struct leg *leg, struct leg_rbuf *rb, const struct rpc_rx *rx)
{
	struct view part = rx->msg->body[0];
	uint32_t total = (uint32_t)part.len + rx->remaining;

	leg->reasm_xid = rx->msg->xid;
	if (rx->first && leg->role == RPC_INITIATOR && rx->msg->dir == RPC_CALL)
		leg_reasm_begin_reverse(leg, total);
	else if (rx->first)
		leg_reasm_begin(leg, total, rx->msg->dir);
	if (!leg_reasm_make_room(leg, part)) {
		leg->stalled = rb;
		leg->stalled_part = part;
		return false;
	}
	leg_reasm_append(leg, part);
	return true;
}

void leg_forget(struct leg *leg, uint32_t xid)
{
	/* If credits count calls, a Receive for a late answer is reserved only with a
	 * reply_timeout. */
	assert(leg->cfg->reply_timeout || !leg->t->ops->traits->counts_calls);
	leg->t->ops->forget(leg->t, xid);
	leg_got_answer(leg);
}

void leg_cut(struct leg *leg, uint32_t xid)
{
	leg->t->ops->cut(leg->t, xid);
	leg_got_answer(leg);
}

void leg_give_up(struct leg *leg)
{
	leg_got_answer(leg);
}

void leg_unanswered(struct leg *leg)
{
	leg->t->ops->unanswered(leg->t);
}

/* Draft-07 6.5, RFC 8797 section 4.1: only a Reply invalidates handles, and at most one. */
static bool note_invalidated(struct leg *leg, const struct leg_rbuf *rb, const struct rpc_rx *rx)
{
	if (rx->kind == RPC_RX_MSG ? !rx->continued : rx->kind == RPC_RX_PART && rx->first)
		leg->invalidated = 0;
	if (!rb->invalidated)
		return true;
	if ((rx->kind != RPC_RX_MSG && rx->kind != RPC_RX_PART) || rx->msg->dir != RPC_REPLY ||
	    leg->invalidated)
		return false;
	leg->invalidated = rb->invalidated;
	return true;
}

/* Return: whether @rb may be given back at once. */
static bool leg_on_msg(struct leg *leg, struct leg_rbuf *rb, const struct rpc_rx *rx,
		       struct leg_out *out)
{
	if (rx->continued && leg->discarding) {
		leg->discarding = false;
		return true;
	}
	out->kind = LEG_OUT_MSG;
	out->msg = rx->msg;
	out->reverse = leg_is_reverse(leg, rx->msg->dir);
	out->invalidated = leg->invalidated;
	out->held = (struct leg_held){.rbuf = rb};
	if (rx->continued) {
		leg_reasm_append(leg, rx->msg->body[0]);
		rx->msg->body[0] = view_of(leg->reasm, leg->reasm_len);
		rx->msg->nbody = 1;
		out->held.reasm = leg->reasm;
		leg->reasm = NULL;
	}
	if (rx->msg->dir == RPC_REPLY)
		leg_got_answer(leg);
	return false;
}

static void leg_on_error(struct leg *leg, const struct rpc_rx *rx, struct leg_out *out)
{
	out->kind = LEG_OUT_ERROR;
	out->xid = rx->xid;
	out->reverse = leg_is_reverse(leg, rx->error_dir);
	out->error = rx->error;
	out->doubtful = rx->doubtful;
	out->cut = rx->cut;
	if (rx->error_dir == RPC_REPLY && !rx->doubtful && !rx->cut)
		leg_got_answer(leg);
	leg->also_failed = rx->also;
	leg->also_xid = rx->also_xid;
}

void leg_also_failed(struct leg *leg, struct leg_out *out)
{
	const struct rpc_rx rx = {
		.xid = leg->also_xid, .error_dir = RPC_REPLY, .error = {.code = RPC_ERROR_SYSTEM}};

	leg_on_error(leg, &rx, out);
}

static void leg_on_ready(struct leg *leg, struct leg_out *out)
{
	/* Properties that came after leg_tick() opened the leg without them. */
	if (leg->state == LEG_OPEN)
		return;
	leg->state = LEG_OPEN;
	leg->deadline = NSEC_NEVER;
	if (leg->role == RPC_INITIATOR)
		out->kind = LEG_OUT_READY;
}

/* The peer does not speak version 2: on the same connection go on with 1 (draft-07 4.3.2, decision
 * 9). */
static void fall_back(struct leg *leg, const struct rpc_error *range, struct leg_out *out)
{
	if (!leg_speaks(leg, LEG_V1) || range->a > 1 || range->b < 1 ||
	    leg_set_version(leg, LEG_V1) < 0) {
		leg_close(leg, ERR_VERS, "no protocol version in common");
		return;
	}
	leg_on_ready(leg, out);
}

/* A message that waits must not hold back the credits that came with it: the peer's memory may
 * depend on what this end could send with them. */
static void leg_queue(struct leg *leg, struct leg_rbuf *rb, struct leg_out *out)
{
	struct view in = leg_octets(leg, rb);
	int arrived = leg->t->ops->arrive ? leg->t->ops->arrive(leg->t, in) : 0;

	if (arrived > 0) {
		leg_process(leg, rb, out);
	} else if (arrived == 0) {
		list_add_tail(&leg->rxq, &rb->link);
	} else {
		leg_close(leg, arrived, "the peer broke the protocol");
		leg_post_recv(leg, rb);
	}
}

/* Pass a message to the transport, with the earlier Sends of its group, if any. */
static int give_to_transport(struct leg *leg, struct view in, struct rpc_rx *rx)
{
	struct rpc_octets octets[RPC_MAX_TRANSMISSIONS];
	struct view bulk;
	int err;

	if (!leg->ngroup)
		return leg->t->ops->recv(leg->t, in, rx);
	bulk = leg->t->bulk;
	leg_list_group(leg, octets);
	leg->t->bulk = bulk;
	err = leg->t->ops->recv(leg->t, in, rx);
	leg->t->held = NULL;
	leg->t->nheld = 0;
	return err;
}

/* Return: whether @rb may be given back at once. */
static bool on_group(struct leg *leg, struct leg_rbuf *rb, const struct rpc_rx *rx)
{
	if (rx->kind == RPC_RX_HELD)
		leg_hold_part(leg, rb, rx);
	else
		leg_end_group(leg, rb, rx);
	return false;
}

void leg_process(struct leg *leg, struct leg_rbuf *rb, struct leg_out *out)
{
	struct view in = leg_octets(leg, rb);
	struct rpc_rx rx;
	bool give_back = true;
	int err;

	if (!leg->t && !detect_version(leg, in)) {
		leg_post_recv(leg, rb);
		return;
	}
	if (rb->len > in.len) {
		if (!leg->t->ops->traits->places) {
			leg_close(leg, ERR_PROTO,
				  "the peer sent a message larger than the inline threshold");
			leg_post_recv(leg, rb);
			return;
		}
		in = leg_octets(leg, rb); /* again, because the transport may be new */
	}
	if (leg->proof && leg_auth_must_wait(leg)) {
		leg_queue(leg, rb, out);
		return;
	}
	err = give_to_transport(leg, in, &rx);
	if (leg->proof)
		leg_prove(leg);
	if (err < 0 || !note_invalidated(leg, rb, &rx)) {
		leg_close(leg, err < 0 ? err : ERR_ACCESS,
			  err < 0 ? "the peer broke the protocol"
				  : "the peer invalidated what its message may not");
		leg_post_recv(leg, rb);
		return;
	}
	if (rx.abandon) {
		leg_reasm_drop(leg);
		leg_drop_group(leg);
	}
	if (leg->role == RPC_ACCEPTOR && leg->state == LEG_NEGOTIATING &&
	    (!leg->t->ops->traits->negotiates || rx.kind == RPC_RX_MSG || rx.kind == RPC_RX_PART ||
	     rx.kind == RPC_RX_HELD))
		leg_on_ready(leg, out);
	switch (rx.kind) {
	case RPC_RX_NONE:
		break;
	case RPC_RX_READY:
		leg_on_ready(leg, out);
		break;
	case RPC_RX_PART:
		give_back = on_part(leg, rb, &rx);
		break;
	case RPC_RX_MSG:
		give_back = leg_on_msg(leg, rb, &rx, out);
		break;
	case RPC_RX_HELD:
	case RPC_RX_GROUP:
		give_back = on_group(leg, rb, &rx);
		break;
	case RPC_RX_ERROR:
		leg_on_error(leg, &rx, out);
		break;
	case RPC_RX_OTHER_VERSION:
		fall_back(leg, &rx.error, out);
		break;
	}
	if (give_back)
		leg_post_recv(leg, rb);
}

/* Check the number and the length of the peer's messages. A leg's own Receives limit both, but
 * shared Receives do not. Return: whether @rb is to be processed. */
static bool took_shared(struct leg *leg, const struct fabric_event *ev, struct leg_rbuf *rb)
{
	const char *breach = NULL;

	recv_pool_arrived(leg->recvs);
	if (leg->posted == 0)
		breach = "the peer sent more messages than it was granted";
	else if (ev->len > leg->cfg->inline_bytes)
		breach = "the peer sent a message larger than the inline threshold";
	if (!breach && !leg->closing) {
		leg->conn->recvs_held++;
		leg->recvs->busy += leg->posted == leg->nrbufs;
		rb->look = leg->recvs->look;
		return true;
	}
	leg_drop_sums(rb);
	recv_pool_put(leg->recvs, rb);
	if (breach)
		leg_close(leg, ERR_PROTO, breach);
	return false;
}

static inline void take_message(struct leg *leg, struct leg_rbuf *rb, struct leg_out *out)
{
	if (leg->stalled || leg_has_group(leg) || leg_awaits_handshake_slot(leg) ||
	    leg_holds_back(leg) || leg_reports_wait(leg) || !list_is_empty(&leg->rxq))
		leg_queue(leg, rb, out);
	else
		leg_process(leg, rb, out);
}

/* Kept out of line, so that messages cost nothing extra while nothing is traced. */
static __attribute__((noinline, cold)) void take_seen(struct leg *leg, struct leg_rbuf *rb,
						      struct leg_out *out)
{
	uint32_t inline_bytes = leg->cfg->inline_bytes;
	uint32_t here = rb->len < inline_bytes ? rb->len : inline_bytes;
	const struct fabric_sge pieces[] = {{rb->data, here}, {leg_bulk(leg, rb), rb->len - here}};

	leg->trace->see(leg, false, pieces, rb->len > here ? 2 : 1);
	take_message(leg, rb, out);
}

void leg_on_recv(struct leg *leg, const struct fabric_event *ev, struct leg_out *out)
{
	struct leg_rbuf *rb = ev->cookie;

	rb->sums = ev->sums;
	if (leg->recvs && !took_shared(leg, ev, rb))
		return;
	if (ev->status < 0) /* the connection of the Receive ends */
		return;
	assert(leg->posted > 0);
	leg->posted--;
	if (leg->closing)
		return;
	/* A fabric must not report that: octets of other messages lie there. */
	if (ev->len > leg->cfg->inline_bytes + leg->cfg->bulk_bytes) {
		leg_close(leg, ERR_PROTO, "a message larger than its Receive");
		return;
	}
	rb->len = ev->len;
	rb->invalidated = ev->invalidated;
	if (leg->trace->see)
		take_seen(leg, rb, out);
	else
		take_message(leg, rb, out);
}

void leg_resume(struct leg *leg)
{
	struct leg_rbuf *rb = leg->stalled;

	if (!rb || leg->closing) /* memory would be of no use any more */
		return;
	if (leg->ngroup) {
		leg_try_group(leg);
		return;
	}
	if (!leg_reasm_make_room(leg, leg->stalled_part))
		return;
	leg->stalled = NULL;
	leg->reasm_count++; /* until now the gateway itself kept the peer from continuing */
	leg_reasm_append(leg, leg->stalled_part);
	leg_post_recv(leg, rb);
}
