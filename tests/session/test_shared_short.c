/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared Receives of the gateway run short: waiting calls and replies make room for replies that
 * others wait for; a queue that could not grow for want of memory recovers to what its load needs;
 * and peers whose messages hold the Receives are disconnected.
 */
#include "tests/cmocka_all.h"

#include "base/log.h"
#include "fabric/mem/mem.h"
#include "tests/session/hoard.h"
#include "tests/session/inside.h"
#include "tests/session/world.h"

static struct world w;

static const struct peer_spec plain = {.body = 128, .reply = 100, .segs = 1};
static const struct peer_spec large = {.body = 128,
				       .reply = 100,
				       .segs = 1,
				       .nwrites = 1,
				       .write_caps = {250000},
				       .writes = {250000}};

/* A worker of little memory: at most 512 Receives, and 32 large calls. */
static struct setup little(unsigned cv, unsigned sv)
{
	struct setup s = setup_defaults(cv, sv, 300 + cv * 2 + sv);

	s.pairs = WORLD_PAIRS;
	s.memory = 32 << 20;
	s.max_payload = s.max_message = 1 << 20;
	s.credits = 96;
	s.net.shares_receives = true;
	return s;
}

static struct recv_pool *pool(void)
{
	return recv_pool_of(w.gw_fabrics[0]);
}

static struct session *any_session(void)
{
	return list_first(&w.proxy->sessions, struct session, link);
}

/* Memory and Receives held by others. */
static struct hoard hoard;

/* Until @n Receives are held. */
static void hold(unsigned n)
{
	(void)hoard_receives(&hoard, pool(), n);
}

static void begin(const struct setup *s)
{
	world_new(&w, s);
	/* Each of two fabrics has half. */
	assert_int_equal(pool()->most, s->two_fabrics ? 256 : 512);
}

static void connect_all(void)
{
	world_connect(&w);
	for (unsigned i = 0; i < w.s.pairs; i++)
		assert_true(peer_call(&w.pairs[i].client, &plain));
	world_run(&w, NSEC_PER_SEC);
}

static void call_all(unsigned n, const struct peer_spec *spec)
{
	for (unsigned i = 0; i < w.s.pairs; i++)
		for (unsigned k = 0; k < n; k++)
			assert_true(peer_call(&w.pairs[i].client, spec));
}

static uint64_t all_done(void)
{
	uint64_t done = 0;

	for (unsigned i = 0; i < w.s.pairs; i++)
		done += w.pairs[i].client.done;
	return done;
}

static void end(void)
{
	hoard_end(&hoard);
	world_quit(&w);
	world_free(&w);
}

/*
 * Clients that keep to their credits: what they call waits for memory, and there are not as many
 * Receives. All the same they have their replies at once, and nobody is disconnected. That holds as
 * well where no connection has a share of the Receives, as on devices.
 */
static void calls_that_wait_make_room_for_replies(void **state)
{
	(void)state;
	for (unsigned v = 0; v < 8; v++) {
		struct setup s = little(1 + v / 2 % 2, 1 + v % 2);

		s.net.shares_blindly = v >= 4;
		begin(&s);
		connect_all();
		hold(pool()->most - 90);
		call_all(90, &large);
		world_run(&w, 5 * NSEC_PER_SEC);
		print_message("v%u-v%u: %u done\n", 1 + v / 2 % 2, 1 + v % 2, (unsigned)all_done());
		assert_int_equal(all_done(), 3 * 91);
		assert_int_equal(proxy_sessions(w.proxy), 3);
		end();
	}
}

/* The data of a call would arrive behind a message that waits for a Receive. So the call leaves payload memory to others
 * until the message has its Receive. */
