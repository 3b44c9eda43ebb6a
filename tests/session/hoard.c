/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/session/hoard.h"

#include "proxy/leg/leg.h"

unsigned hoard_receives(struct hoard *h, struct recv_pool *pool, unsigned n)
{
	h->pool = pool;
	while (h->nrbufs < n && h->nrbufs < HOARD_MOST &&
	       (h->rbufs[h->nrbufs] = recv_pool_take(pool)))
		h->nrbufs++;
	return h->nrbufs;
}

void hoard_release(struct hoard *h, unsigned n)
{
	while (n-- > 0 && h->nrbufs > 0)
		recv_pool_put(h->pool, h->rbufs[--h->nrbufs]);
}

void hoard_for_copies(struct hoard *h, struct buf_arena *arena)
{
	h->arena = arena;
	while (h->nblocks < HOARD_MOST &&
	       (h->blocks[h->nblocks] = buf_alloc(arena, 4096, BUF_COPIED_CALL)))
		h->nblocks++;
}

void hoard_replies(struct hoard *h, struct buf_arena *arena)
{
	h->arena = arena;
	for (size_t size = BUF_MAX_BLOCK; size >= BUF_MIN_BLOCK; size /= 2)
		while (h->nblocks < HOARD_MOST &&
		       (h->blocks[h->nblocks] = buf_alloc(arena, size, BUF_REASM_REPLY)))
			h->nblocks++;
}

static void take_zone(struct hoard *h, unsigned zone)
{
	while (h->nblocks < HOARD_MOST && zone != BUF_NO_ZONE &&
	       (h->blocks[h->nblocks] = buf_alloc_in(h->arena, BUF_MIN_BLOCK, zone)))
		h->nblocks++;
}

void hoard_rooms(struct hoard *h, struct buf_arena *arena, bool reverse)
{
	h->arena = arena;
	for (unsigned i = 0; i < arena->parts; i++)
		take_zone(h, buf_own_zone(arena, reverse ? BUF_TXN_REVERSE : BUF_TXN_FORWARD, i));
	take_zone(h, reverse ? BUF_ZONE_TXN_REVERSE : BUF_ZONE_TXN_FORWARD);
}

void hoard_zone(struct hoard *h, struct buf_arena *arena, unsigned zone)
{
	h->arena = arena;
	for (size_t size = BUF_MAX_BLOCK; size >= BUF_MIN_BLOCK; size /= 2)
		while (h->nblocks < HOARD_MOST &&
		       (h->blocks[h->nblocks] = buf_alloc_in(arena, size, zone)))
			h->nblocks++;
}

void hoard_give(struct hoard *h, size_t bytes)
{
	for (; bytes > 0 && h->nblocks > 0; bytes -= BUF_MIN_BLOCK)
		buf_free(h->arena, h->blocks[--h->nblocks]);
}

void hoard_end(struct hoard *h)
{
	hoard_release(h, h->nrbufs);
	if (h->own_ops)
		h->pool->fabric->ops = h->own_ops;
	h->own_ops = NULL;
	hoard_give(h, SIZE_MAX & ~(size_t)(BUF_MIN_BLOCK - 1));
}
