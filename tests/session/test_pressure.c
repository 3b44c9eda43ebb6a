/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Far more memory is needed than there is: everything completes, the budget is kept, no call waits
 * for ever, and credits shrink and recover.
 */
#include "tests/cmocka_all.h"

#include "base/log.h"
#include "proxy/snapshot.h"
#include "tests/session/inside.h"
#include "tests/session/world.h"

static struct world w;

static struct setup tight(unsigned cv, unsigned sv, uint64_t seed)
{
	struct setup s = setup_defaults(cv, sv, seed);

	s.pairs = WORLD_PAIRS;
	s.memory = 32 << 20;
	s.peer_memory = 256 << 20;
	s.max_payload = s.max_message = 1 << 20;
	s.credits = 48;
	return s;
}

/* Close to the largest of everything. */
static struct peer_spec spec_big(struct rng *r, const struct world *world,
				 const struct peer *client)
{
	struct peer_spec s = {.segs = 1 + rng_below(r, PEER_SEGS), .body = 128, .reply = 24};
	uint32_t big = 900000 + 4 * rng_below(r, 30000);

	(void)world;
	switch (rng_below(r, 4)) {
	case 0: /* NFS WRITE */
		s.nreads = 1;
		s.reads[0] = big;
		break;
	case 1: /* NFS READ */
		s.nwrites = 1;
		s.write_caps[0] = s.writes[0] = big;
		break;
	case 2: /* both, and the reply by chunk as well */
		s.nreads = s.nwrites = 1;
		s.reads[0] = s.write_caps[0] = s.writes[0] = big / 2;
		s.reply_cap = 300000;
		s.reply = 250000;
		break;
	default: /* long messages: continued where that is spoken */
		s.by_chunk = client->leg.t->version == 1 || rng_below(r, 2);
		s.body = big;
		s.reply_cap = 1 << 20;
		s.reply = big & ~3u;
		break;
	}
	return s;
}

static void check_all(unsigned calls)
{
	struct snapshot l = {.kind = SNAPSHOT_MEMORY};
	const struct proxy_counters *count;

	for (unsigned i = 0; i < w.s.pairs; i++) {
		struct world_pair *p = &w.pairs[i];

		assert_int_equal(p->client.done, calls);
		assert_int_equal(p->client.corrupt + p->server.corrupt, 0);
		assert_int_equal(p->client.errors + p->server.errors, 0);
	}
	assert_true(world_arena(&w)->peak <= 32 << 20);
	count = proxy_counters(w.proxy);
	assert_false(proxy_snapshot(w.proxy, &l, memnet_now(w.net)));
	/* With cut-through calls wait until their client has shown its speed. Then the memory may be enough. */
	if (!getenv("CUT_THROUGH")) {
		assert_true(count->budget_waits > 0);
		assert_true(l.memory.waits > 0);
	}
	assert_true(count->budget_waits + count->place_waits > 0);
	assert_true(count->budget_waits + count->place_waits <= count->calls + count->rcalls);
}

static void everything_completes_within_the_budget(void **state)
{
	struct rng r = rng_seeded("pressure", 4711);
	const struct load load = {
		.rng = &r, .calls = 120, .rcalls = 20, .depth = 40, .rdepth = 4, .spec = spec_big};

	(void)state;
	for (unsigned cv = 1; cv <= 2; cv++)
		for (unsigned sv = 1; sv <= 2; sv++) {
			struct setup s = tight(cv, sv, rng_next(&r));

			world_new(&w, &s);
			world_connect(&w);
			print_message("v%u-v%u\n", cv, sv);
			if (!world_load(&w, &load))
				fail_msg("stuck: %llu %llu %llu of 120 done; %zu octets in use, "
					 "%zu of them in reserve",
					 (unsigned long long)w.pairs[0].client.done,
					 (unsigned long long)w.pairs[1].client.done,
					 (unsigned long long)w.pairs[2].client.done,
					 world_arena(&w)->used, world_arena(&w)->reserve_used);
			check_all(120);
			world_quit(&w);
			world_free(&w);
		}
}

/* Little memory, and as many exposures as a call can have. */
static struct peer_spec spec_wide(struct rng *r, const struct world *world,
				  const struct peer *client)
{
	struct peer_spec s = {.segs = 1, .body = 128, .reply = 64, .reply_cap = 8192};

	(void)r;
	(void)world;
	(void)client;
	s.nreads = s.nwrites = PEER_CHUNKS;
	for (unsigned i = 0; i < PEER_CHUNKS; i++)
		s.reads[i] = s.write_caps[i] = s.writes[i] = 2000;
	return s;
}

/* Calls that wait for a place are no calls that wait for memory: more memory does not help them. No
 * call fails, however long the server takes for those that have places. */
