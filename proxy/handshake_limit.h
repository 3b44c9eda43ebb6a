/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_HANDSHAKE_LIMIT_H
#define PROXY_HANDSHAKE_LIMIT_H

#include "base/timer.h"
#include "fabric/preauth_queue.h"

/**
 * handshake_limit - limit of handshakes of host authentication under way at once, on one side of a
 * route in one worker
 *
 * State:  each handshake under way holds memory and processor time; a handshake that waits for a
 *         place holds next to nothing.
 * Danger: one client opens connections without end, and no other client can authenticate.
 * Rule:   at most .inside.most handshakes run at once, and at most .each of one client address, or
 *         of one server; the others wait in order of arrival. If all places are taken and
 *         handshakes wait, the longest running one of the client address, or server, with most of
 *         them has to end once it is older than HANDSHAKE_SLOT_TIME.
 * Pinned: tests/session/test_hostauth.c:a_handshake_that_waits_too_long_is_closed
 *
 * Used inside of proxy/ only.
 */
#define HANDSHAKE_SLOT_TIME (3 * NSEC_PER_SEC)

struct leg;

struct handshake_limit {
	struct preauth_queue inside; /* handshakes under way; .most is 0: there is no limit */
	unsigned each;		     /* most of one client address, or server, in .inside */
	struct list waiting; /* struct handshake_slot that wait for a place, in order of arrival */
};

/** struct handshake_slot - one leg that authenticates, embedded in its owner. */
struct handshake_slot {
	struct leg *leg;		    /* the owner's, borrowed */
	struct preauth_queue_member member; /* .host is set while the handshake has a place */
	struct list waiting;
	struct fabric_addr addr; /* the peer's address */
	nsec_t since;		 /* when it got its place */
};

/** handshake_limit_init - at most @most handshakes at once, @each of one client address or server.
 * Allocates here and never later. Return: 0 or ERR_NOMEM; handshake_limit_fini() is due. */
int handshake_limit_init(struct handshake_limit *d, unsigned most, unsigned each,
			 uint64_t seed) WARN_UNUSED;
void handshake_limit_fini(struct handshake_limit *d);

/** handshake_slot_init - @g, for @leg, has no place and does not wait. */
void handshake_slot_init(struct handshake_slot *g, struct leg *leg);

/** handshake_limit_enter - ask for a place for @g, of a peer at @addr. @g has no place and does not
 * wait. Return: whether it has one now; else it waits for handshake_limit_next(). */
bool handshake_limit_enter(struct handshake_limit *d, struct handshake_slot *g,
			   const struct fabric_addr *addr, nsec_t now);

/** handshake_limit_leave - @g no longer has a place nor waits for one; idempotent. Another
 * handshake may now get the place: handshake_limit_next(). */
void handshake_limit_leave(struct handshake_limit *d, struct handshake_slot *g);

/** handshake_limit_next - give a free place to the first waiting handshake that may have one.
 * Return: its slot, or NULL. */
struct handshake_slot *handshake_limit_next(struct handshake_limit *d, nsec_t now);

/** handshake_limit_again - @g keeps its place, and its time begins anew. */
void handshake_limit_again(struct handshake_limit *d, struct handshake_slot *g, nsec_t now);

/** handshake_limit_worst - the handshake that has to end at @now so that another can begin; NULL:
 * none. */
struct handshake_slot *handshake_limit_worst(struct handshake_limit *d, nsec_t now);

static inline bool handshake_limit_has_waiting(const struct handshake_limit *d)
{
	return !list_is_empty(&d->waiting);
}

#endif
