/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One fault at every step of a session's life, with calls in flight both ways: the gateway keeps
 * running, the session with the fault ends on both sides or continues, everything it held comes
 * back, and the session beside it is not affected.
 */
#include "tests/cmocka_all.h"

#include "base/log.h"
#include "tests/session/world.h"

static struct world w;

/* With a sanitizer a run takes ten times as long: then fewer steps are tried. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer) ||                           \
	defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
enum { THIN = 13 };
#else
enum { THIN = 1 };
#endif

struct sweep {
	enum memnet_fault fault;
	nsec_t delay;
	unsigned
		stride; /* every strideth step; chosen so that all versions together take seconds */
	uint64_t bound; /* last step tried; 0: as many as a session without fault takes */
};

static struct setup fault_setup(unsigned cv, unsigned sv, const struct sweep *f, uint64_t at)
{
	struct setup s = setup_defaults(cv, sv, 7 + at);

	s.pairs = 2;
	s.memory = s.peer_memory = 32 << 20;
	s.max_payload = s.max_message = 1 << 20;
	s.net.fault = f->fault;
	s.net.fault_at = at;
	s.net.fault_delay = f->delay;
	return s;
}

static bool is_whole(const struct world_pair *p)
{
	return p->made == 12 && p->rmade == 4 && p->client.done == 12 && p->server.done == 4 &&
	       !p->client.closed && !p->server.closed;
}

static bool has_ended(const struct world_pair *p)
{
	return (p->client.closed || !p->client.has_leg) && (p->server.closed || !p->server.has_leg);
}

/* The octets that did arrive are right, whatever else became of the session. */
static void check_pair(const struct world_pair *p)
{
	assert_int_equal(p->client.corrupt + p->server.corrupt, 0);
	assert_int_equal(p->client.unexpected + p->server.unexpected, 0);
}

static void load_pairs(uint64_t seed, bool *stuck)
{
	struct rng r = {seed};
	const struct load load = {
		.rng = &r, .calls = 12, .rcalls = 4, .depth = 6, .rdepth = 3, .spec = spec_small};

	for (unsigned i = 0; i < w.s.pairs; i++)
		peer_connect(&w.pairs[i].client, &w.pairs[i].gw_addr);
	world_run(&w, 5 * NSEC_PER_SEC);
	*stuck = !world_load(&w, &load);
	world_run(&w, NSEC_PER_SEC);
	for (unsigned i = 0; i < w.s.pairs; i++)
		check_pair(&w.pairs[i]);
}

/* Check the pairs after a fault, which may affect one of them. */
static void check_outcome(const struct sweep *f, bool stuck)
{
	unsigned whole = is_whole(&w.pairs[0]) + is_whole(&w.pairs[1]);

	if (whole < (f->fault == MEMNET_STALL ? 2 : 1))
		fail_msg("step %llu: %u of 2 sessions whole", (unsigned long long)w.s.net.fault_at,
			 whole);
	/* A lost connection is no error of a call: the client gets no report, and sends the call
	 * again. */
	if (f->fault == MEMNET_CUT)
		for (unsigned i = 0; i < 2; i++)
			assert_int_equal(w.pairs[i].client.errors + w.pairs[i].server.errors, 0);
	if (f->fault == MEMNET_VANISH) /* nobody tells anybody: fabrics have timers for that */
		return;
	for (unsigned i = 0; i < 2; i++)
		if (stuck || (!is_whole(&w.pairs[i]) && f->fault != MEMNET_EXPOSE_FAIL &&
			      !has_ended(&w.pairs[i])))
			fail_msg("step %llu: neither whole nor ended",
				 (unsigned long long)w.s.net.fault_at);
}

static uint64_t run_one(unsigned cv, unsigned sv, const struct sweep *f, uint64_t at)
{
	struct setup s = fault_setup(cv, sv, f, at);
	uint64_t ops;
	bool stuck;

	world_new(&w, &s);
	load_pairs(at, &stuck);
	check_outcome(f, stuck);
	ops = memnet_ops(w.net);
	proxy_drain(w.proxy, memnet_now(w.net) + NSEC_PER_SEC);
	world_run(&w, 30 * NSEC_PER_SEC);
	world_quit(&w);
	world_free(&w);
	return ops;
}

static void sweep(const struct sweep *f)
{
	const struct sweep none = {.fault = MEMNET_NONE};

	for (unsigned cv = LEG_V1; cv <= LEG_V2_EARLY; cv *= 2)
		for (unsigned sv = LEG_V1; sv <= LEG_V2_EARLY; sv *= 2) {
			uint64_t last = f->bound ? f->bound : run_one(cv, sv, &none, 0);
			uint64_t at = 1 + (cv + 2 * sv) % f->stride;
			unsigned stride = f->stride * (f->bound && f->bound < THIN ? 1 : THIN);

			/* In the early draft it is version 1's code that runs. */
			if ((cv | sv) & LEG_V2_EARLY)
				stride *= 5;
			/* The same stories once more: most of the code that a step strikes is the same. */
			if (getenv("RTREXT"))
				stride *= 25;
			else if (getenv("FAR_HOP") || getenv("CUT_THROUGH") ||
				 getenv("SHARED_RECEIVES"))
				stride *= 4;
			print_message("v%u-v%u: up to step %llu\n", cv, sv,
				      (unsigned long long)last);
			for (; at <= last; at += stride)
				run_one(cv, sv, f, at);
		}
}

static void a_connection_is_lost(void **state)
{
	const struct sweep f = {.fault = MEMNET_CUT, .stride = 3};

	(void)state;
	sweep(&f);
}

static void a_connection_stands_still_for_a_while(void **state)
{
	const struct sweep f = {.fault = MEMNET_STALL, .delay = 3 * NSEC_PER_SEC, .stride = 11};

	(void)state;
	sweep(&f);
}

static void a_cable_is_pulled(void **state)
{
	const struct sweep f = {.fault = MEMNET_VANISH, .stride = 11};

	(void)state;
	sweep(&f);
}

static void a_connection_is_refused(void **state)
{
	const struct sweep f = {.fault = MEMNET_REFUSE, .stride = 1, .bound = 4};

	(void)state;
	sweep(&f);
}

static void memory_cannot_be_exposed(void **state)
{
	const struct sweep f = {.fault = MEMNET_EXPOSE_FAIL, .stride = 1, .bound = 120};

	(void)state;
	sweep(&f);
}

static void a_post_fails(void **state)
{
	const struct sweep f = {.fault = MEMNET_POST_FAIL, .stride = 1, .bound = 300};

	(void)state;
	sweep(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_connection_is_lost),
		cmocka_unit_test(a_connection_stands_still_for_a_while),
		cmocka_unit_test(a_cable_is_pulled),
		cmocka_unit_test(a_connection_is_refused),
		cmocka_unit_test(memory_cannot_be_exposed),
		cmocka_unit_test(a_post_fails),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
