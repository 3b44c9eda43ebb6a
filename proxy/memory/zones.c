/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/asan.h"
#include "base/mem.h"
#include "proxy/memory/blocks.h"

/* Operation. The arena is one range of addresses. Zones are consecutive parts of it; each serves
 * some purposes, or one purpose of one route. Each page knows its zone. A zone is tiled with the
 * largest free blocks that fit; buf.c takes and frees them. */

/* Kinds of memory of which each route has a zone of its own. */
enum { OWN_TRANSACTIONS, OWN_FORWARD, OWN_CALLS, OWN_REPLIES, OWN_KINDS };

/* Huge pages, if the system gives them, need this alignment. */
enum { MAP_ALIGN = 2 * 1024 * 1024 };

/* Tile @zone with free blocks, each as large as its alignment allows. */
static void fill_zone(struct buf_arena *a, unsigned zone)
{
	size_t at = a->zones[zone].begin, end = a->zones[zone].end;

	for (size_t page = at / BUF_MIN_BLOCK; page < end / BUF_MIN_BLOCK; page++)
		a->zone_at[page] = (uint16_t)zone;
	while (at < end) {
		unsigned order = MAX_ORDER;

		while (at % order_bytes(order) || order_bytes(order) > end - at)
			order--;
		buf_give_block(a, at / BUF_MIN_BLOCK, order);
		at += order_bytes(order);
	}
}

static void empty_zones(struct buf_arena *a)
{
	ASAN_UNPOISON_MEMORY_REGION(a->base, a->bytes);
	memset(a->orders, 0, a->bytes / BUF_MIN_BLOCK);
	for (unsigned i = 0; i < BUF_ORDERS; i++)
		bits_zero(&a->free[i]);
	memset(a->zones, 0, a->nzones * sizeof(a->zones[0]));
}

/* The next @bytes of the range become @zone, all of it free. */
static void set_zone(struct buf_arena *a, unsigned zone, size_t *at, size_t bytes)
{
	a->zones[zone].begin = *at;
	a->zones[zone].end = *at + bytes;
	fill_zone(a, zone);
	*at += bytes;
}

static int init_tables(struct buf_arena *a)
{
	size_t pages = a->bytes / BUF_MIN_BLOCK;

	a->orders = mem_zalloc(pages);
	a->zone_at = mem_zalloc(pages * sizeof(a->zone_at[0]));
	a->touched.pages = mem_zalloc((pages / 64 + 1) * sizeof(a->touched.pages[0]));
	a->zones = mem_zalloc(BUF_ZONES * sizeof(a->zones[0]));
	a->nzones = BUF_ZONES;
	if (!a->orders || !a->zone_at || !a->touched.pages || !a->zones)
		return ERR_NOMEM;
	for (unsigned i = 0; i < BUF_ORDERS; i++)
		if (bits_init(&a->free[i], pages >> i) < 0)
			return ERR_NOMEM;
	return 0;
}

static void free_tables(struct buf_arena *a)
{
	for (unsigned i = 0; i < BUF_ORDERS; i++)
		bits_fini(&a->free[i]);
	mem_free(a->zones);
	mem_free(a->touched.pages);
	mem_free(a->zone_at);
	mem_free(a->orders);
	a->zones = NULL;
	a->orders = NULL;
}

