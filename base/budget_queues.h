/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_BUDGET_QUEUES_H
#define BASE_BUDGET_QUEUES_H

#include <stdbool.h>
#include <stdint.h>

/**
 * budget_queues - memory for the queues of a connection over fabric/verbs; config/ checks with it
 *
 * Libraries take memory for queues as their devices lay the queues out, and do not tell how much.
 * The largest work requests known are those of mlx5: 192 octets, for a bind, and 16 for each piece
 * of memory, rounded up to a power of two. Inline octets use the space of the pieces
 * (fabric/verbs/limits.c). fabric/verbs also keeps state of each operation and exposure, and
 * asserts the sizes that are given here.
 */
enum {
	BUDGET_OPS = 64, /* Reads and Writes that the relay posts at once on a leg */

	BUDGET_REQUEST = 192 + 8 * 16, /* 16: a piece of memory */
	BUDGET_RECEIVE = 32,
	BUDGET_COMPLETION = 64,
	/* objects of library and kernel for a queue pair, and rounding to pages */
	BUDGET_OBJECTS = 16 * 1024,

	BUDGET_OP = 64,	      /* octets of state of an operation under way */
	BUDGET_EXPOSURE = 48, /* octets of state of an exposure, with its places in a table */
};

/** struct budget_depths - operations and exposures that a connection may have under way. */
struct budget_depths {
	uint32_t recvs, sends, exposures; /* sends: Sends, Reads and Writes */
};

/**
 * budget_exposures - exposures of a leg whose peer answers @calls at once
 *
 * Each call has what calls usually have: a Read or Write chunk, and a Reply chunk. Calls that need
 * more wait. The number is never below the chunks that one call can sensibly have.
 */
static inline uint32_t budget_exposures(uint32_t calls)
{
	enum { EACH = 2, LEAST = 48, CALLS = 64 };
	uint32_t n = EACH * (calls < CALLS ? calls : CALLS);

	return n < LEAST ? LEAST : n;
}

/** budget_requests - entries of a send queue: a bind and an invalidate for each exposure, some
 * more binds that no completion has freed yet, and one to probe a silent peer. */
static inline uint32_t budget_requests(uint32_t sends, uint32_t exposures)
{
	return sends + 2 * exposures + exposures / 8 + 1;
}

/** budget_power_of_two - the least power of two that is not below @n. */
static inline uint64_t budget_power_of_two(uint64_t n)
{
	uint64_t size = 1;

	while (size < n)
		size *= 2;
	return size;
}

/** budget_queues - octets of a connection over an RDMA device, of locked memory and of heap.
 * @shares: its Receives are shared. */
static inline uint64_t budget_queues(const struct budget_depths *d, bool shares)
{
	uint64_t recvs = shares ? 0 : d->recvs, sends = budget_requests(d->sends, d->exposures);
	uint64_t ops =
		budget_power_of_two(d->recvs) + budget_power_of_two(d->sends + 2 * d->exposures);

	return BUDGET_OBJECTS + budget_power_of_two(sends * BUDGET_REQUEST) +
	       budget_power_of_two(recvs * BUDGET_RECEIVE) +
	       budget_power_of_two(recvs + sends + 1) * BUDGET_COMPLETION + ops * BUDGET_OP +
	       (uint64_t)(d->exposures + 1) * BUDGET_EXPOSURE;
}

#endif
