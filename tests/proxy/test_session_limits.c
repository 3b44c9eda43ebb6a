/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "proxy/session_limits.h"

static struct fabric_addr addr_must(const char *text)
{
	struct fabric_addr addr;

	assert_int_equal(fabric_addr_parse(text, 1, &addr), 0);
	return addr;
}

static struct session_limits *session_limits_must(uint32_t sessions, uint32_t per_client,
						  uint32_t rate)
{
	struct session_limits *c =
		session_limits_new(&(struct session_limits_config){.max_sessions = sessions,
								   .max_per_client = per_client,
								   .setups_per_second = rate,
								   .seed = 3});

	assert_non_null(c);
	return c;
}

static void session_limits_end(struct session_limits *c, struct host **in, unsigned n)
{
	while (n-- > 0)
		session_limits_leave(c, in[n]);
	session_limits_free(c);
	assert_int_equal(mem_live(), 0);
}

static void limits_are_of_all_and_of_each(void **state)
{
	struct session_limits *c = session_limits_must(5, 3, 0);
	struct fabric_addr a = addr_must("10.0.0.1"), b = addr_must("10.0.0.2");
	struct host *in[5], *none;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(session_limits_enter(c, &a, 0, &in[i]), SESSION_LIMITS_OK);
	assert_int_equal(session_limits_enter(c, &a, 0, &none), SESSION_LIMITS_CLIENT);
	for (unsigned i = 3; i < 5; i++)
		assert_int_equal(session_limits_enter(c, &b, 0, &in[i]), SESSION_LIMITS_OK);
	assert_int_equal(session_limits_enter(c, &b, 0, &none), SESSION_LIMITS_ALL);
	assert_int_equal(session_limits_enter(c, &a, 0, &none), SESSION_LIMITS_CLIENT);
	assert_int_equal(session_limits_sessions(c), 5);
	session_limits_leave(c, in[0]);
	assert_int_equal(session_limits_enter(c, &a, 0, &in[0]), SESSION_LIMITS_OK);
	session_limits_end(c, in, 5);
}

/* Without a limit of its own a client may have all, and no more are needed than there are. */
static void a_client_may_have_all(void **state)
{
	struct session_limits *c = session_limits_must(5, 0, 0);
	struct fabric_addr a = addr_must("10.0.0.1");
	struct host *in[5], *none;

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(session_limits_enter(c, &a, 0, &in[i]), SESSION_LIMITS_OK);
	assert_int_equal(session_limits_enter(c, &a, 0, &none), SESSION_LIMITS_ALL);
	session_limits_end(c, in, 5);
}

static void ipv6_clients_are_networks(void **state)
{
	struct session_limits *c = session_limits_must(9, 2, 0);
	struct fabric_addr a = addr_must("2001:db8:0:1::1"), b = addr_must("2001:db8:0:1:f::2");
	struct fabric_addr other = addr_must("2001:db8:0:2::1");
	struct host *in[3], *none;

	(void)state;
	assert_int_equal(session_limits_enter(c, &a, 0, &in[0]), SESSION_LIMITS_OK);
	assert_int_equal(session_limits_enter(c, &b, 0, &in[1]), SESSION_LIMITS_OK);
	assert_int_equal(session_limits_enter(c, &a, 0, &none), SESSION_LIMITS_CLIENT);
	assert_int_equal(session_limits_enter(c, &other, 0, &in[2]), SESSION_LIMITS_OK);
	session_limits_end(c, in, 3);
}

/* As many at once as it may have, then so many a second; what it does elsewhere is no matter. */
static void a_client_has_a_burst_and_a_rate(void **state)
{
	struct session_limits *c = session_limits_must(100, 4, 10);
	struct fabric_addr a = addr_must("10.0.0.1"), b = addr_must("10.0.0.2");
	nsec_t now = 1000 * NSEC_PER_SEC;
	struct host *in;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(session_limits_enter(c, &a, now, &in), SESSION_LIMITS_OK);
		session_limits_leave(c, in);
	}
	assert_int_equal(session_limits_enter(c, &a, now, &in), SESSION_LIMITS_RATE);
	assert_int_equal(session_limits_enter(c, &a, now + NSEC_PER_SEC / 10 - 1, &in),
			 SESSION_LIMITS_RATE);
	assert_int_equal(session_limits_enter(c, &b, now, &in), SESSION_LIMITS_OK);
	session_limits_leave(c, in);
	now += NSEC_PER_SEC / 10;
	assert_int_equal(session_limits_enter(c, &a, now, &in), SESSION_LIMITS_OK);
	session_limits_leave(c, in);
	assert_int_equal(session_limits_enter(c, &a, now, &in), SESSION_LIMITS_RATE);
	now += 3600 * NSEC_PER_SEC;
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(session_limits_enter(c, &a, now, &in), SESSION_LIMITS_OK);
		session_limits_leave(c, in);
	}
	assert_int_equal(session_limits_enter(c, &a, now, &in), SESSION_LIMITS_RATE);
	session_limits_end(c, NULL, 0);
}

/* Each worker has looked at the clock for itself: without a limit time does not matter. */
static void clocks_differ_a_little(void **state)
{
	struct session_limits *c = session_limits_must(100, 0, 0);
	struct fabric_addr a = addr_must("10.0.0.1");
	nsec_t now = 1000 * NSEC_PER_SEC;
	struct host *in[2];

	(void)state;
	assert_int_equal(session_limits_enter(c, &a, now, &in[0]), SESSION_LIMITS_OK);
	assert_int_equal(session_limits_enter(c, &a, now - 1, &in[1]), SESSION_LIMITS_OK);
	session_limits_end(c, in, 2);
}

