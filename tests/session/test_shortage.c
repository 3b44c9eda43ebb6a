/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device repeatedly lacks registrations and Memory Windows for a while: RPCs wait, and none
 * fails. A shortage that does not end is logged.
 */
#include "tests/cmocka_all.h"

#include "base/log.h"
#include "tests/session/inside.h"
#include "tests/session/world.h"

static struct world w;

static bool load(unsigned calls)
{
	struct rng r = {5};
	const struct load load = {.rng = &r,
				  .calls = calls,
				  .rcalls = 4,
				  .depth = 6,
				  .rdepth = 3,
				  .spec = spec_small};

	return world_load(&w, &load);
}

static const struct peer_spec two = {.segs = 1,
				     .body = 128,
				     .reply = 64,
				     .nreads = 2,
				     .reads = {2000, 2000},
				     .nwrites = 2,
				     .write_caps = {2000, 2000},
				     .writes = {2000, 2000}};

static void start_with(unsigned cv, unsigned sv, uint32_t exposures)
{
	struct setup s = setup_defaults(cv, sv, 7);

	s.pairs = 2;
	s.exposures = exposures;
	s.memory = s.peer_memory = 32 << 20;
	s.max_payload = s.max_message = 1 << 20;
	world_new(&w, &s);
	for (unsigned i = 0; i < w.s.pairs; i++)
		peer_connect(&w.pairs[i].client, &w.pairs[i].gw_addr);
	world_run(&w, 5 * NSEC_PER_SEC);
}

static void start(unsigned cv, unsigned sv)
{
	start_with(cv, sv, 0);
}

static void stop(void)
{
	proxy_drain(w.proxy, memnet_now(w.net) + NSEC_PER_SEC);
	world_run(&w, 200 * NSEC_PER_SEC);
	world_quit(&w);
	world_free(&w);
}

/* The gateway's fabric has nothing from @after on, for @length. */
static void be_short(nsec_t after, nsec_t length)
{
	nsec_t from = memnet_now(w.net) + after;

	memnet_short(w.gw_fabrics[0], from, from + length);
}

static void check(void)
{
	for (unsigned i = 0; i < w.s.pairs; i++) {
		const struct world_pair *p = &w.pairs[i];

		assert_int_equal(p->client.errors + p->server.errors, 0);
		assert_int_equal(p->client.corrupt + p->server.corrupt, 0);
		assert_false(p->client.closed || p->server.closed);
		assert_int_equal(p->client.done, p->made);
		assert_int_equal(p->server.done, p->rmade);
	}
}

static void a_shortage_is_waited_out(void **state)
{
	(void)state;
	for (unsigned cv = LEG_V1; cv <= LEG_V2_EARLY; cv *= 2)
		for (unsigned sv = LEG_V1; sv <= LEG_V2_EARLY; sv *= 2)
			for (nsec_t after = 0; after < 40; after++) {
				start(cv, sv);
				be_short(after * NSEC_PER_MS / 10, 300 * NSEC_PER_MS);
				assert_true(load(12));
				check();
				assert_true(after || proxy_counters(w.proxy)->shortages > 0);
				stop();
			}
}

/* No call waits for ever: calls that need none of it continue, the others fail with a report, and
 * everything comes back. */
static void one_that_does_not_end_is_reported(void **state)
{
	uint64_t errors = 0;

	(void)state;
	for (unsigned sv = 1; sv <= 2; sv++) {
		start(1, sv);
		be_short(0, 4000 * NSEC_PER_SEC);
		(void)load(12);
		world_run(&w, 200 * NSEC_PER_SEC);
		for (unsigned i = 0; i < w.s.pairs; i++) {
			const struct world_pair *p = &w.pairs[i];

			errors += p->client.errors;
			assert_true(p->client.closed || p->client.done == p->made);
		}
		stop();
	}
	assert_true(errors > 0);
}

/* The device is short, and the server holds a call that has exposures. The call may take any time,
 * and to wait for its exposures would not help. */
static void one_beside_a_call_that_takes_long_is_reported(void **state)
{
	static const struct peer_spec read = {
		.segs = 1, .body = 128, .reply = 64, .nreads = 1, .reads = {300000}};

	(void)state;
	for (unsigned sv = 1; sv <= 2; sv++) {
		start(1, sv);
		assert_true(peer_call(&w.pairs[0].client, &read));
		world_run(&w, NSEC_PER_SEC);
		w.pairs[0].server.holds = true;
		assert_true(peer_call(&w.pairs[0].client, &read));
		world_run(&w, NSEC_PER_SEC);
		memnet_limit_exposures(w.gw_fabrics[0], 1);
		assert_true(peer_call(&w.pairs[0].client, &read));
		world_run(&w, DEBT_TIMEOUT - NSEC_PER_SEC);
		assert_int_equal(w.pairs[0].client.errors, 0);
		world_run(&w, 3 * NSEC_PER_SEC);
		assert_int_equal(w.pairs[0].client.errors, 1);
		memnet_limit_exposures(w.gw_fabrics[0], 0);
		stop();
	}
}

/* The device has room for one of two regions. What the call itself exposed for a moment is no reason
 * to wait on. */
static void one_that_leaves_room_for_a_part_is_reported(void **state)
{
	(void)state;
	for (unsigned sv = 1; sv <= 2; sv++) {
		start(1, sv);
		memnet_limit_exposures(w.gw_fabrics[0], 1);
		assert_true(peer_call(&w.pairs[0].client, &two));
		world_run(&w, DEBT_TIMEOUT - NSEC_PER_SEC);
		assert_int_equal(w.pairs[0].client.errors, 0);
		world_run(&w, 3 * NSEC_PER_SEC);
		assert_int_equal(w.pairs[0].client.errors, 1);
		memnet_limit_exposures(w.gw_fabrics[0], 0);
		stop();
	}
}

/* The device has room for less than a call needs, and the call may need as many exposures as the leg may
 * have. No other call has any, so there is nothing to wait for; and a call that comes later and finds
 * room is served in the end. */
static void one_for_a_call_that_may_need_all_is_reported(void **state)
{
	enum { REGIONS = 5 }; /* a body, two Reads and two Writes */
	static const struct peer_spec read = {
		.segs = 1, .body = 128, .reply = 64, .nreads = 1, .reads = {3000}};

	(void)state;
	for (unsigned sv = 1; sv <= 2; sv++) {
		start_with(1, sv, REGIONS);
		memnet_limit_exposures(w.gw_fabrics[0], 1);
		assert_true(peer_call(&w.pairs[0].client, &two));
		world_run(&w, NSEC_PER_SEC);
		assert_true(peer_call(&w.pairs[0].client, &read));
		world_run(&w, DEBT_TIMEOUT + 2 * NSEC_PER_SEC);
		assert_int_equal(w.pairs[0].client.errors, 1);
		assert_int_equal(peer_busy(&w.pairs[0].client), 0);
		memnet_limit_exposures(w.gw_fabrics[0], 0);
		stop();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_shortage_is_waited_out),
		cmocka_unit_test(one_that_does_not_end_is_reported),
		cmocka_unit_test(one_beside_a_call_that_takes_long_is_reported),
		cmocka_unit_test(one_that_leaves_room_for_a_part_is_reported),
		cmocka_unit_test(one_for_a_call_that_may_need_all_is_reported),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("shortage", tests, NULL, NULL);
}
