/* SPDX-License-Identifier: BSD-2-Clause */
/* How much memory large results take, and how large they may be. */
#include "tests/cmocka_all.h"

#include "tests/session/hoard.h"
#include "tests/session/inside.h"
#include "tests/session/world.h"

static struct world world;
static struct hoard hoard;

/* The first call of a connection; its reply brings credits. */
static const struct peer_spec first = {.body = 100, .reply = 24, .segs = 1};

enum { SAMPLE = 9 << 20 }; /* octets after which the gateway knows how fast a client is, and more */

/* The client takes READs, one after the other, until the gateway knows that it is fast. */
static void show_speed(struct peer *c, uint32_t length)
{
	const struct peer_spec spec = peer_read_of(length);

	for (uint32_t taken = 0; taken < SAMPLE; taken += length) {
		assert_true(peer_call(c, &spec));
		world_run(&world, 2 * NSEC_PER_SEC);
		assert_int_equal(peer_busy(c), 0);
	}
}

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

/* 64 READs of 4 MiB hold a fourth of what they return, at most. Without cut-through they hold all of it. With a
 * .cut_through_from of FROM results, the first result is cut through, because it is alone. Then results are stored
 * until they would hold more than FROM results do, the window of the first included. */
static void many_large_ones_at_once(void **state)
{
	enum { READS = 64, FROM = 8, STORED = FROM - 1, LARGE = 4 << 20, MOST = 64 << 20 };
	const struct peer_spec spec = peer_read_of(LARGE);

	(void)state;
	for (unsigned cuts = 0; cuts < 3; cuts++) {
		struct setup s = setup_defaults(LEG_V1, LEG_V1_OR_V2, 17);
		struct peer *c = &world.pairs[0].client;
		const struct session *in;
		uint64_t done, passed;
		size_t before;

		s.credits = 2 * READS;
		s.max_payload = LARGE;
		s.cut_through_bytes = cuts ? 128 << 10 : 0;
		s.cut_through_from = cuts == 2 ? FROM * LARGE : 0;
		s.memory = (size_t)2 << 30; /* so that all of them could be stored */
		s.peer_memory = (size_t)1 << 30;
		world_new(&world, &s);
		world_connect(&world);
		assert_true(peer_call(c, &first)); /* brings credits */
		world_run(&world, NSEC_PER_SEC);
		show_speed(c, LARGE);
		done = c->done;
		passed = proxy_counters(world.proxy)->passed_bytes;
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
		assert_int_equal(c->done, done + READS);
		assert_int_equal(c->corrupt + c->errors, 0);
		assert_int_equal(proxy_counters(world.proxy)->passed_bytes - passed,
				 cuts == 2 ? (uint64_t)(READS - STORED) * LARGE
				 : cuts	   ? (uint64_t)READS * LARGE
					   : 0);
		if (cuts)
			assert_true(world_arena(&world)->peak <= MOST);
		world_quit(&world);
		world_free(&world);
	}
}

/* A result is cut through if no other call of its session holds memory, and stored beside one. */
static void one_at_a_time_is_cut_through(void **state)
{
	enum { LARGE = 1 << 20 };
	const struct peer_spec spec = peer_read_of(LARGE);
	struct setup s = setup_defaults(LEG_V1, LEG_V1_OR_V2, 19);
	struct peer *c = &world.pairs[0].client;
	unsigned done = 0;

	(void)state;
	s.max_payload = LARGE;
	s.cut_through_bytes = 128 << 10;
	s.cut_through_from = UINT32_MAX;
	s.memory = (size_t)1 << 30;
	world_new(&world, &s);
	world_connect(&world);
	assert_true(peer_call(c, &first)); /* brings credits */
	world_run(&world, NSEC_PER_SEC);
	for (unsigned at_once = 1; at_once <= 3; at_once++) {
		uint64_t passed = proxy_counters(world.proxy)->passed_bytes;

		for (unsigned i = 0; i < at_once; i++)
			assert_true(peer_call(c, &spec));
		world_run(&world, NSEC_PER_SEC);
		done += at_once;
		assert_int_equal(c->done, 1 + done);
		assert_int_equal(proxy_counters(world.proxy)->passed_bytes - passed, LARGE);
	}
	assert_int_equal(c->corrupt + c->errors, 0);
	world_quit(&world);
	world_free(&world);
}

