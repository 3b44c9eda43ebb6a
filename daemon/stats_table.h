/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_STATS_TABLE_H
#define DAEMON_STATS_TABLE_H

#include "daemon/gateway.h"
#include "proxy/snapshot.h"

/**
 * stats_table - all counters, in one place. The report for SIGUSR1, the control socket and the
 * metrics use these tables, so their values agree.
 */

/** struct figure - one counter of struct proxy_counters, or of the figures of servers. */
struct figure {
	const char *name; /* name in the log and in JSON */
	size_t offset;
	const char *metric; /* name of the metric, without its prefix and without "_total" */
	const char *unit;   /* "bytes", or NULL */
	const char *help;
	bool is_state; /* a gauge: the value may fall */
};

extern const struct figure stats_table_relayed[];
extern const unsigned stats_table_nrelayed;

/* Tables for struct server_figures (one server) and for struct servers_figures (all servers of a
 * route). */
extern const struct figure stats_table_server[], stats_table_servers[];
extern const unsigned stats_table_nserver, stats_table_nservers;

/** figure_at - value of counter @f in the structure @of that its table describes. */
static inline uint64_t figure_at(const void *of, const struct figure *f)
{
	return *(const uint64_t *)(const void *)((const uint8_t *)of + f->offset);
}

static inline uint64_t figure_of(const struct proxy_counters *c, const struct figure *f)
{
	return figure_at(c, f);
}

enum { FIGURES_FABRIC = 32 };

/** struct stats_table - the figures of one worker, or their sum over all workers. */
struct stats_table {
	uint64_t sessions; /* number of current sessions */
	struct snapshot_memory memory;
	uint64_t fabric[PROVIDER_KINDS][FIGURES_FABRIC]; /* in the order of provider_counters() */
	struct proxy_counters total;
	unsigned nroutes; /* number of route slots */
	struct proxy_counters routes[];
};

/** struct stats_table_source - where one worker's figures come from; all borrowed. */
struct stats_table_source {
	const struct gateway *gw;
	struct fabric **fabrics;
	struct proxy *proxy;
};

/** stats_table_new - all zero. Return: owned, mem_free(); or NULL. */
struct stats_table *stats_table_new(unsigned nroutes);

/** stats_table_clear - set all figures to zero. */
void stats_table_clear(struct stats_table *f);

/** stats_table_some - copy a part of @from's figures into @f, which was cleared. @l: the position,
 * private, zero at first. The worker cannot serve RPCs meanwhile, so each call copies little, and
 * stats_table_total() adds up later. Return: whether there is more to copy. */
bool stats_table_some(struct stats_table *f, const struct stats_table_source *from,
		      struct snapshot *l, nsec_t now) WARN_UNUSED;

/** stats_table_total - compute .total. Before the call .total holds only the counters of removed
 * routes. */
void stats_table_total(struct stats_table *f);

/** stats_table_take - copy all figures at once. */
void stats_table_take(struct stats_table *f, const struct stats_table_source *from);

/** stats_table_fold - add the counters of all slots of a route to the slot that represents it:
 * gateway_has(). */
void stats_table_fold(struct stats_table *f, const struct gateway *gw);

/** stats_table_add - add @more to @sum. */
void stats_table_add(struct stats_table *sum, const struct stats_table *more);

/** stats_table_open_process - open the files that stats_table_process() reads. Call it once, before
 * the sandbox. */
void stats_table_open_process(void);

/** struct stats_table_process - current values of the process. They are zero if
 * stats_table_open_process() could not open its files. */
struct stats_table_process {
	unsigned descriptors;
	uint64_t resident_bytes, heap_live, heap_allocs, heap_bytes;
};

/** stats_table_process - fill @p with the current values. */
void stats_table_process(struct stats_table_process *p);

#endif
