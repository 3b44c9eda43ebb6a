/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include "tests/v2/pair.h"

static struct pair pair;

static struct rpc_params params(enum rpc_role role, uint32_t credits)
{
	return (struct rpc_params){
		.role = role,
		.recv_bytes = 4096,
		.send_bytes = 4096,
		.segment_bytes = 1 << 20,
		.segment_count = 16,
		.credits = credits,
		.reverse = RPC_REV_GENL,
		.vers_low = 1,
		.vers_high = 2,
		.first_xid = 0xc0ffee00,
	};
}

static void start(uint32_t credits_a, uint32_t credits_b)
{
	struct rpc_params a = params(RPC_INITIATOR, credits_a);
	struct rpc_params b = params(RPC_ACCEPTOR, credits_b);

	pair_init(&pair, &a, &b);
}

static void check_whole(unsigned calls_a, unsigned calls_b)
{
	for (int i = 0; i < 2; i++) {
		struct pair_end *e = &pair.end[i];

		assert_true(e->c.t.ready);
		assert_true(e->readied);
		assert_int_equal(e->njobs, 0);
		assert_int_equal(e->window_breaches, 0);
		assert_int_equal(e->intrusions, 0);
		assert_int_equal(e->c.t.count.dropped, 0);
		assert_int_equal(e->c.t.count.invalid, 0);
		assert_int_equal(e->c.t.count.sends, e->peer->c.t.count.recvs);
	}
	assert_int_equal(pair.end[0].calls_done, calls_a);
	assert_int_equal(pair.end[1].calls_done, calls_b);
}

/* Nobody has anything to say: after the properties silence falls. */
static void idle_is_silent(void **state)
{
	(void)state;
	for (uint32_t a = 2; a < 6; a++) {
		for (uint32_t b = 2; b < 6; b++) {
			start(a, b);
			pair_settle(&pair, 50);
			check_whole(0, 0);
			assert_int_equal(pair.end[0].c.t.count.sends + pair.end[1].c.t.count.sends,
					 2 + pair.end[0].c.t.count.grants_sent +
						 pair.end[1].c.t.count.grants_sent);
			assert_true(pair.end[0].c.t.count.grants_sent < 3);
			pair_fini(&pair);
		}
	}
}

/* Single calls over wide windows need no GRANT at all: every message refreshes. */
static void calls_one_by_one_need_no_grant(void **state)
{
	(void)state;
	start(32, 32);
	for (uint32_t xid = 1; xid <= 1000; xid++) {
		pair_queue(&pair.end[0], xid, RPC_CALL);
		pair_settle(&pair, 50);
	}
	check_whole(1000, 0);
	assert_int_equal(pair.end[0].c.t.count.grants_sent, 0);
	assert_int_equal(pair.end[1].c.t.count.grants_sent, 0);
	assert_int_equal(pair.end[0].c.t.ops->call_credits(&pair.end[0].c.t), 32);
	pair_fini(&pair);
}

/* Protocol decision 1: calls of many messages, replies of one. */
static unsigned continued_calls(bool literal, bool check)
{
	struct rpc_params a = params(RPC_INITIATOR, 8), b = params(RPC_ACCEPTOR, 8);
	unsigned done;

	a.literal_credits = b.literal_credits = literal;
	pair_init(&pair, &a, &b);
	pair.max_body = 30000;
	for (uint32_t xid = 1; xid <= 100; xid++) {
		pair_queue(&pair.end[0], xid, RPC_CALL);
		pair_settle(&pair, 1000);
	}
	done = pair.end[0].calls_done;
	if (check)
		check_whole(100, 0);
	pair_fini(&pair);
	return done;
}

static void literal_credits_deadlock(void **state)
{
	(void)state;
	assert_int_equal(continued_calls(false, true), 100);
	/* None of those that are more than one message, once what was granted is used up. */
	assert_true(continued_calls(true, false) < 30);
}

/*
 * Two ends that each continue messages at the same time, half as long as the
 * windows are wide: an end that begins can finish without the other, so nothing comes
 * between the parts and neither end waits for ever.
 */