/* A result that is alone is stored if the client's fabric completes Writes only after a round trip, as verbs does. */
static void one_for_an_adapter_is_stored(void **state)
{
	enum { READS = 4, LARGE = 1 << 20 };
	const struct peer_spec spec = peer_read_of(LARGE);
	struct setup s = setup_defaults(LEG_V1, LEG_V1_OR_V2, 21);
	struct peer *c = &world.pairs[0].client;

	(void)state;
	s.max_payload = LARGE;
	s.cut_through_bytes = 128 << 10;
	s.cut_through_from = 32 << 20;
	s.two_fabrics = true;
	world_new(&world, &s);
	world.gw_fabrics[0]->streams = false;
	world_connect(&world);
	for (unsigned i = 0; i < READS; i++) {
		assert_true(peer_call(c, &spec));
		world_run(&world, NSEC_PER_SEC);
		assert_int_equal(c->done, i + 1);
	}
	assert_int_equal(c->corrupt + c->errors, 0);
	assert_int_equal(proxy_counters(world.proxy)->passed_bytes, 0);
	world_quit(&world);
	world_free(&world);
}

/* Stored results of a hung server's session do not start cut-through for other sessions; its own
 * next result is cut through. The first result of each session is cut through, because it is alone. */
static void others_are_no_matter(void **state)
{
	enum { FROM = 4, LARGE = 1 << 20 };
	const struct peer_spec spec = peer_read_of(LARGE);
	struct setup s = setup_defaults(LEG_V1, LEG_V1_OR_V2, 18);
	struct world_pair *hung = &world.pairs[0], *other = &world.pairs[1];
	uint64_t done, passed;

	(void)state;
	s.pairs = 2;
	s.max_payload = LARGE;
	s.cut_through_bytes = 128 << 10;
	s.cut_through_from = FROM * LARGE;
	s.memory = (size_t)1 << 30;
	world_new(&world, &s);
	world_connect(&world);
	for (unsigned i = 0; i < 2; i++)
		assert_true(peer_call(&world.pairs[i].client, &first)); /* brings credits */
	world_run(&world, NSEC_PER_SEC);
	show_speed(&hung->client, LARGE);
	done = hung->client.done;
	passed = proxy_counters(world.proxy)->passed_bytes;
	hung->server.holds = true;
	for (unsigned i = 0; i < FROM; i++)
		assert_true(peer_call(&hung->client, &spec));
	world_run(&world, NSEC_PER_SEC);
	for (unsigned i = 0; i < 2; i++)
		assert_true(peer_call(&other->client, &spec));
	world_run(&world, NSEC_PER_SEC);
	assert_int_equal(other->client.done, 3);
	assert_int_equal(proxy_counters(world.proxy)->passed_bytes - passed,
			 LARGE); /* of the other */
	assert_true(peer_call(&hung->client, &spec));
	world_run(&world, NSEC_PER_SEC);
	assert_int_equal(peer_release(&hung->server, true), FROM + 1);
	world_run(&world, NSEC_PER_SEC);
	assert_int_equal(hung->client.done, done + FROM + 1);
	assert_int_equal(hung->client.corrupt + other->client.corrupt, 0);
	/* the first and the last of the hung one as well */
	assert_int_equal(proxy_counters(world.proxy)->passed_bytes - passed, 3 * LARGE);
	world_quit(&world);
	world_free(&world);
}

/* The server answers every call that it holds but that with @xid. */
static void answer_all_but(struct peer *p, uint32_t xid)
{
	for (unsigned i = 0; i < PEER_CALLS; i++)
		if (p->serves[i].busy && p->serves[i].in.xid == xid)
			p->serves[i].held_back = false;
	peer_release(p, true);
	for (unsigned i = 0; i < PEER_CALLS; i++)
		if (p->serves[i].busy && p->serves[i].in.xid == xid && !p->serves[i].replying)
			p->serves[i].held_back = true;
}

/* For a session with READs of @length octets. Results of 32 MiB are stored. */
static struct setup setup_of_reads(uint32_t length)
{
	struct setup s = setup_defaults(LEG_V1, LEG_V1_OR_V2, 20);

	s.max_payload = length;
	s.credits = 80;
	s.cut_through_bytes = 128 << 10;
	s.cut_through_from = 32 << 20;
	s.memory = (size_t)2 << 30;
	s.peer_memory = (size_t)1 << 30;
	return s;
}

