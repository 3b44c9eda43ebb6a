/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_METRICS_TEXT_H
#define DAEMON_METRICS_TEXT_H

#include "daemon/auth.h"
#include "daemon/figures.h"

/**
 * text - figures in the words of Prometheus
 *
 * Two forms: OpenMetrics 1.0, and the older text format 0.0.4, where a counter's family has "_total" in
 * its name, units have no line, and there is no end. Labels are names of routes and words of
 * this program, never what a peer says: what there is to tell is bounded by the configuration.
 */
struct text {
	char *at; /* mem_free() */
	size_t len, cap;
	bool is_open;	/* OpenMetrics */
	bool is_broken; /* memory was short: there is nothing in it */
};

/** struct text_process - what is told beside the figures. */
struct text_process {
	const struct gateway *gw;
	const struct auth *auth;
	int64_t start; /* seconds since 1970 */
};

/** text_figures - all of it, into @t, zero but for .is_open. */
void text_figures(struct text *t, const struct text_process *p, const struct figures *f);

#endif
