/* SPDX-License-Identifier: BSD-2-Clause */
#include "proxy/buf.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"

/*
 * Operation. A block of order n is 4 KiB << n octets, aligned to its size within
 * the range; its buddy is the block it was split from. arena.orders holds one
 * octet for each 4 KiB page: 0 inside a block, else the order + 1 of the block
 * that begins there, with BLOCK_USED when it is handed out. That octet is all
 * that is needed to free a block by its address alone.
 *
 * Free blocks are linked through their own first octets, so a page is touched
 * only when a block begins on it. Each zone has lists of its own, and blocks of
 * two zones never merge.
 *
 * The last block freed is the first to be used again: its pages are warm, and
 * memory never needed is never touched.
 */
enum { BLOCK_USED = 0x80, BLOCK_ORDER = 0x7f, ORDERS = 13, MAX_ORDER = ORDERS - 1 };

/* Huge pages, where the system gives them, want this alignment. */
enum { MAP_ALIGN = 2 * 1024 * 1024 };

_Static_assert((size_t)BUF_MIN_BLOCK << MAX_ORDER == BUF_MAX_BLOCK, "orders cover the sizes");

/* With AddressSanitizer free blocks are out of bounds for everybody. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

static size_t order_bytes(unsigned order)
{
	return (size_t)BUF_MIN_BLOCK << order;
}

static unsigned order_for(size_t bytes)
{
	unsigned order = 0;

	while (order_bytes(order) < bytes)
		order++;
	return order;
}

static size_t page_of(const struct buf_arena *a, const void *block)
{
	return (size_t)((const uint8_t *)block - a->base) / BUF_MIN_BLOCK;
}

static enum buf_zone zone_of(const struct buf_arena *a, const void *block)
{
	size_t at = (size_t)((const uint8_t *)block - a->base);
	unsigned zone = 0;

	while (zone < BUF_ZONES - 1 && at >= a->zone_end[zone])
		zone++;
	return (enum buf_zone)zone;
}

static void give(struct buf_arena *a, void *block, unsigned order)
{
	struct list *node = block;

	ASAN_POISON_MEMORY_REGION(block, order_bytes(order));
	ASAN_UNPOISON_MEMORY_REGION(node, sizeof(*node));
	list_add_head(&a->free[zone_of(a, block)][order], node);
	a->orders[page_of(a, block)] = (uint8_t)(order + 1);
}

static void take(struct buf_arena *a, struct list *node)
{
	list_del(node);
	a->orders[page_of(a, node)] = 0;
}

/* Free blocks for the range [@from, @to), from the top, so that the lowest address stands at the
 * head; each as large as its alignment lets it be. */
static void give_range(struct buf_arena *a, size_t from, size_t to)
{
	while (to > from) {
		unsigned order = MAX_ORDER;

		while (to % order_bytes(order) || order_bytes(order) > to - from)
			order--;
		to -= order_bytes(order);
		give(a, a->base + to, order);
	}
}

static void set_zones(struct buf_arena *a, size_t fixed, size_t calls)
{
	const size_t size[BUF_ZONES] = {a->bytes - a->reserve - fixed, fixed, calls,
					a->reserve - calls};
	size_t at = 0;

	ASAN_UNPOISON_MEMORY_REGION(a->base, a->bytes);
	memset(a->orders, 0, a->bytes / BUF_MIN_BLOCK);
	for (unsigned zone = 0; zone < BUF_ZONES; zone++) {
		at += size[zone];
		a->zone_end[zone] = at;
		for (unsigned i = 0; i < ORDERS; i++)
			list_init(&a->free[zone][i]);
	}
	for (unsigned zone = 0; zone < BUF_ZONES; zone++)
		give_range(a, a->zone_end[zone] - size[zone], a->zone_end[zone]);
}

