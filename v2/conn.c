/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * 	initiator                          acceptor
 * 	OPENING  CONNPROP_FINAL ---------->  OPENING
 * 	                                     OPEN: the peer's limits are known
 * 	OPEN     <---------- CONNPROP_FINAL
 * 	     <=== Calls, Replies, GRANTs, ERRORs, both ways ===>
 *
 * The initiator's first message is its properties. It sends nothing else until an answer shows the
 * peer's version and credits (section 4.3). The acceptor sends nothing before it has received
 * version 2; its first message is its properties. An initiator that calls at once, without
 * properties, is served with the defaults of section 5.2, and so is one that never sends its last
 * properties. An ERR_VERS in answer to the first message ends this state machine: the state machine
 * of another version takes the connection over.
 *
 * With host authentication (auth.h), CONNPROP_MIDDLEs with its values are exchanged first, and the
 * states above change when the last FINAL was received, or sent.
 *
 * Messages to send come from two places. control() gives the connection's own messages: properties,
 * then error reports in order, then a GRANT if one is due. encode() gives the user's messages:
 * inline when they fit, otherwise continued. Both take their credit from v2/credit.h at that
 * moment.
 *
 * While a continued message of ours is under way nothing else is sent, not even a GRANT. So a
 * continued message begins when the peer's credits cover all of it (credit_cover.h). The receiving
 * half (conn_rx.c) accepts a GRANT or an ERROR between the parts of the peer, though.
 */
#include "v2/conn.h"

#include <string.h>

#include "v2/error_queue.h"
#include "v2/conn_rx.h"
#include "v2/credit_cover.h"
#include "v2/message.h"
#include "v2/peer_rejections.h"
#include "v2/rtr.h"
#include "v2/traits.h"

static bool is_reverse_ok(const struct v2_conn *c, const struct rpc_msg *m, bool continued)
{
	/* Section 5.2.5: the property is about the initiator, whichever end sends it. */
	enum rpc_reverse level =
		c->t.own.role == RPC_INITIATOR ? c->t.own.reverse : c->t.peer.reverse;

	switch (level) {
	case RPC_REV_NONE:
		return false;
	case RPC_REV_SIMPLE:
		return !continued && m->nsegs == 0 && !m->has_body_chunk;
	case RPC_REV_CONT:
		return m->nsegs == 0 && !m->has_body_chunk;
	case RPC_REV_GENL:
		return true;
	}
	return false;
}

/* Whether version 2 can express the message of @tx toward this peer, so that no later Send of it
 * can fail. */
static bool can_express(const struct v2_conn *c, const struct rpc_tx *tx, size_t header,
			size_t body)
{
	const struct rpc_msg *m = tx->msg;
	bool continued = false;

	if (m->dir == RPC_CALL && m->nsegs > c->t.peer.segment_count)
		return false;
	if (m->has_body_chunk) {
		if (header > c->t.peer.send_bytes || (m->dir == RPC_CALL && c->lacks_external))
			return false;
	} else {
		/* rdma_rpc_first_word: a payload stream has at least one word. */
		if (body < 4)
			return false;
		continued = header + body > c->t.peer.send_bytes;
		/* Parts end at a word, and each has at least one word; the last part takes the odd
		 * octets as well (6.6.2: "any convenient boundary"). */
		if (continued && (header + 4 + body % 4 > c->t.peer.send_bytes ||
				  body > UINT32_MAX || (m->dir == RPC_CALL && c->lacks_middle)))
			return false;
	}
	return !tx->reverse || is_reverse_ok(c, m, continued);
}

static bool is_tx_in_progress(const struct v2_conn *c, const struct rpc_tx *tx)
{
	return tx->body_sent > 0 && tx->msg->xid == c->tx_xid && tx->msg->dir == c->tx_dir;
}

static bool may_send(const struct rpc_transport *t, const struct rpc_tx *tx)
{
	const struct v2_conn *c = v2_conn_of_const(t);

	if (c->state != V2_OPEN || !c->final_sent || !v2_credit_can_send(&c->credit))
		return false;
	return !c->tx_open || is_tx_in_progress(c, tx);
}

