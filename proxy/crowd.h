/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_CROWD_H
#define PROXY_CROWD_H

#include "base/loop.h"
#include "fabric/hosts.h"

/**
 * crowd - limits of sessions of the whole process, shared by all workers
 *
 * It limits the number of sessions, the number of sessions of each client host, and the rate at
 * which a host sets them up. A host may set up at once as many sessions as it may have, and after
 * that setups_per_second. Any thread may call crowd_enter() and crowd_leave(). They hold a lock for
 * a few look-ups, when a session begins and when it ends; no RPC takes the lock. Nothing is
 * allocated after crowd_new().
 */
struct crowd_config {
	uint32_t max_sessions;	    /* at least 1 */
	uint32_t max_per_client;    /* sessions of one host; 0: .max_sessions */
	uint32_t setups_per_second; /* set-ups of one host, a second; 0: no limit */
	uint64_t seed;
	unsigned workers; /* workers that publish their load here; 0: none */
};

struct crowd;

enum crowd_answer {
	CROWD_IN,
	CROWD_FULL,   /* max_sessions */
	CROWD_CLIENT, /* max_per_client */
	CROWD_RATE,   /* setups_per_second */
};

/** crowd_new - copies @cfg. Return: owned, or NULL. */
struct crowd *crowd_new(const struct crowd_config *cfg);

/** crowd_free - takes @c; @c may be NULL. No session may be left (asserted). */
void crowd_free(struct crowd *c);

/**
 * crowd_enter - @peer begins a session at @now
 *
 * Return: CROWD_IN, with *@client for crowd_leave(); or the first of CROWD_RATE, CROWD_CLIENT and
 * CROWD_FULL that applies, and then nothing was counted.
 */
enum crowd_answer crowd_enter(struct crowd *c, const struct fabric_addr *peer, nsec_t now,
			      struct host **client) WARN_UNUSED;

/** crowd_leave - a session of @client is over. */
void crowd_leave(struct crowd *c, struct host *client);

/** CROWD_NO_ROOM - published as the load of a worker without memory for a session: more than any
 * worker has. If all workers publish it they are equal. */
#define CROWD_NO_ROOM (UINT32_MAX / 2)

/** crowd_tell - publish the load of @worker, one of .workers: its sessions, those in set-up
 * included, or CROWD_NO_ROOM. */
void crowd_tell(struct crowd *c, unsigned worker, uint32_t sessions);

/**
 * crowd_changes - number of calls of crowd_tell() so far
 *
 * While it is unchanged the result of crowd_is_fuller() is, too. Each turn may read it, because it
 * is written only when sessions begin or end.
 */
unsigned crowd_changes(const struct crowd *c);

/**
 * crowd_is_fuller - whether @worker is to leave the next connection to the other workers
 *
 * True if its load exceeds that of the least loaded worker by more than a tolerance. The tolerance
 * grows with the number of sessions, and with @coming, the connections of @worker in set-up. Each
 * worker has the same memory and one processor.
 */
bool crowd_is_fuller(const struct crowd *c, unsigned worker, uint32_t coming);

/** crowd_sessions - sessions alive in the process. */
uint32_t crowd_sessions(struct crowd *c);

#endif
