/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: messages received as options: Transmit Requests and Responses, their continuations,
 * and Report Errors.
 *
 * A group under way has no effect yet: a call, or an answer, takes effect when its last
 * transmission has come. Until then the call that it answers keeps its credits and Receives. A
 * group that is broken is lost: if it is a response, its call fails at once.
 */
#include "v2early/option_rx.h"

#include <assert.h>
#include <string.h>

#include "base/list.h"
#include "rtrext/call.h"
#include "v2early/answer.h"
#include "v2early/option.h"

/* struct transmit - a Transmit Request or Response, with the continuations that have come. */
struct transmit {
	struct early_header h;
	struct rtr_msg r;
	struct rtr_group group;
	bool is_read;  /* .r was decoded from its body */
	uint32_t most; /* most transmissions that it may have */
	const struct rpc_octets *sends;
	unsigned nsends;
	uint8_t *block;	      /* memory for gathered octets, or NULL */
	uint32_t from, to;    /* range of .block to fill now */
	struct view gathered; /* octets gathered before, or empty */
};

/* Answers with a Report Error. @lead: the group that led to it, or NULL. */
static int answer_fault(struct early_conn *c, const struct rtr_id *bad,
			const struct rtr_fault *fault, const struct rtr_id *lead)
{
	struct early_report report = early_report_fault(bad, fault, lead);

	return early_answer_with(c, &report);
}

/* Decodes the body of an option, which is all of its information. */
static int get_option(const struct early_header *h, enum rtr_op op, struct rtr_msg *r)
{
	struct xdr_in x;
	int rc;

	xdr_in_init(&x, h->optinfo);
	rc = rtr_decode(r, op, &x);
	return !rc && xdr_in_left(&x) ? ERR_XDR : rc;
}

/* @q->h is decoded, from the first Send of @q. */
static int take_transmit(const struct rpc_transport *t, struct transmit *q, struct rtr_fault *fault)
{
	const struct rtr_call_in in = {.r = &q->r,
				       .type = q->h.opttype,
				       .fixed = EARLY_OPTIONAL_BYTES,
				       .payload = q->h.payload,
				       .sends = q->sends,
				       .nsends = q->nsends,
				       .most_back = rtr_limit(t->own.transmissions),
				       .block = q->block,
				       .from = q->from,
				       .to = q->to,
				       .gathered = q->gathered};
	struct rpc_params own = t->own;
	struct rpc_error any; /* this dialect has one code for all of them */
	struct rtr_structure peer;
	int rc = get_option(&q->h, (enum rtr_op)q->h.opttype, &q->r);

	own.transmissions = q->most;
	rpc_msg_reset(t->own.msg, q->h.xid, q->h.optdir);
	q->is_read = rc == 0;
	if (rc)
		return rc;
	if (q->h.opttype == RTR_RESPONSE)
		return rtr_reply_take(&own, &in, t->own.msg, &q->group, fault);
	early_peer_structure(t, &peer);
	return rtr_call_take(&own, &peer, &in, t->own.msg, &q->group, fault, &any);
}

/* Decodes again a message that was processed before, with its continuations. */
static void take_again(const struct rpc_transport *t, struct transmit *q)
{
	enum rpc_dir dir = RPC_CALL;
	struct rtr_fault fault;
	int rc = early_header_decode(&q->h, t->own.msg, &dir, q->sends[0].here);

	q->most = RPC_MAX_TRANSMISSIONS;
	if (!rc)
		rc = take_transmit(t, q, &fault);
	assert(rc == 0);
	(void)rc;
}

void early_option_again(const struct rpc_transport *t, const struct rpc_octets *octets,
			struct view gathered)
{
	take_again(t, &(struct transmit){.sends = octets, .nsends = 1, .gathered = gathered});
}

void early_option_gather(struct rpc_transport *t, uint8_t *block, uint32_t from, uint32_t to)
{
	take_again(t, &(struct transmit){.sends = t->held,
					 .nsends = t->nheld,
					 .block = block,
					 .from = from,
					 .to = to});
}

/* Rejects a group: its continuations are dropped as well. */
static void refuse_group(struct early_conn *c, const struct transmit *q)
{
	c->group =
		(struct rtr_group){.lead = {.xid = q->h.xid, .is_reply = q->h.optdir == RPC_REPLY}};
	c->group_dropped = q->is_read && q->r.count > 1;
}

static int recv_request(struct early_conn *c, const struct early_header *h, struct view in,
			struct rpc_rx *rx)
{
	const struct rpc_octets octets = {in, c->t.bulk};
	struct early_report report = early_report(h->xid, EARLY_ERR_BAD_HEADER);
	struct transmit q = {
		.h = *h, .sends = &octets, .nsends = 1, .most = c->t.own.transmissions};
	struct rtr_fault fault;
	int rc = take_transmit(&c->t, &q, &fault);