/* A session whose server holds calls, and whose client is @far. With @is_fast the client has shown that. The first READ
 * of @n, of @s->max_payload octets each, is cut through. Return: its XID. */
static uint32_t begin_reads_of(const struct setup *s, bool is_fast, nsec_t far, unsigned n)
{
	const struct peer_spec spec = peer_read_of(s->max_payload);
	struct world_pair *pair = &world.pairs[0];
	uint32_t xid;

	world_new(&world, s);
	if (far)
		memnet_set_far(world.net, &pair->gw_addr, far);
	world_connect(&world);
	assert_true(peer_call(&pair->client, &first)); /* brings credits */
	world_run(&world, NSEC_PER_SEC);
	if (is_fast)
		show_speed(&pair->client, s->max_payload);
	pair->server.holds = true;
	pair->server.divides = false;
	xid = pair->client.next_xid;
	for (unsigned i = 0; i < n; i++)
		assert_true(peer_call(&pair->client, &spec));
	world_run(&world, NSEC_PER_SEC);
	return xid;
}

static uint32_t begin_reads(nsec_t far, unsigned n, uint32_t length)
{
	const struct setup s = setup_of_reads(length);

	return begin_reads_of(&s, true, far, n);
}

static void end_reads(void)
{
	enum { SECONDS = 60 };

	for (unsigned i = 0; i < SECONDS && peer_busy(&world.pairs[0].client); i++) {
		answer_some(&world.pairs[0].server, 8);
		world_run(&world, NSEC_PER_SEC);
	}
	assert_int_equal(world.pairs[0].client.corrupt + world.pairs[0].client.errors, 0);
	assert_int_equal(peer_busy(&world.pairs[0].client), 0);
	world_quit(&world);
	world_free(&world);
}

/* The result of a READ is stored beside another, and takes a second to arrive. A client that is known to be fast gets most
 * of it meanwhile. Another client gets it when all of it has arrived. */
static void stored_ones_are_sent_while_they_arrive(void **state)
{
	enum { LARGE = 1 << 20 };
	const struct memnet_pace slow = {.take_octet = 1000};
	struct world_pair *pair = &world.pairs[0];
	struct setup s = setup_of_reads(LARGE);

	(void)state;
	s.server_version = LEG_V1;
	for (unsigned is_fast = 0; is_fast < 2; is_fast++) {
		uint32_t xid = begin_reads_of(&s, is_fast, 0, 2);
		const struct session *in = inside_session(world.proxy, 0);
		uint64_t done = pair->client.done, moved = in->ops[PROXY_CLIENT].writes.moved;

		memnet_pace(in->server.conn, &slow);
		pair->server.divides = true;
		answer_all_but(&pair->server, xid);
		world_run(&world, NSEC_PER_SEC / 10 * 9);
		assert_int_equal(pair->client.done, done);
		moved = in->ops[PROXY_CLIENT].writes.moved - moved;
		assert_in_range(moved, is_fast ? LARGE / 2 : 0, is_fast ? LARGE : 0);
		memnet_pace(in->server.conn, &(struct memnet_pace){0});
		world_run(&world, NSEC_PER_SEC);
		assert_int_equal(pair->client.done, done + 1);
		end_reads();
	}
}

/* A client becomes slow when its READs are at the server. Results that are stored, and would be sent while they arrive,
 * arrive nevertheless, in any order, and keep nothing else of the server waiting. */
static void stored_ones_never_keep_the_server_waiting(void **state)
{
	enum { STORED = 15, SCATTERED = 4, LARGE = 1 << 20 };
	const struct memnet_pace slow = {.take_octet = 19000};
	struct world_pair *pair = &world.pairs[0];
	struct setup s = setup_of_reads(LARGE);

	(void)state;
	s.server_version = LEG_V1;
	for (unsigned n = STORED; n; n = n == STORED ? SCATTERED : 0) {
		uint32_t xid = begin_reads_of(&s, true, 0, 1 + n);
		const struct session *in = inside_session(world.proxy, 0);

		memnet_pace(pair->client.leg.conn, &slow);
		pair->server.divides = true;
		pair->server.scatters = n == SCATTERED;
		answer_all_but(&pair->server, xid);
		world_run(&world, NSEC_PER_SEC);
		assert_false(leg_sink_is_blocked(&in->server));
		assert_int_equal(pair->server.writing, 0);
		assert_true(in->ops[PROXY_CLIENT].writes.octets <= 2 << 20);
		memnet_pace(pair->client.leg.conn, &(struct memnet_pace){0});
		end_reads();
	}
}

