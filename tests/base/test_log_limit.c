/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log_limit.h"

static struct log_limit limit;

static int reset(void **state)
{
	(void)state;
	memset(&limit, 0, sizeof(limit));
	return 0;
}

static unsigned taken(const char *event, const char *peer, unsigned n, nsec_t now)
{
	unsigned ok = 0;

	for (unsigned i = 0; i < n; i++)
		ok += log_limit_take(&limit, event, peer, now);
	return ok;
}

static void a_peer_has_a_burst_and_a_rate(void **state)
{
	nsec_t now = 1000 * NSEC_PER_SEC;

	(void)state;
	assert_int_equal(taken("end", "a", 1000, now), LOG_LIMIT_PEER_BURST);
	now += NSEC_PER_SEC;
	assert_int_equal(taken("end", "a", 1000, now), LOG_LIMIT_PEER_RATE);
	now += NSEC_PER_SEC / LOG_LIMIT_PEER_RATE;
	assert_int_equal(taken("end", "a", 1000, now), 1);
	/* However long it was quiet, a burst is a burst. */
	now += 100000 * NSEC_PER_SEC;
	assert_int_equal(taken("end", "a", 1000, now), LOG_LIMIT_PEER_BURST);
}

static void peers_and_events_are_apart(void **state)
{
	nsec_t now = 1000 * NSEC_PER_SEC;

	(void)state;
	assert_int_equal(taken("end", "a", 1000, now), LOG_LIMIT_PEER_BURST);
	assert_int_equal(taken("end", "b", 1000, now), LOG_LIMIT_PEER_BURST);
	assert_int_equal(taken("refused", "a", 1000, now), LOG_LIMIT_PEER_BURST);
}

static uint64_t all_taken(void)
{
	struct log_bucket bucket;
	uint64_t sum = 0;

	while (log_limit_take_suppressed(&limit, &bucket)) {
		assert_true(bucket.suppressed > 0);
		sum += bucket.suppressed;
	}
	return sum;
}

static void what_was_suppressed_is_reported_once(void **state)
{
	struct log_bucket bucket;

	(void)state;
	assert_false(log_limit_take_suppressed(&limit, &bucket));
	assert_int_equal(taken("end", "a", LOG_LIMIT_PEER_BURST + 7, 1), LOG_LIMIT_PEER_BURST);
	assert_true(log_limit_take_suppressed(&limit, &bucket));
	assert_string_equal(bucket.event, "end");
	assert_string_equal(bucket.peer, "a");
	assert_int_equal(bucket.suppressed, 7);
	assert_false(log_limit_take_suppressed(&limit, &bucket));
}

/* Each address is new: each would have a burst of its own, and the table cannot hold them. */
static void many_addresses_are_bounded(void **state)
{
	unsigned ok = 0, tried = 0;
	nsec_t now = 1000 * NSEC_PER_SEC;
	char peer[32];

	(void)state;
	for (unsigned i = 0; i < 5000; i++) {
		snprintf(peer, sizeof(peer), "10.0.%u.%u", i / 256, i % 256);
		ok += taken("end", peer, 300, now);
		tried += 300;
	}
	assert_int_equal(ok, LOG_LIMIT_ALL_BURST);
	/* Forgotten buckets' counts are not. */
	assert_int_equal(all_taken(), tried - ok);
	now += 10 * NSEC_PER_SEC;
	ok = taken("end", "10.9.9.9", 300, now);
	assert_int_equal(ok, LOG_LIMIT_PEER_BURST);
}

static void more_events_than_buckets(void **state)
{
	enum { KINDS = LOG_LIMIT_EVENTS + 10 };
	static char names[KINDS][16];

	(void)state;
	for (unsigned i = 0; i < KINDS; i++) {
		snprintf(names[i], sizeof(names[i]), "event.%u", i);
		assert_int_equal(taken(names[i], "a", 300, 1), LOG_LIMIT_PEER_BURST);
	}
	assert_int_equal(all_taken(), KINDS * (300 - LOG_LIMIT_PEER_BURST));
}

/* Longer than there is room for: cut, but still a peer of its own. */
static void long_names_are_cut(void **state)
{
	struct log_bucket bucket;
	char peer[200];

	(void)state;
	memset(peer, 'x', sizeof(peer) - 1);
	peer[sizeof(peer) - 1] = '\0';
	assert_int_equal(taken("end", peer, 300, 1), LOG_LIMIT_PEER_BURST);
	assert_int_equal(taken("end", peer, 300, 1), 0);
	assert_true(log_limit_take_suppressed(&limit, &bucket));
	assert_int_equal(strlen(bucket.peer), LOG_LIMIT_PEER_TEXT - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_peer_has_a_burst_and_a_rate, reset),
		cmocka_unit_test_setup(peers_and_events_are_apart, reset),
		cmocka_unit_test_setup(what_was_suppressed_is_reported_once, reset),
		cmocka_unit_test_setup(many_addresses_are_bounded, reset),
		cmocka_unit_test_setup(more_events_than_buckets, reset),
		cmocka_unit_test_setup(long_names_are_cut, reset),
	};

	return cmocka_run_group_tests_name("log_limit", tests, NULL, NULL);
}
