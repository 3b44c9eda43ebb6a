/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PERF_STATS_H
#define TOOLS_PERF_STATS_H

#include <stdint.h>

#include "base/loop.h"

/**
 * struct latency - a histogram of times with a relative error below 1/64: each
 * power of two is cut into equal parts. Adding costs a shift and an increment.
 */
enum {
	LATENCY_SUB_BITS = 6,
	LATENCY_OCTAVES = 42,
	LATENCY_BUCKETS = LATENCY_OCTAVES << LATENCY_SUB_BITS
};

struct latency {
	uint64_t count;
	nsec_t max;
	uint64_t bucket[LATENCY_BUCKETS];
};

/** latency_add - add one sample; times beyond the last bucket (hours) count in it. */
void latency_add(struct latency *l, nsec_t ns);

/** latency_merge - add the samples of @from to @to. */
void latency_merge(struct latency *to, const struct latency *from);

/** latency_quantile - the time that @per_million of a million samples do not exceed; 0 without
 * samples. */
nsec_t latency_quantile(const struct latency *l, uint32_t per_million);

#endif