static int may_begin(struct v2_conn *c, const struct rpc_tx *tx, size_t header, size_t body)
{
	if (!can_express(c, tx, header, body))
		return ERR_TOOBIG;
	return v2_credit_cover_check(c, tx, v2_credit_cover_sends(c, tx->msg, header + body));
}

/* A peer may announce its limits in the middle of a message. Then the rest of the message may no
 * longer fit the parts. */
static bool may_go_on(const struct v2_conn *c, size_t header, size_t left)
{
	return header + left <= c->t.peer.send_bytes ||
	       header + 4 + left % 4 <= c->t.peer.send_bytes;
}

/* Find the type of the next Send of @tx, and the octets of body in it. */
static uint32_t next_part(const struct v2_conn *c, const struct rpc_tx *tx, size_t header,
			  size_t left, size_t *body_len)
{
	const struct rpc_msg *m = tx->msg;
	size_t room = (c->t.peer.send_bytes - V2_MIDDLE_BYTES) & ~(size_t)3;

	*body_len = m->has_body_chunk ? 0 : left;
	if (m->has_body_chunk || header + left <= c->t.peer.send_bytes)
		return v2_msg_htype(m);
	*body_len = left - 4 < room ? (left - 4) & ~(size_t)3 : room;
	return m->dir == RPC_CALL ? V2_CALL_MIDDLE : V2_REPLY_MIDDLE;
}

/* Counts a call as answered. A report about a call of several parts may come before the last part
 * was sent and counted. */
static void answered(struct v2_conn *c)
{
	c->owed--;
}

static enum v2_htype extended_type(const struct rpc_tx *tx)
{
	if (tx->transmission)
		return V2_RTR_CONTINUE;
	return tx->msg->dir == RPC_CALL ? V2_RTR_REQUEST : V2_RTR_RESPONSE;
}

/* The first Send of a message goes out: an answer from now on may be about it. */
static void began(struct v2_conn *c, const struct rpc_msg *m, uint32_t htype)
{
	v2_peer_rejections_remember(c, m, htype);
	if (m->dir == RPC_CALL)
		rpc_late_again(&c->t.late, m->xid);
}

/* Builds a Send of a message of the extension; places() has allowed it (docs/rtrext-profile.md). */
static int encode_extended(struct v2_conn *c, struct rpc_tx *tx, uint8_t *hdr, size_t cap,
			   size_t *hdr_len, size_t *body_len)
{
	struct rtr_msg r;
	struct rtr_send send;
	struct v2_hdr h = {.xid = tx->msg->xid,
			   .vers = V2_VERSION,
			   .credit = v2_credit_value(&c->credit),
			   .htype = extended_type(tx),
			   .rtr = &r};
	int len = v2_rtr_form(c, tx->msg, tx->transmission, &r, &send);

	if (!len && tx->transmission == 0)
		len = v2_credit_cover_check(c, tx, send.count);
	if (!len)
		len = v2_encode(&h, tx->msg, hdr, cap);
	if (len < 0)
		return len;
	*hdr_len = (size_t)len;
	*body_len = send.length;
	memcpy(tx->data, send.data, sizeof(tx->data));
	tx->ndata = send.ndata;
	if (tx->transmission == 0)
		began(c, tx->msg, h.htype);
	v2_credit_sent(&c->credit);
	c->t.count.sends++;
	tx->body_sent += send.length;
	c->tx_open = ++tx->transmission < send.count;
	c->tx_xid = h.xid;
	c->tx_dir = tx->msg->dir;
	if (!c->tx_open && tx->msg->dir == RPC_REPLY)
		answered(c);
	return c->tx_open;
}

