/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_DESCRIPTORS_H
#define DAEMON_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>

/**
 * descriptors - how many sessions the limit of open files (RLIMIT_NOFILE) allows
 *
 * State:  a session has one descriptor on each side that is on fabric iwarp, and each connection in
 *         set-up has one.
 * Danger: when no descriptor is left, operators can neither query the gateway nor end a session.
 * Rule:   sessions and connections in set-up are limited to the descriptors there are. Workers use
 *         no descriptor number from descriptors_for_workers() on: these are left for operators,
 *         reloads and look-ups of names.
 * Pinned: tests/operators/run.sh:case_descriptors
 */

/** descriptors_limit - how many descriptors this process may have; 0: more than the process can
 * use. */
uint32_t descriptors_limit(void);

/** descriptors_for_workers - workers use only descriptor numbers below the result; 0: any. */
uint32_t descriptors_for_workers(uint32_t limit);

/** struct descriptors_need - descriptors in use before the first session. */
struct descriptors_need {
	uint32_t workers, listeners;
	uint32_t hosts;	    /* servers; each worker probes each of them */
	uint32_t legs;	    /* descriptors of a session, 0 to 2 */
	uint32_t instances; /* number of instances of fabric iwarp in each worker */
};

/** descriptors_bound - lower *@sessions and *@setups to what @limit allows. Return: whether it
 * allows any session. */
bool descriptors_bound(uint32_t limit, const struct descriptors_need *need, uint32_t *sessions,
		       uint32_t *setups);

#endif
