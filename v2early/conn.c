/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: this draft negotiates with the messages that flow anyway (section 5). An initiator is
 * ready at once, but may have one call outstanding, of no more than 1024 octets, until a reply to
 * it shows that the dialect is spoken and how many calls are accepted. Then both thresholds are
 * 4096 octets and do not change: private data (RFC 8797) belongs to version 1. An acceptor knows
 * all this from the first message.
 *
 *                      first reply
 *   initiator  ASKING ------------> SPOKEN         acceptor  SPOKEN from the start
 *              1 call, 1024 octets  calls <= min(requested, granted), 4096 octets
 *
 * Credits are those of version 1 (rpc/account.h), and so are errors, with three codes of their own
 * (section 4.2.3; rfc5666bis-01 section 5). Messages received, and their results:
 *
 *   well-formed call                             RPC_RX_MSG
 *   well-formed reply, a call in flight          RPC_RX_MSG
 *   RDMA2_OPTIONAL, a Transmit Request           RPC_RX_MSG, or an error report
 *   ... a Transmit Response, an option in flight RPC_RX_MSG, or RPC_RX_ERROR and a report
 *   ... of several transmissions, either         RPC_RX_HELD until the last, RPC_RX_GROUP then
 *   RDMA2_OPTIONAL of any other type             RDMA2_ERR_INVAL_OPTION
 *   RDMA2_ERR_INVAL_OPTION, a Report Error       RPC_RX_ERROR, if that call was an option
 *   other RDMA2_ERROR, a call in flight          RPC_RX_ERROR
 *   ... ERR_VERS with a range without 2, or,
 *       asking, a code of the other dialect      the connection is closed
 *   asking, a message of the other dialect       the connection is closed
 *   malformed call                               RDMA2_ERR_BAD_HEADER
 *   malformed reply, a call in flight            RPC_RX_ERROR: it can never complete
 *   malformed, direction unknown                 acceptor: a call; initiator: a reply
 *   another version, not an error                acceptor: ERR_VERS; initiator: as malformed
 *   too short, an answer to nothing              dropped and counted
 *   ... but 16 octets of a reply or report,
 *       a call in flight                         RPC_RX_ERROR, .cut; to an acceptor only if the
 *                                                type or the direction says that it is one
 *   an answer to a call that was abandoned       dropped and counted
 *
 * An error is never answered with an error.
 *
 * Transmit Requests and Responses (docs/rtrext-profile.md, rtrext/call.c) are accepted if Receives
 * have a second piece. They are sent if the operator configured that the Receives of the peer have
 * one. A peer that does not know them rejects the first. A request may be continued as far as there
 * are credits. A response may be continued as far as its request reserved Receives for it (rtr
 * 4.3). No credit covers these Receives, so the initiator's user tells how many it can spare, and
 * keeps them until the answer has come.
 */
#include "v2early/conn.h"

#include <assert.h>
#include <string.h>

#include "base/list.h"
#include "base/min.h"
#include "rtrext/call.h"
#include "v2early/answer.h"
#include "v2early/option.h"
#include "v2early/option_rx.h"
#include "v2early/traits.h"

static struct early_conn *conn_of(struct rpc_transport *t)
{
	return container_of(t, struct early_conn, t);
}

static const struct early_conn *const_conn_of(const struct rpc_transport *t)
{
	return container_of(t, const struct early_conn, t);
}

/* --- error reports --- */

static int conn_control(struct rpc_transport *t, uint8_t *buf, size_t cap)
{
	struct early_conn *c = conn_of(t);
	int len;

	if (t->nreports == 0 || c->tx_open)
		return 0;
	len = early_reports_take(&c->reports, &t->nreports, rpc_account_grants(&t->own), buf, cap);
	if (len < 0)
		return len;
	t->count.sends++;
	t->count.errors_sent++;
	return len;
}

