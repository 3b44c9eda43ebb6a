/* SPDX-License-Identifier: BSD-2-Clause */
/* Version 2: flow control. Credits count messages. The window is limit - sent. */
#include "tools/probe/cases.h"
#include "v2/error.h"

enum { WINDOW_MAX = 1024 };

static uint32_t window(const struct run *r)
{
	return r->flow.limit - r->flow.sent;
}

static enum verdict initial(struct run *r)
{
	enum verdict v = v2_up(r);

	if (v)
		return v;
	if (r->flow.first_value >= INT32_MAX)
		return failed(r, "rdma_credit %u in the first message", r->flow.first_value);
	return passed(r, "rdma_credit %u in the first message", r->flow.first_value);
}

/* A window that is closed at first opens without a message of the probe. */
static enum verdict opens(struct run *r)
{
	return v2_up(r) ?: fence(r) ?: passed(r, "a window of %u messages", window(r));
}

/* Unanswered messages use the window up. The peer must refresh it before more than half is used. */
static enum verdict refresh(struct run *r)
{
	enum verdict v = v2_up(r) ?: null_call(r);
	nsec_t deadline;
	uint32_t limit, n;

	if (v)
		return v;
	limit = r->flow.limit;
	n = window(r) / 2 + 1;
	if (window(r) > WINDOW_MAX || window(r) < 4)
		return skipped(r, "a window of %u messages", window(r));
	for (uint32_t i = 0; !v && i < n; i++) {
		msg_begin(r, 2, V2_ERROR);
		put(r, 0x7ffffffe);
		v = msg_send(r);
	}
	deadline = run_deadline(r);
	wire_turn(&r->w);
	while (!v && r->flow.limit == limit && r->w.state == WIRE_OPEN &&
	       probe_now(r->env) < deadline) {
		r->env->wait(r->env->arg, deadline);
		wire_turn(&r->w);
	}
	if (!v && r->flow.limit == limit)
		return failed(r, "none after %u messages of %u", n, 2 * (n - 1));
	return v
		       ?: passed(r, "after at most %u messages, by %u GRANT%s", n,
				 r->flow.grants_received, r->flow.grants_received == 1 ? "" : "s");
}

/* A server that ignores its partner's credits answers at once. */
static enum verdict held(struct run *r)
{
	uint32_t before, early;
	enum verdict v = raw_up(r);

	if (v)
		return v;
	r->flow.advertise = 1; /* only its first message */
	msg_begin(r, 2, V2_CONNPROP_FINAL);
	put_props(r);
	v = v2_open(r);
	if (v)
		return v;
	if (r->flow.received - r->flow.grants_received != 1)
		return skipped(r, "it needed %u messages for its properties", r->flow.received);
	r->flow.advertise = 0;
	before = r->flow.received - r->flow.grants_received;
	for (int i = 0; !v && i < 2; i++) {
		null_begin(r);
		v = msg_send(r);
	}
	wire_pause(&r->w, probe_now(r->env) + 2 * QUIET_MS * NSEC_PER_MS);
	early = r->flow.received - r->flow.grants_received - before;
	r->flow.advertise = RUN_CREDITS;
	xdr_out_init(&r->x, r->out, sizeof(r->out));
	put(r, 0, 2, 0, V2_GRANT);
	v = v ?: msg_send(r) ?: expect_reply(r, 0) ?: expect_reply(r, 0);
	if (v)
		return v;
	if (early > 1)
		return failed(r, "%u replies came that no credit was there for", early);
	return fence(r)
		       ?: reads(r, "posting", early ? "literal" : "careful",
				early ? "one reply came early, as \"greater than\" allows"
				      : "both replies waited for the GRANT");
}

/* Send a message that draws no answer; @gives: with credits for the server. */
static enum verdict send_unanswered(struct run *r, bool gives)
{
	msg_begin(r, 2, V2_ERROR);
	xdr_out_init(&r->x, r->out, sizeof(r->out));
	put(r, r->xid, 2, r->flow.granted, V2_ERROR, 0x7ffffffe);
	r->keep_credit = !gives;
	return msg_send(r);
}