static void a_call_whose_data_are_behind_a_message_takes_no_memory(void **state)
{
	static const struct peer_spec write = {
		.body = 128, .reply = 100, .segs = 1, .nreads = 1, .reads = {4096}};
	static const struct memnet_pace never = {.answer = 1000 * NSEC_PER_SEC}, at_once;
	struct setup s = little(2, 2);
	struct peer *p = &w.pairs[0].client;

	(void)state;
	s.pairs = 1;
	begin(&s);
	connect_all();
	hoard_zone(&hoard, &w.proxy->arena, BUF_ZONE_ORDINARY);
	hoard_zone(&hoard, &w.proxy->arena, buf_own_zone(&w.proxy->arena, BUF_TRANSACTION, 0));
	assert_true(peer_call(p, &write));
	world_run(&w, NSEC_PER_SEC);
	memnet_limit_messages(p->leg.conn, 0, false);
	memnet_pace(p->leg.conn, &never);
	assert_true(peer_call(p, &plain));
	world_run(&w, NSEC_PER_SEC);
	assert_true(leg_is_recv_limited(&any_session()->client));
	assert_true(quota_is_waiting(&any_session()->forward.quota));
	hoard_end(&hoard);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(any_session()->forward.quota.used, 0);
	memnet_limit_messages(p->leg.conn, UINT32_MAX, false);
	memnet_pace(p->leg.conn, &at_once);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(p->done, 3);
	end();
}

/* Servers that take few calls and answer none are waited for by their own clients alone. */
static void servers_that_hang_do_not_stop_others(void **state)
{
	(void)state;
	for (unsigned v = 1; v <= 2; v++) {
		struct setup s = little(2, v);

		s.max_payload = s.max_message = 16 << 10; /* there is memory for all of them */
		begin(&s);
		w.pairs[0].server.cfg.credits = w.pairs[2].server.cfg.credits = 4;
		connect_all();
		w.pairs[0].server.holds = w.pairs[2].server.holds = true;
		hold(pool()->most - 140);
		for (unsigned i = 0; i < 90; i++) {
			assert_true(peer_call(&w.pairs[0].client, &plain));
			assert_true(peer_call(&w.pairs[2].client, &plain));
		}
		world_run(&w, NSEC_PER_SEC);
		for (unsigned i = 0; i < 20; i++)
			assert_true(peer_call(&w.pairs[1].client, &plain));
		world_run(&w, 5 * NSEC_PER_SEC);
		assert_int_equal(w.pairs[1].client.done, 21);
		w.pairs[0].server.holds = w.pairs[2].server.holds = false;
		assert_true(peer_release(&w.pairs[0].server, true) > 0);
		assert_true(peer_release(&w.pairs[2].server, true) > 0);
		world_run(&w, 5 * NSEC_PER_SEC);
		assert_int_equal(all_done(), 21 + 2 * 91);
		assert_int_equal(proxy_sessions(w.proxy), 3);
		end();
	}
}

/* Clients that leave no credit for their replies do not stop others either. */
static void clients_that_take_no_replies_do_not_stop_others(void **state)
{
	(void)state;
	for (unsigned v = 1; v <= 2; v++) {
		struct setup s = little(v, v);

		s.raw = s.raw_client = true;
		s.max_payload = s.max_message = 16 << 10;
		begin(&s);
		world_connect_pair(&w, 1);
		raw_connect(&w.raw, &w.pairs[0].gw_addr);
		world_run(&w, NSEC_PER_SEC);
		raw_words(&w.raw, RAW_V2_PROPS(0x99, 10));
		world_run(&w, NSEC_PER_SEC);
		hold(pool()->most - 30);
		for (unsigned n = 0; n < 45; n++) {
			raw_words(&w.raw, RAW_V2_CALL(0x5000 + n, 10));
			if (n % 8 == 7)
				world_run(&w, NSEC_PER_SEC / 10);
		}
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(w.pairs[0].server.served, 45);
		for (unsigned i = 0; i < 20; i++)
			assert_true(peer_call(&w.pairs[1].client, &plain));
		world_run(&w, 5 * NSEC_PER_SEC);
		assert_int_equal(w.pairs[1].client.done, 20);
		assert_false(w.raw.closed);
		end();
	}
}