/* Errors come from responders only: there is no report about a reply (section 4.2.2). */
static int conn_report(struct rpc_transport *t, uint32_t xid, enum rpc_dir dir,
		       const struct rpc_error *e)
{
	struct early_conn *c = conn_of(t);
	struct early_report r = e->code == RPC_ERROR_VERS
					? early_report_vers(&t->own, xid, EARLY_VERSION)
					: early_report(xid, EARLY_ERR_BAD_HEADER);

	return dir == RPC_CALL ? early_reports_add(&c->reports, &t->nreports, &r) : 0;
}

/* --- receiving --- */

/* Section 5.1: "Subsequently, both peers use the default inline threshold value". */
static void take_as_spoken(struct early_conn *c)
{
	c->is_spoken = true;
	c->t.peer.send_bytes = min_u32(c->t.own.send_bytes, EARLY_INLINE_BYTES);
}

/* The peer's message is bad: answer a call with an error; if it was a reply, fail its call. */
static int refuse(struct early_conn *c, const struct early_report *report, bool is_call,
		  struct rpc_rx *rx)
{
	if (is_call)
		return early_answer_with(c, report);
	if (early_fail(c, report->xid, RPC_ERROR_BAD_XDR, rx))
		early_drop(c);
	return 0;
}

static void conn_cut(struct rpc_transport *t, uint32_t xid)
{
	struct early_option was;

	early_answered(conn_of(t), xid, &was);
}

static void recv_short(struct early_conn *c, const struct early_header *h, bool is_no_answer,
		       struct rpc_rx *rx)
{
	early_drop(c);
	if (!is_no_answer && rpc_account_cut(&c->calls, &c->t, h->xid, rx))
		conn_cut(&c->t, h->xid);
}

/* Whether an error means that the peer does not speak the early draft. An invalid range is
 * ignored. */
static bool is_refusal(const struct early_conn *c, const struct early_header *h)
{
	if (h->err == EARLY_ERR_VERS)
		return h->low <= h->high && (h->low > EARLY_VERSION || h->high < EARLY_VERSION);
	return !c->is_spoken && h->err > EARLY_ERR_INVAL_OPTION;
}

/* Errors come from responders only, so this error is about a call of this end. Even a code that
 * does not exist says that no reply follows. RDMA2_ERR_INVAL_OPTION alone says that the call was
 * not carried out, so only then it may be sent again. */
static int recv_error(struct early_conn *c, const struct early_header *h, struct rpc_rx *rx)
{
	struct early_option was;

	if (h->err == EARLY_ERR_INVAL_OPTION)
		return early_option_refused(c, h->xid, &c->lacks_rtr, rx);
	if (!early_answered(c, h->xid, &was))
		return 0;
	/* Section 5: an error does not carry the first grant. Under another version the credit
	 * field has another meaning. */
	if (c->is_spoken && h->vers == EARLY_VERSION)
		rpc_account_grant(&c->calls, h->credit);
	c->t.count.errors_received++;
	rx->kind = RPC_RX_ERROR;
	rx->xid = h->xid;
	rx->error_dir = RPC_REPLY;
	rx->error = (struct rpc_error){.code = RPC_ERROR_CHUNK};
	if (h->err == EARLY_ERR_VERS)
		rx->error = (struct rpc_error){RPC_ERROR_VERS, .a = h->low, .b = h->high};
	return is_refusal(c, h) ? ERR_VERS : 0;
}

/* Reverse messages are RDMA2_MSG without chunks (section 4.2.2 wants version 1's rules for them;
 * rfc5666bis-01 sections 8.3.4, 8.3.5). */
static int recv_call(struct early_conn *c, const struct early_header *h, struct rpc_rx *rx)
{
	struct early_report report = early_report(h->xid, EARLY_ERR_BAD_HEADER);

	if (rpc_is_reverse(&c->t.own, RPC_CALL, false) &&
	    (rpc_msg_has_chunks(c->t.own.msg) || !rpc_takes_reverse_calls(&c->t.own)))
		return refuse(c, &report, true, rx);
	rx->kind = RPC_RX_MSG;
	rx->msg = c->t.own.msg;
	return 0;
}

