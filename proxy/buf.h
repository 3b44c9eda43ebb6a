/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_BUF_H
#define PROXY_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
 * holding none. Continued messages are assembled in a reserve that transactions
 * cannot use, one whole block at a time; so neither waits for the other.
 */
enum {
	BUF_MIN_BLOCK = 4096,
	BUF_MAX_BLOCK = 16 * 1024 * 1024,
};

enum buf_purpose {
	BUF_TRANSACTION, /* may not use the reserve */
	BUF_ASSEMBLY,	 /* may use everything */
};

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
	uint64_t waits;	      /* times somebody had to wait */
	struct list free[13]; /* by order: 4 KiB << order */
	uint8_t *orders;      /* per 4 KiB page: order of the block that begins there, and state */
	struct list waiters;
};

/**
 * buf_arena_init - reserve @bytes (rounded up to BUF_MAX_BLOCK, at least two of them)
 *
 * The range is mapped without being committed; pages are touched on first use.
 * The reserve is an eighth (whole BUF_MAX_BLOCKs of it), at least one BUF_MAX_BLOCK. It is a range
 * of its own, so that no transaction's small block ever keeps an assembly from a large one.
 * Return: 0 or ERR_NOMEM.
 */
int buf_arena_init(struct buf_arena *a, size_t bytes) WARN_UNUSED;

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
