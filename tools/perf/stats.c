/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/perf/stats.h"

enum { SUB = 1 << LATENCY_SUB_BITS };

/* Below 2 * SUB a value is its own index; beyond that each octave has SUB buckets. */
static unsigned index_of(nsec_t ns)
{
	unsigned shift, i;

	if (ns < SUB)
		return (unsigned)ns;
	shift = 63 - (unsigned)__builtin_clzll(ns) - LATENCY_SUB_BITS;
	i = ((shift + 1) << LATENCY_SUB_BITS) + (unsigned)((ns >> shift) & (SUB - 1));
	return i < LATENCY_BUCKETS ? i : LATENCY_BUCKETS - 1;
}

/* Middle of bucket @i. */
static nsec_t value_of(unsigned i)
{
	unsigned shift = i >> LATENCY_SUB_BITS;
	nsec_t low;

	if (shift == 0)
		return i;
	shift--;
	low = ((nsec_t)SUB + (i & (SUB - 1))) << shift;
	return low + (((nsec_t)1 << shift) >> 1);
}

void latency_add(struct latency *l, nsec_t ns)
{
	l->count++;
	if (ns > l->max)
		l->max = ns;
	l->bucket[index_of(ns)]++;
}

void latency_merge(struct latency *to, const struct latency *from)
{
	to->count += from->count;
	if (from->max > to->max)
		to->max = from->max;
	for (unsigned i = 0; i < LATENCY_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
}

nsec_t latency_quantile(const struct latency *l, uint32_t per_million)
{
	uint64_t want = (uint64_t)((__uint128_t)l->count * per_million / 1000000), seen = 0;
	nsec_t value;

	if (l->count == 0)
		return 0;
	if (want >= l->count)
		want = l->count - 1;
	for (unsigned i = 0; i < LATENCY_BUCKETS; i++) {
		seen += l->bucket[i];
		if (seen <= want)
			continue;
		value = value_of(i);
		return value < l->max ? value : l->max;
	}
	return l->max;
}
