/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_STATS_COLLECTOR_H
#define DAEMON_STATS_COLLECTOR_H

#include "daemon/worker_query.h"

/**
 * stats_collector - the sum of all workers' counters
 *
 * One collection runs at a time, and the rate of collections is limited. A request made during a
 * collection gets the next one. Memory is two sets of figures, however many requests wait.
 */
struct stats_collector;

/** struct stats_collect - one request; embedded in its owner. */
struct stats_collect {
	struct list link; /* private */
	/** Called with the result; @sum is valid until it returns. It may call collect() again. */
	void (*collected)(struct stats_collect *c, const struct stats_table *sum);
};

/** stats_collector_new - both are borrowed. Return: owned, or NULL. */
struct stats_collector *stats_collector_new(struct worker_queries *all, const struct gateway *gw);

/** collect - request a collection. @c must stay in place until .collected is called, or until
 * collect_cancel(). */
void collect(struct stats_collector *from, struct stats_collect *c);

/** collect_cancel - @c, which collect() was called with, is not called any more. */
void collect_cancel(struct stats_collect *c);

/** stats_collector_go_on - begin a collection that had to wait. */
void stats_collector_go_on(struct stats_collector *c);

/** stats_collector_due - latest time for the next stats_collector_go_on(). */
nsec_t stats_collector_due(const struct stats_collector *c);

/** stats_collector_free - takes @c, which may be NULL; no worker may be answering a query. */
void stats_collector_free(struct stats_collector *c);

#endif