static void both_continue_at_once(void **state)
{
	(void)state;
	for (uint32_t credits = 3; credits < 16; credits++) {
		start(credits, credits);
		pair.max_body = pair.max_reply = (size_t)((credits + 1) / 2) * (4096 - 40);
		for (uint32_t xid = 1; xid <= 20; xid++) {
			pair_queue(&pair.end[0], xid, RPC_CALL);
			pair_queue(&pair.end[1], xid, RPC_CALL);
		}
		pair_settle(&pair, 5000);
		check_whole(20, 20);
		pair_fini(&pair);
	}
}

/* One step of @r's choice. Return: whether it changed something. */
static bool random_step(struct rng *r)
{
	struct pair_end *e = &pair.end[rng_below(r, 2)];

	switch (rng_below(r, 3)) {
	case 0:
		return pair_deliver(&pair, e);
	case 1:
		return pair_control(e);
	default:
		return pair_control(e) || pair_send(&pair, e);
	}
}

/* Agreed counters of a connection that has lived, near the wrap of 2^32. */
static void age(struct rng *r)
{
	uint32_t a = (uint32_t)-1 - rng_below(r, 100), b = (uint32_t)-1 - rng_below(r, 100);

	if (rng_below(r, 2))
		a = 0x7fffffff - rng_below(r, 100);
	v2_credit_set_counters(&pair.end[0].c.credit, a, b);
	v2_credit_set_counters(&pair.end[1].c.credit, b, a);
}

static void random_run(struct rng *r)
{
	struct rpc_params a = params(RPC_INITIATOR, 2 + rng_below(r, 6));
	struct rpc_params b = params(RPC_ACCEPTOR, 2 + rng_below(r, 6));
	unsigned calls_a = rng_below(r, 40), calls_b = rng_below(r, 40), most;

	a.send_bytes = 1024 + rng_below(r, 8192);
	b.send_bytes = 1024 + rng_below(r, 8192);
	a.recv_bytes = 4096 + rng_below(r, 4096);
	b.recv_bytes = 4096 + rng_below(r, 4096);
	pair_init(&pair, &a, &b);
	/* A change by less than half is not announced at once: this much is certain to be
	 * covered. */
	most = 400 + 1000 * ((a.credits < b.credits ? a.credits : b.credits) / 2 - 1);
	pair.max_body = 64 + rng_below(r, most);
	pair.max_reply = 64 + rng_below(r, most);
	pair.max_segments = rng_below(r, 10);
	age(r);
	for (uint32_t xid = 0; xid < calls_a; xid++)
		pair_queue(&pair.end[0], xid * 7, RPC_CALL);
	for (uint32_t xid = 0; xid < calls_b; xid++)
		pair_queue(&pair.end[1], xid * 7, RPC_CALL);
	for (unsigned step = rng_below(r, 20000); step; step--) {
		random_step(r);
		/* Credits come and go with the budget, never above the Receives. */
		if (rng_below(r, 50) == 0) {
			struct pair_end *e = &pair.end[rng_below(r, 2)];

			e->c.t.ops->set_credits(&e->c.t, rng_below(r, e->c.t.own.credits + 1));
		}
	}
	for (int i = 0; i < 2; i++)
		pair.end[i].c.t.ops->set_credits(&pair.end[i].c.t, pair.end[i].c.t.own.credits);
	pair_settle(&pair, 20000);
	check_whole(calls_a, calls_b);
	pair_fini(&pair);
}

/*
 * No Send beyond the window but one GRANT, no deadlock, silence at the end, and every message
 * whole: with random orders, sizes, windows and counters.
 */
static void random_order(void **state)
{
	struct rng r = rng_seeded("v2 pair", 7);

	(void)state;
	for (int i = 0; i < 300; i++)
		random_run(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_is_silent),
		cmocka_unit_test(calls_one_by_one_need_no_grant),
		cmocka_unit_test(literal_credits_deadlock),
		cmocka_unit_test(both_continue_at_once),
		cmocka_unit_test(random_order),
	};
	return cmocka_run_group_tests_name("v2 pair", tests, NULL, NULL);
}
