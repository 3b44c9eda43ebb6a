/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SESSION_HOARD_H
#define TESTS_SESSION_HOARD_H

#include "proxy/leg/recvs.h"

/** hoard - holds what is scarce of a gateway, as if messages that wait did. Large: make it static. */

enum { HOARD_MOST = 4096 };

/** struct hoard - all zeros to begin with. */
struct hoard {
	struct recvs *pool;
	struct leg_rbuf *rbufs[HOARD_MOST];
	unsigned nrbufs;
	struct buf_arena *arena;
	void *blocks[HOARD_MOST];
	unsigned nblocks;
};

/** hoard_receives - of @pool, the same each time, until @n are held or none comes. Return: how many
 * are held. */
unsigned hoard_receives(struct hoard *h, struct recvs *pool, unsigned n);

/** hoard_release - @n of the Receives, or as many as there are, go back. */
void hoard_release(struct hoard *h, unsigned n);

/** hoard_unwaited - all that calls may be set aside in. */
void hoard_unwaited(struct hoard *h, struct buf_arena *arena);

/** hoard_replies - all that continued replies are put together in. */
void hoard_replies(struct hoard *h, struct buf_arena *arena);

/** hoard_rooms - all that RPCs of clients, or of servers (@reverse), are kept in: in pieces of
 * BUF_MIN_BLOCK, what is common to all routes last. */
void hoard_rooms(struct hoard *h, struct buf_arena *arena, bool reverse);

/** hoard_give - @bytes of blocks, those that came last. */
void hoard_give(struct hoard *h, size_t bytes);

/** hoard_end - everything goes back. */
void hoard_end(struct hoard *h);

#endif
