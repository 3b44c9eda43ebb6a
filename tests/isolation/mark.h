/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ISOLATION_MARK_H
#define TESTS_ISOLATION_MARK_H

#include <stdint.h>

/**
 * mark - the session to which octets belong
 *
 * The upper half of every octet of payload names the session through which it entered the gateway.
 * 0 there belongs to no session: small numbers, XDR pads. An XID names its session in the same way,
 * in each of its octets.
 */

enum {
	MARK_NONE = 0,
	MARK_POISON = 0xb, /* MEMNET_POISON: a Receive into which nothing was put */
	MARK_UNUSED = 0xe, /* memory of the gateway that never held anything */
	MARKS = 16,
};

#define MARK_UPPER UINT32_C(0xf0f0f0f0)
#define MARK_LOWER UINT32_C(0x0f0f0f0f)

static inline unsigned mark_of_xid(uint32_t xid)
{
	return xid >> 28;
}

/** mark_word - eight octets of @mark; their lower halves are from @any. */
static inline uint64_t mark_word(unsigned mark, uint64_t any)
{
	return (any & 0x0f0f0f0f0f0f0f0fu) | mark * 0x1010101010101010u;
}

static inline uint32_t mark_word32(unsigned mark, uint32_t any)
{
	return (any & MARK_LOWER) | mark * 0x10101010u;
}

/** mark_size - a number near @n whose octets have no mark. */
static inline uint32_t mark_size(uint32_t n)
{
	return n & MARK_LOWER;
}

/** mark_next_xid - the XID after @xid with the same mark; without a mark just the next number. */
static inline uint32_t mark_next_xid(uint32_t xid)
{
	if (!mark_of_xid(xid))
		return xid + 1;
	return (((xid | MARK_UPPER) + 1) & MARK_LOWER) | (xid & MARK_UPPER);
}

#endif
