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

/* As many answers may come: the first belongs to the call that waits. */
static void the_first_answer_is_for_the_waiting_call(void **state)
{
	struct rpc_late l = {.n = 0};

	(void)state;
	rpc_late_again(&l, 7); /* it goes out for the first time */
	assert_false(rpc_late_take(&l, 7));
	for (unsigned calls = 1; calls < 5; calls++) {
		rpc_late_add(&l, 7);
		assert_int_equal(l.n, calls);
		rpc_late_again(&l, 7);
		rpc_late_again(&l, 7); /* in another form */
	}
	assert_false(rpc_late_take(&l, 7));
	for (unsigned late = 0; late < 4; late++)
		assert_true(rpc_late_take(&l, 7));
	assert_false(rpc_late_take(&l, 7));
	assert_int_equal(l.n, 0);
}

/* Where it can be seen whose an answer is, in whatever order they come; and those that make room take nothing along. */
static void an_answer_counts_for_the_call_it_belongs_to(void **state)
{
	struct rpc_late l = {.n = 0};

	(void)state;
	rpc_late_add(&l, 7);
	assert_false(rpc_late_awaits(&l, 7));
	rpc_late_again(&l, 7);
	assert_true(rpc_late_awaits(&l, 7));
	assert_true(rpc_late_take_first(&l, 7));
	assert_int_equal(l.n, 0);
	assert_false(rpc_late_take(&l, 7));

	rpc_late_add(&l, 7);
	for (unsigned i = 1; i < RPC_LATE; i++)
		rpc_late_add(&l, 100 + i);
	rpc_late_add(&l, 7); /* the first 7 makes room */
	rpc_late_again(&l, 7);
	rpc_late_add(&l, 7);
	rpc_late_again(&l, 7);
	for (unsigned i = 0; i < RPC_LATE - 2; i++)
		rpc_late_add(&l, 200 + i);
	assert_true(rpc_late_awaits(&l, 7));
	assert_false(rpc_late_take(&l, 7));
	assert_true(rpc_late_take(&l, 7));
	assert_false(rpc_late_take_first(&l, 9));
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
		cmocka_unit_test(the_first_answer_is_for_the_waiting_call),
		cmocka_unit_test(an_answer_counts_for_the_call_it_belongs_to),
		cmocka_unit_test(the_oldest_makes_room),
	};

	return cmocka_run_group_tests_name("rpc late", tests, NULL, NULL);
}
