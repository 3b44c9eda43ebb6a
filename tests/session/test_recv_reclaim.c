/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many clients of one route whose server receives their calls and answers none. Their calls hold
 * shared Receives, of which there are fewer than messages they may send. The other routes continue.
 */
#include "tests/cmocka_all.h"

#include "base/log.h"
#include "tests/session/hoard.h"
#include "tests/session/inside.h"
#include "tests/session/world.h"

enum { CROWD = 20, CALLS = 60 };

static struct world w;
static struct raw crowd[CROWD];

/* The server of the first route: each of its connections receives one call, which is all that
 * version 1 sends before a reply. */
static struct fabric *servers;
static struct fabric_conn *conns[CROWD];
static uint8_t taken[CROWD][4096];
static unsigned nconns;

static struct hoard hoard;

static const struct peer_spec plain = {.body = 128, .reply = 100, .segs = 1};

static void servers_turn(void)
{
	const struct fabric_conn_params params = {.max_recvs = 1, .max_sends = 1};
	struct fabric_event ev;

	while (fabric_poll(servers, &ev)) {
		if (ev.type != FABRIC_EV_REQUEST)
			continue;
		assert_true(nconns < CROWD);
		assert_int_equal(fabric_prepare(ev.conn, &params), 0);
		assert_int_equal(fabric_post_recv(ev.conn, taken[nconns], 4096, NULL), 0);
		conns[nconns++] = ev.conn;
		assert_int_equal(fabric_accept(ev.conn, &params, NULL), 0);
	}
	fabric_flush(servers);
}

static void run(nsec_t time)
{
	nsec_t end = memnet_now(w.net) + time;

	while (memnet_now(w.net) < end) {
		for (unsigned i = 0; i < CROWD; i++)
			raw_turn(&crowd[i]);
		servers_turn();
		world_run(&w, 10 * NSEC_PER_MS);
	}
}

static struct recv_pool *pool(void)
{
	return recv_pool_of(w.gw_fabrics[0]);
}

/* @server_credits: of the second and third route's servers */
static void begin_beside(bool blindly, uint32_t server_credits)
{
	struct setup s = setup_defaults(1, 1, 71);

	s.pairs = WORLD_PAIRS;
	s.memory = 32 << 20;
	s.max_payload = s.max_message = 1 << 20;
	s.credits = 96;
	s.net.shares_receives = true;
	s.net.shares_blindly = blindly;
	s.upstream_versions = LEG_V1;
	s.max_sessions = CROWD + WORLD_PAIRS;
	world_new(&w, &s);
	w.pairs[1].server.cfg.credits = w.pairs[2].server.cfg.credits = server_credits;
	assert_true(pool()->most < CROWD * CALLS);
	world_connect_pair(&w, 1);
	servers = memnet_fabric(w.net);
	assert_int_equal(fabric_register(servers, taken, sizeof(taken)), 0);
	fabric_detach(w.pairs[0].server.fabric, w.pairs[0].server_listener);
	assert_int_equal(fabric_attach(servers, w.pairs[0].server_listener, NULL), 0);
	for (unsigned i = 0; i < CROWD; i++) {
		raw_init(&crowd[i], w.net);
		raw_connect(&crowd[i], &w.pairs[0].gw_addr);
	}
	run(NSEC_PER_SEC);
	assert_int_equal(nconns, CROWD);
	assert_int_equal(proxy_sessions(w.proxy), 1 + CROWD);
}

static void begin(bool blindly)
{
	begin_beside(blindly, 96);
}

static void calls(unsigned first, unsigned each)
{
	for (unsigned i = first; i < CROWD; i++)
		for (unsigned n = 0; n < each; n++)
			raw_words(&crowd[i], RAW_V1_CALL(0x700 + n));
	run(NSEC_PER_SEC);
}

/* The calls that the servers get: they hold no Receives. */
static void first_calls(void)
{
	for (unsigned i = 0; i < CROWD; i++)
		raw_words(&crowd[i], RAW_V1_CALL(0x6fe));
	run(NSEC_PER_SEC);
}

static void session_limits_calls(void)
{
	calls(0, CALLS);
}

/* Enough of each that few Receives are left. */
static unsigned most_of_the_pool(void)
{
	return pool()->most * 4 / 5 / CROWD + 1;
}

static unsigned ended(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < CROWD; i++)
		n += crowd[i].closed;
	return n;
}