/* Stored results wait for a client at three times the least rate. A reply without chunks does not wait behind them,
 * and further results take no more memory than beside a fast client. */
static void stored_ones_are_held_back(void **state)
{
	enum { STORED = 7, MORE = 40, LARGE = 4 << 20, MOST = 40 << 20 };
	const struct memnet_pace slow = {.take_octet = 19000};
	const struct peer_spec small = {.body = 100, .reply = 24, .segs = 1};
	const struct peer_spec spec = peer_read_of(LARGE);
	struct world_pair *pair = &world.pairs[0];
	uint32_t xid = begin_reads(0, 1 + STORED, LARGE);
	const struct session *in = inside_session(world.proxy, 0);
	uint64_t done = pair->client.done;

	(void)state;
	memnet_pace(pair->client.leg.conn, &slow);
	answer_all_but(&pair->server, xid);
	world_run(&world, NSEC_PER_SEC);
	assert_true(in->ops[PROXY_CLIENT].writes.octets <= 2 << 20);
	pair->server.holds = false;
	assert_true(peer_call(&pair->client, &small));
	world_run(&world, 45 * NSEC_PER_SEC);
	assert_int_equal(pair->client.done, done + 1);
	assert_true(in->ops[PROXY_CLIENT].writes.octets <= 512 << 10);
	pair->server.holds = true;
	for (unsigned i = 0; i < MORE; i++)
		assert_true(peer_call(&pair->client, &spec));
	world_run(&world, NSEC_PER_SEC);
	assert_true(world_used(&world) <= MOST);
	memnet_pace(pair->client.leg.conn, &(struct memnet_pace){0});
	end_reads();
}

/* Results beyond .cut_through_from are cut through for a client that was seen to be fast. Otherwise their calls wait
 * until there is room to store them: if too little is known about the client, or if it takes results at three times the
 * least rate. */
static void further_ones_wait_for_a_slow_client(void **state)
{
	enum { READS = 60, LARGE = 1 << 20, STORED = 31 };
	const struct memnet_pace slow = {.take_octet = 19000};
	const struct peer_spec spec = peer_read_of(LARGE);
	struct world_pair *pair = &world.pairs[0];
	struct setup s;
	uint32_t xid;

	(void)state;
	begin_reads(0, READS, LARGE);
	assert_int_equal(inside_session(world.proxy, 0)->forward.running, READS);
	end_reads();

	s = setup_of_reads(LARGE);
	begin_reads_of(&s, false, 0, READS);
	assert_int_equal(inside_session(world.proxy, 0)->forward.running, 1 + STORED);
	end_reads();

	xid = begin_reads(0, 1 + STORED, LARGE);
	memnet_pace(pair->client.leg.conn, &slow);
	answer_all_but(&pair->server, xid);
	world_run(&world, 10 * NSEC_PER_SEC);
	for (unsigned i = 1 + STORED; i < READS; i++)
		assert_true(peer_call(&pair->client, &spec));
	world_run(&world, NSEC_PER_SEC);
	assert_in_range(inside_session(world.proxy, 0)->forward.running, 1, 1 + STORED);
	memnet_pace(pair->client.leg.conn, &(struct memnet_pace){0});
	end_reads();
}

/* A READ waits for exposures while its client is fast. When there are some, the client is slow: then the READ is not cut
 * through. */
