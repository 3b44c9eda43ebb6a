/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_CONTROL_TRACER_H
#define DAEMON_CONTROL_TRACER_H

#include "daemon/worker_query.h"
#include "proxy/trace_ring.h"

/**
 * tracer - traces (struct trace_ring) in all workers, for one client of the control socket
 *
 * Only the main thread calls these functions. Few traces may run at a time. Each has a ring of
 * fixed size in each worker. If the client does not read fast enough, its rings become full, and
 * further records are lost.
 */
enum { TRACERS_MAX = 2 /* limit of traces at a time */ };

struct tracer;

/** struct tracers - all traces of a process. */
struct tracers {
	struct list all;
	unsigned n;
	struct worker_queries *worker_queries;
	unsigned nworkers;
};

/** tracers_init - set up @all; @worker_queries, borrowed, has @nworkers workers. */
void tracers_init(struct tracers *all, struct worker_queries *worker_queries, unsigned nworkers);

/** tracers_fini - no worker may be answering a query. */
void tracers_fini(struct tracers *all);

/** tracer_begin - start a trace; @ready is called with @arg when all workers have it. Return:
 * owned, for tracer_end(); or NULL: too many traces, or no memory. */
struct tracer *tracer_begin(struct tracers *all, enum trace_kind kind,
			    const struct trace_want *want, void (*ready)(void *arg), void *arg);

/** tracer_take - copy the next record, cut to @size, into @to. Return: its length; 0: no record
 * now. */
size_t tracer_take(struct tracer *t, void *to, size_t size);

/** tracer_lost - number of records lost so far because a ring was full. */
uint64_t tracer_lost(struct tracer *t);

/** tracer_end - takes @t, which may be NULL; @ready is not called any more. */
void tracer_end(struct tracer *t);

#endif
