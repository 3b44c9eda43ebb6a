/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transaction blocks are part of the gateway's memory. If none is left calls wait, even the first
 * of a session: none is refused or lost, and each session gets its turn.
 */
#include "tests/cmocka_all.h"

#include "base/log.h"
#include "proxy/snapshot.h"
#include "tests/session/hoard.h"
#include "tests/session/inside.h"
#include "tests/session/world.h"

static struct world w;
static struct hoard hoard;

enum { ROOM = 8192 }; /* that a call of few segments takes */

static const struct peer_spec plain = {.body = 128, .reply = 24, .segs = 1};

/* As version 2 continues them, or version 1 has them in chunks. */
static const struct peer_spec longer = {.body = 9000, .reply = 24, .segs = 2};
static const struct peer_spec by_chunk = {.body = 9000, .by_chunk = true, .reply = 24, .segs = 3};
static const struct peer_spec chunks = {.body = 128,
					.reply = 24,
					.segs = 3,
					.nreads = 2,
					.reads = {3000, 5},
					.nwrites = 2,
					.write_caps = {4000, 100},
					.writes = {3900, 7}};

static const struct peer_spec chunk = {
	.body = 128, .reply = 24, .segs = 1, .nwrites = 1, .write_caps = {100}, .writes = {100}};

static const struct peer_spec *spec(unsigned i, unsigned version)
{
	const struct peer_spec *each[] = {&plain, version == 2 ? &longer : &by_chunk, &chunks,
					  &by_chunk};

	return each[i % 4];
}

static void begin(unsigned cv, unsigned sv, unsigned pairs, size_t memory)
{
	struct setup s = setup_defaults(cv, sv, 60 + cv * 2 + sv);

	s.pairs = pairs;
	s.memory = memory;
	s.credits = 48;
	world_new(&w, &s);
	world_connect(&w);
}

static void end(void)
{
	for (unsigned i = 0; i < w.s.pairs; i++) {
		assert_int_equal(w.pairs[i].client.errors + w.pairs[i].server.errors, 0);
		assert_int_equal(w.pairs[i].client.corrupt + w.pairs[i].server.corrupt, 0);
		assert_int_equal(w.pairs[i].client.unexpected + w.pairs[i].server.unexpected, 0);
		assert_false(w.pairs[i].client.closed);
	}
	world_quit(&w);
	world_free(&w);
}

/* Calls of the only session that wait, as operators see them. */
static unsigned calls_that_wait(void)
{
	struct snapshot_session one;
	struct snapshot l = {.kind = SNAPSHOT_SESSIONS,
			     .want = {.route = SNAPSHOT_ANY_ROUTE},
			     .sessions = &one,
			     .most = 1};

	while (proxy_snapshot(w.proxy, &l, memnet_now(w.net)))
		;
	assert_int_equal(l.nsessions, 1);
	return one.waiting;
}

/* For all forms: the call is answered an hour later, when there is memory again. */
static void a_first_call_waits_too(void **state)
{
	(void)state;
	for (unsigned v = 0; v < 4; v++)
		for (unsigned i = 0; i < 4; i++) {
			unsigned cv = 1 + v / 2, sv = 1 + v % 2;
			struct peer *client = &w.pairs[0].client;

			begin(cv, sv, 1, 32 << 20);
			hoard_rooms(&hoard, &w.proxy->arena, false);
			assert_true(peer_call(client, spec(i, cv)));
			for (unsigned k = 0; k < 60; k++)
				world_run(&w, 60 * NSEC_PER_SEC);
			assert_int_equal(client->done, 0);
			assert_int_equal(inside_session(w.proxy, 0)->ntxns, 0);
			assert_int_equal(calls_that_wait(), 1);
			hoard_end(&hoard);
			world_run(&w, NSEC_PER_SEC);
			assert_int_equal(client->done, 1);
			assert_int_equal(calls_that_wait(), 0);
			end();
		}
}

