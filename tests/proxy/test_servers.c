/* SPDX-License-Identifier: BSD-2-Clause */
/* The workers' shared state of a route's servers: which server a client has, and which are down. */
#include "tests/proxy/servers_util.h"

#include <pthread.h>

/* --- health --- */

static void a_server_that_failed_is_left_alone_for_longer_and_longer(void **state)
{
	nsec_t wait = SERVERS_BACKOFF;

	(void)state;
	begin(pair);
	for (unsigned round = 0; round < 10; round++) {
		struct servers_user a = {.pin = NULL}, b = {.pin = NULL}, c = {.pin = NULL};

		goes_to(&a, "10.1.0.1", "10.0.0.1");
		assert_int_equal(fails(&a), round == 0);
		goes_to(&a, "10.1.0.1", "10.0.0.2"); /* in the same session */
		now += wait - 1;
		goes_to(&b, "10.1.0.2", "10.0.0.2");
		now += 1;
		if (round < 9) { /* one tries it, the next does not wait for what comes of that */
			goes_to(&c, "10.1.0.3", "10.0.0.1");
			leaves(&b);
			goes_to(&b, "10.1.0.2", "10.0.0.2");
			leaves(&c);
			now += 10 * S;
		}
		leaves(&a);
		leaves(&b);
		wait = wait * 2 < SERVERS_BACKOFF_MOST ? wait * 2 : SERVERS_BACKOFF_MOST;
	}
	assert_int_equal(seen("10.0.0.1")->figures.failures, 10);
	assert_int_equal(seen("10.0.0.1")->figures.up, 0);
	assert_int_equal(figures()->servers_down, 1);
	end();
}

static void one_connection_and_it_is_up(void **state)
{
	struct servers_user a = {.pin = NULL};
	bool came_up;

	(void)state;
	begin(pair);
	goes_to(&a, "10.1.0.1", "10.0.0.1");
	assert_true(fails(&a));
	leaves(&a);
	now += SERVERS_BACKOFF;
	goes_to(&a, "10.1.0.1", "10.0.0.1");
	assert_true(servers_opened(servers, &a, &came_up));
	assert_true(came_up);
	assert_int_equal(seen("10.0.0.1")->figures.up, 1);
	leaves(&a);
	/* From the beginning. */
	goes_to(&a, "10.1.0.1", "10.0.0.1");
	assert_true(fails(&a));
	now += SERVERS_BACKOFF;
	leaves(&a);
	visits(&a, "10.1.0.1", "10.0.0.1");
	end();
}

static bool ends_unheard(struct servers_user *g)
{
	return servers_ended_unheard(servers, g, now);
}

/* The server is down until it is heard: a connection alone does not show that it answers. */
static void a_server_that_is_never_heard_is_down(void **state)
{
	struct servers_user a = {.pin = NULL};
	bool came_up;

	(void)state;
	begin(pair);
	for (unsigned i = 1; i <= SERVERS_UNHEARD; i++) {
		is_with(&a, "10.1.0.1", "10.0.0.1");
		assert_int_equal(ends_unheard(&a), i == SERVERS_UNHEARD);
		leaves(&a);
	}
	visits(&a, "10.1.0.1", "10.0.0.2");
	now += SERVERS_BACKOFF;
	goes_to(&a, "10.1.0.1", "10.0.0.1");
	assert_true(servers_opened(servers, &a, &came_up));
	assert_false(came_up);
	assert_int_equal(seen("10.0.0.1")->figures.up, 0);
	assert_false(ends_unheard(&a));
	leaves(&a);
	now += 2 * SERVERS_BACKOFF - 1; /* twice as long */
	visits(&a, "10.1.0.1", "10.0.0.2");
	now += 1;
	is_with(&a, "10.1.0.1", "10.0.0.1");
	assert_true(servers_heard(servers, &a));
	assert_int_equal(seen("10.0.0.1")->figures.up, 1);
	leaves(&a);
	is_with(&a, "10.1.0.1", "10.0.0.1");
	assert_false(ends_unheard(&a)); /* from the beginning */
	leaves(&a);
	visits(&a, "10.1.0.1", "10.0.0.1");
	end();
}

