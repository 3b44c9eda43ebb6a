/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_BUF_H
#define PROXY_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/budget.h"
#include "base/err.h"
#include "base/list.h"

/**
 * buf - the payload memory of one worker: one address range, reserved once and
 * touched as load comes, handed out as power-of-two blocks (a buddy system), so
 * that every chunk is contiguous and every octet comes out of the budget.
 *
 * Nothing here touches the heap after init. One thread only.
 *
 * Progress under pressure: a transaction takes all its blocks at once or waits
 * holding none, but for the continued call it may have begun with. Continued
 * messages are assembled in a reserve that transactions cannot use, one whole
 * block at a time. In a gateway's arena (buf_arena_part()) calls and replies have
 * each their own part of it. So a call waits for transactions, a transaction for
 * replies, a reply for its requester to take it, and nobody in the other direction.
 */
enum {
	BUF_MIN_BLOCK = 4096,
	BUF_MAX_BLOCK = BUDGET_STEP,
};

enum buf_purpose {
	BUF_TRANSACTION, /* may not use the reserve */
	BUF_ASSEMBLY,	 /* of a reply: the reserve, then what transactions use */
	BUF_CALL, /* assembly of a call: its part of the reserve; without parts as a reply's */
	BUF_FIXED, /* for the life of a connection, and what must not wait: its part; without parts as a
		    * transaction's */
	BUF_PURPOSES,
};

/* Ranges that blocks never cross, by rising address. */
enum buf_zone { BUF_ZONE_ORDINARY, BUF_ZONE_FIXED, BUF_ZONE_CALLS, BUF_ZONE_REPLIES, BUF_ZONES };

/** struct buf_waiter - somebody who waits for @bytes (several blocks: the sum of their
 * buf_round()); embedded in the waiting object. */
struct buf_waiter {
	struct list link; /* self-linked (list_init) when not waiting */
	size_t bytes;
	enum buf_purpose purpose;
};

struct buf_arena {
	uint8_t *base;	     /* whole range, for fabric_register() */
	size_t bytes;	     /* a multiple of BUF_MAX_BLOCK */
	size_t reserve;	     /* at the top of the range */
	size_t used;	     /* in blocks handed out */
	size_t reserve_used; /* of these, inside the reserve */
	size_t peak;
	uint64_t waits;		    /* times somebody had to wait */
	size_t zone_end[BUF_ZONES]; /* offsets; a zone may be empty */
	size_t zone_used[BUF_ZONES];
	struct list free[BUF_ZONES][13]; /* by order: 4 KiB << order */
	uint8_t *orders; /* per 4 KiB page: order of the block that begins there, and state */
	struct list waiters[BUF_PURPOSES]; /* by .purpose, in order: the first is found at once */
};

/**
 * buf_arena_init - reserve @bytes (rounded up to BUF_MAX_BLOCK, at least two of them)
 *
 * The range is mapped without being committed; pages are touched on first use.
 * The reserve is as budget_reserve() has it: a range of its own, so that no transaction's small
 * block ever keeps an assembly from a large one.
 * Return: 0 or ERR_NOMEM.
 */
int buf_arena_init(struct buf_arena *a, size_t bytes) WARN_UNUSED;

/** buf_arena_part - right after init: @fixed octets (a multiple of 4 KiB) of what is not the reserve
 * for BUF_FIXED alone, so that what stays never splits what comes and goes; half of the reserve
 * for calls. */
void buf_arena_part(struct buf_arena *a, size_t fixed);

/** buf_zone_bytes - size of @zone. */
size_t buf_zone_bytes(const struct buf_arena *a, enum buf_zone zone);

/** buf_arena_fini - unmaps; every block must be back (asserted). */
void buf_arena_fini(struct buf_arena *a);

/** buf_round - size of the block that buf_alloc(@bytes) would take; 0 above BUF_MAX_BLOCK. */
size_t buf_round(size_t bytes);

/** buf_alloc - a block of at least @bytes (0 counts as 1), aligned to its size up to 4 KiB at least;
 * NULL when there is none for that purpose now, or above BUF_MAX_BLOCK. Contents undefined. */
void *buf_alloc(struct buf_arena *a, size_t bytes, enum buf_purpose purpose) WARN_UNUSED;

/** buf_free - takes @block, which may be NULL. */
void buf_free(struct buf_arena *a, void *block);

/** buf_available - octets that @purpose could still take (perhaps not in one piece). */
size_t buf_available(const struct buf_arena *a, enum buf_purpose purpose);

/** buf_wait - queue @w (its .bytes and .purpose set); FIFO. Idempotent while queued. */
void buf_wait(struct buf_arena *a, struct buf_waiter *w);

/** buf_unwait - leave the queue; harmless when not queued. */
void buf_unwait(struct buf_waiter *w);

/** buf_must_wait - whether others of @purpose wait already: a newcomer queues behind them. */
bool buf_must_wait(const struct buf_arena *a, enum buf_purpose purpose);

/** buf_next_ready - first waiter of each purpose whose .bytes are available now, taken off
 * the queue; NULL when none. A smaller request never overtakes a larger one of its purpose.
 * Blocks of .bytes in all can then be had in any order of sizes, until somebody else allocates:
 * a block of buf_round(.bytes) is free, or as many of BUF_MAX_BLOCK as it takes. */
struct buf_waiter *buf_next_ready(struct buf_arena *a);

#endif