/* Behind it others, of every form; and replies to the server's calls pass them all. */
static void calls_that_wait_keep_their_order_and_let_replies_pass(void **state)
{
	(void)state;
	for (unsigned v = 0; v < 4; v++) {
		unsigned cv = 1 + v / 2, sv = 1 + v % 2;
		struct peer *client = &w.pairs[0].client, *server = &w.pairs[0].server;

		begin(cv, sv, 1, 32 << 20);
		peer_call(client, &plain);
		world_run(&w, NSEC_PER_SEC);
		hoard_rooms(&hoard, &w.proxy->arena, false);
		for (unsigned i = 0; i < 12; i++)
			assert_true(peer_call(client, spec(i, cv)));
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(client->done, 1);
		for (unsigned i = 0; i < 5; i++)
			assert_true(peer_call(server, &plain));
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(server->done, 5);
		/* One at a time there is room for all. */
		hoard_give(&hoard, 2 * ROOM);
		world_run(&w, 10 * NSEC_PER_SEC);
		assert_int_equal(client->done, 13);
		hoard_end(&hoard);
		end();
	}
}

/* Calls that wait for payload memory hold one block of their client, however many they are. Calls
 * without chunks pass them, if the server needs no Reply chunk for them. */
static void calls_without_chunks_pass_those_that_wait(void **state)
{
	(void)state;
	for (unsigned v = 0; v < 2; v++) {
		struct peer *client = &w.pairs[0].client;
		struct buf_arena *arena;

		begin(1 + v, 2, 1, 32 << 20);
		arena = &w.proxy->arena;
		peer_call(client, &plain);
		world_run(&w, NSEC_PER_SEC);
		hoard_zone(&hoard, arena, BUF_ZONE_ORDINARY);
		for (unsigned i = 0; i < arena->parts; i++)
			hoard_zone(&hoard, arena, buf_own_zone(arena, BUF_TRANSACTION, i));
		for (unsigned i = 0; i < 12; i++)
			assert_true(peer_call(client, &chunk));
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(client->done, 1);
		assert_int_equal(inside_session(w.proxy, 0)->ntxns, 1);
		assert_int_equal(calls_that_wait(), 12);
		for (unsigned i = 0; i < 5; i++)
			assert_true(peer_call(client, &plain));
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(client->done, 6);
		hoard_end(&hoard);
		world_run(&w, 10 * NSEC_PER_SEC);
		assert_int_equal(client->done, 18);
		end();
	}
}

/* The server hangs over as many calls with chunks as may run. A few calls without chunks run all the same, so that
 * leases are renewed. */
static void calls_without_chunks_run_beyond_the_limit(void **state)
{
	struct peer *client = &w.pairs[0].client, *server = &w.pairs[0].server;
	const struct session_queue *q;

	(void)state;
	begin(2, 2, 1, 128 << 20);
	peer_call(client, &plain);
	world_run(&w, NSEC_PER_SEC);
	q = &inside_session(w.proxy, 0)->forward;
	server->holds = true;
	for (unsigned i = 0; i < q->limit; i++)
		assert_true(peer_call(client, &chunk));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(q->running, q->limit);
	server->holds = false;
	for (unsigned i = 0; i < 12; i++)
		assert_true(peer_call(client, &plain));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(client->done, 1 + 12);
	server->holds = true;
	for (unsigned i = 0; i < 12; i++)
		assert_true(peer_call(client, &plain));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(q->running, q->limit + 8);
	server->holds = false;
	peer_release(server, true);
	world_run(&w, NSEC_PER_SEC);
	end();
}

