/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include "fabric/depth.h"
#include "tests/rng.h"

/* How deep a shared queue of Receives should be. */

static struct fabric_depth depth_of(uint32_t least, uint32_t most, uint32_t promised)
{
	struct fabric_depth d;

	fabric_depth_init(&d, least, most);
	assert_int_equal(d.promised, 0);
	d.promised = promised;
	return d;
}

/* A period in which the queue never held fewer than @lowest, nor more than @highest. */
static void period_of(struct fabric_depth *d, uint32_t lowest, uint32_t highest)
{
	fabric_depth_see(d, highest);
	fabric_depth_see(d, lowest);
	fabric_depth_see(d, (lowest + highest) / 2);
	fabric_depth_period(d);
}

/* The same, filled again each time with all it wants. */
static void period(struct fabric_depth *d, uint32_t lowest)
{
	uint32_t want = fabric_depth_missing(d, 0);

	period_of(d, lowest, want > lowest ? want : lowest);
}

static void begins_with_least(void **state)
{
	struct fabric_depth d = depth_of(8, 1024, 500);

	(void)state;
	assert_int_equal(fabric_depth_missing(&d, 0), 8);
	assert_int_equal(fabric_depth_missing(&d, 5), 3);
	assert_int_equal(fabric_depth_missing(&d, 8), 0);
	assert_int_equal(fabric_depth_missing(&d, 9), 0);
	d = depth_of(8, 4, 500);
	assert_int_equal(fabric_depth_missing(&d, 0), 4);
}

static void nothing_promised_nothing_wanted(void **state)
{
	struct fabric_depth d = depth_of(8, 1024, 0);

	(void)state;
	assert_int_equal(fabric_depth_missing(&d, 0), 0);
	assert_int_equal(fabric_depth_limit(&d), 0);
	d.promised = 3;
	assert_int_equal(fabric_depth_missing(&d, 0), 3);
}

static void doubles_when_low(void **state)
{
	static const uint32_t want[] = {16, 32, 64, 100, 100};
	struct fabric_depth d = depth_of(8, 100, 500);

	(void)state;
	assert_int_equal(fabric_depth_limit(&d), 2);
	for (unsigned i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		fabric_depth_low(&d);
		assert_int_equal(fabric_depth_missing(&d, 0), want[i]);
		assert_int_equal(fabric_depth_limit(&d), want[i] / 4);
	}
}

/* A queue with all that peers may send runs low, too: a deeper one would be of no use. */
static void does_not_grow_beyond_what_is_promised(void **state)
{
	struct fabric_depth d = depth_of(8, 1024, 20);

	(void)state;
	for (int i = 0; i < 10; i++) {
		fabric_depth_low(&d);
		assert_true(fabric_depth_limit(&d) <= 5);
	}
	assert_int_equal(fabric_depth_missing(&d, 0), 20);
	/* A new connection must not fill the whole queue at once. */
	d.promised = 10000;
	assert_int_equal(fabric_depth_missing(&d, 0), 32);
}

static void halves_after_a_quiet_period(void **state)
{
	struct fabric_depth d = depth_of(8, 1024, 5000);

	(void)state;
	for (int i = 0; i < 4; i++)
		fabric_depth_low(&d);
	assert_int_equal(fabric_depth_missing(&d, 0), 128);
	period(&d, 128); /* it ran low in this one */
	assert_int_equal(fabric_depth_missing(&d, 0), 128);
	period(&d, 95);
	assert_int_equal(fabric_depth_missing(&d, 0), 128);
	period(&d, 96);
	assert_int_equal(fabric_depth_missing(&d, 0), 64);
	/* Still as deep as it was: nothing is taken back. */
	assert_int_equal(fabric_depth_missing(&d, 128), 0);
	for (int i = 0; i < 5; i++)
		period(&d, 128);
	assert_int_equal(fabric_depth_missing(&d, 0), 8);
	fabric_depth_period(&d); /* nobody looked */
	assert_int_equal(fabric_depth_missing(&d, 0), 8);
}

/* Connections are gone: the queue cannot hold three quarters of what was wanted before. */
static void shrinks_with_what_is_promised(void **state)
{
	struct fabric_depth d = depth_of(8, 1024, 5000);

	(void)state;
	for (int i = 0; i < 7; i++)
		fabric_depth_low(&d);
	assert_int_equal(fabric_depth_missing(&d, 0), 1024);
	d.promised = 64;
	period(&d, 0);
	period(&d, 64);
	d.promised = 5000;
	assert_int_equal(fabric_depth_missing(&d, 0), 32);
}

/* There was memory for 500 of the 1024 it wants: a load that needs few of them shows in these. */
static void shrinks_from_what_it_has(void **state)
{
	struct fabric_depth d = depth_of(8, 1024, 5000);

	(void)state;
	for (int i = 0; i < 7; i++)
		fabric_depth_low(&d);
	period_of(&d, 100, 500);
	period_of(&d, 374, 500);
	assert_int_equal(fabric_depth_missing(&d, 0), 1024);
	period_of(&d, 375, 500);
	assert_int_equal(fabric_depth_missing(&d, 0), 250);
	/* One that is empty all the while needs more. */
	period_of(&d, 0, 0);
	assert_int_equal(fabric_depth_missing(&d, 0), 250);
}

static void stays_within_bounds(void **state)
{
	struct rng rng = rng_seeded("depth", 5);

	(void)state;
	for (int round = 0; round < 200; round++) {
		uint32_t least = 1 + rng_below(&rng, 100), most = 1 + rng_below(&rng, 5000);
		struct fabric_depth d = depth_of(least, most, 0);

		for (int i = 0; i < 200; i++) {
			switch (rng_below(&rng, 4)) {
			case 0:
				d.promised = rng_below(&rng, 10000);
				break;
			case 1:
				fabric_depth_low(&d);
				break;
			case 2:
				fabric_depth_see(&d, rng_below(&rng, 2 * most));
				break;
			default:
				fabric_depth_period(&d);
			}
			assert_true(d.want <= most);
			assert_true(d.want >= (least < most ? least : most));
			assert_true(fabric_depth_missing(&d, 0) <= d.promised);
			assert_true(fabric_depth_limit(&d) <= d.want / 4);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(begins_with_least),
		cmocka_unit_test(nothing_promised_nothing_wanted),
		cmocka_unit_test(doubles_when_low),
		cmocka_unit_test(does_not_grow_beyond_what_is_promised),
		cmocka_unit_test(halves_after_a_quiet_period),
		cmocka_unit_test(shrinks_with_what_is_promised),
		cmocka_unit_test(shrinks_from_what_it_has),
		cmocka_unit_test(stays_within_bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
