/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SESSION_TRIP_H
#define TESTS_SESSION_TRIP_H

#include "tests/session/world.h"

/**
 * trip - one call at a time, over hops of a millisecond each way, with data that may travel in
 * Sends: how long a call takes, and what crosses the network
 */

enum { TRIP_BULK = 1 << 20 /* octets of a Receive's second piece */, TRIP_SIZES = 15 };

/* Sizes of data, octets, up to TRIP_BULK. */
extern const uint32_t trip_sizes[TRIP_SIZES];

extern struct world w;

/** struct trip_moved - octets since trip_begin(), or since a test set it to zero. */
struct trip_moved {
	uint64_t read, written, messages;
};
extern struct trip_moved moved;

/** trip_begin - set up and connect @s, which then has the latency of a hop. */
void trip_begin(struct setup *s);

/** trip_call - make one call of the first pair's client. Return: how long it took; then nothing is
 * in flight. */
nsec_t trip_call(const struct peer_spec *spec);

/** trip_words - keep @words for a struct peer_spec; they stay valid for the next calls. */
const uint32_t *trip_words(const uint32_t *words, unsigned n);

/** trip_load - run @s with its own latency, under @load, until all calls are done. */
void trip_load(const struct setup *s, const struct load *load);

/** trip_end - check that nothing failed and that everything is returned. */
void trip_end(void);

#endif
