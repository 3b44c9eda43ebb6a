/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses of a route's servers: results of names, and the effect of a new configuration. */
#include "tests/proxy/servers_util.h"

static void an_answer_holds_as_long_as_it_says(void **state)
{
	struct servers_user a = {.pin = NULL}, b = {.pin = NULL};

	(void)state;
	begin(named);
	goes_to(&a, "10.1.0.1", "?");
	assert_int_equal(notified, 1);
	assert_string_equal(servers_expired(servers, 0, now), "filer.example");
	goes_to(&a, "10.1.0.1", "?"); /* as often as it likes */
	ANSWER(7 * S, "10.0.0.5");
	assert_int_equal(servers_asked(servers), 0);
	goes_to(&a, "10.1.0.1", "10.0.0.5");
	now += 7 * S - 1;
	visits(&b, "10.1.0.2", "10.0.0.5");
	now += 1;
	goes_to(&b, "10.1.0.2", "?");
	ANSWER(7 * S, "10.0.0.6");
	goes_to(&b, "10.1.0.2", "10.0.0.6");
	leaves(&a);
	leaves(&b);
	assert_int_equal(figures()->lookups, 2);
	end();
}

/* As load balancers answer: another one for everybody, for no time at all. */
static void an_answer_without_ttl_is_for_sessions_that_wait(void **state)
{
	struct servers_user a = {.pin = NULL}, b = {.pin = NULL}, again = {.pin = NULL};

	(void)state;
	begin(named);
	goes_to(&a, "10.1.0.1", "?");
	ANSWER(0, "10.0.0.5");
	is_with(&a, "10.1.0.1", "10.0.0.5");
	goes_to(&b, "10.1.0.2", "?");
	ANSWER(0, "10.0.0.6");
	is_with(&b, "10.1.0.2", "10.0.0.6");
	/* But a client that has a server stays there, and requests no look-up. */
	notified = 0;
	goes_to(&again, "10.1.0.1", "10.0.0.5");
	assert_int_equal(notified, 0);
	assert_string_equal(seen("10.0.0.5")->host, "");
	assert_string_equal(seen("10.0.0.6")->host, "filer.example");
	/* Where that fails the name is asked for. */
	fails(&again);
	goes_to(&again, "10.1.0.1", "?");
	ANSWER(0, "10.0.0.5", "10.0.0.7");
	is_with(&again, "10.1.0.1", "10.0.0.7");
	assert_true(has_moved(&a));
	leaves(&a);
	leaves(&b);
	leaves(&again);
	assert_null(seen("10.0.0.6"));
	end();
}

static const char *const renamed[] = {"other.example", NULL};

/* An answer for the old name is no answer for sessions that wait for the new one. */
static void sessions_that_wait_while_names_change_get_the_new_answer(void **state)
{
	struct servers_user a = {.pin = NULL}, b = {.pin = NULL};
	struct servers_config cfg = config_of(renamed);
	uint64_t old;

	(void)state;
	begin(named);
	goes_to(&a, "10.1.0.1", "?");
	goes_to(&b, "10.1.0.2", "?");
	old = servers_asked(servers);
	assert_int_equal(servers_configure(servers, &cfg), 0);
	goes_to(&a, "10.1.0.1", "?"); /* before the old answer, and after it */
	servers_answered(servers, old);
	goes_to(&a, "10.1.0.1", "?");
	goes_to(&b, "10.1.0.2", "?");
	ANSWER(0, "10.0.0.5");
	is_with(&a, "10.1.0.1", "10.0.0.5");
	is_with(&b, "10.1.0.2", "10.0.0.5");
	leaves(&a);
	leaves(&b);
	end();
}

static void what_was_known_holds_while_nobody_answers(void **state)
{
	struct servers_user a = {.pin = NULL};

	(void)state;
	begin(named);
	goes_to(&a, "10.1.0.1", "?");
	servers_lookup_failed(servers, 0, now + 5 * S);
	servers_answered(servers, servers_asked(servers));
	visits(&a, "10.1.0.1", "-");
	now += 5 * S;
	goes_to(&a, "10.1.0.1", "?");
	ANSWER(S, "10.0.0.5");
	now += S;
	leaves(&a);
	goes_to(&a, "10.1.0.1", "?");
	servers_lookup_failed(servers, 0, now + 5 * S);
	servers_answered(servers, servers_asked(servers));
	visits(&a, "10.1.0.1", "10.0.0.5");
	assert_int_equal(figures()->lookup_failures, 2);
	end();
}

/* An answer for a name may contain anything. */
static void answers_that_are_no_hosts_are_left_out(void **state)
{
	struct servers_user a = {.pin = NULL};

	(void)state;
	begin(named);
	goes_to(&a, "10.1.0.1", "?");
	ANSWER(S, "0.0.0.0", "224.0.0.1", "255.255.255.255", "::", "ff02::1", "fe80::1",
	       "::ffff:10.0.0.1", "::10.0.0.1", "0.1.2.3");
	visits(&a, "10.1.0.1", "-");
	assert_int_equal(figures()->lookup_failures, 1);
	now += S;
	goes_to(&a, "10.1.0.1", "?");
	ANSWER(S, "10.0.0.9", "10.0.0.9", "::1", "10.0.0.9"); /* IPv6 first, each once */
	goes_to(&a, "10.1.0.1", "[::1]");
	fails(&a);
	goes_to(&a, "10.1.0.1", "10.0.0.9");
	fails(&a);
	visits(&a, "10.1.0.1", "-");
	end();
}

