/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/stag.h"

#include "base/mem.h"
#include "fabric/fabric.h"
#include "tests/cmocka_all.h"
#include "tests/rng.h"

enum { SLOTS = 37 };

static const uint64_t seed_a[4] = {1, 2, 3, 4}, seed_b[4] = {5, 6, 7, 8};
static uint8_t memory[100];
static struct pool pool;

static int check(struct stag_table *t, uint32_t stag, uint64_t offset, uint32_t len,
		 unsigned access, struct ddp_term *term)
{
	struct exposure *e;

	return stag_check(t, stag, offset, len, access, &e, term);
}

static void test_checks(void **state)
{
	static const struct {
		uint64_t offset;
		uint32_t len;
		int err;
		uint8_t code;
	} rows[] = {
		{0, 100, 0, 0},
		{99, 1, 0, 0},
		{100, 0, 0, 0},
		{0, 101, ERR_ACCESS, 1},
		{100, 1, ERR_ACCESS, 1},
		{101, 0, ERR_ACCESS, 1},
		{1u << 31, 1, ERR_ACCESS, 1},
		{UINT64_MAX, 1, ERR_ACCESS, 3}, /* wraps */
		{UINT64_MAX - 5, 100, ERR_ACCESS, 3},
		{(uint64_t)1 << 32, 1, ERR_ACCESS, 1}, /* must not be cut to 32 bits */
	};
	struct stag_table t;
	struct exposure *e;
	struct ddp_term term;

	(void)state;
	assert_int_equal(stag_init(&t, SLOTS, &pool, seed_a), 0);
	e = stag_add(&t, memory, 100, FABRIC_REMOTE_WRITE);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		term = (struct ddp_term){0};
		assert_int_equal(
			check(&t, e->stag, rows[i].offset, rows[i].len, FABRIC_REMOTE_WRITE, &term),
			rows[i].err);
		assert_int_equal(term.code, rows[i].code);
	}
	assert_int_equal(check(&t, e->stag, 0, 1, FABRIC_REMOTE_READ, &term), ERR_ACCESS);
	assert_true(term.layer == 0 && term.etype == 1 && term.code == 2);
	assert_int_equal(check(&t, e->stag ^ 1, 0, 1, FABRIC_REMOTE_WRITE, &term), ERR_ACCESS);
	assert_true(term.layer == 1 && term.etype == 1 && term.code == 0);
	stag_fini(&t);
}

/* Over many lives of every slot: no STag comes twice, none is 0, stale ones never match. */
static void test_never_again(void **state)
{
	struct rng r = rng_seeded("stag_never_again", 3);
	enum { LIVES = 20000 };
	static uint32_t seen[LIVES];
	struct exposure *live[SLOTS] = {0};
	struct stag_table t;
	uint32_t n = 0;

	(void)state;
	assert_int_equal(stag_init(&t, SLOTS, &pool, seed_a), 0);
	while (n < LIVES) {
		uint32_t i = rng_below(&r, SLOTS);

		if (live[i]) {
			uint32_t old = live[i]->stag;

			stag_revoke(&t, live[i]);
			assert_null(stag_find(&t, old));
			stag_release(&t, live[i]);
			live[i] = NULL;
			continue;
		}
		live[i] = stag_add(&t, memory, 100, FABRIC_REMOTE_READ);
		assert_non_null(live[i]);
		assert_int_not_equal(live[i]->stag, 0);
		seen[n++] = live[i]->stag;
		assert_ptr_equal(stag_find(&t, live[i]->stag), live[i]);
	}
	for (uint32_t i = 0; i < LIVES; i++)
		for (uint32_t j = 0; j < i; j++)
			assert_true(seen[i] != seen[j]);
	for (uint32_t i = 0; i < SLOTS; i++)
		if (live[i])
			stag_revoke(&t, live[i]);
	for (uint32_t i = 0; i < LIVES; i++)
		assert_null(stag_find(&t, seen[i]));
	assert_int_equal(t.live, 0);
	stag_fini(&t);
}

static void test_full(void **state)
{
	struct stag_table t;

	(void)state;
	assert_int_equal(stag_init(&t, 2, &pool, seed_a), 0);
	assert_non_null(stag_add(&t, memory, 1, FABRIC_REMOTE_READ));
	assert_non_null(stag_add(&t, memory, 1, FABRIC_REMOTE_READ));
	assert_null(stag_add(&t, memory, 1, FABRIC_REMOTE_READ));
	stag_fini(&t);
	assert_int_equal(stag_init(&t, 0, &pool, seed_a), 0);
	assert_null(stag_add(&t, memory, 1, FABRIC_REMOTE_READ));
	assert_null(stag_find(&t, 0));
	stag_fini(&t);
	mem_fail_at(1);
	assert_int_equal(stag_init(&t, 2, &pool, seed_a), ERR_NOMEM);
	stag_fini(&t);
}

/* Another connection's handles mean nothing here. */
static void test_scope(void **state)
{
	struct stag_table a, b;

	(void)state;
	assert_int_equal(stag_init(&a, SLOTS, &pool, seed_a), 0);
	assert_int_equal(stag_init(&b, SLOTS, &pool, seed_b), 0);
	for (int i = 0; i < SLOTS; i++)
		assert_non_null(stag_add(&b, memory, 100, FABRIC_REMOTE_WRITE));
	for (int i = 0; i < SLOTS; i++)
		assert_null(stag_find(&b, stag_add(&a, memory, 100, FABRIC_REMOTE_WRITE)->stag));
	stag_fini(&a);
	stag_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checks),
		cmocka_unit_test(test_never_again),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_scope),
	};

	int failed;

	stag_pool(&pool);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	pool_fini(&pool);
	return failed;
}