/* Messages that are copied between buffers, in both directions, arrive octet for octet. */
static void what_was_moved_is_what_was_sent(void **state)
{
	struct rng rng = rng_seeded("moved", 12);
	const struct load load = {.rng = &rng,
				  .calls = 150,
				  .rcalls = 40,
				  .depth = 20,
				  .rdepth = 6,
				  .spec = spec_small};

	(void)state;
	for (unsigned v = 0; v < 4; v++) {
		struct setup s = little(1 + v / 2, 1 + v % 2);

		begin(&s);
		for (unsigned i = 0; i < w.s.pairs; i++)
			w.pairs[i].server.cfg.credits = 3 + 2 * i;
		connect_all();
		hold(pool()->most - 48);
		assert_true(world_load(&w, &load));
		assert_int_equal(all_done(), 3 * 151);
		for (unsigned i = 0; i < w.s.pairs; i++) {
			assert_int_equal(w.pairs[i].client.corrupt, 0);
			assert_int_equal(w.pairs[i].server.corrupt, 0);
		}
		assert_int_equal(proxy_sessions(w.proxy), 3);
		end();
	}
}

/* All there are may be posted, and none in use. */
static void posted_ones_are_not_scarce(void **state)
{
	struct setup s = little(1, 1);

	(void)state;
	s.rev_credits = 60;
	s.net.shared_least = 1024;
	begin(&s);
	connect_all();
	call_all(10, &plain);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(pool()->posted, pool()->most);
	assert_true(any_session()->client.grant > 4);
	hold(1);
	assert_int_equal(hoard.nrbufs, 0);
	end();
}

/* Nothing comes free until the queue is empty. */
static void run_dry(void)
{
	call_all(90, &plain);
	for (unsigned i = 0; i < 4000 && pool()->posted > 0; i++) {
		world_turn(&w);
		memnet_step(w.net, memnet_now(w.net) + NSEC_PER_MS);
		hold(pool()->most);
	}
	world_run(&w, NSEC_PER_SEC / 4);
	hoard_release(&hoard, hoard.nrbufs);
	world_run(&w, NSEC_PER_SEC / 4);
}

/* The queue needs more than there is memory for. */
static void a_queue_that_was_never_full_shrinks(void **state)
{
	struct setup s = little(1, 1);

	(void)state;
	s.rev_credits = 60;
	begin(&s);
	connect_all();
	for (unsigned i = 0; i < 30; i++)
		run_dry();
	assert_int_equal(pool()->total, pool()->most);
	for (unsigned i = 0; i < 300; i++) {
		call_all(1, &plain);
		world_run(&w, NSEC_PER_SEC / 3);
	}
	assert_true(any_session()->client.grant > 4);
	assert_true(pool()->total <= 64);
	end();
}

/* One that comes free now and then does not keep all others waiting for ever. */
static void a_trickle_is_no_progress(void **state)
{
	struct setup s = little(1, 1);

	(void)state;
	s.raw = s.raw_client = true;
	s.net.shares_blindly = true;
	begin(&s);
	w.pairs[0].server.cfg.credits = 2;
	w.pairs[0].server.holds = true;
	world_connect_pair(&w, 1);
	raw_connect(&w.raw, &w.pairs[0].gw_addr);
	world_run(&w, NSEC_PER_SEC);
	hold(pool()->most);
	hoard_for_copies(&hoard, &w.proxy->arena);
	for (unsigned n = 0; n < 60; n++) {
		raw_words(&w.raw, RAW_V1_CALL(0x700 + n));
		raw_turn(&w.raw);
	}
	for (unsigned i = 0; i < 9; i++) {
		world_run(&w, 7 * NSEC_PER_SEC);
		hoard_release(&hoard, 1);
	}
	assert_true(w.raw.closed);
	assert_int_equal(proxy_counters(w.proxy)->peer_faults, 0);
	end();
}

