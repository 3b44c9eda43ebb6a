/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole sessions through the relay over fabric/mem: every pair of versions, both directions. */
#include "tests/cmocka_all.h"

#include "base/log.h"
#include "tests/session/world.h"

static struct world w;

static void one_null_call(void **state)
{
	(void)state;
	for (unsigned cv = LEG_V1; cv <= LEG_V2_EARLY; cv *= 2)
		for (unsigned sv = 1; sv <= 4; sv++) {
			struct setup s = setup_defaults(cv, sv, 1);
			const struct peer_spec spec = {.body = 100, .reply = 24, .segs = 1};
			struct world_pair *p = &w.pairs[0];

			world_new(&w, &s);
			world_connect(&w);
			peer_call(&p->client, &spec);
			world_run(&w, NSEC_PER_SEC);
			assert_int_equal(p->client.done, 1);
			assert_int_equal(p->server.leg.t->version, sv == 1 ? 1 : 2);
			assert_int_equal(peer_is_early(&p->server), sv == LEG_V2_EARLY);
			assert_int_equal(peer_is_early(&p->client), cv == LEG_V2_EARLY);
			assert_int_equal(p->client.corrupt + p->server.corrupt, 0);
			world_quit(&w);
			world_free(&w);
		}
}

/* For all versions, thresholds and shapes every octet arrives, in both directions. */
static void payload_is_equal_on_both_sides(void **state)
{
	struct rng r = rng_seeded("payload", 42);
	const struct load load = {
		.rng = &r, .calls = 200, .rcalls = 50, .depth = 24, .rdepth = 4, .spec = spec_any};
	static const uint32_t sizes[] = {4096, 4096, 8192, 16384};
	struct world_pair *p = &w.pairs[0];

	(void)state;
	for (unsigned round = 0; round < 36; round++) {
		struct setup s =
			setup_defaults(1u << round % 3, 1u << (round / 3) % 3, rng_next(&r));

		s.client_inline = sizes[rng_below(&r, 4)];
		s.gw_inline = sizes[rng_below(&r, 4)];
		s.server_inline = sizes[rng_below(&r, 4)];
		s.credits = 4 + rng_below(&r, 28);
		printf("round %u: v%u-v%u inline %u %u %u credits %u\n", round, s.client_version,
		       s.server_version, s.client_inline, s.gw_inline, s.server_inline, s.credits);
		world_new(&w, &s);
		world_connect(&w);
		assert_true(world_load(&w, &load));
		assert_int_equal(p->client.corrupt + p->server.corrupt, 0);
		assert_int_equal(p->client.errors + p->server.errors, 0);
		assert_int_equal(p->client.unexpected + p->server.unexpected, 0);
		assert_int_equal(p->client.done, 200);
		assert_int_equal(p->server.done, 50);
		world_quit(&w);
		world_free(&w);
	}
}

/* Found with knfsd 6.1: NFSv4 READ failed through v2-v1, and what lay behind the reply in the
 * gateway's memory went out with it. */
static void linux_reply_lengths(bool no_written)
{
	for (unsigned cv = LEG_V1; cv <= LEG_V2_EARLY; cv *= 2) {
		struct setup s = setup_defaults(cv, 1, 7);
		struct peer_spec spec = {.body = 100,
					 .reply = 104,
					 .segs = 1,
					 .nwrites = 1,
					 .write_caps = {200000},
					 .writes = {131071}};
		struct world_pair *p = &w.pairs[0];

		s.net.no_written = no_written;
		world_new(&w, &s);
		p->server.linux_reply_len = true;
		world_connect(&w);
		for (uint32_t i = 0; i < 8; i++) {
			spec.writes[0] = 1 + i * 16411;
			spec.reply_cap = i % 2 ? 5000 : 0;
			peer_call(&p->client, &spec);
		}
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(p->client.done, 8);
		assert_int_equal(p->client.corrupt + p->client.errors, 0);
		world_quit(&w);
		world_free(&w);
	}
}

static void reply_chunk_length_of_linux_beside_write_chunks(void **state)
{
	(void)state;
	linux_reply_lengths(false);
}

/* By the mark alone, as on RDMA devices. */
static void reply_chunk_length_of_linux_where_nothing_tells(void **state)
{
	(void)state;
	linux_reply_lengths(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_null_call),
		cmocka_unit_test(reply_chunk_length_of_linux_beside_write_chunks),
		cmocka_unit_test(reply_chunk_length_of_linux_where_nothing_tells),
		cmocka_unit_test(payload_is_equal_on_both_sides),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
