/* SPDX-License-Identifier: BSD-2-Clause */
/* How much memory large results take, and how large they may be. */
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

enum { MOST = 1 << 20, HEADERS = 8192 };

/* Make the call @spec. Return: the code of the error that the client got, or 0. */
static unsigned outcome(const struct peer_spec *spec)
{
	struct peer *c = &world.pairs[0].client;
	uint64_t done = c->done, errors = c->errors;

	assert_true(peer_call(c, spec));
	world_run(&world, 10 * NSEC_PER_SEC);
	assert_int_equal(c->done + c->errors, done + errors + 1);
	assert_int_equal(c->corrupt, 0);
	assert_true(c->open);
	return c->errors > errors ? c->last_error.code : 0;
}

static void begin_smallest(unsigned client, unsigned server, uint32_t payload, size_t memory)
{
	const struct peer_spec first = {.body = 100, .reply = 24, .segs = 1};
	struct setup s = setup_defaults(client, server, 19);

	s.max_payload = s.max_message = payload;
	s.memory = memory;
	world_new(&world, &s);
	world_connect(&world);
	assert_int_equal(outcome(&first), 0); /* brings credits */
}

static void end_smallest(void)
{
	world_quit(&world);
	world_free(&world);
}

/* The least memory for a max_payload of 1 MiB, which is the largest item of the server: data without
 * four octets at the end and their pad, wrapped arguments and wrapped results travel. One octet above
 * what may be in a chunk besides is refused. */
static void the_largest_item_travels_with_its_header(void **state)
{
	static const unsigned versions[] = {LEG_V1, LEG_V2};
	const struct peer_spec padded = {.body = 100,
					 .reply = 24,
					 .segs = 2,
					 .nwrites = 1,
					 .write_caps = {MOST + 1},
					 .writes = {MOST - 3}};
	const struct peer_spec call = {
		.body = MOST + 300, .by_chunk = true, .reply = 24, .segs = 1};
	const struct peer_spec reply = {
		.body = 100, .reply_cap = MOST + 1024, .reply = MOST + 124, .segs = 1};
	struct peer_spec over;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		unsigned refused = i < 2 ? RPC_ERROR_CHUNK : RPC_ERROR_SYSTEM;

		begin_smallest(versions[i / 2], versions[i % 2], MOST, 32 << 20);
		assert_int_equal(outcome(&padded), 0);
		assert_int_equal(outcome(&call), 0);
		assert_int_equal(outcome(&reply), 0);
		over = padded;
		over.write_caps[0] = MOST + 4;
		assert_int_equal(outcome(&over), 0);
		over.write_caps[0] = MOST + 5;
		assert_int_equal(outcome(&over), refused);
		over = call;
		over.body = MOST + HEADERS;
		assert_int_equal(outcome(&over), 0);
		over.body = MOST + HEADERS + 4;
		assert_int_equal(outcome(&over), refused);
		end_smallest();
	}
}

/* The room for a header in the Reply chunk would need a block twice as large. Beside another item of
 * max_payload the range has no room for that, so the Reply chunk gets max_payload. */
static void room_for_a_header_costs_no_call(void **state)
{
	const uint32_t most = 8 << 20;
	const struct peer_spec spec = {.body = 100,
				       .reply_cap = most + 1024,
				       .reply = 100000,
				       .segs = 1,
				       .nwrites = 1,
				       .write_caps = {most},
				       .writes = {most}};

	(void)state;
	begin_smallest(LEG_V1, LEG_V1, most, 96 << 20);
	assert_int_equal(outcome(&spec), 0);
	end_smallest();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_large_ones_at_once),
		cmocka_unit_test(others_are_no_matter),
		cmocka_unit_test(the_largest_item_travels_with_its_header),
		cmocka_unit_test(room_for_a_header_costs_no_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
