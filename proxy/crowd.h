/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_CROWD_H
#define PROXY_CROWD_H

#include "base/loop.h"
#include "fabric/hosts.h"

/**
 * crowd - who may have one more session: the limits of the process, shared by all workers
 *
 * Sessions altogether and of each client host, and how fast a host may set them up: as many at once
 * as it may have, and so many a second after that. Any thread may call crowd_enter() and
 * crowd_leave(); a lock is held for a few lookups, when a session begins and when it ends, and
 * never while RPCs are carried. Nothing is allocated after crowd_new().
 */
struct crowd_config {
	uint32_t max_sessions;	    /* at least 1 */
	uint32_t max_per_client;    /* of one host; 0: .max_sessions */
	uint32_t setups_per_second; /* of one host; 0: no limit */
	uint64_t seed;
	unsigned workers; /* that share it, and the work; 0: one, or nobody who asks */
};

struct crowd;

enum crowd_answer {
	CROWD_IN,
	CROWD_FULL,   /* max_sessions */
	CROWD_CLIENT, /* max_per_client */
	CROWD_RATE,   /* setups_per_second */
};

/** crowd_new - Return: owned, or NULL. */
struct crowd *crowd_new(const struct crowd_config *cfg);

/** crowd_free - takes @c, which may be NULL and nobody is in (asserted). */
void crowd_free(struct crowd *c);

/** crowd_enter - @peer begins a session at @now. Return: CROWD_IN with *@client for
 * crowd_leave(); else why not, the first of CROWD_RATE, CROWD_CLIENT and CROWD_FULL, and nothing
 * was counted. */
enum crowd_answer crowd_enter(struct crowd *c, const struct fabric_addr *peer, nsec_t now,
			      struct host **client) WARN_UNUSED;

/** crowd_leave - its session is over. */
void crowd_leave(struct crowd *c, struct host *client);

/** CROWD_NO_ROOM - as sessions of a worker: more than any has. Where all have none they are alike. */
#define CROWD_NO_ROOM (UINT32_MAX / 2)

/** crowd_tell - @worker, one of .workers, has so many sessions now, those on their way included; or CROWD_NO_ROOM. */
void crowd_tell(struct crowd *c, unsigned worker, uint32_t sessions);

/** crowd_changes - how often crowd_tell() was called: as long as that stays crowd_is_fuller() does. It is what every turn
 * may look at, for it is written only when sessions begin and end. */
unsigned crowd_changes(const struct crowd *c);

/** crowd_is_fuller - @worker has more of them, @coming of these on their way, than the one with fewest, among many clearly
 * so: others accept the next, for each has the same memory and a processor. */
bool crowd_is_fuller(const struct crowd *c, unsigned worker, uint32_t coming);

/** crowd_sessions - how many there are. */
uint32_t crowd_sessions(struct crowd *c);

#endif
