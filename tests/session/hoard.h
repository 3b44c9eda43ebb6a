/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SESSION_HOARD_H
#define TESTS_SESSION_HOARD_H

#include "proxy/leg/recv_pool.h"
#include "tests/session/world.h"

/** hoard - holds scarce resources of a gateway, as waiting messages would. Large: make it
 * static. */

enum { HOARD_MOST = 4096 };

/** struct hoard - all zeros at first. */
struct hoard {
	struct recv_pool *pool;
	struct leg_rbuf *rbufs[HOARD_MOST];
	unsigned nrbufs;
	struct buf_arena *arena;
	void *blocks[HOARD_MOST];
	unsigned nblocks;
	/* hoard_all_receives(): operations of the fabric; its own ones */
	struct fabric_ops ops;
	const struct fabric_ops *own_ops;
};

/** hoard_receives - take Receives of @pool, the same pool each time, until @n are held or none is
 * left. Return: how many are held. */
unsigned hoard_receives(struct hoard *h, struct recv_pool *pool, unsigned n);

/** hoard_all_receives - take all Receives of fabric @i of the gateway, those that are posted, too, so that none is left
 * until hoard_end(). The pool has at most HOARD_MOST. */
void hoard_all_receives(struct hoard *h, struct world *w, unsigned i);

/** hoard_release - return @n of the Receives, or all if there are fewer. */
void hoard_release(struct hoard *h, unsigned n);

/** hoard_for_copies - take all memory into which waiting calls may be copied. */
void hoard_for_copies(struct hoard *h, struct buf_arena *arena);

/** hoard_replies - take all memory for reassembly of continued replies. */
void hoard_replies(struct hoard *h, struct buf_arena *arena);

/** hoard_rooms - take all memory for transactions of clients, or of servers (@reverse), in pieces
 * of BUF_MIN_BLOCK. Memory common to all routes is taken last. */
void hoard_rooms(struct hoard *h, struct buf_arena *arena, bool reverse);

/** hoard_zone - take all memory of @zone (enum buf_zone, or buf_own_zone()), in as few blocks as possible. */
void hoard_zone(struct hoard *h, struct buf_arena *arena, unsigned zone);

/** hoard_give - return @bytes of blocks, the latest first. */
void hoard_give(struct hoard *h, size_t bytes);

/** hoard_end - return everything. */
void hoard_end(struct hoard *h);

#endif
