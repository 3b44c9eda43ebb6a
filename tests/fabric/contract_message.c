/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fabric/contract.h"

#include <string.h>

/* Sends and Receives. */

enum { SLOT = 65536 };

static void every_size(void **state)
{
	static const uint32_t sizes[] = {0,    1,    2,	   3,	  4,	 5,	7,
					 8,    100,  1023, 1024,  1460,	 4095,	4096,
					 4097, 8192, 9000, 32768, 65000, 65535, 65536};
	struct contract *t = *state;
	struct pair *p = establish(t, 0);

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int ra = do_recv(&p->a, 0, SLOT), rb = do_recv(&p->b, 0, SLOT), sa, sb;

		pump(t);
		fill(&p->a, SLOT, sizes[i], i);
		fill(&p->b, SLOT, sizes[i], i + 100);
		sa = do_send(&p->a, SLOT, sizes[i]);
		sb = do_send(&p->b, SLOT, sizes[i]);
		assert_int_equal(succeed(&p->b, rb)->len, sizes[i]);
		assert_int_equal(succeed(&p->a, ra)->len, sizes[i]);
		assert_int_equal(p->a.ops[ra].invalidated, 0);
		check(&p->b, 0, sizes[i], i);
		check(&p->a, 0, sizes[i], i + 100);
		succeed(&p->a, sa);
		succeed(&p->b, sb);
	}
}

static void exact_fit(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	int r = do_recv(&p->b, 8, 1000), r0 = do_recv(&p->b, 2000, 0);

	memset(p->b.mem, 0xee, 8);
	memset(p->b.mem + 1008, 0xee, 8);
	pump(t);
	fill(&p->a, 0, 1000, 3);
	do_send(&p->a, 0, 1000);
	do_send(&p->a, 0, 0);
	assert_int_equal(succeed(&p->b, r)->len, 1000);
	assert_int_equal(succeed(&p->b, r0)->len, 0);
	check(&p->b, 8, 1000, 3);
	check_byte(&p->b, 0, 8, 0xee);
	check_byte(&p->b, 1008, 8, 0xee);
}

static void gathers(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct rng rng = rng_seeded("gather", 11);

	for (int round = 0; round < 40; round++) {
		struct fabric_sge sge[FABRIC_MAX_SGE];
		unsigned n = rng_below(&rng, FABRIC_MAX_SGE + 1);
		uint32_t total = 0;
		int r = do_recv(&p->b, 0, 8 * SLOT);

		pump(t);
		for (unsigned i = 0; i < n; i++) {
			uint32_t len = rng_below(&rng, 4) ? rng_below(&rng, 5000) : 0;
			size_t off = (size_t)i * SLOT + rng_below(&rng, 100);

			fill(&p->a, off, len, i);
			sge[i] = (struct fabric_sge){p->a.mem + off, len};
			total += len;
		}
		succeed(&p->a, do_send_sge(&p->a, sge, n, 0));
		assert_int_equal(succeed(&p->b, r)->len, total);
		total = 0;
		for (unsigned i = 0; i < n; i++) {
			check(&p->b, total, sge[i].len, i);
			total += sge[i].len;
		}
	}
}

static void keeps_order(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	int r[CONTRACT_DEPTH];

	for (int round = 0; round < 4; round++) {
		for (unsigned i = 0; i < CONTRACT_DEPTH; i++)
			r[i] = do_recv(&p->b, i * 128, 128);
		pump(t);
		for (unsigned i = 0; i < CONTRACT_DEPTH; i++) {
			fill(&p->a, i * 128, 2 * i, i);
			assert_true(do_send(&p->a, i * 128, 2 * i) >= 0);
		}
		for (unsigned i = 0; i < CONTRACT_DEPTH; i++) {
			assert_int_equal(succeed(&p->b, r[i])->len, 2 * i);
			check(&p->b, i * 128, 2 * i, i);
		}
		settle(t);
		assert_int_equal(p->a.ndone, p->a.nops);
	}
}

static void full_queues_say_so(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);

	for (int i = 0; i < CONTRACT_DEPTH; i++)
		assert_true(do_recv(&p->b, 0, 0) >= 0);
	assert_int_equal(do_recv(&p->b, 0, 0), ERR_AGAIN);
	pump(t);
	for (int i = 0; i < CONTRACT_DEPTH; i++)
		assert_true(do_send(&p->a, 0, 0) >= 0);
	assert_int_equal(do_send(&p->a, 0, 0), ERR_AGAIN);
	settle(t);
	assert_int_equal(p->b.ndone, CONTRACT_DEPTH);
	assert_int_equal(p->a.ndone, CONTRACT_DEPTH);
	/* Now there is room again. */
	assert_true(do_recv(&p->b, 0, 10) >= 0);
	pump(t);
	assert_true(do_send(&p->a, 0, 10) >= 0);
	settle(t);
	assert_int_equal(p->b.ndone, CONTRACT_DEPTH + 1);
}

static void too_many_pieces(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct fabric_sge sge[65];

	for (int i = 0; i < 65; i++)
		sge[i] = (struct fabric_sge){p->a.mem, 1};
	assert_int_equal(do_send_sge(&p->a, sge, 65, 0), ERR_TOOBIG);
	settle(t);
	assert_false(p->a.disconnected);
}

static void ends_of_a_breach(struct contract *t, struct pair *p)
{
	both_end(t, p);
	assert_true(p->b.status == ERR_PROTO || p->b.status == ERR_TOOBIG ||
		    (!t->provider->tells_both && p->b.status == 0));
	assert_int_not_equal(p->a.status, 0);
	assert_int_equal(do_send(&p->a, 0, 10), ERR_CLOSED);
	assert_int_equal(do_recv(&p->b, 0, 10), ERR_CLOSED);
}

static void send_without_receive_ends_it(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);

	assert_true(do_recv(&p->b, 0, 10) >= 0);
	pump(t);
	assert_true(do_send(&p->a, 0, 10) >= 0);
	assert_true(do_send(&p->a, 0, 10) >= 0);
	ends_of_a_breach(t, p);
	assert_int_equal(p->b.ops[0].status, 0);
}

static void too_large_for_the_receive_ends_it(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);

	memset(p->b.mem, 0xee, 4096);
	assert_true(do_recv(&p->b, 1024, 1024) >= 0);
	pump(t);
	assert_true(do_send(&p->a, 0, 1025) >= 0);
	ends_of_a_breach(t, p);
	assert_int_equal(p->b.ops[0].status, ERR_FLUSHED);
	check_byte(&p->b, 0, 1024, 0xee);
	check_byte(&p->b, 2048, 2048, 0xee);
}

int contract_run_message(void)
{
	const struct CMUnitTest tests[] = {
		contract_test(every_size),
		contract_test(exact_fit),
		contract_test(gathers),
		contract_test(keeps_order),
		contract_test(full_queues_say_so),
		contract_test(too_many_pieces),
		contract_test(send_without_receive_ends_it),
		contract_test(too_large_for_the_receive_ends_it),
	};
	return cmocka_run_group_tests_name("messages", tests, NULL, NULL);
}
