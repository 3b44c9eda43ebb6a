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
 * buf - the payload memory of one worker
 *
 * One address range is reserved once, and its pages are touched as load comes. It is handed out in
 * power-of-two blocks (a buddy system), so every chunk is contiguous and every octet is counted.
 * Nothing here uses the heap after initialisation. One thread only.
 *
 * State:  transactions hold payload blocks and wait for replies; continued messages hold blocks
 *         while their parts arrive.
 * Danger: if a transaction held some blocks while it waited for others, or if continued replies
 *         waited for memory that calls hold, all of them could wait for each other for ever.
 * Rule:   a transaction takes all its blocks at once or waits holding none, except the continued
 *         call that it may have begun with. Continued messages are reassembled in a reserve that
 *         transactions cannot use: first in a small block, then in one block of the whole length.
 *         In a gateway's arena (buf_arena_part()) calls and replies each have a part of the
 *         reserve. So a call waits for transactions, a transaction for replies, and a reply for its
 *         requester to take it; nothing waits in the other direction.
 * Pinned: tests/session/test_pressure.c:both_directions_complete,
 *         :replies_find_room_when_calls_have_filled_all;
 *         tests/proxy/test_buf.c:reserve_is_for_reassembly
 *
 * quota.h decides which session gets memory, and in which order.
 */
enum {
	BUF_MIN_BLOCK = 4096,
	BUF_MAX_BLOCK = BUDGET_STEP,
	BUF_ORDERS = 13, /* sizes: 4 KiB << order */
};

enum buf_purpose {
	BUF_TRANSACTION, /* payload of transactions; may not use the reserve */
	BUF_REASM_REPLY, /* reassembly of a reply: the reserve, then the part of transactions */
	/* Reassembly of a call: the calls' part of the reserve; in an arena without parts, as
	 * BUF_REASM_REPLY. */
	BUF_REASM_CALL,
	/* Purposes with zones of their own; in an arena without parts, as BUF_TRANSACTION: */
	BUF_REASM_START, /* the first octets of a continued message */
	BUF_COPIED_CALL, /* messages that must not wait for memory */
	BUF_TXN_FORWARD, /* transaction blocks of a client's RPCs */
	BUF_TXN_REVERSE, /* transaction blocks of a server's RPCs */
	BUF_CONN,	 /* memory for the life of a connection */
	BUF_PURPOSES,
};

/* Zones: ranges whose borders no block crosses. In a gateway's arena each route's own zones
 * follow: buf_own_zone(). */
enum buf_zone {
	BUF_ZONE_ORDINARY,
	BUF_ZONE_CONN,
	BUF_ZONE_COPIED_CALL,
	BUF_ZONE_REASM_START,
	BUF_ZONE_TXN_FORWARD,
	BUF_ZONE_TXN_REVERSE,
	BUF_ZONE_REASM_CALLS,
	BUF_ZONE_REASM_REPLIES,
	BUF_ZONES
};

enum { BUF_NO_ZONE = UINT32_MAX };

/** struct buf_range - one zone: its borders, as offsets in the arena, and its free blocks. */
struct buf_range {
	size_t begin, end; /* octets; equal: the zone is empty */
	size_t used;	   /* octets of blocks handed out */
	uint64_t frees;	   /* blocks that came back, in all */
	uint32_t nfree[BUF_ORDERS];
};

/** struct buf_touched - pages handed out and not yet returned to the system: release.c. */
struct buf_touched {
	uint64_t *pages; /* one bit for each page of 4 KiB */
	size_t bytes;	 /* octets of the pages in .pages; with huge pages more may be resident */
	size_t high[2];	 /* most octets in use: in this half minute, and in the one before */
	size_t goal;	 /* while pages are returned: octets at which to stop */
	/* While pages are returned: the first page of those already looked at; 0: no sweep is
	 * under way */
	size_t cursor;
	uint64_t at_ns;	     /* when buf_release() has something to do, ns */
	uint64_t give_backs; /* calls of madvise(), in all */
};

struct buf_arena {
	uint8_t *base;	     /* whole range, for fabric_register() */
	size_t bytes;	     /* a multiple of BUF_MAX_BLOCK */
	size_t reserve;	     /* octets at the top of the range, for continued messages */
	size_t used;	     /* octets of blocks handed out */
	size_t reserve_used; /* octets of .used inside the reserve */
	size_t peak;	     /* the most that .used has been */
	unsigned parts;	     /* routes that have zones of their own */
	unsigned nzones;
	struct buf_range *zones;
	struct bits free[BUF_ORDERS]; /* the free blocks, by order */
	/* One for each page of 4 KiB: order and state of the block that begins there. */
	uint8_t *orders;
	uint16_t *zone_at; /* one for each page of 4 KiB: its zone */
	struct buf_touched touched;
};

