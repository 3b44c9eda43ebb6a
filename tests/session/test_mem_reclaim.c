/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Clients begin long calls and fall silent, one after the other: clients behind them are still
 * served, and soon.
 */
#include "tests/cmocka_all.h"

#include "base/log.h"
#include "tests/session/hoard.h"
#include "tests/session/inside.h"
#include "tests/session/world.h"

enum { PROMISED = 8 << 20, SILENT = 64, PART = 4000, PARTS = 20, XID = 0x77, MIDDLE = 9 };

static struct world w;
static struct raw silent[SILENT];
static unsigned nsilent;

/* The servers of the silent clients: they accept connections, and do nothing else. */
static struct fabric *servers;
static struct fabric_conn *conns[SILENT];
static uint8_t taken[SILENT][4096]; /* a call, which is all that version 1 sends before a reply */
static unsigned nconns, nmute;	    /* the first routes have these servers */

static void servers_turn(void)
{
	const struct fabric_conn_params params = {.max_recvs = 1, .max_sends = 1};
	struct fabric_event ev;

	while (fabric_poll(servers, &ev)) {
		if (ev.type != FABRIC_EV_REQUEST)
			continue;
		assert_int_equal(fabric_prepare(ev.conn, &params), 0);
		assert_int_equal(fabric_post_recv(ev.conn, taken[nconns], sizeof(taken[0]), NULL),
				 0);
		conns[nconns++] = ev.conn;
		assert_int_equal(fabric_accept(ev.conn, &params, NULL), 0);
	}
	fabric_flush(servers);
}

static void part(struct raw *r, uint32_t remaining, uint32_t credit)
{
	struct xdr_out x = raw_begin(r);

	xdr_put_u32(&x, XID);
	xdr_put_u32(&x, 2);
	xdr_put_u32(&x, credit);
	xdr_put_u32(&x, MIDDLE);
	xdr_put_u32(&x, remaining);
	for (uint32_t i = 0; i < PART / 4; i++)
		xdr_put_u32(&x, i ? 0 : XID);
	raw_end(r, &x);
}

static bool are_calling, are_withholding;
static unsigned nparts[SILENT];

/* Sessions are numbered as they came. */
static const struct leg *leg_of(unsigned i)
{
	for (unsigned k = 0; k < proxy_sessions(w.proxy); k++)
		if (inside_session(w.proxy, k)->id == i + 2)
			return &inside_session(w.proxy, k)->client;
	return NULL;
}

/* A client that withholds credits uses up all that it has. */
static bool is_silent(unsigned i)
{
	const struct leg *leg = leg_of(i);

	return !leg || leg->stalled ||
	       (are_withholding ? leg_peer_has_no_credit(leg) : nparts[i] == PARTS);
}

/* Send so much of each call that its next octets need the whole block, or wait for it. */
static void go_on(unsigned i)
{
	if (silent[i].closed || is_silent(i))
		return;
	nparts[i]++;
	part(&silent[i], PROMISED - nparts[i] * PART,
	     are_withholding && nparts[i] >= PARTS ? 0 : 10);
}

static void run(nsec_t time)
{
	nsec_t end = memnet_now(w.net) + time;

	while (memnet_now(w.net) < end) {
		for (unsigned i = 0; i < nsilent; i++) {
			raw_turn(&silent[i]);
			if (are_calling)
				go_on(i);
		}
		servers_turn();
		world_run(&w, 10 * NSEC_PER_MS);
	}
}

/* The servers of one more route take calls and answer none. */
static void mute_next(void)
{
	struct world_pair *p = &w.pairs[nmute++];

	fabric_detach(p->server.fabric, p->server_listener);
	assert_int_equal(fabric_attach(servers, p->server_listener, NULL), 0);
}

/* One more silent client. */
static void come(unsigned route)
{
	unsigned i = nsilent;

	nparts[i] = 0;
	raw_init(&silent[nsilent++], w.net);
	raw_connect(&silent[i], &w.pairs[route].gw_addr);
	run(50 * NSEC_PER_MS);
	raw_words(&silent[i], RAW_V2_PROPS(0x99, 10));
	run(50 * NSEC_PER_MS);
}