/* A client answers no Read of as many as it likes. Messages to it still find places in the queue of its connection. */
static void reads_leave_places_to_messages(void **state)
{
	static const struct memnet_pace never = {.answer = 1000 * NSEC_PER_SEC};
	static const struct peer_spec two = {
		.body = 128, .reply = 24, .segs = 1, .nreads = 2, .reads = {3000, 3000}};
	struct peer *client = &w.pairs[0].client, *server = &w.pairs[0].server;

	(void)state;
	begin(2, 2, 1, 128 << 20);
	peer_call(client, &plain);
	world_run(&w, NSEC_PER_SEC);
	memnet_pace(client->leg.conn, &never);
	for (unsigned i = 0; i < 48; i++)
		assert_true(peer_call(client, &two));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(inside_session(w.proxy, 0)->ops[PROXY_CLIENT].reads.posted, 64);
	assert_true(peer_call(server, &plain));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(server->done, 1);
	world_run(&w, 100 * NSEC_PER_SEC); /* D2 ends the session */
	world_quit(&w);
	world_free(&w);
}

/* A client never stops making calls without chunks. A call with a chunk behind them has its turn all the same. */
static void calls_without_chunks_do_not_keep_all_places(void **state)
{
	struct peer *client = &w.pairs[0].client, *server = &w.pairs[0].server;
	struct setup s = setup_defaults(2, 2, 66);
	bool is_answered = false;

	(void)state;
	s.credits = 8;
	world_new(&w, &s);
	world_connect(&w);
	server->holds = true;
	for (unsigned i = 0; i < 32; i++)
		assert_true(peer_call(client, &plain));
	world_run(&w, NSEC_PER_SEC);
	assert_true(peer_call(client, &chunk));
	world_run(&w, NSEC_PER_SEC);
	for (unsigned i = 0; i < 40 && !is_answered; i++) {
		while (peer_call(client, &plain))
			;
		world_run(&w, NSEC_PER_SEC);
		(void)peer_release(server, true);
		world_run(&w, NSEC_PER_SEC);
		is_answered = true;
		for (unsigned k = 0; k < PEER_CALLS; k++)
			if (client->calls[k].busy && client->calls[k].spec.nwrites)
				is_answered = false;
	}
	assert_true(is_answered);
	server->holds = false;
	(void)peer_release(server, true);
	world_run(&w, NSEC_PER_SEC);
	end();
}

/* If more calls without chunks come at once than may run, they wait for places, but not for the memory that a call
 * before them waits for. */
static void calls_without_chunks_wait_for_places_alone(void **state)
{
	enum { CREDITS = 20, BURST = 60 };
	struct setup s = setup_defaults(LEG_V2, LEG_V2, 65);
	struct peer *client = &w.pairs[0].client;
	struct buf_arena *arena;

	(void)state;
	s.memory = 32 << 20;
	s.credits = CREDITS;
	world_new(&w, &s);
	world_connect(&w);
	arena = &w.proxy->arena;
	assert_true(peer_call(client, &plain));
	world_run(&w, NSEC_PER_SEC);
	hoard_zone(&hoard, arena, BUF_ZONE_ORDINARY);
	for (unsigned i = 0; i < arena->parts; i++)
		hoard_zone(&hoard, arena, buf_own_zone(arena, BUF_TRANSACTION, i));
	assert_true(peer_call(client, &chunk));
	world_run(&w, NSEC_PER_SEC);
	for (unsigned i = 0; i < BURST; i++)
		assert_true(peer_call(client, &plain));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(client->done, 1 + BURST);
	assert_int_equal(calls_that_wait(), 1);
	hoard_end(&hoard);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(client->done, 2 + BURST);
	end();
}

/* A call that needs more than a quarter of the range is reported at once, and others go on. */
static void a_call_that_never_fits_is_reported(void **state)
{
	static const struct peer_spec huge = {.body = 128,
					      .reply = 24,
					      .segs = 1,
					      .nwrites = 2,
					      .write_caps = {3 << 20, 3 << 20},
					      .writes = {100, 7}};

	(void)state;
	for (unsigned v = 0; v < 4; v++) {
		struct peer *client = &w.pairs[0].client;

		begin(1 + v / 2, 1 + v % 2, 1, 32 << 20);
		assert_true(peer_call(client, &huge));
		assert_true(peer_call(client, &chunk));
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(client->errors, 1);
		assert_int_equal(client->done, 1);
		assert_false(client->closed);
		world_quit(&w);
		world_free(&w);
	}
}

