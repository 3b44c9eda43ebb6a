/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/**
 * budget - how the memory of one worker is divided. proxy/ divides it in this way, config/ checks
 * configurations with the same numbers.
 *
 *   all of it = reserve, for continued messages + the rest
 *   the rest  = one half for connections, for their life + one half for RPCs
 *
 * One RPC may take a quarter of the rest.
 */
enum {
	/* octets: memory is taken in steps of this size; the largest block */
	BUDGET_STEP = 16 * 1024 * 1024,
	BUDGET_FIXED = 2, /* connections have 1/BUDGET_FIXED of the rest */
	/* of the memory for RPCs, 1/BUDGET_TXN_STATE is for their state, and the remainder for
	 * payload */
	BUDGET_TXN_STATE = 8,
	BUDGET_SHARES = 4, /* number of RPCs of the largest size that fit the rest */
	/* blocks of max_payload that an RPC needs: for call and reply, or for one of them and its
	 * header */
	BUDGET_PAYLOADS = 2,
	/* octets that a call or a reply in a chunk may have beside a data item of max_payload: RPC
	 * header, other arguments or results, checksum or cipher of Kerberos */
	BUDGET_HEADERS = 8192,
	BUDGET_PAD = 4, /* octets of the segment that Linux clients offer for the pad of XDR */
	/* octets that a continued message may hold before most of it came */
	BUDGET_REASM_START = 64 * 1024,
	/* octets of a block that Receives and headers of a leg are cut from */
	BUDGET_BLOCK = 64 * 1024,
	BUDGET_LEAST_RECEIVE = 1024, /* octets: the smallest inline threshold */
	BUDGET_SENDS = 32,	     /* messages that a leg sends at once */
	/* the same for a leg with shared Receives; a further message borrows a block */
	BUDGET_OWN_SENDS = 1,
	/*
	 * Octets of heap of a leg beside these blocks, at most: a connection and half a session
	 * (idle ones over TCP have a tenth of it). Not included: what grows with credits, and RDMA
	 * queues (budget_queues.h).
	 */
	BUDGET_LEG_HEAP = 128 * 1024,
	/* Octets of heap that an idle leg takes at least, half a session included: without the
	 * queues of RDMA devices, and over TCP. */
	BUDGET_LEAST_HEAP = 7 * 1024,
	BUDGET_LEAST_TCP = 12 * 1024,
	BUDGET_RECV_HEAP = 64, /* octets of state for a Receive of a leg's own */
	/* of the memory for connections, 1/BUDGET_SHARED is for shared Receives */
	BUDGET_SHARED = 4,
	/* Octets of heap of a host authentication under way, with chains of 16 KiB
	 * (tests/hostauth/test_heap.c). */
	BUDGET_HANDSHAKE = 256 * 1024,
	/* of the memory for connections, at most 1/BUDGET_HANDSHAKES is for host authentications */
	BUDGET_HANDSHAKES = 8,
	BUDGET_LATE = 64, /* number of late replies for which a leg has Receives (reply_timeout) */
};

static inline uint32_t budget_block(uint32_t bytes)
{
	return bytes < BUDGET_STEP ? bytes : BUDGET_STEP;
}

/** budget_message - octets of the longest call or reply in a chunk: one block, which has no room
 * for BUDGET_HEADERS if it is the largest one. */
static inline uint32_t budget_message(uint32_t max_payload)
{
	return budget_block(max_payload + BUDGET_HEADERS);
}

/** budget_result - octets of the longest Write chunk: one block, which has no room for BUDGET_PAD
 * if it is the largest one. */
static inline uint32_t budget_result(uint32_t max_payload)
{
	return budget_block(max_payload + BUDGET_PAD);
}

/** budget_reserve - octets of the reserve in @bytes, a multiple of BUDGET_STEP: an eighth, in whole
 * steps. At least one step; at least two if @bytes has eight steps or more. */
static inline uint64_t budget_reserve(uint64_t bytes)
{
	uint64_t steps = bytes / 8 / BUDGET_STEP, least = bytes / BUDGET_STEP >= 8 ? 2 : 1;

	return (steps < least ? least : steps) * BUDGET_STEP;
}

/**
 * budget_receives - Receives of a leg: one more than advertised (draft-07 4.2.1.1), and one for an
 * answer to a first message
 *
 * BUDGET_LATE more if @late, because the credits of version 1 cannot limit answers to abandoned
 * calls.
 */
static inline uint32_t budget_receives(uint32_t credits, uint32_t reverse_credits, bool late)
{
	return credits + reverse_credits + 2 + (late ? BUDGET_LATE : 0);
}

/** budget_blocks - octets of the blocks that @n buffers of @size, at most BUDGET_BLOCK, are cut
 * from. */
static inline uint64_t budget_blocks(uint32_t n, uint32_t size)
{
	uint32_t each = BUDGET_BLOCK / size;

	return ((uint64_t)n + each - 1) / each * BUDGET_BLOCK;
}

/** budget_leg - octets of blocks that a leg with Receives of its own takes for its life. */
static inline uint64_t budget_leg(uint32_t inline_bytes, uint32_t receives)
{
	return budget_blocks(receives, inline_bytes) + budget_blocks(BUDGET_SENDS, inline_bytes);
}

/**
 * budget_bulk - octets of blocks for @receives second pieces of @bytes each, for data that come
 * with calls (receive_structure)
 *
 * A piece takes a power of two, at least 4 KiB.
 */
static inline uint64_t budget_bulk(uint32_t bytes, uint32_t receives)
{
	uint64_t block = 4096;

	while (block < bytes)
		block *= 2;
	return bytes ? block * receives : 0;
}

/** budget_sharing_leg - budget_leg() of a leg whose Receives are shared: one block for headers,
 * so that it can always send something. */
static inline uint64_t budget_sharing_leg(uint32_t inline_bytes)
{
	return (uint64_t)BUDGET_OWN_SENDS * inline_bytes;
}

#endif
