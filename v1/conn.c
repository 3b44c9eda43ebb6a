/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: version 1 negotiates nothing in its messages. A connection is ready at
 * once; sizes and remote invalidation come from the private data (RFC 8797) and stay.
 * The state consists of three things:
 *
 *   calls out   may_send -> encode: in_flight + 1, credit = requested
 *               recv of reply or error: in_flight - 1, granted = its credit
 *   replies out free of credit; credit = granted
 *   reports     errors that recv() found in a call, kept in a ring until control()
 *
 * Requested and granted credits, in both directions: rpc/account.h.
 *
 * Messages received, and their results:
 *
 *   well-formed call                             RPC_RX_MSG
 *   well-formed reply, a call in flight          RPC_RX_MSG
 *   RDMA_ERROR, a call in flight                 RPC_RX_ERROR
 *   ERR_VERS with a range without 1              the connection is closed
 *   malformed call                               ERR_CHUNK
 *   malformed reply, a call in flight            RPC_RX_ERROR: it can never complete
 *   malformed, direction unknown                 acceptor: a call; initiator: a reply
 *   another version, not an error                acceptor: ERR_VERS, or, if the listener speaks
 *                                                it, ERR_VERS_MISMATCH; initiator: as malformed
 *   RDMA_DONE, too short, an answer to nothing   dropped and counted
 *   ... but 16 octets of a reply or report,
 *       a call in flight                         RPC_RX_ERROR, .cut; to an acceptor only a report
 *   an answer to a call that was abandoned       dropped and counted
 *
 * An error is never answered with an error.
 */
#include "v1/conn.h"

#include <assert.h>
#include <string.h>

#include "base/list.h"
#include "base/min.h"
#include "v1/traits.h"

static struct v1_conn *conn_of(struct rpc_transport *t)
{
	return container_of(t, struct v1_conn, t);
}

static const struct v1_conn *const_conn_of(const struct rpc_transport *t)
{
	return container_of(t, const struct v1_conn, t);
}

/* --- error reports --- */

static int queue_report(struct v1_conn *c, const struct v1_header *h)
{
	if (c->t.nreports == RPC_REPORTS)
		return ERR_NOSPACE;
	c->reports[(c->first_report + c->t.nreports) % RPC_REPORTS] = *h;
	c->t.nreports++;
	return 0;
}

static struct v1_header vers_report(const struct v1_conn *c, uint32_t xid, uint32_t vers)
{
	return (struct v1_header){
		.xid = xid,
		.vers = vers,
		.err = V1_ERR_VERS,
		.low = c->t.own.vers_low,
		.high = c->t.own.vers_high,
	};
}

/* The answer to a message of another version: ERR_VERS with the range. If the range includes that
 * version, and this connection does not speak it: the code of draft-07 7.1.2. */
static struct v1_header other_version_report(const struct v1_conn *c, uint32_t xid, uint32_t vers)
{
	struct v1_header h = vers_report(c, xid, vers);

	if (vers >= c->t.own.vers_low && vers <= c->t.own.vers_high)
		h.err = V1_ERR_VERS_MISMATCH;
	return h;
}

static struct v1_header chunk_report(uint32_t xid)
{
	return (struct v1_header){.xid = xid, .vers = V1_VERSION, .err = V1_ERR_CHUNK};
}

static int conn_control(struct rpc_transport *t, uint8_t *buf, size_t cap)
{
	struct v1_conn *c = conn_of(t);
	struct v1_header *h = &c->reports[c->first_report];
	int len;

	if (c->t.nreports == 0)
		return 0;
	h->credit = rpc_account_grants(&t->own);
	len = v1_error_encode(h, buf, cap);
	if (len < 0)
		return len;
	c->first_report = (c->first_report + 1) % RPC_REPORTS;
	c->t.nreports--;
	t->count.sends++;
	t->count.errors_sent++;
	return len;
}

/* Only a responder reports errors: version 1 has no report about a reply. */
static int conn_report(struct rpc_transport *t, uint32_t xid, enum rpc_dir dir,
		       const struct rpc_error *e)
{
	struct v1_conn *c = conn_of(t);
	struct v1_header h =
		e->code == RPC_ERROR_VERS ? vers_report(c, xid, V1_VERSION) : chunk_report(xid);

	return dir == RPC_CALL ? queue_report(c, &h) : 0;
}

/* --- receiving --- */

static void drop(struct v1_conn *c)
{
	c->t.count.dropped++;
}

/* The peer's message is bad: answer a call with an error; if it was a reply, fail its call. */
static int v1_refuse(struct v1_conn *c, const struct v1_header *report, bool is_call,
		     struct rpc_rx *rx)
{
	if (is_call) {
		c->t.count.invalid++;
		return queue_report(c, report) ? ERR_PROTO : 0;
	}
	if (!rpc_account_answer(&c->calls, &c->t, report->xid))
		return 0;
	drop(c);
	rx->kind = RPC_RX_ERROR;
	rx->xid = report->xid;
	rx->error_dir = RPC_REPLY;
	rx->error = (struct rpc_error){.code = RPC_ERROR_BAD_XDR};
	return 0;
}

