/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <stdint.h>

#include "base/asan.h"
#include "proxy/memory/blocks.h"

/*
 * Operation
 *
 * A block of order n is 4 KiB << n octets, aligned to its size within the range. Its buddy is the
 * other half of the block it was split from. arena.orders has one octet for each page of 4 KiB: 0
 * inside a block, else the order + 1 of the block that begins there, with BLOCK_USED if it is
 * handed out. Blocks tile the range, so this octet suffices to free a block by its address.
 *
 * Free blocks are recorded outside the memory, in one set for each order, so free memory is never
 * touched. A block is taken from the smallest order that has one, at the lowest address. When load
 * goes the top of each zone becomes free, in large blocks, and release.c returns it to the system.
 *
 * Blocks of two zones never merge.
 */

size_t buf_round(size_t bytes)
{
	return bytes > BUF_MAX_BLOCK ? 0 : order_bytes(order_for(bytes));
}

/* The pages of @mask, in the @word-th word of .pages, are handed out. */
static inline void note_word(struct buf_touched *t, size_t word, uint64_t mask)
{
	uint64_t fresh = mask & ~t->pages[word];

	if (!fresh) /* the usual case */
		return;
	t->bytes += (unsigned)__builtin_popcountll(fresh) * (size_t)BUF_MIN_BLOCK;
	t->pages[word] |= mask;
}

/* A block is aligned to its size, so its pages are a part of one 64-bit word, or whole words. */
static void note_touched(struct buf_touched *t, size_t page, size_t pages)
{
	if (pages < 64)
		note_word(t, page / 64, ((UINT64_C(1) << pages) - 1) << page % 64);
	for (size_t word = page / 64; word < page / 64 + pages / 64; word++)
		note_word(t, word, ~UINT64_C(0));
}

static void buf_count(struct buf_arena *a, size_t page, size_t bytes)
{
	a->used += bytes;
	a->zones[a->zone_at[page]].used += bytes;
	if (page * BUF_MIN_BLOCK >= a->bytes - a->reserve)
		a->reserve_used += bytes;
}

static void count_taken(struct buf_arena *a, size_t page, unsigned order)
{
	buf_count(a, page, order_bytes(order));
	if (a->used > a->peak)
		a->peak = a->used;
	if (a->used > a->touched.high[0])
		a->touched.high[0] = a->used;
	note_touched(&a->touched, page, (size_t)1 << order);
}

void *buf_alloc_in(struct buf_arena *a, size_t bytes, unsigned zone)
{
	unsigned order, have;
	size_t page;

	if (bytes > BUF_MAX_BLOCK)
		return NULL;
	order = have = order_for(bytes);
	while (have < BUF_ORDERS && a->zones[zone].nfree[have] == 0)
		have++;
	if (have == BUF_ORDERS)
		return NULL;
	page = a->zones[zone].begin / BUF_MIN_BLOCK;
	page = bits_next(&a->free[have], (page + ((size_t)1 << have) - 1) >> have) << have;
	buf_take_block(a, page, have);
	while (have > order) {
		have--;
		buf_give_block(a, page + ((size_t)1 << have), have);
	}
	a->orders[page] = (uint8_t)((order + 1) | BLOCK_USED);
	ASAN_UNPOISON_MEMORY_REGION(a->base + page * BUF_MIN_BLOCK, order_bytes(order));
	count_taken(a, page, order);
	return a->base + page * BUF_MIN_BLOCK;
}

/* Purposes that may use the reserve try it first, because the rest is for purposes that may not. */
void *buf_alloc(struct buf_arena *a, size_t bytes, enum buf_purpose purpose)
{
	enum buf_zone zones[2];
	unsigned n = buf_zones_for(a, purpose, zones);
	void *block = NULL;

	for (unsigned i = 0; i < n && !block; i++)
		block = buf_alloc_in(a, bytes, zones[i]);
	return block;
}

/* The page of @block, which was handed out. */
static size_t used_page(const struct buf_arena *a, const void *block)
{
	size_t page = page_of(a, block);

	assert(page < a->bytes / BUF_MIN_BLOCK);
	assert((const uint8_t *)block == a->base + page * BUF_MIN_BLOCK);
	assert(a->orders[page] & BLOCK_USED);
	return page;
}

size_t buf_block_bytes(const struct buf_arena *a, const void *block)
{
	return order_bytes((a->orders[used_page(a, block)] & BLOCK_ORDER) - 1u);
}

void buf_free(struct buf_arena *a, void *block)
{
	unsigned order;
	size_t page;

	if (!block)
		return;
	page = used_page(a, block);
	order = (a->orders[page] & BLOCK_ORDER) - 1u;
	buf_count(a, page, -order_bytes(order));
	a->zones[a->zone_at[page]].frees++;
	a->orders[page] = 0;
	for (; order < MAX_ORDER; order++) {
		size_t buddy = page ^ ((size_t)1 << order);

		if (a->orders[buddy] != order + 1) /* not free, or not whole */
			break;
		if (a->zone_at[buddy] != a->zone_at[page])
			break;
		buf_take_block(a, buddy, order);
		page &= ~((size_t)1 << order);
	}
	buf_give_block(a, page, order);
}
