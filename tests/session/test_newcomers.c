/* SPDX-License-Identifier: BSD-2-Clause */
/* Many clients that connect and send nothing, beside some that call. */
#include "tests/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "tests/session/world.h"

static struct world w;
static const struct peer_spec null_call = {.body = 100, .reply = 24, .segs = 1};

enum { IDLERS = 1000 };

/* One connection that is made and says nothing, and the gateway's to its server. */
struct idler {
	struct fabric_conn *conn;
	bool connected, gone;
	int status;
};

static struct fabric *idle_fabric; /* of the idlers and their server */
static struct idler idlers[IDLERS], servers[IDLERS];
static unsigned nidlers, nservers;

/* The third route is the idlers'. */
static struct world_pair *idle_pair = &w.pairs[2];

static void begin(const struct setup *s)
{
	world_new(&w, s);
	idle_fabric = memnet_fabric(w.net);
	assert_non_null(idle_fabric);
	fabric_detach(idle_pair->server.fabric, idle_pair->server_listener);
	assert_int_equal(fabric_attach(idle_fabric, idle_pair->server_listener, NULL), 0);
	memset(idlers, 0, sizeof(idlers));
	memset(servers, 0, sizeof(servers));
	nidlers = nservers = 0;
}

/* The servers speak version 1: they are ready without a word. */
static struct setup session_limits_setup(unsigned max_sessions)
{
	struct setup s = setup_defaults(LEG_V1, LEG_V1, 5);

	s.upstream_versions = LEG_V1;
	s.pairs = 3;
	s.max_sessions = max_sessions;
	return s;
}

static void on_idle_event(const struct fabric_event *ev)
{
	struct fabric_conn_params params = {.max_recvs = 1, .max_sends = 1};
	struct idler *i = ev->conn->owner;

	if (ev->type == FABRIC_EV_REQUEST) {
		i = &servers[nservers++];
		assert_true(nservers <= IDLERS);
		i->conn = ev->conn;
		assert_int_equal(fabric_accept(ev->conn, &params, i), 0);
	}
	i->connected |= ev->type == FABRIC_EV_CONNECTED;
	if (ev->type != FABRIC_EV_DISCONNECTED)
		return;
	i->gone = true;
	i->status = ev->status;
}

static void idlers_turn(void)
{
	struct fabric_event ev;

	while (fabric_poll(idle_fabric, &ev))
		on_idle_event(&ev);
	fabric_flush(idle_fabric);
}

static void run_for(nsec_t time)
{
	nsec_t end = memnet_now(w.net) + time;

	world_turn(&w);
	idlers_turn();
	while (memnet_now(w.net) < end) {
		memnet_step(w.net, nsec_min(end, proxy_deadline(w.proxy)));
		world_turn(&w);
		idlers_turn();
	}
}

/* One more, from 10.2.x.y of @host; settled when this returns. */
static struct idler *idle_from(unsigned host)
{
	struct fabric_conn_params params = {.max_recvs = 1, .max_sends = 1};
	struct idler *i = &idlers[nidlers++];
	char text[32];

	assert_true(nidlers <= IDLERS);
	snprintf(text, sizeof(text), "10.2.%u.%u", host / 256, host % 256);
	assert_int_equal(fabric_connect(idle_fabric, &idle_pair->gw_addr, &params, i, &i->conn), 0);
	assert_int_equal(fabric_addr_parse(text, (uint16_t)(1000 + nidlers), &i->conn->local), 0);
	run_for(2 * NSEC_PER_MS);
	return i;
}

static void serve_must(unsigned pair, unsigned calls)
{
	struct peer *p = &w.pairs[pair].client;
	uint64_t done = p->done;

	for (unsigned i = 0; i < calls; i++) {
		assert_true(peer_call(p, &null_call));
		run_for(5 * NSEC_PER_MS);
	}
	assert_int_equal(p->done, done + calls);
	assert_false(p->closed);
}

