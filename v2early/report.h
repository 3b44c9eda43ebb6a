/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2EARLY_REPORT_H
#define V2EARLY_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/transport.h"
#include "rtrext/message.h"
#include "v2early/header.h"

enum { EARLY_REPORTS = 48 };

/** struct early_report - RDMA2_ERROR, or a Report Error, that waits for control(). */
struct early_report {
	uint32_t xid, vers, err;
	uint32_t low, high;	/* of RDMA2_ERR_VERS */
	struct rtr_fault fault; /* with a .code: it is a Report Error */
	struct rtr_id bad;	/* ... about that transmission */
	bool has_lead;
	struct rtr_id lead; /* ... of that group */
};

/** struct early_reports - a ring of them; all zero: empty. */
struct early_reports {
	struct early_report of[EARLY_REPORTS];
	unsigned first, n;
};

/** early_report - @err about the message @xid. */
struct early_report early_report(uint32_t xid, enum early_errcode err);

/** early_report_vers - about one of version @vers: the range of this end. */
struct early_report early_report_vers(const struct rpc_params *own, uint32_t xid, uint32_t vers);

/** early_report_fault - about the transmission @bad; @lead: the group that led to it, or NULL. */
struct early_report early_report_fault(const struct rtr_id *bad, const struct rtr_fault *fault,
				       const struct rtr_id *lead);

/** early_reports_add - Return: 0, or ERR_NOSPACE. */
int early_reports_add(struct early_reports *r, const struct early_report *report) WARN_UNUSED;

/** early_reports_take - the first of them, which is there, into @buf. Return: its length, or ERR_NOSPACE: it stays. */
int early_reports_take(struct early_reports *r, uint32_t credit, uint8_t *buf, size_t cap);

#endif
