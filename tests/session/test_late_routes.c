/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls without an answer on several routes, each with its own timeout: each is abandoned at its
 * time, and in between the calls are not scanned, whatever else happens.
 */
#include "tests/cmocka_all.h"

#include "base/log.h"
#include "tests/session/inside.h"
#include "tests/session/world.h"

static struct world w;

static const struct peer_spec plain = {.body = 128, .reply = 100, .segs = 1};
static const unsigned timeout_s[WORLD_PAIRS] = {50, 20, 0};

static void begin(void)
{
	struct setup s = setup_defaults(2, 2, 61);

	s.pairs = WORLD_PAIRS;
	world_new(&w, &s);
	for (unsigned i = 0; i < WORLD_PAIRS; i++) {
		w.routes[i].server.reply_timeout = timeout_s[i] * NSEC_PER_SEC;
		w.pairs[i].client.cfg.reply_timeout = NSEC_PER_SEC; /* for peer_forget() */
	}
	world_connect(&w);
}

static void exchange(unsigned i)
{
	uint64_t done = w.pairs[i].client.done;

	assert_true(peer_call(&w.pairs[i].client, &plain));
	world_run(&w, 2 * DEBT_LOOK); /* after that no debts are looked at */
	assert_int_equal(w.pairs[i].client.done, done + 1);
}

static void leave_unanswered(unsigned i)
{
	w.pairs[i].server.holds = true;
	assert_true(peer_call(&w.pairs[i].client, &plain));
	world_run(&w, NSEC_PER_SEC);
	w.pairs[i].server.holds = false;
}

static void after(unsigned s, unsigned let_go)
{
	world_run(&w, s * NSEC_PER_SEC);
	assert_int_equal(proxy_counters(w.proxy)->let_go, let_go);
}

static void end(void)
{
	for (unsigned i = 0; i < WORLD_PAIRS; i++) {
		peer_release(&w.pairs[i].server, false);
		peer_forget(&w.pairs[i].client);
	}
	world_quit(&w);
	world_free(&w);
}

static void each_route_at_its_time(void **state)
{
	(void)state;
	begin();
	leave_unanswered(0);
	leave_unanswered(2);
	leave_unanswered(1);
	after(18, 0);
	after(2, 1);
	after(25, 1);
	leave_unanswered(1);
	after(4, 2); /* the first of all, sent 51 s ago */
	after(17, 3);
	after(1000, 3); /* one is waited for as long as it takes */
	end();
}

/* A call that was answered leaves no wait behind. What else there is to wait for does not depend on
 * how many calls there were. */
static void no_session_is_looked_at_in_between(void **state)
{
	size_t waits;

	(void)state;
	begin();
	exchange(0);
	exchange(2);
	waits = w.proxy->timers.n;
	for (unsigned i = 0; i < 20; i++) {
		exchange(0);
		exchange(2);
		assert_int_equal(w.proxy->timers.n, waits);
	}
	after(100, 0);
	assert_int_equal(w.proxy->timers.n, 1); /* the shared Receives' */
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_route_at_its_time),
		cmocka_unit_test(no_session_is_looked_at_in_between),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("late_routes", tests, NULL, NULL);
}
