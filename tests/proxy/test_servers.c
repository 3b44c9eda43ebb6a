/* SPDX-License-Identifier: BSD-2-Clause */
/* What workers share of a route's servers: which one a client has, who is down, what names lead to. */
#include "tests/cmocka_all.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "proxy/servers.h"

#define S NSEC_PER_SEC

static struct servers *servers;
static struct servers_bell bell;
static unsigned rings;
static nsec_t now;

static struct fabric_addr addr_of(const char *text)
{
	struct fabric_addr addr;

	assert_int_equal(fabric_addr_parse(text, 1023, &addr), 0);
	return addr;
}

static void on_ring(void *arg)
{
	(void)arg;
	rings++;
}

/* Literals and names, up to NULL. */
static struct servers_config config_of(const char *const *hosts)
{
	struct servers_config cfg = {.port = 20049, .v4 = true, .v6 = true, .patience = 10 * S};

	for (; hosts[cfg.nhosts]; cfg.nhosts++) {
		struct servers_host *host = &cfg.hosts[cfg.nhosts];

		strcpy(host->name, hosts[cfg.nhosts]);
		if (fabric_addr_parse(host->name, cfg.port, &host->addr))
			host->addr.len = 0;
	}
	return cfg;
}

static void begin_with(const struct servers_config *cfg)
{
	now = 1000 * S;
	rings = 0;
	atomic_init(&bell.news, 0);
	bell.ring = on_ring;
	servers = servers_new(cfg, &bell);
	assert_non_null(servers);
}

static void begin(const char *const *hosts)
{
	struct servers_config cfg = config_of(hosts);

	begin_with(&cfg);
}

static void end(void)
{
	servers_put(servers);
	assert_int_equal(mem_live(), 0);
}

/* The server that @client is given, as text; "-": none, "?": it has to wait. */
static const char *chosen(struct servers_guest *g, const char *client)
{
	static char text[FABRIC_ADDR_TEXT];
	struct fabric_addr from = addr_of(client), to;

	switch (servers_choose(servers, g, &from, now)) {
	case SERVERS_GO:
		servers_addr(servers, g->server, &to);
		fabric_addr_format(&to, text);
		*strrchr(text, ':') = '\0';
		return text;
	case SERVERS_WAIT:
		return "?";
	case SERVERS_OVER:
	case SERVERS_SHORT:
		break;
	}
	return "-";
}

static void goes_to(struct servers_guest *g, const char *client, const char *server)
{
	assert_string_equal(chosen(g, client), server);
}

static bool opens(struct servers_guest *g)
{
	bool came_up;

	return servers_opened(servers, g, &came_up);
}

static void is_with(struct servers_guest *g, const char *client, const char *server)
{
	goes_to(g, client, server);
	assert_true(opens(g));
}

/* Return: as servers_failed(). */
static bool fails(struct servers_guest *g)
{
	return servers_failed(servers, g, now);
}

static void leaves(struct servers_guest *g)
{
	servers_leave(servers, g);
}

static void visits(struct servers_guest *g, const char *client, const char *server)
{
	goes_to(g, client, server);
	leaves(g);
}

static void all_leave(struct servers_guest *g, unsigned n)
{
	while (n > 0)
		leaves(&g[--n]);
}

static bool has_moved(const struct servers_guest *g)
{
	return servers_has_moved(servers, g);
}

static const struct server_view *seen(const char *server)
{
	static struct servers_view view;
	struct fabric_addr addr = addr_of(server);

	servers_look(servers, &view);
	for (unsigned i = 0; i < view.n; i++) {
		uint8_t a[FABRIC_ADDR_KEY], b[FABRIC_ADDR_KEY];

		fabric_addr_key(&view.at[i].addr, a);
		fabric_addr_key(&addr, b);
		if (memcmp(a, b, sizeof(a)) == 0)
			return &view.at[i];
	}
	return NULL;
}

static const struct servers_figures *figures(void)
{
	static struct servers_view view;

	servers_look(servers, &view);
	return &view.figures;
}

static const char *const pair[] = {"10.0.0.1", "10.0.0.2", NULL};

/* --- health --- */

