/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_DOOR_H
#define PROXY_DOOR_H

#include "base/timer.h"
#include "fabric/lobby.h"

/**
 * door - handshakes of host authentication under way at once, on one side of a route in one worker
 *
 * So many at most, and so many of one host; the others wait in the order in which they came,
 * having cost next to nothing yet. Who is inside has DOOR_PATIENCE: after that, and when all
 * places are taken and others wait, the one of the host that has most of them goes that is there
 * longest. Inside of proxy/ only.
 */
#define DOOR_PATIENCE (3 * NSEC_PER_SEC)

struct door {
	struct lobby inside; /* .most is 0: nobody needs to pass */
	unsigned each;	     /* of one host */
	struct list waiting; /* of struct door_guest */
};

/** struct door_guest - one that passes, embedded in its owner. */
struct door_guest {
	struct lobby_member member; /* .host: it is inside */
	struct list waiting;
	struct fabric_addr addr; /* whose it is */
	nsec_t since;		 /* inside */
};

/** door_init - @most places, @each for one host. Return: 0 or ERR_NOMEM; allocates no more. door_fini() is due. */
int door_init(struct door *d, unsigned most, unsigned each, uint64_t seed) WARN_UNUSED;
void door_fini(struct door *d);

void door_guest_init(struct door_guest *g);

/** door_enter - @g, of a peer at @addr, is neither inside nor waiting. Return: whether it is in; else it
 * waits for door_next(). */
bool door_enter(struct door *d, struct door_guest *g, const struct fabric_addr *addr, nsec_t now);

/** door_leave - it is over, or nobody waits for it any more; idempotent. Others may be able to enter. */
void door_leave(struct door *d, struct door_guest *g);

/** door_next - who waited and is inside now, or NULL: nobody can enter. */
struct door_guest *door_next(struct door *d, nsec_t now);

/** door_again - @g, which is inside, is as if it had just come in: others go before it. */
void door_again(struct door *d, struct door_guest *g, nsec_t now);

/** door_worst - who has to go, at @now; NULL: nobody. */
struct door_guest *door_worst(struct door *d, nsec_t now);

static inline bool door_has_waiting(const struct door *d)
{
	return !list_is_empty(&d->waiting);
}

#endif