/* A server's wait without its Receives, so its replies come through. */
static void calls_of_servers_wait_beside_those_of_clients(void **state)
{
	(void)state;
	for (unsigned v = 0; v < 4; v++) {
		unsigned cv = 1 + v / 2, sv = 1 + v % 2;
		struct peer *client = &w.pairs[0].client, *server = &w.pairs[0].server;

		begin(cv, sv, 1, 32 << 20);
		peer_call(client, &plain);
		world_run(&w, NSEC_PER_SEC);
		hoard_rooms(&hoard, &w.proxy->arena, true);
		for (unsigned i = 0; i < 60; i++)
			assert_true(peer_call(server, &plain));
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(server->done, 0);
		assert_true(world_arena(&w)->zones[BUF_ZONE_COPIED_CALL].used > 0);
		for (unsigned i = 0; i < 60; i++)
			assert_true(peer_call(client, &plain));
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(client->done, 61);
		hoard_end(&hoard);
		world_run(&w, 10 * NSEC_PER_SEC);
		assert_int_equal(server->done, 60);
		assert_int_equal(world_arena(&w)->zones[BUF_ZONE_COPIED_CALL].used, 0);
		end();
	}
}

/* Two sessions wait with many calls each, and room comes back by and by: neither gets ahead. (A route
 * may not take all that is left to the last, so some of it stays.) */
static void each_session_has_its_turn(void **state)
{
	struct peer *a = &w.pairs[0].server, *b = &w.pairs[1].server;

	(void)state;
	begin(2, 2, 2, 32 << 20);
	for (unsigned i = 0; i < 2; i++) {
		peer_call(&w.pairs[i].client, &plain);
		world_run(&w, NSEC_PER_SEC);
		w.pairs[i].server.holds = true;
	}
	hoard_rooms(&hoard, &w.proxy->arena, false);
	for (unsigned i = 0; i < 2; i++)
		for (unsigned k = 0; k < 20; k++)
			assert_true(peer_call(&w.pairs[i].client, &plain));
	world_run(&w, NSEC_PER_SEC);
	for (unsigned i = 1; i <= 10; i++) {
		unsigned at_a = 0, at_b = 0;

		hoard_give(&hoard, 2 * ROOM);
		world_run(&w, NSEC_PER_SEC);
		for (unsigned k = 0; k < PEER_CALLS; k++) {
			at_a += a->serves[k].held_back;
			at_b += b->serves[k].held_back;
		}
		assert_in_range(at_a + at_b, i, 2 * i);
		assert_in_range(at_a + 2, at_b, at_b + 4);
	}
	hoard_end(&hoard);
	for (unsigned i = 0; i < 2; i++) {
		w.pairs[i].server.holds = false;
		peer_release(&w.pairs[i].server, true);
	}
	world_run(&w, 10 * NSEC_PER_SEC);
	assert_int_equal(w.pairs[0].client.done, 21);
	assert_int_equal(w.pairs[1].client.done, 21);
	end();
}

/* One whose call wants a larger place than has come free is passed by those whose do not. */
static void a_larger_wish_holds_nobody_up(void **state)
{
	struct peer_spec wide = {.body = 128, .reply = 24, .segs = 3, .nreads = 4, .nwrites = 4};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		wide.reads[i] = wide.write_caps[i] = 3000;
		wide.writes[i] = 2000;
	}
	begin(2, 2, 2, 32 << 20);
	for (unsigned i = 0; i < 2; i++)
		peer_call(&w.pairs[i].client, &plain);
	world_run(&w, NSEC_PER_SEC);
	hoard_rooms(&hoard, &w.proxy->arena, false);
	assert_true(peer_call(&w.pairs[0].client, &wide));
	world_run(&w, NSEC_PER_SEC);
	for (unsigned i = 0; i < 20; i++)
		assert_true(peer_call(&w.pairs[1].client, &plain));
	hoard_give(&hoard, ROOM);
	world_run(&w, 100 * NSEC_PER_SEC);
	assert_int_equal(w.pairs[1].client.done, 21);
	hoard_end(&hoard);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(w.pairs[0].client.done, 2);
	end();
}