static void calls_wait_for_places_as_long_as_the_server_takes(void **state)
{
	struct rng r = rng_seeded("places", 4713);
	const struct proxy_counters *count;

	(void)state;
	for (unsigned v = 1; v <= 2; v++) {
		struct setup s = tight(v, v, rng_next(&r));
		const struct peer_spec spec = spec_wide(&r, &w, NULL);
		const struct load some = {.rng = &r, .calls = 10, .depth = 1, .spec = spec_wide};

		s.memory = 256 << 20;
		s.exposures = 64;
		world_new(&w, &s);
		world_connect(&w);
		assert_true(world_load(&w, &some)); /* now the client has credits */
		w.servers_sleep = true;
		for (unsigned n = 0; n < 20; n++)
			assert_true(peer_call(&w.pairs[0].client, &spec));
		world_run(&w, NSEC_PER_SEC);
		count = proxy_counters(w.proxy);
		assert_int_equal(count->budget_waits, 0);
		assert_true(count->place_waits > 0);
		assert_true(count->place_waits < 20);
		world_run(&w, 2 * DEBT_TIMEOUT);
		assert_int_equal(w.pairs[0].client.done, 10);
		w.servers_sleep = false;
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(w.pairs[0].client.done, 30);
		assert_int_equal(w.pairs[0].client.errors, 0);
		assert_int_equal(proxy_counters(w.proxy)->budget_waits, 0);
		world_quit(&w);
		world_free(&w);
	}
}

/* Calls that need three exposures each, and @wide ones that need nine. */
static struct peer_spec spec_places(bool wide)
{
	struct peer_spec s = {
		.segs = 1, .body = wide ? 132 : 128, .reply = 6000, .reply_cap = 8192};

	s.nreads = wide ? PEER_CHUNKS : 0;
	s.nwrites = wide ? PEER_CHUNKS : 2;
	for (unsigned i = 0; i < PEER_CHUNKS; i++)
		s.reads[i] = s.write_caps[i] = s.writes[i] = 2000;
	return s;
}

static unsigned busy_with(const struct peer *p, uint32_t body)
{
	unsigned n = 0;

	for (unsigned i = 0; i < PEER_CALLS; i++)
		n += p->calls[i].busy && p->calls[i].spec.body == body;
	return n;
}

/* Calls that need few exposures are always in flight, and take each place as soon as it is free. A
 * call that needs many is answered within four round trips. */
static void a_call_that_needs_many_places_gets_them(void **state)
{
	enum { SMALL_ONES = 30 };
	const struct peer_spec small = spec_places(false), wide = spec_places(true);
	const nsec_t hop = 20 * NSEC_PER_MS;
	struct rng r = rng_seeded("many places", 4714);

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct setup s = tight(1 + i % 2, 1 + i / 2, rng_next(&r));
		struct peer *client = &w.pairs[0].client;
		nsec_t begun = NSEC_NEVER, open;
		unsigned most;

		s.pairs = 1;
		s.memory = 256 << 20;
		s.exposures = 64;
		world_new(&w, &s);
		memnet_set_far(w.net, &w.pairs[0].server_addr, hop);
		world_connect(&w);
		open = memnet_now(w.net);
		do {
			/* one more in each 2 ms, so that they do not all end at once */
			most = (unsigned)((memnet_now(w.net) - open) / (2 * NSEC_PER_MS));
			while (busy_with(client, small.body) <
			       (most < SMALL_ONES ? most : SMALL_ONES))
				assert_true(peer_call(client, &small));
			if (begun == NSEC_NEVER && client->done > 10 * SMALL_ONES) {
				assert_true(peer_call(client, &wide));
				begun = memnet_now(w.net);
			}
			world_turn(&w);
			memnet_step(w.net, nsec_min(proxy_deadline(w.proxy),
						    memnet_now(w.net) + NSEC_PER_MS));
			assert_true(begun == NSEC_NEVER || memnet_now(w.net) < begun + 8 * hop);
		} while (begun == NSEC_NEVER || busy_with(client, wide.body) > 0);
		print_message("v%u-v%u: %llu ms, %llu shortages\n", 1 + i % 2, 1 + i / 2,
			      (unsigned long long)((memnet_now(w.net) - begun) / NSEC_PER_MS),
			      (unsigned long long)proxy_counters(w.proxy)->shortages);
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(peer_busy(client), 0);
		assert_int_equal(client->errors, 0);
		world_quit(&w);
		world_free(&w);
	}
}

/* Continued calls that also want memory of their own, and get long replies. */
static struct peer_spec spec_long(struct rng *r, const struct world *world,
				  const struct peer *client)
{
	(void)world;
	(void)client;
	return (struct peer_spec){.body = 800000 + 4 * rng_below(r, 40000),
				  .reply = 800000 + 4 * rng_below(r, 40000),
				  .reply_cap = 1 << 20,
				  .nwrites = 1,
				  .write_caps = {700000},
				  .writes = {700000},
				  .segs = 1};
}

