/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SESSION_PATTERN_H
#define TESTS_SESSION_PATTERN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tests/isolation/mark.h"

/** pattern - the payload of peers: each octet follows from its call, its chunk and its place. */

/* The eight octets at @at, a multiple of 8. In words, because the tests compare much data. */
static inline uint64_t pattern(uint32_t xid, uint32_t what, uint32_t at)
{
	uint64_t any =
		(((uint64_t)what << 32 | xid) ^ at / 8 * 0xd6e8feb86659fd93u) * 0x9e3779b97f4a7c15u;

	return mark_of_xid(xid) ? mark_word(mark_of_xid(xid), any >> 3) : any;
}

/* Octets from @from, a multiple of 8, to @len: whole words, and the rest. */
static inline void fill(uint8_t *p, uint32_t from, uint32_t len, uint32_t xid, uint32_t what)
{
	uint32_t at = from;
	uint64_t word;

	for (; len - at >= sizeof(word) && at < len; at += sizeof(word)) {
		word = pattern(xid, what, at);
		memcpy(p + at, &word, sizeof(word));
	}
	if (at < len) {
		word = pattern(xid, what, at);
		memcpy(p + at, &word, len - at);
	}
}

static inline bool check(const uint8_t *p, uint32_t from, uint32_t len, uint32_t xid, uint32_t what)
{
	uint32_t at = from;
	uint64_t word, seen;

	for (; len - at >= sizeof(word) && at < len; at += sizeof(word)) {
		memcpy(&seen, p + at, sizeof(seen));
		if (seen != pattern(xid, what, at))
			return false;
	}
	if (at >= len)
		return true;
	seen = word = pattern(xid, what, at);
	memcpy(&seen, p + at, len - at);
	return seen == word;
}

#endif
