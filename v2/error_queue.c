/* SPDX-License-Identifier: BSD-2-Clause */
#include "v2/error_queue.h"

int v2_conn_queue_report(struct v2_conn *c, uint32_t xid, uint32_t vers, const struct rpc_error *e)
{
	if (c->t.nreports == RPC_REPORTS)
		return ERR_NOSPACE;
	c->reports[(c->report_head + c->t.nreports++) % RPC_REPORTS] =
		(struct v2_report){.xid = xid, .vers = vers, .error = *e};
	return 0;
}

/* Queues a report about a message just received. The ring is full only if recv() was called
 * without room (rpc_has_report_room()). */
int v2_queue_error(struct v2_conn *c, const struct v2_hdr *h, uint32_t xid,
		   const struct rpc_error *e)
{
	c->t.count.invalid++;
	if (v2_conn_queue_report(c, xid, h->vers, e) == 0)
		return 0;
	c->state = V2_CLOSED;
	return ERR_PROTO;
}

/* Profile section 4: @bad is the transmission that broke the protocol; if a group led to the fault,
 * the report names the group as well. */
int v2_queue_fault(struct v2_conn *c, const struct v2_hdr *h, const struct rtr_fault *fault,
		   const struct rtr_id *bad, const struct rtr_id *lead)
{
	const struct rpc_error report = {.code = RPC_ERROR_SYSTEM,
					 .a = (bad->is_reply ? V2_FAULT_REPLY : 0u) |
					      (lead ? V2_FAULT_HAS_LEAD : 0u) |
					      (lead && lead->is_reply ? V2_FAULT_LEAD_REPLY : 0u),
					 .b = lead ? lead->xid : 0};
	int err = v2_queue_error(c, h, bad->xid, &report);

	if (!err) {
		struct v2_report *r =
			&c->reports[(c->report_head + c->t.nreports - 1) % RPC_REPORTS];

		r->fault = *fault;
		r->number = bad->number;
	}
	return err;
}

int v2_queue_error_code(struct v2_conn *c, const struct v2_hdr *h, enum rpc_error_code code)
{
	const struct rpc_error e = {.code = code};

	return v2_queue_error(c, h, h->xid, &e);
}