/* Send six messages for each one received, and see by how much the server's value rises. */
static enum verdict which_count(struct run *r)
{
	enum verdict v = v2_up(r);
	uint32_t value, sent, received;

	for (int i = 0; !v && i < 4; i++) /* until the window has its full width */
		v = null_call(r);
	v = v ?: expect_quiet(r);
	value = r->flow.limit;
	sent = r->flow.sent;
	received = r->flow.received;
	if (!v && window(r) < 8)
		return skipped(r, "a window of %u messages", window(r));
	for (int i = 0; !v && i < 6; i++)
		v = send_unanswered(r, true);
	v = v ?: null_call(r) ?: expect_quiet(r);
	if (v)
		return v;
	value = r->flow.limit - value;
	sent = r->flow.sent - sent;
	received = r->flow.received - received;
	return reads(r, "credits",
		     value == received ? "literal"
		     : value == sent   ? "received"
				       : "unknown",
		     "the value rose by %u while the server received %u messages and sent %u",
		     value, sent, received);
}

/* Use the server's window up while it has no credit to open it; then send one message more. */
static enum verdict excess(struct run *r)
{
	enum verdict v = raw_up(r);

	if (v)
		return v;
	r->flow.advertise = 1; /* its first message and a GRANT */
	msg_begin(r, 2, V2_CONNPROP_FINAL);
	put_props(r);
	v = v2_open(r);
	for (uint32_t n = 0; !v && n < WINDOW_MAX; n++) {
		v = send_unanswered(r, false);
		if (!v && window(r) == 0)
			wire_pause(&r->w, probe_now(r->env) + QUIET_MS * NSEC_PER_MS);
		if (!v && window(r) == 0)
			break;
	}
	if (!v && window(r) > 0)
		return skipped(r, "a window that does not close");
	if (v)
		return v;
	r->flow.advertise = RUN_CREDITS;
	r->keep_credit = false;
	r->flow.limit++;
	null_begin(r);
	v = msg_send(r) ?: expect_reply(r, r->xid);
	wire_pause(&r->w, probe_now(r->env) + (v ? QUIET_MS * NSEC_PER_MS : 0));
	if (v && r->w.state == WIRE_ENDED)
		return reads(r, "excess", "strict", "the connection ended");
	return v ?: reads(r, "excess", "tolerant", "the call is answered");
}

static enum verdict full_window(struct run *r)
{
	enum verdict v = v2_up(r) ?: null_call(r);
	/* No more calls than there are credits for replies, because none is given while they
	 * come. */
	uint32_t n = window(r) < RUN_CREDITS - 8 ? window(r) : RUN_CREDITS - 8;

	for (uint32_t i = 0; !v && i < n; i++) {
		null_begin(r);
		v = msg_send(r);
	}
	for (uint32_t i = 0; !v && i < n; i++)
		v = expect_reply(r, 0);
	return v ?: fence(r) ?: passed(r, "%u Calls at once", n);
}

static const struct probe_case cases[] = {
	{"v2.credit.initial", "v2 4.2.1", "MUST", "the first credit value is below 2^31 - 1",
	 initial, 2, false},
	{"v2.credit.opens", "v2 4.2.1.1, 4.3", "MUST", "the server gives credits to go on", opens,
	 2, false},
	{"v2.credit.window", "v2 4.2.1", "MUST",
	 "as many Calls at once as the window allows, up to 24", full_window, 2, false},
	{"v2.credit.refresh", "v2 4.2.1.1", "SHOULD",
	 "a refresh comes before more than half the window is used", refresh, 2, false},
	{"v2.credit.held", "v2 4.2.1", "MUST",
	 "no reply is posted without a credit, and it comes after a GRANT", held, 2, false},
	{"v2.credit.count", "v2 4.2.1", "open", "which count its credit values are made of",
	 which_count, 2, false},
	{"v2.credit.excess", "v2 4.2.1, 4.3", "open", "a message beyond its window by one", excess,
	 2, false},
};

CASE_TABLE(cases_credit, cases);
