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

	/* One message of any kind is possible: 4.2.1 read literally. */
	v2_credit_init(&c, 4, false);
	v2_credit_sent(&c);
	receive(false, 5);
	assert_int_equal(v2_credit_received(&c, false), ERR_CREDIT);

	/* A grant is never taken back. */
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

/* A peer: what it counts, what it has granted, what it advertises now. */
static struct {
	bool literal;
	uint32_t received, sent, granted, advertised;
} peer;

static void peer_says(void)
{
	uint32_t value = (peer.literal ? peer.sent : peer.received) + peer.advertised;

	if (!peer.literal && (int32_t)(value - peer.granted) < 0)
		value = peer.granted;
	peer.granted = value;
	peer.sent++;
	receive(false, 1);
	v2_credit_limit(&c, value);
}

/* A call of @parts Sends and its Reply, where the window covers it. Return: whether it was. */
static bool call_of(uint32_t parts)
{
	if (v2_credit_open(&c) < parts)
		return false;
	for (uint32_t i = 0; i < parts; i++)
		v2_credit_sent(&c);
	peer.received += parts;
	peer_says();
	v2_credit_answered(&c, parts, c.sent);
	return true;
}

static void begin_with(bool literal, uint32_t advertised)
{
	v2_credit_init(&c, 64, false);
	peer.literal = literal;
	peer.received = 1;
	peer.sent = peer.granted = 0;
	peer.advertised = advertised;
	v2_credit_sent(&c);
	peer_says();
}

/* Protocol decision 93: two calls of three parts or more tell it, none of fewer does. */
static void a_peer_that_counts_what_it_sends(void **state)
{
	(void)state;
	for (uint32_t parts = 1; parts < 6; parts++) {
		begin_with(true, 16);
		assert_true(call_of(parts));
		assert_false(c.literal_peer);
		assert_true(call_of(parts));
		assert_int_equal(c.literal_peer, parts > 2);
		while (parts > 1 && call_of(parts))
			;
		for (int i = 0; i < 16; i++) /* GRANTs: its window is open again */
			peer_says();
		assert_false(c.literal_peer);
	}
}

/* ... and a peer that advertises less than it did is not taken for one, whenever that shows. */
static void a_peer_that_advertises_less_than_before(void **state)
{
	(void)state;
	for (uint32_t before = 4; before <= 40; before++)
		for (uint32_t now = 3; now <= before; now++)
			for (uint32_t parts = 3; parts <= now; parts++)
				for (uint32_t singles = 0; singles < 4; singles++) {
					begin_with(false, before);
					peer.advertised = now;
					for (uint32_t i = 0; i < singles; i++)
						assert_true(call_of(1));
					for (uint32_t i = 0; i < 30; i++) {
						assert_true(call_of(parts));
						assert_false(c.literal_peer);
					}
				}
}

/* The same for a peer that has all Receives posted only at times, or that grants without
 * counting. */
static void a_peer_that_has_not_all_posted(void **state)
{
	(void)state;
	begin_with(false, 32);
	for (uint32_t i = 0; i < 100; i++) {
		peer.advertised = i % 3 ? 32 - i % 7 : 32;
		assert_true(call_of(3 + i % 5));
		assert_false(c.literal_peer);
	}
	begin_with(false, 1 << 20);
	peer.granted = 1 << 21;
	for (uint32_t i = 0; i < 100; i++) {
		assert_true(call_of(8));
		assert_false(c.literal_peer);
	}
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
		cmocka_unit_test(a_peer_that_counts_what_it_sends),
		cmocka_unit_test(a_peer_that_advertises_less_than_before),
		cmocka_unit_test(a_peer_that_has_not_all_posted),
	};
	return cmocka_run_group_tests_name("v2 credit", tests, NULL, NULL);
}