static void a_server_that_others_hear_is_not_down(void **state)
{
	struct servers_user a = {.pin = NULL}, b = {.pin = NULL};

	(void)state;
	begin(pair);
	is_with(&b, "10.1.0.2", "10.0.0.1");
	assert_false(servers_heard(servers, &b));
	for (unsigned i = 0; i < 5 * SERVERS_UNHEARD; i++) {
		is_with(&a, "10.1.0.1", "10.0.0.1");
		assert_false(ends_unheard(&a));
		leaves(&a);
	}
	leaves(&b);
	visits(&b, "10.1.0.2", "10.0.0.1");
	end();
}

/* Many that were on their way together do not make it ten minutes. */
static void failures_at_once_are_one(void **state)
{
	struct servers_user g[20] = {{.pin = NULL}}, one = {.pin = NULL};

	(void)state;
	begin(pair);
	for (unsigned i = 0; i < 20; i++)
		goes_to(&g[i], "10.1.0.1", "10.0.0.1");
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(fails(&g[i]), i == 0);
	all_leave(g, 20);
	now += SERVERS_BACKOFF;
	visits(&one, "10.1.0.1", "10.0.0.1");
	end();
}

static void each_is_tried_once_and_none_is_left(void **state)
{
	struct servers_user a = {.pin = NULL};

	(void)state;
	begin(pair);
	goes_to(&a, "10.1.0.1", "10.0.0.1");
	fails(&a);
	goes_to(&a, "10.1.0.1", "10.0.0.2");
	fails(&a);
	visits(&a, "10.1.0.1", "-");
	/* The next one tries them all the same. */
	visits(&a, "10.1.0.1", "10.0.0.1");
	end();
}

static void probed(const char *server, bool answered)
{
	uint32_t slots[SERVERS_MOST];
	unsigned n = servers_list(servers, slots, now);
	struct fabric_addr want = addr_of(server), addr;
	uint8_t a[FABRIC_ADDR_KEY], b[FABRIC_ADDR_KEY];

	fabric_addr_key(&want, a);
	for (unsigned i = 0; i < n; i++) {
		bool is_it;

		servers_probe_begin(servers, slots[i], &addr);
		fabric_addr_key(&addr, b);
		is_it = memcmp(a, b, sizeof(a)) == 0;
		if (is_it)
			servers_probed(servers, slots[i], answered, now);
		servers_probe_end(servers, slots[i]);
		if (is_it)
			return;
	}
	fail_msg("%s is not to be probed", server);
}

/* The result of a probe belongs to its server, even if the configuration changes meanwhile. */
static void a_probe_keeps_the_place_of_its_server(void **state)
{
	static const char *const others[] = {"10.0.0.3", "10.0.0.4", NULL};
	struct servers_config cfg = config_of(others);
	struct fabric_addr addr;
	uint32_t slots[SERVERS_MOST], probed_slot;

	(void)state;
	begin(pair);
	assert_int_equal(servers_list(servers, slots, now), 2);
	probed_slot = slots[0];
	servers_probe_begin(servers, probed_slot, &addr);
	assert_int_equal(servers_configure(servers, &cfg), 0);
	assert_int_equal(servers_list(servers, slots, now), 2);
	for (unsigned i = 0; i < 2; i++)
		assert_int_not_equal(slots[i], probed_slot);
	servers_probe_end(servers, probed_slot);
	end();
}

