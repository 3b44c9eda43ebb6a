/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/verbs/world.h"

/*
 * Facts that the contract cannot see: numbers of calls and completions, and attributes of queue pairs.
 */

static struct verbs_agreed agreed(const struct end *e)
{
	struct verbs_agreed a;

	assert_int_equal(verbs_agreed(e->conn, &a), 0);
	return a;
}

/* Nobody issues more Reads than the other end serves, nor than it wanted itself. */
static void read_depth_is_agreed(void **state)
{
	struct world *w = *state;
	struct fabric_conn_params a = world_params(), b = world_params();

	a.ird = 3; /* no power of two, which rxe would make it */
	a.ord = 16;
	b.ird = 4;
	b.ord = 9;
	world_establish(w, &a, &b);
	assert_in_range(agreed(&w->end[1]).reads_issued, 2, 3);
	assert_in_range(agreed(&w->end[0]).reads_served, agreed(&w->end[1]).reads_issued, 3);
	assert_int_equal(agreed(&w->end[0]).reads_issued, 4);
	assert_int_equal(agreed(&w->end[1]).reads_served, 4);
}

/* Each end says how often the other is to try again when it has no Receive. */
static void retries_are_reported(void **state)
{
	struct world *w = *state;
	struct fabric_conn_params a = world_params(), b = world_params();

	a.tuning = (struct fabric_tuning){.retry_count = 3, .rnr_retry_count = 2};
	b.tuning = (struct fabric_tuning){.rnr_retry_count = 5};
	world_establish(w, &a, &b);
	assert_int_equal(agreed(&w->end[0]).rnr_retry_count, 5);
	assert_int_equal(agreed(&w->end[1]).rnr_retry_count, 2);
	assert_int_equal(agreed(&w->end[0]).retry_count, 3);
}

static void defaults_are_those_of_linux(void **state)
{
	struct world *w = *state;
	struct fabric_conn_params p = world_params();

	world_establish(w, &p, &p);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(agreed(&w->end[i]).retry_count, 6);
		assert_int_equal(agreed(&w->end[i]).rnr_retry_count, 0);
	}
}

static void send_some(struct world *w, unsigned n, uint32_t len)
{
	world_send(w, w->end[0].conn, n, len);
}

/* One call and one completion for what was posted between two flushes. */
static void a_flush_is_a_call(void **state)
{
	struct world *w = *state;
	struct fabric_conn_params p = world_params();
	struct end *a = &w->end[0];
	struct verbs_counters before;

	world_establish(w, &p, &p);
	before = *verbs_counters(a->fabric);
	send_some(w, 10, 64);
	assert_int_equal(verbs_counters(a->fabric)->posts, before.posts);
	UNTIL(w, a->done[FABRIC_EV_SEND] == 10 && w->end[1].done[FABRIC_EV_RECV] == 10);
	assert_int_equal(a->failed + w->end[1].failed, 0);
	assert_int_equal(verbs_counters(a->fabric)->posts, before.posts + 1);
	assert_int_equal(verbs_counters(a->fabric)->signals, before.signals + 1);
	assert_int_equal(verbs_counters(a->fabric)->completions, before.completions + 1);
	if (agreed(a).max_inline)
		assert_int_equal(verbs_counters(a->fabric)->inlines, before.inlines + 10);
	send_some(w, 2, 500);
	UNTIL(w, a->done[FABRIC_EV_SEND] == 12);
	assert_int_equal(verbs_counters(a->fabric)->sends, before.sends + 12);
	assert_true(verbs_counters(a->fabric)->inlines <= before.inlines + 10);
}

/* Posted operations come back once when the connection is cut, on request or not, flushed or
 * not. */
static void a_cut_gives_all_back(void **state)
{
	struct world *w = *state;
	struct fabric_conn_params p = world_params();
	struct end *a = &w->end[0], *b = &w->end[1];

	world_establish(w, &p, &p);
	for (int i = 0; i < WORLD_DEPTH / 2; i++)
		assert_int_equal(fabric_post_recv(a->conn, a->memory, 64, NULL), 0);
	send_some(w, 8, 500);
	fabric_flush(a->fabric);
	send_some(w, 8, 500);
	fabric_destroy(b->conn);
	b->conn = NULL;
	UNTIL(w, a->ended);
	assert_int_equal(a->done[FABRIC_EV_SEND], 16);
	assert_int_equal(a->done[FABRIC_EV_RECV], WORLD_DEPTH / 2);
}

/* Within its budget an instance wants to be asked again at once; then it waits. */
static void busy_polling_ends(void **state)
{
	struct world *w = *state;
	struct fabric_conn_params a = world_params(), b = world_params();
	nsec_t until;

	a.tuning.busy_poll_us = 50000;
	world_establish(w, &a, &b);
	send_some(w, 1, 64);
	UNTIL(w, w->end[0].done[FABRIC_EV_SEND] == 1);
	world_turn(w);
	assert_true(fabric_deadline(w->end[0].fabric) == 0);
	assert_true(fabric_deadline(w->end[1].fabric) > 0);
	until = poll_loop_now() + 30 * NSEC_PER_SEC; /* only a test that fails lasts so long */
	while (fabric_deadline(w->end[0].fabric) == 0 && poll_loop_now() < until)
		world_turn(w);
	assert_true(fabric_deadline(w->end[0].fabric) > 0);
}

/* More often than a queue is deep: nobody hears of it, and the queue is as deep as before. */
static void silent_peers_are_asked(void **state)
{
	struct world *w = *state;
	struct fabric_conn_params p = world_params();
	struct end *a = &w->end[0], *b = &w->end[1];

	world_establish(w, &p, &p);
	UNTIL(w, verbs_counters(a->fabric)->asked > 3 * WORLD_DEPTH &&
			 verbs_counters(b->fabric)->asked > 3 * WORLD_DEPTH);
	for (int type = 0; type <= FABRIC_EV_WITHDRAWN; type++)
		assert_int_equal(a->done[type] + b->done[type], 0);
	send_some(w, WORLD_DEPTH, 64);
	UNTIL(w, a->done[FABRIC_EV_SEND] == WORLD_DEPTH && b->done[FABRIC_EV_RECV] == WORLD_DEPTH);
	assert_int_equal(a->failed + b->failed, 0);
	assert_false(a->ended || b->ended);
}

static int start_asking(void **state, uint32_t idle_ms)
{
	struct verbs_config cfg;

	verbs_config_default(&cfg);
	cfg.idle_ms = idle_ms;
	return world_start(state, &cfg, false);
}

/* The counts of calls and completions are not disturbed by keepalives in between. */
static int start(void **state)
{
	return start_asking(state, 0);
}

static int start_impatient(void **state)
{
	return start_asking(state, 10);
}

#define device_test(f) cmocka_unit_test_setup_teardown(f, start, world_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		device_test(read_depth_is_agreed),
		device_test(retries_are_reported),
		device_test(defaults_are_those_of_linux),
		device_test(a_flush_is_a_call),
		device_test(a_cut_gives_all_back),
		device_test(busy_polling_ends),
		cmocka_unit_test_setup_teardown(silent_peers_are_asked, start_impatient,
						world_stop),
	};

	return world_has_device() ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
