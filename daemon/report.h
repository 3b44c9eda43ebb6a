/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_REPORT_H
#define DAEMON_REPORT_H

#include <stdbool.h>

#include "daemon/figures.h"

/** report_process - one line event=process: descriptors, heap and resident memory now. */
void report_process(void);

/** struct report - what one worker tells when asked, a little at a time; of the worker's thread. */
struct report {
	struct figures_source from; /* set by the worker, all borrowed */
	struct figures *figures;    /* to work with */
	unsigned worker;
	bool asked, running; /* private from here on, zero */
	nsec_t again_at, give_up_at;
};

/** report_ask - tell the legs of every session and the counters; while that is done: once more. */
void report_ask(struct report *r);

/** report_some - go on with it. Return: when to call it again, NSEC_NEVER if nothing is asked. */
nsec_t report_some(struct report *r, nsec_t now);

/** report_totals - the worker's last words: the counters. */
void report_totals(const struct report *r);

#endif
