/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SESSION_LIMITS_H
#define PROXY_SESSION_LIMITS_H

#include "base/loop.h"
#include "fabric/host_table.h"

/**
 * session_limits - limits of sessions of the whole process, shared by all workers
 *
 * State:  each session holds memory and a place, and its set-up takes processor time.
 * Danger: one client opens sessions without end, and no other client gets a place or is served.
 * Rule:   the number of sessions, the number of sessions of each client address, and the rate at
 *         which a client address begins sessions are limited. A client address may begin as many
 *         sessions at once as it may have, and after that .setups_per_second. A client beyond a
 *         limit is refused.
 * Pinned: tests/proxy/test_session_limits.c:limits_are_of_all_and_of_each,
 *         tests/session/test_newcomers.c:so_many_set_ups_a_second
 *
 * Any thread may call session_limits_enter() and session_limits_leave(). Both hold a lock for a few
 * look-ups, when a session begins and when it ends; no RPC takes the lock. Nothing is allocated
 * after session_limits_new().
 */
struct session_limits_config {
	uint32_t max_sessions;	    /* at least 1 */
	uint32_t max_per_client;    /* sessions of one client address; 0: .max_sessions */
	uint32_t setups_per_second; /* set-ups of one client address, a second; 0: no limit */
	uint64_t seed;		    /* for the hash of client addresses */
	unsigned workers;	    /* workers that publish their load here; 0: none */
};

struct session_limits;

enum session_limits_answer {
	SESSION_LIMITS_OK,
	SESSION_LIMITS_ALL,    /* max_sessions */
	SESSION_LIMITS_CLIENT, /* max_per_client */
	SESSION_LIMITS_RATE,   /* setups_per_second */
};

/** session_limits_new - copies @cfg. Return: owned, or NULL. */
struct session_limits *session_limits_new(const struct session_limits_config *cfg);

/** session_limits_free - takes @c; @c may be NULL. No session may be left (asserted). */
void session_limits_free(struct session_limits *c);

/**
 * session_limits_enter - @peer begins a session at @now
 *
 * Return: SESSION_LIMITS_OK, with *@client for session_limits_leave(); or the first of
 * SESSION_LIMITS_RATE, SESSION_LIMITS_CLIENT and
 * SESSION_LIMITS_ALL that applies, and then nothing was counted.
 */
enum session_limits_answer session_limits_enter(struct session_limits *c,
						const struct fabric_addr *peer, nsec_t now,
						struct host **client) WARN_UNUSED;

/** session_limits_leave - a session of @client is over. */
void session_limits_leave(struct session_limits *c, struct host *client);

/** SESSION_LIMITS_NO_MEMORY - published as the load of a worker without memory for a session: more
 * than any number of sessions. If all workers publish it, none counts as overloaded. */
#define SESSION_LIMITS_NO_MEMORY (UINT32_MAX / 2)

/** session_limits_publish - publish the load of @worker, one of .workers: its sessions, those in
 * set-up included, or SESSION_LIMITS_NO_MEMORY. */
void session_limits_publish(struct session_limits *c, unsigned worker, uint32_t sessions);

/**
 * session_limits_changes - number of calls of session_limits_publish() so far
 *
 * While it is unchanged the result of session_limits_worker_is_overloaded() is, too. Each turn may
 * read it, because it is written only when sessions begin or end.
 */
unsigned session_limits_changes(const struct session_limits *c);

/**
 * session_limits_worker_is_overloaded - whether @worker is to leave the next connection to the
 * other workers
 *
 * True if its load exceeds that of the least loaded worker by more than a tolerance. The tolerance
 * grows with the number of sessions, and with @coming, the connections of @worker in set-up. Each
 * worker has the same memory and one processor.
 */
bool session_limits_worker_is_overloaded(const struct session_limits *c, unsigned worker,
					 uint32_t coming);

/** session_limits_sessions - sessions alive in the process. */
uint32_t session_limits_sessions(struct session_limits *c);

#endif
