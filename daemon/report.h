/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_REPORT_H
#define DAEMON_REPORT_H

#include <stdbool.h>

#include "daemon/stats_table.h"

/** report_process - log one line event=process: current descriptors, heap and resident memory. */
void report_process(void);

/** struct report - the report of one worker, written a little at a time; used only by the worker's
 * thread. */
struct report {
	struct stats_table_source from; /* set by the worker, all borrowed */
	struct stats_table *figures;	/* working memory */
	unsigned worker;
	bool is_due, running; /* private from here on, zero */
	nsec_t again_at, give_up_at;
};

/** report_ask - log the legs of every session, and the counters. If a report is under way, another
 * one follows. */
void report_ask(struct report *r);

/** report_some - log a part of it. Return: when to call again; NSEC_NEVER if no report is under
 * way. */
nsec_t report_some(struct report *r, nsec_t now);

/** report_counters - log the counters of the relay and of fabric iwarp in .figures, as @event. */
void report_counters(const struct report *r, const char *event);

/** report_totals - log the counters when the worker ends. */
void report_totals(const struct report *r);

#endif
