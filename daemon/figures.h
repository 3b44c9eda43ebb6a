/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_FIGURES_H
#define DAEMON_FIGURES_H

#include "daemon/gateway.h"
#include "proxy/look.h"

/**
 * figures - what is counted, in one place: answers to SIGUSR1, the control socket and the metrics
 * are all made of these, by these tables, and so agree
 */

/** struct figure - one of struct proxy_counters, or of what is known of servers. */
struct figure {
	const char *name; /* in the log and in JSON */
	size_t offset;
	const char *metric; /* behind its prefix, without "_total" */
	const char *unit;   /* "bytes", or NULL */
	const char *help;
	bool is_state; /* it may fall */
};

extern const struct figure figures_relayed[];
extern const unsigned figures_nrelayed;

/* Of struct server_figures, each server's; of struct servers_figures, all of a route's servers together. */
extern const struct figure figures_server[], figures_servers[];
extern const unsigned figures_nserver, figures_nservers;

/** figure_at - @f of the structure @of that its table is about. */
static inline uint64_t figure_at(const void *of, const struct figure *f)
{
	return *(const uint64_t *)(const void *)((const uint8_t *)of + f->offset);
}

static inline uint64_t figure_of(const struct proxy_counters *c, const struct figure *f)
{
	return figure_at(c, f);
}

enum { FIGURES_FABRIC = 32 };

/** struct figures - of one worker, or of all together. */
struct figures {
	uint64_t sessions; /* alive */
	struct look_memory memory;
	uint64_t fabric[PROVIDER_KINDS][FIGURES_FABRIC]; /* as provider_counters() has them */
	struct proxy_counters total;
	unsigned nroutes; /* slots of routes */
	struct proxy_counters routes[];
};

/** struct figures_source - one worker's; all borrowed. */
struct figures_source {
	const struct gateway *gw;
	struct fabric **fabrics;
	struct proxy *proxy;
};

/** figures_new - all zero. Return: owned, mem_free(); or NULL. */
struct figures *figures_new(unsigned nroutes);

/** figures_clear - all zero again. */
void figures_clear(struct figures *f);

/** figures_some - a piece of what @from has, into @f, which was cleared; @l: private to this, zero at first. It makes a worker
 * stand still: as little as can be is done here, and figures_total() is due. Return: whether there is more. */
bool figures_some(struct figures *f, const struct figures_source *from, struct look *l,
		  nsec_t now) WARN_UNUSED;

/** figures_total - .total, which so far was what routes that are gone had, is that of all. */
void figures_total(struct figures *f);

/** figures_take - all at once. */
void figures_take(struct figures *f, const struct figures_source *from);

/** figures_fold - those of a route under each of its settings are one route's: gateway_has(). */
void figures_fold(struct figures *f, const struct gateway *gw);

/** figures_add - @more to @sum. */
void figures_add(struct figures *sum, const struct figures *more);

/** figures_open_process - what figures_process() reads later is opened, once; before the sandbox. */
void figures_open_process(void);

/** struct figures_process - of the process, now; zero where figures_open_process() found nothing. */
struct figures_process {
	unsigned descriptors;
	uint64_t resident_bytes, heap_live, heap_allocs, heap_bytes;
};

void figures_process(struct figures_process *p);

#endif
