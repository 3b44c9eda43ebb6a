/* SPDX-License-Identifier: BSD-2-Clause */
#include "v2early/report.h"

struct early_report early_report(uint32_t xid, enum early_errcode err)
{
	return (struct early_report){.xid = xid, .vers = EARLY_VERSION, .err = err};
}

/* A version within the range is spoken, but not on this connection (section 5.3), and the early
 * draft has no code for that. So the report says that this connection has only version 2. */
struct early_report early_report_vers(const struct rpc_params *own, uint32_t xid, uint32_t vers)
{
	bool is_spoken = vers >= own->vers_low && vers <= own->vers_high;
	bool is_other = vers != EARLY_VERSION && is_spoken;

	return (struct early_report){
		.xid = xid,
		/* rfc5666bis-01 5.5: a version that is valid at the receiver of the report. */
		.vers = is_spoken ? vers : EARLY_VERSION,
		.err = EARLY_ERR_VERS,
		.low = is_other ? EARLY_VERSION : own->vers_low,
		.high = is_other ? EARLY_VERSION : own->vers_high,
	};
}

struct early_report early_report_fault(const struct rtr_id *bad, const struct rtr_fault *fault,
				       const struct rtr_id *lead)
{
	struct early_report r = {.xid = bad->xid,
				 .vers = EARLY_VERSION,
				 .fault = *fault,
				 .bad = *bad,
				 .has_lead = lead != NULL};

	if (lead)
		r.lead = *lead;
	return r;
}

int early_reports_add(struct early_reports *r, unsigned *n, const struct early_report *report)
{
	if (*n == RPC_REPORTS)
		return ERR_NOSPACE;
	r->of[(r->first + (*n)++) % RPC_REPORTS] = *report;
	return 0;
}

/* Profile section 1: a report about a request is a reply, one about a response a call. */
static int encode_fault(const struct early_report *r, struct early_header *h, uint8_t *buf,
			size_t cap)
{
	uint8_t info[128];
	struct rtr_msg m;
	struct xdr_out x;
	int len;

	rtr_msg_reset(&m, RTR_REPORT);
	m.bad = r->bad;
	m.fault = r->fault;
	m.has_lead = r->has_lead;
	m.lead = r->lead;
	xdr_out_init(&x, info, sizeof(info));
	rtr_encode(&m, &x);
	h->optdir = m.bad.is_reply ? RPC_CALL : RPC_REPLY;
	h->opttype = RTR_REPORT;
	h->optinfo = view_of(info, xdr_out_len(&x));
	len = early_optional_encode(h, buf, cap);
	h->optinfo = view_of(NULL, 0);
	return len;
}

int early_reports_take(struct early_reports *r, unsigned *n, uint32_t credit, uint8_t *buf,
		       size_t cap)
{
	const struct early_report *first = &r->of[r->first];
	struct early_header h = {.xid = first->xid,
				 .vers = first->vers,
				 .credit = credit,
				 .err = first->err,
				 .low = first->low,
				 .high = first->high};
	int len = first->fault.code ? encode_fault(first, &h, buf, cap)
				    : early_error_encode(&h, buf, cap);

	if (len < 0)
		return len;
	r->first = (r->first + 1) % RPC_REPORTS;
	(*n)--;
	return len;
}
