/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fabric/contract.h"

#include <string.h>

/* Receives that the connections of an instance share. */

enum { ALL = CONTRACT_PAIRS * CONTRACT_DEPTH }; /* messages that peers may send at once */

static void two_connections(void **state)
{
	struct contract *t = *state;
	struct pair *p[] = {establish(t, 0), establish(t, 1)};

	for (uint32_t round = 0; round < 10; round++) {
		for (uint32_t i = 0; i < 20; i++) {
			assert_true(say(&p[i % 2]->a, 50 * round + i) >= 0);
			assert_true(say(&p[i % 2]->b, POOL_LEN - i) >= 0);
		}
		for (uint32_t i = 0; i < 2; i++) {
			hear(&p[i]->b, p[i]->a.said);
			hear(&p[i]->a, p[i]->b.said);
		}
		settle(t);
		for (uint32_t i = 0; i < 2; i++) {
			assert_int_equal(p[i]->a.ndone, p[i]->a.nops);
			assert_int_equal(p[i]->b.ndone, p[i]->b.nops);
			assert_int_equal(p[i]->a.ops[p[i]->a.nops - 1].status, 0);
		}
	}
}

static void finds_none_and_waits(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0), *q = establish(t, 1);
	struct pool *pool = run_dry(t, p);
	uint32_t heard = p->b.heard;
	int last = 0;

	for (uint32_t i = 0; i < 10; i++)
		last = say(&p->a, i);
	settle(t);
	assert_int_equal(p->b.heard, heard);
	assert_false(p->a.disconnected || p->b.disconnected);
	/* Operations that need no Receive are not blocked. */
	talk(&p->b, 10);
	talk(&q->b, 10);
	pool->allow = 1;
	hear(&p->b, heard + 1);
	settle(t);
	assert_int_equal(p->b.heard, heard + 1);
	pool->allow = UINT32_MAX;
	hear(&p->b, heard + 10);
	succeed(&p->a, last);
	talk(&q->a, 10);
}

static void others_read_and_write(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0), *q = establish(t, 1);
	struct segment to = do_expose(&q->b, 0, 4096, FABRIC_REMOTE_WRITE);
	struct segment from = do_expose(&q->b, 4096, 4096, FABRIC_REMOTE_READ);

	run_dry(t, p);
	assert_true(say(&p->a, 10) >= 0);
	settle(t);
	fill(&q->a, 0, 4096, 7);
	fill(&q->b, 4096, 4096, 8);
	succeed(&q->a, do_write(&q->a, 0, 4096, &to));
	succeed(&q->a, do_read(&q->a, 4096, &from));
	settle(t);
	check(&q->b, 0, 4096, 7);
	check(&q->a, 4096, 4096, 8);
}

static void all_behind_it_waits(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct segment to = do_expose(&p->b, 0, 4096, FABRIC_REMOTE_WRITE);
	struct pool *pool = run_dry(t, p);
	uint32_t heard = p->b.heard;
	int w, s;

	memset(p->b.mem, 0xee, 4096);
	fill(&p->a, 0, 4096, 9);
	assert_true(say(&p->a, 10) >= 0);
	w = do_write(&p->a, 0, 4096, &to);
	s = say(&p->a, 11);
	settle(t);
	check_byte(&p->b, 0, 4096, 0xee);
	pool->allow = 2;
	hear(&p->b, heard + 2);
	check(&p->b, 0, 4096, 9);
	succeed(&p->a, w);
	succeed(&p->a, s);
}

static struct pair *establish_with(struct contract *t, int i, uint32_t max_recvs)
{
	struct fabric_conn_params params = default_params();
	struct pair *p;

	params.max_recvs = max_recvs;
	p = begin(t, i, &params);
	assert_int_equal(fabric_accept(p->b.conn, &params, &p->b), 0);
	until(t, &p->a.connected);
	until(t, &p->b.connected);
	greet(p);
	return p;
}

static void goes_too_far(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish_with(t, 0, 4), *q = establish(t, 1);

	settle(t);
	assert_true(t->pool[1]->posted > 4);
	t->deaf[1] = true;
	for (uint32_t i = 0; i < 32; i++)
		assert_true(say(&p->a, i) >= 0);
	settle(t);
	t->deaf[1] = false;
	both_end(t, p);
	assert_int_not_equal(p->b.status, 0);
	talk(&q->a, 2 * ALL);
	drop(&p->b);
	talk(&q->a, 2 * ALL);
}

/* Exactly as many as it may, whatever the queue holds. */
static void goes_as_far_as_it_may(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish_with(t, 0, 4), *q = establish(t, 1);

	for (int round = 0; round < 10; round++) {
		uint32_t heard = p->b.heard;

		t->deaf[1] = true;
		for (uint32_t i = 0; i < 4; i++)
			assert_true(say(&p->a, i) >= 0);
		settle(t);
		t->deaf[1] = false;
		hear(&p->b, heard + 4);
	}
	talk(&q->a, 10);
	assert_false(p->a.disconnected || p->b.disconnected);
}

static void wants_more_when_it_ran_dry(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0), *q = establish(t, 1);
	struct pool *pool = t->pool[1];

	for (int round = 0; round < 10; round++) {
		uint32_t before, wanted;

		pump(t);
		before = pool->posted;
		run_dry(t, p);
		assert_true(say(&p->a, 1) >= 0);
		settle(t);
		wanted = fabric_receives_wanted(pool->f);
		assert_true(wanted <= ALL);
		assert_true(wanted > before || before == ALL || round);
		pool->allow = UINT32_MAX;
		hear(&p->b, p->a.said);
		pump(t);
		assert_true(pool->posted <= ALL);
	}
	run_dry(t, p);
	drop(&q->b);
	assert_true(fabric_receives_wanted(pool->f) <= CONTRACT_DEPTH);
	drop(&p->b);
	assert_int_equal(fabric_receives_wanted(pool->f), 0);
}

static void invalidates(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct segment seg = do_expose(&p->a, 0, 1000, FABRIC_REMOTE_WRITE);
	uint32_t heard = p->a.heard;

	assert_true(p->a.conn->remote_inv);
	assert_true(do_write(&p->b, 0, 600, &seg) >= 0);
	assert_true(say_inv(&p->b, 20, seg.handle) >= 0);
	hear(&p->a, heard + 1);
	assert_int_equal(p->a.invalidated, seg.handle);
	assert_int_equal(do_withdraw(&p->a, seg.handle), -1);
	assert_int_equal(p->a.written,
			 t->fabric[0]->reports_written ? 600 : FABRIC_WRITTEN_UNKNOWN);
	assert_int_equal(p->a.conn->handles_live, 0);
	assert_true(say(&p->b, 20) >= 0);
	hear(&p->a, heard + 2);
	assert_int_equal(p->a.invalidated, 0);
}

static void does_not_share(void **state)
{
	(void)state;
	skip();
}

int contract_run_shared(void)
{
	const struct CMUnitTest skipped[] = {
		cmocka_unit_test(does_not_share),
	};
	const struct CMUnitTest tests[] = {
		contract_test_shared(two_connections),
		contract_test_shared(finds_none_and_waits),
		contract_test_shared(others_read_and_write),
		contract_test_shared(all_behind_it_waits),
		contract_test_shared(goes_too_far),
		contract_test_shared(goes_as_far_as_it_may),
		contract_test_shared(wants_more_when_it_ran_dry),
		contract_test_shared(invalidates),
	};

	if (!contract_provider_now()->shares)
		return cmocka_run_group_tests_name("shared Receives", skipped, NULL, NULL);
	return cmocka_run_group_tests_name("shared Receives", tests, NULL, NULL);
}
