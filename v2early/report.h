/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2EARLY_REPORT_H
#define V2EARLY_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/transport.h"
#include "rtrext/message.h"
#include "v2early/header.h"

/** struct early_report - an RDMA2_ERROR or a Report Error that waits for control(). */
struct early_report {
	uint32_t xid, vers, err;
	uint32_t low, high;	/* RDMA2_ERR_VERS: lowest and highest version spoken */
	struct rtr_fault fault; /* if it has a .code: the report is a Report Error */
	struct rtr_id bad;	/* Report Error: the transmission it is about */
	bool has_lead;
	struct rtr_id lead; /* Report Error: the group that led to the fault */
};

/** struct early_reports - a ring of reports, whose number is .nreports of the transport. */
struct early_reports {
	struct early_report of[RPC_REPORTS];
	unsigned first;
};

/** early_report - the report @err about the message @xid. */
struct early_report early_report(uint32_t xid, enum early_errcode err);

/** early_report_vers - the report about a message of version @vers: the range of versions of
 * this end. */
struct early_report early_report_vers(const struct rpc_params *own, uint32_t xid, uint32_t vers);

/** early_report_fault - the report about the transmission @bad. @lead: the group that led to the
 * fault, or NULL. */
struct early_report early_report_fault(const struct rtr_id *bad, const struct rtr_fault *fault,
				       const struct rtr_id *lead);

/** early_reports_add - add a report to the @n of @r. Return: 0, or ERR_NOSPACE. */
int early_reports_add(struct early_reports *r, unsigned *n,
		      const struct early_report *report) WARN_UNUSED;

/** early_reports_take - encode the first of the @n reports, which must exist, into @buf. Return:
 * its length, or ERR_NOSPACE: it stays. */
int early_reports_take(struct early_reports *r, unsigned *n, uint32_t credit, uint8_t *buf,
		       size_t cap);

#endif
