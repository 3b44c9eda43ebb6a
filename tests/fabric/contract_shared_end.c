/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fabric/contract.h"

/* Shared Receives when connections end. */

enum { ALL = CONTRACT_PAIRS * CONTRACT_DEPTH }; /* messages that peers may send at once */

static void the_disconnect_waits(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct pool *pool = run_dry(t, p);
	uint32_t heard = p->b.heard;

	for (uint32_t i = 0; i < 5; i++)
		assert_true(say(&p->a, i) >= 0);
	settle(t);
	fabric_disconnect(p->a.conn);
	pump(t);
	t->provider->step(t); /* it arrives; a second step might be that it was long enough */
	pool->allow = UINT32_MAX;
	both_end(t, p);
	assert_int_equal(p->b.heard, heard + 5);
	assert_int_equal(p->a.status, 0);
	assert_int_equal(p->b.status, 0);
}

static void but_not_for_ever(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0), *q = establish(t, 1);
	struct pool *pool = run_dry(t, p);
	uint32_t heard = p->b.heard;

	assert_true(say(&p->a, 1) >= 0);
	fabric_disconnect(p->a.conn);
	both_end(t, p);
	assert_int_equal(p->b.heard, heard);
	assert_true(p->a.status != 0 || t->provider->sends_early);
	pool->allow = UINT32_MAX;
	talk(&q->a, 10);
}

static void too_large_ends_its_connection(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0), *q = establish(t, 1);

	assert_true(say(&p->a, POOL_LEN) >= 0);
	hear(&p->b, 2);
	assert_true(do_send(&p->a, 0, POOL_LEN + 1) >= 0);
	both_end(t, p);
	assert_true(p->b.status == ERR_PROTO || p->b.status == ERR_TOOBIG ||
		    (!t->provider->tells_both && p->b.status == 0));
	assert_int_not_equal(p->a.status, 0);
	assert_int_equal(say(&p->a, 1), ERR_CLOSED);
	talk(&q->a, 2 * ALL);
	talk(&q->b, 10);
}

/* Messages that nobody polled, when their connection goes: a Receive each stays posted. */
static void unpolled(struct contract *t, bool peer_goes_first)
{
	struct pair *p = establish(t, 0), *q = establish(t, 1);
	struct pool *pool = t->pool[1];
	uint32_t n;

	pump(t);
	pool->allow = 0;
	n = pool->posted;
	t->deaf[1] = true;
	for (uint32_t i = 0; i < n && i < CONTRACT_DEPTH; i++)
		assert_true(say(&p->a, i) >= 0);
	settle(t);
	if (peer_goes_first) {
		drop(&p->a);
		settle(t);
		drop(&p->b);
	} else {
		drop(&p->b);
		until(t, &p->a.disconnected);
	}
	t->deaf[1] = false;
	pump(t);
	assert_int_equal(pool->posted, n);
	talk(&q->a, n);
	assert_int_equal(pool->posted, 0);
	pool->allow = UINT32_MAX;
	talk(&q->a, n);
}

static void destroyed_with_messages(void **state)
{
	unpolled(*state, false);
}

static void ended_with_messages(void **state)
{
	unpolled(*state, true);
}

/* The others' messages take those Receives even if they waited for them. */
static void frees_what_others_wait_for(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0), *q = establish(t, 1);
	struct pool *pool = t->pool[1];
	uint32_t heard = q->b.heard;

	pump(t);
	pool->allow = 0;
	if (pool->posted > CONTRACT_DEPTH / 2)
		talk(&q->a, pool->posted - CONTRACT_DEPTH / 2);
	heard = q->b.heard;
	t->deaf[1] = true;
	for (uint32_t i = pool->posted; i; i--)
		assert_true(say(&p->a, i) >= 0);
	settle(t);
	assert_true(say(&q->a, 100) >= 0);
	settle(t);
	drop(&p->b);
	t->deaf[1] = false;
	hear(&q->b, heard + 1);
}

static void unshare_gives_all_back(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);

	talk(&p->a, 100);
	talk(&p->b, 100);
	t->deaf[1] = true;
	assert_true(say(&p->a, 100) >= 0);
	settle(t);
	start_pair(t, 0);
	for (int i = 0; i < 2; i++) {
		assert_true(t->pool[i]->posted > 0);
		pool_free(t->pool[i]);
		t->pool[i] = pool_new(t->fabric[i], t->mem[i]);
	}
	t->deaf[1] = false;
	settle(t);
	p = establish(t, 0);
	talk(&p->a, 100);
	talk(&p->b, 100);
}

int contract_run_shared_end(void)
{
	const struct CMUnitTest tests[] = {
		contract_test_shared(the_disconnect_waits),
		contract_test_shared(but_not_for_ever),
		contract_test_shared(too_large_ends_its_connection),
		contract_test_shared(destroyed_with_messages),
		contract_test_shared(ended_with_messages),
		contract_test_shared(frees_what_others_wait_for),
		contract_test_shared(unshare_gives_all_back),
	};

	if (!contract_provider_now()->shares)
		return 0; /* contract_run_shared() says so */
	return cmocka_run_group_tests_name("shared Receives, ends", tests, NULL, NULL);
}
