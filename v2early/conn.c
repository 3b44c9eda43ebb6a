/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: this draft negotiates with the messages that flow anyway (section 5). An initiator is
 * ready at once, but may have one call outstanding, of no more than 1024 octets, until a reply to
 * it says that the dialect is spoken and how many calls are taken. Then both thresholds are 4096
 * octets and stay so: private data (RFC 8797) is of version 1 alone. An acceptor knows all that
 * with the first message.
 *
 *                      first reply
 *   initiator  ASKING ------------> SPOKEN         acceptor  SPOKEN from the start
 *              1 call, 1024 octets  calls <= min(requested, granted), 4096 octets
 *
 * Credits are those of version 1 (rpc/account.h), and so are errors, with three codes of their own
 * (section 4.2.3; rfc5666bis-01 section 5). What arrives, and what becomes of it:
 *
 *   well-formed call                             RPC_RX_MSG
 *   well-formed reply, a call in flight          RPC_RX_MSG
 *   RDMA2_OPTIONAL, a Transmit Request           RPC_RX_MSG, or what is wrong with it
 *   ... a Transmit Response, an option in flight RPC_RX_MSG, or RPC_RX_ERROR and what is wrong with it
 *   RDMA2_OPTIONAL, whatever else its type       RDMA2_ERR_INVAL_OPTION
 *   RDMA2_ERR_INVAL_OPTION, a Report Error       RPC_RX_ERROR, if that call was an option
 *   other RDMA2_ERROR, a call in flight          RPC_RX_ERROR
 *   ... ERR_VERS with a range without 2, or,
 *       asking, a code of the other dialect      the connection is closed
 *   asking, a message of the other dialect       the connection is closed
 *   malformed call                               RDMA2_ERR_BAD_HEADER
 *   malformed reply, a call in flight            RPC_RX_ERROR: it can never complete
 *   malformed, direction not to be seen          acceptor: a call; initiator: a reply
 *   another version, not an error                acceptor: ERR_VERS; initiator: as malformed
 *   too short, an answer to nothing              dropped and counted
 *   an answer to a call that was let go          dropped and counted
 *
 * An error is never answered with an error.
 *
 * Transmit Requests and Responses (docs/rtrext-profile.md, rtrext/call.c) are taken where Receives have a second piece, and
 * sent where the operator said that the peer's have; who does not know them says so to the first. Requests may be continued;
 * responses not, for nothing here bounds by how much, but that each call has a Receive for its reply.
 */
#include "v2early/conn.h"

#include <assert.h>
#include <string.h>

#include "base/list.h"
#include "rtrext/call.h"
#include "v2early/option.h"
#include "v2early/traits.h"

static struct early_conn *conn_of(struct rpc_transport *t)
{
	return container_of(t, struct early_conn, t);
}

