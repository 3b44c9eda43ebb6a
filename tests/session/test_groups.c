/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of the round-trip extension that take several Sends (docs/rtrext-profile.md, section 4), through the relay over
 * fabric/mem. */
#include "tests/cmocka_all.h"

#include <string.h>

#include "base/log.h"
#include "tests/session/inside.h"
#include "tests/session/world.h"

static struct world w;

enum { BULK = 16384, MOST = 16 * BULK };

/* struct moved - what crossed the network. */
static struct moved {
	uint64_t read, written, messages;
} moved;

static void count_moved(void *arg, struct fabric_conn *to, enum fabric_ev_type kind,
			const uint8_t *octets, uint32_t len)
{
	(void)arg;
	(void)to;
	(void)octets;
	moved.read += kind == FABRIC_EV_READ ? len : 0;
	moved.written += kind == FABRIC_EV_WRITE ? len : 0;
	moved.messages += kind == FABRIC_EV_RECV;
}

/* Both hops have the extension, and Receives of @BULK. */
static struct setup setup_both(unsigned client, unsigned server, uint64_t seed)
{
	struct setup s = setup_defaults(client, server, seed);

	s.client_places = s.client_asks = client != LEG_V1;
	s.gw_bulk = s.client_bulk = client == LEG_V1 ? 0 : BULK;
	s.server_bulk = s.gw_up_bulk = server == LEG_V1 ? 0 : BULK;
	s.client_knows = client == LEG_V2_EARLY ? BULK : 0;
	s.gw_knows = server == LEG_V2_EARLY ? BULK : 0;
	s.credits = 40;
	s.max_message = 1 << 20;
	return s;
}

static void begin(const struct setup *s)
{
	static const struct memnet_watcher watcher = {.moved = count_moved};

	world_new(&w, s);
	memnet_watch(w.net, &watcher);
	world_connect(&w);
}

static void end(void)
{
	const struct world_pair *p = &w.pairs[0];

	assert_int_equal(p->client.corrupt + p->server.corrupt, 0);
	assert_int_equal(p->client.errors + p->server.errors, 0);
	assert_int_equal(p->client.unexpected + p->server.unexpected, 0);
	world_quit(&w);
	world_free(&w);
}

/* Return: how long one call took. */
static nsec_t call_once(const struct peer_spec *spec)
{
	struct world_pair *p = &w.pairs[0];
	uint64_t done = p->client.done;
	nsec_t began = memnet_now(w.net), took;

	assert_true(peer_call(&p->client, spec));
	while (p->client.done == done) {
		world_turn(&w);
		assert_true(memnet_step(w.net, began + NSEC_PER_SEC));
		world_turn(&w);
	}
	took = memnet_now(w.net) - began;
	world_run(&w, NSEC_PER_SEC);
	return took;
}

/* A WRITE of NFSv3, whose reply is known to be short; the flavor of its credentials is what the servers here
 * take for the length of the reply. */
static struct peer_spec spec_write(uint32_t body, uint32_t bytes)
{
	enum { WORDS = 15 };
	static uint32_t words[16][WORDS];
	static unsigned next;
	uint32_t *at = words[next++ % 16];
	const uint32_t call[WORDS] = {0, 2, 100003, 3, 7, 100, [WORDS - 1] = bytes};

	memcpy(at, call, sizeof(call));
	return (struct peer_spec){.body = body,
				  .reply = 100,
				  .segs = 1,
				  .nreads = 1,
				  .reads = {bytes},
				  .words = at,
				  .nwords = WORDS};
}

/* A READ of NFSv3: its reply is known to be short beside its data, of which the servers here find the length where
 * credentials are. */
static struct peer_spec spec_read(uint32_t bytes)
{
	enum { WORDS = 21 };
	static uint32_t words[16][WORDS];
	static unsigned next;
	uint32_t *at = words[next++ % 16];
	const uint32_t call[WORDS] = {0, 2,	100003, 3, 6,  100,
				      4, bytes, 0,	0, 28, [WORDS - 1] = bytes};

	memcpy(at, call, sizeof(call));
	return (struct peer_spec){.body = 200,
				  .reply = 100,
				  .segs = 1,
				  .nwrites = 1,
				  .write_caps = {bytes},
				  .writes = {bytes},
				  .words = at,
				  .nwords = WORDS,
				  .exact = true};
}

static const uint32_t sizes[] = {BULK - 1,     BULK,	      BULK + 1, 2 * BULK, 2 * BULK + 3,
				 5 * BULK - 1, 12 * BULK + 2, MOST - 1, MOST};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static const unsigned versions[] = {LEG_V1, LEG_V2, LEG_V2_EARLY};

