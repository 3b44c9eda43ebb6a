/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_INQUIRY_H
#define DAEMON_INQUIRY_H

#include "daemon/figures.h"
#include "proxy/look.h"

/**
 * inquiry - a question or a task of the main thread for one worker
 *
 * The main thread sets a flag and wakes the worker. The worker answers between its turns, a bounded
 * piece at a time, and then wakes the main thread. Each worker has one inquiry at a time. Others
 * wait in order, and their rate is limited, because an inquiry keeps the worker from its RPCs. If
 * the worker's thread has ended, the main thread answers the inquiry itself.
 */
struct inquiry {
	struct list link;	 /* private */
	struct figures *figures; /* if not NULL: only the figures are wanted */
	/* if not NULL: only this step of a change is to be done (daemon/change.h) */
	struct change *change;
	struct look look;
	void (*answered)(struct inquiry *q); /* called by the main thread; may inquire again */
};

struct worker;
struct inquiries;

/** inquiries_new - @workers, borrowed, has @n entries. Return: owned, or NULL. */
struct inquiries *inquiries_new(struct worker **workers, unsigned n);

/** inquire - ask worker number @worker; @q must stay in place until .answered is called. */
void inquire(struct inquiries *all, struct inquiry *q, unsigned worker);

/** inquiries_run - deliver answers and begin waiting inquiries; call after each wake-up of the main
 * thread. */
void inquiries_run(struct inquiries *all);

/** inquiries_due - when to call inquiries_run() without a wake-up. */
nsec_t inquiries_due(const struct inquiries *all);

/** inquiries_free - takes @all, which may be NULL; no worker may be answering an inquiry. */
void inquiries_free(struct inquiries *all);

/** inquiry_some - called by the worker: produce a piece of the answer. Return: whether there is
 * more. */
static inline bool inquiry_some(struct inquiry *q, const struct figures_source *from, nsec_t now)
{
	if (q->figures)
		return figures_some(q->figures, from, &q->look, now);
	return proxy_look(from->proxy, &q->look, now);
}

#endif