/* A connection is no answer: a kernel makes it for a server that hangs. */
static void probes_find_down_what_still_connects(void **state)
{
	struct servers_config cfg = config_of(pair);
	struct servers_user a = {.pin = NULL}, b = {.pin = NULL};

	(void)state;
	cfg.probes = true;
	begin_with(&cfg);
	probed("10.0.0.1", false);
	is_with(&a, "10.1.0.1", "10.0.0.1"); /* one is chance */
	probed("10.0.0.1", false);
	assert_int_equal(seen("10.0.0.1")->figures.up, 0);
	/* A session does not stay because the client's other sessions do. */
	is_with(&b, "10.1.0.1", "10.0.0.2");
	assert_true(has_moved(&a));
	leaves(&a);
	/* All time long: no client has to find out. */
	for (unsigned i = 0; i < 100; i++) {
		now += 30 * S;
		probed("10.0.0.1", false);
		visits(&a, "10.1.0.9", "10.0.0.2");
	}
	probed("10.0.0.1", true);
	assert_int_equal(seen("10.0.0.1")->figures.up, 1);
	visits(&a, "10.1.0.9", "10.0.0.1");
	leaves(&b);
	assert_int_equal(seen("10.0.0.1")->figures.probes, 103);
	assert_int_equal(seen("10.0.0.1")->figures.probe_failures, 102);
	/* Without probes nothing of theirs is left. */
	probed("10.0.0.1", false);
	probed("10.0.0.1", false);
	cfg.probes = false;
	assert_int_equal(servers_configure(servers, &cfg), 0);
	assert_int_equal(seen("10.0.0.1")->figures.up, 1);
	end();
}

/* --- clients --- */

/* nconnect, session trunking: what is chosen first holds for all. */
static void connections_of_a_client_go_to_one_server(void **state)
{
	struct servers_user a[8] = {{.pin = NULL}}, b = {.pin = NULL};

	(void)state;
	begin(pair);
	goes_to(&b, "10.1.0.2", "10.0.0.1");
	fails(&b);
	for (unsigned i = 0; i < 8; i++) {
		is_with(&a[i], "10.1.0.1", "10.0.0.2");
		now += 10 * S; /* the first is to be tried again, but not by this one */
	}
	leaves(&b);
	is_with(&b, "10.1.0.2", "10.0.0.1");
	for (unsigned i = 0; i < 8; i++)
		assert_false(has_moved(&a[i]));
	assert_int_equal(seen("10.0.0.2")->figures.sessions, 8);
	/* Once all are gone it is any client. */
	all_leave(a, 8);
	visits(&a[0], "10.1.0.1", "10.0.0.1");
	leaves(&b);
	assert_int_equal(figures()->moves, 0);
	end();
}

/* Other clients found the server down; a client with an open session stays until its own connection fails. */
static void an_open_client_is_not_moved_by_failures_of_others(void **state)
{
	struct servers_user a = {.pin = NULL}, more = {.pin = NULL}, b = {.pin = NULL};

	(void)state;
	begin(pair);
	is_with(&a, "10.1.0.1", "10.0.0.1");
	goes_to(&b, "10.1.0.2", "10.0.0.1");
	fails(&b);
	is_with(&more, "10.1.0.1", "10.0.0.1");
	leaves(&a);
	leaves(&b);
	leaves(&more);
	end();
}

/* A server that rejects a connection serves others, and may serve the same client's other sessions. */
static void a_rejection_is_about_one_connection(void **state)
{
	struct servers_user a = {.pin = NULL}, more = {.pin = NULL}, b = {.pin = NULL},
			    c = {.pin = NULL}, d = {.pin = NULL}, e = {.pin = NULL};

	(void)state;
	begin(pair);
	goes_to(&b, "10.1.0.2", "10.0.0.1");
	is_rejected(&b);
	is_with(&b, "10.1.0.2", "10.0.0.2"); /* this session alone goes elsewhere */
	assert_int_equal(seen("10.0.0.1")->figures.up, 1);
	is_with(&a, "10.1.0.1", "10.0.0.1");
	is_with(&c, "10.1.0.3", "10.0.0.1");
	goes_to(&more, "10.1.0.1", "10.0.0.1");
	is_rejected(&more);
	goes_to(&more, "10.1.0.1", "-"); /* or it would move the client's open session */
	leaves(&more);
	assert_false(has_moved(&a));
	assert_int_equal(figures()->moves, 0);
	assert_int_equal(seen("10.0.0.1")->figures.up, 1);
	is_with(&more, "10.1.0.1", "10.0.0.1"); /* later */
	leaves(&a);
	leaves(&more);
	/* Two sessions are set up together: one is rejected, the other one opens. */
	goes_to(&a, "10.1.0.1", "10.0.0.1");
	goes_to(&more, "10.1.0.1", "10.0.0.1");
	is_rejected(&more);
	goes_to(&more, "10.1.0.1", "10.0.0.2");
	assert_true(opens(&a));
	assert_false(opens(&more));
	goes_to(&more, "10.1.0.1", "-");
	assert_false(has_moved(&a));
	assert_int_equal(figures()->moves, 0);
	/* A server that was down has answered. */
	goes_to(&d, "10.1.0.4", "10.0.0.1");
	fails(&d);
	assert_int_equal(seen("10.0.0.1")->figures.up, 0);
	goes_to(&e, "10.1.0.1", "10.0.0.1");
	assert_true(is_rejected(&e));
	assert_int_equal(seen("10.0.0.1")->figures.up, 1);
	leaves(&d);
	leaves(&e);
	leaves(&a);
	leaves(&more);
	leaves(&b);
	leaves(&c);
	end();
}