/* Data of a call that are longer than a Receive: no RDMA Read on a hop that has the extension, and no trip. */
static void calls_of_any_size(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 9; i++) {
		unsigned client = versions[i / 3], server = versions[i % 3];
		unsigned plain = (client == LEG_V1 ? 1u : 0u) + (server == LEG_V1 ? 1u : 0u);
		struct setup s = setup_both(client, server, 7);
		const struct peer_spec first = spec_write(200, 8);

		s.net.latency_min = s.net.latency_max = NSEC_PER_MS;
		begin(&s);
		(void)call_once(&first); /* over the early draft no option */
		for (unsigned k = 0; k < SIZES; k++) {
			const struct peer_spec spec = spec_write(200, sizes[k]);
			nsec_t least = (4 + 2 * plain) * NSEC_PER_MS;

			moved = (struct moved){0};
			assert_in_range(call_once(&spec), least, least + NSEC_PER_MS);
			assert_int_equal(moved.read, (uint64_t)plain * sizes[k]);
			assert_int_equal(moved.written, 0);
		}
		end();
	}
}

/* A payload stream that is longer than what is before the data, with data and without. */
static void streams_of_any_size(void **state)
{
	static const uint32_t bodies[] = {3900, 4000, 4096, 8000, 20000, 40000};

	(void)state;
	for (unsigned i = 3; i < 9; i++) { /* version 1 has chunks for it */
		struct setup s = setup_both(versions[i / 3], versions[i % 3], 8);
		const struct peer_spec first = spec_write(200, 8);

		begin(&s);
		(void)call_once(&first);
		for (unsigned k = 0; k < sizeof(bodies) / sizeof(bodies[0]); k++) {
			const struct peer_spec small = spec_write(bodies[k], 5),
					       large = spec_write(bodies[k], 3 * BULK + 1);
			const struct peer_spec two = {.body = bodies[k],
						      .reply = 100,
						      .segs = 1,
						      .nreads = 2,
						      .reads = {BULK + 5, BULK + 7}};

			(void)call_once(&small);
			(void)call_once(&large);
			(void)call_once(&two);
		}
		end();
	}
}

/* Data of a reply, where the requester leaves the choice: in so many Sends, over the early draft as many as it kept
 * Receives for. */
static void replies_of_any_size(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 9; i++) {
		unsigned client = versions[i / 3], server = versions[i % 3];
		struct setup s = setup_both(client, server, 9);
		const struct peer_spec first = spec_write(200, 8);
		const struct peer *end_server = &w.pairs[0].server;
		uint64_t placed;

		begin(&s);
		(void)call_once(&first);
		placed = proxy_counters(w.proxy)->replies_placed;
		for (unsigned k = 2; k < SIZES; k++) {
			const struct peer_spec spec = spec_read(sizes[k]);

			moved = (struct moved){0};
			(void)call_once(&spec);
			assert_int_equal(moved.read, 0);
			if (client == LEG_V1 && server != LEG_V1)
				assert_int_equal(moved.written, sizes[k]);
		}
		placed = proxy_counters(w.proxy)->replies_placed - placed;
		assert_in_range(placed, client != LEG_V1, client != LEG_V1 ? SIZES : 0);
		assert_int_equal(end_server->returned_out, server != LEG_V1 ? SIZES - 2 : 0);
		end();
	}
}

/* All of them put together in one turn would take milliseconds, in which nobody else has one. */
static void a_turn_copies_some(void **state)
{
	enum { LONG = 512 << 10, ALL = 15 * LONG, TURN = 512 << 10 };
	const struct peer_spec first = spec_write(200, 8), long_one = spec_write(200, ALL);
	struct setup s = setup_both(LEG_V2, LEG_V2, 17);
	struct world_pair *p = &w.pairs[0];
	unsigned most = 0;

	(void)state;
	s.client_bulk = s.gw_bulk = s.server_bulk = s.gw_up_bulk = LONG;
	s.max_payload = s.max_message = 16 << 20;
	s.memory = s.peer_memory = 512 << 20;
	begin(&s);
	(void)call_once(&first);
	assert_true(peer_call(&p->client, &long_one));
	while (p->client.done < 2) {
		unsigned turns = 1;

		peer_turn(&p->client);
		peer_turn(&p->server);
		while (proxy_turn(w.proxy, memnet_now(w.net)))
			turns++;
		most = turns > most ? turns : most;
		assert_true(memnet_step(w.net, memnet_now(w.net) + NSEC_PER_SEC));
	}
	assert_int_equal(p->client.placed_out, 2);
	assert_true(most >= (ALL - LONG) / TURN);
	end();
}

