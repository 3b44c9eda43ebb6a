/* SPDX-License-Identifier: BSD-2-Clause */
/* How much memory large results take. */
#include "tests/cmocka_all.h"

#include "tests/session/inside.h"
#include "tests/session/world.h"

static struct world world;

/* Answer up to @most of the calls that @p holds; each takes several Writes. Return: how many were
 * answered. */
static unsigned answer_some(struct peer *p, unsigned most)
{
	bool later[PEER_CALLS] = {false};
	unsigned n = 0;

	for (unsigned i = 0; i < PEER_CALLS; i++) {
		struct peer_serve *s = &p->serves[i];

		if (!s->busy || !s->held_back || ++n <= most)
			continue;
		later[i] = true;
		s->held_back = false;
	}
	n = peer_release(p, true);
	for (unsigned i = 0; i < PEER_CALLS; i++)
		p->serves[i].held_back |= later[i];
	return n;
}

/* 64 READs of 4 MiB hold a fourth of what they return, at most, where they would hold all of it. Few enough are
 * stored, unless none is to be. */
static void many_large_ones_at_once(void **state)
{
	enum { READS = 64, STORED = 8, LARGE = 4 << 20, MOST = 64 << 20 };
	const struct peer_spec first = {.body = 100, .reply = 24, .segs = 1};
	const struct peer_spec spec = {.body = 100,
				       .reply = 24,
				       .segs = 1,
				       .nwrites = 1,
				       .write_caps = {LARGE},
				       .writes = {LARGE}};

	(void)state;
	for (unsigned cuts = 0; cuts < 3; cuts++) {
		struct setup s = setup_defaults(LEG_V1, LEG_V1_OR_V2, 17);
		struct peer *c = &world.pairs[0].client;
		const struct session *in;
		size_t before;

		s.credits = 2 * READS;
		s.max_payload = LARGE;
		s.cut_through_bytes = cuts ? 128 << 10 : 0;
		s.cut_through_from = cuts == 2 ? STORED * LARGE : 0;
		s.memory = (size_t)2 << 30; /* so that all of them could be stored */
		s.peer_memory = (size_t)1 << 30;
		world_new(&world, &s);
		world_connect(&world);
		assert_true(peer_call(c, &first)); /* brings credits */
		world_run(&world, NSEC_PER_SEC);
		world.pairs[0].server.holds = true;
		before = world_used(&world);
		for (unsigned i = 0; i < READS; i++)
			assert_true(peer_call(c, &spec));
		world_run(&world, NSEC_PER_SEC);
		in = inside_session(world.proxy, 0);
		assert_int_equal(in->forward.running, READS);
		if (!cuts)
			assert_true(world_used(&world) - before >= (size_t)READS * LARGE);
		while (answer_some(&world.pairs[0].server, 8))
			world_run(&world, NSEC_PER_SEC);
		assert_int_equal(c->done, 1 + READS);
		assert_int_equal(c->corrupt + c->errors, 0);
		assert_int_equal(proxy_counters(world.proxy)->passed_bytes,
				 cuts == 2 ? (uint64_t)(READS - STORED) * LARGE
				 : cuts	   ? (uint64_t)READS * LARGE
					   : 0);
		if (cuts)
			assert_true(world_arena(&world)->peak <= MOST);
		world_quit(&world);
		world_free(&world);
	}
}

/* Stored results of a hung server's session do not start cut-through for other sessions; its own
 * next result is cut through. */
static void others_are_no_matter(void **state)
{
	enum { STORED = 4, LARGE = 1 << 20 };
	const struct peer_spec first = {.body = 100, .reply = 24, .segs = 1};
	const struct peer_spec spec = {.body = 100,
				       .reply = 24,
				       .segs = 1,
				       .nwrites = 1,
				       .write_caps = {LARGE},
				       .writes = {LARGE}};
	struct setup s = setup_defaults(LEG_V1, LEG_V1_OR_V2, 18);
	struct world_pair *hung = &world.pairs[0], *other = &world.pairs[1];

	(void)state;
	s.pairs = 2;
	s.max_payload = LARGE;
	s.cut_through_bytes = 128 << 10;
	s.cut_through_from = STORED * LARGE;
	s.memory = (size_t)1 << 30;
	world_new(&world, &s);
	world_connect(&world);
	for (unsigned i = 0; i < 2; i++)
		assert_true(peer_call(&world.pairs[i].client, &first)); /* brings credits */
	world_run(&world, NSEC_PER_SEC);
	hung->server.holds = true;
	for (unsigned i = 0; i < STORED; i++)
		assert_true(peer_call(&hung->client, &spec));
	world_run(&world, NSEC_PER_SEC);
	assert_true(peer_call(&other->client, &spec));
	world_run(&world, NSEC_PER_SEC);
	assert_int_equal(other->client.done, 2);
	assert_int_equal(proxy_counters(world.proxy)->passed_bytes, 0);
	assert_true(peer_call(&hung->client, &spec));
	world_run(&world, NSEC_PER_SEC);
	assert_int_equal(peer_release(&hung->server, true), STORED + 1);
	world_run(&world, NSEC_PER_SEC);
	assert_int_equal(hung->client.done, 1 + STORED + 1);
	assert_int_equal(hung->client.corrupt + other->client.corrupt, 0);
	assert_int_equal(proxy_counters(world.proxy)->passed_bytes, LARGE);
	world_quit(&world);
	world_free(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_large_ones_at_once),
		cmocka_unit_test(others_are_no_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