static void conn_cut(struct rpc_transport *t, uint32_t xid)
{
	rpc_account_answer(&conn_of(t)->calls, t, xid);
}

static void recv_short(struct v1_conn *c, const struct v1_header *h, bool is_no_answer,
		       struct rpc_rx *rx)
{
	drop(c);
	if (!is_no_answer && rpc_account_cut(&c->calls, &c->t, h->xid, rx))
		conn_cut(&c->t, h->xid);
}

/* Errors come from responders only, so this error is about a call of this end. Even a code that
 * does not exist says that no reply follows. */
static int v1_recv_error(struct v1_conn *c, const struct v1_header *h, struct rpc_rx *rx)
{
	if (!rpc_account_answer(&c->calls, &c->t, h->xid))
		return 0;
	/* Under another version the credit field has another meaning: keep the last grant. */
	if (h->vers == V1_VERSION)
		rpc_account_grant(&c->calls, h->credit);
	c->t.count.errors_received++;
	rx->kind = RPC_RX_ERROR;
	rx->xid = h->xid;
	rx->error_dir = RPC_REPLY;
	rx->error.code = RPC_ERROR_CHUNK;
	if (h->err != V1_ERR_VERS)
		return 0;
	rx->error = (struct rpc_error){RPC_ERROR_VERS, .a = h->low, .b = h->high};
	/* The range does not have version 1: the peer will not answer the next call either. An
	 * invalid range is ignored. */
	return h->low > h->high || (h->low <= V1_VERSION && h->high >= V1_VERSION) ? 0 : ERR_VERS;
}

/* Reverse messages have RDMA_MSG and no chunks: rfc5666bis-01 sections 8.3.4, 8.3.5. */
static int recv_call(struct v1_conn *c, const struct v1_header *h, struct rpc_rx *rx)
{
	struct v1_header report = chunk_report(h->xid);

	if (rpc_is_reverse(&c->t.own, RPC_CALL, false) &&
	    (rpc_msg_has_chunks(c->t.own.msg) || !rpc_takes_reverse_calls(&c->t.own)))
		return v1_refuse(c, &report, true, rx);
	rx->kind = RPC_RX_MSG;
	rx->msg = c->t.own.msg;
	return 0;
}

static int recv_reply(struct v1_conn *c, const struct v1_header *h, struct rpc_rx *rx)
{
	struct v1_header report = chunk_report(h->xid);

	/* A reverse reply has no chunks. So an RDMA_NOMSG without a long call counts as a malformed
	 * call, not as a reply. */
	if (rpc_is_reverse(&c->t.own, RPC_REPLY, false) && rpc_msg_has_chunks(c->t.own.msg))
		return v1_refuse(c, &report, h->proc == V1_NOMSG, rx);
	if (!rpc_account_answer(&c->calls, &c->t, h->xid))
		return 0;
	rpc_account_grant(&c->calls, h->credit);
	rx->kind = RPC_RX_MSG;
	rx->msg = c->t.own.msg;
	return 0;
}

static int recv_malformed(struct v1_conn *c, const struct v1_header *h, int why, bool dir_known,
			  struct rpc_rx *rx)
{
	bool is_call = dir_known ? c->t.own.msg->dir == RPC_CALL : c->t.own.role == RPC_ACCEPTOR;
	struct v1_header report =
		why == ERR_VERS ? other_version_report(c, h->xid, h->vers) : chunk_report(h->xid);

	return v1_refuse(c, &report, is_call, rx);
}

/* Whether a message that ends early may be a call. To an acceptor, any message of unknown direction
 * may be a call, except a report. */
static bool may_be_call(const struct v1_conn *c, const struct v1_header *h, bool dir_known)
{
	if (h->proc == V1_ERROR)
		return false;
	return dir_known ? c->t.own.msg->dir == RPC_CALL : c->t.own.role == RPC_ACCEPTOR;
}

static int conn_recv(struct rpc_transport *t, struct view in, struct rpc_rx *rx)
{
	struct v1_conn *c = conn_of(t);
	struct v1_header h;
	bool dir_known;
	int rc;

	*rx = (struct rpc_rx){.kind = RPC_RX_NONE};
	t->count.recvs++;
	rc = v1_header_decode(&h, c->t.own.msg, &dir_known, in);
	if (rc == ERR_SHORT) {
		recv_short(c, &h, in.len < V1_FIXED_BYTES || may_be_call(c, &h, dir_known), rx);
		return 0;
	}
	if (rc)
		return recv_malformed(c, &h, rc, dir_known, rx);
	if (h.proc == V1_DONE) {
		drop(c); /* MUST: rfc5666bis-01 section 5.7.2 */
		return 0;
	}
	if (h.proc == V1_ERROR)
		return v1_recv_error(c, &h, rx);
	return c->t.own.msg->dir == RPC_CALL ? recv_call(c, &h, rx) : recv_reply(c, &h, rx);
}

