/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "fabric/verbs/verbs.h"
#include "tests/poll_loop.h"

/*
 * What the contract cannot see: how many calls and completions it takes, and what queue pairs
 * were told. Two instances on the device that has the address VERBS_ADDRESS.
 */

enum { MEMORY = 65536, DEPTH = 32, PATIENCE = 2000 };

struct end {
	struct fabric *fabric;
	struct fabric_conn *conn;
	uint8_t *memory;
	bool requested, connected, ended;
	unsigned done[FABRIC_EV_WITHDRAWN + 1], failed;
};

struct world {
	struct poll_loop loop;
	struct fabric_listener *listener;
	struct end end[2]; /* initiator, acceptor */
};

static void note(struct end *e, const struct fabric_event *ev)
{
	switch (ev->type) {
	case FABRIC_EV_REQUEST:
		e->requested = true;
		e->conn = ev->conn;
		break;
	case FABRIC_EV_CONNECTED:
		e->connected = true;
		break;
	case FABRIC_EV_DISCONNECTED:
		e->ended = true;
		break;
	default:
		e->done[ev->type]++;
		e->failed += ev->status != 0;
	}
}

static void turn(struct world *w)
{
	struct fabric_event ev;
	nsec_t due = NSEC_NEVER;

	for (int i = 0; i < 2; i++) {
		fabric_flush(w->end[i].fabric);
		while (fabric_poll(w->end[i].fabric, &ev))
			note(&w->end[i], &ev);
		fabric_tick(w->end[i].fabric, poll_loop_now());
		due = nsec_min(due, fabric_deadline(w->end[i].fabric));
	}
	poll_loop_step(&w->loop, poll_loop_timeout(due, 5));
}

#define UNTIL(w, condition)                                                                        \
	do {                                                                                       \
		for (int turns = 0; !(condition) && turns < PATIENCE; turns++)                     \
			turn(w);                                                                   \
		assert_true(condition);                                                            \
	} while (0)

static int start_asking(void **state, uint32_t idle_ms)
{
	struct world *w = mem_zalloc(sizeof(*w));
	struct fabric_addr addr;
	struct verbs_config cfg;
	int err;

	verbs_config_default(&cfg);
	cfg.idle_ms = idle_ms;
	assert_int_equal(poll_loop_init(&w->loop), 0);
	for (int i = 0; i < 2; i++) {
		struct end *e = &w->end[i];

		e->fabric = verbs_new(&cfg, &w->loop.loop);
		assert_non_null(e->fabric);
		e->memory = mem_zalloc(MEMORY);
		assert_int_equal(fabric_register(e->fabric, e->memory, MEMORY), 0);
	}
	assert_int_equal(fabric_addr_parse(getenv("VERBS_ADDRESS"), 0, &addr), 0);
	w->listener = verbs_listen(&addr, &err);
	assert_non_null(w->listener);
	assert_int_equal(fabric_attach(w->end[1].fabric, w->listener, NULL), 0);
	*state = w;
	return 0;
}

/* Whoever counts calls and completions is not asked in between. */
static int start(void **state)
{
	return start_asking(state, 0);
}

static int start_impatient(void **state)
{
	return start_asking(state, 10);
}

static int stop(void **state)
{
	struct world *w = *state;

	fabric_detach(w->end[1].fabric, w->listener);
	for (int i = 0; i < 2; i++) {
		if (w->end[i].conn)
			fabric_destroy(w->end[i].conn);
		fabric_free(w->end[i].fabric);
		mem_free(w->end[i].memory);
	}
	verbs_listener_free(w->listener);
	poll_loop_fini(&w->loop);
	mem_free(w);
	assert_int_equal(mem_live(), 0);
	return 0;
}

static struct fabric_conn_params params(void)
{
	return (struct fabric_conn_params){
		.max_recvs = DEPTH, .max_sends = DEPTH, .max_exposures = 4};
}

static void establish(struct world *w, const struct fabric_conn_params *a,
		      const struct fabric_conn_params *b)
{
	struct fabric_addr addr;

	verbs_listener_addr(w->listener, &addr);
	assert_int_equal(fabric_connect(w->end[0].fabric, &addr, a, NULL, &w->end[0].conn), 0);
	UNTIL(w, w->end[1].requested);
	assert_int_equal(fabric_prepare(w->end[1].conn, b), 0);
	for (int i = 0; i < DEPTH; i++)
		assert_int_equal(
			fabric_post_recv(w->end[1].conn, w->end[1].memory + i * 1024, 1024, NULL),
			0);
	assert_int_equal(fabric_accept(w->end[1].conn, b, NULL), 0);
	UNTIL(w, w->end[0].connected && w->end[1].connected);
}

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
	struct fabric_conn_params a = params(), b = params();

	a.ird = 3; /* no power of two, which rxe would make it */
	a.ord = 16;
	b.ird = 4;
	b.ord = 9;
	establish(w, &a, &b);
	assert_in_range(agreed(&w->end[1]).reads_issued, 2, 3);
	assert_in_range(agreed(&w->end[0]).reads_served, agreed(&w->end[1]).reads_issued, 3);
	assert_int_equal(agreed(&w->end[0]).reads_issued, 4);
	assert_int_equal(agreed(&w->end[1]).reads_served, 4);
}

