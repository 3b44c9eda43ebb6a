/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/perf/pattern.h"

#include <endian.h>
#include <string.h>

#define STEP UINT64_C(0x9e3779b97f4a7c15) /* odd, so its multiples repeat only after 2^64 */

enum { WORD = 8, LANES = 4, BLOCK = WORD * LANES };

static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static uint64_t first_word(uint32_t xid, uint64_t offset)
{
	return mix(mix((uint64_t)xid + STEP) + offset);
}

static uint64_t load(const uint8_t *p)
{
	uint64_t w;

	memcpy(&w, p, WORD);
	return le64toh(w);
}

static void store(uint8_t *p, uint64_t w)
{
	w = htole64(w);
	memcpy(p, &w, WORD);
}

void pattern_fill(void *to, size_t len, uint32_t xid, uint64_t offset)
{
	uint64_t w = first_word(xid, offset);
	uint8_t *p = to;
	uint8_t last[WORD];

	/* Four independent lanes: as fast as memory. */
	for (; len >= BLOCK; len -= BLOCK, p += BLOCK, w += LANES * STEP) {
		store(p, w);
		store(p + WORD, w + STEP);
		store(p + 2 * WORD, w + 2 * STEP);
		store(p + 3 * WORD, w + 3 * STEP);
	}
	for (; len >= WORD; len -= WORD, p += WORD, w += STEP)
		store(p, w);
	store(last, w);
	memcpy(p, last, len);
}

/* Octet by octet: for tails, and to find the place of a difference. */
static size_t first_difference(const uint8_t *from, size_t len, uint64_t w)
{
	uint8_t want[WORD];

	for (size_t i = 0; i < len; i++) {
		if (i % WORD == 0) {
			store(want, w);
			w += STEP;
		}
		if (from[i] != want[i % WORD])
			return i;
	}
	return len;
}

size_t pattern_check(const void *from, size_t len, uint32_t xid, uint64_t offset)
{
	uint64_t w = first_word(xid, offset), first = w, wrong = 0;
	const uint8_t *p = from;
	size_t left = len;

	for (; left >= BLOCK; left -= BLOCK, p += BLOCK, w += LANES * STEP) {
		uint64_t a = (load(p) ^ w) | (load(p + WORD) ^ (w + STEP));
		uint64_t b = (load(p + 2 * WORD) ^ (w + 2 * STEP)) |
			     (load(p + 3 * WORD) ^ (w + 3 * STEP));

		wrong |= a | b;
	}
	for (; left >= WORD; left -= WORD, p += WORD, w += STEP)
		wrong |= load(p) ^ w;
	if (wrong == 0 && first_difference(p, left, w) == left)
		return len;
	return first_difference(from, len, first);
}
