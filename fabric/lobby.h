/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_LOBBY_H
#define FABRIC_LOBBY_H

#include "fabric/hosts.h"

/**
 * lobby - connections whose peers have not shown yet that they mean it, so many at most
 *
 * When it is full somebody has to go: of the host that has most of them, the one that is there
 * longest. So whoever fills it makes room by its own, and a host with few stays, however many come;
 * among hosts with as many each, that have one each for instance, who got there first goes first.
 * Every call is O(1), whatever is in it.
 */
struct lobby_host;

struct lobby_member {
	struct list link;
	struct lobby_host *host; /* NULL: not in it */
};

struct lobby {
	struct hosts hosts;
	unsigned most, count;
	unsigned highest;      /* no host has more members than that */
	struct list *by_count; /* of hosts that have so many, who got there first first */
};

/** lobby_init - for @most members, at least 1. Return: 0 or ERR_NOMEM; allocates no more. */
int lobby_init(struct lobby *lobby, unsigned most, uint64_t seed) WARN_UNUSED;

/** lobby_fini - after lobby_init(), whether it failed or not; its members are forgotten. */
void lobby_fini(struct lobby *lobby);

static inline bool lobby_is_full(const struct lobby *lobby)
{
	return lobby->count >= lobby->most;
}

/** lobby_enter - @m, of a peer at @addr, which is zero or has left; there is room (asserted). */
void lobby_enter(struct lobby *lobby, struct lobby_member *m, const struct fabric_addr *addr);

/** lobby_leave - @m has shown it, or is gone; idempotent. */
void lobby_leave(struct lobby *lobby, struct lobby_member *m);

/** lobby_first - who has to go first; NULL: it is empty. */
struct lobby_member *lobby_first(struct lobby *lobby);

/** lobby_count_of - how many of the host of @addr are in it. */
unsigned lobby_count_of(const struct lobby *lobby, const struct fabric_addr *addr);

/** lobby_first_of - who of the host of @addr has; NULL: it has none. */
struct lobby_member *lobby_first_of(const struct lobby *lobby, const struct fabric_addr *addr);

#endif
