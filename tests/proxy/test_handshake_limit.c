/* SPDX-License-Identifier: BSD-2-Clause */
/* Handshakes under way: their number is limited, one host gets half of it, and no handshake blocks
 * others for long. */
#include "tests/cmocka_all.h"

#include <stdio.h>

#include "base/mem.h"
#include "proxy/handshake_limit.h"

enum { PLACES = 8, SLOTS = 64 };

static struct handshake_limit d;
static struct handshake_slot slots[SLOTS];

static struct fabric_addr host(unsigned i)
{
	struct fabric_addr addr;
	char text[32];

	snprintf(text, sizeof(text), "10.0.0.%u", i + 1);
	assert_int_equal(fabric_addr_parse(text, 1, &addr), 0);
	return addr;
}

static bool comes(unsigned slot, unsigned from, nsec_t now)
{
	const struct fabric_addr addr = host(from);

	return handshake_limit_enter(&d, &slots[slot], &addr, now);
}

static int set_up(void **state)
{
	(void)state;
	assert_int_equal(handshake_limit_init(&d, PLACES, PLACES / 2, 1), 0);
	for (unsigned i = 0; i < SLOTS; i++)
		handshake_slot_init(&slots[i], NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (unsigned i = 0; i < SLOTS; i++)
		handshake_limit_leave(&d, &slots[i]);
	assert_int_equal(d.inside.count, 0);
	handshake_limit_fini(&d);
	return 0;
}

static void handshakes_without_a_place_wait_in_order(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PLACES; i++)
		assert_true(comes(i, i, 1));
	assert_false(comes(20, 20, 2));
	assert_false(comes(21, 21, 2));
	assert_null(handshake_limit_next(&d, 3));
	handshake_limit_leave(&d, &slots[3]);
	handshake_limit_leave(&d, &slots[4]);
	assert_ptr_equal(handshake_limit_next(&d, 4), &slots[20]);
	assert_ptr_equal(handshake_limit_next(&d, 4), &slots[21]);
	assert_null(handshake_limit_next(&d, 4));
	/* A handshake that leaves while it waits is not called. */
	assert_false(comes(22, 22, 5));
	assert_false(comes(23, 23, 5));
	handshake_limit_leave(&d, &slots[22]);
	handshake_limit_leave(&d, &slots[0]);
	assert_ptr_equal(handshake_limit_next(&d, 6), &slots[23]);
}

static void a_host_has_half_of_the_places(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(comes(i, 0, 1), i < PLACES / 2);
	/* Others pass its line. */
	assert_true(comes(30, 1, 2));
	assert_null(handshake_limit_next(&d, 2));
	assert_null(handshake_limit_worst(
		&d, 1 + 2 * HANDSHAKE_SLOT_TIME)); /* nobody else waits for a place */
	handshake_limit_leave(&d, &slots[1]);
	assert_ptr_equal(handshake_limit_next(&d, 3), &slots[4]);
	assert_null(handshake_limit_next(&d, 3));
}

static void a_long_handshake_ends_if_others_wait(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++)
		assert_true(comes(i, 0, 10));
	for (unsigned i = 4; i < PLACES; i++)
		assert_true(comes(i, i, 1));
	assert_null(handshake_limit_worst(&d, 20 * HANDSHAKE_SLOT_TIME)); /* nobody waits */
	assert_false(comes(20, 20, 20));
	assert_null(handshake_limit_worst(&d, 9 + HANDSHAKE_SLOT_TIME));
	/* The oldest handshake of the host that has most, though other hosts' are older. */
	assert_ptr_equal(handshake_limit_worst(&d, 10 + HANDSHAKE_SLOT_TIME), &slots[0]);
	handshake_limit_leave(&d, &slots[0]);
	assert_null(handshake_limit_worst(&d, 10 + HANDSHAKE_SLOT_TIME)); /* there is room */
	assert_ptr_equal(handshake_limit_next(&d, 11 + HANDSHAKE_SLOT_TIME), &slots[20]);
}

/* A handshake whose time begins anew comes behind those that have been there as long as it had. */
static void a_handshake_that_begins_anew_hides_no_other(void **state)
{
	nsec_t late = 1 + HANDSHAKE_SLOT_TIME;

	(void)state;
	for (unsigned i = 0; i < PLACES; i++)
		assert_true(comes(i, i % 2, 1));
	assert_false(comes(20, 20, 2));
	for (unsigned i = 0; i < PLACES; i++) {
		struct handshake_slot *g = handshake_limit_worst(&d, late);

		assert_non_null(g);
		assert_int_equal(g->since, 1);
		handshake_limit_again(&d, g, late);
	}
	assert_null(handshake_limit_worst(&d, late));
	assert_int_equal(d.inside.count, PLACES);
}

static void leaving_twice_is_leaving_once(void **state)
{
	(void)state;
	assert_true(comes(0, 0, 1));
	handshake_limit_leave(&d, &slots[0]);
	handshake_limit_leave(&d, &slots[0]);
	handshake_limit_leave(&d, &slots[1]);
	assert_int_equal(d.inside.count, 0);
	assert_true(comes(0, 0, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(handshakes_without_a_place_wait_in_order, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_host_has_half_of_the_places, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_handshake_that_begins_anew_hides_no_other, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_long_handshake_ends_if_others_wait, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(leaving_twice_is_leaving_once, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