/* @n silent ones, at the first route. */
static void begin_in(size_t memory, unsigned n, unsigned routes)
{
	struct setup s = setup_defaults(2, 1, 61);

	s.pairs = routes;
	s.memory = memory;
	s.max_payload = 4 << 20;
	s.max_message = PROMISED;
	s.credits = 8;
	s.net.shares_receives = true;
	s.max_sessions = SILENT + routes;
	s.upstream_versions = LEG_V1;
	world_new(&w, &s);
	world_connect(&w);
	servers = memnet_fabric(w.net);
	assert_int_equal(fabric_register(servers, taken, sizeof(taken)), 0);
	mute_next();
	are_calling = are_withholding = false;
	for (unsigned i = 0; i < n; i++)
		come(0);
	assert_int_equal(proxy_sessions(w.proxy), routes + n);
}

/* Room for a single call of @PROMISED, and for the first blocks of 32. */
static void begin_routes(unsigned n, unsigned routes)
{
	begin_in(64 << 20, n, routes);
}

static void begin(unsigned n)
{
	begin_routes(n, 1);
}

static void begin_calls(void)
{
	are_calling = true;
	run(NSEC_PER_SEC);
	assert_int_equal(proxy_sessions(w.proxy), 1 + nsilent);
}

static void end(void)
{
	for (unsigned i = 0; i < nsilent; i++) {
		if (!silent[i].closed)
			raw_hang_up(&silent[i]);
	}
	for (unsigned i = 0; i < nconns; i++)
		fabric_destroy(conns[i]);
	run(NSEC_PER_SEC);
	for (unsigned i = 0; i < nsilent; i++)
		raw_fini(&silent[i]);
	nsilent = nconns = 0;
	while (nmute > 0)
		fabric_detach(servers, w.pairs[--nmute].server_listener);
	fabric_unregister(servers, taken);
	fabric_free(servers);
	world_quit(&w);
	world_free(&w);
}

static unsigned silent_holders(enum buf_purpose purpose)
{
	unsigned n = 0;

	for (unsigned i = 0; i < proxy_sessions(w.proxy); i++)
		n += inside_session(w.proxy, i)->client.quotas[purpose].used > 0;
	return n;
}

static unsigned ended(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < nsilent; i++)
		n += silent[i].closed;
	return n;
}

static void is_served_within(nsec_t time)
{
	const struct peer_spec longer = {.body = 200000, .reply = 24, .segs = 1};
	uint64_t done = w.pairs[0].client.done;

	assert_true(peer_call(&w.pairs[0].client, &longer));
	run(time);
	assert_int_equal(w.pairs[0].client.done, done + 1);
	assert_false(w.pairs[0].client.closed);
}

static void a_line_of_silent_ones_moves(void **state)
{
	(void)state;
	begin(5);
	begin_calls();
	assert_int_equal(silent_holders(BUF_REASM_CALL), 1);
	assert_int_equal(silent_holders(BUF_REASM_START), 4);
	is_served_within(40 * NSEC_PER_SEC);
	end();
}

/* More than there are first blocks. */
static void start_blocks_come_back(void **state)
{
	(void)state;
	begin(SILENT);
	begin_calls();
	assert_true(silent_holders(BUF_REASM_START) > 20);
	assert_true(silent_holders(BUF_REASM_START) < SILENT / 2 + 4);
	is_served_within(300 * NSEC_PER_SEC);
	assert_true(ended() > SILENT / 2);
	end();
}

/* Where nobody waits it has its minute. */
static void alone_there_is_time(void **state)
{
	(void)state;
	begin(1);
	begin_calls();
	assert_int_equal(silent_holders(BUF_REASM_CALL), 1);
	run(50 * NSEC_PER_SEC);
	assert_int_equal(ended(), 0);
	run(20 * NSEC_PER_SEC);
	assert_int_equal(ended(), 1);
	end();
}

/* The client is the cause, not the gateway: no GRANT may be sent to the client. */
static void a_client_that_lets_no_grant_through_is_not_kept(void **state)
{
	(void)state;
	begin(1);
	are_withholding = true;
	begin_calls();
	assert_int_equal(silent_holders(BUF_REASM_CALL), 1);
	run(NSEC_PER_SEC);
	assert_true(leg_peer_has_no_credit(leg_of(0)));
	is_served_within(12 * NSEC_PER_SEC);
	assert_int_equal(ended(), 1);
	end();
	begin(1);
	are_withholding = true;
	begin_calls();
	run(70 * NSEC_PER_SEC);
	assert_int_equal(ended(), 1);
	end();
}