/**
 * buf_arena_init - reserve @bytes (rounded up to BUF_MAX_BLOCK, at least two of them)
 *
 * The range is mapped without being committed; pages are touched on first use. Among the free
 * blocks of the best fitting size the one with the lowest address is handed out, so the same pages
 * stay in use and the rest can be returned to the system. budget_reserve() gives the size of the
 * reserve. The reserve is a range of its own, so no small block of a transaction keeps a reassembly
 * from a large block.
 *
 * Return: 0 or ERR_NOMEM.
 */
int buf_arena_init(struct buf_arena *a, size_t bytes) WARN_UNUSED;

/**
 * buf_arena_part - divide a gateway's arena; call it right after buf_arena_init()
 * @fixed: octets (a multiple of 4 KiB) outside the reserve for BUF_CONN alone, so that long-lived
 *         blocks never split the range of short-lived ones
 * @parts: number of routes. Each route gets zones of its own: one for payload of transactions, one
 *         for clients' transaction blocks, and, if the reserve is large, one in each of its parts.
 *         At most half of each kind of memory is divided so.
 *
 * Half of the reserve is for calls. Return: 0 or ERR_NOMEM (buf_arena_fini() is due).
 */
int buf_arena_part(struct buf_arena *a, size_t fixed, unsigned parts) WARN_UNUSED;

/** buf_zone_for - the common zone from which memory for @purpose is taken first. */
enum buf_zone buf_zone_for(enum buf_purpose purpose);

/** buf_zone_bytes - the size of @zone, octets. */
size_t buf_zone_bytes(const struct buf_arena *a, unsigned zone);

/** buf_zone_free - free octets of @zone, perhaps in several blocks; 0 for BUF_NO_ZONE. */
size_t buf_zone_free(const struct buf_arena *a, unsigned zone);

/** buf_own_zone - the zone of the @part-th route for @purpose, or BUF_NO_ZONE. */
unsigned buf_own_zone(const struct buf_arena *a, enum buf_purpose purpose, unsigned part);

/** buf_zone_of - the zone that @block lies in. */
unsigned buf_zone_of(const struct buf_arena *a, const void *block);

/** buf_arena_fini - unmap the range; every block must be back (asserted). */
void buf_arena_fini(struct buf_arena *a);

/** buf_round - the size of the block that buf_alloc(@bytes) would take; 0 above BUF_MAX_BLOCK. */
size_t buf_round(size_t bytes);

/**
 * buf_alloc - take a block of at least @bytes (0 counts as 1), aligned to its size, 4 KiB at least
 *
 * Return: NULL if there is none for @purpose now, or @bytes exceeds BUF_MAX_BLOCK. Contents
 * undefined.
 */
void *buf_alloc(struct buf_arena *a, size_t bytes, enum buf_purpose purpose) WARN_UNUSED;

/** buf_alloc_in - as buf_alloc(), from one zone. */
void *buf_alloc_in(struct buf_arena *a, size_t bytes, unsigned zone) WARN_UNUSED;

/** buf_block_bytes - the size of @block, which is handed out. */
size_t buf_block_bytes(const struct buf_arena *a, const void *block);

/** buf_free - takes @block, which may be NULL. */
void buf_free(struct buf_arena *a, void *block);

/** buf_available - octets that @purpose could still take, perhaps not in one piece. */
size_t buf_available(const struct buf_arena *a, enum buf_purpose purpose);

/* release.c: return free memory to the system */

/**
 * buf_release - call it once a turn: return pages that were not needed for a while
 *
 * Pages go back more than half a minute, and less than one and a half, after the load has gone. One
 * call looks at a few hundred blocks and makes a few system calls. Not to be used if a device pins
 * the memory.
 *
 * Return: when it is due again, ns; UINT64_MAX: when more memory has been used.
 */
uint64_t buf_release(struct buf_arena *a, uint64_t now_ns);

/** buf_release_soon - the load has gone: the next calls of buf_release() return all pages that
 * are not in use now. */
void buf_release_soon(struct buf_arena *a);

#endif