static const struct early_conn *const_conn_of(const struct rpc_transport *t)
{
	return container_of(t, const struct early_conn, t);
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static bool takes_reverse_calls(const struct rpc_params *own)
{
	return own->reverse != RPC_REV_NONE && own->rev_credits > 0;
}

/* Reverse messages are RDMA2_MSG without chunks (section 4.2.2 asks for what version 1 has of them;
 * rfc5666bis-01 sections 8.3.4, 8.3.5). */
static bool is_reverse(const struct early_conn *c, enum rpc_dir dir, bool sent_by_us)
{
	bool by_initiator = (c->t.own.role == RPC_INITIATOR) == sent_by_us;

	return by_initiator == (dir == RPC_REPLY);
}

static bool has_chunks(const struct rpc_msg *m)
{
	return m->has_body_chunk || m->nreads || m->nwrites || m->has_reply;
}

/* --- error reports --- */

static int conn_control(struct rpc_transport *t, uint8_t *buf, size_t cap)
{
	struct early_conn *c = conn_of(t);
	int len;

	if (c->reports.n == 0 || c->tx_open)
		return 0;
	len = early_reports_take(&c->reports, rpc_account_grants(&t->own), buf, cap);
	if (len < 0)
		return len;
	t->count.sends++;
	t->count.errors_sent++;
	return len;
}

/* Errors come from responders only, so about a reply there is nothing to say (section 4.2.2). */
static int conn_report(struct rpc_transport *t, uint32_t xid, enum rpc_dir dir,
		       const struct rpc_error *e)
{
	struct early_conn *c = conn_of(t);
	struct early_report r = e->code == RPC_ERROR_VERS
					? early_report_vers(&t->own, xid, EARLY_VERSION)
					: early_report(xid, EARLY_ERR_BAD_HEADER);

	return dir == RPC_CALL ? early_reports_add(&c->reports, &r) : 0;
}

/* --- receiving --- */

static void drop(struct early_conn *c)
{
	c->t.count.dropped++;
}

/* Section 5.1: "Subsequently, both peers use the default inline threshold value". */
static void take_as_spoken(struct early_conn *c)
{
	c->is_spoken = true;
	c->t.peer.send_bytes = min_u32(c->t.own.send_bytes, EARLY_INLINE_BYTES);
}

static int answer_with(struct early_conn *c, const struct early_report *report)
{
	c->t.count.invalid++;
	return early_reports_add(&c->reports, report) ? ERR_PROTO : 0;
}

/* An answer to @xid has come: what continued it gives its credits back with it. */
static void give_more(struct early_conn *c, uint32_t xid)
{
	uint32_t at = xid % EARLY_OPTIONS;

	if (c->options[at] != xid)
		return;
	c->calls.in_flight -= min_u32(c->more[at], c->calls.in_flight);
	c->more[at] = 0;
}

static bool answers(struct early_conn *c, uint32_t xid)
{
	give_more(c, xid);
	return rpc_account_answer(&c->calls, &c->t, xid);
}

/* The peer's message is no good: answer a call, fail the call a reply was for. */
static int refuse(struct early_conn *c, const struct early_report *report, bool is_call,
		  struct rpc_rx *rx)
{
	if (is_call)
		return answer_with(c, report);
	if (!answers(c, report->xid))
		return 0;
	drop(c);
	rx->kind = RPC_RX_ERROR;
	rx->xid = report->xid;
	rx->error_dir = RPC_REPLY;
	rx->error = (struct rpc_error){.code = RPC_ERROR_BAD_XDR};
	return 0;
}

/* Whether an error says that this dialect is not spoken. What is no range says nothing. */
static bool is_refusal(const struct early_conn *c, const struct early_header *h)
{
	if (h->err == EARLY_ERR_VERS)
		return h->low <= h->high && (h->low > EARLY_VERSION || h->high < EARLY_VERSION);
	return !c->is_spoken && h->err > EARLY_ERR_INVAL_OPTION;
}

/* Whether @xid is a call of ours that was an option; it is no longer. */
static bool was_option(struct early_conn *c, uint32_t xid)
{
	uint32_t at = xid % EARLY_OPTIONS;
	bool was = c->has_option[at] && c->options[at] == xid;

	if (was)
		c->has_option[at] = false;
	return was;
}

/* Profile section 2: so says an end that sends no responses. One that has answered such a call means
 * something else. */
static bool is_about_wishes(const struct early_conn *c, const struct early_header *h)
{
	uint32_t at = h->xid % EARLY_OPTIONS;

	return h->err == EARLY_ERR_BAD_HEADER && c->has_option[at] && c->options[at] == h->xid &&
	       c->asked[at] && !c->answers_options;
}

/* That call of ours is to be formed another way, and those that follow. */
static int recv_refusal(struct early_conn *c, uint32_t xid, bool *lacks, struct rpc_rx *rx)
{
	if (!was_option(c, xid)) {
		drop(c);
		return 0;
	}
	*lacks = true;
	c->t.count.errors_received++;
	if (!answers(c, xid))
		return 0;
	rx->kind = RPC_RX_ERROR;
	rx->xid = xid;
	rx->error_dir = RPC_REPLY;
	rx->error = (struct rpc_error){.code = RPC_ERROR_INVAL_HTYPE};
	return 0;
}

/* Errors come from responders only, so this is about a call of ours. A code that does not
 * exist still says that no reply follows. */
static int recv_error(struct early_conn *c, const struct early_header *h, struct rpc_rx *rx)
{
	if (h->err == EARLY_ERR_INVAL_OPTION || is_about_wishes(c, h))
		return recv_refusal(
			c, h->xid,
			h->err == EARLY_ERR_INVAL_OPTION ? &c->lacks_rtr : &c->lacks_answers, rx);
	if (!answers(c, h->xid))
		return 0;
	(void)was_option(c, h->xid);
	/* Section 5: only what is no error tells the first grant. Under another version the credit
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

/* @lead: the group that led to it, or NULL. */
static int answer_fault(struct early_conn *c, const struct rtr_id *bad,
			const struct rtr_fault *fault, const struct rtr_id *lead)
{
	struct early_report report = early_report_fault(bad->xid, fault, bad->number, lead);

	report.of_reply = bad->is_reply;
	return answer_with(c, &report);
}

/* The body of an option is all of its information. */
static int get_option(const struct early_header *h, enum rtr_op op, struct rtr_msg *r)
{
	struct xdr_in x;
	int rc;

	xdr_in_init(&x, h->optinfo);
	rc = rtr_decode(r, op, &x);
	return !rc && xdr_in_left(&x) ? ERR_XDR : rc;
}

/* struct request - a Transmit Request, and of a group what else has come. */
struct request {
	struct early_header h;
	struct rtr_msg r;
	struct rtr_group group;
	const struct rpc_octets *sends;
	unsigned nsends;
	uint8_t *block;	      /* for what is gathered of them, or NULL */
	struct view gathered; /* what was before, or empty */
};

/* @q->h is decoded, and of its first Send. */
static int take_request(const struct rpc_transport *t, struct request *q, struct rtr_fault *fault)
{
	const struct rtr_call_in c = {.r = &q->r,
				      .type = RTR_REQUEST,
				      .fixed = EARLY_OPTIONAL_BYTES,
				      .payload = q->h.payload,
				      .sends = q->sends,
				      .nsends = q->nsends,
				      .block = q->block,
				      .gathered = q->gathered};
	struct rpc_error any; /* there is one word for all of them */
	struct rtr_structure peer;
	int rc = get_option(&q->h, RTR_REQUEST, &q->r);

	rpc_msg_reset(t->own.msg, q->h.xid, RPC_CALL);
	early_peer_structure(t, &peer);
	return rc ? rc : rtr_call_take(&t->own, &peer, &c, t->own.msg, &q->group, fault, &any);
}

/* One that was taken before, with what continues it. */
static void take_again(const struct rpc_transport *t, struct request *q)
{
	enum rpc_dir dir = RPC_CALL;
	struct rtr_fault fault;
	int rc = early_header_decode(&q->h, t->own.msg, &dir, q->sends[0].here);

	if (!rc)
		rc = take_request(t, q, &fault);
	assert(rc == 0);
	(void)rc;
}

static int recv_request(struct early_conn *c, const struct early_header *h, struct view in,
			struct rpc_rx *rx)
{
	const struct rpc_octets octets = {in, c->t.behind};
	struct early_report report = early_report(h->xid, EARLY_ERR_BAD_HEADER);
	struct request q = {.h = *h, .sends = &octets, .nsends = 1};
	struct rtr_fault fault;
	int rc = take_request(&c->t, &q, &fault);

	if (rc) {
		/* What continues it is dropped as well. */
		c->group.lead = (struct rtr_id){.xid = h->xid};
		c->group_dropped = rc == ERR_CONT && q.r.count > 1;
		return rc == ERR_CONT ? answer_fault(c, &c->group.lead, &fault, NULL)
				      : answer_with(c, &report);
	}
	c->group = q.group;
	rx->kind = q.group.is_open ? RPC_RX_HELD : RPC_RX_MSG;
	rx->msg = c->t.own.msg;
	return 0;
}

/* What came does not continue the group that is open, or not as it should: the call it was is lost. */
static void end_group(struct early_conn *c, struct rpc_rx *rx)
{
	c->group.is_open = false;
	c->group_dropped = true;
	rx->abandon = true;
}

/* Profile section 6: its call is lost; an answer to that which comes yet is one to nothing. */
static int fault_in_response(struct early_conn *c, const struct early_header *h,
			     const struct rtr_fault *fault, struct rpc_rx *rx)
{
	const struct rtr_id bad = {.xid = h->xid, .is_reply = true};
	int err = fault->code ? answer_fault(c, &bad, fault, NULL) : 0;

	drop(c);
	rx->kind = RPC_RX_ERROR;
	rx->xid = h->xid;
	rx->error_dir = RPC_REPLY;
	rx->error = (struct rpc_error){.code = RPC_ERROR_SYSTEM};
	return err;
}

static int recv_response(struct early_conn *c, const struct early_header *h, struct view in,
			 struct rpc_rx *rx)
{
	const struct rpc_octets octets = {in, c->t.behind};
	struct rpc_params own = c->t.own;
	struct rtr_fault fault = {0};
	struct rtr_group group;
	struct rtr_msg r;
	const struct rtr_call_in got = {.r = &r,
					.type = RTR_RESPONSE,
					.fixed = EARLY_OPTIONAL_BYTES,
					.payload = h->payload,
					.sends = &octets,
					.nsends = 1};
	int rc;

	if (!answers(c, h->xid))
		return 0;
	own.transmissions = 1;
	rpc_account_grant(&c->calls, h->credit);
	rpc_msg_reset(c->t.own.msg, h->xid, RPC_REPLY);
	rc = was_option(c, h->xid) ? get_option(h, RTR_RESPONSE, &r) : ERR_XDR;
	if (!rc)
		rc = rtr_reply_take(&own, &got, c->t.own.msg, &group, &fault);
	if (rc != ERR_CONT)
		fault.code = (enum rtr_code)0;
	if (rc)
		return fault_in_response(c, h, &fault, rx);
	c->answers_options = true;
	rx->kind = RPC_RX_MSG;
	rx->msg = c->t.own.msg;
	return 0;
}

/* About a response of ours, which nobody waits for here any more. */
static int recv_report_of_reply(struct early_conn *c)
{
	c->lacks_data = true;
	c->t.count.errors_received++;
	return 0;
}

/* All of a group has come: what is left to find out is how much of it has to be gathered. */
static void complete_group(struct early_conn *c, struct request *q, struct rpc_rx *rx)
{
	take_again(&c->t, q);
	rx->kind = RPC_RX_GROUP;
	rx->xid = q->h.xid;
	rx->group_dir = RPC_CALL;
	rx->remaining = c->t.own.msg->gathered;
}

static int recv_continue(struct early_conn *c, const struct early_header *h, struct view in,
			 struct rpc_rx *rx)
{
	struct early_report report = early_report(h->xid, EARLY_ERR_BAD_HEADER);
	struct rpc_octets sends[RPC_MAX_TRANSMISSIONS];
	struct request q = {.sends = sends, .nsends = 1};
	const struct rtr_id lead = c->group.lead;
	bool was_open = c->group.is_open;
	struct rtr_fault fault;
	struct rtr_msg more;
	struct rtr_id id = {.xid = h->xid};
	int rc = get_option(h, RTR_CONTINUE, &more);

	if (rc) {
		if (was_open)
			end_group(c, rx);
		return answer_with(c, &report);
	}
	if (was_open) {
		assert(c->t.nheld > 0 && c->t.nheld < RPC_MAX_TRANSMISSIONS);
		memcpy(sends, c->t.held, c->t.nheld * sizeof(sends[0]));
		take_again(&c->t, &q);
	}
	sends[c->t.nheld] = (struct rpc_octets){in, c->t.behind};
	id.number = more.number;
	rc = rtr_take_more(&c->t.own, &c->group, &q.r, &more, &id, &sends[c->t.nheld],
			   EARLY_OPTIONAL_BYTES, &fault);
	if (rc) {
		if (was_open)
			end_group(c, rx);
		return answer_fault(c, &id, &fault, was_open ? &lead : NULL);
	}
	rx->kind = RPC_RX_HELD;
	q.nsends = c->t.nheld + 1;
	if (!c->group.is_open)
		complete_group(c, &q, rx);
	return 0;
}

/* Where only what continues a group could come: it is lost with the group. */
static int break_group(struct early_conn *c, const struct early_header *h, enum rpc_dir dir,
		       struct rpc_rx *rx)
{
	bool is_option = h->proc == EARLY_OPTIONAL;
	const struct rtr_id lead = c->group.lead;
	const struct rtr_id bad = {.xid = h->xid, .is_reply = dir == RPC_REPLY};
	struct rtr_fault fault;
	int err = rtr_group_interrupt(&c->group, is_option ? h->opttype : h->proc, is_option,
				      is_option ? (uint32_t)RTR_CONTINUE : EARLY_OPTIONAL, &fault);

	assert(err == ERR_CONT);
	end_group(c, rx);
	err = answer_fault(c, &bad, &fault, &lead);
	if (err || dir == RPC_CALL)
		return err;
	if (!answers(c, h->xid))
		return 0;
	rx->kind = RPC_RX_ERROR;
	rx->xid = h->xid;
	rx->error_dir = RPC_REPLY;
	rx->error = (struct rpc_error){.code = RPC_ERROR_SYSTEM};
	return 0;
}

/* Profile section 4: these are taken in the midst of a group. */
static bool is_told_anywhere(const struct early_header *h)
{
	return h->proc == EARLY_ERROR || (h->proc == EARLY_OPTIONAL && h->opttype == RTR_REPORT);
}

/* @rc: of decoding it. Return: whether it is a matter of the group before it: @err then. */
static bool is_of_group(struct early_conn *c, const struct early_header *h, int rc,
			enum rpc_dir dir, struct rpc_rx *rx, int *err)
{
	bool is_more = !rc && h->proc == EARLY_OPTIONAL && h->opttype == RTR_CONTINUE;

	*err = 0;
	if (is_told_anywhere(h))
		return false;
	if (c->group_dropped && is_more && h->xid == c->group.lead.xid) {
		drop(c);
		return true;
	}
	c->group_dropped = false;
	if (!c->group.is_open || is_more)
		return false;
	if (rc) { /* it has an answer of its own */
		end_group(c, rx);
		return false;
	}
	*err = break_group(c, h, h->proc == EARLY_OPTIONAL ? h->optdir : dir, rx);
	return true;
}

/* About a request of ours: that it was too long a group says how long it may be, anything else that there are to be none. */
static int recv_report(struct early_conn *c, const struct early_header *h, struct rpc_rx *rx)
{
	bool *lacks = &c->lacks_rtr, none;
	uint32_t at = h->xid % EARLY_OPTIONS;
	struct rtr_msg r;

	if (!get_option(h, RTR_REPORT, &r) && r.fault.code == RTR_BAD_NUMBER && r.bad.number == 0 &&
	    c->options[at] == h->xid && r.fault.max <= c->more[at]) {
		c->most = rtr_limit(r.fault.max);
		lacks = &none;
	}
	return recv_refusal(c, h->xid, lacks, rx);
}

/* Section 3.1: what is not spoken MUST be answered so, whoever it is from; what it holds is not looked at. */
static int recv_optional(struct early_conn *c, const struct early_header *h, struct view in,
			 struct rpc_rx *rx)
{
	struct early_report report = early_report(h->xid, EARLY_ERR_INVAL_OPTION);
	bool is_call = h->optdir == RPC_CALL && c->t.own.role == RPC_ACCEPTOR;
	bool is_reply = h->optdir == RPC_REPLY && c->t.own.role == RPC_INITIATOR;

	if (h->opttype == RTR_REPORT && is_call && c->t.own.peer_bulk_bytes)
		return recv_report_of_reply(c);
	if (h->opttype == RTR_REPORT && c->t.own.peer_bulk_bytes)
		return recv_report(c, h, rx);
	if (h->opttype == RTR_RESPONSE && is_reply && c->t.own.bulk_bytes)
		return recv_response(c, h, in, rx);
	if (h->opttype == RTR_REQUEST && is_call && c->t.own.bulk_bytes)
		return recv_request(c, h, in, rx);
	if (h->opttype == RTR_CONTINUE && is_call && c->t.own.bulk_bytes)
		return recv_continue(c, h, in, rx);
	return answer_with(c, &report);
}

static int recv_call(struct early_conn *c, const struct early_header *h, struct rpc_rx *rx)
{
	struct early_report report = early_report(h->xid, EARLY_ERR_BAD_HEADER);

	if (is_reverse(c, RPC_CALL, false) &&
	    (has_chunks(c->t.own.msg) || !takes_reverse_calls(&c->t.own)))
		return refuse(c, &report, true, rx);
	rx->kind = RPC_RX_MSG;
	rx->msg = c->t.own.msg;
	return 0;
}

static int recv_reply(struct early_conn *c, const struct early_header *h, struct rpc_rx *rx)
{
	struct early_report report = early_report(h->xid, EARLY_ERR_BAD_HEADER);

	if (is_reverse(c, RPC_REPLY, false) && has_chunks(c->t.own.msg))
		return refuse(c, &report, false, rx);
	if (!answers(c, h->xid))
		return 0;
	if (was_option(c, h->xid))
		c->answers_options |= c->asked[h->xid % EARLY_OPTIONS];
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

/* What draft -07's servers say before they refuse a type that they do not have. */
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
		drop(c);
		return 0;
	}
	if (is_other_dialect(c, &h, in))
		return ERR_VERS;
	if ((c->group.is_open || c->group_dropped) && is_of_group(c, &h, rc, dir, rx, &err))
		return err;
	if (t->behind.len && h.proc != EARLY_OPTIONAL) /* nothing else may be so long */
		return ERR_PROTO;
	if (rc)
		return recv_malformed(c, &h, rc, dir == RPC_CALL, rx);
	if (h.proc == EARLY_ERROR)
		return recv_error(c, &h, rx);
	if (h.proc == EARLY_OPTIONAL)
		return recv_optional(c, &h, in, rx);
	return dir == RPC_CALL ? recv_call(c, &h, rx) : recv_reply(c, &h, rx);
}

static void conn_again(const struct rpc_transport *t, struct view in, struct view gathered)
{
	const struct rpc_octets octets = {in, t->behind};
	struct early_header h;
	enum rpc_dir dir = RPC_CALL;
	int rc = early_header_decode(&h, t->own.msg, &dir, in);

	assert(rc == 0);
	(void)rc;
	if (h.proc == EARLY_OPTIONAL)
		take_again(t,
			   &(struct request){.sends = &octets, .nsends = 1, .gathered = gathered});
}

static void conn_gather(struct rpc_transport *t, uint8_t *block)
{
	take_again(t, &(struct request){.sends = t->held, .nsends = t->nheld, .block = block});
}

/* --- sending --- */

static bool conn_may_send(const struct rpc_transport *t, const struct rpc_tx *tx)
{
	const struct early_conn *c = const_conn_of(t);

	if (c->tx_open) /* a group: nothing may come between, and its credits are taken */
		return tx->transmission && tx->msg->dir == RPC_CALL && tx->msg->xid == c->tx_xid;
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
	if (is_reverse(c, m->dir, true) && (has_chunks(m) || m->nwishes))
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
	(void)was_option(conn_of(t), xid);
	rpc_account_forget(&conn_of(t)->calls, t, xid);
}

/* The peer takes back its credit itself, when it lets its call go. */
static void conn_unanswered(struct rpc_transport *t)
{
	(void)t;
}

static const struct rpc_transport_ops early_ops = {
	.name = "2-early",
	.traits = &early_traits,
	.recv = conn_recv,
	.gather = conn_gather,
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
