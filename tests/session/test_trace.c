/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of a trace: RPCs with their steps, messages with their octets; and nothing after it was
 * removed. */
#include "tests/cmocka_all.h"

#include <string.h>

#include "base/mem.h"
#include "proxy/trace_ring.h"
#include "tests/session/world.h"

enum { PAIRS = 2, RING = 1 << 20, RECORD = 128 << 10 };

static struct world w;
static struct trace_ring trace;
static uint8_t record[RECORD];

static const struct peer_spec small = {.body = 200, .reply = 24, .segs = 1};
static const struct peer_spec bulk = {.body = 400,
				      .reply = 24,
				      .segs = 2,
				      .nreads = 1,
				      .reads = {300000},
				      .nwrites = 1,
				      .write_caps = {300000},
				      .writes = {200000}};

static void look(enum snapshot_kind kind)
{
	struct snapshot l = {.kind = kind, .ring = &trace};

	assert_false(proxy_snapshot(w.proxy, &l, memnet_now(w.net)));
}

static void begin(unsigned cv, unsigned sv, enum trace_kind kind, size_t ring)
{
	struct setup s = setup_defaults(cv, sv, 43);

	s.pairs = PAIRS;
	s.peer_memory = 64 << 20;
	s.memory = 128 << 20;
	world_new(&w, &s);
	world_connect(&w);
	for (unsigned i = 0; i < PAIRS; i++)
		peer_call(&w.pairs[i].client, &small);
	world_run(&w, NSEC_PER_SEC);
	trace = (struct trace_ring){.kind = kind,
				    .want = {.sessions = {.route = SNAPSHOT_ANY_ROUTE}}};
	list_init(&trace.link);
	assert_int_equal(ring_init(&trace.ring, ring), 0);
}

static void end(void)
{
	world_quit(&w);
	ring_fini(&trace.ring);
	world_free(&w); /* where everything has to be back */
}

static bool next_rpc(struct trace_rpc *r)
{
	if (!ring_next(&trace.ring))
		return false;
	assert_int_equal(ring_take(&trace.ring, r, sizeof(*r)), sizeof(*r));
	return true;
}

/* Each step ends where the next begins, and the time that the server took is its own. */
static void an_rpc_has_its_steps(void **state)
{
	struct trace_rpc r;

	(void)state;
	for (unsigned pair = 0; pair < 4; pair++) {
		begin(1 + pair / 2, 1 + pair % 2, TRACE_RPCS, RING);
		look(SNAPSHOT_TRACE);
		look(SNAPSHOT_TRACE); /* once is enough */
		w.pairs[0].server.holds = true;
		peer_call(&w.pairs[0].client, &bulk);
		world_run(&w, 3 * NSEC_PER_SEC);
		assert_false(next_rpc(&r));
		world_run(&w, 2 * NSEC_PER_SEC);
		w.pairs[0].server.holds = false;
		peer_release(&w.pairs[0].server, true);
		world_run(&w, NSEC_PER_SEC);
		assert_true(next_rpc(&r));
		assert_int_equal(r.outcome, TRACE_REPLIED);
		assert_false(r.is_reverse);
		assert_int_equal(r.call_bytes, 400 + 300000);
		assert_int_equal(r.reply_bytes, 24 + 200000);
		assert_int_equal(r.reads, 1);
		assert_int_equal(r.writes, 1);
		for (unsigned i = 1; i < TRACE_MARKS; i++)
			assert_true(r.at[i] >= r.at[i - 1]);
		assert_true(r.at[TRACE_ANSWERED] - r.at[TRACE_SENT] >= 2 * NSEC_PER_SEC);
		assert_true(r.at[TRACE_SENT] - r.at[TRACE_ARRIVED] < NSEC_PER_SEC);
		assert_true(r.at[TRACE_ENDED] - r.at[TRACE_ANSWERED] < NSEC_PER_SEC);
		assert_false(next_rpc(&r));
		/* One of a server's. */
		peer_call(&w.pairs[0].server, &small);
		world_run(&w, NSEC_PER_SEC);
		assert_true(next_rpc(&r));
		assert_true(r.is_reverse);
		look(SNAPSHOT_UNTRACE);
		look(SNAPSHOT_UNTRACE);
		peer_call(&w.pairs[0].client, &bulk);
		world_run(&w, NSEC_PER_SEC);
		assert_false(next_rpc(&r));
		end();
	}
}

