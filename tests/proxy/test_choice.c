/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of several servers a client gets, as a function of addresses alone. */
#include "tests/cmocka_all.h"

#include <string.h>

#include "proxy/choice.h"

enum { SERVERS = 5, CLIENTS = 5000 };

static struct choice_server servers[SERVERS];
static uint8_t client[CHOICE_KEY];

static int begin(void **state)
{
	(void)state;
	for (unsigned i = 0; i < SERVERS; i++) {
		servers[i] = (struct choice_server){.rank = i};
		servers[i].key[15] = (uint8_t)(i + 1);
	}
	memset(client, 0, sizeof(client));
	return 0;
}

static void be_client(unsigned n)
{
	client[14] = (uint8_t)(n >> 8);
	client[15] = (uint8_t)n;
}

static void in_order_the_first_that_serves(void **state)
{
	(void)state;
	assert_int_equal(choice_pick(servers, SERVERS, NULL), 0);
	servers[0].is_down = true;
	assert_int_equal(choice_pick(servers, SERVERS, NULL), 1);
	servers[1].is_out = true;
	assert_int_equal(choice_pick(servers, SERVERS, NULL), 2);
	servers[4].rank = 0;
	servers[0].rank = 4;
	assert_int_equal(choice_pick(servers, SERVERS, NULL), 4);
}

/* Rather one that is down than none; but never one that is out. */
static void all_down_is_none_down(void **state)
{
	(void)state;
	for (unsigned i = 0; i < SERVERS; i++)
		servers[i].is_down = true;
	assert_int_equal(choice_pick(servers, SERVERS, NULL), 0);
	for (unsigned i = 0; i < SERVERS; i++)
		servers[i].is_out = true;
	assert_int_equal(choice_pick(servers, SERVERS, NULL), CHOICE_NONE);
	assert_int_equal(choice_pick(servers, SERVERS, client), CHOICE_NONE);
	assert_int_equal(choice_pick(servers, 0, NULL), CHOICE_NONE);
}

static void clients_are_spread_evenly(void **state)
{
	unsigned got[SERVERS] = {0};

	(void)state;
	for (unsigned n = 0; n < CLIENTS; n++) {
		be_client(n);
		got[choice_pick(servers, SERVERS, client)]++;
	}
	for (unsigned i = 0; i < SERVERS; i++)
		assert_in_range(got[i], CLIENTS / SERVERS * 9 / 10, CLIENTS / SERVERS * 11 / 10);
}

/* In whatever order they stand, as the same in every worker. */
static void the_order_of_servers_makes_no_difference(void **state)
{
	struct choice_server turned[SERVERS];

	(void)state;
	for (unsigned i = 0; i < SERVERS; i++)
		turned[i] = servers[SERVERS - 1 - i];
	for (unsigned n = 0; n < CLIENTS; n++) {
		be_client(n);
		assert_int_equal(choice_pick(servers, SERVERS, client),
				 SERVERS - 1 - choice_pick(turned, SERVERS, client));
	}
}

/* Clients of a server that fails are spread over the others, whose clients stay; when it returns,
 * its clients return. */
static void a_server_that_goes_moves_its_own_clients_alone(void **state)
{
	unsigned was[CLIENTS], moved[SERVERS] = {0};

	(void)state;
	for (unsigned n = 0; n < CLIENTS; n++) {
		be_client(n);
		was[n] = choice_pick(servers, SERVERS, client);
	}
	servers[2].is_down = true;
	for (unsigned n = 0; n < CLIENTS; n++) {
		unsigned now;

		be_client(n);
		now = choice_pick(servers, SERVERS, client);
		assert_int_not_equal(now, 2);
		if (was[n] == 2)
			moved[now]++;
		else
			assert_int_equal(now, was[n]);
	}
	for (unsigned i = 0; i < SERVERS; i++)
		if (i != 2)
			assert_in_range(moved[i], 150, 350);
	servers[2].is_down = false;
	for (unsigned n = 0; n < CLIENTS; n++) {
		be_client(n);
		assert_int_equal(choice_pick(servers, SERVERS, client), was[n]);
	}
}

/* Known answers: another build, or another machine, gives each client the same server. */
static void the_choice_is_for_ever(void **state)
{
	static const unsigned known[] = {0, 0, 0, 0, 1, 1, 4, 4, 1, 0,
					 0, 2, 0, 4, 1, 3, 1, 2, 4, 0};

	(void)state;
	for (unsigned n = 0; n < sizeof(known) / sizeof(known[0]); n++) {
		be_client(n);
		assert_int_equal(choice_pick(servers, SERVERS, client), known[n]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(in_order_the_first_that_serves, begin),
		cmocka_unit_test_setup(all_down_is_none_down, begin),
		cmocka_unit_test_setup(clients_are_spread_evenly, begin),
		cmocka_unit_test_setup(the_order_of_servers_makes_no_difference, begin),
		cmocka_unit_test_setup(a_server_that_goes_moves_its_own_clients_alone, begin),
		cmocka_unit_test_setup(the_choice_is_for_ever, begin),
	};

	return cmocka_run_group_tests_name("choice", tests, NULL, NULL);
}
