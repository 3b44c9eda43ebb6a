/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SESSION_PATTERN_H
#define TESTS_SESSION_PATTERN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tests/isolation/mark.h"

/** pattern - the payload of peers: what an octet is follows from its call, its chunk and its place. */

/* The eight octets at @at, a multiple of 8. In words, because the stories compare much data. */
static inline uint64_t pattern(uint32_t xid, uint32_t what, uint32_t at)
{
	uint64_t any =
		(((uint64_t)what << 32 | xid) ^ at / 8 * 0xd6e8feb86659fd93u) * 0x9e3779b97f4a7c15u;

	return mark_of_xid(xid) ? mark_word(mark_of_xid(xid), any >> 3) : any;
}

/* Octets @from, a multiple of 8, to @len. */
static inline void fill(uint8_t *p, uint32_t from, uint32_t len, uint32_t xid, uint32_t what)
{
	for (uint32_t at = from; at < len; at += 8) {
		uint64_t word = pattern(xid, what, at);

		memcpy(p + at, &word, len - at < 8 ? len - at : 8);
	}
}

static inline bool check(const uint8_t *p, uint32_t from, uint32_t len, uint32_t xid, uint32_t what)
{
	for (uint32_t at = from; at < len; at += 8) {
		uint64_t word = pattern(xid, what, at), seen = word;

		memcpy(&seen, p + at, len - at < 8 ? len - at : 8);
		if (seen != word)
			return false;
	}
	return true;
}

#endif
