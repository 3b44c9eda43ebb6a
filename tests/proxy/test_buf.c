/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "proxy/memory/buf.h"
#include "tests/rng.h"

#define MIB ((size_t)1024 * 1024)

static int set_up(void **state)
{
	static struct buf_arena arena;

	*state = &arena;
	return buf_arena_init(&arena, 64 * MIB);
}

static int tear_down(void **state)
{
	struct buf_arena *a = *state;

	buf_arena_fini(a);
	return mem_live() == 0 ? 0 : -1;
}

static void rounds_to_blocks(void **state)
{
	(void)state;
	assert_int_equal(buf_round(0), 4096);
	assert_int_equal(buf_round(1), 4096);
	assert_int_equal(buf_round(4096), 4096);
	assert_int_equal(buf_round(4097), 8192);
	assert_int_equal(buf_round(BUF_MAX_BLOCK - 1), BUF_MAX_BLOCK);
	assert_int_equal(buf_round(BUF_MAX_BLOCK), BUF_MAX_BLOCK);
	assert_int_equal(buf_round((size_t)BUF_MAX_BLOCK + 1), 0);
	assert_int_equal(buf_round(SIZE_MAX), 0);
}

static void sizes_of_the_arena(void **state)
{
	struct buf_arena a;

	(void)state;
	assert_int_equal(buf_arena_init(&a, 1), 0);
	assert_int_equal(a.bytes, 2 * BUF_MAX_BLOCK);
	assert_int_equal(a.reserve, BUF_MAX_BLOCK);
	buf_arena_fini(&a);
	assert_int_equal(buf_arena_init(&a, 300 * MIB), 0);
	assert_int_equal(a.bytes, 304 * MIB);
	assert_int_equal(a.reserve, 32 * MIB);
	assert_int_equal(buf_available(&a, BUF_REASM_REPLY), 304 * MIB);
	assert_int_equal(buf_available(&a, BUF_TRANSACTION), 272 * MIB);
	buf_arena_fini(&a);
	assert_int_equal(buf_arena_init(&a, SIZE_MAX), ERR_NOMEM);
	mem_fail_at(1);
	assert_int_equal(buf_arena_init(&a, 1), ERR_NOMEM);
	assert_int_equal(mem_live(), 0);
}

static void too_large_is_null(void **state)
{
	struct buf_arena *a = *state;

	assert_null(buf_alloc(a, (size_t)BUF_MAX_BLOCK + 1, BUF_REASM_REPLY));
	assert_null(buf_alloc(a, SIZE_MAX, BUF_REASM_REPLY));
	buf_free(a, NULL);
	assert_int_equal(a->used, 0);
}

static void reserve_is_for_reassembly(void **state)
{
	struct buf_arena *a = *state; /* 48 MiB for all, 16 MiB reserve */
	void *t[3], *whole, *small;

	for (int i = 0; i < 3; i++) {
		t[i] = buf_alloc(a, BUF_MAX_BLOCK, BUF_TRANSACTION);
		assert_non_null(t[i]);
	}
	assert_int_equal(buf_available(a, BUF_TRANSACTION), 0);
	assert_null(buf_alloc(a, 1, BUF_TRANSACTION));
	whole = buf_alloc(a, BUF_MAX_BLOCK, BUF_REASM_REPLY);
	assert_non_null(whole);
	assert_null(buf_alloc(a, 1, BUF_REASM_REPLY));
	buf_free(a, whole);
	/* A broken-up reserve stays out of reach for transactions. */
	small = buf_alloc(a, 1, BUF_REASM_REPLY);
	assert_null(buf_alloc(a, 1, BUF_TRANSACTION));
	/* With room elsewhere a reassembly goes on beyond the reserve. */
	buf_free(a, t[1]);
	whole = buf_alloc(a, BUF_MAX_BLOCK, BUF_REASM_REPLY);
	assert_ptr_equal(whole, t[1]);
	assert_int_equal(a->peak, a->bytes);
	buf_free(a, whole);
	buf_free(a, small);
	buf_free(a, t[0]);
	buf_free(a, t[2]);
}

/* Small blocks of transactions all over never keep a reassembly from a whole block. */
static void reserve_is_not_fragmented(void **state)
{
	struct buf_arena *a = *state;
	size_t n = (a->bytes - a->reserve) / BUF_MIN_BLOCK;
	void **small = mem_zalloc(n * sizeof(*small)), *whole;

	for (size_t i = 0; i < n; i++) {
		small[i] = buf_alloc(a, 1, BUF_TRANSACTION);
		assert_non_null(small[i]);
	}
	assert_null(buf_alloc(a, 1, BUF_TRANSACTION));
	whole = buf_alloc(a, BUF_MAX_BLOCK, BUF_REASM_REPLY);
	assert_non_null(whole);
	buf_free(a, whole);
	for (size_t i = 0; i < n; i += 2)
		buf_free(a, small[i]);
	assert_null(buf_alloc(a, 2 * BUF_MIN_BLOCK, BUF_TRANSACTION));
	for (size_t i = 1; i < n; i += 2)
		buf_free(a, small[i]);
	whole = buf_alloc(a, BUF_MAX_BLOCK, BUF_TRANSACTION);
	assert_non_null(whole);
	buf_free(a, whole);
	mem_free(small);
}

