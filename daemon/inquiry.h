/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_INQUIRY_H
#define DAEMON_INQUIRY_H

#include "daemon/figures.h"
#include "proxy/look.h"

/**
 * inquiry - what the main thread wants to know of one worker, or to be done there
 *
 * Handed over by a flag and a wake-up; the worker answers between its turns, a bounded piece at a
 * time, and wakes the main thread. Each worker has one at a time, others wait in order, and so many a second:
 * each keeps it from its work, and nobody who asks without end gets more of that. A worker
 * whose thread is over is asked all the same: then the main thread looks for itself.
 */
struct inquiry {
	struct list link;	 /* private */
	struct figures *figures; /* if not NULL: these alone are wanted */
	struct change *change;	 /* if not NULL: this alone, a step of it (daemon/change.h) */
	struct look look;
	void (*answered)(struct inquiry *q); /* by the main thread; may inquire anew */
};

struct worker;
struct inquiries;

/** inquiries_new - @workers, borrowed, are @n. Return: owned, or NULL. */
struct inquiries *inquiries_new(struct worker **workers, unsigned n);

/** inquire - of @worker; @q stays where it is until .answered is called. */
void inquire(struct inquiries *all, struct inquiry *q, unsigned worker);

/** inquiries_run - hear answers, pass on what waits; after each wake-up of the main thread. */
void inquiries_run(struct inquiries *all);

/** inquiries_due - when it is to be called without a wake-up. */
nsec_t inquiries_due(const struct inquiries *all);

/** inquiries_free - takes @all, which may be NULL; once no thread works on any of them. */
void inquiries_free(struct inquiries *all);

/** inquiry_some - by the worker: a piece of the answer. Return: whether there is more. */
static inline bool inquiry_some(struct inquiry *q, const struct figures_source *from, nsec_t now)
{
	if (q->figures)
		return figures_some(q->figures, from, &q->look, now);
	return proxy_look(from->proxy, &q->look, now);
}

#endif
