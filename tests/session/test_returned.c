/* SPDX-License-Identifier: BSD-2-Clause */
/* Data that come with a reply in its Send (docs/rtrext-profile.md, section 6), through the relay over fabric/mem. */
#include "tests/cmocka_all.h"

#include <string.h>

#include "base/log.h"
#include "tests/session/trip.h"
#include "v2/error_queue.h"

/* struct ends - versions, and which of the two hops has the extension. */
struct ends {
	unsigned client, server;
	bool asks, answers;
};

static void set_bulk(struct setup *s, const struct ends *e, uint32_t bulk)
{
	s->client_asks = e->asks;
	s->client_bulk = s->gw_bulk = e->asks ? bulk : 0;
	s->gw_up_bulk = s->server_bulk = e->answers ? bulk : 0;
}

static void begin(const struct ends *e)
{
	struct setup s = setup_defaults(e->client, e->server, 5);

	set_bulk(&s, e, TRIP_BULK);
	s.memory = s.peer_memory = 256 << 20;
	trip_begin(&s);
}

/*
 * A READ of NFSv3, whose reply is known to be short beside its data. What the servers here take for their orders lies in
 * its credentials: a reply of @reply octets, and @bytes of data.
 */
static struct peer_spec spec_read(uint32_t cap, uint32_t bytes, uint32_t reply)
{
	enum { WORDS = 21 };
	const uint32_t call[WORDS] = {0, 2,	100003, 3, 6,  reply,
				      4, bytes, 0,	0, 28, [WORDS - 1] = cap};

	return (struct peer_spec){.body = 200,
				  .reply = reply,
				  .segs = 1,
				  .nwrites = 1,
				  .write_caps = {cap},
				  .writes = {bytes},
				  .words = trip_words(call, WORDS),
				  .nwords = WORDS,
				  .exact = true};
}

static nsec_t read_once(uint32_t cap, uint32_t bytes)
{
	const struct peer_spec spec = spec_read(cap, bytes, 100);

	return trip_call(&spec);
}

static const struct ends pairs[] = {
	{LEG_V1, LEG_V1, false, false}, {LEG_V2, LEG_V2, false, false},
	{LEG_V1, LEG_V2, false, true},	{LEG_V2, LEG_V1, true, false},
	{LEG_V2, LEG_V2, true, true},	{LEG_V2, LEG_V2, true, false},
	{LEG_V2, LEG_V2, false, true},
};
enum { PAIRS = sizeof(pairs) / sizeof(pairs[0]) };

/* One way for the call and one back on each hop, whatever the length; and where both ends have the extension no octet is
 * written. For whole words nothing is exposed for the server either, that would have to be withdrawn first. */
static void one_trip_each_way(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PAIRS; i++) {
		const struct peer *client, *server;
		uint64_t sent = 0;

		begin(&pairs[i]);
		(void)read_once(8, 8);
		client = &w.pairs[0].client;
		server = &w.pairs[0].server;
		for (unsigned k = 0; k < TRIP_SIZES; k++) {
			/* A client here wishes another way each time: one of four is by Write alone, one
			 * by Send up to half of what it could be. */
			uint64_t sent_in = client->returned_in, before = moved.written;
			nsec_t took = read_once(trip_sizes[k], trip_sizes[k]);
			bool written_first = !pairs[i].answers;
			uint64_t in = client->returned_in - sent_in, most;

			assert_in_range(took, 4 * NSEC_PER_MS, 5 * NSEC_PER_MS);
			/* Otherwise memory is exposed to the server as well. */
			if (pairs[i].answers && trip_sizes[k] % 4 == 0)
				assert_int_equal(took, 4 * NSEC_PER_MS);
			most = trip_sizes[k] * ((in ? UINT64_C(0) : 1) + written_first);
			assert_int_equal(moved.written - before, most);
			sent += in;
		}
		assert_int_equal(server->returned_out, pairs[i].answers ? TRIP_SIZES + 1 : 0);
		assert_int_equal(proxy_counters(w.proxy)->asked,
				 pairs[i].answers ? TRIP_SIZES + 1 : 0);
		assert_int_equal(proxy_counters(w.proxy)->replies_placed, client->returned_in);
		assert_true(sent >= (pairs[i].asks ? TRIP_SIZES / 2 - 1 : 0));
		assert_true(pairs[i].asks || !sent);
		trip_end();
	}
}

/* A result that was asked for by Send alone has no chunk that tells its server how long it may be. If it is longer than its
 * client's chunk, the client gets the error that a server without the extension reports, and the session goes on. */
static void longer_than_its_chunk(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PAIRS; i++) {
		const struct world_pair *p = &w.pairs[0];
		const struct peer_spec spec = spec_read(4000, 4004, 100);

		if (!pairs[i].answers || pairs[i].asks)
			continue;
		begin(&pairs[i]);
		(void)read_once(8, 8);
		assert_true(peer_call(&w.pairs[0].client, &spec));
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(p->server.served, 2);
		assert_int_equal(p->client.errors, 1);
		assert_int_equal(p->client.last_error.code, p->client.leg.t->version == 1
								    ? RPC_ERROR_CHUNK
								    : RPC_ERROR_WRITE_RESOURCE);
		(void)read_once(4000, 4000);
		assert_int_equal(p->client.done, 2);
		assert_int_equal(proxy_sessions(w.proxy), 1);
		world_quit(&w);
		world_free(&w);
	}
}

/* A READ that returns nothing, one that returns less than it could, and one whose reply is too long to come with its
 * data. */
