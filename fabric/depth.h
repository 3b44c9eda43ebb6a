/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_DEPTH_H
#define FABRIC_DEPTH_H

#include <stdint.h>

/**
 * depth - how many Receives a shared queue should hold: as many as the load needs, whatever the
 * number of connections
 *
 * Pure counting, for every provider with shared Receives. A queue that ran low is doubled, unless
 * it holds all that peers may send. A queue that never fell below three quarters for a whole period
 * is halved. Both parts are counted from the most that the queue held in that period, because there
 * may not be memory for as many as it wants. Receives cannot be taken back from a queue: one that
 * is to shrink is not refilled.
 */
struct fabric_depth {
	uint32_t want;	/* Receives the queue should hold */
	uint32_t least; /* lower bound of .want */
	uint32_t most;	/* upper bound of .want: the queue's size */
	/* messages that all peers together may send: more Receives are of no use */
	uint32_t promised;
	uint32_t lowest;  /* fewest Receives posted at a time in this period */
	uint32_t highest; /* most Receives posted at a time in this period */
};

/** fabric_depth_init - for a queue with room for @most; it starts with @least. */
void fabric_depth_init(struct fabric_depth *d, uint32_t least, uint32_t most);

/** fabric_depth_limit - number of Receives; a device is to report when fewer are left. */
uint32_t fabric_depth_limit(const struct fabric_depth *d);

/** fabric_depth_low - the queue fell below its limit. */
void fabric_depth_low(struct fabric_depth *d);

/** fabric_depth_see - the queue has @posted Receives now: call before it is refilled, and after. */
void fabric_depth_see(struct fabric_depth *d, uint32_t posted);

/** fabric_depth_period - a period has passed. */
void fabric_depth_period(struct fabric_depth *d);

/** fabric_depth_missing - how many more Receives a queue of @posted needs. */
uint32_t fabric_depth_missing(const struct fabric_depth *d, uint32_t posted);

#endif