/* The gateway has one turn in @pause. */
static void slow_turn(nsec_t pause)
{
	nsec_t end = memnet_now(w.net) + pause;

	for (unsigned i = 0; i < w.s.pairs; i++) {
		peer_turn(&w.pairs[i].client);
		peer_turn(&w.pairs[i].server);
	}
	(void)proxy_turn(w.proxy, memnet_now(w.net));
	while (memnet_step(w.net, end))
		;
}

/* The client has sent its whole call, and all of it is here. It is not blamed for the gateway's
 * delay, even if another session waits for the memory. */
static void a_client_is_not_blamed_for_slow_copying(void **state)
{
	enum { LONG = 512 << 10, ALL = 15 * LONG };
	const struct peer_spec first = spec_write(200, 8), long_one = spec_write(200, ALL),
			       other = {.body = 200000, .reply = 24, .segs = 1};
	struct setup s = setup_both(LEG_V2, LEG_V1, 19);
	struct peer *client = &w.pairs[0].client, *behind = &w.pairs[1].client;
	const struct leg *leg, *waits;
	unsigned waited_s = 0;

	(void)state;
	s.pairs = 2;
	s.client_bulk = s.gw_bulk = LONG;
	s.credits = 20;
	s.max_payload = s.max_message = 8 << 20;
	s.memory = 64 << 20; /* there is room for one such call */
	world_new(&w, &s);
	w.routes[1].client.bulk_bytes = 0;
	for (unsigned i = 0; i < 2; i++) { /* sessions are in the order in which they came */
		world_connect_pair(&w, i);
		world_run(&w, NSEC_PER_SEC);
	}
	(void)call_once(&first);
	leg = &inside_session(w.proxy, 0)->client;
	waits = &inside_session(w.proxy, 1)->client;
	assert_true(peer_call(client, &long_one));
	while (leg->group_state != LEG_GROUP_COPYING)
		slow_turn(NSEC_PER_MS);
	assert_true(peer_call(behind, &other));
	while (leg->group_state == LEG_GROUP_COPYING) {
		slow_turn(NSEC_PER_SEC);
		waited_s += !!waits->stalled;
	}
	assert_true(waited_s > 8);
	world_run(&w, 3 * NSEC_PER_SEC);
	assert_int_equal(client->done, 2);
	assert_int_equal(behind->done, 1);
	assert_int_equal(proxy_counters(w.proxy)->peer_faults, 0);
	end();
}

/* A peer with fewer credits than a group needs sends none, and nothing waits for more. */
static void few_credits(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 9; i++) {
		struct setup s = setup_both(versions[i / 3], versions[i % 3], 10);
		const struct peer_spec first = spec_write(200, 8), spec = spec_write(200, MOST),
				       back = spec_read(MOST);

		s.credits = 4;
		begin(&s);
		(void)call_once(&first);
		(void)call_once(&spec);
		(void)call_once(&back);
		assert_int_equal(w.pairs[0].client.done, 3);
		end();
	}
}

static struct peer_spec spec_groups(struct rng *r, const struct world *world,
				    const struct peer *client)
{
	struct peer_spec spec;

	switch (rng_below(r, 4)) {
	case 0:
		return spec_any(r, world, client);
	case 1:
		return spec_read(1 + rng_below(r, MOST));
	case 2:
		spec = spec_write(
			200 + 4 * rng_below(r, client->leg.cfg->versions == LEG_V2 ? 3000 : 800),
			1 + rng_below(r, 4 * BULK));
		spec.nwrites = 1;
		spec.write_caps[0] = spec.writes[0] = 1 + rng_below(r, 3 * BULK);
		return spec;
	default:
		return spec_write(
			200 + 4 * rng_below(r, client->leg.cfg->versions == LEG_V2 ? 3000 : 800),
			1 + rng_below(r, MOST));
	}
}

/* Any calls, both ways, in every pair of versions, with much memory and with little. */
static void any_load(void **state)
{
	struct rng r = rng_seeded("groups", 12);
	const struct load load = {.rng = &r,
				  .calls = 80,
				  .rcalls = 20,
				  .depth = 12,
				  .rdepth = 4,
				  .spec = spec_groups};

	(void)state;
	for (unsigned round = 0; round < 36; round++) {
		struct setup s =
			setup_both(versions[round % 3], versions[round / 3 % 3], rng_next(&r));
		struct world_pair *p = &w.pairs[0];

		s.credits = 4 + rng_below(&r, 40);
		if (round % 4 == 3)
			s.memory = 12 << 20;
		s.max_message = 1u << (19 + rng_below(&r, 3));
		begin(&s);
		assert_true(world_load(&w, &load));
		assert_int_equal(p->client.done, 80);
		assert_int_equal(p->server.done, 20);
		end();
	}
}