static int encode(struct rpc_transport *t, struct rpc_tx *tx, uint8_t *hdr, size_t cap,
		  size_t *hdr_len, size_t *body_len)
{
	struct v2_conn *c = v2_conn_of(t);
	size_t header = v2_msg_header_len(tx->msg), body = rpc_msg_body_len(tx->msg);
	struct v2_hdr h; /* the prefix, and the fields of a part */
	bool more;
	int len;

	if (!may_send(t, tx))
		return ERR_AGAIN;
	if (v2_rtr_is_extended(tx->msg))
		return encode_extended(c, tx, hdr, cap, hdr_len, body_len);
	len = tx->body_sent == 0			   ? may_begin(c, tx, header, body)
	      : may_go_on(c, header, body - tx->body_sent) ? 0
							   : ERR_TOOBIG;
	if (len < 0)
		return len;
	h.xid = tx->msg->xid;
	h.vers = V2_VERSION;
	h.credit = v2_credit_value(&c->credit);
	h.htype = next_part(c, tx, header, body - tx->body_sent, body_len);
	h.remaining = (uint32_t)(body - tx->body_sent - *body_len);
	len = v2_encode(&h, tx->msg, hdr, cap);
	if (len < 0)
		return len;
	*hdr_len = (size_t)len;
	if (tx->body_sent == 0)
		began(c, tx->msg, h.htype);
	v2_credit_sent(&c->credit);
	t->count.sends++;
	tx->body_sent += *body_len;
	more = h.htype == V2_CALL_MIDDLE || h.htype == V2_REPLY_MIDDLE;
	if (!more && tx->msg->dir == RPC_REPLY)
		answered(c);
	c->tx_open = more;
	c->tx_xid = h.xid;
	c->tx_dir = tx->msg->dir;
	return more ? 1 : 0;
}

static size_t header_len(const struct rpc_transport *t, const struct rpc_msg *msg)
{
	(void)t;
	return v2_msg_header_len(msg);
}

/* A message of the connection itself. */
static int emit(struct v2_conn *c, struct v2_hdr *h, uint8_t *buf, size_t cap)
{
	int len;

	h->credit = v2_credit_value(&c->credit);
	len = v2_encode(h, NULL, buf, cap);
	if (len < 0)
		return len;
	v2_credit_sent(&c->credit);
	c->t.count.sends++;
	return len;
}

/*
 * Sections 5.2 and 6.3.4. Properties of this end are short, so the whole list fits a first message
 * (props.c) and is never spread over RDMA2_CONNPROP_MIDDLEs (decision 69). Host Authentication,
 * which can be long, goes through auth.c.
 */
static int send_properties(struct v2_conn *c, uint8_t *buf, size_t cap)
{
	struct v2_hdr h = {
		.xid = c->t.own.first_xid, .vers = V2_VERSION, .htype = V2_CONNPROP_FINAL};
	int len;

	v2_props_own(&h.props, &c->t.own);
	len = emit(c, &h, buf, cap);
	if (len > 0)
		c->final_sent = true;
	return len;
}

static int send_report(struct v2_conn *c, uint8_t *buf, size_t cap)
{
	const struct v2_report *r = &c->reports[c->report_head];
	/* Section 7: XID and version are those of the message that the report answers. */
	struct v2_hdr h = {.xid = r->xid, .vers = r->vers, .htype = V2_ERROR, .error = r->error};
	struct rtr_msg m;
	int len;

	if (r->fault.code) {
		rtr_msg_reset(&m, RTR_REPORT);
		m.bad = (struct rtr_id){r->xid, r->error.a & V2_FAULT_REPLY, r->number};
		m.has_lead = r->error.a & V2_FAULT_HAS_LEAD;
		m.lead = (struct rtr_id){r->error.b, r->error.a & V2_FAULT_LEAD_REPLY, 0};
		m.fault = r->fault;
		h.htype = V2_RTR_REPORT;
		h.rtr = &m;
	}
	len = emit(c, &h, buf, cap);

	if (len > 0) {
		c->report_head = (c->report_head + 1) % RPC_REPORTS;
		c->t.nreports--;
		c->t.count.errors_sent++;
	}
	return len;
}

