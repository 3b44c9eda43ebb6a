/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole runs of the probe over fabric/mem: a valid server passes, and a valid client passes. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tests/cmocka_all.h"
#include "tests/probe/world.h"

struct tally {
	struct conform_totals totals;
	char failures[2000];
};

static void tell(void *arg, const struct probe_case *c, const struct case_result *res)
{
	struct tally *t = arg;
	size_t len = strlen(t->failures);

	if (res->verdict == FAIL)
		snprintf(t->failures + len, sizeof(t->failures) - len, "%s: %s\n", c->id,
			 res->detail);
}

static void whole_run_of(unsigned versions, uint32_t bulk, unsigned min_passed, uint64_t seed)
{
	static struct run r;
	static struct world w;
	struct tally t = {.failures = ""};
	struct facts f;

	world_init(&w, seed);
	w.bulk = bulk;
	world_server(&w, versions);
	assert_int_equal(run_init(&r, &w.o, &w.env), 0);
	assert_int_equal(survey(&r, &f), 0);
	assert_int_equal(f.v[1].welcome, versions & 1 ? WELCOME_SPOKEN : WELCOME_REFUSED);
	assert_int_equal(f.v[2].welcome == WELCOME_SPOKEN, (versions & LEG_V2) != 0);
	assert_int_equal(f.v[RUN_EARLY].welcome == WELCOME_SPOKEN, (versions & LEG_V2_EARLY) != 0);
	if (versions == LEG_V1) {
		assert_int_equal(f.v[2].welcome, WELCOME_REFUSED);
		assert_int_equal(f.v[RUN_EARLY].welcome, WELCOME_REFUSED);
	}
	assert_int_equal(f.v[0].welcome, WELCOME_REFUSED);
	assert_int_equal(f.failed, 0);
	conform(&r, &t.totals, tell, &t);
	if (t.totals.failed)
		fail_msg("seed %llu, versions %u:\n%s", (unsigned long long)seed, versions,
			 t.failures);
	assert_in_range(t.totals.passed, min_passed, 1000);
	run_fini(&r);
	world_fini(&w);
}

static void whole_run(unsigned versions, unsigned min_passed, uint64_t seed)
{
	whole_run_of(versions, 0, min_passed, seed);
}

static void test_server_of_rtr(void **state)
{
	(void)state;
	whole_run_of(LEG_V1_OR_V2, 8192, 145, 16);
	whole_run_of(LEG_V2_EARLY, 8192, 80, 17);
	whole_run_of(LEG_V1_OR_V2 | LEG_V2_EARLY, 8192, 215, 18);
}

static void test_server_of_both(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++)
		whole_run(LEG_V1_OR_V2, 115, seed);
}

static void test_server_of_1(void **state)
{
	(void)state;
	whole_run(LEG_V1, 45, 11);
}

static void test_server_of_2(void **state)
{
	(void)state;
	whole_run(LEG_V2, 75, 12);
}

static void test_server_of_early(void **state)
{
	(void)state;
	whole_run(LEG_V2_EARLY, 50, 13);
	whole_run(LEG_V1 | LEG_V2_EARLY, 90, 14);
	whole_run(LEG_V1_OR_V2 | LEG_V2_EARLY, 155, 15);
}

static void grade(struct world *w, unsigned version, bool provoke, struct listener *l)
{
	world_init(w, version + 20);
	w->o.provoke = provoke;
	assert_int_equal(listener_init(l, &w->o, &w->env), 0);
	world_client(w, version, 100, l);
	listener_run(l);
}

static void graded(unsigned version, bool provoke)
{
	static struct listener l;
	static struct world w;

	grade(&w, version, provoke, &l);
	for (unsigned g = 0; g < GRADES; g++) {
		if (l.grades[g].breaches)
			fail_msg("grade %u: %s", g, l.grades[g].first);
	}
	assert_int_equal(l.connections, 1);
	assert_int_equal(l.calls, 100);
	assert_int_equal(perf_client_errors(w.client)->count, 0);
	assert_true(l.grades[version == LEG_V1	 ? GRADE_V1_CREDITS
			     : version == LEG_V2 ? GRADE_V2_CREDITS
						 : GRADE_EARLY_CREDITS]
			    .looked >= 100);
	assert_int_equal(l.grades[GRADE_V2_HTYPE].looked, provoke && version == LEG_V2);
	assert_int_equal(l.grades[GRADE_EARLY_OPTION].looked, provoke && version == LEG_V2_EARLY);
	listener_fini(&l);
	world_fini(&w);
}

static void test_client_of_1(void **state)
{
	(void)state;
	graded(1, false);
	graded(1, true);
}

static void test_client_of_2(void **state)
{
	(void)state;
	graded(2, false);
	graded(2, true);
}

static void test_client_of_early(void **state)
{
	(void)state;
	graded(LEG_V2_EARLY, false);
	graded(LEG_V2_EARLY, true);
}

/* A server that is gone in the middle: every case still ends, and nothing stays behind. */
static void test_cut_everywhere(void **state)
{
	static struct run r;
	static struct world w;

	(void)state;
	for (unsigned after = 0; after < 400; after += 13) {
		const struct rule cut = {WAY_OUT, 0, ANY, ACT_CLOSE, .skip = after};
		struct tally t = {.failures = ""};
		struct facts f;

		world_init(&w, after);
		world_server(&w, LEG_V1_OR_V2);
		assert_int_equal(run_init(&r, &w.o, &w.env), 0);
		assert_int_equal(survey(&r, &f), 0);
		world_meddle(&w, &cut, 1);
		conform(&r, &t.totals, tell, &t);
		assert_true(t.totals.failed > 0);
		run_fini(&r);
		world_fini(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_server_of_both),	cmocka_unit_test(test_server_of_1),
		cmocka_unit_test(test_server_of_2),	cmocka_unit_test(test_client_of_1),
		cmocka_unit_test(test_client_of_2),	cmocka_unit_test(test_cut_everywhere),
		cmocka_unit_test(test_server_of_rtr),	cmocka_unit_test(test_server_of_early),
		cmocka_unit_test(test_client_of_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
