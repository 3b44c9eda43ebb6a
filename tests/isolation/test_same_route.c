/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rogues on the route of honest clients: whatever rogue clients and servers do, honest clients with
 * a live server are served in time, and no honest client is ended.
 *
 * ONLY=NAME runs one kind; SEED=n uses another seed. With the word iwarp: over queue pairs of
 * fabric/iwarp; otherwise over fabric/mem.
 */
#include "tests/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "tests/isolation/route_town.h"

static const struct net_ops *net = &net_mem;

static double seconds(nsec_t t)
{
	return (double)t / NSEC_PER_SEC;
}

static bool print_probes(const struct rogue_kind *k, const struct route_verdict *v)
{
	bool good = true;

	for (unsigned p = 0; p < PROBES; p++) {
		nsec_t worst = v->probes[p].worst, goal = route_probe_goal((enum probe)p);

		if (worst == NSEC_NEVER)
			continue;
		good &= worst <= goal;
		print_message("%s: %s: %s of %s %u waited %s%.3f s, goal %.0f s%s\n", net->name,
			      k->name, route_probe_name((enum probe)p),
			      p == PROBE_FIRST ? "new client" : "honest client",
			      v->probes[p].victim, v->probes[p].answered ? "" : "at least ",
			      seconds(worst), seconds(goal), worst <= goal ? "" : ": NOT MET");
	}
	return good;
}

/* Rogues that move a few octets at a time must end within DRIP_BOUND after an honest client begins to wait. If none waits, they need
 * not end. */
static bool print_ends(const struct rogue_kind *k, const struct route_verdict *v)
{
	bool drips = k->drips && v->rogues_held_for > DRIP_BOUND;

	print_message("%s: %s: %u of %u ended; honest ones ended: %u%s\n", net->name, k->name,
		      v->rogues_ended, k->clients, v->honest_ended,
		      v->honest_ended ? ": NOT MET" : "");
	if (k->drips && v->began_waiting != NSEC_NEVER)
		print_message("%s: %s: held its connection for %.0f s while others waited, goal "
			      "%.0f s%s\n",
			      net->name, k->name, seconds(v->rogues_held_for), seconds(DRIP_BOUND),
			      drips ? ": NOT MET" : "");
	return !drips && v->honest_ended == 0;
}

/* If rogues wait for memory that other rogues hold, the first of those that hold it must end within CONTEND_BOUND. */
static bool print_first(const struct rogue_kind *k, const struct route_verdict *v)
{
	bool good = v->first_ended <= CONTEND_BOUND;

	if (!k->contends)
		return true;
	print_message("%s: %s: the first of those that wait for each other ended after %s%.0f s, "
		      "goal %.0f s%s\n",
		      net->name, k->name, v->rogues_ended ? "" : "more than ",
		      v->rogues_ended ? seconds(v->first_ended) : 120, seconds(CONTEND_BOUND),
		      good ? "" : ": NOT MET");
	return good;
}

static bool is_wanted(const struct rogue_kind *k)
{
	const char *only = getenv("ONLY");

	if (k->iwarp_only && net == &net_mem)
		return false;
	return !only || strcmp(only, k->name) == 0;
}

static void others_are_served(void **state)
{
	const struct rogue_kind *k = *state;
	const char *seed = getenv("SEED");
	struct route_verdict verdict;
	bool good;

	if (!is_wanted(k))
		skip();
	route_town_run(net, k, seed ? strtoull(seed, NULL, 0) : 1, NULL, &verdict);
	good = print_probes(k, &verdict);
	good &= print_ends(k, &verdict);
	good &= print_first(k, &verdict);
	assert_true(good);
}

static void be_silent(const char *line)
{
	if (getenv("VERBOSE"))
		print_message("%s\n", line);
}

int main(int argc, char **argv)
{
	struct CMUnitTest tests[ROUTE_KINDS] = {0};

	for (unsigned i = 0; i < ROUTE_KINDS; i++) {
		tests[i].name = route_kinds[i].name;
		tests[i].test_func = others_are_served;
		tests[i].initial_state = (void *)(uintptr_t)&route_kinds[i];
	}
	if (argc > 1 && strcmp(argv[1], net_streams.name) == 0)
		net = &net_streams;
	log_set_level(LOG_LEVEL_INFO);
	log_set_sink(be_silent);
	return cmocka_run_group_tests_name("same_route", tests, NULL, NULL);
}
