/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PERF_REPORT_H
#define TOOLS_PERF_REPORT_H

#include <stdbool.h>

#include "tools/perf/options.h"

/** report_client - print the results of a run to standard output, as text or as one JSON object. */
void report_client(const struct perf_options *o, const struct perf_client *c);

/** report_server - print the totals of a server to standard output, in one line. */
void report_server(const struct perf_server *s);

/**
 * struct progress - a line on standard error that is overwritten again and again; only if standard
 * error is a terminal
 */
struct progress {
	bool is_on;
	nsec_t next; /* when to write it again; NSEC_NEVER: off */
};

void progress_init(struct progress *p);

/** progress_show - write the line if it is due. */
void progress_show(struct progress *p, const struct perf_options *o, const struct perf_client *c,
		   nsec_t now);

/** progress_end - clear the line. */
void progress_end(const struct progress *p);

#endif
