/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_FIGURES_H
#define DAEMON_FIGURES_H

#include "daemon/gateway.h"
#include "proxy/look.h"

/**
 * figures - all counters, in one place. The report for SIGUSR1, the control socket and the metrics
 * use the same tables, and so agree.
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

extern const struct figure figures_relayed[];
extern const unsigned figures_nrelayed;

/* Tables for struct server_figures (one server) and for struct servers_figures (all servers of a
 * route). */
extern const struct figure figures_server[], figures_servers[];
extern const unsigned figures_nserver, figures_nservers;

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

/** struct figures - of one worker, or summed over all. */
struct figures {
	uint64_t sessions; /* current sessions */
	struct look_memory memory;
	uint64_t fabric[PROVIDER_KINDS][FIGURES_FABRIC]; /* in the order of provider_counters() */
	struct proxy_counters total;
	unsigned nroutes; /* number of route slots */
	struct proxy_counters routes[];
};

/** struct figures_source - where one worker's figures come from; all borrowed. */
struct figures_source {
	const struct gateway *gw;
	struct fabric **fabrics;
	struct proxy *proxy;
};

/** figures_new - all zero. Return: owned, mem_free(); or NULL. */
struct figures *figures_new(unsigned nroutes);

/** figures_clear - set all figures to zero. */
void figures_clear(struct figures *f);

/** figures_some - copy a part of @from's figures into @f, which was cleared. @l is the private
 * position, zero at first. The worker is stopped meanwhile, so each call copies little, and
 * figures_total() adds up later. Return: whether there is more. */
bool figures_some(struct figures *f, const struct figures_source *from, struct look *l,
		  nsec_t now) WARN_UNUSED;

/** figures_total - compute .total. Before the call it holds only the counters of removed routes. */
void figures_total(struct figures *f);

/** figures_take - copy all figures at once. */
void figures_take(struct figures *f, const struct figures_source *from);

/** figures_fold - add the counters of all slots of a route to the slot that represents it:
 * gateway_has(). */
void figures_fold(struct figures *f, const struct gateway *gw);

/** figures_add - add @more to @sum. */
void figures_add(struct figures *sum, const struct figures *more);

/** figures_open_process - open, once and before the sandbox, the files that figures_process()
 * reads. */
void figures_open_process(void);

/** struct figures_process - current values of the process; zero if figures_open_process() could not
 * open its files. */
struct figures_process {
	unsigned descriptors;
	uint64_t resident_bytes, heap_live, heap_allocs, heap_bytes;
};

void figures_process(struct figures_process *p);

#endif