static int map_range(struct buf_arena *a)
{
	size_t slack;

	a->base = mmap(NULL, a->bytes + MAP_ALIGN, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (a->base == MAP_FAILED)
		return ERR_NOMEM;
	slack = (MAP_ALIGN - (uintptr_t)a->base % MAP_ALIGN) % MAP_ALIGN;
	if (slack)
		munmap(a->base, slack);
	a->base += slack;
	munmap(a->base + a->bytes, MAP_ALIGN - slack);
	return 0;
}

int buf_arena_init(struct buf_arena *a, size_t bytes)
{
	size_t at = 0;

	if (bytes > SIZE_MAX / 2)
		return ERR_NOMEM;
	bytes = (bytes + BUF_MAX_BLOCK - 1) / BUF_MAX_BLOCK * BUF_MAX_BLOCK;
	if (bytes < 2 * (size_t)BUF_MAX_BLOCK)
		bytes = 2 * (size_t)BUF_MAX_BLOCK;
	*a = (struct buf_arena){.bytes = bytes, .touched.at_ns = UINT64_MAX};
	if (init_tables(a) < 0 || map_range(a) < 0) {
		free_tables(a);
		return ERR_NOMEM;
	}
	a->reserve = budget_reserve(bytes);
	set_zone(a, BUF_ZONE_ORDINARY, &at, bytes - a->reserve);
	set_zone(a, BUF_ZONE_REASM_REPLIES, &at, a->reserve);
	return 0;
}

/* The size of one of @parts equal parts of @bytes into which blocks fit well: a power of two, or
 * a multiple of BUF_MAX_BLOCK. */
static size_t even_part(size_t bytes, unsigned parts)
{
	size_t each = parts ? bytes / parts : 0, size = BUF_MIN_BLOCK;

	if (each >= BUF_MAX_BLOCK)
		return each / BUF_MAX_BLOCK * BUF_MAX_BLOCK;
	while (size * 2 <= each)
		size *= 2;
	return size <= each ? size : 0;
}

static void set_own(struct buf_arena *a, unsigned kind, size_t *at, size_t each)
{
	for (unsigned i = 0; i < a->parts; i++)
		set_zone(a, BUF_ZONES + i * OWN_KINDS + kind, at, each);
}

static size_t lesser_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Divides the memory for transaction blocks: a quarter is for servers' RPCs, for which no
 * client's RPC waits. The rest is for clients' RPCs, and half of that is divided among the routes
 * if each part holds a few. */
static void part_txn_state(struct buf_arena *a, size_t *at, size_t bytes)
{
	size_t reverse = bytes / 4, own = even_part((bytes - reverse) / 2, a->parts);

	if (own < BUDGET_BLOCK)
		own = 0;
	set_zone(a, BUF_ZONE_TXN_FORWARD, at, bytes - reverse - own * a->parts);
	set_own(a, OWN_FORWARD, at, own);
	set_zone(a, BUF_ZONE_TXN_REVERSE, at, reverse);
}

/* Ask for huge pages for the first @bytes of the range, which are for payload. Each octet of
 * payload is touched several times, and with small pages a new page is looked up each time. Other
 * memory is touched in small parts, and with huge pages would take more than it needs. */
static void use_huge_pages(const struct buf_arena *a, size_t bytes)
{
	/* Without huge pages all else is the same. */
	(void)madvise(a->base, bytes / MAP_ALIGN * MAP_ALIGN, MADV_HUGEPAGE);
}

/* Divides the range up to @end, in this order: payload common to all transactions (more than half,
 * so that the largest RPC finds room there), each route's own zones, transaction blocks, the first
 * octets of continued messages, and calls that must not wait. */
static void part_ordinary(struct buf_arena *a, size_t end)
{
	size_t start = lesser_of(end / 16 / BUDGET_BLOCK * BUDGET_BLOCK, BUF_MAX_BLOCK);
	size_t state = end / BUDGET_TXN_STATE / BUDGET_BLOCK * BUDGET_BLOCK;
	size_t beside = start + state + lesser_of(end / 8, 2 * (size_t)BUF_MAX_BLOCK);
	size_t own = even_part(end / 2 - beside, a->parts), common = end, at = 0;

	for (; own >= BUF_MIN_BLOCK; own -= own > BUF_MAX_BLOCK ? BUF_MAX_BLOCK : own / 2) {
		size_t unit = own < BUF_MAX_BLOCK ? own : BUF_MAX_BLOCK;

		common = (end - beside - own * a->parts) / unit * unit;
		if (common >= end / 2)
			break;
		own = own == BUF_MIN_BLOCK ? 0 : own;
	}
	if (own < BUF_MIN_BLOCK) {
		own = 0;
		common = (end - beside) / BUF_MAX_BLOCK * BUF_MAX_BLOCK;
		common = common < end / 2 ? end - beside : common;
	}
	set_zone(a, BUF_ZONE_ORDINARY, &at, common);
	set_own(a, OWN_TRANSACTIONS, &at, own);
	use_huge_pages(a, at);
	part_txn_state(a, &at, state);
	set_zone(a, BUF_ZONE_REASM_START, &at, start);
	set_zone(a, BUF_ZONE_COPIED_CALL, &at, end - at);
}

/* Divides one half of the reserve: half of it goes to the routes' own zones, if the other half
 * still holds the largest message. */
static void part_reserve(struct buf_arena *a, unsigned kind, size_t *at, size_t bytes)
{
	size_t own = bytes >= 2 * (size_t)BUF_MAX_BLOCK ? even_part(bytes / 2, a->parts) : 0;

	set_zone(a, kind == OWN_CALLS ? BUF_ZONE_REASM_CALLS : BUF_ZONE_REASM_REPLIES, at,
		 bytes - own * a->parts);
	set_own(a, kind, at, own);
}

int buf_arena_part(struct buf_arena *a, size_t fixed, unsigned parts)
{
	size_t calls = a->reserve / 2, at = a->bytes - a->reserve - fixed;
	struct buf_range *zones;

	assert(a->used == 0 && fixed <= a->bytes - a->reserve && fixed % BUF_MIN_BLOCK == 0);
	if (parts > (UINT16_MAX - BUF_ZONES) / OWN_KINDS)
		parts = 0;
	zones = mem_zalloc((BUF_ZONES + parts * OWN_KINDS) * sizeof(*zones));
	if (!zones)
		return ERR_NOMEM;
	mem_free(a->zones);
	a->zones = zones;
	a->nzones = BUF_ZONES + parts * OWN_KINDS;
	a->parts = parts;
	empty_zones(a);
	part_ordinary(a, at);
	set_zone(a, BUF_ZONE_CONN, &at, fixed);
	if (a->reserve >= 2 * (size_t)BUF_MAX_BLOCK)
		calls = calls / BUF_MAX_BLOCK * BUF_MAX_BLOCK;
	part_reserve(a, OWN_CALLS, &at, calls);
	part_reserve(a, OWN_REPLIES, &at, a->reserve - calls);
	return 0;
}

void buf_arena_fini(struct buf_arena *a)
{
	assert(a->used == 0);
	ASAN_UNPOISON_MEMORY_REGION(a->base, a->bytes);
	munmap(a->base, a->bytes);
	free_tables(a);
	a->base = NULL;
}

unsigned buf_zone_of(const struct buf_arena *a, const void *block)
{
	return a->zone_at[page_of(a, block)];
}

size_t buf_zone_bytes(const struct buf_arena *a, unsigned zone)
{
	return a->zones[zone].end - a->zones[zone].begin;
}

size_t buf_zone_free(const struct buf_arena *a, unsigned zone)
{
	return zone == BUF_NO_ZONE ? 0 : buf_zone_bytes(a, zone) - a->zones[zone].used;
}

unsigned buf_own_zone(const struct buf_arena *a, enum buf_purpose purpose, unsigned part)
{
	unsigned zone = BUF_ZONES + part * OWN_KINDS;

	static const int kinds[BUF_PURPOSES] = {
		[BUF_TRANSACTION] = OWN_TRANSACTIONS + 1,
		[BUF_TXN_FORWARD] = OWN_FORWARD + 1,
		[BUF_REASM_CALL] = OWN_CALLS + 1,
		[BUF_REASM_REPLY] = OWN_REPLIES + 1,
	};

	if (part >= a->parts || kinds[purpose] == 0)
		return BUF_NO_ZONE;
	zone += (unsigned)kinds[purpose] - 1;
	return buf_zone_bytes(a, zone) > 0 ? zone : BUF_NO_ZONE;
}

enum buf_zone buf_zone_for(enum buf_purpose purpose)
{
	static const enum buf_zone zones[BUF_PURPOSES] = {
		[BUF_TRANSACTION] = BUF_ZONE_ORDINARY,
		[BUF_REASM_REPLY] = BUF_ZONE_REASM_REPLIES,
		[BUF_REASM_CALL] = BUF_ZONE_REASM_CALLS,
		[BUF_REASM_START] = BUF_ZONE_REASM_START,
		[BUF_COPIED_CALL] = BUF_ZONE_COPIED_CALL,
		[BUF_TXN_FORWARD] = BUF_ZONE_TXN_FORWARD,
		[BUF_TXN_REVERSE] = BUF_ZONE_TXN_REVERSE,
		[BUF_CONN] = BUF_ZONE_CONN,
	};

	return zones[purpose];
}

unsigned buf_zones_for(const struct buf_arena *a, enum buf_purpose purpose, enum buf_zone zones[2])
{
	bool parted = buf_zone_bytes(a, BUF_ZONE_REASM_CALLS) > 0;

	zones[0] = zones[1] = BUF_ZONE_ORDINARY;
	if (purpose == BUF_TRANSACTION)
		return 1;
	if (purpose == BUF_REASM_REPLY || (purpose == BUF_REASM_CALL && !parted)) {
		zones[0] = BUF_ZONE_REASM_REPLIES;
		return 2;
	}
	if (parted)
		zones[0] = buf_zone_for(purpose);
	return 1;
}

size_t buf_available(const struct buf_arena *a, enum buf_purpose purpose)
{
	enum buf_zone zones[2];
	unsigned n = buf_zones_for(a, purpose, zones);
	size_t bytes = 0;

	for (unsigned i = 0; i < n; i++)
		bytes += buf_zone_free(a, zones[i]);
	return bytes;
}
