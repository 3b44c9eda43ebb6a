/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/verbs/world.h"

#include <stdlib.h>
#include <string.h>

/*
 * Facts about shared Receives that the contract cannot see: the device's limit event, attributes of queue
 * pairs, and a device that is removed.
 */

/* Senders also retry soon. */
static void peers_try_for_ever(void **state)
{
	struct world *w = *state;
	struct fabric_conn_params a = world_params(), b = world_params();
	struct verbs_agreed agreed;

	b.tuning.rnr_retry_count = 3;
	world_establish(w, &a, &b);
	assert_int_equal(verbs_agreed(w->end[0].conn, &agreed), 0);
	assert_int_equal(agreed.rnr_retry_count, 3); /* as the user wants */
	assert_int_equal(agreed.rnr_timer, 12);
	assert_int_equal(verbs_agreed(w->end[1].conn, &agreed), 0);
	assert_int_equal(agreed.rnr_retry_count, 7);
	assert_int_equal(agreed.rnr_timer, 12);
}

/* 64 stand ready, and one peer may send 400: the device says so, and there are more then. */
static void a_burst_is_reported(void **state)
{
	struct world *w = *state;
	struct fabric_conn_params p = world_params();
	struct end *b = &w->end[1];
	const struct verbs_counters *counters = verbs_counters(b->fabric);
	uint64_t stood;

	p.max_recvs = p.max_sends = 400;
	world_establish(w, &p, &p);
	world_turn(w);
	stood = counters->receives_posted;
	assert_int_equal(stood, b->nposted);
	assert_int_equal(counters->receives_low, 0);
	b->deaf = true; /* so none is posted again */
	world_send(w, w->end[0].conn, 64, 100);
	for (int i = 0; i < 50; i++)
		world_turn(w);
	b->deaf = false;
	UNTIL(w, b->done[FABRIC_EV_RECV] == 64);
	UNTIL(w, counters->receives_low > 0);
	UNTIL(w, counters->receives_posted >= 2 * stood);
	assert_int_equal(w->end[0].failed + b->failed, 0);
}

/* Receives beyond what the load needs are given up, period by period. */
static void quiet_times_lower_it(void **state)
{
	struct world *w = *state;
	struct end *b = &w->end[1];
	const struct verbs_counters *counters = verbs_counters(b->fabric);
	uint64_t most, sent = 64;

	a_burst_is_reported(state);
	most = counters->receives_posted;
	for (int i = 0; i < 400 && counters->receives_posted > most / 2; i++) {
		uint64_t end = poll_loop_now() + NSEC_PER_SEC / 10;

		world_send(w, w->end[0].conn, 4, 100);
		sent += 4;
		UNTIL(w, b->done[FABRIC_EV_RECV] == sent);
		while (poll_loop_now() < end)
			world_turn(w);
	}
	assert_true(counters->receives_posted <= most / 2);
}

/* Only the offending connection ends, and its Receives serve others. */
static void a_peer_that_overruns_ends_alone(void **state)
{
	struct world *w = *state;
	struct fabric_conn_params p = world_params(), few = world_params();
	struct end *a = &w->end[0], *b = &w->end[1];
	struct fabric_conn *good[2], *bad[2];

	world_establish(w, &p, &p);
	good[0] = a->conn;
	good[1] = b->conn;
	few.max_recvs = 8;
	world_establish(w, &p, &few);
	bad[0] = a->conn;
	bad[1] = b->conn;
	world_turn(w);
	b->deaf = true;
	world_send(w, bad[0], 20, 100);
	for (int i = 0; i < 20; i++)
		world_turn(w);
	b->deaf = false;
	UNTIL(w, a->ended && b->ended);
	assert_ptr_equal(b->ended_conn, bad[1]);
	assert_int_equal(b->status, ERR_PROTO);
	assert_non_null(strstr(b->why, "more than was granted"));
	assert_int_equal(verbs_counters(b->fabric)->breaches, 1);
	assert_true(b->done[FABRIC_EV_RECV] <= 8);
	fabric_destroy(bad[0]);
	fabric_destroy(bad[1]);
	a->conn = good[0];
	b->conn = good[1];
	b->done[FABRIC_EV_RECV] = 0;
	for (unsigned i = 1; i <= 20; i++) {
		world_send(w, good[0], WORLD_DEPTH / 2, 100);
		UNTIL(w, b->done[FABRIC_EV_RECV] == i * WORLD_DEPTH / 2);
	}
	assert_int_equal(a->ended + b->ended, 2);
	assert_int_equal(b->came_back, 0);
	assert_int_equal(verbs_counters(b->fabric)->receives_posted, b->nposted);
}