/* The model: the owner of each 4 KiB page. */
struct model {
	struct buf_arena *a;
	uint16_t *owner; /* block number + 1, or 0 */
	void *block[500];
	size_t bytes[500];
	bool used[500];
};

static void model_alloc(struct model *m, struct rng *r, unsigned i)
{
	enum buf_purpose purpose = rng_below(r, 4) ? BUF_TRANSACTION : BUF_REASM_REPLY;
	size_t bytes = rng_below(r, 1u << (1 + rng_below(r, 24)));
	size_t avail = buf_available(m->a, purpose), page;
	uint8_t *b = buf_alloc(m->a, bytes, purpose);

	if (!b)
		return;
	bytes = buf_round(bytes);
	assert_true(avail >= bytes);
	assert_int_equal((uintptr_t)b % 4096, 0);
	assert_int_equal((size_t)(b - m->a->base) % bytes, 0);
	page = (size_t)(b - m->a->base) / BUF_MIN_BLOCK;
	if (purpose == BUF_TRANSACTION)
		assert_true((size_t)(b - m->a->base) + bytes <= m->a->bytes - m->a->reserve);
	for (size_t p = 0; p < bytes / BUF_MIN_BLOCK; p++) {
		assert_int_equal(m->owner[page + p], 0);
		m->owner[page + p] = (uint16_t)(i + 1);
	}
	b[0] = b[bytes - 1] = (uint8_t)i;
	m->block[i] = b;
	m->bytes[i] = bytes;
	m->used[i] = true;
}

static void model_free(struct model *m, unsigned i)
{
	uint8_t *b = m->block[i];
	size_t page = (size_t)(b - m->a->base) / BUF_MIN_BLOCK;

	assert_int_equal(b[0], (uint8_t)i);
	assert_int_equal(b[m->bytes[i] - 1], (uint8_t)i);
	for (size_t p = 0; p < m->bytes[i] / BUF_MIN_BLOCK; p++) {
		assert_int_equal(m->owner[page + p], i + 1);
		m->owner[page + p] = 0;
	}
	buf_free(m->a, b);
	m->used[i] = false;
}

static void random_use_matches_the_model(void **state)
{
	static struct model m;
	struct buf_arena *a = *state;
	struct rng r = rng_seeded("buf model", 1);
	uint64_t heap;

	m.a = a;
	m.owner = mem_zalloc(a->bytes / BUF_MIN_BLOCK * sizeof(*m.owner));
	heap = mem_allocs();
	for (int step = 0; step < 40000; step++) {
		unsigned i = rng_below(&r, 500);
		size_t sum = 0;

		if (m.used[i])
			model_free(&m, i);
		else
			model_alloc(&m, &r, i);
		if (step % 500)
			continue;
		for (unsigned k = 0; k < 500; k++)
			sum += m.used[k] ? m.bytes[k] : 0;
		assert_int_equal(a->used, sum);
		assert_int_equal(buf_available(a, BUF_REASM_REPLY), a->bytes - sum);
	}
	for (unsigned i = 0; i < 500; i++)
		if (m.used[i])
			model_free(&m, i);
	assert_int_equal(mem_allocs(), heap);
	assert_int_equal(a->used, 0);
	assert_int_equal(a->reserve_used, 0);
	mem_free(m.owner);
	/* All of it came together again. */
	for (size_t k = 0; k < a->bytes / BUF_MAX_BLOCK; k++) {
		m.block[k] = buf_alloc(a, BUF_MAX_BLOCK, BUF_REASM_REPLY);
		assert_non_null(m.block[k]);
	}
	for (size_t k = 0; k < a->bytes / BUF_MAX_BLOCK; k++)
		buf_free(a, m.block[k]);
}

/* All of @zone, in blocks as large as there are. Return: octets. */
static size_t use_up(struct buf_arena *a, unsigned zone, void **blocks, unsigned *n)
{
	size_t before = a->used;

	for (size_t size = BUF_MAX_BLOCK; size >= BUF_MIN_BLOCK; size /= 2)
		while ((blocks[*n] = buf_alloc_in(a, size, zone)))
			(*n)++;
	return a->used - before;
}

/* A gateway's arena: each zone has its own, is whole again when all is back, and no other notices.
 * However many routes there are, the largest RPC finds room in what is common. */