static void others_go_on(void)
{
	uint64_t done = w.pairs[1].client.done;

	for (unsigned i = 0; i < 30; i++)
		assert_true(peer_call(&w.pairs[1].client, &plain));
	run(NSEC_PER_SEC);
	assert_int_equal(w.pairs[1].client.done, done + 30);
	assert_false(w.pairs[1].client.closed);
}

static void end(void)
{
	hoard_end(&hoard);
	for (unsigned i = 0; i < CROWD; i++)
		if (!crowd[i].closed)
			raw_hang_up(&crowd[i]);
	while (nconns)
		fabric_destroy(conns[--nconns]);
	run(NSEC_PER_SEC);
	for (unsigned i = 0; i < CROWD; i++)
		raw_fini(&crowd[i]);
	fabric_detach(servers, w.pairs[0].server_listener);
	fabric_unregister(servers, taken);
	fabric_free(servers);
	world_quit(&w);
	world_free(&w);
}

/* Nobody ends, for nobody is in another's way. */
static void many_connections_leave_receives_to_others(void **state)
{
	(void)state;
	begin(false);
	others_go_on();
	session_limits_calls();
	for (unsigned i = 0; i < 100; i++)
		others_go_on();
	print_message("%u of %u left\n", pool()->posted + pool()->free_count, pool()->total);
	assert_int_equal(ended(), 0);
	end();
}

/* A device gives Receives to any connection. So the sessions that hold them are ended until others
 * have what they need, several at a time. */
static void sessions_that_hold_scarce_receives_end(void **state)
{
	(void)state;
	begin(true);
	others_go_on();
	session_limits_calls();
	assert_int_equal(pool()->posted + pool()->free_count, 0);
	run(60 * NSEC_PER_SEC);
	assert_in_range(ended(), 2, CROWD - 2);
	assert_int_equal(proxy_counters(w.proxy)->peer_faults, 0);
	others_go_on();
	end();
}

/* A few clients that reconnect again and again do not count as progress of the others. */
static void progress_of_others_does_not_hide_stuck_sessions(void **state)
{
	(void)state;
	begin(true);
	others_go_on();
	hoard_for_copies(&hoard, &w.proxy->arena); /* or calls would be copied out there */
	calls(0, most_of_the_pool());
	assert_true(recv_pool_is_low(pool()));
	for (unsigned i = 0; i < 45; i++)
		others_go_on();
	assert_in_range(ended(), 2, CROWD - 2);
	assert_false(recv_pool_is_low(pool()));
	end();
}

/* Other messages of theirs come and go, and do not hide them: version 1 answers no errors. */
static void dropped_messages_do_not_hide_stuck_sessions(void **state)
{
	(void)state;
	begin(true);
	hoard_for_copies(&hoard, &w.proxy->arena);
	calls(0, most_of_the_pool());
	for (unsigned s = 0; s < 45; s++) {
		for (unsigned n = 0; n < most_of_the_pool(); n++) {
			for (unsigned i = 0; i < CROWD; i++)
				raw_words(&crowd[i], 0x900, 1, 16, 4, 2);
			run(20 * NSEC_PER_MS);
		}
		run(NSEC_PER_SEC / 2);
	}
	assert_in_range(ended(), 2, CROWD - 2);
	end();
}

/* Receives were scarce for long before, but no session held them. The sessions that hold them then give
 * back a quarter, not all. */
static void the_time_counts_from_when_sessions_hold_receives(void **state)
{
	(void)state;
	begin(true);
	hoard_for_copies(&hoard, &w.proxy->arena);
	first_calls();
	(void)hoard_receives(&hoard, pool(), HOARD_MOST);
	run(30 * NSEC_PER_SEC);
	assert_true(recv_pool_is_low(pool()));
	hoard_release(&hoard, HOARD_MOST);
	calls(0, most_of_the_pool());
	for (unsigned s = 0; s < 60 && !ended(); s++)
		run(NSEC_PER_SEC);
	assert_in_range(ended(), 2, CROWD / 2);
	end();
}

/* Two other clients have calls in flight all the time, most of which wait for credits of their servers, but none for long. */
static void others_keep_calling(nsec_t time)
{
	for (nsec_t end = memnet_now(w.net) + time; memnet_now(w.net) < end; run(NSEC_PER_SEC / 10))
		for (unsigned i = 1; i < 3; i++) {
			while (peer_call(&w.pairs[i].client, &plain))
				;
			peer_release(&w.pairs[i].server, true);
		}
}

