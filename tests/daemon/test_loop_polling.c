/* SPDX-License-Identifier: BSD-2-Clause */
/* When a worker busy-polls, and when it blocks. */
#include "tests/cmocka_all.h"

#include "daemon/loop_polling.h"
#include "tests/rng.h"

enum { MOST = 50000, SOON = MOST - 1, LATE = MOST };

static void note(struct patience *p, unsigned n, nsec_t waited)
{
	while (n-- > 0)
		patience_note(p, waited);
}

static void sleeps_until_it_knows(void **state)
{
	struct patience p;

	(void)state;
	patience_init(&p, MOST);
	assert_int_equal(polling_look(&p), 0);
	note(&p, 10, SOON);
	assert_int_equal(polling_look(&p), 0);
	note(&p, 30, SOON);
	assert_int_equal(polling_look(&p), MOST);
}

/* When steady events stop, only a few polls are wasted. */
static void gives_up_soon(void **state)
{
	struct patience p;
	unsigned looks = 0;

	(void)state;
	patience_init(&p, MOST);
	note(&p, 1000, SOON);
	for (unsigned i = 0; i < 1000; i++) {
		looks += polling_look(&p) > 0;
		note(&p, 1, LATE);
	}
	assert_in_range(looks, 1, 5);
}

/* For any pattern of waits at most a sixth of them begins with a wasted poll, and only few if polls
 * are usually wasted. */
static void few_for_nothing(void **state)
{
	enum { WAITS = 20000 };

	(void)state;
	for (unsigned soon = 0; soon <= 100; soon += 5) {
		struct rng rng = {soon + 1};
		unsigned looks = 0, vain = 0;
		struct patience p;

		patience_init(&p, MOST);
		for (unsigned i = 0; i < WAITS; i++) {
			nsec_t waited = rng_below(&rng, 100) < soon ? SOON : LATE;

			looks += polling_look(&p) > 0;
			vain += polling_look(&p) > 0 && waited == LATE;
			note(&p, 1, waited);
		}
		assert_true(vain <= WAITS / 6);
		assert_true(soon > 50 || looks <= WAITS / 50);
		assert_true(soon < 95 || looks >= WAITS / 10 * 9);
	}
}

static void none_is_none(void **state)
{
	struct patience p;

	(void)state;
	patience_init(&p, 0);
	note(&p, 1000, 0);
	assert_int_equal(polling_look(&p), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sleeps_until_it_knows),
		cmocka_unit_test(gives_up_soon),
		cmocka_unit_test(few_for_nothing),
		cmocka_unit_test(none_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