/* Receives of the fabric of the servers, shared or not on that of the clients. */
static void replies_need_receives_as_well(void **state)
{
	struct setup s = little(1, 1);
	struct recv_pool *back;

	(void)state;
	s.two_fabrics = true;
	begin(&s);
	back = recv_pool_of(w.gw_fabrics[1]);
	/* Sessions leave to both pools what they may grow to. */
	assert_true(w.proxy->fixed_limit + 2 * (size_t)256 * 4096 <=
		    buf_zone_bytes(world_arena(&w), BUF_ZONE_CONN));
	connect_all();
	call_all(10, &plain);
	world_run(&w, NSEC_PER_SEC);
	assert_true(any_session()->client.grant > 4);
	(void)hoard_receives(&hoard, back, back->most * 4 / 5);
	assert_true(recv_pool_is_low(back) && !recv_pool_is_low(pool()));
	call_all(10, &plain);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(any_session()->client.grant, 4);
	hoard_end(&hoard);
	call_all(10, &plain);
	world_run(&w, NSEC_PER_SEC);
	assert_true(any_session()->client.grant > 4);
	assert_int_equal(all_done(), 3 * 31);
	end();
}

static struct raw crowd;

static void session_limits_run(unsigned seconds)
{
	for (unsigned i = 0; i < 20 * seconds; i++) {
		raw_turn(&crowd);
		world_run(&w, NSEC_PER_SEC / 20);
	}
}

/* Many clients of pair @i, whose server accepts two calls, hold all Receives for half a minute:
 * until they are ended. */
static void run_out(unsigned i)
{
	raw_init(&crowd, w.net);
	raw_connect(&crowd, &w.pairs[i].gw_addr);
	session_limits_run(1);
	w.pairs[i].server.holds = true;
	hold(pool()->most);
	hoard_for_copies(&hoard, &w.proxy->arena);
	for (unsigned n = 0; n < 60; n++) {
		raw_words(&crowd, RAW_V1_CALL(0x700 + n));
		raw_turn(&crowd);
	}
	session_limits_run(1);
	assert_true(recv_pool_is_exhausted(pool()));
}

/* An answer that waits for a Receive of the gateway's is in time. */
static void an_answer_that_waits_for_a_receive_is_in_time(void **state)
{
	(void)state;
	for (unsigned v = 1; v <= 2; v++) {
		struct setup s = little(1, v);

		s.reply_timeout = 10 * NSEC_PER_SEC;
		s.net.shares_blindly = true;
		begin(&s);
		w.pairs[0].server.cfg.credits = 2;
		world_connect_pair(&w, 1);
		world_run(&w, NSEC_PER_SEC);
		w.pairs[1].server.holds = true;
		assert_true(peer_call(&w.pairs[1].client, &plain));
		run_out(0);
		w.pairs[1].server.holds = false;
		assert_int_equal(peer_release(&w.pairs[1].server, true), 1);
		session_limits_run(60);
		assert_true(crowd.closed);
		raw_fini(&crowd);
		assert_int_equal(w.pairs[1].client.done, 1);
		end();
	}
}

static unsigned replies;

static void count_replies(struct raw *r, struct view in, void *arg)
{
	(void)r;
	(void)arg;
	replies += xdr_peek_u32(in.data + 12) == 13; /* RDMA2_REPLY_INLINE */
}

/* An answer that waits because its session keeps too many Receives is not late: these hold answers
 * that its client does not read yet. */