/* No Receive is flushed that would tell. */
static void a_breach_is_noticed(void **state)
{
	struct world *w = *state;
	struct fabric_conn_params p = world_params();
	struct end *a = &w->end[0], *b = &w->end[1];
	struct segment nowhere = {.handle = 0x12345678, .length = 100, .offset = 4096};
	struct fabric_sge sge = {a->memory, 100};
	unsigned posted;

	world_establish(w, &p, &p);
	world_turn(w);
	posted = b->nposted;
	assert_int_equal(fabric_write(a->conn, &sge, 1, &nowhere, NULL), 0);
	UNTIL(w, a->ended && b->ended);
	assert_int_equal(b->status, ERR_ACCESS);
	assert_int_equal(verbs_counters(b->fabric)->breaches, 1);
	assert_int_equal(b->nposted, posted);
	assert_int_equal(verbs_counters(b->fabric)->receives_posted, posted);
}

/* Every Receive comes back, once (world.c looks whether it was posted): those with messages that
 * nobody polled, too. */
static void a_device_that_goes_gives_all_back(void **state)
{
	struct world *w = *state;
	struct fabric_conn_params p = world_params();
	struct end *a = &w->end[0], *b = &w->end[1];
	unsigned posted[2];

	world_establish(w, &p, &p);
	world_turn(w);
	posted[0] = a->nposted;
	posted[1] = b->nposted;
	assert_true(posted[0] >= WORLD_DEPTH && posted[1] >= WORLD_DEPTH);
	b->deaf = true;
	world_send(w, a->conn, 5, 100);
	UNTIL(w, a->done[FABRIC_EV_SEND] == 5);
	assert_int_equal(system(getenv("VERBS_UNPLUG")), 0);
	UNTIL(w, a->ended && verbs_counters(b->fabric)->removals);
	for (int i = 0; i < 2; i++) {
		fabric_destroy(w->end[i].conn);
		w->end[i].conn = NULL;
	}
	b->deaf = false;
	UNTIL(w, !a->nposted && !b->nposted);
	assert_int_equal(a->came_back, posted[0]);
	assert_int_equal(b->came_back, posted[1]);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(verbs_counters(w->end[i].fabric)->receives_posted, 0);
		assert_int_equal(fabric_receives_wanted(w->end[i].fabric), 0);
	}
}

static int start(void **state)
{
	struct verbs_config cfg;

	verbs_config_default(&cfg);
	cfg.receives = VERBS_RECEIVES_SHARED;
	return world_start(state, &cfg, true);
}

/* The user has chosen own Receives, whatever the device can do, and nothing has changed. */
static void own_are_not_shared(void **state)
{
	struct world *w;
	struct fabric_conn_params p = world_params();
	struct verbs_config cfg;

	verbs_config_default(&cfg);
	cfg.receives = VERBS_RECEIVES_OWN;
	assert_int_equal(world_start(state, &cfg, false), 0);
	w = *state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fabric_share_receives(w->end[i].fabric, WORLD_MESSAGE, w),
				 ERR_CONFIG);
		assert_null(w->end[i].fabric->receives);
	}
	world_establish(w, &p, &p);
	world_send(w, w->end[0].conn, WORLD_DEPTH, 100);
	UNTIL(w, w->end[1].done[FABRIC_EV_RECV] == WORLD_DEPTH);
}

#define shared_test(f) cmocka_unit_test_setup_teardown(f, start, world_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		shared_test(peers_try_for_ever),
		shared_test(a_burst_is_reported),
		shared_test(quiet_times_lower_it),
		shared_test(a_peer_that_overruns_ends_alone),
		shared_test(a_breach_is_noticed),
		cmocka_unit_test_teardown(own_are_not_shared, world_stop),
	};
	/* VERBS_UNPLUG: a command that removes the device, without waiting for it. */
	const struct CMUnitTest last[] = {
		shared_test(a_device_that_goes_gives_all_back),
	};
	int failed;

	if (!world_has_device())
		return 0;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (getenv("VERBS_UNPLUG"))
		failed += cmocka_run_group_tests(last, NULL, NULL);
	return failed;
}
