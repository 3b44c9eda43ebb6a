/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include "proxy/plan/hop.h"

static void what_is_configured_is_not_measured(void **state)
{
	struct hop_times quick = {0}, slow = {0};

	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		hop_note(&quick, 1000);
		hop_note(&slow, 50 * NSEC_PER_MS);
		assert_true(hop_is_far(HOP_FAR, &quick));
		assert_false(hop_is_far(HOP_NEAR, &slow));
	}
	assert_true(hop_is_settled(HOP_FAR, &slow));
	assert_true(hop_is_settled(HOP_NEAR, &quick));
}

/* Not by the first answer, which may have waited for something else. */
static void far_is_what_takes_long_each_time(void **state)
{
	struct hop_times t = {0};

	(void)state;
	assert_false(hop_is_far(HOP_AUTO, &t));
	for (unsigned i = 1; i < HOP_TIMES; i++) {
		hop_note(&t, HOP_TRIP * i);
		assert_false(hop_is_far(HOP_AUTO, &t));
		assert_false(hop_is_settled(HOP_AUTO, &t));
	}
	hop_note(&t, HOP_TRIP);
	assert_true(hop_is_far(HOP_AUTO, &t));
	for (unsigned i = 0; i < 1000; i++)
		hop_note(&t, NSEC_PER_SEC);
	assert_true(hop_is_far(HOP_AUTO, &t));
	assert_false(hop_is_settled(HOP_AUTO, &t));
}

/* No answer comes sooner than a round trip takes. */
static void one_quick_answer_proves_near(void **state)
{
	(void)state;
	for (unsigned at = 0; at < 10; at++) {
		struct hop_times t = {0};

		for (unsigned i = 0; i < 20; i++)
			hop_note(&t, i == at ? HOP_TRIP - 1 : 20 * NSEC_PER_MS);
		assert_false(hop_is_far(HOP_AUTO, &t));
		assert_true(hop_is_settled(HOP_AUTO, &t));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_configured_is_not_measured),
		cmocka_unit_test(far_is_what_takes_long_each_time),
		cmocka_unit_test(one_quick_answer_proves_near),
	};

	return cmocka_run_group_tests_name("hop", tests, NULL, NULL);
}