/* Calls that its server takes its time for have the Receives of all that it may send, so that there is nothing to grant it:
 * but for the one message that anybody may send beyond that (decision 83), which one GRANT more follows. */
static void fill_window(unsigned i)
{
	uint32_t xid = 0x1000;

	while (leg_of(i)->posted > 1) {
		assert_true(xid < 0x1000 + 200);
		if (!leg_peer_has_no_credit(leg_of(i))) {
			/* With a Write chunk, or it would be let go as one that has no answer. */
			raw_words(&silent[i], xid, 2, 1000, 10, 0, 0, 1, 1, 0x77, 64, 0, 0, 0, 0,
				  RAW_CALL_BODY(xid));
			xid++;
		}
		run(20 * NSEC_PER_MS);
	}
}

static void a_client_that_filled_its_window_gets_a_minute(void **state)
{
	(void)state;
	begin(1);
	fill_window(0);
	while (nparts[0] < PARTS) {
		nparts[0]++;
		part(&silent[0], PROMISED - nparts[0] * PART, 1000);
		run(20 * NSEC_PER_MS);
	}
	assert_int_equal(ended(), 0);
	assert_int_equal(silent_holders(BUF_REASM_CALL), 1);
	assert_true(leg_withholds_credit(leg_of(0)));
	/* As long as nobody else wants it, it may have it. */
	run(300 * NSEC_PER_SEC);
	assert_int_equal(ended(), 0);
	is_served_within(100 * NSEC_PER_SEC);
	assert_int_equal(ended(), 1);
	end();
}

/* All of a call of @len octets. */
static void whole_call(unsigned i, uint32_t len)
{
	enum { INLINE = 10, HEADER = 6 };
	static const uint32_t header[HEADER] = {XID, 0, 2, 0x40000123, 1, 1};
	const struct v2_credit *credit =
		&inside_session(w.proxy, w.s.pairs + i)->client.u.v2.credit;

	for (uint32_t at = 0, here; at < len; at += here) {
		struct xdr_out x = raw_begin(&silent[i]);

		here = len - at < PART ? len - at : PART;
		xdr_put_u32(&x, XID);
		xdr_put_u32(&x, 2);
		xdr_put_u32(&x, 10000);
		xdr_put_u32(&x, at + here < len ? MIDDLE : INLINE);
		for (unsigned n = at + here < len ? 3 : 0; n < 3; n++)
			xdr_put_u32(&x, 0); /* chunks */
		xdr_put_u32(&x, len - at - here);
		for (uint32_t n = 0; n < here / 4; n++)
			xdr_put_u32(&x, at == 0 && n < HEADER ? header[n] : 0);
		raw_end(&silent[i], &x);
		run(NSEC_PER_MS);
		for (unsigned n = 0; credit->granted == credit->received && n < 100; n++)
			run(NSEC_PER_MS);
	}
}

/* A call's server takes its time. Clients of the same server wait for that, and clients of another
 * server for a bounded time. */
static void a_call_without_an_answer_is_in_its_own_routes_way(void **state)
{
	const struct peer_spec longer = {.body = 10000, .reply = 24, .segs = 1};

	(void)state;
	begin_routes(1, 2);
	whole_call(0, 5 << 20);
	assert_int_equal(silent_holders(BUF_REASM_CALL), 1);
	assert_int_equal(buf_zone_free(&w.proxy->arena, BUF_ZONE_REASM_CALLS), 0);
	assert_true(peer_call(&w.pairs[0].client, &longer));
	run(300 * NSEC_PER_SEC);
	assert_int_equal(w.pairs[0].client.done, 0);
	assert_int_equal(ended(), 0);
	assert_true(peer_call(&w.pairs[1].client, &longer));
	run(50 * NSEC_PER_SEC);
	assert_int_equal(ended(), 0);
	run(50 * NSEC_PER_SEC);
	assert_int_equal(w.pairs[1].client.done, 1);
	assert_int_equal(w.pairs[0].client.done, 1);
	assert_int_equal(ended(), 1);
	assert_int_equal(proxy_counters(w.proxy)->peer_faults, 0);
	end();
}

