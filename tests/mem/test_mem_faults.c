/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/mem/world.h"

#include "base/mem.h"

/* Chosen faults: whatever is lost and whenever, each side learns of it once and completely. */

static uint64_t undisturbed_ops(uint64_t seed)
{
	static struct world w;
	struct memnet_config cfg = world_quiet;
	uint64_t ops;

	cfg.seed = seed;
	world_start(&w, &cfg);
	world_life(&w);
	assert_true(w.gone[0] && w.gone[1]);
	ops = memnet_ops(w.net);
	world_stop(&w);
	return ops;
}

static void cut_at_every_step(void **state)
{
	static struct world w;

	(void)state;
	for (uint64_t seed = 1; seed < 6; seed++) {
		struct memnet_config cfg = world_quiet;
		uint64_t ops = undisturbed_ops(seed), cut = 0;

		cfg.seed = seed;
		cfg.fault = MEMNET_CUT;
		for (cfg.fault_at = 1; cfg.fault_at <= ops; cfg.fault_at++) {
			world_start(&w, &cfg);
			world_life(&w);
			assert_true(w.gone[0]);
			assert_true(w.gone[1] || !w.b);
			cut += w.status[0] != 0;
			world_stop(&w);
		}
		assert_true(cut + 4 >= ops);
	}
}

static void vanish_at_every_step(void **state)
{
	static struct world w;

	(void)state;
	for (uint64_t seed = 1; seed < 6; seed++) {
		struct memnet_config cfg = world_quiet;
		uint64_t ops = undisturbed_ops(seed);

		cfg.seed = seed;
		cfg.fault = MEMNET_VANISH;
		for (cfg.fault_at = 1; cfg.fault_at <= ops; cfg.fault_at++) {
			world_start(&w, &cfg);
			world_life(&w);
			/* No side was notified. Each side can end in bounded time. */
			fabric_disconnect(w.a);
			if (w.b)
				fabric_disconnect(w.b);
			world_run(&w);
			assert_true(w.gone[0]);
			assert_true(w.gone[1] || !w.b);
			assert_true(memnet_now(w.net) < 20 * NSEC_PER_SEC);
			world_stop(&w);
		}
	}
}

static void stall_at_every_step(void **state)
{
	static struct world w;
	struct memnet_config cfg = world_quiet;
	uint64_t ops = undisturbed_ops(1);

	(void)state;
	cfg.fault = MEMNET_STALL;
	cfg.fault_delay = NSEC_PER_SEC;
	for (cfg.fault_at = 1; cfg.fault_at <= ops; cfg.fault_at++) {
		world_start(&w, &cfg);
		world_life(&w);
		assert_true(w.gone[0] && w.gone[1]);
		assert_int_equal(w.status[0], 0);
		assert_int_equal(w.status[1], 0);
		world_stop(&w);
	}
}

static void refuses_on_order(void **state)
{
	static struct world w;
	struct memnet_config cfg = world_quiet;

	(void)state;
	cfg.fault = MEMNET_REFUSE;
	cfg.fault_at = 2;
	world_start(&w, &cfg);
	world_join(&w);
	fabric_destroy(w.a);
	fabric_destroy(w.b);
	w.a = w.b = NULL;
	assert_int_equal(world_connect(&w), 0);
	world_run(&w);
	assert_true(w.gone[0]);
	assert_int_equal(w.status[0], ERR_REFUSED);
	world_stop(&w);
}

static void posts_and_exposes_fail_on_order(void **state)
{
	static struct world w;
	struct memnet_config cfg = world_quiet;

	(void)state;
	for (cfg.fault_at = 1; cfg.fault_at <= 2; cfg.fault_at++) {
		cfg.fault = MEMNET_EXPOSE_FAIL;
		world_start(&w, &cfg);
		world_life(&w);
		assert_int_equal(w.expose_failures, 1);
		world_stop(&w);
		cfg.fault = MEMNET_POST_FAIL;
		cfg.fault_at += 4;
		world_start(&w, &cfg);
		world_life(&w);
		assert_int_equal(w.post_failures, 1);
		world_stop(&w);
		cfg.fault_at -= 4;
	}
}

/* memnet_limit_messages() on connections with Receives of their own. */
static void messages_wait_on_order(void **state)
{
	static struct world w;

	(void)state;
	world_start(&w, &world_quiet);
	world_join(&w);
	for (unsigned i = 0; i < 4; i++)
		world_recv(&w, 1, w.b, i * 64, 64);
	world_pump(&w);
	memnet_limit_messages(w.a, 1, false);
	assert_false(w.b->recv_limited);
	for (unsigned i = 0; i < 4; i++)
		world_send(&w, 0, w.a, 1024, 64);
	world_run(&w);
	assert_int_equal(w.completed[1], 1);
	assert_true(w.b->recv_limited && !w.b->read_turn_unused);
	memnet_limit_messages(w.a, 1, true);
	world_run(&w);
	assert_int_equal(w.completed[1], 2);
	assert_true(w.b->recv_limited && w.b->read_turn_unused);
	memnet_limit_messages(w.a, UINT32_MAX, true);
	world_run(&w);
	assert_int_equal(w.completed[1], 4);
	assert_false(w.b->recv_limited || w.b->read_turn_unused);
	world_stop(&w);
}

static void every_allocation_may_fail(void **state)
{
	static struct world w;

	(void)state;
	for (uint64_t n = 1; n < 12; n++) {
		world_start(&w, &world_quiet);
		mem_fail_at(n);
		world_life(&w);
		mem_fail_at(0);
		if (w.a)
			assert_true(w.gone[0]);
		world_stop(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_at_every_step),
		cmocka_unit_test(vanish_at_every_step),
		cmocka_unit_test(stall_at_every_step),
		cmocka_unit_test(refuses_on_order),
		cmocka_unit_test(posts_and_exposes_fail_on_order),
		cmocka_unit_test(messages_wait_on_order),
		cmocka_unit_test(every_allocation_may_fail),
	};
	return cmocka_run_group_tests_name("mem faults", tests, NULL, NULL);
}