/* The clients of a server that hangs have as many calls as they like: others go on. */
static void a_server_that_hangs_leaves_others_room(void **state)
{
	(void)state;
	begin(2, 2, 3, 32 << 20);
	for (unsigned i = 0; i < 3; i++)
		peer_call(&w.pairs[i].client, &plain);
	world_run(&w, NSEC_PER_SEC);
	w.pairs[0].server.holds = w.pairs[1].server.holds = true;
	/* With chunks: one without might have no answer, and is let go (txn_reply_timeout.c). */
	for (unsigned i = 0; i < 90; i++)
		assert_true(peer_call(&w.pairs[0].client, &chunk) &&
			    peer_call(&w.pairs[1].client, &chunk));
	for (unsigned k = 0; k < 20; k++) {
		world_run(&w, 60 * NSEC_PER_SEC);
		for (unsigned i = 0; i < 10; i++)
			assert_true(peer_call(&w.pairs[2].client, &plain));
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(w.pairs[2].client.done, 11 + 10 * k);
	}
	for (unsigned i = 0; i < 2; i++) {
		w.pairs[i].server.holds = false;
		peer_release(&w.pairs[i].server, true);
	}
	world_run(&w, 10 * NSEC_PER_SEC);
	assert_int_equal(w.pairs[0].client.done, 91);
	assert_int_equal(w.pairs[1].client.done, 91);
	end();
}

/* Transaction blocks in flight are part of the worker's memory, and none is on the heap. */
static void rpcs_in_flight_are_counted(void **state)
{
	struct peer *client = &w.pairs[0].client, *server = &w.pairs[0].server;
	unsigned n;

	(void)state;
	begin(2, 2, 1, 32 << 20);
	peer_call(client, &plain);
	world_run(&w, NSEC_PER_SEC);
	server->holds = true;
	assert_true(world_arena(&w)->zones[BUF_ZONE_TXN_FORWARD].used == 0);
	for (unsigned i = 0; i < 20; i++)
		assert_true(peer_call(client, &plain));
	world_run(&w, NSEC_PER_SEC);
	n = inside_session(w.proxy, 0)->ntxns;
	assert_int_equal(n, 20);
	assert_int_equal(inside_session(w.proxy, 0)->forward.block_quota.used, n * ROOM);
	server->holds = false;
	peer_release(server, true);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(inside_session(w.proxy, 0)->forward.block_quota.used, 0);
	end();
}

/* Calls in flight of the first pair, and places that others of it have left. */
static void have_cached(void)
{
	struct peer *client = &w.pairs[0].client, *server = &w.pairs[0].server;
	const struct session_queue *q = &inside_session(w.proxy, 0)->forward;

	server->holds = true;
	for (unsigned i = 0; i < 20; i++)
		assert_true(peer_call(client, &plain));
	world_run(&w, NSEC_PER_SEC);
	peer_release(server, true);
	assert_true(peer_call(client, &plain));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(inside_session(w.proxy, 0)->ntxns, 1);
	assert_false(list_is_empty(&w.proxy->caching_queues));
	assert_true(q->block_quota.used > ROOM);
}

