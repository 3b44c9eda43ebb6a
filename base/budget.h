/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/**
 * budget - how the memory of one worker is divided: what proxy/ goes by, and config/ reckons with
 *
 *   all of it = reserve, for continued messages + the rest
 *   the rest  = one half for connections, for their life + one half for RPCs
 *
 * One RPC may take a quarter of the rest.
 */
enum {
	BUDGET_STEP = 16 * 1024 * 1024, /* memory comes in these; the largest block */
	BUDGET_FIXED = 2,		/* parts of the rest, one of them for connections */
	BUDGET_KEPT =
		8, /* parts of that for RPCs, one for what is kept of each beside its octets */
	BUDGET_SHARES = 4,	      /* RPCs of the largest size that fit the rest */
	BUDGET_PAYLOADS = 2,	      /* blocks of max_payload an RPC needs: call and reply */
	BUDGET_BEGUN = 64 * 1024,     /* what a continued message may hold before most of it came */
	BUDGET_BLOCK = 64 * 1024,     /* what Receives and headers of a leg are cut from */
	BUDGET_LEAST_RECEIVE = 1024,  /* octets: the smallest inline threshold */
	BUDGET_SENDS = 32,	      /* messages a leg sends at once */
	BUDGET_OWN_SENDS = 1,	      /* ... where Receives are shared: more borrow one of these */
	BUDGET_LEG_HEAP = 128 * 1024, /* octets beside these blocks, at most: a connection, half a
				       * session (idle ones over TCP have a tenth of it), but for
				       * what grows with credits, and RDMA queues
				       * (budget_queues.h) */
	/* Octets of heap an idle leg takes at least, with half a session: beside the queues of RDMA
	 * devices, and over TCP. */
	BUDGET_LEAST_HEAP = 7 * 1024,
	BUDGET_LEAST_TCP = 12 * 1024,
	BUDGET_RECV_HEAP = 64, /* octets kept of a Receive of a leg's own */
	BUDGET_SHARED = 4,     /* parts of that for connections, one for shared Receives */
	/* Octets of heap that host authentication takes, under way, with chains of 16 KiB
	 * (tests/hostauth/test_heap.c). */
	BUDGET_HANDSHAKE = 256 * 1024,
	BUDGET_HANDSHAKES = 8, /* parts of that for connections, one at most for them */
	BUDGET_LATE = 64,      /* late replies a leg has Receives for (reply_timeout) */
};

/** budget_reserve - of @bytes, a multiple of BUDGET_STEP: an eighth in whole steps; one at least,
 * and two from eight steps on. */
static inline uint64_t budget_reserve(uint64_t bytes)
{
	uint64_t steps = bytes / 8 / BUDGET_STEP, least = bytes / BUDGET_STEP >= 8 ? 2 : 1;

	return (steps < least ? least : steps) * BUDGET_STEP;
}

/** budget_receives - of a leg: one more than advertised (draft-07 4.2.1.1), and one for an answer
 * to a first message. Version 1 cannot bound answers to calls that were let go by credits. */
static inline uint32_t budget_receives(uint32_t credits, uint32_t reverse_credits, bool late)
{
	return credits + reverse_credits + 2 + (late ? BUDGET_LATE : 0);
}

/** budget_blocks - octets of blocks that @n buffers of @size, at most BUDGET_BLOCK, are cut from. */
static inline uint64_t budget_blocks(uint32_t n, uint32_t size)
{
	uint32_t each = BUDGET_BLOCK / size;

	return ((uint64_t)n + each - 1) / each * BUDGET_BLOCK;
}

/** budget_leg - octets a leg with Receives of its own takes of blocks for its life. */
static inline uint64_t budget_leg(uint32_t inline_bytes, uint32_t receives)
{
	return budget_blocks(receives, inline_bytes) + budget_blocks(BUDGET_SENDS, inline_bytes);
}

/** budget_bulk - octets of blocks that take @receives second pieces of @bytes each, of a leg for data that come
 * with calls (receive_structure): powers of two, of 4 KiB at least. */
static inline uint64_t budget_bulk(uint32_t bytes, uint32_t receives)
{
	uint64_t block = 4096;

	while (block < bytes)
		block *= 2;
	return bytes ? block * receives : 0;
}

/** budget_sharing_leg - the same of one whose Receives are shared: one block for headers, so that
 * something always goes out. */
static inline uint64_t budget_sharing_leg(uint32_t inline_bytes)
{
	return (uint64_t)BUDGET_OWN_SENDS * inline_bytes;
}

#endif
