/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_LOBBY_H
#define FABRIC_LOBBY_H

#include "fabric/hosts.h"

/**
 * lobby - a bounded set of connections that have not sent their first message
 *
 * State:  connections that have sent nothing hold memory and descriptors.
 * Danger: one host fills the set, and no other host can connect.
 * Rule:   when the set is full, one member has to go: the oldest member of the host with the most
 *         members. So a host that fills the set displaces its own connections, and a host with few
 *         keeps them. Among hosts with equal counts the host that reached that count first loses
 *         its oldest.
 * Pinned: tests/fabric/test_lobby.c:a_host_with_many_displaces_its_own,
 *         :among_equals_the_oldest_goes, decision 66.
 *
 * Every call is O(1), whatever is in it.
 */
struct lobby_host;

struct lobby_member {
	struct list link;
	struct lobby_host *host; /* NULL: it is in no lobby */
};

struct lobby {
	struct hosts hosts;
	unsigned most, count;
	unsigned highest; /* members of the host with the most */
	/* hosts by their number of members; among equals, the host that reached it first is
	 * first */
	struct list *by_count;
};

/** lobby_init - for @most members, at least 1. Return: 0 or ERR_NOMEM. No later call allocates. */
int lobby_init(struct lobby *lobby, unsigned most, uint64_t seed) WARN_UNUSED;

/** lobby_fini - after lobby_init(), whether it failed or not; members are not touched. */
void lobby_fini(struct lobby *lobby);

static inline bool lobby_is_full(const struct lobby *lobby)
{
	return lobby->count >= lobby->most;
}

/** lobby_enter - adds @m, for a peer at @addr. @m is zero or has left; there is room (asserted). */
void lobby_enter(struct lobby *lobby, struct lobby_member *m, const struct fabric_addr *addr);

/** lobby_leave - @m has sent its first message, or is gone; idempotent. */
void lobby_leave(struct lobby *lobby, struct lobby_member *m);

/** lobby_first - the member that has to go first; NULL: the lobby is empty. */
struct lobby_member *lobby_first(struct lobby *lobby);

/** lobby_count_of - how many members are of the host of @addr. */
unsigned lobby_count_of(const struct lobby *lobby, const struct fabric_addr *addr);

/** lobby_first_of - the oldest member of the host of @addr; NULL: it has none. */
struct lobby_member *lobby_first_of(const struct lobby *lobby, const struct fabric_addr *addr);

#endif