/* Either end goes away in the midst of groups: everything comes back. */
static void ends_within_groups(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 60; i++) {
		unsigned both = i % 2 ? LEG_V2 : LEG_V2_EARLY;
		struct setup s = setup_both(both, both, 13);
		struct world_pair *p = &w.pairs[0];
		struct leg *leaves = i % 4 < 2 ? &p->client.leg : &p->server.leg;
		const struct peer_spec first = spec_write(200, 8), back = spec_read(MOST / 2),
				       spec = spec_write(9000, MOST / 2);

		s.net.latency_min = NSEC_PER_MS;
		s.net.latency_max = 2 * NSEC_PER_MS;
		begin(&s);
		(void)call_once(&first);
		for (unsigned n = 0; n < 3; n++)
			assert_true(peer_call(&p->client, n % 2 ? &back : &spec));
		for (unsigned n = 0; n < 5 * i; n++) {
			world_turn(&w);
			(void)memnet_step(w.net, memnet_now(w.net) + NSEC_PER_SEC);
		}
		leg_close(leaves, ERR_CLOSED, "it goes");
		world_run(&w, NSEC_PER_SEC);
		world_quit(&w);
		world_free(&w);
	}
}

/* A server that swallows READs, for whose replies several Receives are kept, over the early draft: when calls that were let go
 * hold all of these no call can be sent any more, whatever credits are left, and the session ends, as it does where they
 * hold all credits; until then others are answered. */
static void swallow(uint32_t credits, unsigned n, bool ends)
{
	enum { TIMEOUT_S = 30, MORE = 4 };
	const struct peer_spec first = spec_write(200, 8), back = spec_read(MOST);
	struct setup s = setup_both(LEG_V1, LEG_V2_EARLY, 14);
	struct world_pair *p = &w.pairs[0];
	uint64_t done;

	s.credits = credits;
	s.reply_timeout = TIMEOUT_S * NSEC_PER_SEC;
	world_new(&w, &s);
	p->client.cfg.reply_timeout = p->server.cfg.reply_timeout = NSEC_PER_SEC;
	world_connect(&w);
	(void)call_once(&first);
	done = p->client.done;
	p->server.holds = true;
	for (unsigned i = 0; i < n; i++)
		assert_true(peer_call(&p->client, &back));
	world_run(&w, 2 * TIMEOUT_S * NSEC_PER_SEC);
	(void)peer_forget(&p->client);
	p->server.holds = false;
	for (unsigned i = 0; i < MORE && proxy_sessions(w.proxy); i++) {
		assert_true(peer_call(&p->client, &first));
		world_run(&w, 2 * TIMEOUT_S * NSEC_PER_SEC);
	}
	assert_int_equal(proxy_sessions(w.proxy), !ends);
	assert_int_equal(p->client.done, done + (ends ? 0 : MORE));
	world_quit(&w);
	world_free(&w);
}

static void receives_that_never_come_back(void **state)
{
	(void)state;
	swallow(40, 20, false);
	swallow(64, 63, true);
}

/* A server that is slow to answer READs: for replies half of the Receives are kept at most, so that others pass. */
static void groups_leave_receives_to_others(void **state)
{
	enum { READS = 12 };
	const struct peer_spec first = spec_write(200, 8), back = spec_read(MOST);
	struct setup s = setup_both(LEG_V1, LEG_V2_EARLY, 15);
	struct world_pair *p = &w.pairs[0];

	(void)state;
	begin(&s);
	(void)call_once(&first);
	p->server.holds = true;
	for (unsigned i = 0; i < READS; i++)
		assert_true(peer_call(&p->client, &back));
	world_run(&w, NSEC_PER_SEC);
	p->server.holds = false;
	assert_true(peer_call(&p->client, &first));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(p->client.done, 2);
	assert_int_equal(peer_release(&p->server, true), READS);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(p->client.done, 2 + READS);
	end();
}

/* A requester that sends a call again which was let go, with its XID, and both are answered, in several Sends: over the early draft
 * one with the extension is an answer to the first, which is nobody's; else the first that comes is that of the second, and one
 * more is late. */
