/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_TIMER_H
#define BASE_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"

/**
 * timer - one deadline, embedded in its owner; timer_queue - the deadlines of one owner
 *
 * Nothing here allocates or reads a clock: the time comes in. Every call costs at most O(log n) of
 * the timers armed. Most timers are put off or disarmed before they are due, and that costs less: a
 * timer that is armed again for later keeps its place in the queue and is moved when its old time
 * comes. So timer_next() may be early, but never late, and a run that finds nothing due moves such
 * timers.
 */
struct timer {
	/** Called by timer_run() with @t not armed any more; may arm, disarm and free any timer. */
	void (*fire)(struct timer *t, nsec_t now);
	nsec_t at; /* when it is due; NSEC_NEVER: not armed; read only */

	struct timer *up, *down[2]; /* private: its place in the heap */
	nsec_t key;		    /* private: sort key, never after .at */
	uint64_t turn;		    /* private: order among equal keys */
};

struct timer_queue {
	struct timer *first;
	size_t n; /* number of armed timers */
	uint64_t turn;
	uint64_t steps; /* timers looked at so far: a measure of cost, for tests */
};

/** timer_queue_init - an empty queue. There is nothing to free. */
void timer_queue_init(struct timer_queue *q);

/** timer_init - not armed. */
void timer_init(struct timer *t, void (*fire)(struct timer *t, nsec_t now));

/** timer_arm - @t is due at @at, whether it was armed before or not; NSEC_NEVER: timer_disarm(). */
void timer_arm(struct timer_queue *q, struct timer *t, nsec_t at);

static inline bool timer_is_armed(const struct timer *t)
{
	return t->at != NSEC_NEVER;
}

void timer_take_out(struct timer_queue *q, struct timer *t); /* private: @t is armed */

/** timer_disarm - @t is not due any more; idempotent. Call it before the timer's memory is
 * freed. (Inline, because most timers are not armed.) */
static inline void timer_disarm(struct timer_queue *q, struct timer *t)
{
	if (timer_is_armed(t))
		timer_take_out(q, t);
}

/** timer_next - no timer is due before this time; NSEC_NEVER if there is none. */
static inline nsec_t timer_next(const struct timer_queue *q)
{
	return q->first ? q->first->key : NSEC_NEVER;
}

/**
 * timer_run - call .fire of the timers due at @now
 * @most: most timers to look at, which bounds the time of a turn
 *
 * The timer that has been due longest is the first. Timers that are due at the same time follow in
 * the order in which they were armed; a timer that was put off is behind the others.
 * Return: whether more timers are due already: call again soon.
 */
bool timer_run(struct timer_queue *q, nsec_t now, unsigned most);

#endif