static void only_what_is_wanted(void **state)
{
	struct trace_rpc r;

	(void)state;
	begin(1, 2, TRACE_RPCS, RING);
	trace.want.sessions.route = 1;
	look(SNAPSHOT_TRACE);
	for (unsigned i = 0; i < PAIRS; i++)
		peer_call(&w.pairs[i].client, &small);
	world_run(&w, NSEC_PER_SEC);
	assert_true(next_rpc(&r));
	assert_string_equal(r.route, "route1");
	assert_true(r.has_header);
	assert_false(next_rpc(&r));
	/* By what it is. */
	trace.want = (struct trace_want){.sessions = {.route = SNAPSHOT_ANY_ROUTE},
					 .has_program = true,
					 .program = r.program,
					 .has_procedure = true,
					 .procedure = r.procedure};
	peer_call(&w.pairs[0].client, &small);
	world_run(&w, NSEC_PER_SEC);
	assert_true(next_rpc(&r));
	trace.want.program++;
	peer_call(&w.pairs[0].client, &small);
	world_run(&w, NSEC_PER_SEC);
	assert_false(next_rpc(&r));
	/* By how long it takes. */
	trace.want = (struct trace_want){.sessions = {.route = SNAPSHOT_ANY_ROUTE},
					 .slow = NSEC_PER_SEC};
	peer_call(&w.pairs[0].client, &small);
	world_run(&w, NSEC_PER_SEC / 2);
	assert_false(next_rpc(&r));
	w.pairs[0].server.holds = true;
	peer_call(&w.pairs[0].client, &small);
	world_run(&w, NSEC_PER_SEC);
	world_run(&w, 2 * NSEC_PER_SEC);
	peer_release(&w.pairs[0].server, true);
	world_run(&w, NSEC_PER_SEC);
	assert_true(next_rpc(&r));
	assert_false(next_rpc(&r));
	look(SNAPSHOT_UNTRACE);
	end();
}

/* The session of one that is not answered ends; a full ring costs records, and nothing else. */
static void an_end_and_a_full_ring(void **state)
{
	struct trace_rpc r;

	(void)state;
	begin(2, 1, TRACE_RPCS, 1024);
	look(SNAPSHOT_TRACE);
	w.pairs[0].server.holds = true;
	peer_call(&w.pairs[0].client, &small);
	world_run(&w, NSEC_PER_SEC);
	peer_end(&w.pairs[0].client);
	world_run(&w, 5 * NSEC_PER_SEC);
	assert_true(next_rpc(&r));
	assert_int_equal(r.outcome, TRACE_CUT);
	assert_true(r.at[TRACE_SENT] > 0);
	assert_int_equal(r.at[TRACE_ANSWERED], 0);
	for (unsigned i = 0; i < 20; i++) {
		peer_call(&w.pairs[1].client, &small);
		world_run(&w, NSEC_PER_SEC);
	}
	assert_true(ring_lost(&trace.ring) >= 15);
	assert_true(next_rpc(&r));
	assert_int_equal(r.outcome, TRACE_REPLIED);
	look(SNAPSHOT_UNTRACE);
	end();
}

/* Messages of both legs, in each direction; the record has what the peer sent. */
static void messages_of_both_legs(void **state)
{
	unsigned seen[PROXY_SIDES][2] = {{0}};
	uint32_t xid = 0;
	size_t len;

	(void)state;
	begin(2, 1, TRACE_MESSAGES, RING);
	look(SNAPSHOT_TRACE);
	trace.want.sessions.id = 1;
	for (unsigned i = 0; i < PAIRS; i++)
		peer_call(&w.pairs[i].client, &small);
	world_run(&w, NSEC_PER_SEC);
	look(SNAPSHOT_UNTRACE);
	peer_call(&w.pairs[0].client, &small);
	peer_call(&w.pairs[1].client, &small);
	world_run(&w, NSEC_PER_SEC);
	while ((len = ring_next(&trace.ring))) {
		struct trace_message m;
		uint32_t word;

		assert_int_equal(ring_take(&trace.ring, record, sizeof(record)), len);
		assert_true(len >= sizeof(m) + 16);
		memcpy(&m, record, sizeof(m));
		assert_int_equal(m.session, 1);
		assert_true(m.at > 0);
		word = record[sizeof(m) + 7]; /* the version, big-endian */
		assert_int_equal(word, m.side == PROXY_CLIENT ? 2 : 1);
		if (len < sizeof(m) + 200) /* no message of RPC's */
			continue;
		memcpy(&word, record + sizeof(m), sizeof(word));
		assert_true(xid == 0 || xid == word);
		xid = word;
		seen[m.side][m.is_sent]++;
	}
	assert_int_equal(seen[PROXY_CLIENT][false], 1);
	assert_int_equal(seen[PROXY_SERVER][true], 1);
	assert_int_equal(ring_lost(&trace.ring), 0);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_rpc_has_its_steps),
		cmocka_unit_test(only_what_is_wanted),
		cmocka_unit_test(an_end_and_a_full_ring),
		cmocka_unit_test(messages_of_both_legs),
	};

	return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
