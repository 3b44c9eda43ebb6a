/* SPDX-License-Identifier: BSD-2-Clause */
/* Every allocation made to fail once, and none at all in steady state. */
#include "tests/cmocka_all.h"

#include "base/log.h"
#include "base/mem.h"
#include "tests/session/world.h"

static struct world w;

static const struct peer_spec null_call = {.body = 100, .reply = 24, .segs = 1};

static struct setup small_setup(unsigned cv, unsigned sv)
{
	struct setup s = setup_defaults(cv, sv, 3);

	s.memory = s.peer_memory = 64 << 20;
	return s;
}

/* Allocations that a session costs from its first octet to its last. */
static uint64_t one_session(unsigned cv, unsigned sv, uint64_t fail_at)
{
	struct setup s = small_setup(cv, sv);
	struct world_pair *p = &w.pairs[0];
	uint64_t before, used;

	world_new(&w, &s);
	before = mem_allocs();
	mem_fail_at(fail_at);
	peer_connect(&p->client, &p->gw_addr);
	world_run(&w, NSEC_PER_SEC);
	if (p->client.open)
		for (unsigned i = 0; i < 40; i++)
			peer_call(&p->client, &null_call);
	world_run(&w, 20 * NSEC_PER_SEC);
	mem_fail_at(0);
	used = mem_allocs() - before;
	assert_int_equal(p->client.corrupt + p->server.corrupt, 0);
	/* Every call that was made has an answer, or its session ended. */
	if (!p->client.closed)
		assert_int_equal(p->client.done + p->client.errors, 40);
	world_quit(&w);
	world_free(&w);
	return used;
}

static void each_allocation_of_a_session_fails_once(void **state)
{
	(void)state;
	for (unsigned cv = LEG_V1; cv <= LEG_V2_EARLY; cv *= 2)
		for (unsigned sv = LEG_V1; sv <= LEG_V2_EARLY; sv *= 2) {
			uint64_t n = one_session(cv, sv, 0);

			print_message("v%u-v%u: %llu allocations\n", cv, sv, (unsigned long long)n);
			assert_in_range(n, 10, 1000);
			for (uint64_t at = 1; at <= n; at++)
				one_session(cv, sv, at);
		}
}

static void each_allocation_of_the_relay_fails_once(void **state)
{
	struct memnet_config net = {.seed = 1};
	struct setup s = small_setup(1, 1);
	struct proxy_route route = {.name = "r"};
	uint64_t fails = 0;

	(void)state;
	for (uint64_t at = 1;; at++) {
		struct memnet *n = memnet_new(&net);
		struct fabric *f[2] = {memnet_fabric(n), memnet_fabric(n)};
		const struct proxy_config cfg = {.routes = &route,
						 .nroutes = 1,
						 .fabrics = f,
						 .nfabrics = 2,
						 .memory_bytes = s.memory,
						 .max_sessions = 1,
						 .max_payload = 1 << 20,
						 .continue_max = 64 << 10};
		struct proxy *p;

		mem_fail_at(at);
		p = proxy_new(&cfg);
		mem_fail_at(0);
		if (p)
			proxy_free(p);
		else
			fails++;
		fabric_free(f[0]);
		fabric_free(f[1]);
		memnet_free(n);
		assert_int_equal(mem_live(), 0);
		if (p)
			break;
	}
	assert_in_range(fails, 3, 100);
}

/* After warm-up thousands of RPCs of every kind pass without one call of the allocator. */
static void steady_state_allocates_nothing(void **state)
{
	(void)state;
	for (unsigned cv = LEG_V1; cv <= LEG_V2_EARLY; cv *= 2)
		for (unsigned sv = LEG_V1; sv <= LEG_V2_EARLY; sv *= 2) {
			struct setup s = setup_defaults(cv, sv, 11);
			struct rng r = {99 + cv * 2 + sv};
			struct load load = {.rng = &r,
					    .calls = 300,
					    .rcalls = 80,
					    .depth = 32,
					    .rdepth = 8,
					    .spec = spec_small};
			uint64_t before;

			world_new(&w, &s);
			world_connect(&w);
			assert_true(world_load(&w, &load));
			before = mem_allocs();
			load.calls = 2500;
			load.rcalls = 500;
			load.depth = 16; /* the pool has seen more at once */
			load.rdepth = 4;
			assert_true(world_load(&w, &load));
			assert_int_equal(w.pairs[0].client.done, 2800);
			assert_int_equal(w.pairs[0].server.done, 580);
			print_message("v%u-v%u: 3000 RPCs, %llu allocations\n", cv, sv,
				      (unsigned long long)(mem_allocs() - before));
			assert_int_equal(mem_allocs(), before);
			world_quit(&w);
			world_free(&w);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_allocation_of_a_session_fails_once),
		cmocka_unit_test(each_allocation_of_the_relay_fails_once),
		cmocka_unit_test(steady_state_allocates_nothing),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("allocation", tests, NULL, NULL);
}
