/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Behaviour specific to connections of the gateway that share Receives (the other tests run twice
 * and check that all else is the same). Memory follows the load and not the number of connections.
 * A peer that sends too many or too long messages harms only itself. An empty pool makes senders
 * wait, and a pool at a standstill recovers.
 */
#include "tests/cmocka_all.h"

#include "base/log.h"
#include "fabric/mem/mem.h"
#include "tests/session/hoard.h"
#include "tests/session/inside.h"
#include "tests/session/world.h"

static struct world w;

static const struct peer_spec plain = {.body = 128, .reply = 100, .segs = 1};

static struct setup shared(unsigned cv, unsigned sv)
{
	struct setup s = setup_defaults(cv, sv, 100 + cv * 2 + sv);

	s.pairs = WORLD_PAIRS;
	s.net.shares_receives = true;
	return s;
}

static struct recv_pool *pool(void)
{
	struct recv_pool *r = recv_pool_of(w.gw_fabrics[0]);

	assert_non_null(r);
	return r;
}

static struct session *session_at(unsigned n)
{
	struct list *it = w.proxy->sessions.next;

	while (n-- > 0)
		it = it->next;
	return container_of(it, struct session, link);
}

static void idle_connections_cost_little(void **state)
{
	struct setup s = shared(1, 1);
	size_t with_one;

	(void)state;
	s.credits = 64;
	world_new(&w, &s);
	world_connect_pair(&w, 0);
	world_run(&w, NSEC_PER_SEC);
	assert_true(w.pairs[0].client.open);
	with_one = world_arena(&w)->used;
	world_connect_pair(&w, 1);
	world_connect_pair(&w, 2);
	world_run(&w, NSEC_PER_SEC);
	assert_true(w.pairs[1].client.open && w.pairs[2].client.open);
	/* The headers of one Send for each leg, and no Receive more. */
	assert_int_equal(world_arena(&w)->used, with_one + (size_t)2 * 2 * 4096);
	assert_true(pool()->total * 4096 < 64 * 1024 + 1);
	assert_int_equal(session_at(0)->client.posted, budget_receives(64, 8, false));
	world_quit(&w);
	world_free(&w);
}

static uint32_t burst(unsigned calls)
{
	uint32_t most = 0;

	for (unsigned i = 0; i < w.s.pairs; i++)
		for (unsigned n = 0; n < calls; n++)
			assert_true(peer_call(&w.pairs[i].client, &plain));
	for (unsigned n = 0; n < 3000; n++) {
		world_turn(&w);
		memnet_step(w.net, NSEC_NEVER);
		most = pool()->total > most ? pool()->total : most;
	}
	return most;
}

static void memory_comes_and_goes_with_the_load(void **state)
{
	(void)state;
	for (unsigned v = 1; v <= 2; v++) {
		struct setup s = shared(v, v);
		uint32_t quiet, most = 0;
		uint64_t done = 0;

		s.credits = 64;
		s.net.shared_least = 8;
		world_new(&w, &s);
		world_connect(&w);
		quiet = pool()->total;
		for (unsigned i = 0; i < 5; i++) {
			uint32_t n = burst(80);

			most = n > most ? n : most;
		}
		world_run(&w, 10 * NSEC_PER_SEC);
		for (unsigned i = 0; i < w.s.pairs; i++)
			done += w.pairs[i].client.done;
		assert_int_equal(done, 5 * 80 * WORLD_PAIRS);
		assert_true(most > quiet);
		/* A little traffic shows that less would do. */
		for (unsigned i = 0; i < 200; i++) {
			assert_true(peer_call(&w.pairs[i % 3].client, &plain));
			world_run(&w, NSEC_PER_SEC);
		}
		print_message("v%u: %u Receives at rest, %u under load, %u afterwards\n", v, quiet,
			      most, pool()->total);
		assert_true(pool()->total < most);
		burst(80);
		assert_true(pool()->total > quiet);
		world_quit(&w);
		/* When the last has gone no chunk is kept of which nothing is in use, or but one. */
		assert_true(list_is_empty(&pool()->whole) ||
			    pool()->free_count < 2 * BUDGET_BLOCK / 4096);
		world_free(&w);
	}
}