/* One session's server takes long, and Receives are short because there is much to do. They come back, so nobody ends. */
static void receives_that_come_back_end_no_session(void **state)
{
	(void)state;
	begin_beside(true, 1);
	world_connect_pair(&w, 2);
	others_go_on();
	first_calls();
	hoard_for_copies(&hoard, &w.proxy->arena);
	(void)hoard_receives(&hoard, pool(), HOARD_MOST);
	raw_words(&crowd[0], RAW_V1_CALL(0x700));
	w.pairs[1].server.holds = w.pairs[2].server.holds = true;
	others_keep_calling(100 * NSEC_PER_SEC);
	assert_true(recv_pool_is_starving(pool()));
	assert_int_equal(ended(), 0);
	w.pairs[1].server.holds = w.pairs[2].server.holds = false;
	peer_release(&w.pairs[1].server, true);
	peer_release(&w.pairs[2].server, true);
	run(60 * NSEC_PER_SEC);
	assert_int_equal(ended(), 1);
	end();
}

/* A client that answers no Read: the gateway's Read is outstanding while the client's next messages wait. */
static const struct memnet_pace never = {.answer = 100000 * NSEC_PER_SEC};

/* As on a fabric that divides Receives: some are left for connections that hold none, and the holders want more. */
static void crowd_wants_more(void)
{
	first_calls();
	for (unsigned i = 0; i < CROWD; i++) {
		struct segment s = raw_expose(&crowd[i], 64, FABRIC_REMOTE_READ);

		memnet_pace(crowd[i].conn, &never);
		raw_words(&crowd[i], 0x6ff, 1, 16, 0, 1, 40, s.handle, s.length,
			  (uint32_t)(s.offset >> 32), (uint32_t)s.offset, 0, 0, 0,
			  RAW_CALL_BODY(0x6ff));
	}
	session_limits_calls();
	for (unsigned i = 0; i < CROWD; i++) {
		memnet_limit_messages(crowd[i].conn, 0, false);
		raw_words(&crowd[i], RAW_V1_CALL(0x6fd));
	}
	run(NSEC_PER_SEC);
}

/* A client of another route does. */
static void another_wants_more(void)
{
	const struct peer_spec write = {
		.body = 128, .reply = 100, .segs = 1, .nreads = 1, .reads = {4096}};
	struct peer *p = &w.pairs[1].client;

	memnet_pace(p->leg.conn, &never);
	assert_true(peer_call(p, &write));
	run(NSEC_PER_SEC);
	memnet_limit_messages(p->leg.conn, 0, false);
	assert_true(peer_call(p, &plain));
}

/* A session that waits for a slow server is not ended if no other route needs what it holds. */
static void a_session_that_waits_for_its_server_stays(void **state)
{
	(void)state;
	begin(false);
	others_go_on();
	crowd_wants_more();
	memnet_starve(w.gw_fabrics[0], true);
	run(100 * NSEC_PER_SEC);
	assert_int_equal(ended(), 0);
	another_wants_more();
	for (unsigned s = 0; s < 200 && !ended(); s++)
		run(NSEC_PER_SEC / 2);
	assert_in_range(ended(), 2, CROWD - 2);
	assert_false(w.pairs[1].client.closed);
	memnet_starve(w.gw_fabrics[0], false);
	end();
}

/* Where it is not all of them that are short, but one client's own part: its calls are copied out. */
static void a_client_that_holds_its_part_continues(void **state)
{
	(void)state;
	begin(false);
	calls(CROWD - 1, CALLS);
	run(15 * NSEC_PER_SEC);
	for (struct list *it = w.proxy->sessions.next; it != &w.proxy->sessions; it = it->next) {
		const struct session *s = container_of(it, struct session, link);

		assert_false(leg_is_recv_limited(&s->client));
		assert_true(leg_holds(&s->client) < CALLS);
	}
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_connections_leave_receives_to_others),
		cmocka_unit_test(sessions_that_hold_scarce_receives_end),
		cmocka_unit_test(progress_of_others_does_not_hide_stuck_sessions),
		cmocka_unit_test(dropped_messages_do_not_hide_stuck_sessions),
		cmocka_unit_test(the_time_counts_from_when_sessions_hold_receives),
		cmocka_unit_test(receives_that_come_back_end_no_session),
		cmocka_unit_test(a_session_that_waits_for_its_server_stays),
		cmocka_unit_test(a_client_that_holds_its_part_continues),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("recv_reclaim", tests, NULL, NULL);
}