static void a_client_moves_whole_and_only_when_it_arrives(void **state)
{
	struct servers_user a[4] = {{.pin = NULL}}, b = {.pin = NULL}, late = {.pin = NULL};

	(void)state;
	begin(pair);
	for (unsigned i = 0; i < 3; i++) {
		is_with(&a[i], "10.1.0.1", "10.0.0.1");
	}
	is_with(&b, "10.1.0.2", "10.0.0.1");
	goes_to(&late, "10.1.0.1", "10.0.0.1"); /* on its way, and will find it alive */
	goes_to(&a[3], "10.1.0.1", "10.0.0.1");
	fails(&a[3]);
	goes_to(&a[3], "10.1.0.1", "10.0.0.2");
	for (unsigned i = 0; i < 3; i++)
		assert_false(has_moved(&a[i])); /* the new server is not known to be better */
	assert_int_equal(atomic_load(&changes.number), 0);
	assert_true(opens(&a[3]));
	assert_int_equal(atomic_load(&changes.number), 1);
	assert_int_equal(notified, 1);
	assert_int_equal(figures()->moves, 1);
	for (unsigned i = 0; i < 3; i++)
		assert_true(has_moved(&a[i]));
	assert_false(has_moved(&a[3]));
	assert_false(has_moved(&b));
	/* The one on its way follows its client instead of taking it back. */
	assert_false(opens(&late));
	is_with(&late, "10.1.0.1", "10.0.0.2");
	assert_int_equal(figures()->moves, 1);
	assert_int_equal(seen("10.0.0.2")->figures.sessions, 2);
	all_leave(a, 4);
	leaves(&b);
	leaves(&late);
	end();
}

/* If no other server accepts the client, its open sessions stay. */
static void a_client_with_nowhere_to_go_stays(void **state)
{
	struct servers_user a = {.pin = NULL}, more = {.pin = NULL};

	(void)state;
	begin(pair);
	is_with(&a, "10.1.0.1", "10.0.0.1");
	goes_to(&more, "10.1.0.1", "10.0.0.1");
	fails(&more);
	goes_to(&more, "10.1.0.1", "10.0.0.2");
	fails(&more);
	visits(&more, "10.1.0.1", "-");
	assert_false(has_moved(&a));
	visits(&more, "10.1.0.1", "10.0.0.1");
	leaves(&a);
	end();
}

/* The client returns while sessions of its first stay have not ended. */
static void a_client_that_comes_back_counts_its_own(void **state)
{
	struct servers_user old = {.pin = NULL}, mid = {.pin = NULL}, new = {.pin = NULL};

	(void)state;
	begin(pair);
	is_with(&old, "10.1.0.1", "10.0.0.1");
	goes_to(&mid, "10.1.0.1", "10.0.0.1");
	fails(&mid);
	is_with(&mid, "10.1.0.1", "10.0.0.2");
	goes_to(&new, "10.1.0.1", "10.0.0.2");
	fails(&new);
	now += 100 * S;
	is_with(&new, "10.1.0.1", "10.0.0.1");
	assert_true(has_moved(&old));
	assert_true(has_moved(&mid));
	assert_false(has_moved(&new));
	leaves(&old);
	leaves(&mid);
	assert_int_equal(seen("10.0.0.1")->figures.sessions, 1);
	visits(&mid, "10.1.0.1", "10.0.0.1");
	leaves(&new);
	end();
}

