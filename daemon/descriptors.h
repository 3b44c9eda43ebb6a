/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_DESCRIPTORS_H
#define DAEMON_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>

/**
 * descriptors - how many sessions the open files of this process are enough for (RLIMIT_NOFILE)
 *
 * State: a session over fabric iwarp has a descriptor on each side, and so has each connection in set-up.
 * Danger: once none is left nobody can ask the gateway anything, or end a session.
 * Rule: sessions and connections in set-up are as many as there are descriptors for; workers use no number from
 * descriptors_for_workers() on, so that those are left to operators, reloads and look-ups of names.
 * Pinned: tests/operators/run.sh:case_descriptors
 */

/** descriptors_limit - as many as this process may have; 0: no limit that matters. */
uint32_t descriptors_limit(void);

/** descriptors_for_workers - the numbers below this; 0: all. */
uint32_t descriptors_for_workers(uint32_t limit);

/** struct descriptors_need - of what is there before the first session. */
struct descriptors_need {
	uint32_t workers, listeners;
	uint32_t hosts;	    /* servers, each probed by each worker */
	uint32_t legs;	    /* 0 to 2: descriptors of a session */
	uint32_t instances; /* of fabric iwarp, in each worker */
};

/** descriptors_bound - *@sessions and *@setups become less, where @limit is not enough for them. Return: whether it is
 * enough for any. */
bool descriptors_bound(uint32_t limit, const struct descriptors_need *need, uint32_t *sessions,
		       uint32_t *setups);

#endif
