/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fabric/contract.h"

/*
 * All ends send at random, to instances whose Receives are refilled at random. Now and then a
 * connection ends in one of several ways and is made again. Every message on a living connection
 * arrives, and every Receive comes back once.
 */
enum { ROUNDS = 1500, BOUND = CONTRACT_DEPTH / 2 }; /* messages on their way, of one side */

/* Fewer than the peer's max_recvs are on their way: it is never too many. */
static void say_some(struct side *s, struct rng *rng)
{
	int err;

	for (uint32_t n = rng_below(rng, 6); n; n--) {
		if (s->said - s->peer->heard >= BOUND)
			return;
		err = say(s, rng_below(rng, 300));
		if (err == ERR_AGAIN)
			return;
		assert_true(err >= 0);
	}
}

static void steps(struct contract *t, uint32_t n)
{
	while (n--) {
		pump(t);
		t->provider->step(t);
	}
}

/* Each with the messages the other end did not poll. */
static void end_somehow(struct contract *t, struct pair *p, struct rng *rng)
{
	struct side *first = rng_below(rng, 2) ? &p->a : &p->b;

	t->deaf[0] = rng_below(rng, 2);
	t->deaf[1] = rng_below(rng, 2);
	steps(t, rng_below(rng, 20));
	t->deaf[0] = t->deaf[1] = false;
	switch (rng_below(rng, 3)) {
	case 0:
		fabric_disconnect(first->conn);
		both_end(t, p);
		break;
	case 1:
		drop(first);
		until(t, &first->peer->disconnected);
		break;
	default:
		drop(first);
		drop(first->peer);
	}
	start_pair(t, first->pair);
}

/* After an end that may have taken what was needed: enough for everybody again. */
static void fill_up(struct contract *t)
{
	t->pool[0]->allow = t->pool[1]->allow = UINT32_MAX;
	pump(t);
}

/* Now nothing for a while, now little, now enough. Return: whether none is left. */
static bool ration(struct pool *pool, uint32_t *mood, struct rng *rng)
{
	static const uint32_t moods[] = {1, 2, 20};

	if (rng_below(rng, 10) == 0)
		*mood = moods[rng_below(rng, 3)];
	pool->allow = rng_below(rng, *mood);
	return pool->posted == 0;
}

static void talks_and_ends(void **state)
{
	struct contract *t = *state;
	struct rng rng = rng_seeded("shared soak", 43);
	struct pair *p[] = {establish(t, 0), establish(t, 1)};
	uint32_t mood[2] = {1, 1};
	int dry = 0;

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < 2; i++) {
			dry += ration(t->pool[i], &mood[i], &rng);
			say_some(&p[i]->a, &rng);
			say_some(&p[i]->b, &rng);
		}
		steps(t, 1 + rng_below(&rng, 8));
		if (rng_below(&rng, 50))
			continue;
		fill_up(t);
		end_somehow(t, p[rng_below(&rng, 2)], &rng);
		for (int i = 0; i < 2; i++)
			if (!p[i]->a.conn)
				establish(t, i);
	}
	assert_true(dry > 0);
	fill_up(t);
	for (int i = 0; i < 2; i++) {
		hear(&p[i]->a, p[i]->b.said);
		hear(&p[i]->b, p[i]->a.said);
	}
	settle(t);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(p[i]->a.ndone, p[i]->a.nops);
		assert_int_equal(p[i]->b.ndone, p[i]->b.nops);
		assert_true(t->pool[i]->came_back == 0 || t->provider->hands_back);
	}
}

int contract_run_shared_soak(void)
{
	const struct CMUnitTest tests[] = {
		contract_test_shared(talks_and_ends),
	};

	if (!contract_provider_now()->shares)
		return 0; /* contract_run_shared() says so */
	return cmocka_run_group_tests_name("shared Receives, soak", tests, NULL, NULL);
}
