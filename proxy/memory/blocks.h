/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_MEMORY_BLOCKS_H
#define PROXY_MEMORY_BLOCKS_H

#include "base/asan.h"
#include "proxy/memory/buf.h"

/** Shared by the files of proxy/memory: what a block is, and from which zones it is taken. */

/* An element of arena.orders: the order + 1 of the block that begins at the page, and BLOCK_USED
 * if it is handed out. */
enum { BLOCK_USED = 0x80, BLOCK_ORDER = 0x7f, MAX_ORDER = BUF_ORDERS - 1 };

_Static_assert((size_t)BUF_MIN_BLOCK << MAX_ORDER == BUF_MAX_BLOCK, "orders cover the sizes");

static inline size_t order_bytes(unsigned order)
{
	return (size_t)BUF_MIN_BLOCK << order;
}

static inline unsigned order_for(size_t bytes)
{
	unsigned bits = 8 * sizeof(unsigned long);

	if (bytes <= BUF_MIN_BLOCK)
		return 0;
	return bits - (unsigned)__builtin_clzl((bytes - 1) / BUF_MIN_BLOCK);
}

static inline size_t page_of(const struct buf_arena *a, const void *block)
{
	return (size_t)((const uint8_t *)block - a->base) / BUF_MIN_BLOCK;
}

/** buf_give_block - the block of @order at @page becomes free, in the zone that it lies in. With
 * AddressSanitizer free blocks are poisoned. */
static inline void buf_give_block(struct buf_arena *a, size_t page, unsigned order)
{
	ASAN_POISON_MEMORY_REGION(a->base + page * BUF_MIN_BLOCK, order_bytes(order));
	bits_set(&a->free[order], page >> order);
	a->zones[a->zone_at[page]].nfree[order]++;
	a->orders[page] = (uint8_t)(order + 1);
}

/** buf_take_block - the free block of @order at @page is free no more. */
static inline void buf_take_block(struct buf_arena *a, size_t page, unsigned order)
{
	bits_clear(&a->free[order], page >> order);
	a->zones[a->zone_at[page]].nfree[order]--;
	a->orders[page] = 0;
}

/** buf_zones_for - the zones for @purpose, in the order in which they are tried. Return: how
 * many. */
unsigned buf_zones_for(const struct buf_arena *a, enum buf_purpose purpose, enum buf_zone zones[2]);

#endif