enum { THREADS = 4, ROUNDS = 20000, MOST = 10 };

static struct session_limits *shared;
static atomic_uint inside, too_many;

static void *worker_main(void *arg)
{
	struct fabric_addr a = addr_must(arg);
	struct host *in;

	for (unsigned i = 0; i < ROUNDS; i++) {
		if (session_limits_enter(shared, &a, i, &in) != SESSION_LIMITS_OK)
			continue;
		if (atomic_fetch_add(&inside, 1) >= MOST)
			atomic_fetch_add(&too_many, 1);
		atomic_fetch_sub(&inside, 1);
		session_limits_leave(shared, in);
	}
	return NULL;
}

static void workers_count_together(void **state)
{
	static char *const from[] = {"10.0.0.1", "10.0.0.1", "10.0.0.2", "::1"};
	pthread_t thread[THREADS];

	(void)state;
	shared = session_limits_must(MOST, 0, 0);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, worker_main, from[i]), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(too_many, 0);
	assert_int_equal(session_limits_sessions(shared), 0);
	session_limits_end(shared, NULL, 0);
}

/* Among few sessions, one more counts as more, so the sessions of one client spread over the workers. Among many
 * sessions, a few more count as equal; a worker that has clearly more leaves the next one to the others. */
static void the_more_loaded_worker_is_known(void **state)
{
	struct session_limits *c = session_limits_new(
		&(struct session_limits_config){.max_sessions = 10000, .workers = 3});
	unsigned changes;

	(void)state;
	assert_non_null(c);
	for (unsigned i = 0; i < 3; i++)
		assert_false(session_limits_worker_is_overloaded(c, i, 0));
	changes = session_limits_changes(c);
	session_limits_publish(c, 0, 1);
	assert_int_not_equal(session_limits_changes(c), changes);
	assert_true(session_limits_worker_is_overloaded(c, 0, 0));
	session_limits_publish(c, 1, 1);
	assert_true(session_limits_worker_is_overloaded(c, 0, 0));
	assert_true(session_limits_worker_is_overloaded(c, 1, 0));
	assert_false(session_limits_worker_is_overloaded(c, 2, 0));
	session_limits_publish(c, 2, 1);
	for (unsigned i = 0; i < 3; i++)
		assert_false(session_limits_worker_is_overloaded(c, i, 0));
	session_limits_publish(c, 0, 11);
	assert_true(session_limits_worker_is_overloaded(c, 0, 0));
	assert_true(session_limits_worker_is_overloaded(c, 0, 10));
	session_limits_publish(c, 1, 10);
	session_limits_publish(c, 2, 9);
	assert_true(session_limits_worker_is_overloaded(c, 0, 7));
	assert_false(session_limits_worker_is_overloaded(
		c, 0, 8)); /* ... and the next are not worth a wait */
	session_limits_publish(c, 1, 0);
	session_limits_publish(c, 2, 0);
	session_limits_publish(c, 0, 5000);
	assert_true(session_limits_worker_is_overloaded(c, 0, 0));
	assert_false(session_limits_worker_is_overloaded(c, 1, 0));
	session_limits_publish(c, 1, 4990);
	assert_true(session_limits_worker_is_overloaded(c, 1, 0));
	session_limits_publish(c, 2, 4850);
	for (unsigned i = 0; i < 3; i++)
		assert_false(session_limits_worker_is_overloaded(c, i, 0));
	session_limits_publish(c, 2, 4000);
	assert_true(session_limits_worker_is_overloaded(c, 0, 0));
	assert_false(session_limits_worker_is_overloaded(c, 2, 0));
	assert_false(session_limits_worker_is_overloaded(c, 3, 0)); /* alone */
	session_limits_publish(c, 2, SESSION_LIMITS_NO_MEMORY);
	assert_true(session_limits_worker_is_overloaded(c, 2, 1000));
	assert_false(session_limits_worker_is_overloaded(c, 1, 0));
	session_limits_publish(c, 0, SESSION_LIMITS_NO_MEMORY);
	session_limits_publish(c, 1, SESSION_LIMITS_NO_MEMORY);
	for (unsigned i = 0; i < 3; i++)
		assert_false(session_limits_worker_is_overloaded(c, i, 0));
	session_limits_publish(c, 0, 0);
	session_limits_publish(c, 1, 17);
	assert_true(session_limits_worker_is_overloaded(
		c, 1, 4000)); /* silent ones are no reason to come to few workers */
	session_limits_free(c);
}

static void memory_may_be_short(void **state)
{
	struct session_limits *c;
	unsigned nth = 0;

	(void)state;
	do {
		mem_fail_at(++nth);
		c = session_limits_new(&(struct session_limits_config){.max_sessions = 5});
		mem_fail_at(0);
	} while (!c);
	assert_int_equal(nth, 5);
	session_limits_end(c, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_are_of_all_and_of_each),
		cmocka_unit_test(a_client_may_have_all),
		cmocka_unit_test(ipv6_clients_are_networks),
		cmocka_unit_test(a_client_has_a_burst_and_a_rate),
		cmocka_unit_test(clocks_differ_a_little),
		cmocka_unit_test(workers_count_together),
		cmocka_unit_test(the_more_loaded_worker_is_known),
		cmocka_unit_test(memory_may_be_short),
	};

	return cmocka_run_group_tests_name("session_limits", tests, NULL, NULL);
}