static int send_grant(struct v2_conn *c, uint8_t *buf, size_t cap)
{
	/* Section 6.3.2: the XID MUST be zero. */
	struct v2_hdr h = {.vers = V2_VERSION, .htype = V2_GRANT};
	int len = emit(c, &h, buf, cap);

	if (len > 0)
		c->t.count.grants_sent++;
	return len;
}

/*
 * State:  a GRANT is due, and this end has one credit left, or a message waits for several.
 * Danger: a GRANT uses a credit like any message. The last one spent on it may be the one that this
 *         end's Reply, or the rest of its message, needs.
 * Rule:   the last credit is not used for a GRANT to a peer that still has credits, because only
 *         the peer's next message can open this end's window again. It is not used either while a
 *         Reply is owed, which carries the same value. Exceptions: the peer has the rest of a
 *         message to send; or it has Replies to send, and the Reply that is owed is not here: that
 *         may depend on them. If a message waits for more than one credit, the last credit is of
 *         no use to others and may be used.
 * Pinned: tests/v2/test_v2_conn.c:the_last_credit_is_for_the_reply,
 *         tests/session/test_credits.c:any_schedule, decision 35.
 */
static bool is_grant_wise(const struct v2_conn *c)
{
	if (!v2_credit_is_last(&c->credit) || c->waits)
		return true;
	return v2_credit_is_peer_closed(&c->credit) &&
	       (c->owed <= 0 || c->cont.active || c->t.needs_replies);
}

static int control(struct rpc_transport *t, uint8_t *buf, size_t cap)
{
	struct v2_conn *c = v2_conn_of(t);
	bool can_send = v2_credit_can_send(&c->credit);
	bool heard = c->state == V2_NEGOTIATING || c->state == V2_OPEN;

	if (c->state == V2_CLOSED)
		return 0;
	if (v2_auth_is_going(c) && (heard || t->own.role == RPC_INITIATOR)) {
		int len = can_send ? v2_auth_send(c, buf, cap) : 0;

		/* The acceptor's last message answers the initiator's. */
		if (c->auth->verdict == V2_AUTH_DONE)
			v2_conn_authenticated(c);
		/* A failure may have left a report that says why the connection ends: it is sent as
		 * well. */
		if (len || c->auth->verdict != V2_AUTH_FAILED || !c->t.nreports || !can_send)
			return len;
		return send_report(c, buf, cap);
	}
	if (!c->final_sent && (heard || t->own.role == RPC_INITIATOR))
		return can_send ? send_properties(c, buf, cap) : 0;
	/* Section 4.3: nothing more is sent until the peer's version and credits are known. An
	 * acceptor must still be able to report that it does not speak a version. */
	if (!heard && t->own.role == RPC_INITIATOR)
		return 0;
	if (c->tx_open) /* 6.3.6, 6.3.9: nothing but a further part */
		return 0;
	if (c->t.nreports > 0 && can_send)
		return send_report(c, buf, cap);
	if (!heard)
		return 0;
	if (v2_credit_grant_due(&c->credit) && v2_credit_can_grant(&c->credit) && is_grant_wise(c))
		return send_grant(c, buf, cap);
	/* While a message waits for credits, the peer must not keep its last credit for a Reply. */
	if (c->waits && can_send && v2_credit_is_peer_short(&c->credit))
		return send_grant(c, buf, cap);
	return 0;
}

static int report(struct rpc_transport *t, uint32_t xid, enum rpc_dir dir,
		  const struct rpc_error *e)
{
	(void)dir; /* an RDMA2_ERROR has no field for it */
	answered(v2_conn_of(t));
	return v2_conn_queue_report(v2_conn_of(t), xid, V2_VERSION, e);
}

static void set_credits(struct rpc_transport *t, uint32_t credits)
{
	/* Section 4.2.1: less than 2^31 - 1. */
	v2_conn_of(t)->credit.advertised = credits < INT32_MAX - 1 ? credits : INT32_MAX - 1;
}

