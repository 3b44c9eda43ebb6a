/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PERF_REPORT_H
#define TOOLS_PERF_REPORT_H

#include <stdbool.h>

#include "tools/perf/options.h"

/** report_client - the figures of a run, as text or as one JSON object, to standard output. */
void report_client(const struct perf_options *o, const struct perf_client *c);

/** report_server - totals of a server, one line to standard output. */
void report_server(const struct perf_server *s);

/**
 * struct progress - one line on standard error that is written over and over, only
 * when that is a terminal
 */
struct progress {
	bool is_on;
	nsec_t next; /* when to write it again; NSEC_NEVER when off */
};

void progress_init(struct progress *p);

/** progress_show - if it is time. */
void progress_show(struct progress *p, const struct perf_options *o, const struct perf_client *c,
		   nsec_t now);

/** progress_end - leave an empty line. */
void progress_end(const struct progress *p);

#endif
