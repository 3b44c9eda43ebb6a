/* SPDX-License-Identifier: BSD-2-Clause */
/* Data that travel in the Send of their call (docs/rtrext-profile.md), through the relay over fabric/mem. */
#include "tests/cmocka_all.h"

#include <string.h>

#include "base/log.h"
#include "tests/session/inside.h"
#include "tests/session/trip.h"

static void begin(unsigned client, unsigned server, bool client_places, bool server_takes)
{
	struct setup s = setup_defaults(client, server, 5);

	s.client_places = client_places;
	s.gw_bulk = client_places ? TRIP_BULK : 0;
	s.server_bulk = server_takes ? TRIP_BULK : 0;
	/* The early draft has no properties. */
	if (client == LEG_V2_EARLY)
		s.client_knows = s.gw_bulk;
	if (server == LEG_V2_EARLY)
		s.gw_knows = s.server_bulk;
	trip_begin(&s);
}

/* A WRITE of NFSv3, whose reply is known to be short; the flavor of its credentials is what the servers here
 * take for the length of the reply. */
static struct peer_spec spec_write(uint32_t bytes)
{
	enum { WORDS = 15 };
	const uint32_t call[WORDS] = {0, 2, 100003, 3, 7, 100, [WORDS - 1] = bytes};

	return (struct peer_spec){.body = 200,
				  .reply = 100,
				  .segs = 1,
				  .nreads = 1,
				  .reads = {bytes},
				  .words = trip_words(call, WORDS),
				  .nwords = WORDS};
}

/* One WRITE of @bytes. Return: how long it took. */
static nsec_t write_once(uint32_t bytes)
{
	const struct peer_spec spec = spec_write(bytes);

	return trip_call(&spec);
}

static uint64_t placed_before;

/* Everybody has said his first words. */
static void greet_all(void)
{
	(void)write_once(8); /* in the early draft no option: it asks what is spoken */
	w.pairs[0].client.placed_out = w.pairs[0].server.placed_in = 0;
	placed_before = proxy_counters(w.proxy)->placed;
	moved = (struct trip_moved){0};
}

/* Over each hop: one way for the call, one way back for the reply, and two more for a Read. */
static void one_trip_each_way(void **state)
{
	static const struct {
		unsigned client, server;
		bool places, takes;
		unsigned ways; /* of a millisecond */
	} cases[] = {
		{LEG_V1, LEG_V1, false, false, 8},	{LEG_V2, LEG_V2, false, false, 8},
		{LEG_V1, LEG_V2, false, true, 6},	{LEG_V2, LEG_V1, true, false, 6},
		{LEG_V2, LEG_V2, true, true, 4},	{LEG_V2, LEG_V2, true, false, 6},
		{LEG_V2, LEG_V2, false, true, 6},	{LEG_V2_EARLY, LEG_V1, true, false, 6},
		{LEG_V1, LEG_V2_EARLY, false, true, 6}, {LEG_V2_EARLY, LEG_V2_EARLY, true, true, 4},
		{LEG_V2_EARLY, LEG_V2, true, true, 4},	{LEG_V2, LEG_V2_EARLY, true, true, 4},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(cases[i].client, cases[i].server, cases[i].places, cases[i].takes);
		greet_all();
		for (unsigned k = 0; k < TRIP_SIZES; k++) {
			uint64_t reads = (cases[i].places ? 0u : trip_sizes[k]) +
					 (uint64_t)(cases[i].takes ? 0 : trip_sizes[k]);
			/* Memory exposed to the server is withdrawn before the reply is
			 * forwarded. */
			nsec_t least = cases[i].ways * NSEC_PER_MS,
			       most = least + (cases[i].takes ? 0 : NSEC_PER_MS);

			moved.read = 0;
			assert_in_range(write_once(trip_sizes[k]), least, most);
			assert_int_equal(moved.read, reads);
		}
		assert_int_equal(w.pairs[0].client.placed_out, cases[i].places ? TRIP_SIZES : 0);
		assert_int_equal(w.pairs[0].server.placed_in, cases[i].takes ? TRIP_SIZES : 0);
		assert_int_equal(proxy_counters(w.proxy)->placed - placed_before,
				 cases[i].takes ? TRIP_SIZES : 0);
		trip_end();
	}
}