/* A call in version 1 after the other: nobody waits for grants. */
static void raw_calls(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct xdr_out x = raw_begin(&w.raw);
		const uint32_t words[] = {RAW_V1_CALL(0x700 + w.raw.sent)};

		for (unsigned k = 0; k < sizeof(words) / sizeof(words[0]); k++)
			xdr_put_u32(&x, words[k]);
		raw_end(&w.raw, &x);
	}
}

static void others_go_on(void)
{
	uint64_t before = w.pairs[1].client.done;

	for (unsigned i = 0; i < 20; i++)
		assert_true(peer_call(&w.pairs[1].client, &plain));
	world_run(&w, 5 * NSEC_PER_SEC);
	assert_int_equal(w.pairs[1].client.done, before + 20);
	assert_false(w.pairs[1].client.closed);
}

static void begin_raw(struct setup *s)
{
	s->raw = s->raw_client = true;
	world_new(&w, s);
	world_connect_pair(&w, 1);
	world_run(&w, NSEC_PER_SEC);
	raw_connect(&w.raw, &w.pairs[0].gw_addr);
	world_run(&w, NSEC_PER_SEC);
	assert_true(w.raw.connected);
}

static void it_ended_alone(void)
{
	assert_true(w.raw.closed);
	assert_int_equal(proxy_counters(w.proxy)->peer_faults, 1);
	others_go_on();
	world_quit(&w);
	world_free(&w);
}

static void a_peer_that_sends_more_than_granted_ends_alone(void **state)
{
	struct setup s = shared(1, 1);

	(void)state;
	s.credits = 8;
	s.rev_credits = 1;
	begin_raw(&s);
	w.pairs[0].server.holds = true; /* or calls would be done with as they come */
	raw_calls(budget_receives(8, 1, false));
	world_run(&w, NSEC_PER_SEC);
	assert_false(w.raw.closed);
	raw_calls(20);
	world_run(&w, NSEC_PER_SEC);
	it_ended_alone();
}

/* Buffers have the size of the largest inline threshold of all; each peer got its own threshold. */
static void a_peer_that_sends_longer_than_announced_ends_alone(void **state)
{
	struct setup s = shared(1, 1);
	struct xdr_out x;

	(void)state;
	s.raw = s.raw_client = true;
	world_new(&w, &s);
	w.routes[0].client.inline_bytes = 1024;
	world_connect_pair(&w, 1);
	raw_connect(&w.raw, &w.pairs[0].gw_addr);
	world_run(&w, NSEC_PER_SEC);
	x = raw_begin(&w.raw);
	for (unsigned i = 0; i < 257; i++)
		xdr_put_u32(&x, i == 1 ? 1 : 0);
	raw_end(&w.raw, &x);
	world_run(&w, NSEC_PER_SEC);
	it_ended_alone();
}

static void receives_of_a_lost_queue_are_used_again(void **state)
{
	struct setup s = shared(2, 1);

	(void)state;
	world_new(&w, &s);
	world_connect(&w);
	for (unsigned i = 0; i < 10; i++) {
		memnet_flush_shared(w.gw_fabrics[0]);
		world_run(&w, NSEC_PER_SEC);
		others_go_on();
	}
	assert_int_equal(pool()->total, pool()->free_count + pool()->posted);
	world_quit(&w);
	world_free(&w);
}

static struct hoard hoard;

/* However many they are: what sessions may take for life leaves the pool its share. */
static void sessions_leave_the_pool_its_share(void **state)
{
	static void *blocks[4096];
	struct setup s = shared(1, 1);
	size_t left, n = 0;

	(void)state;
	s.memory = 32 << 20;
	s.max_payload = s.max_message = 1 << 20;
	world_new(&w, &s);
	left = w.proxy->fixed_limit;
	assert_true(left <= buf_zone_bytes(world_arena(&w), BUF_ZONE_CONN) * 3 / 4);
	for (; left >= 16384; left -= 16384)
		assert_non_null(blocks[n++] = buf_alloc(&w.proxy->arena, 16384, BUF_CONN));
	assert_int_equal(hoard_receives(&hoard, pool(), pool()->most), pool()->most);
	hoard_end(&hoard);
	while (n > 0)
		buf_free(&w.proxy->arena, blocks[--n]);
	world_quit(&w);
	world_free(&w);
}