static void sent_again(unsigned server)
{
	enum { TIMEOUT_S = 30 };
	const struct peer_spec first = spec_write(200, 8), back = spec_read(5 * BULK);
	struct setup s = setup_both(LEG_V1, server, 16);
	struct world_pair *p = &w.pairs[0];
	uint32_t xid;

	s.reply_timeout = TIMEOUT_S * NSEC_PER_SEC;
	world_new(&w, &s);
	p->client.cfg.reply_timeout = p->server.cfg.reply_timeout = NSEC_PER_SEC;
	world_connect(&w);
	(void)call_once(&first);
	p->server.holds = true;
	xid = p->client.next_xid;
	assert_true(peer_call(&p->client, &back));
	world_run(&w, (TIMEOUT_S + 1) * NSEC_PER_SEC);
	assert_int_equal(peer_forget(&p->client), 1);
	p->client.next_xid = xid;
	assert_true(peer_call(&p->client, &back));
	world_run(&w, NSEC_PER_SEC);
	p->server.holds = false;
	assert_int_equal(peer_release(&p->server, true), 2);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(p->client.done, 2);
	assert_int_equal(proxy_sessions(w.proxy), 1);
	assert_int_equal(inside_session(w.proxy, 0)->server.t->count.late, 1);
	(void)call_once(&back);
	end();
}

static void a_call_that_is_sent_again(void **state)
{
	(void)state;
	sent_again(LEG_V2_EARLY);
	sent_again(LEG_V2);
}

/* One call whose reply takes several Sends, and ten seconds; from the @op-th operation on the network on nothing comes over that
 * connection for @pause; 0: none stops. Return: whether that is in the midst of the reply. */
static bool stops(unsigned server, uint64_t op, nsec_t pause)
{
	const struct peer_spec first = spec_write(200, 8), back = spec_read(12 * BULK);
	struct setup s = setup_both(LEG_V1, server, 18);
	struct world_pair *p = &w.pairs[0];

	s.reply_timeout = 30 * NSEC_PER_SEC;
	s.net.fault = op ? MEMNET_STALL : MEMNET_NONE;
	s.net.fault_at = op;
	s.net.fault_delay = pause;
	begin(&s);
	(void)call_once(&first);
	if (!op)
		return false;
	assert_true(peer_call(&p->client, &back));
	world_run(&w, 10 * NSEC_PER_SEC);
	return inside_session(w.proxy, 0)->server.ngroup > 1;
}

static void stop_within_a_reply(unsigned server, nsec_t pause)
{
	bool is_within = stops(server, 0, 0);
	uint64_t op = memnet_ops(w.net);

	end();
	while (!is_within) {
		is_within = stops(server, ++op, 15 * NSEC_PER_SEC);
		world_run(&w, 10 * NSEC_PER_SEC);
		assert_int_equal(w.pairs[0].client.done, 2);
		end();
	}
	assert_true(stops(server, op, pause));
}

static const unsigned of_groups[] = {LEG_V2, LEG_V2_EARLY};

/* A call is not abandoned, nor ended for the sake of others, in the middle of its reply. */
static void a_reply_that_has_begun_is_in_time(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		stop_within_a_reply(of_groups[i], 50 * NSEC_PER_SEC);
		world_run(&w, 30 * NSEC_PER_SEC);
		assert_int_equal(w.pairs[0].client.done, 1);
		assert_int_equal(proxy_counters(w.proxy)->let_go, 0);
		world_run(&w, 20 * NSEC_PER_SEC);
		assert_int_equal(w.pairs[0].client.done, 2);
		end();
	}
}

/* ... but its rest is owed. */
static void a_reply_without_end(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		stop_within_a_reply(of_groups[i], 1000 * NSEC_PER_SEC);
		world_run(&w, 45 * NSEC_PER_SEC);
		assert_int_equal(proxy_sessions(w.proxy), 1);
		world_run(&w, 20 * NSEC_PER_SEC);
		assert_int_equal(proxy_sessions(w.proxy), 0);
		assert_int_equal(proxy_counters(w.proxy)->peer_faults, 1);
		world_quit(&w);
		world_free(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_of_any_size),
		cmocka_unit_test(streams_of_any_size),
		cmocka_unit_test(replies_of_any_size),
		cmocka_unit_test(a_turn_copies_some),
		cmocka_unit_test(a_client_is_not_blamed_for_slow_copying),
		cmocka_unit_test(few_credits),
		cmocka_unit_test(any_load),
		cmocka_unit_test(ends_within_groups),
		cmocka_unit_test(receives_that_never_come_back),
		cmocka_unit_test(groups_leave_receives_to_others),
		cmocka_unit_test(a_call_that_is_sent_again),
		cmocka_unit_test(a_reply_that_has_begun_is_in_time),
		cmocka_unit_test(a_reply_without_end),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("groups", tests, NULL, NULL);
}