static void connect_must(unsigned pair)
{
	world_connect_pair(&w, pair);
	run_for(5 * NSEC_PER_MS);
	assert_true(w.pairs[pair].client.open);
	serve_must(pair, 1);
}

static unsigned idling(unsigned from, unsigned to)
{
	unsigned n = 0;

	for (unsigned i = from; i < to; i++)
		n += idlers[i].connected && !idlers[i].gone;
	return n;
}

static void end(void)
{
	for (unsigned i = 0; i < nidlers; i++)
		fabric_destroy(idlers[i].conn);
	run_for(NSEC_PER_SEC);
	for (unsigned i = 0; i < nservers; i++)
		fabric_destroy(servers[i].conn);
	fabric_detach(idle_fabric, idle_pair->server_listener);
	world_quit(&w);
	fabric_free(idle_fabric);
	world_free(&w);
}

/* Silent connections must not hold all places for setup_timeout, again and again. */
static void a_silent_connection_makes_room(void **state)
{
	struct setup s = session_limits_setup(5);

	(void)state;
	begin(&s);
	for (unsigned i = 0; i < 5; i++)
		idle_from(1);
	assert_int_equal(idling(0, 5), 5);
	connect_must(0);
	assert_true(idlers[0].gone);
	assert_int_equal(idling(1, 5), 4);
	connect_must(1);
	assert_int_equal(idling(2, 5), 3);
	assert_int_equal(proxy_counters(w.proxy)->sessions_displaced, 2);
	assert_int_equal(proxy_counters(w.proxy)->sessions_refused, 0);
	end();
}

static void a_thousand_from_one_address(void **state)
{
	struct setup s = session_limits_setup(20);

	(void)state;
	begin(&s);
	connect_must(0);
	for (unsigned i = 0; i < IDLERS; i++) {
		idle_from(1);
		assert_true(session_limits_sessions(w.session_limits) <= 20);
		if (i % 100 == 0)
			serve_must(0, 1);
	}
	assert_int_equal(idling(0, IDLERS), 19);
	assert_int_equal(idling(IDLERS - 19, IDLERS), 19);
	connect_must(1);
	serve_must(0, 3);
	end();
}

static void a_thousand_from_many_addresses(void **state)
{
	struct setup s = session_limits_setup(20);

	(void)state;
	begin(&s);
	connect_must(0);
	for (unsigned i = 0; i < IDLERS; i++)
		idle_from(i);
	connect_must(1);
	serve_must(0, 3);
	assert_int_equal(idling(IDLERS - 18, IDLERS), 18);
	end();
}

/* A client that sends its first message late is not displaced by many connections of another
 * address. */
static void many_connections_of_a_host_displace_their_own(void **state)
{
	struct setup s = session_limits_setup(50);
	struct idler *slow;

	(void)state;
	s.max_setups = 10;
	begin(&s);
	slow = idle_from(7);
	for (unsigned i = 0; i < 500; i++)
		idle_from(1);
	assert_false(slow->gone);
	assert_int_equal(idling(1, 501), 9);
	assert_int_equal(session_limits_sessions(w.session_limits), 10);
	end();
}

/* Connections come one by one: each ends after setup_timeout. */
static void a_drip_goes_by_its_own_time(void **state)
{
	struct setup s = session_limits_setup(50);

	(void)state;
	begin(&s);
	connect_must(0);
	for (unsigned i = 0; i < 100; i++) {
		idle_from(i % 3);
		run_for(NSEC_PER_SEC);
	}
	assert_true(session_limits_sessions(w.session_limits) < 40);
	assert_int_equal(proxy_counters(w.proxy)->sessions_displaced, 0);
	serve_must(0, 1);
	end();
}

/* Within a client's share its own silent connections are displaced. When the share is used up, its
 * other connections are refused. */
