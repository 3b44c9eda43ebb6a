/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_PLAN_HOP_H
#define PROXY_PLAN_HOP_H

#include <stdbool.h>

#include "base/loop.h"

/**
 * hop - how far away a peer is: whether a round trip to it costs more than a copy of the octets that it
 * would fetch in one
 */
enum hop { HOP_NEAR, HOP_FAR, HOP_AUTO };

/* Where one round trip takes that long a copy of a MiB takes a small part of it. */
#define HOP_TRIP (1 * NSEC_PER_MS)

/* So many times are looked at before a peer counts as far. */
enum { HOP_TIMES = 4 };

/** struct hop_times - how long a peer took to answer: zero-initialise. */
struct hop_times {
	nsec_t least;
	unsigned n; /* up to HOP_TIMES */
};

/** hop_note - it took @took from a message to its answer: a round trip, or more. */
void hop_note(struct hop_times *t, nsec_t took);

/** hop_is_far - whether that peer is far, as it is configured or, with HOP_AUTO, by what was measured. */
bool hop_is_far(enum hop hop, const struct hop_times *t);

/** hop_is_settled - whether nothing that will be measured can change that. */
bool hop_is_settled(enum hop hop, const struct hop_times *t);

#endif
