/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_DEPTH_H
#define FABRIC_DEPTH_H

#include <stdint.h>

/**
 * depth - how many Receives a shared queue should hold: as many as the load needs, whatever the
 * number of connections
 *
 * Pure counting, for every provider with shared Receives.
 * - The wanted depth is doubled when the queue ran low, unless the queue holds all messages that
 *   peers may send.
 * - The wanted depth becomes half of the period's highest number of Receives, if the queue held
 *   three quarters of that number, or more, for the whole period.
 * - Three quarters and the half are those of the highest number, not of the wanted depth, because
 *   there may not be memory for as many Receives as wanted.
 * - Receives cannot be taken back from a queue. A queue shrinks because it is not refilled.
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

/** fabric_depth_init - for a queue with room for @most Receives, which wants @least at first. */
void fabric_depth_init(struct fabric_depth *d, uint32_t least, uint32_t most);

/** fabric_depth_limit - number of Receives below which the queue runs low. */
uint32_t fabric_depth_limit(const struct fabric_depth *d);

/** fabric_depth_low - the queue fell below fabric_depth_limit(). */
void fabric_depth_low(struct fabric_depth *d);

/** fabric_depth_see - the queue has @posted Receives now. Call it before and after each refill. */
void fabric_depth_see(struct fabric_depth *d, uint32_t posted);

/** fabric_depth_period - a period has passed. */
void fabric_depth_period(struct fabric_depth *d);

/** fabric_depth_missing - how many more Receives a queue of @posted needs. */
uint32_t fabric_depth_missing(const struct fabric_depth *d, uint32_t posted);

#endif
