/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_BITS_H
#define BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/**
 * bits - a set of numbers 0 .. n-1 that finds its least member above a number in O(log n)
 *
 * One bit for each number; above that one bit for each word that is not zero, and so on up to one
 * word: four steps find one of 16 million. Nothing allocates after init.
 */
enum { BITS_LEVELS = 6 };

struct bits {
	uint64_t *level[BITS_LEVELS];
	unsigned levels;
	size_t n;
};

#define BITS_END SIZE_MAX

/** bits_init - the empty set of numbers below @n. Return: 0 or ERR_NOMEM. */
int bits_init(struct bits *b, size_t n) WARN_UNUSED;

/** bits_fini - free the memory of @b; no effect if @b is all zeros. */
void bits_fini(struct bits *b);

/** bits_set, bits_clear - add @i to the set, remove it. Idempotent. */
static inline void bits_set(struct bits *b, size_t i)
{
	for (unsigned level = 0; level < b->levels; level++) {
		uint64_t *word = &b->level[level][i / 64];
		bool known = *word != 0;

		*word |= UINT64_C(1) << i % 64;
		if (known)
			return;
		i /= 64;
	}
}

static inline void bits_clear(struct bits *b, size_t i)
{
	for (unsigned level = 0; level < b->levels; level++) {
		uint64_t *word = &b->level[level][i / 64];

		*word &= ~(UINT64_C(1) << i % 64);
		if (*word)
			return;
		i /= 64;
	}
}

/** bits_zero - makes the set empty. */
void bits_zero(struct bits *b);

/** bits_next - the least member that is not below @from, or BITS_END. */
size_t bits_next(const struct bits *b, size_t from);

static inline bool bits_has(const struct bits *b, size_t i)
{
	return b->level[0][i / 64] >> i % 64 & 1;
}

#endif
