/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_TIMER_H
#define BASE_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"

/**
 * timer - one wait, embedded in whoever waits; timer_queue - the waits of one owner
 *
 * Nothing here allocates or reads a clock: the time comes in. Every call costs O(log n) of the
 * timers armed at most, and what most timers see, which is to be put off or given up before they
 * are due, costs less: a timer that is armed anew for later stays where it stands in the queue and
 * is moved when that time comes. So timer_next() may be early, but never late, and a run that finds
 * nothing due puts it off.
 */
struct timer {
	/** Called by timer_run() with @t not armed any more; may arm, disarm and free any timer. */
	void (*fire)(struct timer *t, nsec_t now);
	nsec_t at; /* when it is due, NSEC_NEVER unless armed; read only */

	struct timer *up, *down[2]; /* private: its place in the heap */
	nsec_t key;		    /* private: sorted by that, never after .at */
	uint64_t turn;		    /* private: among equal keys */
};

struct timer_queue {
	struct timer *first;
	size_t n; /* armed */
	uint64_t turn;
	uint64_t steps; /* timers looked at so far: what its users' turns cost, for tests */
};

/** timer_queue_init - no timer. There is nothing to give back. */
void timer_queue_init(struct timer_queue *q);

/** timer_init - not armed. */
void timer_init(struct timer *t, void (*fire)(struct timer *t, nsec_t now));

/** timer_arm - @t is due at @at, whether it was armed before or not; NSEC_NEVER: timer_disarm(). */
void timer_arm(struct timer_queue *q, struct timer *t, nsec_t at);

static inline bool timer_is_armed(const struct timer *t)
{
	return t->at != NSEC_NEVER;
}

void timer_take_out(struct timer_queue *q, struct timer *t); /* private: it is armed */

/** timer_disarm - @t is not due any more; idempotent. Before its memory is given back. Most are not armed. */
static inline void timer_disarm(struct timer_queue *q, struct timer *t)
{
	if (timer_is_armed(t))
		timer_take_out(q, t);
}

/** timer_next - no timer is due before that; NSEC_NEVER without any. */
static inline nsec_t timer_next(const struct timer_queue *q)
{
	return q->first ? q->first->key : NSEC_NEVER;
}

/**
 * timer_run - fire what is due at @now
 * @most: timers to look at: what bounds a turn
 *
 * The longest due first; those of one time as they were armed, those put off behind the others.
 * Return: whether others are due already: run again soon.
 */
bool timer_run(struct timer_queue *q, nsec_t now, unsigned most);

#endif