	if (rc) {
		refuse_group(c, &q);
		return rc == ERR_CONT ? answer_fault(c, &c->group.lead, &fault, NULL)
				      : early_answer_with(c, &report);
	}
	c->group = q.group;
	rx->kind = q.group.is_open ? RPC_RX_HELD : RPC_RX_MSG;
	rx->msg = c->t.own.msg;
	rx->xid = h->xid;
	rx->group_dir = RPC_CALL;
	return 0;
}

/* Profile section 6: the call of a bad response is lost, and a later answer to that call counts for
 * no call. */
static int fault_in_response(struct early_conn *c, const struct transmit *q, int rc,
			     const struct rtr_fault *fault, struct rpc_rx *rx)
{
	refuse_group(c, q);
	if (!early_fail_option(c, q->h.xid, RPC_ERROR_SYSTEM, rx))
		return 0;
	/* section 5: the first grant does not come with a bad response, nor with an error */
	if (c->is_spoken)
		rpc_account_grant(&c->calls, q->h.credit);
	early_drop(c);
	return rc == ERR_CONT ? answer_fault(c, &c->group.lead, fault, NULL) : 0;
}

/* The response is complete: it is the answer. Return: whether a call waits for it. */
static bool end_response(struct early_conn *c, const struct early_header *h, struct rpc_rx *rx)
{
	struct early_option was;

	rx->kind = RPC_RX_NONE;
	if (!early_option_answered(c, h->xid, &was))
		return false;
	rpc_account_grant(&c->calls, h->credit);
	return true;
}

static int recv_response(struct early_conn *c, const struct early_header *h, struct view in,
			 struct rpc_rx *rx)
{
	const struct early_option *asked = early_option_of(c, h->xid);
	const struct rpc_octets octets = {in, c->t.bulk};
	struct transmit q = {
		.h = *h, .sends = &octets, .nsends = 1, .most = asked ? 1u + asked->kept : 1};
	struct rtr_fault fault;
	int rc = take_transmit(&c->t, &q, &fault);

	if (!asked) /* there is no code for any other fault in it */
		rc = rc == ERR_CONT && q.r.count > 1 ? rc : ERR_XDR;
	if (rc)
		return fault_in_response(c, &q, rc, &fault, rx);
	c->group = q.group;
	if (!q.group.is_open && !end_response(c, h, rx))
		return 0;
	rx->kind = q.group.is_open ? RPC_RX_HELD : RPC_RX_MSG;
	rx->msg = c->t.own.msg;
	rx->xid = h->xid;
	rx->group_dir = RPC_REPLY;
	return 0;
}

/* The message does not continue the open group, or continues it wrongly. The call of the group, or
 * the call that the group answers, is lost. */
static void end_group(struct early_conn *c, struct rpc_rx *rx)
{
	const struct rtr_id *lead = &c->group.lead;

	c->group.is_open = false;
	c->group_dropped = true;
	rx->abandon = true;
	if (lead->is_reply && early_option_of(c, lead->xid))
		(void)early_fail_option(c, lead->xid, RPC_ERROR_SYSTEM, rx);
}

/* A group is complete: finds out how much of it has to be gathered. */
static void complete_group(struct early_conn *c, struct transmit *q, struct rpc_rx *rx)
{
	take_again(&c->t, q);
	rx->kind = RPC_RX_NONE;
	/* An error may have answered that call in the meantime. */
	if (q->h.optdir == RPC_REPLY &&
	    (!early_option_of(c, q->h.xid) || !end_response(c, &q->h, rx))) {
		rx->abandon = true;
		return;
	}
	rx->kind = RPC_RX_GROUP;
	rx->remaining = c->t.own.msg->gathered;
}

static int recv_continue(struct early_conn *c, const struct early_header *h, struct view in,
			 struct rpc_rx *rx)
{
	struct early_report report = early_report(h->xid, EARLY_ERR_BAD_HEADER);
	struct rpc_octets sends[RPC_MAX_TRANSMISSIONS];
	struct transmit q = {.sends = sends, .nsends = 1};
	const struct rtr_id lead = c->group.lead;
	bool was_open = c->group.is_open;
	struct rtr_fault fault;
	struct rtr_msg more;
	struct rtr_id id = {.xid = h->xid, .is_reply = h->optdir == RPC_REPLY};
	int rc = get_option(h, RTR_CONTINUE, &more);

