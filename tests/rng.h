/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_RNG_H
#define TESTS_RNG_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"

/** splitmix64: property tests draw from it and print the seed; SEED=n repeats a run. */
struct rng {
	uint64_t state;
};

static inline uint64_t rng_next(struct rng *r)
{
	return random_next(&r->state);
}

/** rng_below - uniform in 0 .. @n-1. */
static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
	return (uint32_t)(rng_next(r) % n);
}

/** rng_seeded - seed from the environment's SEED, else @fallback; printed, so that a failure can be
 * repeated. */
static inline struct rng rng_seeded(const char *what, uint64_t fallback)
{
	const char *env = getenv("SEED");
	struct rng r = {env ? strtoull(env, NULL, 0) : fallback};

	printf("%s: SEED=%llu\n", what, (unsigned long long)r.state);
	return r;
}

#endif
