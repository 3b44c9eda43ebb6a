/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_LOOP_POLLING_H
#define DAEMON_LOOP_POLLING_H

#include <stdbool.h>

#include "base/loop.h"

/**
 * struct polling - whether to busy-poll or to block for the next event
 *
 * Polling saves the time to wake a processor that sleeps. Polling harms if the peer needs the same
 * processor, or if the next event comes late. How long waking takes, and what peers need, is
 * different on each machine and changes with the load. The lengths of the waits show it.
 *
 * Rule:
 * - Waits are counted in blocks of POLLING_BLOCK. All waits of a block are polled, or none.
 * - The next block is polled if polled waits were shorter than blocked ones by a sixth. Each mean
 *   is that of the last block of its kind.
 * - One of POLLING_TRIAL blocks is a trial: it is polled if the block before it was not, and not
 *   polled if the block before it was.
 * - A poll takes up to twice the mean of blocked waits, between a fifth of .most and .most.
 * - A poll without an event is a miss. A miss adds the time of the poll to its wait. A block ends
 *   early after POLLING_MISSES misses.
 *
 * Times are in ns. A wait longer than .most counts as .most.
 */
struct polling {
	nsec_t most;			/* longest busy-poll; 0: never */
	bool polls;			/* waits of this block are polled */
	unsigned blocks, waits, misses; /* blocks so far; waits and misses in this block */
	nsec_t sum;			/* of the waits of this block */
	nsec_t mean[2];			/* of the last blocks: [false] blocked, [true] polled */
};

enum {
	POLLING_BLOCK = 256,
	POLLING_TRIAL = 32,
	POLLING_MISSES = POLLING_BLOCK / 8,
};

/** polling_init - nothing is known yet: the first block is not polled, the second is. */
void polling_init(struct polling *p, nsec_t most);

/** polling_time - how long to busy-poll before blocking; 0: not at all. */
nsec_t polling_time(const struct polling *p);

/** polling_note - the next event came after @waited; NSEC_NEVER: a deadline passed first. */
void polling_note(struct polling *p, nsec_t waited);

#endif
