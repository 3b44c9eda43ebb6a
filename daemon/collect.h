/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_COLLECT_H
#define DAEMON_COLLECT_H

#include "daemon/inquiry.h"

/**
 * collector - the figures of all workers together, for whoever wants them
 *
 * One collection goes on at a time, and so many begin in a second; who asks meanwhile gets the next. Memory is that of
 * two sets of figures, however many ask.
 */
struct collector;

/** struct collect - one who wants them; embedded in its owner. */
struct collect {
	struct list link; /* private */
	/** @sum is good until it returns; may ask again. */
	void (*collected)(struct collect *c, const struct figures *sum);
};

/** collector_new - both are borrowed. Return: owned, or NULL. */
struct collector *collector_new(struct inquiries *all, const struct gateway *gw);

/** collect - @c stays where it is until .collected is called. */
void collect(struct collector *from, struct collect *c);

/** collector_go_on - begins what had to wait. */
void collector_go_on(struct collector *c);

/** collector_due - when that is to be called at the latest. */
nsec_t collector_due(const struct collector *c);

/** collector_free - takes @c, which may be NULL; once no thread works on an inquiry. */
void collector_free(struct collector *c);

#endif