/* Four calls at the server, of so many octets each: memory of the gateway's in use meanwhile. */
static size_t used_for_four(uint32_t bytes)
{
	const struct peer_spec spec = spec_write(bytes);
	struct world_pair *p = &w.pairs[0];
	uint64_t done = p->client.done;
	size_t used;

	p->server.holds = true;
	for (unsigned n = 0; n < 4; n++)
		assert_true(peer_call(&p->client, &spec));
	world_run(&w, NSEC_PER_SEC);
	used = world_used(&w);
	p->server.holds = false;
	assert_int_equal(peer_release(&p->server, true), 4);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(p->client.done, done + 4);
	return used;
}

/* Data that came with a call is forwarded from its Receive: no memory is taken, and nothing is
 * copied. */
static void data_stay_where_they_came(void **state)
{
	static const unsigned servers[] = {LEG_V1, LEG_V2};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		begin(LEG_V2, servers[i], true, i == 1);
		greet_all();
		assert_int_equal(used_for_four(TRIP_BULK), used_for_four(8));
		trip_end();
	}
}

/* More than a Receive has, or more items: in the forms of draft -07, all the same. */
static void what_does_not_fit_goes_as_before(void **state)
{
	struct peer_spec spec = {
		.body = 200, .reply = 100, .segs = 2, .nreads = 1, .reads = {TRIP_BULK + 1}};
	struct world_pair *p = &w.pairs[0];

	(void)state;
	begin(LEG_V2, LEG_V2, true, true);
	greet_all();
	assert_true(peer_call(&p->client, &spec));
	spec = (struct peer_spec){
		.body = 200, .reply = 100, .segs = 1, .nreads = 2, .reads = {5, 9000}};
	assert_true(peer_call(&p->client, &spec));
	spec = (struct peer_spec){
		.body = 4000, .reply = 100, .segs = 1, .nreads = 1, .reads = {500}};
	assert_true(peer_call(&p->client, &spec));
	spec = (struct peer_spec){.body = 200,
				  .reply = 100,
				  .segs = 1,
				  .nreads = 1,
				  .reads = {500},
				  .nwrites = 1,
				  .write_caps = {500},
				  .writes = {400}};
	assert_true(peer_call(&p->client, &spec));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(p->client.done, 5);
	/* All but that which asks for data. */
	assert_int_equal(proxy_counters(w.proxy)->placed - placed_before, 3);
	trip_end();
}

/* Every other one a WRITE. */
static struct peer_spec spec_writes(struct rng *r, const struct world *world,
				    const struct peer *client)
{
	if (rng_below(r, 2))
		return spec_any(r, world, client);
	return (struct peer_spec){.body = 200 + 4 * rng_below(r, 900),
				  .reply = 24 + 4 * rng_below(r, 200),
				  .segs = 1,
				  .nreads = 1,
				  .reads = {1 + rng_below(r, rng_below(r, 3) ? 300000 : 6000)}};
}

/* Any calls, both ways, in every pair of versions. */
static void any_load(void **state)
{
	struct rng r = rng_seeded("place", 11);
	const struct load load = {.rng = &r,
				  .calls = 60,
				  .rcalls = 20,
				  .depth = 12,
				  .rdepth = 4,
				  .spec = spec_writes};
	uint64_t placed = 0;

	(void)state;
	for (unsigned round = 0; round < 18; round++) {
		struct setup s =
			setup_defaults(1u << round % 3, 1u << (round / 3) % 3, rng_next(&r));
		struct world_pair *p = &w.pairs[0];

		s.client_places = rng_below(&r, 4);
		s.gw_bulk = 65536u << rng_below(&r, 5);
		s.server_bulk = 65536u << rng_below(&r, 5);
		if (s.client_version == LEG_V2_EARLY)
			s.client_knows = s.gw_bulk;
		if (s.server_version == LEG_V2_EARLY)
			s.gw_knows = s.server_bulk;
		s.credits = 4 + rng_below(&r, 12);
		trip_load(&s, &load);
		placed += p->client.placed_out + p->server.placed_in;
		trip_end();
	}
	assert_true(placed > 80);
}

