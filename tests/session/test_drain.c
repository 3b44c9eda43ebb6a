/* SPDX-License-Identifier: BSD-2-Clause */
/* The gateway goes down: calls in flight finish, new clients are refused, and it ends in time. */
#include "tests/cmocka_all.h"

#include "base/log.h"
#include "proxy/snapshot.h"
#include "tests/session/world.h"

static struct world w;

static const struct peer_spec bulk = {.body = 400,
				      .reply = 24,
				      .segs = 2,
				      .nreads = 1,
				      .reads = {300000},
				      .nwrites = 1,
				      .write_caps = {300000},
				      .writes = {300000}};

static void begin(unsigned cv, unsigned sv)
{
	struct setup s = setup_defaults(cv, sv, 41);

	s.pairs = 2;
	s.peer_memory = 64 << 20;
	s.memory = 128 << 20;
	world_new(&w, &s);
	world_connect(&w);
	for (unsigned i = 0; i < 2; i++)
		peer_call(&w.pairs[i].client, &bulk);
	world_run(&w, NSEC_PER_SEC);
}

static void end(void)
{
	assert_int_equal(proxy_sessions(w.proxy), 0);
	world_quit(&w);
	world_free(&w);
}

static void calls_in_flight_finish(void **state)
{
	(void)state;
	for (unsigned cv = LEG_V1; cv <= LEG_V2_EARLY; cv *= 2)
		for (unsigned sv = LEG_V1; sv <= LEG_V2_EARLY; sv *= 2) {
			begin(cv, sv);
			for (unsigned i = 0; i < 8; i++)
				peer_call(&w.pairs[0].client, &bulk);
			peer_call(&w.pairs[0].server,
				  &(struct peer_spec){.body = 100, .reply = 24, .segs = 1});
			/* All on their way, none done. */
			for (unsigned i = 0; i < 40; i++) {
				memnet_step(w.net, NSEC_NEVER);
				world_turn(&w);
			}
			assert_int_equal(w.pairs[0].client.done, 1);
			proxy_drain(w.proxy, memnet_now(w.net) + 20 * NSEC_PER_SEC);
			world_run(&w, 5 * NSEC_PER_SEC);
			assert_int_equal(w.pairs[0].client.done, 9);
			assert_int_equal(w.pairs[0].server.done, 1);
			assert_int_equal(w.pairs[0].client.corrupt, 0);
			for (unsigned i = 0; i < 2; i++) {
				assert_true(w.pairs[i].client.closed);
				assert_true(w.pairs[i].server.closed);
			}
			end();
		}
}

/* A server that vanished holds nobody up beyond the deadline. */
static void the_deadline_holds(void **state)
{
	nsec_t before;

	(void)state;
	begin(1, 2);
	memnet_vanish(w.pairs[0].server.leg.conn);
	peer_call(&w.pairs[0].client, &bulk);
	world_run(&w, NSEC_PER_SEC);
	proxy_drain(w.proxy, memnet_now(w.net) + 3 * NSEC_PER_SEC);
	world_run(&w, 2 * NSEC_PER_SEC);
	assert_true(w.pairs[1].client.closed); /* had nothing to wait for */
	assert_false(w.pairs[0].client.closed);
	assert_int_equal(proxy_sessions(w.proxy), 1);
	before = memnet_now(w.net);
	while (proxy_sessions(w.proxy) > 0) {
		world_run(&w, NSEC_PER_SEC);
		/* The deadline, and what a fabric lingers for what was sent. */
		assert_true(memnet_now(w.net) - before < 10 * NSEC_PER_SEC);
	}
	assert_true(w.pairs[0].client.closed);
	end();
}

/* An operator drains the session @before the shutdown begins, or after it, with @timeout. Return: how
 * long the session lived from the drain on. */
static nsec_t lives(bool before, nsec_t timeout)
{
	struct snapshot l = {
		.kind = SNAPSHOT_DRAIN, .want = {.route = SNAPSHOT_ANY_ROUTE}, .timeout = timeout};
	nsec_t since;

	begin(1, 2);
	w.pairs[0].server.holds = true;
	peer_call(&w.pairs[0].client, &bulk);
	world_run(&w, NSEC_PER_SEC);
	since = memnet_now(w.net);
	if (!before)
		proxy_drain(w.proxy, since + 4 * NSEC_PER_SEC);
	world_run(&w, 3 * NSEC_PER_SEC); /* the second look at all sessions is over */
	while (proxy_snapshot(w.proxy, &l, memnet_now(w.net)))
		;
	if (before)
		proxy_drain(w.proxy, memnet_now(w.net) + 20 * NSEC_PER_SEC);
	while (!w.pairs[0].client.closed)
		world_run(&w, NSEC_PER_SEC / 10);
	since = memnet_now(w.net) - since;
	world_run(&w, 30 * NSEC_PER_SEC);
	end();
	return since;
}

