/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <string.h>

#include "base/mem.h"
#include "proxy/buf.h"
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
	assert_int_equal(buf_available(&a, BUF_ASSEMBLY), 304 * MIB);
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

	assert_null(buf_alloc(a, (size_t)BUF_MAX_BLOCK + 1, BUF_ASSEMBLY));
	assert_null(buf_alloc(a, SIZE_MAX, BUF_ASSEMBLY));
	buf_free(a, NULL);
	assert_int_equal(a->used, 0);
}

static void reserve_is_for_assemblies(void **state)
{
	struct buf_arena *a = *state; /* 48 MiB for all, 16 MiB reserve */
	void *t[3], *whole, *small;

	for (int i = 0; i < 3; i++) {
		t[i] = buf_alloc(a, BUF_MAX_BLOCK, BUF_TRANSACTION);
		assert_non_null(t[i]);
	}
	assert_int_equal(buf_available(a, BUF_TRANSACTION), 0);
	assert_null(buf_alloc(a, 1, BUF_TRANSACTION));
	whole = buf_alloc(a, BUF_MAX_BLOCK, BUF_ASSEMBLY);
	assert_non_null(whole);
	assert_null(buf_alloc(a, 1, BUF_ASSEMBLY));
	buf_free(a, whole);
	/* A broken-up reserve stays out of reach for transactions. */
	small = buf_alloc(a, 1, BUF_ASSEMBLY);
	assert_null(buf_alloc(a, 1, BUF_TRANSACTION));
	/* With room elsewhere an assembly goes on beyond the reserve. */
	buf_free(a, t[1]);
	whole = buf_alloc(a, BUF_MAX_BLOCK, BUF_ASSEMBLY);
	assert_ptr_equal(whole, t[1]);
	assert_int_equal(a->peak, a->bytes);
	buf_free(a, whole);
	buf_free(a, small);
	buf_free(a, t[0]);
	buf_free(a, t[2]);
}

/* Small blocks of transactions all over never keep an assembly from a whole block. */
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
	whole = buf_alloc(a, BUF_MAX_BLOCK, BUF_ASSEMBLY);
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

static struct buf_waiter waiter(size_t bytes, enum buf_purpose purpose)
{
	return (struct buf_waiter){.bytes = bytes, .purpose = purpose};
}

static void waiters_are_woken_in_order(void **state)
{
	struct buf_arena *a = *state;
	void *t[3], *r, *got;
	struct buf_waiter big = waiter(BUF_MAX_BLOCK, BUF_TRANSACTION);
	struct buf_waiter small = waiter(1, BUF_TRANSACTION);
	struct buf_waiter whole = waiter(BUF_MAX_BLOCK, BUF_ASSEMBLY);

	list_init(&big.link);
	list_init(&small.link);
	list_init(&whole.link);
	for (int i = 0; i < 3; i++)
		t[i] = buf_alloc(a, BUF_MAX_BLOCK, BUF_TRANSACTION);
	r = buf_alloc(a, BUF_MAX_BLOCK, BUF_ASSEMBLY);
	assert_false(buf_must_wait(a, BUF_TRANSACTION));
	buf_wait(a, &big);
	buf_wait(a, &small);
	buf_wait(a, &big); /* no second time, and its place is kept */
	assert_int_equal(a->waits, 2);
	assert_true(buf_must_wait(a, BUF_TRANSACTION));
	assert_false(buf_must_wait(a, BUF_ASSEMBLY));
	buf_wait(a, &whole);
	assert_null(buf_next_ready(a));

	/* A little room: enough for the small one, but it stands behind. */
	buf_free(a, t[0]);
	got = buf_alloc(a, 1, BUF_TRANSACTION);
	assert_null(buf_next_ready(a));
	/* The reserve serves the assembly without the others being asked. */
	buf_free(a, r);
	assert_ptr_equal(buf_next_ready(a), &whole);
	r = buf_alloc(a, whole.bytes, whole.purpose);
	assert_non_null(r);
	assert_null(buf_next_ready(a));
	buf_free(a, got);
	assert_ptr_equal(buf_next_ready(a), &big);
	t[0] = buf_alloc(a, big.bytes, big.purpose);
	assert_non_null(t[0]);
	assert_null(buf_next_ready(a));
	buf_unwait(&small);
	buf_unwait(&small);
	assert_false(buf_must_wait(a, BUF_TRANSACTION));
	for (int i = 0; i < 3; i++)
		buf_free(a, t[i]);
	buf_free(a, r);
	assert_null(buf_next_ready(a));
}

