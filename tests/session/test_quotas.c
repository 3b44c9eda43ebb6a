/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that peers take and do not return is not taken from the sessions of others.
 */
#include "tests/cmocka_all.h"

#include "base/log.h"
#include "tests/session/hoard.h"
#include "tests/session/inside.h"
#include "tests/session/world.h"

enum { PROMISED = 8 << 20 };

static struct world w;

static const struct peer_spec spec_hello = {.body = 128, .reply = 24, .segs = 1};

static struct setup little(unsigned cv, unsigned sv)
{
	struct setup s = setup_defaults(cv, sv, 40 + cv * 2 + sv);

	s.pairs = WORLD_PAIRS;
	s.memory = 32 << 20;
	s.max_payload = 4 << 20;
	s.max_message = PROMISED;
	s.credits = 48;
	return s;
}

static void begin(const struct setup *s)
{
	world_new(&w, s);
	world_connect(&w);
	for (unsigned i = 0; i < w.s.pairs; i++)
		peer_call(&w.pairs[i].client, &spec_hello);
	world_run(&w, NSEC_PER_SEC);
}

static void end(void)
{
	for (unsigned i = 0; i < w.s.pairs; i++) {
		w.pairs[i].server.holds = false;
		peer_release(&w.pairs[i].server, true);
	}
	world_quit(&w);
	world_free(&w);
}

/*
 * One server answers nothing and its client's calls hold what they can; a client of a second route
 * asks for as much as one call may have, which is not there. A third's small calls, and its READs of
 * some size, are done all the same, an hour long.
 */
static void a_larger_wish_of_another_holds_nobody_up(void **state)
{
	const struct peer_spec big = {
		.body = 128, .reply = 24, .segs = 1, .nreads = 1, .reads = {900000}};
	const struct peer_spec largest = {
		.body = 128, .reply = 24, .segs = 1, .nreads = 1, .reads = {4 << 20}};
	const struct peer_spec small = {.body = 128,
					.reply = 24,
					.segs = 1,
					.nwrites = 1,
					.write_caps = {4096},
					.writes = {4096}};
	const struct peer_spec read = {.body = 128,
				       .reply = 24,
				       .segs = 1,
				       .nwrites = 1,
				       .write_caps = {300000},
				       .writes = {300000}};

	(void)state;
	for (unsigned v = 0; v < 4; v++) {
		struct setup s = little(1 + v / 2, 1 + v % 2);

		if (v == 2) /* there each call takes room for the longest reply */
			continue;
		begin(&s);
		w.pairs[0].server.holds = w.pairs[1].server.holds = true;
		for (unsigned i = 0; i < 30; i++)
			peer_call(&w.pairs[0].client, &big);
		world_run(&w, NSEC_PER_SEC);
		for (unsigned i = 0; i < 3; i++)
			peer_call(&w.pairs[1].client, &largest);
		world_run(&w, NSEC_PER_SEC);
		for (unsigned i = 0; i < 60; i++) {
			uint64_t done = w.pairs[2].client.done;

			for (unsigned k = 0; k < 10; k++)
				assert_true(peer_call(&w.pairs[2].client, k ? &small : &read));
			world_run(&w, 60 * NSEC_PER_SEC);
			assert_int_equal(w.pairs[2].client.done, done + 10);
		}
		end();
	}
}

/* The first 24 octets of a message promise eight million more. They take no memory that others'
 * messages need. */
static void a_promise_takes_no_memory(void **state)
{
	const struct peer_spec longer = {.body = 20000, .reply = 24, .segs = 1};
	struct setup s = little(2, 2);
	size_t begun = 0;

	(void)state;
	s.raw = s.raw_client = true;
	world_new(&w, &s);
	for (unsigned i = 1; i < w.s.pairs; i++)
		world_connect_pair(&w, i);
	raw_connect(&w.raw, &w.pairs[0].gw_addr);
	world_run(&w, NSEC_PER_SEC);
	raw_words(&w.raw, RAW_V2_PROPS(0x99, 10));
	world_run(&w, NSEC_PER_SEC);
	/* RDMA2_CALL_MIDDLE with the XID alone. */
	raw_words(&w.raw, 0x77, 2, 10, 9, PROMISED - 8, 0x77, 0);
	world_run(&w, NSEC_PER_SEC);
	for (unsigned i = 0; i < proxy_sessions(w.proxy); i++) {
		const struct leg *leg = &inside_session(w.proxy, i)->client;

		begun += leg->quotas[BUF_REASM_START].used;
		assert_int_equal(leg->quotas[BUF_REASM_CALL].used, 0);
	}
	assert_int_equal(begun, 64 << 10);
	for (unsigned i = 1; i < w.s.pairs; i++) {
		assert_true(peer_call(&w.pairs[i].client, &longer));
		world_run(&w, 5 * NSEC_PER_SEC);
		assert_int_equal(w.pairs[i].client.done, 1);
	}
	assert_false(w.raw.closed);
	assert_int_equal(inside_session(w.proxy, 0)->ntxns, 0);
	end();
}

