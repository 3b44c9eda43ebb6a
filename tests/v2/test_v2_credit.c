/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include "v2/credit.h"

static struct v2_credit c;

static void receive(bool is_grant, unsigned times)
{
	while (times--)
		assert_int_equal(v2_credit_received(&c, is_grant), 0);
}

/* Protocol decision 2 and section 4.3: one message until the peer was heard. */
static void one_at_first(void **state)
{
	(void)state;
	v2_credit_init(&c, 8, false);
	assert_true(v2_credit_can_send(&c));
	v2_credit_sent(&c);
	assert_false(v2_credit_can_send(&c));
	assert_true(v2_credit_can_grant(&c));
	v2_credit_limit(&c, 9);
	for (int i = 0; i < 8; i++) {
		assert_true(v2_credit_can_send(&c));
		v2_credit_sent(&c);
	}
	assert_false(v2_credit_can_send(&c));
	/* Protocol decision 3: by one GRANT only. */
	v2_credit_sent(&c);
	assert_false(v2_credit_can_grant(&c));
}

/* Protocol decision 1. */
static void value_counts_what_was_received(void **state)
{
	(void)state;
	v2_credit_init(&c, 8, false);
	assert_int_equal(v2_credit_value(&c), 8);
	v2_credit_sent(&c);
	assert_int_equal(v2_credit_value(&c), 8);
	receive(false, 3);
	assert_int_equal(v2_credit_value(&c), 11);

	v2_credit_init(&c, 8, true);
	assert_int_equal(v2_credit_value(&c), 8);
	v2_credit_sent(&c);
	receive(false, 3);
	assert_int_equal(v2_credit_value(&c), 9);
}

static void overrun_is_noticed(void **state)
{
	(void)state;
	v2_credit_init(&c, 4, false);
	receive(false, 2); /* the one everybody has, and one more */
	assert_int_equal(v2_credit_received(&c, false), ERR_CREDIT);

	v2_credit_init(&c, 4, false);
	receive(false, 1);
	v2_credit_sent(&c); /* says 5 */
	receive(false, 4);
	receive(true, 1); /* one GRANT beyond */
	assert_int_equal(v2_credit_received(&c, true), ERR_CREDIT);

	/* Or one message of any kind: 4.2.1 read to the letter. */
	v2_credit_init(&c, 4, false);
	v2_credit_sent(&c);
	receive(false, 5);
	assert_int_equal(v2_credit_received(&c, false), ERR_CREDIT);

	/* What was granted stays granted. */
	v2_credit_init(&c, 4, false);
	v2_credit_sent(&c);
	c.advertised = 1;
	v2_credit_sent(&c);
	receive(false, 5);
	assert_int_equal(v2_credit_received(&c, false), ERR_CREDIT);
}

static void grant_before_half_is_exceeded(void **state)
{
	(void)state;
	for (uint32_t advertised = 2; advertised < 40; advertised++) {
		uint32_t half = (advertised + 1) / 2;

		v2_credit_init(&c, advertised, false);
		v2_credit_sent(&c);
		assert_false(v2_credit_grant_due(&c));
		receive(false, half - 1);
		assert_false(v2_credit_grant_due(&c));
		receive(false, 1);
		assert_true(v2_credit_grant_due(&c));
		v2_credit_sent(&c);
		assert_false(v2_credit_grant_due(&c));
		/* A GRANT alone never asks for one. */
		receive(true, 1);
		assert_false(v2_credit_grant_due(&c));
	}
}

static void raised_and_lowered(void **state)
{
	(void)state;
	v2_credit_init(&c, 4, false);
	v2_credit_sent(&c);
	c.advertised = 16; /* newly promised credits need telling, without any message */
	assert_true(v2_credit_grant_due(&c));
	v2_credit_sent(&c);
	c.advertised = 0;
	receive(false, 8);
	assert_false(v2_credit_grant_due(&c));
	/* Nothing is taken back: the value stands until what it granted has come. */
	assert_int_equal(v2_credit_value(&c), 16);
	v2_credit_sent(&c);
	assert_int_equal(c.granted, 16);
	c.advertised = 4; /* still less than was granted: a GRANT would open nothing */
	assert_false(v2_credit_grant_due(&c));
	receive(false, 8);
	assert_true(v2_credit_grant_due(&c));
}

static void counters_wrap(void **state)
{
	(void)state;
	v2_credit_init(&c, 4, false);
	v2_credit_set_counters(&c, 0xffffffff, 0xfffffffe);
	assert_true(v2_credit_can_send(&c));
	assert_int_equal(v2_credit_value(&c), 2);
	v2_credit_sent(&c);
	assert_int_equal(c.sent, 0);
	assert_false(v2_credit_can_send(&c));
	v2_credit_limit(&c, 2);
	assert_true(v2_credit_can_send(&c));
	receive(false, 4);
	assert_int_equal(c.received, 2);
	receive(false, 1);
	assert_int_equal(v2_credit_received(&c, false), ERR_CREDIT);
	/* A limit 2^31 away is behind, not ahead. */
	v2_credit_limit(&c, c.sent + 0x80000000u);
	assert_false(v2_credit_can_send(&c));
	assert_false(v2_credit_can_grant(&c));
}

static void window_estimate(void **state)
{
	(void)state;
	v2_credit_init(&c, 4, false);
	assert_int_equal(c.window, 1);
	v2_credit_limit(&c, 64);
	assert_int_equal(c.window, 64);
	/* Under load less is open at any one time; the peer advertises no less for that. */
	for (int i = 0; i < 100; i++) {
		c.sent++;
		v2_credit_limit(&c, 64);
	}
	assert_int_equal(c.window, 64);
	v2_credit_limit(&c, c.sent + 100);
	assert_int_equal(c.window, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_at_first),
		cmocka_unit_test(value_counts_what_was_received),
		cmocka_unit_test(overrun_is_noticed),
		cmocka_unit_test(grant_before_half_is_exceeded),
		cmocka_unit_test(raised_and_lowered),
		cmocka_unit_test(counters_wrap),
		cmocka_unit_test(window_estimate),
	};
	return cmocka_run_group_tests_name("v2 credit", tests, NULL, NULL);
}
