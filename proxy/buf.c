/* SPDX-License-Identifier: BSD-2-Clause */
#include "proxy/buf.h"

#include <assert.h>
#include <stdint.h>
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
 * only when a block begins on it. In each list the blocks of the reserve stand
 * behind the ordinary ones: a transaction looks at the head alone, an assembly
 * at the tail first. Blocks do not merge beyond BUF_MAX_BLOCK and the reserve is
 * a multiple of that, so no block ever lies on both sides.
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

static bool is_reserve(const struct buf_arena *a, const void *block)
{
	return (size_t)((const uint8_t *)block - a->base) >= a->bytes - a->reserve;
}

static void give(struct buf_arena *a, void *block, unsigned order)
{
	struct list *node = block;

	ASAN_POISON_MEMORY_REGION(block, order_bytes(order));
	ASAN_UNPOISON_MEMORY_REGION(node, sizeof(*node));
	if (is_reserve(a, block))
		list_add_tail(&a->free[order], node);
	else
		list_add_head(&a->free[order], node);
	a->orders[page_of(a, block)] = (uint8_t)(order + 1);
}

static void take(struct buf_arena *a, struct list *node)
{
	list_del(node);
	a->orders[page_of(a, node)] = 0;
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

	a->reserve = bytes / 8 / BUF_MAX_BLOCK * BUF_MAX_BLOCK;
	if (a->reserve < BUF_MAX_BLOCK)
		a->reserve = BUF_MAX_BLOCK;
	list_init(&a->waiters);
	for (unsigned i = 0; i < ORDERS; i++)
		list_init(&a->free[i]);
	/* From the top, so that the lowest addresses stand at the heads. */
	for (size_t at = bytes; at > 0; at -= BUF_MAX_BLOCK)
		give(a, a->base + at - BUF_MAX_BLOCK, MAX_ORDER);
	return 0;
}

void buf_arena_fini(struct buf_arena *a)
{
	assert(a->used == 0);
	assert(list_is_empty(&a->waiters));
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

/* A free block of the ordinary range (or of the reserve) of at least @order, the smallest. */
static struct list *find_in(const struct buf_arena *a, unsigned order, bool reserve)
{
	for (; order < ORDERS; order++) {
		struct list *node = reserve ? a->free[order].prev : a->free[order].next;

		if (node != &a->free[order] && is_reserve(a, node) == reserve)
			return node;
	}
	return NULL;
}

/* The reserve first for those who may: the rest is for those who may not. */
static struct list *find(const struct buf_arena *a, unsigned order, enum buf_purpose purpose)
{
	struct list *node = NULL;

	if (purpose == BUF_ASSEMBLY)
		node = find_in(a, order, true);
	return node ? node : find_in(a, order, false);
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
	a->used += order_bytes(order);
	if (is_reserve(a, node))
		a->reserve_used += order_bytes(order);
	if (a->used > a->peak)
		a->peak = a->used;
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
	a->used -= order_bytes(order);
	if (is_reserve(a, block))
		a->reserve_used -= order_bytes(order);
	a->orders[page] = 0;
	for (; order < MAX_ORDER; order++) {
		size_t buddy = page ^ ((size_t)1 << order);

		if (a->orders[buddy] != order + 1) /* not free, or not whole */
			break;
		take(a, (struct list *)(a->base + buddy * BUF_MIN_BLOCK));
		page &= ~((size_t)1 << order);
	}
	give(a, a->base + page * BUF_MIN_BLOCK, order);
}

size_t buf_available(const struct buf_arena *a, enum buf_purpose purpose)
{
	size_t ordinary = a->bytes - a->reserve - (a->used - a->reserve_used);

	return purpose == BUF_ASSEMBLY ? a->bytes - a->used : ordinary;
}

void buf_wait(struct buf_arena *a, struct buf_waiter *w)
{
	if (!list_is_empty(&w->link))
		return;
	list_add_tail(&a->waiters, &w->link);
	a->waits++;
}

void buf_unwait(struct buf_waiter *w)
{
	list_del(&w->link);
}

static struct buf_waiter *first_waiter(const struct buf_arena *a, enum buf_purpose purpose)
{
	for (struct list *it = a->waiters.next; it != &a->waiters; it = it->next) {
		struct buf_waiter *w = container_of(it, struct buf_waiter, link);

		if (w->purpose == purpose)
			return w;
	}
	return NULL;
}

bool buf_must_wait(const struct buf_arena *a, enum buf_purpose purpose)
{
	return first_waiter(a, purpose) != NULL;
}

/*
 * Power-of-two blocks of r octets in all always fit into one free block of
 * round(r): best fit leaves remainders of distinct sizes, and what is left is at
 * least as much as what is still asked for.
 */
static bool is_ready(const struct buf_arena *a, const struct buf_waiter *w)
{
	const struct list *head = &a->free[MAX_ORDER];
	size_t whole = 0;

	if (w->bytes <= BUF_MAX_BLOCK)
		return find(a, order_for(w->bytes), w->purpose) != NULL;
	for (struct list *it = head->next; it != head; it = it->next)
		if (w->purpose == BUF_ASSEMBLY || !is_reserve(a, it))
			whole += BUF_MAX_BLOCK;
	return whole >= w->bytes;
}

struct buf_waiter *buf_next_ready(struct buf_arena *a)
{
	static const enum buf_purpose each[] = {BUF_ASSEMBLY, BUF_TRANSACTION};

	for (unsigned i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		struct buf_waiter *w = first_waiter(a, each[i]);

		if (w && is_ready(a, w)) {
			list_del(&w->link);
			return w;
		}
	}
	return NULL;
}