static void short_and_long_replies(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PAIRS; i++) {
		/* Version 1 has no other way for a longer one. */
		bool any = pairs[i].client == LEG_V2 && pairs[i].server == LEG_V2;
		const uint32_t replies[] = {24, 100, 3900, any ? 5000 : 3000};

		begin(&pairs[i]);
		for (unsigned n = 0; n < 8; n++) {
			(void)read_once(TRIP_BULK, 0);
			(void)read_once(TRIP_BULK, 1 + n);
			(void)read_once(TRIP_BULK + 4096, TRIP_BULK + 4 - n);
		}
		for (unsigned n = 0; n < 16; n++) {
			struct peer_spec spec = {.body = 200,
						 .reply = replies[n % 4],
						 .segs = 1 + n % 3,
						 .nwrites = 1 + n % 2,
						 .write_caps = {20000, 3000},
						 .writes = {10000 + n, 2999}};

			(void)trip_call(&spec);
		}
		assert_int_equal(w.pairs[0].client.done, 40);
		trip_end();
	}
}

/* Any calls, both ways. */
static struct peer_spec spec_reads(struct rng *r, const struct world *world,
				   const struct peer *client)
{
	struct peer_spec s = {.body = 200 + 4 * rng_below(r, 900),
			      .reply = 24 + 4 * rng_below(r, 200),
			      .segs = 1 + rng_below(r, 3)};

	if (rng_below(r, 2))
		return spec_any(r, world, client);
	s.nwrites = 1 + rng_below(r, 2);
	for (unsigned i = 0; i < s.nwrites; i++) {
		s.write_caps[i] = 1 + rng_below(r, rng_below(r, 3) ? 300000 : 6000);
		s.writes[i] = rng_below(r, s.write_caps[i] + 1);
	}
	return s;
}

static void any_load(void **state)
{
	struct rng r = rng_seeded("returned", 13);
	const struct load load = {
		.rng = &r, .calls = 60, .rcalls = 20, .depth = 12, .rdepth = 4, .spec = spec_reads};
	uint64_t returned = 0;

	(void)state;
	for (unsigned round = 0; round < 18; round++) {
		const struct ends e = {1u << round % 3, 1u << (round / 3) % 3, rng_below(&r, 4),
				       rng_below(&r, 4)};
		struct setup s = setup_defaults(e.client, e.server, rng_next(&r));
		struct world_pair *p = &w.pairs[0];

		set_bulk(&s, &e, 65536u << rng_below(&r, 4));
		s.client_places = rng_below(&r, 2);
		s.memory = s.peer_memory = 256 << 20;
		s.credits = 4 + rng_below(&r, 12);
		trip_load(&s, &load);
		returned += p->client.returned_in + p->server.returned_out;
		trip_end();
	}
	assert_true(returned > 80);
}

/* A client that goes while data for it lie in the Receives of the server's leg; a server that does. */
static void ends_with_data_in_receives(void **state)
{
	const struct peer_spec spec = {.body = 200,
				       .reply = 100,
				       .segs = 1,
				       .nwrites = 1,
				       .write_caps = {300000},
				       .writes = {300000}};

	(void)state;
	for (unsigned i = 0; i < 2 * PAIRS; i++)
		for (nsec_t at = NSEC_PER_MS; at < 6 * NSEC_PER_MS; at += NSEC_PER_MS / 2) {
			struct world_pair *p = &w.pairs[0];

			begin(&pairs[i / 2]);
			for (unsigned n = 0; n < 6; n++)
				assert_true(peer_call(&p->client, &spec));
			world_run(&w, at);
			leg_close(i % 2 ? &p->server.leg : &p->client.leg, ERR_CLOSED, "it goes");
			world_run(&w, NSEC_PER_SEC);
			assert_int_equal(p->client.corrupt + p->server.corrupt, 0);
			world_quit(&w);
			world_free(&w);
		}
}

/* A reply that was formed with data waits for credits when its client withdraws support for that
 * form: the calls still get their replies, by RDMA Write. */
static void replies_that_wait_have_another_way(void **state)
{
	enum { CALLS = 12 };
	const struct ends e = {LEG_V2, LEG_V1, true, false};
	const struct peer_spec spec = {.body = 200,
				       .reply = 100,
				       .segs = 1,
				       .nwrites = 2,
				       .write_caps = {5000, 3000},
				       .writes = {5000, 2999}};
	const struct rtr_fault fault = {.code = RTR_BAD_TARGET};
	struct setup s = setup_defaults(e.client, e.server, 7);
	struct world_pair *p = &w.pairs[0];
	struct v2_hdr h = {.vers = V2_VERSION};
	struct rtr_id bad = {.is_reply = true};

	(void)state;
	set_bulk(&s, &e, TRIP_BULK);
	s.memory = s.peer_memory = 256 << 20;
	s.credits = CALLS;
	trip_begin(&s);
	(void)trip_call(&spec);
	p->server.holds = true;
	leg_set_grant(&p->client.leg, 2);
	for (unsigned n = 0; n < CALLS; n++)
		assert_true(peer_call(&p->client, &spec));
	world_run(&w, NSEC_PER_SEC);
	p->server.holds = false;
	assert_int_equal(peer_release(&p->server, true), CALLS);
	while (p->client.done == 1) {
		world_turn(&w);
		assert_true(memnet_step(w.net, memnet_now(w.net) + NSEC_PER_SEC));
	}
	bad.xid = p->client.next_xid;
	assert_int_equal(v2_queue_fault(&p->client.leg.u.v2, &h, &fault, &bad, NULL), 0);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(p->client.errors, 0);
	assert_int_equal(p->client.done, 1 + CALLS);
	trip_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_trip_each_way),
		cmocka_unit_test(longer_than_its_chunk),
		cmocka_unit_test(short_and_long_replies),
		cmocka_unit_test(any_load),
		cmocka_unit_test(ends_with_data_in_receives),
		cmocka_unit_test(replies_that_wait_have_another_way),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("returned", tests, NULL, NULL);
}