/* Whichever session ends first and connects again at once. */
static void a_client_that_is_drained_chooses_anew(void **state)
{
	struct servers_user a[3] = {{.pin = NULL}}, late = {.pin = NULL}, b = {.pin = NULL};
	uint64_t before;

	(void)state;
	begin(pair);
	goes_to(&b, "10.1.0.2", "10.0.0.1");
	fails(&b);
	for (unsigned i = 0; i < 3; i++)
		is_with(&a[i], "10.1.0.1", "10.0.0.2");
	before = servers_moves(servers);
	assert_false(servers_release(servers, &a[0], now)); /* the other is down yet */
	assert_false(has_moved(&a[1]));
	assert_int_equal(servers_moves(servers), before);
	leaves(&b);
	now += 60 * S;
	assert_true(servers_release(servers, &a[0], now));
	assert_false(servers_release(servers, &a[1], now)); /* it was */
	assert_int_not_equal(servers_moves(servers), before);
	assert_true(has_moved(&a[0]) && has_moved(&a[1]) && has_moved(&a[2]));
	leaves(&a[0]);
	is_with(&a[0], "10.1.0.1", "10.0.0.1");
	assert_int_equal(seen("10.0.0.2")->figures.sessions, 2);
	leaves(&a[1]);
	is_with(&late, "10.1.0.1", "10.0.0.1");
	assert_false(has_moved(&a[0]) || has_moved(&late));
	leaves(&a[2]);
	assert_false(servers_release(servers, &late, now)); /* it is with its own */
	assert_int_equal(figures()->moves, 0);
	leaves(&a[0]);
	leaves(&late);
	end();
}

/* ... and a connection of its own that was under way by then does not lead it back. */
static void one_under_way_when_drained_chooses_anew(void **state)
{
	struct servers_user a = {.pin = NULL}, late = {.pin = NULL}, b = {.pin = NULL};
	bool up;

	(void)state;
	begin(pair);
	goes_to(&b, "10.1.0.2", "10.0.0.1");
	fails(&b);
	is_with(&a, "10.1.0.1", "10.0.0.2");
	goes_to(&late, "10.1.0.1", "10.0.0.2");
	leaves(&b);
	now += 60 * S;
	assert_true(servers_release(servers, &a, now));
	assert_false(servers_opened(servers, &late, &up));
	leaves(&late);
	is_with(&late, "10.1.0.1", "10.0.0.1");
	leaves(&a);
	leaves(&late);
	end();
}

/* The whole address counts: a network is full of clients. */
static void clients_of_one_network_are_spread(void **state)
{
	struct servers_config cfg = config_of(pair);
	unsigned first = 0;

	(void)state;
	cfg.by_client = true;
	begin_with(&cfg);
	for (unsigned i = 1; i <= 200; i++) {
		struct servers_user g = {.pin = NULL}, again = {.pin = NULL};
		char client[32], server[FABRIC_ADDR_TEXT];

		snprintf(client, sizeof(client), "2001:db8::%x", i);
		strcpy(server, chosen(&g, client));
		first += strcmp(server, "10.0.0.1") == 0;
		goes_to(&again, client, server);
		leaves(&g);
		leaves(&again);
		visits(&again, client, server);
	}
	assert_in_range(first, 70, 130);
	end();
}

/* --- habits --- */

static nsec_t habit_of(const struct servers_user *g, enum servers_habit habit)
{
	return servers_habit_until(servers, g->server, habit);
}