int buf_arena_init(struct buf_arena *a, size_t bytes)
{
	size_t slack;

	if (bytes > SIZE_MAX / 2)
		return ERR_NOMEM;
	bytes = (bytes + BUF_MAX_BLOCK - 1) / BUF_MAX_BLOCK * BUF_MAX_BLOCK;
	if (bytes < 2 * (size_t)BUF_MAX_BLOCK)
		bytes = 2 * (size_t)BUF_MAX_BLOCK;
	*a = (struct buf_arena){.bytes = bytes};
	a->orders = mem_zalloc(bytes / BUF_MIN_BLOCK);
	if (!a->orders)
		return ERR_NOMEM;
	a->base = mmap(NULL, bytes + MAP_ALIGN, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (a->base == MAP_FAILED) {
		mem_free(a->orders);
		return ERR_NOMEM;
	}
	slack = (MAP_ALIGN - (uintptr_t)a->base % MAP_ALIGN) % MAP_ALIGN;
	if (slack)
		munmap(a->base, slack);
	a->base += slack;
	munmap(a->base + bytes, MAP_ALIGN - slack);

	a->reserve = budget_reserve(bytes);
	for (unsigned i = 0; i < BUF_PURPOSES; i++)
		list_init(&a->waiters[i]);
	set_zones(a, 0, 0);
	return 0;
}

void buf_arena_part(struct buf_arena *a, size_t fixed)
{
	size_t calls = a->reserve / 2;

	assert(a->used == 0 && fixed <= a->bytes - a->reserve && fixed % BUF_MIN_BLOCK == 0);
	if (a->reserve >= 2 * (size_t)BUF_MAX_BLOCK)
		calls = calls / BUF_MAX_BLOCK * BUF_MAX_BLOCK;
	set_zones(a, fixed, calls);
}

void buf_arena_fini(struct buf_arena *a)
{
	assert(a->used == 0);
	for (unsigned i = 0; i < BUF_PURPOSES; i++)
		assert(list_is_empty(&a->waiters[i]));
	ASAN_UNPOISON_MEMORY_REGION(a->base, a->bytes);
	munmap(a->base, a->bytes);
	mem_free(a->orders);
	a->base = NULL;
	a->orders = NULL;
}

size_t buf_round(size_t bytes)
{
	return bytes > BUF_MAX_BLOCK ? 0 : order_bytes(order_for(bytes));
}

size_t buf_zone_bytes(const struct buf_arena *a, enum buf_zone zone)
{
	return a->zone_end[zone] - (zone ? a->zone_end[zone - 1] : 0);
}

/* The zones of @purpose in the order they are tried. Return: how many. */
static unsigned zones_for(const struct buf_arena *a, enum buf_purpose purpose,
			  enum buf_zone zones[2])
{
	bool parted = buf_zone_bytes(a, BUF_ZONE_CALLS) > 0;

	switch (purpose) {
	case BUF_FIXED:
		zones[0] = parted ? BUF_ZONE_FIXED : BUF_ZONE_ORDINARY;
		return 1;
	case BUF_CALL:
		zones[0] = parted ? BUF_ZONE_CALLS : BUF_ZONE_REPLIES;
		zones[1] = BUF_ZONE_ORDINARY;
		return parted ? 1 : 2;
	case BUF_ASSEMBLY:
		zones[0] = BUF_ZONE_REPLIES;
		zones[1] = BUF_ZONE_ORDINARY;
		return 2;
	default:
		zones[0] = BUF_ZONE_ORDINARY;
		return 1;
	}
}

/* The smallest free block of at least @order in @zone. */
static struct list *find_in(const struct buf_arena *a, unsigned order, enum buf_zone zone)
{
	for (; order < ORDERS; order++)
		if (!list_is_empty(&a->free[zone][order]))
			return a->free[zone][order].next;
	return NULL;
}

/* The reserve first for those who may: the rest is for those who may not. */
static struct list *find(const struct buf_arena *a, unsigned order, enum buf_purpose purpose)
{
	enum buf_zone zones[2];
	unsigned n = zones_for(a, purpose, zones);
	struct list *node = NULL;

	for (unsigned i = 0; i < n && !node; i++)
		node = find_in(a, order, zones[i]);
	return node;
}

static void count(struct buf_arena *a, const void *block, unsigned order, bool taken)
{
	enum buf_zone zone = zone_of(a, block);
	size_t bytes = taken ? order_bytes(order) : -order_bytes(order);

	a->used += bytes;
	a->zone_used[zone] += bytes;
	if (zone >= BUF_ZONE_CALLS)
		a->reserve_used += bytes;
	if (a->used > a->peak)
		a->peak = a->used;
}

void *buf_alloc(struct buf_arena *a, size_t bytes, enum buf_purpose purpose)
{
	unsigned order, have;
	struct list *node;

	if (bytes > BUF_MAX_BLOCK)
		return NULL;
	order = order_for(bytes);
	node = find(a, order, purpose);
	if (!node)
		return NULL;
	have = a->orders[page_of(a, node)] - 1u;
	take(a, node);
	while (have > order) {
		have--;
		give(a, (uint8_t *)node + order_bytes(have), have);
	}
	a->orders[page_of(a, node)] = (uint8_t)((order + 1) | BLOCK_USED);
	ASAN_UNPOISON_MEMORY_REGION(node, order_bytes(order));
	count(a, node, order, true);
	return node;
}

void buf_free(struct buf_arena *a, void *block)
{
	unsigned order;
	size_t page;

	if (!block)
		return;
	page = page_of(a, block);
	assert(page < a->bytes / BUF_MIN_BLOCK);
	assert((uint8_t *)block == a->base + page * BUF_MIN_BLOCK);
	assert(a->orders[page] & BLOCK_USED);
	order = (a->orders[page] & BLOCK_ORDER) - 1u;
	count(a, block, order, false);
	a->orders[page] = 0;
	for (; order < MAX_ORDER; order++) {
		size_t buddy = page ^ ((size_t)1 << order);

		if (a->orders[buddy] != order + 1) /* not free, or not whole */
			break;
		if (zone_of(a, a->base + buddy * BUF_MIN_BLOCK) != zone_of(a, block))
			break;
		take(a, (struct list *)(a->base + buddy * BUF_MIN_BLOCK));
		page &= ~((size_t)1 << order);
	}
	give(a, a->base + page * BUF_MIN_BLOCK, order);
}

size_t buf_available(const struct buf_arena *a, enum buf_purpose purpose)
{
	enum buf_zone zones[2];
	unsigned n = zones_for(a, purpose, zones);
	size_t bytes = 0;

	for (unsigned i = 0; i < n; i++)
		bytes += buf_zone_bytes(a, zones[i]) - a->zone_used[zones[i]];
	return bytes;
}

void buf_wait(struct buf_arena *a, struct buf_waiter *w)
{
	if (!list_is_empty(&w->link))
		return;
	list_add_tail(&a->waiters[w->purpose], &w->link);
	a->waits++;
}

void buf_unwait(struct buf_waiter *w)
{
	list_del(&w->link);
}

bool buf_must_wait(const struct buf_arena *a, enum buf_purpose purpose)
{
	return !list_is_empty(&a->waiters[purpose]);
}

/*
 * Power-of-two blocks of r octets in all always fit into one free block of
 * round(r): best fit leaves remainders of distinct sizes, and what is left is at
 * least as much as what is still asked for.
 */
static bool is_ready(const struct buf_arena *a, const struct buf_waiter *w)
{
	enum buf_zone zones[2];
	unsigned n = zones_for(a, w->purpose, zones);
	size_t whole = 0;

	if (w->bytes <= BUF_MAX_BLOCK)
		return find(a, order_for(w->bytes), w->purpose) != NULL;
	for (unsigned i = 0; i < n; i++) {
		const struct list *head = &a->free[zones[i]][MAX_ORDER];

		for (struct list *it = head->next; it != head; it = it->next)
			whole += BUF_MAX_BLOCK;
	}
	return whole >= w->bytes;
}

struct buf_waiter *buf_next_ready(struct buf_arena *a)
{
	static const enum buf_purpose each[] = {BUF_ASSEMBLY, BUF_CALL, BUF_TRANSACTION};

	for (unsigned i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		struct list *waiters = &a->waiters[each[i]];
		struct buf_waiter *w = list_first(waiters, struct buf_waiter, link);

		if (!list_is_empty(waiters) && is_ready(a, w)) {
			list_del(&w->link);
			return w;
		}
	}
	return NULL;
}
