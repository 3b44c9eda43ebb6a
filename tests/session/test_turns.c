/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of a turn of a gateway whose clients and servers are on different fabrics. Posts for both
 * fabrics are flushed before either continues with large transfers, and such a turn moves the share
 * of one fabric, not of both. And how many events a turn handles.
 */
#include "tests/cmocka_all.h"

#include <string.h>

#include "tests/session/inside.h"
#include "tests/session/world.h"

enum { TOLD = 16 };

static struct world w;
static struct fabric_ops ops;
static void (*flush)(struct fabric *f);
static int (*poll_fabric)(struct fabric *f, struct fabric_event *ev);
static char told[TOLD]; /* what was asked of which: f, F of flush; g, G of go_on */
static bool spent;
static nsec_t time_now, flush_cost;
static unsigned events_left, polled[2]; /* events of each fabric in a turn */
static bool by_turns;			/* events are those of two sessions, not of one */

enum { EVENT_COST = 1000 };

static nsec_t clock_now(void)
{
	return time_now;
}

static void tell(const struct fabric *f, char what)
{
	size_t n = strlen(told);

	assert_true(n + 1 < sizeof(told));
	told[n] = (char)(f == w.gw_fabrics[0] ? what : what - 'a' + 'A');
}

static void tell_flush(struct fabric *f)
{
	tell(f, 'f');
	flush(f);
	time_now += flush_cost / 2;
}

static bool tell_go_on(struct fabric *f)
{
	tell(f, 'g');
	return spent;
}

/* Events that have no effect, without end. */
static int poll_much(struct fabric *f, struct fabric_event *ev)
{
	if (events_left == 0)
		return 0;
	events_left--;
	time_now += EVENT_COST;
	polled[f != w.gw_fabrics[0]]++;
	*ev = (struct fabric_event){
		.type = FABRIC_EV_RECV_LIMITED,
		.conn = inside_session(w.proxy, by_turns && events_left % 2)->client.conn};
	return 1;
}

static void setup(nsec_t (*clock)(void))
{
	struct setup s = setup_defaults(1U << 1, 1U << 1, 1);

	s.two_fabrics = true;
	s.clock = clock;
	s.pairs = 2;
	world_new(&w, &s);
	world_connect(&w);
	ops = *w.gw_fabrics[0]->ops;
	flush = ops.flush;
	ops.flush = tell_flush;
	ops.go_on = tell_go_on;
	w.gw_fabrics[0]->ops = w.gw_fabrics[1]->ops = &ops;
}

static void teardown(void)
{
	ops.flush = flush;
	ops.go_on = NULL;
	world_quit(&w);
	world_free(&w);
}

static void turn(const char *expected)
{
	memset(told, 0, sizeof(told));
	proxy_turn(w.proxy, memnet_now(w.net));
	assert_string_equal(told, expected);
}

static void answers_first_then_one_share(void **state)
{
	(void)state;
	setup(NULL);
	spent = true;
	turn("fFg");
	turn("fFG");
	turn("fFg");
	teardown();
}

static void both_where_there_is_time(void **state)
{
	(void)state;
	setup(NULL);
	spent = false;
	turn("fFgG");
	turn("fFgG");
	teardown();
}

static void expect_events(nsec_t cost, unsigned first, unsigned second)
{
	flush_cost = cost;
	for (unsigned i = 0; i < 100; i++) { /* until the average is that */
		memset(polled, 0, sizeof(polled));
		memset(told, 0, sizeof(told));
		events_left = 1000;
		assert_true(proxy_turn(w.proxy, memnet_now(w.net)));
	}
	assert_int_equal(polled[0], first);
	assert_int_equal(polled[1], second);
}

static void begin_events(nsec_t (*clock)(void))
{
	setup(clock);
	poll_fabric = ops.poll;
	ops.poll = poll_much;
}

static void end_events(void)
{
	events_left = 0;
	ops.poll = poll_fabric;
	teardown();
}

static void events_take_as_long_as_a_few_flushes(void **state)
{
	(void)state;
	begin_events(NULL);
	expect_events(100 * EVENT_COST, 12, 12);
	end_events();
	begin_events(clock_now);
	expect_events(0, 12, 12);
	expect_events(3 * EVENT_COST, 12, 12);
	expect_events(5 * EVENT_COST, 20, 12);
	expect_events(10 * EVENT_COST, 40, 12);
	expect_events(25 * EVENT_COST, 64, 36);
	expect_events(100 * EVENT_COST, 64, 64);
	end_events();
}

static void two_sessions_end_a_turn(void **state)
{
	(void)state;
	begin_events(clock_now);
	by_turns = true;
	expect_events(100 * EVENT_COST, 12, 12);
	by_turns = false;
	end_events();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_first_then_one_share),
		cmocka_unit_test(both_where_there_is_time),
		cmocka_unit_test(events_take_as_long_as_a_few_flushes),
		cmocka_unit_test(two_sessions_end_a_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