static void a_habit_is_of_one_server_and_goes_with_it(void **state)
{
	static const char *const others[] = {"10.0.0.3", "10.0.0.4", NULL};
	struct servers_config cfg = config_of(others);
	struct servers_user a = {.pin = NULL}, b = {.pin = NULL};

	(void)state;
	begin(pair);
	goes_to(&a, "10.1.0.1", "10.0.0.1");
	servers_remember_habit(servers, a.server, SERVERS_LARGE_REPLY, now + S);
	assert_true(habit_of(&a, SERVERS_LARGE_REPLY) == now + S);
	assert_true(habit_of(&a, SERVERS_NO_MIXED_CHUNKS) == 0);
	fails(&a);
	goes_to(&a, "10.1.0.1", "10.0.0.2");
	for (unsigned i = 0; i < SERVERS_HABITS; i++)
		assert_true(habit_of(&a, (enum servers_habit)i) == 0);
	leaves(&a);
	/* Other servers take the slots. */
	assert_int_equal(servers_configure(servers, &cfg), 0);
	goes_to(&a, "10.1.0.1", "10.0.0.3");
	goes_to(&b, "10.1.0.1", "10.0.0.3");
	fails(&b);
	goes_to(&b, "10.1.0.1", "10.0.0.4");
	for (unsigned i = 0; i < SERVERS_HABITS; i++)
		assert_true(habit_of(&a, (enum servers_habit)i) +
				    habit_of(&b, (enum servers_habit)i) ==
			    0);
	leaves(&a);
	leaves(&b);
	end();
}

/* --- threads --- */

enum { THREADS = 4, ROUNDS = 4000 };

static void *worker(void *arg)
{
	unsigned mine = *(unsigned *)arg;
	bool came_up;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct servers_user g = {.pin = NULL};
		struct fabric_addr client = addr_of(i % 3 ? "10.1.0.1" : "10.1.0.2");

		while (servers_choose(servers, &g, &client, now) == SERVERS_GO) {
			if ((i + mine) % 7 == 0)
				fails(&g);
			else if (servers_opened(servers, &g, &came_up))
				break;
		}
		(void)has_moved(&g);
		(void)servers_release(servers, &g, now);
		leaves(&g);
	}
	return NULL;
}

static void workers_share_them(void **state)
{
	pthread_t threads[THREADS];
	unsigned numbers[THREADS];
	struct servers_user a = {.pin = NULL};

	(void)state;
	begin(pair);
	for (unsigned i = 0; i < THREADS; i++) {
		numbers[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL, worker, &numbers[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(seen("10.0.0.1")->figures.sessions, 0);
	assert_int_equal(seen("10.0.0.2")->figures.sessions, 0);
	now += 1000 * S;
	visits(&a, "10.1.0.1", "10.0.0.1");
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_that_failed_is_left_alone_for_longer_and_longer),
		cmocka_unit_test(one_connection_and_it_is_up),
		cmocka_unit_test(a_server_that_is_never_heard_is_down),
		cmocka_unit_test(a_server_that_others_hear_is_not_down),
		cmocka_unit_test(failures_at_once_are_one),
		cmocka_unit_test(each_is_tried_once_and_none_is_left),
		cmocka_unit_test(a_probe_keeps_the_place_of_its_server),
		cmocka_unit_test(probes_find_down_what_still_connects),
		cmocka_unit_test(connections_of_a_client_go_to_one_server),
		cmocka_unit_test(an_open_client_is_not_moved_by_failures_of_others),
		cmocka_unit_test(a_rejection_is_about_one_connection),
		cmocka_unit_test(a_client_moves_whole_and_only_when_it_arrives),
		cmocka_unit_test(a_client_with_nowhere_to_go_stays),
		cmocka_unit_test(a_client_that_comes_back_counts_its_own),
		cmocka_unit_test(a_client_that_is_drained_chooses_anew),
		cmocka_unit_test(one_under_way_when_drained_chooses_anew),
		cmocka_unit_test(clients_of_one_network_are_spread),
		cmocka_unit_test(a_habit_is_of_one_server_and_goes_with_it),
		cmocka_unit_test(workers_share_them),
	};

	return cmocka_run_group_tests_name("servers", tests, NULL, NULL);
}