enum { SECOND, OLDER, YOUNGER, WAITS };

/*
 * Servers answer nothing. The second route holds the call that has stood still longest, the first one holds
 * more in two calls. A client of the third route waits for memory.
 */
static void a_third_route_waits(void)
{
	const nsec_t apart = 5 * NSEC_PER_SEC;
	const struct leg *waits;

	begin_in(128 << 20, 0, 3);
	mute_next();
	mute_next();
	come(1);
	come(0);
	come(0);
	come(2);
	whole_call(SECOND, 900000);
	run(apart);
	whole_call(OLDER, 3900000);
	run(apart);
	whole_call(YOUNGER, 3900000);
	run(apart);
	assert_int_equal(silent_holders(BUF_REASM_CALL), 3);
	waits = &inside_session(w.proxy, w.s.pairs + WAITS)->client;
	for (unsigned i = 1; i <= PARTS && !waits->stalled; i++) {
		part(&silent[WAITS], PROMISED - i * PART, 10);
		run(50 * NSEC_PER_MS);
	}
	assert_non_null(waits->stalled);
}

/* After a minute the session of the first route's older call ends. */
static void the_older_call_ends(void)
{
	run(55 * NSEC_PER_SEC);
	assert_int_equal(ended(), 0);
	for (unsigned i = 0; i < 30 && ended() == 0; i++)
		run(NSEC_PER_SEC);
	assert_true(silent[OLDER].closed);
	assert_int_equal(ended(), 1);
	end();
}

static void the_route_that_holds_most_gives_back_its_oldest(void **state)
{
	(void)state;
	a_third_route_waits();
	the_older_call_ends();
}

/* Begin a long call, so far that it holds its whole block, or waits for it. */
static void begin_call(unsigned i, uint32_t len)
{
	for (unsigned n = 1; n <= PARTS; n++) {
		part(&silent[i], len - n * PART, 1000);
		run(50 * NSEC_PER_MS);
	}
}

/* Clients of two routes wait for memory. The client of the third route has begun a call in memory of its route's own
 * zone, which is of no use to them, and its server takes its time for an earlier call. */
static void memory_of_another_routes_own_zone_is_not_taken_back(void **state)
{
	enum { LENGTH = 2 << 20, A_SECOND = 5 };
	static struct hoard hoard;
	struct buf_arena *arena;
	uint32_t left = LENGTH - PARTS * PART;

	(void)state;
	begin_in((size_t)512 << 20, 0, 3);
	mute_next();
	mute_next();
	for (unsigned i = 0; i < 3; i++)
		come(i);
	arena = &w.proxy->arena;
	hoard_zone(&hoard, arena, BUF_ZONE_REASM_CALLS);
	for (unsigned i = 0; i < 2; i++)
		hoard_zone(&hoard, arena, buf_own_zone(arena, BUF_REASM_CALL, i));
	whole_call(2, 100000);
	for (unsigned i = 0; i < 3; i++)
		begin_call(i, LENGTH);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(!inside_session(w.proxy, w.s.pairs + i)->client.stalled, i == 2);
	for (unsigned second = 0; second < 90; second++) {
		for (unsigned n = 0; n < A_SECOND; n++)
			part(&silent[2], left -= PART, 1000);
		run(NSEC_PER_SEC);
		assert_int_equal(ended(), 0);
	}
	hoard_end(&hoard);
	end();
}

/* The gateway's process is stopped for longer than a minute. */
static void a_pause_of_the_gateway_is_no_wait(void **state)
{
	nsec_t until;

	(void)state;
	a_third_route_waits();
	for (until = memnet_now(w.net) + 200 * NSEC_PER_SEC; memnet_now(w.net) < until;)
		memnet_step(w.net, until);
	the_older_call_ends();
}

static void pauses_that_recur_do_not_keep_memory(void **state)
{
	(void)state;
	a_third_route_waits();
	for (unsigned i = 0; i < 5 && ended() == 0; i++) {
		nsec_t until;

		run(20 * NSEC_PER_SEC);
		for (until = memnet_now(w.net) + 3 * NSEC_PER_SEC; memnet_now(w.net) < until;)
			memnet_step(w.net, until);
	}
	assert_true(silent[OLDER].closed);
	end();
}

