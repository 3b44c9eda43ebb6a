/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_MEMORY_BUF_H
#define PROXY_MEMORY_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
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
 * messages are assembled in a reserve that transactions cannot use: their first
 * octets in a small block, the rest in one whole block once these have come. In a
 * gateway's arena (buf_arena_part()) calls and replies have each their own part of
 * it. So a call waits for transactions, a transaction for replies, a reply for its
 * requester to take it, and nobody in the other direction.
 *
 * Who of those that wait gets what is quota.h's affair; what is below is for users
 * that have nobody to be fair to, as tools.
 */
enum {
	BUF_MIN_BLOCK = 4096,
	BUF_MAX_BLOCK = BUDGET_STEP,
	BUF_ORDERS = 13, /* sizes: 4 KiB << order */
};

enum buf_purpose {
	BUF_TRANSACTION, /* may not use the reserve */
	BUF_ASSEMBLY,	 /* of a reply: the reserve, then what transactions use */
	BUF_CALL,    /* assembly of a call: its part of the reserve; without parts as a reply's */
	BUF_BEGUN,   /* the first octets of a continued message; without parts as a transaction's */
	BUF_ASIDE,   /* what must not wait for memory: likewise */
	BUF_FORWARD, /* what the gateway keeps of a client's RPC: likewise */
	BUF_REVERSE, /* ... of a server's: likewise */
	BUF_FIXED,   /* for the life of a connection: likewise */
	BUF_PURPOSES,
};

/* Ranges that blocks never cross. Behind these, in a gateway's arena, those of each route's own:
 * buf_own_zone(). */
enum buf_zone {
	BUF_ZONE_ORDINARY,
	BUF_ZONE_FIXED,
	BUF_ZONE_ASIDE,
	BUF_ZONE_BEGUN,
	BUF_ZONE_FORWARD,
	BUF_ZONE_REVERSE,
	BUF_ZONE_CALLS,
	BUF_ZONE_REPLIES,
	BUF_ZONES
};

enum { BUF_NO_ZONE = UINT32_MAX };

/** struct buf_waiter - somebody who waits for @bytes; embedded in the waiting object. */
struct buf_waiter {
	struct list link; /* self-linked (list_init) when not waiting */
	size_t bytes;
	enum buf_purpose purpose;
};

/** struct buf_range - one zone: offsets, and what is free of it. */
struct buf_range {
	size_t begin, end; /* may be empty */
	size_t used;
	uint64_t frees; /* blocks that came back, since ever */
	uint32_t nfree[BUF_ORDERS];
};

/** struct buf_touched - pages handed out since they were last given to the system: release.c. */
struct buf_touched {
	uint64_t *pages;     /* a bit for each of 4 KiB */
	size_t bytes;	     /* what they come to: at least what is resident */
	size_t high[2];	     /* most in use: in this half minute, in the one before */
	size_t goal;	     /* while pages are given back: until so few are left */
	size_t cursor;	     /* ... and those from this page on were looked at */
	uint64_t at_ns;	     /* when there is something to do */
	uint64_t give_backs; /* since ever, times the system was told */
};

struct buf_arena {
	uint8_t *base;	     /* whole range, for fabric_register() */
	size_t bytes;	     /* a multiple of BUF_MAX_BLOCK */
	size_t reserve;	     /* at the top of the range */
	size_t used;	     /* in blocks handed out */
	size_t reserve_used; /* of these, inside the reserve */
	size_t peak;
	uint64_t waits; /* times somebody had to wait */
	unsigned parts; /* routes that have zones of their own */
	unsigned nzones;
	struct buf_range *zones;
	struct bits free[BUF_ORDERS]; /* by order: the blocks that are free */
	uint8_t *orders;   /* per 4 KiB page: order of the block that begins there, and state */
	uint16_t *zone_at; /* per 4 KiB page */
	struct buf_touched touched;
	struct list waiters[BUF_PURPOSES]; /* by .purpose, in order: the first is found at once */
};

/**
 * buf_arena_init - reserve @bytes (rounded up to BUF_MAX_BLOCK, at least two of them)
 *
 * The range is mapped without being committed; pages are touched on first use. Of the blocks of
 * the size that fits best that with the lowest address is handed out: what was used stays in use,
 * and the rest can go back to the system.
 * The reserve is as budget_reserve() has it: a range of its own, so that no transaction's small
 * block ever keeps an assembly from a large one.
 * Return: 0 or ERR_NOMEM.
 */
int buf_arena_init(struct buf_arena *a, size_t bytes) WARN_UNUSED;

/**
 * buf_arena_part - right after init: a gateway's arena
 * @fixed: octets (a multiple of 4 KiB) of what is not the reserve for BUF_FIXED alone, so that what
 *         stays never splits what comes and goes
 * @parts: routes; each gets a range of its own of what transactions use, of what is kept of clients'
 *         RPCs, and, where the reserve is large, of both parts of that: at most half of each is
 *         shared out so
 *
 * Half of the reserve is for calls. Return: 0 or ERR_NOMEM (buf_arena_fini() is due).
 */
int buf_arena_part(struct buf_arena *a, size_t fixed, unsigned parts) WARN_UNUSED;

/** buf_zone_for - the zone, common to all routes, that memory for @purpose comes from first. */
enum buf_zone buf_zone_for(enum buf_purpose purpose);

/** buf_zone_bytes - size of @zone. */
size_t buf_zone_bytes(const struct buf_arena *a, unsigned zone);

/** buf_zone_free - octets of @zone that are free, perhaps in pieces; 0 of BUF_NO_ZONE. */
size_t buf_zone_free(const struct buf_arena *a, unsigned zone);

/** buf_own_zone - where the @part-th route has memory of its own for @purpose, or BUF_NO_ZONE. */
unsigned buf_own_zone(const struct buf_arena *a, enum buf_purpose purpose, unsigned part);

/** buf_zone_of - the zone that @block lies in. */
unsigned buf_zone_of(const struct buf_arena *a, const void *block);

/** buf_arena_fini - unmaps; every block must be back (asserted). */
void buf_arena_fini(struct buf_arena *a);

/** buf_round - size of the block that buf_alloc(@bytes) would take; 0 above BUF_MAX_BLOCK. */
size_t buf_round(size_t bytes);

/** buf_alloc - a block of at least @bytes (0 counts as 1), aligned to its size up to 4 KiB at least;
 * NULL when there is none for that purpose now, or above BUF_MAX_BLOCK. Contents undefined. */
void *buf_alloc(struct buf_arena *a, size_t bytes, enum buf_purpose purpose) WARN_UNUSED;

/** buf_alloc_in - as buf_alloc(), from one zone. */
void *buf_alloc_in(struct buf_arena *a, size_t bytes, unsigned zone) WARN_UNUSED;

/** buf_block_bytes - the size of @block, which was handed out. */
size_t buf_block_bytes(const struct buf_arena *a, const void *block);

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

/* release.c: free memory back to the system */

/**
 * buf_release - once a turn: pages that were not needed for a while
 *
 * More than half a minute, less than one and a half, after the load has gone. A call looks at a few
 * hundred blocks and tells the system of a few ranges. Not where a device pins the memory.
 * Return: when it is due again; UINT64_MAX: when more memory was used.
 */
uint64_t buf_release(struct buf_arena *a, uint64_t now_ns);

/** buf_release_soon - nobody is left who needed what was in use: buf_release() gives back all that
 * is not in use now. */
void buf_release_soon(struct buf_arena *a);

#endif