static uint32_t call_credits(const struct rpc_transport *t)
{
	return v2_conn_of_const(t)->credit.window;
}

static uint32_t sends(const struct rpc_transport *t, bool most)
{
	const struct v2_credit *credit = &v2_conn_of_const(t)->credit;

	/* Toward a peer that counts messages that it sent, a message takes one Send, as long as it
	 * has another form. */
	if (credit->literal_peer)
		return most ? v2_credit_open(credit) : 1;
	return most ? UINT32_MAX : v2_credit_open(credit);
}

/* Whether this end can send the message that would open the peer's window: a further part, or a
 * GRANT. If this end has no credit for that message, the peer itself keeps its window closed. */
static bool may_grant(const struct v2_conn *c)
{
	return c->tx_open ? v2_credit_can_send(&c->credit) : v2_credit_can_grant(&c->credit);
}

static void conn_window(const struct rpc_transport *t, struct rpc_window *w)
{
	const struct v2_conn *c = v2_conn_of_const(t);

	*w = (struct rpc_window){
		.limit = c->credit.limit,
		.is_open = v2_credit_can_send(&c->credit),
		.waits = c->waits,
		.is_peer_closed = v2_credit_is_peer_closed(&c->credit),
		.is_peer_kept = v2_credit_is_peer_closed(&c->credit) &&
				(may_grant(c) || !v2_credit_has_more(&c->credit)),
		.promised = v2_credit_promised(&c->credit),
	};
}

/* If another message waits as well, its next encode() sets .waits again. */
static void conn_unsent(struct rpc_transport *t)
{
	v2_conn_of(t)->waits = false;
}

static void conn_no_more(struct rpc_transport *t)
{
	v2_credit_settled(&v2_conn_of(t)->credit);
}

static void forget(struct rpc_transport *t, uint32_t xid)
{
	struct v2_conn *c = v2_conn_of(t);

	/* no call waits for the rest of its answer either */
	if ((c->cont.active && c->cont.xid == xid) ||
	    (c->group.is_open && c->group.lead.xid == xid))
		c->is_awaited = false;
	rpc_late_add(&t->late, xid);
}

static void unanswered(struct rpc_transport *t)
{
	answered(v2_conn_of(t));
}

static const struct rpc_transport_ops ops = {
	.name = "2",
	.traits = &v2_traits,
	.recv = v2_conn_recv,
	.arrive = v2_conn_arrive,
	.gather = v2_conn_gather,
	.again = v2_conn_again,
	.may_send = may_send,
	.encode = encode,
	.header_len = header_len,
	.places = v2_rtr_places,
	.answers = rtr_answers,
	.control = control,
	.report = report,
	.set_credits = set_credits,
	.call_credits = call_credits,
	.sends = sends,
	.window = conn_window,
	.unsent = conn_unsent,
	.no_more = conn_no_more,
	.forget = forget,
	.unanswered = unanswered,
	.settle = v2_conn_settle,
};

int v2_conn_init(struct v2_conn *c, const struct rpc_params *own)
{
	const struct v2_props none = {0};

	if (own->recv_bytes < V2_DEFAULT_INLINE || own->send_bytes < V2_FIRST_MESSAGE_BYTES ||
	    own->credits < 2 || own->credits >= INT32_MAX || own->segment_bytes == 0)
		return ERR_CONFIG;
	*c = (struct v2_conn){.t = {.ops = &ops, .version = V2_VERSION, .own = *own}};
	c->cont.max_bytes = V2_MAX_MESSAGE;
	/* Zero is the XID of every GRANT. The XID of an ERR_INVAL_HTYPE must tell if it is about a
	 * GRANT or about the properties. So the XID of the properties is not zero. */
	if (!own->first_xid)
		c->t.own.first_xid = 1;
	v2_credit_init(&c->credit, own->credits, own->literal_credits);
	v2_props_limits(&c->t.peer, &none, own);
	return 0;
}