static void only_families_that_sources_have(void **state)
{
	struct servers_config cfg = config_of(named);
	struct servers_user a = {.pin = NULL};

	(void)state;
	cfg.v6 = false;
	begin_with(&cfg);
	goes_to(&a, "10.1.0.1", "?");
	ANSWER(S, "2001:db8::1", "10.0.0.9");
	goes_to(&a, "10.1.0.1", "10.0.0.9");
	fails(&a);
	visits(&a, "10.1.0.1", "-");
	end();
}

/* In the order of their numbers, however the answer was turned. */
static void addresses_of_a_name_have_an_order(void **state)
{
	struct servers_user a = {.pin = NULL};

	(void)state;
	begin((const char *const[]){"10.0.0.200", "filer.example", NULL});
	goes_to(&a, "10.1.0.1", "?");
	ANSWER(100 * S, "10.0.0.3", "10.0.0.200", "10.0.0.1", "10.0.0.2");
	for (unsigned i = 0; i < 4; i++) {
		static const char *const order[] = {"10.0.0.200", "10.0.0.1", "10.0.0.2",
						    "10.0.0.3"};

		goes_to(&a, "10.1.0.1", order[i]);
		fails(&a);
	}
	leaves(&a);
	end();
}

/* Ten thousand different answers, with sessions that stay at some of the servers, take no more room than
 * SERVERS_MOST. */
static void many_answers_take_bounded_room(void **state)
{
	struct servers_user stays[SERVERS_MOST] = {{.pin = NULL}}, a = {.pin = NULL};
	unsigned n = 0, refused = 0;

	(void)state;
	begin(named);
	for (unsigned i = 0; i < 10000; i++) {
		char server[32], client[32];
		const char *got;

		snprintf(server, sizeof(server), "10.%u.%u.%u", 1 + i / 65536, i / 256 % 256,
			 i % 256);
		snprintf(client, sizeof(client), "10.200.%u.%u", i / 256, i % 256);
		goes_to(&a, client, "?");
		ANSWER(0, server);
		got = chosen(&a, client);
		if (strcmp(got, server) != 0) {
			assert_string_equal(got, "-");
			refused++;
		} else if (i % 100 == 0 && n < SERVERS_MOST) {
			assert_true(opens(&a));
			stays[n++] = a;
			a = (struct servers_user){.pin = NULL};
		}
		leaves(&a);
	}
	assert_int_equal(n, SERVERS_MOST); /* and then there was no room for others */
	assert_in_range(refused, 1, 10000 - 6301);
	all_leave(stays, n);
	end();
}

/* --- configuration --- */

static void another_configuration_keeps_what_is_known(void **state)
{
	static const char *const other[] = {"10.0.0.3", "10.0.0.2", "filer.example", NULL};
	struct servers_config cfg = config_of(other);
	struct servers_user a = {.pin = NULL}, b = {.pin = NULL}, more = {.pin = NULL};

	(void)state;
	begin(pair);
	is_with(&a, "10.1.0.1", "10.0.0.1");
	goes_to(&b, "10.1.0.2", "10.0.0.1");
	fails(&b);
	goes_to(&b, "10.1.0.2", "10.0.0.2");
	fails(&b);
	leaves(&b);
	assert_int_equal(servers_configure(servers, &cfg), 0);
	/* A session stays with its server although the file no longer has it; other clients get the
	 * first of the new servers. */
	is_with(&more, "10.1.0.1", "10.0.0.1");
	leaves(&more);
	leaves(&a);
	goes_to(&b, "10.1.0.2", "?");
	ANSWER(S, "10.0.0.4");
	goes_to(&b, "10.1.0.2", "10.0.0.3");
	fails(&b);
	goes_to(&b, "10.1.0.2", "10.0.0.4"); /* 10.0.0.2 is down, as it was known to be */
	leaves(&b);
	assert_null(seen("10.0.0.1"));
	assert_int_equal(seen("10.0.0.2")->figures.failures, 1);
	end();
}

static void every_allocation_may_fail(void **state)
{
	static const char *const other[] = {"10.0.0.3", "filer.example", NULL};
	struct servers_config cfg = config_of(pair), next = config_of(other);
	struct fabric_addr client = addr_of("10.1.0.1");
	struct servers_user a = {.pin = NULL};

	(void)state;
	for (unsigned nth = 1; nth <= 3; nth++) {
		mem_fail_at(nth);
		assert_null(servers_new(&cfg, NULL));
		mem_fail_at(0);
		assert_int_equal(mem_live(), 0);
	}
	begin_with(&cfg);
	for (unsigned nth = 1; nth <= 2; nth++) {
		mem_fail_at(nth);
		assert_int_equal(servers_configure(servers, &next), ERR_NOMEM);
		mem_fail_at(0);
		visits(&a, "10.1.0.1", "10.0.0.1");
	}
	mem_fail_at(1);
	assert_int_equal(servers_choose(servers, &a, &client, now), SERVERS_SHORT);
	mem_fail_at(0);
	leaves(&a);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_holds_as_long_as_it_says),
		cmocka_unit_test(an_answer_without_ttl_is_for_sessions_that_wait),
		cmocka_unit_test(sessions_that_wait_while_names_change_get_the_new_answer),
		cmocka_unit_test(what_was_known_holds_while_nobody_answers),
		cmocka_unit_test(answers_that_are_no_hosts_are_left_out),
		cmocka_unit_test(only_families_that_sources_have),
		cmocka_unit_test(addresses_of_a_name_have_an_order),
		cmocka_unit_test(many_answers_take_bounded_room),
		cmocka_unit_test(another_configuration_keeps_what_is_known),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests_name("servers_names", tests, NULL, NULL);
}
