/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_DOOR_H
#define PROXY_DOOR_H

#include "base/timer.h"
#include "fabric/lobby.h"

/**
 * door - limit of handshakes of host authentication under way at once, on one side of a route in
 * one worker
 *
 * State:  each handshake under way holds memory and processor time; a handshake that waits for a
 *         place holds next to nothing.
 * Danger: one host opens connections without end, and no other host can authenticate.
 * Rule:   at most .inside.most handshakes run at once, and at most .each of one host; the others
 *         wait in order of arrival. If all places are taken and handshakes wait, the longest
 *         running one of the host with most of them has to end once it is older than DOOR_PATIENCE.
 *
 * Used inside of proxy/ only.
 */
#define DOOR_PATIENCE (3 * NSEC_PER_SEC)

struct door {
	struct lobby inside; /* handshakes under way; .most is 0: there is no limit */
	unsigned each;	     /* handshakes of one host */
	struct list waiting; /* struct door_guest that wait for a place, in order of arrival */
};

/** struct door_guest - one leg that authenticates, embedded in its owner. */
struct door_guest {
	struct lobby_member member; /* .host is set while the handshake has a place */
	struct list waiting;
	struct fabric_addr addr; /* the peer's address */
	nsec_t since;		 /* when it got its place */
};

/** door_init - at most @most handshakes at once, @each of one host. Allocates here and never
 * later. Return: 0 or ERR_NOMEM; door_fini() is due. */
int door_init(struct door *d, unsigned most, unsigned each, uint64_t seed) WARN_UNUSED;
void door_fini(struct door *d);

void door_guest_init(struct door_guest *g);

/** door_enter - ask for a place for @g, of a peer at @addr. @g has no place and does not wait.
 * Return: whether it has one now; else it waits for door_next(). */
bool door_enter(struct door *d, struct door_guest *g, const struct fabric_addr *addr, nsec_t now);

/** door_leave - @g no longer has a place nor waits for one; idempotent. Others may now get one:
 * door_next(). */
void door_leave(struct door *d, struct door_guest *g);

/** door_next - give a free place to the first that may have one. Return: the one that got it, or
 * NULL. */
struct door_guest *door_next(struct door *d, nsec_t now);

/** door_again - @g keeps its place, and its time begins anew. */
void door_again(struct door *d, struct door_guest *g, nsec_t now);

/** door_worst - the handshake that has to end at @now so that another can begin; NULL: none. */
struct door_guest *door_worst(struct door *d, nsec_t now);

static inline bool door_has_waiting(const struct door *d)
{
	return !list_is_empty(&d->waiting);
}

#endif