static void a_call_that_waits_for_exposures_is_not_chosen_yet(void **state)
{
	enum { READS = 30, LARGE = 1 << 20, EXPOSURES = 16, SECONDS = 600 };
	const struct memnet_pace slow = {.take_octet = 19000};
	struct world_pair *pair = &world.pairs[0];
	struct setup s = setup_of_reads(LARGE);
	const struct session *in;
	unsigned running;
	uint64_t done;

	(void)state;
	s.exposures = EXPOSURES;
	s.cut_through_from = 4 << 20;
	begin_reads_of(&s, true, 0, READS);
	in = inside_session(world.proxy, 0);
	running = in->forward.running;
	done = pair->client.done;
	assert_in_range(running, 8, READS - 1);
	memnet_pace(pair->client.leg.conn, &slow);
	pair->server.holds = false;
	peer_release(&pair->server, true);
	for (unsigned i = 0; i < SECONDS && pair->client.done == done; i++)
		world_run(&world, NSEC_PER_SEC);
	assert_true(pair->client.done > done);
	assert_int_equal(in->forward.running, running - (pair->client.done - done));
	memnet_pace(pair->client.leg.conn, &(struct memnet_pace){0});
	end_reads();
}

/* While the server takes its time for one READ, which would be cut through, the others are not slow, however far the
 * client is. */
static void a_far_client_is_not_slowed_down(void **state)
{
	enum { READS = 24, LARGE = 1 << 20, TRIPS = 12 };
	const nsec_t far = 50 * NSEC_PER_MS;
	uint32_t xid = begin_reads(far, 1 + READS, LARGE);
	uint64_t done = world.pairs[0].client.done;

	(void)state;
	answer_all_but(&world.pairs[0].server, xid);
	world_run(&world, TRIPS * 2 * far);
	assert_int_equal(world.pairs[0].client.done, done + READS);
	end_reads();
}

/* A client below the least rate ends, although few Writes are posted at a time: stored results are held back, or come
 * through a window. */
static void held_back_ones_are_owed(void **state)
{
	enum { READS = 30, LARGE = 1 << 20 };
	const struct memnet_pace slow = {.take_octet = 500000}; /* an eighth of the rate */
	struct world_pair *pair = &world.pairs[0];

	(void)state;
	for (unsigned is_first_answered = 0; is_first_answered < 2; is_first_answered++) {
		uint32_t xid = begin_reads(0, 1 + READS, LARGE);

		memnet_pace(pair->client.leg.conn, &slow);
		answer_all_but(&pair->server, is_first_answered ? 0 : xid);
		world_run(&world, 100 * NSEC_PER_SEC);
		assert_true(pair->client.closed);
		world_quit(&world);
		world_free(&world);
	}
}

static bool is_busy(const struct peer *p, uint32_t xid)
{
	for (unsigned i = 0; i < PEER_CALLS; i++)
		if (p->calls[i].busy && p->calls[i].xid == xid)
			return true;
	return false;
}

/* A result that was to be sent early waits for its share of what the client takes, however many smaller results are
 * stored. */
static void stored_ones_do_not_keep_back_those_sent_early(void **state)
{
	enum { LARGE = 1 << 20, SMALL = 64 << 10, AT_ONCE = 40, SECONDS = 200 };
	const struct memnet_pace slow = {.take_octet = 19000};
	const struct peer_spec small = peer_read_of(SMALL);
	struct world_pair *pair = &world.pairs[0];
	struct setup s = setup_of_reads(LARGE);
	uint32_t xid, early;

	(void)state;
	s.server_version = LEG_V1;
	xid = begin_reads_of(&s, true, 0, 2);
	early = xid + 1;
	memnet_pace(pair->client.leg.conn, &slow);
	pair->server.divides = true;
	pair->server.holds = false;
	for (unsigned i = 0; i < SECONDS && is_busy(&pair->client, early); i++) {
		while (peer_busy(&pair->client) < AT_ONCE)
			assert_true(peer_call(&pair->client, &small));
		world_run(&world, NSEC_PER_SEC);
		if (i == 0)
			answer_all_but(&pair->server, xid);
	}
	assert_false(is_busy(&pair->client, early));
	memnet_pace(pair->client.leg.conn, &(struct memnet_pace){0});
	end_reads();
}

/* A client falls below the least rate while results that would be sent while they arrive are held back for it. It takes
 * all that is posted in less than a minute, and still ends, because more follows. */
static void those_sent_early_are_owed(void **state)
{
	enum { READS = 30, LENGTH = 160 << 10 };
	const struct memnet_pace slow = {.take_octet = 19000};
	const struct memnet_pace slower = {.take_octet = 120000}; /* half the least rate */
	struct world_pair *pair = &world.pairs[0];
	struct setup s = setup_of_reads(LENGTH);
	uint32_t xid;

	(void)state;
	s.server_version = LEG_V1;
	xid = begin_reads_of(&s, true, 0, 1 + READS);
	memnet_pace(pair->client.leg.conn, &slow);
	answer_all_but(&pair->server, xid);
	world_run(&world, 30 * NSEC_PER_SEC);
	assert_false(pair->client.closed);
	memnet_pace(pair->client.leg.conn, &slower);
	world_run(&world, 200 * NSEC_PER_SEC);
	assert_true(pair->client.closed);
	world_quit(&world);
	world_free(&world);
}