/* While the servers sleep the gateway fills up with calls; what frees its memory are replies that
 * need memory themselves. */
static void replies_find_room_when_calls_have_filled_all(void **state)
{
	struct rng r = rng_seeded("sleep", 4712);

	(void)state;
	for (unsigned round = 0; round < 8; round++) {
		struct setup s = tight(1 + round % 2, 1 + round / 2 % 2, rng_next(&r));

		world_new(&w, &s);
		world_connect(&w);
		w.servers_sleep = true;
		for (unsigned n = 0; n < 40; n++)
			for (unsigned i = 0; i < w.s.pairs; i++) {
				struct peer_spec spec =
					(s.client_version == 2 && n % 4 ? spec_long : spec_big)(
						&r, &w, &w.pairs[i].client);

				peer_call(&w.pairs[i].client, &spec);
			}
		world_run(&w, 5 * NSEC_PER_SEC);
		w.servers_sleep = false;
		world_run(&w, 50 * NSEC_PER_SEC);
		print_message("v%u-v%u: %llu %llu %llu of 40 done\n", s.client_version,
			      s.server_version, (unsigned long long)w.pairs[0].client.done,
			      (unsigned long long)w.pairs[1].client.done,
			      (unsigned long long)w.pairs[2].client.done);
		check_all(40);
		world_quit(&w);
		world_free(&w);
	}
}

static struct session *session_at(unsigned n)
{
	struct list *it = w.proxy->sessions.next;

	while (n-- > 0)
		it = it->next;
	return container_of(it, struct session, link);
}

static struct session *first_session(void)
{
	return session_at(0);
}

static const struct peer_spec spec_hello = {.body = 128, .reply = 24, .segs = 1};

static void turns(unsigned ms)
{
	world_run(&w, ms * NSEC_PER_MS);
}

/*
 * One session has a call that takes long, and waits with another because others have less than
 * their share. When they are done it goes on, though nothing happens on its own connections.
 */
static void a_session_that_was_passed_over_continues(void **state)
{
	const struct peer_spec big = {
		.body = 128, .reply = 24, .segs = 1, .nreads = 1, .reads = {900000}};
	struct setup s = tight(1, 1, 91);
	struct world_pair *patient = &w.pairs[0];
	unsigned n = 0;

	(void)state;
	world_new(&w, &s);
	world_connect(&w);
	for (unsigned i = 0; i < w.s.pairs; i++) {
		peer_call(&w.pairs[i].client, &spec_hello);
		turns(100);
		w.pairs[i].server.holds = true;
	}
	/* All but a little memory goes to the other sessions; the rest is not for a session that has its share. */
	for (unsigned i = 0; i < 3; i++)
		peer_call(&patient->client, &big);
	turns(100);
	for (; buf_available(world_arena(&w), BUF_TRANSACTION) > 2 << 20; n++) {
		assert_true(n < 40);
		peer_call(&w.pairs[1 + n % 2].client, &big);
		turns(100);
	}
	peer_call(&patient->client, &big);
	turns(100);
	assert_int_equal(patient->server.served, 1);
	assert_false(list_is_empty(&session_at(0)->forward.waiting));
	assert_true(quota_is_waiting(&session_at(0)->forward.quota));
	for (unsigned i = 1; i < 3; i++) {
		peer_release(&w.pairs[i].server, true);
		w.pairs[i].server.holds = false;
	}
	turns(1000);
	/* The other sessions hold nothing any more, but calls without an answer have only their
	 * share. */
	for (n = 0; n < 4 && patient->client.done < 5; n++) {
		assert_true(peer_release(&patient->server, true) > 0);
		turns(1000);
	}
	assert_int_equal(patient->client.done, 5);
	world_quit(&w);
	world_free(&w);
}

/* Whether a pair has more to do; it makes both ends busy. */
static bool both_go_on(struct rng *r, struct world_pair *p, unsigned calls)
{
	struct peer *ends[] = {&p->client, &p->server};
	bool due = false;

	if (p->client.closed)
		return false;
	for (unsigned i = 0; i < 2; i++) {
		unsigned *made = i ? &p->rmade : &p->made;

		for (; *made < calls && peer_busy(ends[i]) < 12; (*made)++) {
			struct peer_spec spec =
				(rng_below(r, 2) ? spec_long : spec_big)(r, &w, &p->client);

			peer_call(ends[i], &spec);
		}
		due |= *made < calls || peer_busy(ends[i]) > 0;
	}
	return due;
}

/* Calls and replies of every length, both ways at once, in version 2. Once a deadlock: calls of
 * clients waited for memory that calls of servers had, with the answers to these behind them. */
