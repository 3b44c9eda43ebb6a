/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_DEPTH_H
#define FABRIC_DEPTH_H

#include <stdint.h>

/**
 * depth - how many Receives a shared queue should hold: as many as the load needs, whatever
 * the number of connections
 *
 * Pure counting, for every provider with shared Receives. A queue that ran low is doubled, unless
 * it holds all that peers may send; one that never fell below three quarters for a whole period
 * is halved: three quarters of what it ever held in that period, for there may not be memory for
 * as many as it wants. Receives cannot be taken back from a queue: one that is to shrink is not
 * refilled.
 */
struct fabric_depth {
	uint32_t want;	   /* Receives the queue should hold */
	uint32_t least;	   /* never fewer */
	uint32_t most;	   /* never more: the queue's size */
	uint32_t promised; /* messages all peers together may send: more is of no use */
	uint32_t lowest;   /* posted at once, in this period */
	uint32_t highest;
};

/** fabric_depth_init - a queue that has room for @most begins with @least. */
void fabric_depth_init(struct fabric_depth *d, uint32_t least, uint32_t most);

/** fabric_depth_limit - what the queue has not to fall below, for a device that tells. */
uint32_t fabric_depth_limit(const struct fabric_depth *d);

/** fabric_depth_low - the queue fell below its limit. */
void fabric_depth_low(struct fabric_depth *d);

/** fabric_depth_see - it has @posted now: call before it is refilled, and after. */
void fabric_depth_see(struct fabric_depth *d, uint32_t posted);

/** fabric_depth_period - a while went by. */
void fabric_depth_period(struct fabric_depth *d);

/** fabric_depth_missing - how many a queue of @posted wants. */
uint32_t fabric_depth_missing(const struct fabric_depth *d, uint32_t posted);

#endif
