/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <string.h>

#include "base/mem.h"
#include "base/pool.h"

static void recycles_without_allocating(void **state)
{
	struct pool pool;
	uint64_t before;
	void *a;

	(void)state;
	pool_init(&pool, 100, 10);
	a = pool_get(&pool);
	assert_non_null(a);
	pool_put(&pool, a);
	before = mem_allocs();
	for (int i = 0; i < 1000; i++) {
		a = pool_get(&pool);
		assert_non_null(a);
		pool_put(&pool, a);
	}
	assert_int_equal(mem_allocs(), before);
	pool_fini(&pool);
	assert_int_equal(mem_live(), 0);
}

static void stops_at_its_maximum(void **state)
{
	struct pool pool;
	void *got[3];

	(void)state;
	pool_init(&pool, 8, 3);
	for (int i = 0; i < 3; i++) {
		got[i] = pool_get(&pool);
		assert_non_null(got[i]);
		assert_int_equal((uintptr_t)got[i] % 16, 0);
	}
	assert_null(pool_get(&pool));
	pool_put(&pool, got[1]);
	assert_ptr_equal(pool_get(&pool), got[1]);
	pool_fini(&pool);
}

static void failing_allocation_is_reported(void **state)
{
	struct pool pool;
	void *a;

	(void)state;
	pool_init(&pool, 8, 3);
	mem_fail_at(1);
	assert_null(pool_get(&pool));
	a = pool_get(&pool);
	assert_non_null(a);
	pool_put(&pool, a);
	pool_fini(&pool);
}

/* The heap of a peak goes back once it was not needed for a while, some slabs at a time, and what is
 * in use stays. Fails where slabs are kept for ever. */
static void a_peak_goes_back(void **state)
{
	enum { PEAK = 1000, STAY = 20 };
	static unsigned char *got[PEAK];
	struct pool pool;
	uint64_t live;
	size_t peak;

	(void)state;
	pool_init(&pool, 3000, PEAK);
	live = mem_live();
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < PEAK; i++) {
			assert_non_null(got[i] = pool_get(&pool));
			memset(got[i], (int)i, 3000);
		}
		assert_null(pool_get(&pool));
		peak = pool.bytes;
		assert_true(peak >= PEAK * 3000);
		for (unsigned i = 0; i < PEAK; i++)
			if (i % (PEAK / STAY))
				pool_put(&pool, got[i]);
		/* Needed a moment ago: not yet. */
		(void)pool_trim(&pool, 8);
		assert_int_equal(pool.bytes, peak);
		for (unsigned i = 0; i < 100; i++) {
			uint64_t before = mem_live();

			bool more = pool_trim(&pool, 8);

			assert_true(before - mem_live() <= 8);
			assert_true(!more || before - mem_live() == 8);
		}
		assert_true(pool.bytes <= STAY * 70000);
		assert_int_equal(pool.used, STAY);
		for (unsigned i = 0; i < PEAK; i += PEAK / STAY) {
			assert_int_equal(got[i][2999], (unsigned char)i);
			pool_put(&pool, got[i]);
		}
		(void)pool_trim(&pool, 8);
		for (unsigned i = 0; pool_trim(&pool, 8); i++)
			assert_true(i < 100);
		assert_int_equal(pool.bytes, 0);
		assert_int_equal(mem_live(), live);
	}
	pool_fini(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recycles_without_allocating),
		cmocka_unit_test(stops_at_its_maximum),
		cmocka_unit_test(failing_allocation_is_reported),
		cmocka_unit_test(a_peak_goes_back),
	};
	return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
