/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_WORKER_QUERY_H
#define DAEMON_WORKER_QUERY_H

#include "daemon/stats_table.h"
#include "proxy/snapshot.h"

/**
 * worker_query - a question or a task of the main thread for one worker
 *
 * The main thread sets a flag and wakes the worker. The worker answers between its turns, a bounded
 * piece at a time, and then wakes the main thread. Each worker has one query at a time. Others
 * wait in order, and their rate is limited, because a query keeps the worker from its RPCs. If
 * the worker's thread has ended, the main thread answers the query itself.
 */
struct worker_query {
	struct list link;	     /* private */
	struct stats_table *figures; /* if not NULL: only the figures are wanted */
	/* if not NULL: only this step of a change is to be done (daemon/change.h) */
	struct change *change;
	struct snapshot snapshot;
	/* Called by the main thread; may begin another query. */
	void (*answered)(struct worker_query *q);
};

struct worker;
struct worker_queries;

/** worker_queries_new - @workers, borrowed, has @n entries. Return: owned, or NULL. */
struct worker_queries *worker_queries_new(struct worker **workers, unsigned n);

/** worker_query_begin - ask worker number @worker. @q must stay in place until .answered is
 * called. */
void worker_query_begin(struct worker_queries *all, struct worker_query *q, unsigned worker);

/** worker_queries_run - deliver answers and begin waiting queries. Call it after each wake-up of
 * the main thread. */
void worker_queries_run(struct worker_queries *all);

/** worker_queries_due - when to call worker_queries_run() without a wake-up. */
nsec_t worker_queries_due(const struct worker_queries *all);

/** worker_queries_free - takes @all, which may be NULL; no worker may be answering a query. */
void worker_queries_free(struct worker_queries *all);

/** worker_query_some - called by the worker: produce a piece of the answer. Return: whether there
 * is more to answer. */
static inline bool worker_query_some(struct worker_query *q, const struct stats_table_source *from,
				     nsec_t now)
{
	if (q->figures)
		return stats_table_some(q->figures, from, &q->snapshot, now);
	return proxy_snapshot(from->proxy, &q->snapshot, now);
}

#endif