static void a_client_has_its_share(void **state)
{
	struct setup s = session_limits_setup(50);
	struct idler *one, *other;

	(void)state;
	s.max_per_client = 2;
	begin(&s);
	one = idle_from(1);
	other = idle_from(2);
	idle_from(1);
	idle_from(1);
	assert_true(one->gone);
	assert_false(other->gone);
	assert_int_equal(proxy_counters(w.proxy)->sessions_displaced, 1);
	/* Both of these are at 127.0.0.1. */
	connect_must(0);
	connect_must(1);
	one = &idlers[nidlers];
	assert_int_equal(fabric_connect(idle_fabric, &idle_pair->gw_addr,
					&(struct fabric_conn_params){.max_recvs = 1}, one,
					&one->conn),
			 0);
	nidlers++;
	run_for(10 * NSEC_PER_MS);
	assert_true(one->gone);
	assert_int_equal(one->status, ERR_REJECTED);
	assert_int_equal(proxy_counters(w.proxy)->sessions_refused, 1);
	serve_must(0, 1);
	serve_must(1, 1);
	end();
}

/* A listener is for some networks: others take nobody's place, and nothing of the rate. */
static void a_listener_is_for_its_clients(void **state)
{
	static const struct fabric_net nets[] = {
		{.octets = {10, 2, 0, 4}, .bits = 30},
		{.octets = {10, 2, 1, 9}, .bits = 32},
	};
	static const struct {
		unsigned host;
		bool in;
	} hosts[] = {{3, false}, {4, true}, {7, true}, {8, false}, {265, true}, {266, false}};
	struct setup s = session_limits_setup(50);
	const struct proxy_counters *count;

	(void)state;
	begin(&s);
	w.routes[2].clients = nets;
	w.routes[2].nclients = 2;
	for (unsigned i = 0; i < 6; i++) {
		struct idler *idler = idle_from(hosts[i].host);

		assert_int_equal(idler->connected && !idler->gone, hosts[i].in);
		assert_int_equal(idler->status, hosts[i].in ? 0 : ERR_REJECTED);
	}
	count = proxy_counters(w.proxy);
	assert_int_equal(count->sessions, 3);
	assert_int_equal(count->refused[PROXY_REFUSED_ADDRESS], 3);
	assert_int_equal(count->sessions_refused, 3);
	connect_must(0); /* of another listener, which is for everybody */
	end();
}

/* Servers see each client at an address of its own, and one that has none is not let in. */
static void servers_see_clients_addresses(void **state)
{
	static const struct proxy_source sources[] = {
		{.clients = {.bits = 24, .octets = {10, 2}},
		 .addresses = {.bits = 24, .octets = {10, 9, 8}}},
		{.clients = {.bits = 32, .octets = {10, 2, 1, 1}},
		 .addresses = {.bits = 32, .octets = {10, 9, 7, 1}}},
	};
	static const unsigned hosts[] = {3, 200, 3, 257};
	static const char *const seen[] = {"10.9.8.3", "10.9.8.200", "10.9.8.3", "10.9.7.1"};
	struct setup s = session_limits_setup(50);
	char text[FABRIC_ADDR_TEXT];

	(void)state;
	begin(&s);
	w.routes[2].sources = sources;
	w.routes[2].nsources = 2;
	for (unsigned i = 0; i < 4; i++) {
		idle_from(hosts[i]);
		assert_int_equal(nservers, i + 1);
		assert_string_equal(fabric_addr_host(&servers[i].conn->peer, text), seen[i]);
	}
	idle_from(258);
	assert_int_equal(nservers, 4);
	assert_int_equal(idlers[4].status, ERR_REJECTED);
	assert_int_equal(proxy_counters(w.proxy)->refused[PROXY_REFUSED_SOURCE], 1);
	end();
}