static void both_directions_complete(void **state)
{
	struct rng r = rng_seeded("both", 4713);
	unsigned ended = 0;

	(void)state;
	for (unsigned round = 0; round < 6; round++) {
		struct setup s = tight(2, 2, rng_next(&r));
		bool due = true;
		nsec_t begun;

		s.pairs = 1 + round % 3;
		world_new(&w, &s);
		world_connect(&w);
		for (unsigned i = 0; i < w.s.pairs; i++)
			peer_call(&w.pairs[i].client, &spec_hello);
		turns(100);
		begun = memnet_now(w.net);
		for (unsigned n = 0; due; n++) {
			due = false;
			for (unsigned i = 0; i < w.s.pairs; i++) {
				due |= both_go_on(&r, &w.pairs[i], 60);
				assert_true(!w.pairs[i].client.closed ||
					    memnet_now(w.net) - begun > RECLAIM_AFTER);
			}
			turns(5);
			assert_true(n < 60000); /* five minutes: sessions end after one */
		}
		for (unsigned i = 0; i < w.s.pairs; i++) {
			struct peer *server = &w.pairs[i].server;

			ended += w.pairs[i].client.closed;
			if (w.pairs[i].client.closed)
				continue;
			assert_int_equal(w.pairs[i].client.done, 61);
			assert_int_equal(w.pairs[i].client.errors, 0);
			/* A server's long calls do not wait for memory. */
			assert_int_equal(server->done + server->errors, 60);
			assert_true(!server->errors || server->last_error.code == RPC_ERROR_SYSTEM);
			assert_true(server->done > 0);
		}
		world_quit(&w);
		world_free(&w);
	}
	print_message("%u of 12 sessions ended to make room\n", ended);
	assert_true(ended < 12);
}

/* A server answers no call before its callback is answered. The client's answer to the callback is
 * behind a call that waits for memory, and calls of the same client hold this memory. */
static void a_callback_behind_a_call_that_waits(void **state)
{
	const struct peer_spec large = {.body = 900000, .reply = 24, .segs = 1};
	struct setup s = tight(2, 2, 92);
	struct world_pair *p = &w.pairs[0];

	(void)state;
	s.pairs = 1;
	world_new(&w, &s);
	world_connect(&w);
	peer_call(&p->client, &spec_hello);
	turns(100);
	p->server.holds = true;
	for (unsigned i = 0; i < 12; i++)
		peer_call(&p->client, &large);
	turns(5000);
	assert_non_null(first_session()->client.stalled);
	peer_call(&p->server, &spec_hello);
	turns(50000);
	assert_int_equal(p->server.done, 0);
	assert_false(p->client.closed);
	turns(20000);
	assert_true(p->client.closed);
	world_quit(&w);
	world_free(&w);
}

static void credits_shrink_and_recover(void **state)
{
	struct rng r = {5};
	/* A depth at which the client exposes all it can. */
	struct load load = {.rng = &r, .depth = 20, .spec = spec_small};
	uint32_t full, least;

	(void)state;
	for (unsigned cv = 1; cv <= 2; cv++) {
		struct setup s = tight(cv, 1, 77);

		world_new(&w, &s);
		world_connect(&w);
		load.calls = 60;
		assert_true(world_load(&w, &load));
		full = least = first_session()->client.grant;
		for (unsigned n = 0; n < 40; n++)
			for (unsigned i = 0; i < w.s.pairs; i++) {
				struct peer_spec big = spec_big(&r, &w, &w.pairs[i].client);

				big.segs = 1; /* the client exposes all of them at once */
				peer_call(&w.pairs[i].client, &big);
			}
		for (unsigned n = 0; n < 20000; n++) {
			uint32_t grant = first_session()->client.grant;

			least = grant < least ? grant : least;
			memnet_step(w.net, NSEC_NEVER);
			world_turn(&w);
		}
		world_run(&w, 10 * NSEC_PER_SEC);
		print_message("v%u: credits %u, under pressure %u\n", cv, full, least);
		assert_true(least < full);
		load.calls = 10;
		assert_true(world_load(&w, &load));
		assert_int_equal(first_session()->client.grant, full);
		for (unsigned i = 0; i < w.s.pairs; i++)
			assert_int_equal(w.pairs[i].client.done, 110);
		world_quit(&w);
		world_free(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_completes_within_the_budget),
		cmocka_unit_test(calls_wait_for_places_as_long_as_the_server_takes),
		cmocka_unit_test(a_call_that_needs_many_places_gets_them),
		cmocka_unit_test(replies_find_room_when_calls_have_filled_all),

		cmocka_unit_test(a_session_that_was_passed_over_continues),
		cmocka_unit_test(both_directions_complete),
		cmocka_unit_test(a_callback_behind_a_call_that_waits),
		cmocka_unit_test(credits_shrink_and_recover),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("pressure", tests, NULL, NULL);
}