/* Calls whose data wait in their Receives, and a server that goes away under them. */
static void ends_with_data_in_receives(void **state)
{
	struct peer_spec spec = {
		.body = 200, .reply = 100, .segs = 1, .nreads = 1, .reads = {300000}};
	struct world_pair *p = &w.pairs[0];

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		begin(LEG_V2, i % 2 ? LEG_V2 : LEG_V1, true, i % 2);
		greet_all();
		p->server.holds = true;
		for (unsigned n = 0; n < 6; n++)
			assert_true(peer_call(&p->client, &spec));
		world_run(&w, i < 2 ? NSEC_PER_SEC : 2500 * 1000);
		leg_close(&p->server.leg, ERR_CLOSED, "it goes");
		world_run(&w, NSEC_PER_SEC);
		assert_true(p->client.closed);
		world_quit(&w);
		world_free(&w);
	}
}

/* A server of the early draft whose Receives are otherwise than was said: the first call with its data is
 * refused, and goes again as the base protocol has it; those behind it do so at once. */
static void a_server_with_other_receives_refuses_placed_data(void **state)
{
	static const uint32_t has[] = {0, 8192};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct setup s = setup_defaults(LEG_V1, LEG_V2_EARLY, 5);
		struct world_pair *p = &w.pairs[0];

		s.gw_knows = 4096;
		s.server_inline = 16384;
		s.server_bulk = has[i];
		world_new(&w, &s);
		world_connect(&w);
		greet_all();
		for (unsigned n = 0; n < 3; n++)
			(void)write_once(3000);
		assert_int_equal(p->client.done, 4);
		assert_int_equal(p->server.placed_in, 0);
		assert_int_equal(proxy_counters(w.proxy)->placed - placed_before, 1);
		assert_int_equal(proxy_counters(w.proxy)->formed_again, 1);
		trip_end();
	}
}

static const struct rpc_transport_ops *right;
static uint32_t far;

static int encode_far(struct rpc_transport *t, struct rpc_tx *tx, uint8_t *hdr, size_t cap,
		      size_t *hdr_len, size_t *body_len)
{
	int rc = right->encode(t, tx, hdr, cap, hdr_len, body_len);

	if (tx->ndata)
		tx->data[0].gap = far;
	return rc;
}

/* Were a version ever wrong about the zeros before data: the session ends, and no piece is put where there is no room. */
static void no_send_has_more_pieces_than_there_are(void **state)
{
	static const uint32_t gaps[] = {1u << 16, 1u << 31, UINT32_MAX};
	const struct peer_spec spec = spec_write(3000);
	struct rpc_transport_ops wrong;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct rpc_transport *t;

		begin(LEG_V1, LEG_V2, false, true);
		greet_all();
		t = inside_session(w.proxy, 0)->server.t;
		right = t->ops;
		wrong = *right;
		wrong.encode = encode_far;
		t->ops = &wrong;
		far = gaps[i];
		assert_true(peer_call(&w.pairs[0].client, &spec));
		world_run(&w, NSEC_PER_SEC);
		assert_true(w.pairs[0].client.closed);
		assert_int_equal(proxy_sessions(w.proxy), 0);
		trip_end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_with_other_receives_refuses_placed_data),
		cmocka_unit_test(one_trip_each_way),
		cmocka_unit_test(data_stay_where_they_came),
		cmocka_unit_test(what_does_not_fit_goes_as_before),
		cmocka_unit_test(any_load),
		cmocka_unit_test(ends_with_data_in_receives),
		cmocka_unit_test(no_send_has_more_pieces_than_there_are),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("place", tests, NULL, NULL);
}