static void so_many_set_ups_a_second(void **state)
{
	struct setup s = session_limits_setup(50);

	(void)state;
	s.max_per_client = 5;
	s.setups_per_second = 2;
	begin(&s);
	for (unsigned i = 0; i < 30; i++)
		idle_from(1);
	/* 30 in 60 ms: a burst of as many as it may have; the rest were turned away. */
	assert_int_equal(proxy_counters(w.proxy)->sessions_refused, 25);
	assert_int_equal(idling(0, 5), 5);
	connect_must(0);
	run_for(NSEC_PER_SEC);
	idle_from(1);
	assert_int_equal(proxy_counters(w.proxy)->sessions_refused, 25);
	end();
}

/* Where there is memory for a few only. */
static void memory_is_room_as_well(void **state)
{
	struct setup s = session_limits_setup(1000);
	unsigned n = 0;

	(void)state;
	s.memory = 64 << 20;
	s.credits = 256;
	begin(&s);
	while (proxy_counters(w.proxy)->sessions_displaced == 0) {
		idle_from(1);
		n++;
	}
	assert_true(n > 2);
	connect_must(0);
	connect_must(1);
	assert_int_equal(proxy_counters(w.proxy)->sessions_refused, 0);
	end();
}

/* A session that costs more than all idle sessions hold displaces none of them. */
static void a_session_that_does_not_fit_displaces_none(void **state)
{
	struct setup s = session_limits_setup(1000);

	(void)state;
	s.memory = 64 << 20;
	begin(&s);
	for (unsigned i = 0; i < 8; i++)
		idle_from(i);
	w.routes[0].client.credits = 60000;
	world_connect_pair(&w, 0);
	run_for(NSEC_PER_SEC);
	assert_int_equal(proxy_counters(w.proxy)->sessions_refused, 1);
	assert_int_equal(proxy_counters(w.proxy)->sessions_displaced, 0);
	connect_must(1);
	end();
}

static unsigned leg_lines;

static void count_legs(const char *line)
{
	leg_lines += strstr(line, "event=leg ") != NULL;
}

/* The answer to SIGUSR1 continues where it was, whatever sessions end in between. */
static void legs_are_notified_a_few_at_a_time(void **state)
{
	struct setup s = session_limits_setup(50);

	(void)state;
	begin(&s);
	for (unsigned i = 0; i < 10; i++)
		idle_from(i);
	leg_lines = 0;
	log_set_level(LOG_LEVEL_INFO);
	log_set_sink(count_legs);
	proxy_log_begin(w.proxy);
	assert_true(proxy_log_legs(w.proxy, 3));
	assert_int_equal(leg_lines, 3); /* of their servers: the clients' version is not known */
	for (unsigned i = 2; i < 6; i++) {
		fabric_disconnect(idlers[i].conn);
		idlers_turn();
		run_for(5 * NSEC_PER_MS);
	}
	idle_from(99); /* not there when it began */
	assert_true(proxy_log_legs(w.proxy, 2));
	assert_int_equal(leg_lines, 5);
	assert_false(proxy_log_legs(w.proxy, 100));
	assert_int_equal(leg_lines, 7);
	assert_false(proxy_log_legs(w.proxy, 100));
	assert_int_equal(leg_lines, 7);
	log_set_sink(NULL);
	log_set_level(LOG_LEVEL_ERROR);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_silent_connection_makes_room),
		cmocka_unit_test(a_thousand_from_one_address),
		cmocka_unit_test(a_thousand_from_many_addresses),
		cmocka_unit_test(many_connections_of_a_host_displace_their_own),
		cmocka_unit_test(a_drip_goes_by_its_own_time),
		cmocka_unit_test(a_client_has_its_share),
		cmocka_unit_test(a_listener_is_for_its_clients),
		cmocka_unit_test(servers_see_clients_addresses),
		cmocka_unit_test(so_many_set_ups_a_second),
		cmocka_unit_test(memory_is_room_as_well),
		cmocka_unit_test(a_session_that_does_not_fit_displaces_none),
		cmocka_unit_test(legs_are_notified_a_few_at_a_time),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("newcomers", tests, NULL, NULL);
}