/* A client far away, which has begun a call of its own, and takes a long reply as fast as the way lets it: it may send
 * nothing more, and no GRANT may come between the parts of the reply. */
static void a_client_that_takes_what_precedes_its_grant_gets_a_minute(void **state)
{
	enum { LIMIT = 20, REPLY = 300000 };
	const nsec_t delay = 4 * NSEC_PER_SEC;
	const struct peer_spec longer = {.body = 200000, .reply = 24, .segs = 1};
	struct setup s = setup_defaults(2, 1, 63);
	struct raw *far = &w.raw;
	const struct leg *leg;
	uint32_t n = 0;

	(void)state;
	s.pairs = 2;
	s.memory = 64 << 20;
	s.max_payload = 4 << 20;
	s.max_message = PROMISED;
	s.credits = 40;
	s.net.shares_receives = true;
	s.upstream_versions = LEG_V1;
	s.raw = s.raw_client = true;
	world_new(&w, &s);
	memnet_set_far(w.net, &w.pairs[0].gw_addr, delay);
	world_connect_pair(&w, 1);
	raw_connect(far, &w.pairs[0].gw_addr);
	world_run(&w, 2 * delay + NSEC_PER_SEC);
	raw_words(far, RAW_V2_PROPS(0x99, LIMIT));
	world_run(&w, 3 * delay);
	assert_int_equal(proxy_sessions(w.proxy), 2);
	leg = &inside_session(w.proxy, 1)->client;
	w.pairs[0].server.holds = true;
	raw_words(far, 0x50, 2, LIMIT, 10, 0, 0, 0, 0, 0x50, 0, 2, 0x40000123, 1, 1, REPLY, 0, 0, 0,
		  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	world_run(&w, 2 * delay);
	while (n < PARTS) {
		n++;
		part(far, PROMISED - n * PART, LIMIT);
	}
	world_run(&w, 3 * delay);
	assert_int_equal(leg->reasm_cap, PROMISED);
	assert_int_equal(peer_release(&w.pairs[0].server, true), 1);
	for (uint32_t more = 1; more <= 24; more++) {
		part(far, PROMISED - ++n * PART, LIMIT + more);
		world_run(&w, NSEC_PER_SEC / 2);
	}
	for (uint32_t left = leg->u.v2.credit.granted - leg->u.v2.credit.received; left > 0; left--)
		part(far, PROMISED - ++n * PART, LIMIT + 24);
	world_run(&w, delay - 3 * NSEC_PER_SEC / 2);
	assert_true(peer_call(&w.pairs[1].client, &longer));
	world_run(&w, 8 * NSEC_PER_SEC);
	assert_true(leg_peer_has_no_credit(leg));
	assert_false(leg->closing); /* three looks, and one more */
	assert_int_equal(w.pairs[1].client.done, 0);
	/* Then all that it has credits for is taken, and nothing moves any more. */
	world_run(&w, 12 * NSEC_PER_SEC);
	assert_int_equal(proxy_sessions(w.proxy), 1);
	assert_int_equal(w.pairs[1].client.done, 1);
	world_quit(&w);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_of_silent_ones_moves),
		cmocka_unit_test(start_blocks_come_back),
		cmocka_unit_test(alone_there_is_time),
		cmocka_unit_test(a_client_that_lets_no_grant_through_is_not_kept),
		cmocka_unit_test(a_client_that_filled_its_window_gets_a_minute),
		cmocka_unit_test(a_call_without_an_answer_is_in_its_own_routes_way),
		cmocka_unit_test(the_route_that_holds_most_gives_back_its_oldest),
		cmocka_unit_test(memory_of_another_routes_own_zone_is_not_taken_back),
		cmocka_unit_test(a_pause_of_the_gateway_is_no_wait),
		cmocka_unit_test(pauses_that_recur_do_not_keep_memory),
		cmocka_unit_test(a_client_that_takes_what_precedes_its_grant_gets_a_minute),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("mem_reclaim", tests, NULL, NULL);
}