static void an_answer_behind_others_of_its_session_is_in_time(void **state)
{
	(void)state;
	for (unsigned v = 1; v <= 2; v++) {
		struct setup s = little(2, v);

		s.reply_timeout = 10 * NSEC_PER_SEC;
		s.raw = s.raw_client = true;
		s.max_payload = s.max_message = 16 << 10;
		begin(&s);
		w.raw.on_message = count_replies;
		replies = 0;
		raw_connect(&w.raw, &w.pairs[0].gw_addr);
		world_run(&w, NSEC_PER_SEC);
		raw_words(&w.raw, RAW_V2_PROPS(0x99, 2));
		world_run(&w, NSEC_PER_SEC);
		raw_words(&w.raw, RAW_V2_CALL(0x5000, 2)); /* its reply takes the last credit */
		world_run(&w, NSEC_PER_SEC);
		hoard_for_copies(&hoard, &w.proxy->arena);
		for (unsigned n = 1; n <= 3; n++)
			raw_words(&w.raw, RAW_V2_CALL(0x5000 + 2 * n, 2));
		world_run(&w, NSEC_PER_SEC);
		w.pairs[0].server.holds = true;
		raw_words(&w.raw, RAW_V2_CALL(0x5010, 2));
		world_run(&w, NSEC_PER_SEC);
		hold(pool()->most);
		raw_words(&w.raw, 0, 2, 2, 5);
		world_run(&w, NSEC_PER_SEC);
		w.pairs[0].server.holds = false;
		assert_int_equal(peer_release(&w.pairs[0].server, true), 1);
		world_run(&w, 30 * NSEC_PER_SEC);
		assert_true(leg_is_recv_limited(&any_session()->server));
		raw_words(&w.raw, 0, 2, 20, 5);
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(replies, 5);
		end();
	}
}

/* A server of version 2 that answers what it is asked. */
static void answer(struct raw *r, struct view in, void *arg)
{
	uint32_t xid = xdr_peek_u32(in.data), type = xdr_peek_u32(in.data + 12);

	(void)arg;
	if (type == 7) /* RDMA2_CONNPROP_FINAL */
		raw_words(r, RAW_V2_PROPS(0x55, 20));
	else if (type == 10) /* RDMA2_CALL_INLINE */
		raw_words(r, RAW_V2_REPLY(xid, 20));
}

/* Nobody is down, or of version 1, because its first words wait for a Receive of the gateway's. */
static void no_server_is_to_blame_for_want_of_receives(void **state)
{
	struct setup s = little(LEG_V1, LEG_V1_OR_V2);
	struct servers_view view;
	uint64_t probes;

	(void)state;
	s.raw = true;
	s.net.shares_blindly = true;
	s.upstream_versions = LEG_V1_OR_V2;
	s.probes = 3 * NSEC_PER_SEC;
	begin(&s);
	w.raw.on_message = answer;
	w.pairs[1].server.cfg.credits = 2;
	world_run(&w, 10 * NSEC_PER_SEC);
	servers_snapshot(w.proxy->routes[0]->servers, &view);
	probes = view.at[0].figures.probes;
	assert_true(probes > 1);
	run_out(1);
	world_connect_pair(&w, 2);
	session_limits_run(15);
	assert_true(recv_pool_is_exhausted(pool()));
	assert_true(w.pairs[2].client.closed); /* and may come again */
	session_limits_run(30);
	assert_true(crowd.closed);
	servers_snapshot(w.proxy->routes[0]->servers, &view);
	assert_int_equal(view.at[0].figures.probe_failures, 0);
	assert_true(view.at[0].figures.probes > probes);
	servers_snapshot(w.proxy->routes[2]->servers, &view);
	assert_int_equal(view.at[0].figures.failures, 0);
	assert_int_equal(servers_v1_until(w.proxy->routes[2]->servers, 0), 0);
	probes_end(w.proxy->routes[0]);
	raw_fini(&crowd);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_that_wait_make_room_for_replies),
		cmocka_unit_test(a_call_whose_data_are_behind_a_message_takes_no_memory),
		cmocka_unit_test(servers_that_hang_do_not_stop_others),
		cmocka_unit_test(clients_that_take_no_replies_do_not_stop_others),
		cmocka_unit_test(what_was_moved_is_what_was_sent),
		cmocka_unit_test(posted_ones_are_not_scarce),
		cmocka_unit_test(a_queue_that_was_never_full_shrinks),
		cmocka_unit_test(a_trickle_is_no_progress),
		cmocka_unit_test(replies_need_receives_as_well),
		cmocka_unit_test(an_answer_that_waits_for_a_receive_is_in_time),
		cmocka_unit_test(an_answer_behind_others_of_its_session_is_in_time),
		cmocka_unit_test(no_server_is_to_blame_for_want_of_receives),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("shared_short", tests, NULL, NULL);
}