/* The earlier of two deadlines holds. */
static void no_deadline_is_put_off(void **state)
{
	(void)state;
	assert_in_range(lives(true, 4 * NSEC_PER_SEC), 0, 8 * NSEC_PER_SEC);
	assert_in_range(lives(false, 20 * NSEC_PER_SEC), 0, 5 * NSEC_PER_SEC);
}

static void newcomers_are_refused(void **state)
{
	(void)state;
	begin(1, 1);
	memnet_vanish(w.pairs[0].server.leg.conn);
	peer_call(&w.pairs[0].client, &bulk);
	world_run(&w, NSEC_PER_SEC);
	proxy_drain(w.proxy, memnet_now(w.net) + 20 * NSEC_PER_SEC);
	world_run(&w, NSEC_PER_SEC);
	peer_end(&w.pairs[1].client);
	world_connect_pair(&w, 1);
	world_run(&w, NSEC_PER_SEC);
	assert_true(w.pairs[1].client.closed);
	assert_int_equal(w.pairs[1].client.status, ERR_REJECTED);
	world_run(&w, 40 * NSEC_PER_SEC);
	end();
}

/* One client, of version @cv, so many steps on its way. */
static void begin_setup(unsigned cv, unsigned steps)
{
	struct setup s = setup_defaults(cv, LEG_V1 + LEG_V2 - cv, 5);

	s.peer_memory = s.memory = 64 << 20;
	world_new(&w, &s);
	world_connect_pair(&w, 0);
	for (unsigned i = 0; i < steps; i++) {
		world_turn(&w);
		memnet_step(w.net, NSEC_NEVER);
	}
}

/* In the midst of set-up, at any step of it that the gateway knows of. */
static void a_session_in_set_up_finishes_it(void **state)
{
	unsigned let_in = 0;

	(void)state;
	for (unsigned cv = LEG_V1; cv <= LEG_V2; cv++)
		for (unsigned steps = 0; steps < 24; steps++) {
			struct peer *client = &w.pairs[0].client;
			nsec_t before;

			begin_setup(cv, steps);
			before = memnet_now(w.net);
			if (proxy_sessions(w.proxy) == 0) {
				end();
				continue;
			}
			let_in++;
			proxy_drain(w.proxy, before + 20 * NSEC_PER_SEC);
			while (proxy_sessions(w.proxy) > 0)
				world_run(&w, NSEC_PER_SEC / 10);
			/* The client was accepted, and has sent nothing, or nothing that still
			 * needs an answer. */
			assert_true(client->open);
			assert_int_not_equal(client->status, ERR_REJECTED);
			assert_true(memnet_now(w.net) - before < 2 * PROXY_SETTLE);
			world_run(&w, NSEC_PER_SEC);
			assert_true(client->closed);
			end();
		}
	assert_true(let_in > 10);
}

/* The server does not answer: the client is refused by the deadline of the drain. */
static void a_set_up_that_takes_too_long_is_given_up(void **state)
{
	nsec_t before;

	(void)state;
	begin_setup(LEG_V1, 0);
	w.servers_sleep = true;
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(proxy_sessions(w.proxy), 1);
	before = memnet_now(w.net);
	proxy_drain(w.proxy, before + 5 * NSEC_PER_SEC);
	world_run(&w, 4 * NSEC_PER_SEC);
	assert_int_equal(proxy_sessions(w.proxy), 1);
	world_run(&w, 10 * NSEC_PER_SEC);
	assert_true(w.pairs[0].client.closed);
	assert_int_equal(w.pairs[0].client.status, ERR_REJECTED);
	w.servers_sleep = false;
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_in_flight_finish),
		cmocka_unit_test(the_deadline_holds),
		cmocka_unit_test(no_deadline_is_put_off),
		cmocka_unit_test(newcomers_are_refused),
		cmocka_unit_test(a_session_in_set_up_finishes_it),
		cmocka_unit_test(a_set_up_that_takes_too_long_is_given_up),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("drain", tests, NULL, NULL);
}