/* A session that is at work keeps a few places for its next calls, until somebody would wait for one. */
static void cached_blocks_are_for_a_session_that_needs_one(void **state)
{
	const struct session_queue *q;

	(void)state;
	begin(2, 2, 2, 32 << 20);
	for (unsigned i = 0; i < 2; i++)
		peer_call(&w.pairs[i].client, &plain);
	world_run(&w, NSEC_PER_SEC);
	have_cached();
	q = &inside_session(w.proxy, 0)->forward;
	hoard_rooms(&hoard, &w.proxy->arena, false);
	assert_true(peer_call(&w.pairs[1].client, &plain));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(w.pairs[1].client.done, 2);
	assert_true(list_is_empty(&w.proxy->caching_queues));
	assert_int_equal(q->block_quota.used, ROOM);
	hoard_end(&hoard);
	w.pairs[0].server.holds = false;
	peer_release(&w.pairs[0].server, true);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(q->block_quota.used, 0);
	end();
}

/* No free blocks are kept while another session waits, and a session that ends or is idle has
 * none. */
static void an_idle_or_ended_session_has_no_cached_blocks(void **state)
{
	(void)state;
	for (unsigned v = 0; v < 2; v++) {
		begin(2, 2, 1, 32 << 20);
		peer_call(&w.pairs[0].client, &plain);
		world_run(&w, NSEC_PER_SEC);
		have_cached();
		if (v == 0) {
			w.pairs[0].server.holds = false;
			peer_release(&w.pairs[0].server, true);
			world_run(&w, NSEC_PER_SEC);
			assert_int_equal(inside_session(w.proxy, 0)->forward.block_quota.used, 0);
		} else {
			leg_close(&w.pairs[0].server.leg, ERR_CLOSED, "gone");
			world_run(&w, 60 * NSEC_PER_SEC);
			assert_int_equal(proxy_sessions(w.proxy), 0);
		}
		assert_true(list_is_empty(&w.proxy->caching_queues));
		assert_true(world_arena(&w)->zones[BUF_ZONE_TXN_FORWARD].used == 0);
		world_quit(&w);
		world_free(&w);
	}
}

/* With calls kept: a session that ends gives back all of theirs; one that is drained waits for them. */
static void a_session_ends_with_calls_kept(void **state)
{
	(void)state;
	for (unsigned v = 0; v < 8; v++) {
		unsigned cv = 1 + v / 2 % 2, sv = 1 + v % 2;
		struct world_pair *p = &w.pairs[0];

		begin(cv, sv, 1, 32 << 20);
		peer_call(&p->client, &plain);
		world_run(&w, NSEC_PER_SEC);
		hoard_rooms(&hoard, &w.proxy->arena, false);
		hoard_rooms(&hoard, &w.proxy->arena, true);
		for (unsigned i = 0; i < 12; i++)
			assert_true(peer_call(&p->client, spec(i, cv)) &&
				    peer_call(&p->server, &plain));
		world_run(&w, NSEC_PER_SEC);
		if (v >= 4) {
			proxy_drain(w.proxy, memnet_now(w.net) + 3600 * NSEC_PER_SEC);
			world_run(&w, 60 * NSEC_PER_SEC);
			assert_false(p->client.closed);
			hoard_end(&hoard);
			world_run(&w, 60 * NSEC_PER_SEC);
			assert_int_equal(p->client.done, 13);
			assert_true(p->client.closed);
		} else {
			leg_close(v % 2 ? &p->client.leg : &p->server.leg, ERR_CLOSED, "gone");
			world_run(&w, 60 * NSEC_PER_SEC);
			assert_int_equal(proxy_sessions(w.proxy), 0);
			hoard_end(&hoard);
		}
		world_quit(&w);
		world_free(&w);
	}
}

static size_t pooled, shed;

static size_t much(const struct fabric *f)
{
	(void)f;
	return pooled;
}

static void count_shed(struct fabric *f, size_t octets)
{
	(void)f;
	shed = octets;
}

/* Memory that connections take after set-up is limited, too: beyond the limit the fabric ends
 * some. */
