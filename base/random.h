/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

/** random_next - splitmix64: the next number of the sequence of @state. For numbers that have to
 * differ, or to repeat with their seed; not for secrets. */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

#endif