static void conn_again(const struct rpc_transport *t, struct view in, struct view gathered)
{
	struct v1_header h;
	bool dir_known;
	int rc = v1_header_decode(&h, t->own.msg, &dir_known, in);

	(void)gathered;
	assert(rc == 0);
	(void)rc;
}

/* --- sending --- */

static bool conn_may_send(const struct rpc_transport *t, const struct rpc_tx *tx)
{
	const struct v1_conn *c = const_conn_of(t);

	return tx->msg->dir == RPC_REPLY ||
	       c->calls.in_flight < rpc_account_limit(&c->calls, &t->own);
}

static size_t conn_header_len(const struct rpc_transport *t, const struct rpc_msg *msg)
{
	(void)t;
	return v1_header_len(msg);
}

static int conn_encode(struct rpc_transport *t, struct rpc_tx *tx, uint8_t *hdr, size_t cap,
		       size_t *hdr_len, size_t *body_len)
{
	struct v1_conn *c = conn_of(t);
	const struct rpc_msg *m = tx->msg;
	bool is_call = m->dir == RPC_CALL;
	size_t body = m->has_body_chunk ? 0 : rpc_msg_body_len(m);
	int rc;

	if (!conn_may_send(t, tx))
		return ERR_AGAIN;
	if (rpc_is_reverse(&c->t.own, m->dir, true) && rpc_msg_has_chunks(m))
		return ERR_TOOBIG;
	if (v1_header_len(m) + body > t->peer.send_bytes)
		return ERR_TOOBIG;
	rc = v1_header_encode(m,
			      is_call ? rpc_account_requests(&t->own) : rpc_account_grants(&t->own),
			      hdr, cap, hdr_len);
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
	t->own.credits = credits ? min_u32(credits, V1_MAX_CREDITS) : 1;
}

static uint32_t conn_call_credits(const struct rpc_transport *t)
{
	return rpc_account_limit(&const_conn_of(t)->calls, &t->own);
}

static void conn_forget(struct rpc_transport *t, uint32_t xid)
{
	rpc_account_forget(&conn_of(t)->calls, t, xid);
}

/* The peer frees the credit itself when it abandons its call. */
static void conn_unanswered(struct rpc_transport *t)
{
	(void)t;
}

static const struct rpc_transport_ops v1_ops = {
	.name = "1",
	.traits = &v1_traits,
	.recv = conn_recv,
	.again = conn_again,
	.may_send = conn_may_send,
	.encode = conn_encode,
	.header_len = conn_header_len,
	.control = conn_control,
	.report = conn_report,
	.set_credits = conn_set_credits,
	.call_credits = conn_call_credits,
	.forget = conn_forget,
	.cut = conn_cut,
	.unanswered = conn_unanswered,
};

int v1_conn_init(struct v1_conn *c, const struct rpc_params *own, const struct v1_pdata *peer)
{
	struct v1_pdata defaults;

	if (own->credits == 0 || own->recv_bytes < V1_PDATA_MIN_SIZE ||
	    own->send_bytes < V1_PDATA_MIN_SIZE || own->vers_low > V1_VERSION ||
	    own->vers_high < V1_VERSION)
		return ERR_CONFIG;
	if (!peer) {
		v1_pdata_parse(&defaults, view_of(NULL, 0));
		peer = &defaults;
	}
	memset(c, 0, sizeof(*c));
	c->t.ops = &v1_ops;
	c->t.version = V1_VERSION;
	c->t.own = *own;
	c->t.own.credits = min_u32(own->credits, V1_MAX_CREDITS);
	c->t.own.rev_credits = min_u32(own->rev_credits, V1_MAX_CREDITS);
	/* Simple messages only, rfc5666bis-01 section 8.3.3. */
	if (own->reverse > RPC_REV_SIMPLE)
		c->t.own.reverse = RPC_REV_SIMPLE;
	c->t.ready = true;
	c->t.peer = (struct rpc_limits){
		/* RFC 8797 section 4.2: the smaller of what one sends and the other receives. */
		.send_bytes = min_u32(own->send_bytes, peer->recv_bytes),
		.recv_bytes = min_u32(own->recv_bytes, peer->send_bytes),
		.segment_bytes = UINT32_MAX,
		.segment_count = V1_SEGMENT_COUNT,
		/* Section 4.1: only when both peers have set R. */
		.remote_inv = own->remote_inv && peer->remote_inv,
		.reverse = RPC_REV_SIMPLE,
	};
	c->calls.granted = 1;
	return 0;
}