static void what_connections_take_later_has_the_same_limit(void **state)
{
	const struct fabric_ops *before;
	struct fabric_ops ops;
	struct fabric *f;

	(void)state;
	begin(1, 1, 2, 16 << 20);
	for (unsigned i = 0; i < w.s.pairs; i++) /* silent clients would be displaced */
		assert_true(peer_call(&w.pairs[i].client, &plain));
	f = w.gw_fabrics[0];
	before = f->ops;
	ops = *before;
	ops.pooled = much;
	ops.shed = count_shed;
	f->ops = &ops;
	pooled = 1000;
	world_run(&w, 21 * NSEC_PER_SEC);
	assert_int_equal(shed, 0);
	pooled = 64 << 20;
	world_run(&w, 11 * NSEC_PER_SEC);
	assert_in_range(shed, 48 << 20, 64 << 20);
	f->ops = before;
	end();
}

static const struct fabric_ops *real;
static unsigned moves;
static uint32_t largest;

static void see(const struct segment *seg)
{
	moves++;
	largest = seg->length > largest ? seg->length : largest;
}

static int seen_read(struct fabric_conn *c, void *to, const struct segment *remote, void *cookie)
{
	see(remote);
	return real->read(c, to, remote, cookie);
}

static int seen_write(struct fabric_conn *c, const struct fabric_sge *sge, unsigned nsge,
		      const struct segment *remote, void *cookie)
{
	see(remote);
	return real->write(c, sge, nsge, remote, cookie);
}

/* A segment is moved in pieces for which a minute is enough: a peer that answers none of them has
 * no longer. */
static void a_large_segment_moves_in_pieces(void **state)
{
	enum { PAYLOAD = (3 << 20) + 8 };
	const struct peer_spec spec = {.body = 128,
				       .reply = 24,
				       .segs = 1,
				       .nreads = 1,
				       .reads = {PAYLOAD},
				       .nwrites = 1,
				       .write_caps = {PAYLOAD},
				       .writes = {PAYLOAD}};
	struct fabric_ops ops;

	(void)state;
	begin(1, 1, 1, 256 << 20);
	real = w.gw_fabrics[0]->ops;
	ops = *real;
	ops.read = seen_read;
	ops.write = seen_write;
	w.gw_fabrics[0]->ops = &ops;
	moves = largest = 0;
	assert_true(peer_call(&w.pairs[0].client, &spec));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(w.pairs[0].client.done, 1);
	assert_int_equal(moves, 8);
	assert_int_equal(largest, 1 << 20);
	w.gw_fabrics[0]->ops = real;
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_first_call_waits_too),
		cmocka_unit_test(calls_that_wait_keep_their_order_and_let_replies_pass),
		cmocka_unit_test(calls_without_chunks_pass_those_that_wait),
		cmocka_unit_test(calls_without_chunks_run_beyond_the_limit),
		cmocka_unit_test(reads_leave_places_to_messages),
		cmocka_unit_test(calls_without_chunks_wait_for_places_alone),
		cmocka_unit_test(calls_without_chunks_do_not_keep_all_places),
		cmocka_unit_test(a_call_that_never_fits_is_reported),
		cmocka_unit_test(calls_of_servers_wait_beside_those_of_clients),
		cmocka_unit_test(each_session_has_its_turn),
		cmocka_unit_test(a_larger_wish_holds_nobody_up),
		cmocka_unit_test(a_server_that_hangs_leaves_others_room),
		cmocka_unit_test(rpcs_in_flight_are_counted),
		cmocka_unit_test(cached_blocks_are_for_a_session_that_needs_one),
		cmocka_unit_test(an_idle_or_ended_session_has_no_cached_blocks),
		cmocka_unit_test(a_session_ends_with_calls_kept),
		cmocka_unit_test(what_connections_take_later_has_the_same_limit),
		cmocka_unit_test(a_large_segment_moves_in_pieces),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("rooms", tests, NULL, NULL);
}