static void parts_keep_to_themselves(void **state)
{
	static void *blocks[16384];
	static const struct {
		size_t mib;
		unsigned parts;
	} each[] = {{32, 0}, {32, 1}, {32, 3}, {48, 1}, {64, 7}, {512, 1}, {512, 3}, {512, 100}};

	(void)state;
	for (unsigned i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		struct buf_arena a;
		size_t rest, all = 0;

		assert_int_equal(buf_arena_init(&a, each[i].mib * MIB), 0);
		rest = a.bytes - a.reserve;
		assert_int_equal(buf_arena_part(&a, rest / 2, each[i].parts), 0);
		assert_true(buf_available(&a, BUF_TRANSACTION) >= rest / 4);
		assert_int_equal(buf_available(&a, BUF_CONN), rest / 2);
		assert_true(buf_available(&a, BUF_REASM_CALL) >=
			    (a.reserve < 32 * MIB ? 8 : 16) * MIB);
		for (unsigned zone = 0; zone < a.nzones; zone++) {
			size_t bytes = buf_zone_bytes(&a, zone);
			unsigned n = 0;

			all += bytes;
			assert_int_equal(use_up(&a, zone, blocks, &n), bytes);
			assert_int_equal(buf_zone_free(&a, zone), 0);
			assert_int_equal(a.used, bytes);
			while (n > 0)
				buf_free(&a, blocks[--n]);
			assert_int_equal(buf_zone_free(&a, zone), bytes);
		}
		assert_int_equal(all, a.bytes);
		for (unsigned part = 0; part < each[i].parts; part++) {
			unsigned own = buf_own_zone(&a, BUF_TRANSACTION, part);
			void *block;

			assert_int_not_equal(own, BUF_NO_ZONE);
			/* In one piece, or in as few as there can be. */
			block = buf_alloc_in(&a,
					     buf_zone_bytes(&a, own) > BUF_MAX_BLOCK
						     ? BUF_MAX_BLOCK
						     : buf_zone_bytes(&a, own),
					     own);
			assert_non_null(block);
			assert_int_equal(buf_zone_of(&a, block), own);
			buf_free(&a, block);
		}
		assert_int_equal(buf_own_zone(&a, BUF_TRANSACTION, each[i].parts), BUF_NO_ZONE);
		assert_int_equal(a.used, 0);
		buf_arena_fini(&a);
	}
}

/* Among blocks that fit equally well the lowest one is taken, whatever was freed last. */
static void the_lowest_block_is_taken(void **state)
{
	struct buf_arena *a = *state;
	void *b[64];

	for (unsigned i = 0; i < 64; i++)
		assert_ptr_equal(b[i] = buf_alloc(a, MIB / 2, BUF_TRANSACTION),
				 a->base + i * (MIB / 2));
	for (unsigned i = 1; i < 64; i += 2)
		buf_free(a, b[(i * 27) % 64]);
	for (unsigned i = 1; i < 64; i += 2)
		assert_ptr_equal(buf_alloc(a, MIB / 2, BUF_TRANSACTION), a->base + i * (MIB / 2));
	for (unsigned i = 0; i < 64; i++)
		buf_free(a, b[i]);
}

static size_t resident(const struct buf_arena *a)
{
	static unsigned char pages[64 * 256];
	size_t n = 0;

	assert_int_equal(mincore(a->base, a->bytes, pages), 0);
	for (size_t i = 0; i < a->bytes / 4096; i++)
		n += pages[i] & 1;
	return n * 4096;
}

/* Hours of a load that comes and goes: what is resident stays near the most that was in use, and
 * goes back a quiet minute after. Fails where the block freed last is used first. */
static void memory_follows_the_load(void **state)
{
	struct buf_arena *a = *state;
	struct rng r = rng_seeded("touched", 18);
	static struct {
		uint8_t *at;
		uint64_t until;
	} held[64];
	uint64_t now = 0, s = 1000000000;
	size_t most;

	for (unsigned hour = 0; hour < 3; hour++) {
		for (unsigned step = 0; step < 36000; step++, now += s / 10) {
			unsigned i = rng_below(&r, 64);
			size_t size = (size_t)1 << (10 + rng_below(&r, 11));

			if (held[i].at && now >= held[i].until) {
				buf_free(a, held[i].at);
				held[i].at = NULL;
			}
			if (!held[i].at && (held[i].at = buf_alloc(a, size, BUF_TRANSACTION))) {
				memset(held[i].at, 1, size);
				held[i].until = now + s / 100 * rng_below(&r, 3000);
			}
			while (buf_release(a, now) == now)
				;
		}
		most = a->peak;
		assert_true(a->touched.bytes <= most + most / 4 + MIB);
		assert_true(resident(a) <= a->touched.bytes);
		for (unsigned i = 0; i < 64; i++) {
			buf_free(a, held[i].at);
			held[i].at = NULL;
		}
		for (uint64_t end = now + 91 * s; now < end; now += s / 100)
			(void)buf_release(a, now);
		print_message("hour %u: %zu in use at most, %zu left\n", hour, most, resident(a));
		assert_true(a->touched.bytes <= 2 * MIB);
		assert_true(resident(a) <= 2 * MIB);
		assert_int_equal(a->touched.at_ns, UINT64_MAX); /* no more wake-ups */
	}
}

