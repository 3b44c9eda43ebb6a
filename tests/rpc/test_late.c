/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include "rpc/late.h"
#include "tests/rng.h"

static void knows_the_last_ones(void **state)
{
	struct rpc_late l = {.n = 0};

	(void)state;
	assert_false(rpc_late_take(&l, 0));
	for (uint32_t xid = 0; xid < 3 * RPC_LATE; xid++)
		rpc_late_add(&l, xid);
	assert_int_equal(l.n, RPC_LATE);
	assert_false(rpc_late_take(&l, 2 * RPC_LATE - 1));
	for (uint32_t xid = 2 * RPC_LATE; xid < 3 * RPC_LATE; xid++) {
		assert_true(rpc_late_take(&l, xid));
		assert_false(rpc_late_take(&l, xid));
	}
	assert_int_equal(l.n, 0);
}

/* Against a queue that is written another way. */
static void the_oldest_makes_room(void **state)
{
	struct rng r = rng_seeded("late", 1);
	uint32_t all[2000], n = 0;
	struct rpc_late l = {.n = 0};

	(void)state;
	for (unsigned step = 0; step < 2000; step++) {
		uint32_t xid = 1 + rng_below(&r, 500), at = n;
		unsigned newer = 0;

		if (rng_below(&r, 3)) {
			rpc_late_add(&l, xid);
			all[n++] = xid;
			continue;
		}
		/* The oldest of that XID among the last RPC_LATE not taken (0). */
		for (uint32_t i = n; i > 0 && newer < RPC_LATE; i--) {
			newer += all[i - 1] != 0;
			if (all[i - 1] == xid)
				at = i - 1;
		}
		assert_int_equal(rpc_late_take(&l, xid), at < n);
		if (at < n)
			all[at] = 0;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_the_last_ones),
		cmocka_unit_test(the_oldest_makes_room),
	};

	return cmocka_run_group_tests_name("rpc late", tests, NULL, NULL);
}
