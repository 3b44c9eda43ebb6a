/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of a turn of a gateway whose clients and servers are on different fabrics. Posts for both
 * fabrics are flushed before either continues with large transfers, and such a turn moves the share
 * of one fabric, not of both.
 */
#include "tests/cmocka_all.h"

#include <string.h>

#include "tests/session/world.h"

enum { TOLD = 16 };

static struct world w;
static struct fabric_ops ops;
static void (*flush)(struct fabric *f);
static char told[TOLD]; /* what was asked of which: f, F of flush; g, G of go_on */
static bool spent;

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
}

static bool tell_go_on(struct fabric *f)
{
	tell(f, 'g');
	return spent;
}

static void setup(void)
{
	struct setup s = setup_defaults(1U << 1, 1U << 1, 1);

	s.two_fabrics = true;
	s.pairs = 1;
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
	setup();
	spent = true;
	turn("fFg");
	turn("fFG");
	turn("fFg");
	teardown();
}

static void both_where_there_is_time(void **state)
{
	(void)state;
	setup();
	spent = false;
	turn("fFgG");
	turn("fFgG");
	teardown();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_first_then_one_share),
		cmocka_unit_test(both_where_there_is_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