/* Each end says how often the other is to try again when it has no Receive. */
static void retries_are_told(void **state)
{
	struct world *w = *state;
	struct fabric_conn_params a = params(), b = params();

	a.tuning = (struct fabric_tuning){.retry_count = 3, .rnr_retry_count = 2};
	b.tuning = (struct fabric_tuning){.rnr_retry_count = 5};
	establish(w, &a, &b);
	assert_int_equal(agreed(&w->end[0]).rnr_retry_count, 5);
	assert_int_equal(agreed(&w->end[1]).rnr_retry_count, 2);
	assert_int_equal(agreed(&w->end[0]).retry_count, 3);
}

static void defaults_are_those_of_linux(void **state)
{
	struct world *w = *state;
	struct fabric_conn_params p = params();

	establish(w, &p, &p);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(agreed(&w->end[i]).retry_count, 6);
		assert_int_equal(agreed(&w->end[i]).rnr_retry_count, 0);
	}
}

static void send_some(struct world *w, unsigned n, uint32_t len)
{
	for (unsigned i = 0; i < n; i++) {
		struct fabric_sge sge = {w->end[0].memory + i * 1024, len};

		assert_int_equal(fabric_send(w->end[0].conn, &sge, 1, 0, NULL), 0);
	}
}

/* One call and one completion for what was posted between two flushes. */
static void a_flush_is_a_call(void **state)
{
	struct world *w = *state;
	struct fabric_conn_params p = params();
	struct end *a = &w->end[0];
	struct verbs_counters before;

	establish(w, &p, &p);
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
	send_some(w, 2, 1000);
	UNTIL(w, a->done[FABRIC_EV_SEND] == 12);
	assert_int_equal(verbs_counters(a->fabric)->sends, before.sends + 12);
	assert_true(verbs_counters(a->fabric)->inlines <= before.inlines + 10);
}

/* What was posted comes back once when the connection is cut, asked for or not, flushed or not. */
static void a_cut_gives_all_back(void **state)
{
	struct world *w = *state;
	struct fabric_conn_params p = params();
	struct end *a = &w->end[0], *b = &w->end[1];

	establish(w, &p, &p);
	for (int i = 0; i < DEPTH / 2; i++)
		assert_int_equal(fabric_post_recv(a->conn, a->memory, 64, NULL), 0);
	send_some(w, 8, 1000);
	fabric_flush(a->fabric);
	send_some(w, 8, 1000);
	fabric_destroy(b->conn);
	b->conn = NULL;
	UNTIL(w, a->ended);
	assert_int_equal(a->done[FABRIC_EV_SEND], 16);
	assert_int_equal(a->done[FABRIC_EV_RECV], DEPTH / 2);
}

/* Within its budget an instance wants to be asked again at once; then it waits. */
static void busy_polling_ends(void **state)
{
	struct world *w = *state;
	struct fabric_conn_params a = params(), b = params();
	nsec_t until;

	a.tuning.busy_poll_us = 50000;
	establish(w, &a, &b);
	send_some(w, 1, 64);
	UNTIL(w, w->end[0].done[FABRIC_EV_SEND] == 1);
	turn(w);
	assert_true(fabric_deadline(w->end[0].fabric) == 0);
	assert_true(fabric_deadline(w->end[1].fabric) > 0);
	until = poll_loop_now() + NSEC_PER_SEC;
	while (fabric_deadline(w->end[0].fabric) == 0 && poll_loop_now() < until)
		turn(w);
	assert_true(fabric_deadline(w->end[0].fabric) > 0);
}

/* More often than a queue is deep: nobody hears of it, and the queue is as deep as before. */
static void silent_peers_are_asked(void **state)
{
	struct world *w = *state;
	struct fabric_conn_params p = params();
	struct end *a = &w->end[0], *b = &w->end[1];

	establish(w, &p, &p);
	UNTIL(w, verbs_counters(a->fabric)->asked > 3 * DEPTH &&
			 verbs_counters(b->fabric)->asked > 3 * DEPTH);
	for (int type = 0; type <= FABRIC_EV_WITHDRAWN; type++)
		assert_int_equal(a->done[type] + b->done[type], 0);
	send_some(w, DEPTH, 64);
	UNTIL(w, a->done[FABRIC_EV_SEND] == DEPTH && b->done[FABRIC_EV_RECV] == DEPTH);
	assert_int_equal(a->failed + b->failed, 0);
	assert_false(a->ended || b->ended);
}

#define device_test(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		device_test(read_depth_is_agreed),
		device_test(retries_are_told),
		device_test(defaults_are_those_of_linux),
		device_test(a_flush_is_a_call),
		device_test(a_cut_gives_all_back),
		device_test(busy_polling_ends),
		cmocka_unit_test_setup_teardown(silent_peers_are_asked, start_impatient, stop),
	};
	char why[VERBS_WHY] = "VERBS_ADDRESS is not set to an address of an RDMA device";

	log_set_level(LOG_LEVEL_WARN);
	if (!getenv("VERBS_ADDRESS") || verbs_check(why)) {
		printf("skipped: %s\n", why);
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
