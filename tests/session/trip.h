/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SESSION_TRIP_H
#define TESTS_SESSION_TRIP_H

#include "tests/session/world.h"

/**
 * trip - one call at a time over hops of a millisecond each way, whose data may go along in Sends: how long it takes, and
 * what crosses the network
 */

enum { TRIP_BULK = 1 << 20 /* of a Receive's second piece */, TRIP_SIZES = 15 };

/* Of data, up to TRIP_BULK. */
extern const uint32_t trip_sizes[TRIP_SIZES];

extern struct world w;

/** struct trip_moved - octets since trip_begin(), or since a test set it to zero. */
struct trip_moved {
	uint64_t read, written, messages;
};
extern struct trip_moved moved;

/** trip_begin - all of @s, but for the latency, is up and connected. */
void trip_begin(struct setup *s);

/** trip_call - one call of the first pair's client. Return: how long it took; nothing is under way any more. */
nsec_t trip_call(const struct peer_spec *spec);

/** trip_words - @words, for a struct peer_spec; they stay for the next calls. */
const uint32_t *trip_words(const uint32_t *words, unsigned n);

/** trip_load - @s with its own latency, under @load until all of that is done. */
void trip_load(const struct setup *s, const struct load *load);

/** trip_end - nothing went wrong, and everything comes back. */
void trip_end(void);

#endif