static void a_server_that_failed_is_left_alone_for_longer_and_longer(void **state)
{
	nsec_t wait = SERVERS_BACKOFF;

	(void)state;
	begin(pair);
	for (unsigned round = 0; round < 10; round++) {
		struct servers_guest a = {.pin = NULL}, b = {.pin = NULL}, c = {.pin = NULL};

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
	struct servers_guest a = {.pin = NULL};
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

/* Many that were on their way together do not make it ten minutes. */
static void failures_at_once_are_one(void **state)
{
	struct servers_guest g[20] = {{.pin = NULL}}, one = {.pin = NULL};

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
	struct servers_guest a = {.pin = NULL};

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
		servers_addr(servers, slots[i], &addr);
		fabric_addr_key(&addr, b);
		if (memcmp(a, b, sizeof(a)) == 0) {
			servers_probed(servers, slots[i], &addr, answered, now);
			return;
		}
	}
	fail_msg("%s is not to be probed", server);
}

/* A connection is no answer: a kernel makes it for a server that hangs. */
static void probes_find_down_what_still_connects(void **state)
{
	struct servers_config cfg = config_of(pair);
	struct servers_guest a = {.pin = NULL}, b = {.pin = NULL};

	(void)state;
	cfg.probes = true;
	begin_with(&cfg);
	probed("10.0.0.1", false);
	is_with(&a, "10.1.0.1", "10.0.0.1"); /* one is chance */
	probed("10.0.0.1", false);
	assert_int_equal(seen("10.0.0.1")->figures.up, 0);
	/* Whoever is there does not stay because others of his are. */
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
	struct servers_guest a[8] = {{.pin = NULL}}, b = {.pin = NULL};

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

/* Others found it down; who is there finds out himself. */
static void who_is_there_is_not_moved_by_what_others_saw(void **state)
{
	struct servers_guest a = {.pin = NULL}, more = {.pin = NULL}, b = {.pin = NULL};

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

static void a_client_moves_whole_and_only_when_it_arrives(void **state)
{
	struct servers_guest a[4] = {{.pin = NULL}}, b = {.pin = NULL}, late = {.pin = NULL};

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
		assert_false(has_moved(&a[i])); /* who knows whether it is any better */
	assert_int_equal(atomic_load(&bell.news), 0);
	assert_true(opens(&a[3]));
	assert_int_equal(atomic_load(&bell.news), 1);
	assert_int_equal(rings, 1);
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

/* Where no other server is any better nothing is taken from those who are served. */
static void a_client_with_nowhere_to_go_stays(void **state)
{
	struct servers_guest a = {.pin = NULL}, more = {.pin = NULL};

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

/* And back again, while sessions of the first time are not over yet. */
static void a_client_that_comes_back_counts_its_own(void **state)
{
	struct servers_guest old = {.pin = NULL}, mid = {.pin = NULL}, new = {.pin = NULL};

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

/* The whole address counts: a network is full of clients. */
static void clients_of_one_network_are_spread(void **state)
{
	struct servers_config cfg = config_of(pair);
	unsigned first = 0;

	(void)state;
	cfg.by_client = true;
	begin_with(&cfg);
	for (unsigned i = 1; i <= 200; i++) {
		struct servers_guest g = {.pin = NULL}, again = {.pin = NULL};
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

/* --- names --- */

static void answer(const char *const *addrs, nsec_t ttl)
{
	uint64_t ticket = servers_asked(servers);
	struct fabric_addr at[SERVERS_OF_HOST];
	unsigned n = 0;

	for (; addrs[n]; n++)
		at[n] = addr_of(addrs[n]);
	for (unsigned i = 0; i < SERVERS_HOSTS; i++)
		if (servers_expired(servers, i, now))
			servers_found(servers, i, at, n, now + ttl);
	servers_answered(servers, ticket);
}

#define ANSWER(ttl, ...) answer((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL}, ttl)

static const char *const named[] = {"filer.example", NULL};

static void an_answer_holds_as_long_as_it_says(void **state)
{
	struct servers_guest a = {.pin = NULL}, b = {.pin = NULL};

	(void)state;
	begin(named);
	goes_to(&a, "10.1.0.1", "?");
	assert_int_equal(rings, 1);
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
static void an_answer_without_time_is_for_those_who_wait(void **state)
{
	struct servers_guest a = {.pin = NULL}, b = {.pin = NULL}, again = {.pin = NULL};

	(void)state;
	begin(named);
	goes_to(&a, "10.1.0.1", "?");
	ANSWER(0, "10.0.0.5");
	is_with(&a, "10.1.0.1", "10.0.0.5");
	goes_to(&b, "10.1.0.2", "?");
	ANSWER(0, "10.0.0.6");
	is_with(&b, "10.1.0.2", "10.0.0.6");
	/* But whoever is somewhere stays there, and asks nobody. */
	rings = 0;
	goes_to(&again, "10.1.0.1", "10.0.0.5");
	assert_int_equal(rings, 0);
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

static void what_was_known_holds_while_nobody_answers(void **state)
{
	struct servers_guest a = {.pin = NULL};

	(void)state;
	begin(named);
	goes_to(&a, "10.1.0.1", "?");
	servers_unfound(servers, 0, now + 5 * S);
	servers_answered(servers, servers_asked(servers));
	visits(&a, "10.1.0.1", "-");
	now += 5 * S;
	goes_to(&a, "10.1.0.1", "?");
	ANSWER(S, "10.0.0.5");
	now += S;
	leaves(&a);
	goes_to(&a, "10.1.0.1", "?");
	servers_unfound(servers, 0, now + 5 * S);
	servers_answered(servers, servers_asked(servers));
	visits(&a, "10.1.0.1", "10.0.0.5");
	assert_int_equal(figures()->lookup_failures, 2);
	end();
}

/* Whoever answers for a name may answer anything. */
static void answers_that_are_no_hosts_are_left_out(void **state)
{
	struct servers_guest a = {.pin = NULL};

	(void)state;
	begin(named);
	goes_to(&a, "10.1.0.1", "?");
	ANSWER(S, "0.0.0.0", "224.0.0.1", "255.255.255.255", "::", "ff02::1", "fe80::1",
	       "::ffff:10.0.0.1", "::10.0.0.1", "0.1.2.3");
	visits(&a, "10.1.0.1", "-");
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
	struct servers_guest a = {.pin = NULL};

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
	struct servers_guest a = {.pin = NULL};

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

/* Ten thousand different answers, with guests who stay at some, take no more room than SERVERS_MOST. */
static void many_answers_take_bounded_room(void **state)
{
	struct servers_guest stays[SERVERS_MOST] = {{.pin = NULL}}, a = {.pin = NULL};
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
			a = (struct servers_guest){.pin = NULL};
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
	struct servers_guest a = {.pin = NULL}, b = {.pin = NULL}, more = {.pin = NULL};

	(void)state;
	begin(pair);
	is_with(&a, "10.1.0.1", "10.0.0.1");
	goes_to(&b, "10.1.0.2", "10.0.0.1");
	fails(&b);
	goes_to(&b, "10.1.0.2", "10.0.0.2");
	fails(&b);
	leaves(&b);
	assert_int_equal(servers_configure(servers, &cfg), 0);
	/* Who is there stays, though it is not in the file; the others have the first of the new ones. */
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
	struct servers_guest a = {.pin = NULL};

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

/* --- threads --- */

enum { THREADS = 4, ROUNDS = 4000 };

static void *worker(void *arg)
{
	unsigned mine = *(unsigned *)arg;
	bool came_up;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct servers_guest g = {.pin = NULL};
		struct fabric_addr client = addr_of(i % 3 ? "10.1.0.1" : "10.1.0.2");

		while (servers_choose(servers, &g, &client, now) == SERVERS_GO) {
			if ((i + mine) % 7 == 0)
				fails(&g);
			else if (servers_opened(servers, &g, &came_up))
				break;
		}
		(void)has_moved(&g);
		leaves(&g);
	}
	return NULL;
}

static void workers_share_them(void **state)
{
	pthread_t threads[THREADS];
	unsigned numbers[THREADS];
	struct servers_guest a = {.pin = NULL};

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
		cmocka_unit_test(failures_at_once_are_one),
		cmocka_unit_test(each_is_tried_once_and_none_is_left),
		cmocka_unit_test(probes_find_down_what_still_connects),
		cmocka_unit_test(connections_of_a_client_go_to_one_server),
		cmocka_unit_test(who_is_there_is_not_moved_by_what_others_saw),
		cmocka_unit_test(a_client_moves_whole_and_only_when_it_arrives),
		cmocka_unit_test(a_client_with_nowhere_to_go_stays),
		cmocka_unit_test(a_client_that_comes_back_counts_its_own),
		cmocka_unit_test(clients_of_one_network_are_spread),
		cmocka_unit_test(an_answer_holds_as_long_as_it_says),
		cmocka_unit_test(an_answer_without_time_is_for_those_who_wait),
		cmocka_unit_test(what_was_known_holds_while_nobody_answers),
		cmocka_unit_test(answers_that_are_no_hosts_are_left_out),
		cmocka_unit_test(only_families_that_sources_have),
		cmocka_unit_test(addresses_of_a_name_have_an_order),
		cmocka_unit_test(many_answers_take_bounded_room),
		cmocka_unit_test(another_configuration_keeps_what_is_known),
		cmocka_unit_test(every_allocation_may_fail),
		cmocka_unit_test(workers_share_them),
	};

	return cmocka_run_group_tests_name("servers", tests, NULL, NULL);
}
