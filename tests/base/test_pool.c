/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recycles_without_allocating),
		cmocka_unit_test(stops_at_its_maximum),
		cmocka_unit_test(failing_allocation_is_reported),
	};
	return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