/* What a waiter was promised can be had, in whatever sizes and order it asks. */
static void promise_holds(void **state)
{
	struct buf_arena *a = *state;
	struct rng r = rng_seeded("promise", 7);
	void *hold[400], *mine[64];
	unsigned nhold = 0;

	for (int round = 0; round < 300; round++) {
		struct buf_waiter w = waiter(0, BUF_TRANSACTION);
		size_t sizes[16];
		unsigned n = 1 + rng_below(&r, 16), got = 0;

		while (nhold < 400) {
			void *b = buf_alloc(a, (size_t)1 << rng_below(&r, 22), BUF_TRANSACTION);

			if (!b)
				break;
			hold[nhold++] = b;
		}
		for (unsigned i = 0; i < n; i++) {
			sizes[i] = (size_t)1 << rng_below(&r, round % 3 ? 21 : 24);
			w.bytes += buf_round(sizes[i]);
		}
		if (w.bytes > a->bytes - a->reserve)
			continue;
		list_init(&w.link);
		buf_wait(a, &w);
		while (!buf_next_ready(a)) {
			unsigned i = rng_below(&r, nhold);

			buf_free(a, hold[i]);
			hold[i] = hold[--nhold];
		}
		for (unsigned i = 0; i < n; i++) {
			mine[got] = buf_alloc(a, sizes[i], BUF_TRANSACTION);
			assert_non_null(mine[got]);
			got++;
		}
		while (got)
			buf_free(a, mine[--got]);
	}
	while (nhold)
		buf_free(a, hold[--nhold]);
}

/* The model: who owns each 4 KiB page. */
struct model {
	struct buf_arena *a;
	uint16_t *owner; /* block number + 1, or 0 */
	void *block[500];
	size_t bytes[500];
	bool used[500];
};

static void model_alloc(struct model *m, struct rng *r, unsigned i)
{
	enum buf_purpose purpose = rng_below(r, 4) ? BUF_TRANSACTION : BUF_ASSEMBLY;
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
		assert_int_equal(buf_available(a, BUF_ASSEMBLY), a->bytes - sum);
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
		m.block[k] = buf_alloc(a, BUF_MAX_BLOCK, BUF_ASSEMBLY);
		assert_non_null(m.block[k]);
	}
	for (size_t k = 0; k < a->bytes / BUF_MAX_BLOCK; k++)
		buf_free(a, m.block[k]);
}

/* A gateway's arena: what is fixed, calls, replies and the rest each have their own. */
static void parts_keep_to_themselves(void **state)
{
	static const enum buf_purpose each[] = {BUF_FIXED, BUF_TRANSACTION, BUF_CALL};
	void *blocks[64], *reply;
	struct buf_arena a;

	(void)state;
	assert_int_equal(buf_arena_init(&a, 32 * MIB), 0);
	buf_arena_part(&a, 8 * MIB);
	for (unsigned i = 0; i < 3; i++) {
		unsigned n = 0;

		assert_int_equal(buf_available(&a, each[i]), 8 * MIB);
		while (n < 64 && (blocks[n] = buf_alloc(&a, MIB, each[i])))
			n++;
		assert_int_equal(n, 8);
		assert_null(buf_alloc(&a, 1, each[i]));
		for (unsigned j = 0; j < 3; j++)
			assert_int_equal(buf_available(&a, each[j]), j == i ? 0 : 8 * MIB);
		/* Whatever is full, a reply finds room. */
		reply = buf_alloc(&a, 8 * MIB, BUF_ASSEMBLY);
		assert_non_null(reply);
		buf_free(&a, reply);
		while (n > 0)
			buf_free(&a, blocks[--n]);
		/* And it is one piece again. */
		blocks[0] = buf_alloc(&a, 8 * MIB, each[i]);
		assert_non_null(blocks[0]);
		buf_free(&a, blocks[0]);
	}
	/* Replies alone go on into what transactions use. */
	assert_int_equal(buf_available(&a, BUF_ASSEMBLY), 16 * MIB);
	assert_int_equal(a.used, 0);
	buf_arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounds_to_blocks),
		cmocka_unit_test(sizes_of_the_arena),
		cmocka_unit_test_setup_teardown(too_large_is_null, set_up, tear_down),
		cmocka_unit_test_setup_teardown(reserve_is_for_assemblies, set_up, tear_down),
		cmocka_unit_test_setup_teardown(reserve_is_not_fragmented, set_up, tear_down),
		cmocka_unit_test_setup_teardown(waiters_are_woken_in_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(promise_holds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(random_use_matches_the_model, set_up, tear_down),
		cmocka_unit_test(parts_keep_to_themselves),
	};
	return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