/* Stored results wait for a slow client. When the client has all octets of a result that was cut through, its reply
 * does not wait behind them. */
static void replies_of_cut_through_ones_pass_stored_ones(void **state)
{
	enum { STORED = 7, LARGE = 1 << 20 };
	const struct memnet_pace slow = {.take_octet = 19000};
	struct world_pair *pair = &world.pairs[0];
	uint32_t xid = begin_reads(0, 1 + STORED, LARGE);
	uint64_t passed = proxy_counters(world.proxy)->passed_bytes;

	(void)state;
	memnet_pace(pair->client.leg.conn, &slow);
	answer_all_but(&pair->server, xid);
	world_run(&world, NSEC_PER_SEC);
	peer_release(&pair->server, true);
	while (proxy_counters(world.proxy)->passed_bytes - passed < LARGE)
		world_run(&world, NSEC_PER_SEC);
	world_run(&world, 20 * NSEC_PER_SEC);
	assert_false(is_busy(&pair->client, xid));
	assert_true(peer_busy(&pair->client) > 1);
	memnet_pace(pair->client.leg.conn, &(struct memnet_pace){0});
	while (peer_busy(&pair->client))
		world_run(&world, NSEC_PER_SEC);
	end_reads();
}

/* A client at three times the least rate takes its only result for longer than a minute, and a client of another route
 * waits for memory as long. The memory of the result moves, so that session does not end. */