	if (rc) {
		if (was_open)
			end_group(c, rx);
		if (!id.is_reply)
			return early_answer_with(c, &report);
		early_drop(c);
		return 0;
	}
	if (was_open) {
		assert(c->t.nheld > 0 && c->t.nheld < RPC_MAX_TRANSMISSIONS);
		memcpy(sends, c->t.held, c->t.nheld * sizeof(sends[0]));
		take_again(&c->t, &q);
	}
	sends[c->t.nheld] = (struct rpc_octets){in, c->t.bulk};
	id.number = more.number;
	rc = rtr_take_more(&c->t.own, &c->group, &q.r, &more, &id, &sends[c->t.nheld],
			   EARLY_OPTIONAL_BYTES, &fault);
	if (rc) {
		if (was_open)
			end_group(c, rx);
		return answer_fault(c, &id, &fault, was_open ? &lead : NULL);
	}
	rx->kind = RPC_RX_HELD;
	rx->xid = q.h.xid;
	rx->group_dir = q.h.optdir;
	q.nsends = c->t.nheld + 1;
	if (!c->group.is_open)
		complete_group(c, &q, rx);
	return 0;
}

/* The message that came in the middle of the group of @lead was an answer, too, and is lost. If it
 * answers the same option as the group, the call has already ended with the group. */
static void lose_answer(struct early_conn *c, const struct early_header *h,
			const struct rtr_id *lead, struct rpc_rx *rx)
{
	if (h->proc != EARLY_OPTIONAL)
		(void)early_fail(c, h->xid, RPC_ERROR_SYSTEM, rx);
	else if (!lead->is_reply || h->xid != lead->xid)
		(void)early_fail_option(c, h->xid, RPC_ERROR_SYSTEM, rx);
}

/* A message came where only a continuation of the group may come: both the message and the group
 * are lost. */
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
	if (!err && bad.is_reply)
		lose_answer(c, h, &lead, rx);
	return err;
}

/* Profile section 4: messages that are accepted in the middle of a group. */
static bool is_taken_anywhere(const struct early_header *h)
{
	return h->proc == EARLY_ERROR || (h->proc == EARLY_OPTIONAL && h->opttype == RTR_REPORT);
}

bool early_option_group(struct early_conn *c, const struct early_header *h, int rc,
			enum rpc_dir dir, struct rpc_rx *rx, int *err)
{
	bool is_more = !rc && h->proc == EARLY_OPTIONAL && h->opttype == RTR_CONTINUE;

	*err = 0;
	if (is_taken_anywhere(h))
		return false;
	if (c->group_dropped && is_more && h->xid == c->group.lead.xid) {
		early_drop(c);
		return true;
	}
	c->group_dropped = false;
	if (!c->group.is_open || is_more)
		return false;
	if (rc) { /* its call gets an answer of its own */
		end_group(c, rx);
		return false;
	}
	*err = break_group(c, h, h->proc == EARLY_OPTIONAL ? h->optdir : dir, rx);
	return true;
}

int early_option_refused(struct early_conn *c, uint32_t xid, bool *lacks, struct rpc_rx *rx)
{
	if (!early_option_of(c, xid)) {
		early_drop(c);
		return 0;
	}
	*lacks = true;
	c->t.count.errors_received++;
	(void)early_fail_option(c, xid, RPC_ERROR_INVAL_HTYPE, rx);
	return 0;
}

/* A report about a response of this end: no call of this end waits for it. */
static int recv_report_of_reply(struct early_conn *c)
{
	c->lacks_data = true;
	c->t.count.errors_received++;
	return 0;
}

/* A report about a request of this end. A report that the group was too long has the limit. After a
 * report with any other code no more requests are sent. */
static int recv_report(struct early_conn *c, const struct early_header *h, struct rpc_rx *rx)
{
	const struct early_option *o = early_option_of(c, h->xid);
	bool *lacks = &c->lacks_rtr, none;
	struct rtr_msg r;

	if (!get_option(h, RTR_REPORT, &r) && r.fault.code == RTR_BAD_NUMBER && r.bad.number == 0 &&
	    o && r.fault.max <= o->more) {
		c->most = rtr_limit(r.fault.max);
		lacks = &none;
	}
	return early_option_refused(c, h->xid, lacks, rx);
}

/* Section 3.1: an unknown option MUST be answered so, whichever end sent it; its content is not
 * looked at. */
int early_option_recv(struct early_conn *c, const struct early_header *h, struct view in,
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
	if (h->opttype == RTR_CONTINUE && c->t.own.bulk_bytes)
		return recv_continue(c, h, in, rx);
	return early_answer_with(c, &report);
}
