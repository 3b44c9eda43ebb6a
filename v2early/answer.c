/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of this end that were sent as options, and the credits and Receives that an answer to one
 * frees. */
#include "v2early/answer.h"

int early_answer_with(struct early_conn *c, const struct early_report *report)
{
	c->t.count.invalid++;
	return early_reports_add(&c->reports, &c->t.nreports, report) ? ERR_PROTO : 0;
}

struct early_option *early_option_of(struct early_conn *c, uint32_t xid)
{
	struct early_option *o = &c->options[xid % EARLY_OPTIONS];

	return o->is_open && o->xid == xid ? o : NULL;
}

/* The credits of the messages that continued the call come back with it, and the Receives of its
 * response are free. */
static void end_option(struct early_conn *c, struct early_option *o)
{
	uint32_t more = o->more < c->calls.in_flight ? o->more : c->calls.in_flight;

	c->calls.in_flight -= more;
	c->t.kept -= o->kept;
	*o = (struct early_option){0};
}

/* If a call with the same XID was sent since then in another form, the answer is that of the later
 * call (rpc/late.h). Then an option that was abandoned keeps its credits and Receives for the other
 * answer. */
bool early_answered(struct early_conn *c, uint32_t xid, struct early_option *was)
{
	struct early_option *o = early_option_of(c, xid);
	bool is_anothers = o && o->is_let_go && rpc_late_awaits(&c->t.late, xid);

	*was = (struct early_option){0};
	if (o && !is_anothers) {
		*was = *o;
		end_option(c, o);
	}
	return rpc_account_answer(&c->calls, &c->t, xid);
}

bool early_option_answered(struct early_conn *c, uint32_t xid, struct early_option *was)
{
	struct early_option *o = early_option_of(c, xid);

	if (!o || !o->is_let_go)
		return early_answered(c, xid, was);
	*was = *o;
	end_option(c, o);
	rpc_account_answer_late(&c->calls, &c->t, xid);
	return false;
}

static void call_failed(struct rpc_rx *rx, uint32_t xid, enum rpc_error_code code)
{
	if (rx->kind == RPC_RX_ERROR) {
		rx->also = true;
		rx->also_xid = xid;
		return;
	}
	rx->kind = RPC_RX_ERROR;
	rx->xid = xid;
	rx->error_dir = RPC_REPLY;
	rx->error = (struct rpc_error){.code = code};
}

bool early_fail(struct early_conn *c, uint32_t xid, enum rpc_error_code code, struct rpc_rx *rx)
{
	bool has_failed = rx->kind == RPC_RX_ERROR && rx->xid == xid;
	struct early_option was;

	if (has_failed || !early_answered(c, xid, &was))
		return false;
	call_failed(rx, xid, code);
	return true;
}

bool early_fail_option(struct early_conn *c, uint32_t xid, enum rpc_error_code code,
		       struct rpc_rx *rx)
{
	const struct early_option *o = early_option_of(c, xid);
	struct early_option was;

	if (!o || !o->is_let_go)
		return early_fail(c, xid, code, rx);
	return early_option_answered(c, xid, &was);
}