/* When clients' calls hold much, servers' calls that a client does not answer hold a little. */
static void calls_of_servers_hold_little_beside_those_of_clients(void **state)
{
	const struct peer_spec big = {
		.body = 128, .reply = 24, .segs = 1, .nreads = 1, .reads = {900000}};
	struct setup s = setup_defaults(2, 2, 98);
	struct world_pair *pair = &w.pairs[0];
	const struct quota_member *m;

	(void)state;
	s.memory = 64 << 20;
	s.credits = s.rev_credits = 32;
	begin(&s);
	pair->client.holds = pair->server.holds = true;
	for (unsigned i = 0; i < 32; i++)
		assert_true(peer_call(&pair->client, &big));
	world_run(&w, NSEC_PER_SEC);
	for (unsigned i = 0; i < 32; i++)
		assert_true(peer_call(&pair->server, &big));
	world_run(&w, NSEC_PER_SEC);
	m = &inside_session(w.proxy, 0)->reverse.quota;
	assert_true(m->used > 0 && m->used <= m->group->all / 16);
	pair->client.holds = pair->server.holds = false;
	for (unsigned i = 0; i < 32; i++) {
		peer_release(&pair->client, true);
		peer_release(&pair->server, true);
		world_run(&w, NSEC_PER_SEC);
	}
	assert_int_equal(pair->client.done + pair->server.done, 1 + 32 + 32);
	end();
}

/* Servers' calls that a client does not answer hold what a client may hold that returns nothing. A
 * client's call finds memory. */
static void calls_of_servers_have_the_share_of_a_client(void **state)
{
	const struct peer_spec big = {
		.body = 128, .reply = 24, .segs = 1, .nreads = 1, .reads = {900000}};
	struct setup s = setup_defaults(2, 2, 97);
	struct peer *client = &w.pairs[0].client;
	const struct quota_member *m;

	(void)state;
	s.memory = 64 << 20;
	s.rev_credits = 32;
	begin(&s);
	client->holds = true;
	for (unsigned i = 0; i < 32; i++)
		assert_true(peer_call(&w.pairs[0].server, &big));
	world_run(&w, NSEC_PER_SEC);
	m = &inside_session(w.proxy, 0)->reverse.quota;
	assert_true(m->used > 0 && m->used <= m->group->all / 2);
	assert_true(peer_call(client, &big));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(client->done, 2);
	client->holds = false;
	peer_release(client, true);
	world_run(&w, 5 * NSEC_PER_SEC);
	assert_int_equal(w.pairs[0].server.done, 32);
	end();
}

/* A GETATTR of NFSv4.2 that came over version 2 with no word about its reply: what the server can say
 * fits its Send, so it is offered no Reply chunk, and the call takes no room for one. */
static void a_compound_takes_what_its_operations_can_need(void **state)
{
	struct setup s = little(2, 1);
	const struct peer_serve *got;
	struct peer *server;
	size_t before;

	(void)state;
	s.raw = s.raw_client = true;
	world_new(&w, &s);
	server = &w.pairs[0].server;
	server->holds = true;
	for (unsigned i = 1; i < w.s.pairs; i++)
		world_connect_pair(&w, i);
	raw_connect(&w.raw, &w.pairs[0].gw_addr);
	world_run(&w, NSEC_PER_SEC);
	raw_words(&w.raw, RAW_V2_PROPS(0x99, 10));
	world_run(&w, NSEC_PER_SEC);
	before = world_used(&w);
	/* SEQUENCE, PUTFH, GETATTR of what Linux asks for, the names of owner and group among it. */
	raw_words(&w.raw, 0x77, 2, 10, 10, 0, 0, 0, 0, 0x77, 0, 2, 100003, 4, 1, 0, 0, 0,
		  0, /* tag */
		  0, 2, 3, 53, 0, 0, 0, 0, 1, 0, 0, 0, 22, 4, 0x1234, 9, 2, 0x0010011a, 0x00b0a23a);
	world_run(&w, NSEC_PER_SEC);
	got = &server->serves[0];
	assert_true(got->held_back);
	assert_int_equal(got->in.xid, 0x77);
	assert_false(got->in.has_reply);
	assert_int_equal(inside_session(w.proxy, 0)->ntxns, 1);
	assert_true(world_used(&w) <= before + 16384);
	assert_int_equal(peer_release(server, false), 1);
	end();
}

/* PUTROOTFH and GETATTR of the ACL, whose length has no limit. */
#define GET_ACL 0, 2, 100003, 4, 1, 0, 0, 0, 0, 0, 1, 2, 24, 9, 1, 0x1000