static void a_result_that_moves_is_not_taken_back(void **state)
{
	enum { LARGE = 8 << 20, SECONDS = 120 };
	const struct memnet_pace slow = {.take_octet = 19000};
	const struct peer_spec one = peer_read_of(LARGE), other = peer_read_of(1 << 20);
	struct setup s = setup_defaults(LEG_V1, LEG_V1, 22);
	struct peer *c = &world.pairs[0].client, *waiting = &world.pairs[1].client;
	struct buf_arena *arena;

	(void)state;
	s.pairs = 2;
	s.max_payload = LARGE;
	s.cut_through_bytes = 128 << 10;
	s.cut_through_from = 32 << 20;
	s.memory = 256 << 20;
	world_new(&world, &s);
	world_connect(&world);
	arena = &world.proxy->arena;
	hoard_zone(&hoard, arena, buf_own_zone(arena, BUF_TRANSACTION, 0));
	memnet_pace(c->leg.conn, &slow);
	world.pairs[0].server.divides =
		true; /* in more than one Write, so that it can be read slowly */
	assert_true(peer_call(c, &one));
	world_run(&world, NSEC_PER_SEC);
	hoard_zone(&hoard, arena, buf_own_zone(arena, BUF_TRANSACTION, 1));
	hoard_zone(&hoard, arena, BUF_ZONE_ORDINARY);
	assert_true(peer_call(waiting, &other));
	world_run(&world, SECONDS * NSEC_PER_SEC);
	assert_false(c->closed);
	assert_int_equal(waiting->done, 0);
	hoard_end(&hoard);
	world_run(&world, 60 * NSEC_PER_SEC);
	assert_int_equal(c->done, 1);
	assert_int_equal(waiting->done, 1);
	assert_int_equal(c->corrupt + waiting->corrupt, 0);
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

/* The requester's Reply chunk has more octets than all segments that the server takes. The server gets a
 * Reply chunk of these, so a reply that is too long to be continued has a way. */
static void a_reply_chunk_has_all_segments_that_the_server_takes(void **state)
{
	const struct peer_spec spec = {
		.body = 100, .reply_cap = 1 << 20, .reply = 256 << 10, .segs = 1};

	(void)state;
	for (unsigned cv = LEG_V1; cv <= LEG_V2; cv++) {
		struct setup s = setup_defaults(cv, LEG_V2, 5);
		struct peer *server = &world.pairs[0].server;

		s.max_message = 16 << 10; /* longest continued message that the gateway takes */
		world_new(&world, &s);
		server->cfg.segment_bytes = 64 << 10;
		server->cfg.segment_count = 4;
		world_connect(&world);
		assert_int_equal(outcome(&first), 0);
		assert_int_equal(outcome(&spec), 0);
		assert_int_equal(server->corrupt, 0);
		world_quit(&world);
		world_free(&world);
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

/* The server does not answer a call that holds memory for which another route waits. The client takes
 * a result slowly for some seconds in each period. Only these seconds do not count. */
static void slow_moments_keep_no_memory(void **state)
{
	enum { READS = 5, SLOW_S = 3, PERIOD_S = 45 };
	const struct memnet_pace slow = {.take_octet = 19000}, usual = {.take_octet = 1};
	const struct peer_spec read = peer_read_of(1 << 20);
	const struct peer_spec held = {
		.segs = 1, .body = 128, .reply = 64, .nreads = 1, .reads = {4 << 20}};
	struct setup s = setup_defaults(LEG_V1, LEG_V1, 23);
	struct peer *c = &world.pairs[0].client, *server = &world.pairs[0].server;
	struct buf_arena *arena;
	uint64_t done;

	(void)state;
	s.pairs = 2;
	s.max_payload = 8 << 20;
	s.cut_through_bytes = 128 << 10;
	s.cut_through_from = 1;
	s.memory = 256 << 20;
	world_new(&world, &s);
	world_connect(&world);
	for (unsigned i = 0; i < 2; i++)
		assert_true(peer_call(&world.pairs[i].client, &first));
	world_run(&world, NSEC_PER_SEC);
	show_speed(c, 1 << 20);
	done = c->done;
	arena = &world.proxy->arena;
	hoard_zone(&hoard, arena, buf_own_zone(arena, BUF_TRANSACTION, 0));
	server->divides = server->holds = true;
	for (unsigned i = 0; i < READS; i++)
		assert_true(peer_call(c, &read));
	assert_true(peer_call(c, &held));
	world_run(&world, NSEC_PER_SEC);
	hoard_zone(&hoard, arena, buf_own_zone(arena, BUF_TRANSACTION, 1));
	hoard_zone(&hoard, arena, BUF_ZONE_ORDINARY);
	assert_true(peer_call(&world.pairs[1].client, &held));
	for (unsigned i = 0; i < READS && !c->closed; i++) {
		assert_int_equal(c->done, done + i);
		memnet_pace(c->leg.conn, &slow);
		assert_int_equal(answer_some(server, 1), 1);
		world_run(&world, SLOW_S * NSEC_PER_SEC);
		memnet_pace(c->leg.conn, &usual);
		world_run(&world, (PERIOD_S - SLOW_S) * NSEC_PER_SEC);
	}
	assert_true(c->closed);
	assert_true(c->done > done);
	assert_int_equal(world.pairs[1].client.done, 2);
	hoard_end(&hoard);
	world_quit(&world);
	world_free(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_large_ones_at_once),
		cmocka_unit_test(one_at_a_time_is_cut_through),
		cmocka_unit_test(one_for_an_adapter_is_stored),
		cmocka_unit_test(others_are_no_matter),
		cmocka_unit_test(stored_ones_are_sent_while_they_arrive),
		cmocka_unit_test(stored_ones_never_keep_the_server_waiting),
		cmocka_unit_test(stored_ones_do_not_keep_back_those_sent_early),
		cmocka_unit_test(stored_ones_are_held_back),
		cmocka_unit_test(further_ones_wait_for_a_slow_client),
		cmocka_unit_test(a_call_that_waits_for_exposures_is_not_chosen_yet),
		cmocka_unit_test(a_far_client_is_not_slowed_down),
		cmocka_unit_test(held_back_ones_are_owed),
		cmocka_unit_test(those_sent_early_are_owed),
		cmocka_unit_test(replies_of_cut_through_ones_pass_stored_ones),
		cmocka_unit_test(a_result_that_moves_is_not_taken_back),
		cmocka_unit_test(slow_moments_keep_no_memory),
		cmocka_unit_test(the_largest_item_travels_with_its_header),
		cmocka_unit_test(a_reply_chunk_has_all_segments_that_the_server_takes),
		cmocka_unit_test(room_for_a_header_costs_no_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
