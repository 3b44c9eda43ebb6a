/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_COLLECT_H
#define DAEMON_COLLECT_H

#include "daemon/inquiry.h"

/**
 * collector - the sum of all workers' counters
 *
 * One collection runs at a time, and the rate of collections is limited. A request made during a
 * collection gets the next one. Memory is two sets of figures, however many requests wait.
 */
struct collector;

/** struct collect - one request; embedded in its owner. */
struct collect {
	struct list link; /* private */
	/** Called with the result; @sum is valid until it returns. It may call collect() again. */
	void (*collected)(struct collect *c, const struct figures *sum);
};

/** collector_new - both are borrowed. Return: owned, or NULL. */
struct collector *collector_new(struct inquiries *all, const struct gateway *gw);

/** collect - request a collection. @c must stay in place until .collected is called. */
void collect(struct collector *from, struct collect *c);

/** collector_go_on - begin a collection that had to wait. */
void collector_go_on(struct collector *c);

/** collector_due - latest time for the next collector_go_on(). */
nsec_t collector_due(const struct collector *c);

/** collector_free - takes @c, which may be NULL; no worker may be answering an inquiry. */
void collector_free(struct collector *c);

#endif