/* With the last session all goes back that is free, without a quiet minute. */
static void memory_goes_back_with_the_last_session(void **state)
{
	struct buf_arena *a = *state;
	void *b[64];

	for (unsigned i = 0; i < 64; i++) {
		assert_non_null(b[i] = buf_alloc(a, 65536, BUF_TRANSACTION));
		memset(b[i], 1, 65536);
	}
	(void)buf_release(a, 1);
	for (unsigned i = 1; i < 64; i++)
		buf_free(a, b[i]);
	(void)buf_release(a, 2);
	assert_int_equal(a->touched.bytes, 64 * 65536);
	buf_release_soon(a);
	for (uint64_t now = 3; a->touched.bytes > a->used; now += 5000000) {
		(void)buf_release(a, now);
		assert_true(now < UINT64_C(1000000000));
	}
	assert_true(resident(a) <= 65536);
	assert_int_equal(*(uint8_t *)b[0], 1);
	buf_free(a, b[0]);
}

/* A turn that gives memory back looks at a bounded number of blocks, whatever the arena is like. */
static void giving_back_is_done_by_and_by(void **state)
{
	struct buf_arena *a = *state;
	size_t n = 8192;
	void **b = mem_zalloc(n * sizeof(*b));
	uint64_t now = 0, calls = 0;

	for (size_t i = 0; i < n; i++) {
		assert_non_null(b[i] = buf_alloc(a, 4096, BUF_TRANSACTION));
		memset(b[i], 1, 4096);
	}
	(void)buf_release(a, now);
	for (size_t i = 0; i < n; i++)
		if (i % 64)
			buf_free(a, b[i]);
	for (now = 1; a->touched.bytes > 4 * MIB; now += 5000000) {
		uint64_t before = a->touched.give_backs;

		(void)buf_release(a, now);
		assert_true(a->touched.give_backs - before <= 16);
		calls += a->touched.give_backs > before;
		assert_true(now < UINT64_C(200000000000));
	}
	assert_true(calls > 10);
	for (size_t i = 0; i < n; i += 64)
		buf_free(a, b[i]);
	mem_free(b);
}

/* Whether the kernel was asked for huge pages at @addr. */
static bool has_huge_pages(const void *addr)
{
	FILE *maps = fopen("/proc/self/smaps", "r");
	unsigned long from, end;
	bool is_here = false, has = false;
	char line[512];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx ", &from, &end) == 2)
			is_here = from <= (uintptr_t)addr && (uintptr_t)addr < end;
		else if (is_here && strncmp(line, "VmFlags:", 8) == 0)
			has = strstr(line, " hg");
	}
	fclose(maps);
	return has;
}

static void huge_pages_are_for_payload(void **state)
{
	struct buf_arena *a = *state;
	uint8_t *block;

	if (access("/sys/kernel/mm/transparent_hugepage", F_OK)) /* a kernel without them */
		return;
	assert_int_equal(buf_arena_part(a, 16 * MIB, 1), 0);
	block = buf_alloc(a, MIB, BUF_TRANSACTION);
	assert_non_null(block);
	assert_true(has_huge_pages(block));
	buf_free(a, block);
	block = buf_alloc(a, MIB, BUF_CONN);
	assert_non_null(block);
	assert_false(has_huge_pages(block));
	buf_free(a, block);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounds_to_blocks),
		cmocka_unit_test(sizes_of_the_arena),
		cmocka_unit_test_setup_teardown(too_large_is_null, set_up, tear_down),
		cmocka_unit_test_setup_teardown(reserve_is_for_reassembly, set_up, tear_down),
		cmocka_unit_test_setup_teardown(reserve_is_not_fragmented, set_up, tear_down),
		cmocka_unit_test_setup_teardown(random_use_matches_the_model, set_up, tear_down),
		cmocka_unit_test(parts_keep_to_themselves),
		cmocka_unit_test_setup_teardown(the_lowest_block_is_taken, set_up, tear_down),
		cmocka_unit_test_setup_teardown(memory_follows_the_load, set_up, tear_down),
		cmocka_unit_test_setup_teardown(huge_pages_are_for_payload, set_up, tear_down),
		cmocka_unit_test_setup_teardown(memory_goes_back_with_the_last_session, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(giving_back_is_done_by_and_by, set_up, tear_down),
	};
	return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
