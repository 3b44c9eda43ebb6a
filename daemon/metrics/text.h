/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_METRICS_TEXT_H
#define DAEMON_METRICS_TEXT_H

#include "daemon/auth.h"
#include "daemon/stats_table.h"

/**
 * text - figures in the text formats of Prometheus
 *
 * Two formats: OpenMetrics 1.0, and the older text format 0.0.4. In the older one the name of a
 * counter's family ends in "_total", there are no unit lines, and there is no end mark. Labels are
 * names of routes and words of this program, never text from a peer, so their number is bounded by
 * the configuration.
 */
struct text {
	char *at; /* the text; owned, freed with mem_free() */
	size_t len, cap;
	bool is_open;	/* the format is OpenMetrics */
	bool is_broken; /* memory was short, and .at is empty */
};

/** struct text_process - values beside the figures. */
struct text_process {
	const struct gateway *gw;
	const struct auth *auth;
	int64_t start; /* start of the process, seconds since 1970 */
};

/** text_figures - write everything into @t, which is zero except .is_open. */
void text_figures(struct text *t, const struct text_process *p, const struct stats_table *f);

#endif