static int recv_reply(struct early_conn *c, const struct early_header *h, struct rpc_rx *rx)
{
	struct early_report report = early_report(h->xid, EARLY_ERR_BAD_HEADER);
	struct early_option was;

	if (rpc_is_reverse(&c->t.own, RPC_REPLY, false) && rpc_msg_has_chunks(c->t.own.msg))
		return refuse(c, &report, false, rx);
	if (!early_answered(c, h->xid, &was))
		return 0;
	take_as_spoken(c);
	rpc_account_grant(&c->calls, h->credit);
	rx->kind = RPC_RX_MSG;
	rx->msg = c->t.own.msg;
	return 0;
}

static int recv_malformed(struct early_conn *c, const struct early_header *h, int why, bool is_call,
			  struct rpc_rx *rx)
{
	struct early_report report = why == ERR_VERS ? early_report_vers(&c->t.own, h->xid, h->vers)
						     : early_report(h->xid, EARLY_ERR_BAD_HEADER);

	return refuse(c, &report, is_call, rx);
}

/* Whether the message is one that draft -07's servers send before they reject an unknown type. */
static bool is_other_dialect(const struct early_conn *c, const struct early_header *h,
			     struct view in)
{
	return !c->is_spoken && h->vers == EARLY_VERSION && h->proc != EARLY_ERROR &&
	       !early_is_first(in);
}

static int conn_recv(struct rpc_transport *t, struct view in, struct rpc_rx *rx)
{
	struct early_conn *c = conn_of(t);
	enum rpc_dir dir = t->own.role == RPC_ACCEPTOR ? RPC_CALL : RPC_REPLY;
	struct early_header h;
	int rc, err;

	*rx = (struct rpc_rx){.kind = RPC_RX_NONE};
	t->count.recvs++;
	rc = early_header_decode(&h, t->own.msg, &dir, in);
	if (rc == ERR_SHORT) {
		recv_short(c, &h, in.len < EARLY_FIXED_BYTES || dir == RPC_CALL, rx);
		return 0;
	}
	if (is_other_dialect(c, &h, in))
		return ERR_VERS;
	if ((c->group.is_open || c->group_dropped) && early_option_group(c, &h, rc, dir, rx, &err))
		return err;
	if (t->bulk.len && h.proc != EARLY_OPTIONAL) /* no other message may be that long */
		return ERR_PROTO;
	if (rc)
		return recv_malformed(c, &h, rc, dir == RPC_CALL, rx);
	if (h.proc == EARLY_ERROR)
		return recv_error(c, &h, rx);
	if (h.proc == EARLY_OPTIONAL)
		return early_option_recv(c, &h, in, rx);
	return dir == RPC_CALL ? recv_call(c, &h, rx) : recv_reply(c, &h, rx);
}

static void conn_again(const struct rpc_transport *t, struct view in, struct view gathered)
{
	const struct rpc_octets octets = {in, t->bulk};
	struct early_header h;
	enum rpc_dir dir = RPC_CALL;
	int rc = early_header_decode(&h, t->own.msg, &dir, in);

	assert(rc == 0);
	(void)rc;
	if (h.proc == EARLY_OPTIONAL)
		early_option_again(t, &octets, gathered);
}

/* --- sending --- */

static bool conn_may_send(const struct rpc_transport *t, const struct rpc_tx *tx)
{
	const struct early_conn *c = const_conn_of(t);

	if (c->tx_open) /* a group: no other message may come between, and its credits are taken */
		return tx->transmission && tx->msg->dir == c->tx_dir && tx->msg->xid == c->tx_xid;
	return tx->msg->dir == RPC_REPLY ||
	       c->calls.in_flight < rpc_account_limit(&c->calls, &t->own);
}

static size_t conn_header_len(const struct rpc_transport *t, const struct rpc_msg *msg)
{
	(void)t;
	return early_header_len(msg);
}