/* Less is granted while little is left; nothing fails, and grants come back. */
static void grants_shrink_while_receives_are_short(void **state)
{
	(void)state;
	for (unsigned v = 1; v <= 2; v++) {
		struct setup s = shared(v, 1);

		s.memory = 32 << 20;
		s.max_payload = s.max_message = 1 << 20;
		world_new(&w, &s);
		world_connect(&w);
		burst(30);
		assert_true(session_at(0)->client.grant > 4);
		(void)hoard_receives(&hoard, pool(), pool()->most - pool()->most / 5);
		assert_true(recv_pool_is_low(pool()));
		for (unsigned i = 0; i < 10; i++) {
			burst(10);
			assert_int_equal(session_at(0)->client.grant, 4);
		}
		hoard_end(&hoard);
		burst(10);
		world_run(&w, 10 * NSEC_PER_SEC);
		assert_true(session_at(0)->client.grant > 4);
		for (unsigned i = 0; i < w.s.pairs; i++)
			assert_int_equal(w.pairs[i].client.done, 30 + 10 * 10 + 10);
		world_quit(&w);
		world_free(&w);
	}
}

/* Clients that come together, all before their first reply: half of all Receives are for what they are granted (recv_pool_share()). */
static void many_clients_are_granted_their_part(void **state)
{
	struct setup s = shared(1, 1);
	uint64_t granted = 0;

	(void)state;
	s.memory = 32 << 20;
	s.max_payload = s.max_message = 1 << 20;
	s.credits = 300;
	world_new(&w, &s);
	world_connect(&w);
	world_run(&w, NSEC_PER_SEC);
	assert_true((uint64_t)w.s.pairs * s.credits > pool()->most / FABRIC_RECV_READER_DIV);
	for (unsigned i = 0; i < w.s.pairs; i++)
		granted += session_at(i)->client.grant;
	assert_true(granted <= pool()->most / FABRIC_RECV_READER_DIV);
	burst(10);
	for (unsigned i = 0; i < w.s.pairs; i++)
		assert_int_equal(w.pairs[i].client.done, 10);
	world_quit(&w);
	world_free(&w);
}

/*
 * Calls of a client that does not heed smaller grants wait for their server, and hold all there
 * is: the replies that would free them find no Receive. That session ends, and the others go on.
 */
static void a_pool_that_stands_still_goes_on(void **state)
{
	struct setup s = shared(1, 1);

	(void)state;
	s.memory = 32 << 20;
	s.max_payload = s.max_message = 1 << 20;
	s.credits = 60;
	s.raw = s.raw_client = true;
	s.net.shares_blindly = true;
	world_new(&w, &s);
	w.pairs[0].server.cfg.credits = 2;
	world_connect_pair(&w, 1);
	raw_connect(&w.raw, &w.pairs[0].gw_addr);
	world_run(&w, NSEC_PER_SEC);
	others_go_on();
	w.pairs[0].server.holds = true;
	raw_calls(1);
	world_run(&w, NSEC_PER_SEC);
	(void)hoard_receives(&hoard, pool(), pool()->most);
	/* There is no other memory into which waiting messages could be copied. */
	hoard_for_copies(&hoard, &w.proxy->arena);
	raw_calls(40);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(pool()->posted, 0);
	assert_int_equal(peer_release(&w.pairs[0].server, true), 1);
	assert_true(peer_call(&w.pairs[1].client, &plain));
	world_run(&w, 5 * NSEC_PER_SEC);
	assert_int_equal(w.pairs[1].client.done, 20);
	assert_false(w.raw.closed);
	world_run(&w, 60 * NSEC_PER_SEC);
	assert_true(w.raw.closed);
	assert_int_equal(proxy_counters(w.proxy)->peer_faults, 0);
	assert_int_equal(w.pairs[1].client.done, 21);
	others_go_on();
	hoard_end(&hoard);
	world_quit(&w);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_connections_cost_little),
		cmocka_unit_test(memory_comes_and_goes_with_the_load),
		cmocka_unit_test(a_peer_that_sends_more_than_granted_ends_alone),
		cmocka_unit_test(a_peer_that_sends_longer_than_announced_ends_alone),
		cmocka_unit_test(receives_of_a_lost_queue_are_used_again),
		cmocka_unit_test(sessions_leave_the_pool_its_share),
		cmocka_unit_test(grants_shrink_while_receives_are_short),
		cmocka_unit_test(many_clients_are_granted_their_part),
		cmocka_unit_test(a_pool_that_stands_still_goes_on),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("shared", tests, NULL, NULL);
}