/* The call that the server of @sv gets, and the memory that the gateway takes for it. */
static const struct rpc_msg *get_acl(unsigned cv, unsigned sv, uint32_t reply)
{
	struct setup s = little(cv, sv);
	struct peer *server;
	struct segment to;
	size_t before;

	s.raw = s.raw_client = true;
	world_new(&w, &s);
	server = &w.pairs[0].server;
	server->holds = true;
	raw_connect(&w.raw, &w.pairs[0].gw_addr);
	world_run(&w, NSEC_PER_SEC);
	to = raw_expose(&w.raw, 8192, FABRIC_REMOTE_WRITE);
	if (cv == 2)
		raw_words(&w.raw, RAW_V2_PROPS(0x99, 10));
	else
		raw_words(&w.raw, RAW_V1_CALL(0x98)); /* also held */
	world_run(&w, NSEC_PER_SEC);
	before = world_used(&w);
	if (cv == 1)
		raw_words(&w.raw, 0x77, 1, 10, 0, 0, 0, 0, 0x77, GET_ACL);
	else if (reply)
		raw_words(&w.raw, 0x77, 2, 10, 10, 0, 0, 0, 1, 1, to.handle, reply,
			  (uint32_t)(to.offset >> 32), (uint32_t)to.offset, 0x77, GET_ACL);
	else
		raw_words(&w.raw, 0x77, 2, 10, 10, 0, 0, 0, 0, 0x77, GET_ACL);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(inside_session(w.proxy, 0)->forward.running, cv == 1 ? 2 : 1);
	assert_int_equal(proxy_counters(w.proxy)->large, cv == 2 && !reply);
	assert_true(world_used(&w) <= before + (cv == 2 && !reply ? 4 << 20 : 16384));
	return &server->serves[cv == 1 ? 1 : 0].in;
}

static void got_it(unsigned held)
{
	assert_int_equal(peer_release(&w.pairs[0].server, false), held);
	end();
}

/* If only the first requester's limit bounds a reply, one gateway passes the limit to the next, as
 * a Reply chunk. The server of the next gateway does not get that chunk if it needs none. */
static void a_version_1_threshold_goes_along(void **state)
{
	const uint32_t takes = 4096 - 28;
	const struct rpc_msg *m;

	(void)state;
	m = get_acl(1, 2, 0);
	assert_true(m->has_reply);
	assert_int_equal(m->reply.length, takes);
	got_it(2);
	m = get_acl(2, 1, takes);
	assert_int_equal(m->xid, 0x77);
	assert_false(m->has_reply);
	got_it(1);
	/* A requester that says nothing may take a reply in many parts. */
	m = get_acl(2, 1, 0);
	assert_true(m->has_reply && m->reply.length == 1 << 20);
	got_it(1);
}

/* The program of a call that comes in a chunk is not known when the length of its reply is planned. It may be NFS,
 * as a WRITE with Kerberos is. */
static void a_threshold_goes_along_with_a_long_call(void **state)
{
	const struct peer_spec spec = {.body = 9000, .by_chunk = true, .reply = 24, .segs = 1};
	struct setup s = little(1, 2);
	struct peer *client = &w.pairs[0].client, *server = &w.pairs[0].server;

	(void)state;
	world_new(&w, &s);
	world_connect(&w);
	server->holds = true;
	assert_true(peer_call(client, &spec));
	world_run(&w, NSEC_PER_SEC);
	assert_true(server->serves[0].held_back && server->serves[0].in.has_reply);
	assert_int_equal(server->serves[0].in.reply.length, client->cfg.inline_bytes - 28);
	assert_int_equal(peer_release(server, true), 1);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(client->done, 1);
	end();
}

static struct hoard hoard;

/* However many servers' calls were copied out of their Receives, a client that connects then finds all memory that
 * its admission counts on. */
static void calls_copied_out_leave_connections_theirs(void **state)
{
	struct setup s = little(1, 1);

	(void)state;
	s.credits = 96;
	world_new(&w, &s);
	hoard_for_copies(&hoard, &w.proxy->arena);
	assert_true(hoard.nblocks > 0);
	world_connect(&w);
	assert_int_equal(proxy_sessions(w.proxy), 3);
	hoard_end(&hoard);
	world_quit(&w);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_larger_wish_of_another_holds_nobody_up),
		cmocka_unit_test(calls_of_servers_have_the_share_of_a_client),
		cmocka_unit_test(calls_of_servers_hold_little_beside_those_of_clients),
		cmocka_unit_test(a_promise_takes_no_memory),
		cmocka_unit_test(a_compound_takes_what_its_operations_can_need),
		cmocka_unit_test(a_version_1_threshold_goes_along),
		cmocka_unit_test(a_threshold_goes_along_with_a_long_call),
		cmocka_unit_test(calls_copied_out_leave_connections_theirs),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("quotas", tests, NULL, NULL);
}
