/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_PLAN_HOP_H
#define PROXY_PLAN_HOP_H

#include <stdbool.h>

#include "base/loop.h"

/**
 * hop - how far away a peer is: whether a round trip to it costs more than a copy of the octets
 * that it would fetch in one
 */
enum hop { HOP_NEAR, HOP_FAR, HOP_AUTO };

/* Round trips of this length, in ns, or longer make a peer far: a copy of 1 MiB takes a small part
 * of this time. */
#define HOP_TRIP (1 * NSEC_PER_MS)

/* Times measured before a peer counts as far. */
enum { HOP_TIMES = 4 };

/** struct hop_times - how long a peer took to answer; zero-initialise. */
struct hop_times {
	nsec_t least; /* shortest time noted, ns */
	unsigned n;   /* up to HOP_TIMES */
};

/** hop_note - the peer took @took from a message to its answer: one round trip or more. */
void hop_note(struct hop_times *t, nsec_t took);

/** hop_is_far - whether the peer is far: as configured or, with HOP_AUTO, as measured. */
bool hop_is_far(enum hop hop, const struct hop_times *t);

/** hop_is_settled - whether no further measurement can change the result of hop_is_far(). */
bool hop_is_settled(enum hop hop, const struct hop_times *t);

#endif