static int conn_encode(struct rpc_transport *t, struct rpc_tx *tx, uint8_t *hdr, size_t cap,
		       size_t *hdr_len, size_t *body_len)
{
	struct early_conn *c = conn_of(t);
	const struct rpc_msg *m = tx->msg;
	bool is_call = m->dir == RPC_CALL;
	size_t body = m->has_body_chunk ? 0 : rpc_msg_body_len(m);
	int rc;

	if (!conn_may_send(t, tx))
		return ERR_AGAIN;
	if (rpc_is_reverse(&c->t.own, m->dir, true) && (rpc_msg_has_chunks(m) || m->nwishes))
		return ERR_TOOBIG;
	if (m->nplaced || m->nwishes)
		return early_option_encode(c, tx, hdr, cap, hdr_len, body_len);
	if (early_header_len(m) + body > t->peer.send_bytes)
		return ERR_TOOBIG;
	rc = early_header_encode(
		m, is_call ? rpc_account_requests(&t->own) : rpc_account_grants(&t->own), hdr, cap,
		hdr_len);
	if (rc)
		return rc;
	*body_len = body;
	tx->body_sent = body;
	if (is_call)
		rpc_account_call(&c->calls, t, m->xid);
	t->count.sends++;
	return 0;
}

static void conn_set_credits(struct rpc_transport *t, uint32_t credits)
{
	t->own.credits = credits ? min_u32(credits, RPC_MAX_CREDITS) : 1;
}

static uint32_t conn_call_credits(const struct rpc_transport *t)
{
	return rpc_account_limit(&const_conn_of(t)->calls, &t->own);
}

static void conn_forget(struct rpc_transport *t, uint32_t xid)
{
	struct early_option *o = early_option_of(conn_of(t), xid);

	if (o)
		o->is_let_go = true;
	rpc_account_forget(&conn_of(t)->calls, t, xid);
}

/* The peer frees the credit itself when it abandons its call. */
static void conn_unanswered(struct rpc_transport *t)
{
	(void)t;
}

static const struct rpc_transport_ops early_ops = {
	.name = "2-early",
	.traits = &early_traits,
	.recv = conn_recv,
	.gather = early_option_gather,
	.again = conn_again,
	.may_send = conn_may_send,
	.encode = conn_encode,
	.header_len = conn_header_len,
	.places = early_option_places,
	.answers = rtr_answers,
	.control = conn_control,
	.report = conn_report,
	.set_credits = conn_set_credits,
	.call_credits = conn_call_credits,
	.forget = conn_forget,
	.cut = conn_cut,
	.unanswered = conn_unanswered,
};

int early_conn_init(struct early_conn *c, const struct rpc_params *own)
{
	if (own->credits == 0 || own->recv_bytes < EARLY_INLINE_BYTES ||
	    own->send_bytes < EARLY_FIRST_BYTES || own->vers_low > EARLY_VERSION ||
	    own->vers_high < EARLY_VERSION)
		return ERR_CONFIG;
	memset(c, 0, sizeof(*c));
	c->t.ops = &early_ops;
	c->t.version = EARLY_VERSION;
	c->t.own = *own;
	c->t.own.credits = min_u32(own->credits, RPC_MAX_CREDITS);
	c->t.own.rev_credits = min_u32(own->rev_credits, RPC_MAX_CREDITS);
	if (own->reverse > RPC_REV_SIMPLE)
		c->t.own.reverse = RPC_REV_SIMPLE;
	c->t.ready = true;
	c->t.peer = (struct rpc_limits){
		.send_bytes = EARLY_FIRST_BYTES,
		.recv_bytes = EARLY_INLINE_BYTES,
		.segment_bytes = UINT32_MAX,
		.segment_count = EARLY_SEGMENT_COUNT,
		.reverse = RPC_REV_SIMPLE,
	};
	c->calls.granted = 1;
	c->most = RPC_MAX_TRANSMISSIONS;
	if (own->role == RPC_ACCEPTOR)
		take_as_spoken(c);
	return 0;
}
