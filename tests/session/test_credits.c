/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Credits of whole sessions, in schedules drawn from a seed: narrow and unequal windows, more calls
 * in one direction than in the other, grants that shrink to nothing and return, peers that handle
 * no events for a while, counters about to wrap. If all peers keep to the rules, no message meets a
 * peer without a Receive (which would end its connection), and no call waits for ever.
 */
#include "tests/cmocka_all.h"

#include "base/log.h"
#include "tests/session/hoard.h"
#include "tests/session/inside.h"
#include "tests/session/world.h"

static struct world w;
static struct rng rng;

static struct session *session(void)
{
	return list_first(&w.proxy->sessions, struct session, link);
}

/* Where @a's counters and those of @b, its peer, begin: @a sent what @b received. */
static void age(struct leg *a, struct leg *b, uint32_t sent, uint32_t received)
{
	a->refused = b->early = sent;
	a->early = b->refused = received;
}

/* Some messages before 2^32, or before the half of it where the sign changes. */
static uint32_t near_the_end(void)
{
	return (rng_below(&rng, 3) ? UINT32_MAX : INT32_MAX) - rng_below(&rng, 60);
}

/* Connections that have lived: each is given its counters before it has said a word. */
static void connect_aged(void)
{
	struct world_pair *p = &w.pairs[0];
	bool client_set = false, server_set = false;
	uint32_t sent = near_the_end(), received = near_the_end();

	world_connect_pair(&w, 0);
	while (!p->client.open && !p->client.closed) {
		memnet_step(w.net, NSEC_NEVER);
		world_turn(&w);
		if (!client_set && proxy_sessions(w.proxy) == 1) {
			age(&p->client.leg, &session()->client, near_the_end(), near_the_end());
			session()->server.refused = sent;
			session()->server.early = received;
			client_set = true;
		}
		if (!server_set && p->server.has_leg) {
			p->server.leg.early = sent;
			p->server.leg.refused = received;
			server_set = true;
		}
	}
	assert_true(p->client.open);
}

static uint32_t narrow(void)
{
	return 2 + rng_below(&rng, rng_below(&rng, 2) ? 3 : 20);
}

static void begin(unsigned cv, unsigned sv)
{
	struct setup s = setup_defaults(cv, sv, rng_next(&rng));
	struct world_pair *p = &w.pairs[0];

	s.rev_credits = 1 + rng_below(&rng, 6);
	s.max_payload = 1 << 20;
	world_new(&w, &s);
	w.routes[0].client.credits = narrow();
	w.routes[0].server.credits = narrow();
	p->client.cfg.credits = narrow();
	p->server.cfg.credits = narrow();
	connect_aged();
}

/* A peer cannot expose memory for many calls at once. */
enum { MANY = 60 };

/* How much is asked for: one way, the other, or both; few at a time or many. */
struct flow {
	struct peer *from;
	unsigned calls, depth, made;
	uint64_t done_before;
};

static void flow_begin(struct flow *f, struct peer *from)
{
	static const unsigned depths[] = {1, 3, 12, MANY};

	*f = (struct flow){.from = from, .done_before = from->done};
	f->calls = rng_below(&rng, 5) ? rng_below(&rng, 80) : 0;
	f->depth = depths[rng_below(&rng, 4)];
}

static void flow_go_on(struct flow *f, bool reverse)
{
	bool all_forms = w.s.client_version == 2 && w.s.server_version == 2;
	bool simple = f->depth == MANY || (reverse && !all_forms);

	while (f->made < f->calls && peer_busy(f->from) < f->depth) {
		struct peer_spec spec = simple ? peer_random_spec(&rng, 1, true, 4096)
					       : spec_small(&rng, &w, &w.pairs[0].client);

		/* A narrow window does not cover a continued reply: 6.6.4. */
		if (!simple && spec.reply > 3800 && f->from->cfg.credits < 8 && !spec.reply_cap) {
			spec.reply_cap = spec.reply;
			spec.segs = 1;
		}
		assert_true(peer_call(f->from, &spec));
		f->made++;
	}
}

/* Everybody looks when it likes, and takes back of its grant what was not used. */
static void rough_step(void)
{
	struct world_pair *p = &w.pairs[0];
	struct peer *moody = rng_below(&rng, 2) ? &p->client : &p->server;

	memnet_step(w.net, NSEC_NEVER);
	if (rng_below(&rng, 40) == 0)
		leg_set_grant(&moody->leg, rng_below(&rng, moody->cfg.credits + 1));
	if (rng_below(&rng, 3) == 0)
		peer_turn(&p->client);
	if (rng_below(&rng, 3) == 0)
		peer_turn(&p->server);
	if (rng_below(&rng, 3) == 0)
		proxy_turn(w.proxy, memnet_now(w.net));
}

static void run(unsigned cv, unsigned sv)
{
	struct world_pair *p = &w.pairs[0];
	struct peer_spec hello = {.body = 128, .reply = 24, .segs = 1};
	struct flow forward, reverse;

	begin(cv, sv);
	/* The client's version is known by its first call. */
	peer_call(&p->client, &hello);
	world_run(&w, NSEC_PER_SEC);
	flow_begin(&forward, &p->client);
	flow_begin(&reverse, &p->server);
	for (unsigned steps = rng_below(&rng, 3000); steps; steps--) {
		flow_go_on(&forward, false);
		flow_go_on(&reverse, true);
		rough_step();
	}
	leg_set_grant(&p->client.leg, p->client.cfg.credits);
	leg_set_grant(&p->server.leg, p->server.cfg.credits);
	for (unsigned n = 0; n < 3000; n++) {
		flow_go_on(&forward, false);
		flow_go_on(&reverse, true);
		world_run(&w, 2 * NSEC_PER_MS);
		if (forward.made == forward.calls && reverse.made == reverse.calls &&
		    !peer_busy(&p->client) && !peer_busy(&p->server))
			break;
	}
	assert_false(p->client.closed || p->server.closed);
	assert_int_equal(p->client.done, forward.done_before + forward.calls);
	assert_int_equal(p->server.done, reverse.done_before + reverse.calls);
	assert_int_equal(p->client.errors + p->server.errors, 0);
	assert_int_equal(p->client.corrupt + p->server.corrupt, 0);
	assert_int_equal(p->client.unexpected + p->server.unexpected, 0);
	world_quit(&w);
	world_free(&w);
}

static void any_schedule(void **state)
{
	rng = rng_seeded("credits", 8);
	(void)state;
	for (unsigned round = 0; round < 400; round++)
		run(1u << round % 3, 1u << round / 3 % 3);
}

static const struct peer_spec plain = {.body = 128, .reply = 24, .segs = 1};

static void begin_narrow(unsigned cv, unsigned sv, uint32_t credits, uint32_t rev_credits)
{
	struct setup s = setup_defaults(cv, sv, 99);

	s.credits = credits;
	s.rev_credits = rev_credits;
	world_new(&w, &s);
	w.pairs[0].server.cfg.reply_timeout = NSEC_PER_SEC; /* it may forget calls */
	world_connect(&w);
	peer_call(&w.pairs[0].client, &plain);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(w.pairs[0].client.done, 1);
}

/* Both peers hold the calls that they receive. */
static void hold_calls(void)
{
	w.pairs[0].client.holds = w.pairs[0].server.holds = true;
}

/* Both peers answer the calls that they held, and further ones. */
static void answer_calls(void)
{
	struct peer *client = &w.pairs[0].client, *server = &w.pairs[0].server;

	client->holds = server->holds = false;
	for (unsigned i = 0; i < 100; i++) {
		peer_release(client, true);
		peer_release(server, true);
		world_run(&w, NSEC_PER_SEC / 100);
	}
}

static void fill_both_windows(unsigned cv, unsigned sv, uint32_t rev_credits)
{
	struct peer *client = &w.pairs[0].client, *server = &w.pairs[0].server;

	begin_narrow(cv, sv, 3, rev_credits);
	hold_calls();
	for (unsigned i = 0; i < 60; i++) {
		peer_call(client, &plain);
		peer_call(server, &plain);
	}
	world_run(&w, NSEC_PER_SEC);
	answer_calls();
	assert_int_equal(client->done, 61);
	assert_int_equal(server->done, 60);
	world_quit(&w);
	world_free(&w);
}

/* Once a deadlock: all Receives of both legs held calls that waited for each other's replies. */
static void calls_fill_both_windows_at_once(void **state)
{
	(void)state;
	for (unsigned cv = LEG_V1; cv <= LEG_V2_EARLY; cv *= 2)
		for (unsigned sv = LEG_V1; sv <= LEG_V2_EARLY; sv *= 2) {
			fill_both_windows(cv, sv, 1);
			fill_both_windows(cv, sv, 1024);
		}
}

/* Once a deadlock: many calls of the server fill the few Receives of the client. The client's own calls, which
 * wait in the gateway, take all the credits that the client needs to answer. */
static void calls_that_wait_leave_credits_to_answers(void **state)
{
	struct peer *client = &w.pairs[0].client, *server = &w.pairs[0].server;
	struct setup s = setup_defaults(2, 2, 98);

	(void)state;
	s.rev_credits = 1024;
	world_new(&w, &s);
	w.routes[0].client.rev_credits = 1;
	client->cfg.credits = server->cfg.credits = 2;
	server->cfg.reply_timeout = NSEC_PER_SEC; /* so that the server has many Receives */
	world_connect(&w);
	hold_calls();
	for (unsigned i = 0; i < 60; i++)
		peer_call(client, &plain);
	world_run(&w, NSEC_PER_SEC);
	assert_true(leg_peer_has_no_credit(&session()->client));
	for (unsigned i = 0; i < 60; i++) {
		peer_call(server, &plain);
		world_run(&w, NSEC_PER_MS);
	}
	answer_calls();
	assert_int_equal(client->done, 60);
	assert_int_equal(server->done, 60);
	world_quit(&w);
	world_free(&w);
}

static void call_back(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		assert_true(peer_call(&w.pairs[0].server, &plain));
		world_run(&w, NSEC_PER_MS);
	}
}

/* A server's calls wait where they hold no Receive, as many as there is memory for copies. */
static void more_reverse_calls_than_can_be_kept(void **state)
{
	struct peer *client = &w.pairs[0].client, *server = &w.pairs[0].server;
	static struct hoard hoard;

	(void)state;
	begin_narrow(2, 2, 16, 1);
	client->holds = true;
	call_back(1 + 40); /* one of them runs */
	hoard_for_copies(&hoard, &w.proxy->arena);
	call_back(39);
	assert_int_equal(session()->ntxns, 1 + 40);
	assert_int_equal(server->errors, 39);
	assert_int_equal(server->last_error.code, RPC_ERROR_SYSTEM);
	peer_call(client, &plain);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(client->done, 2);
	client->holds = false;
	peer_release(client, true);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(server->done, 41);
	hoard_end(&hoard);
	world_quit(&w);
	world_free(&w);
}

/* Once a deadlock: the calls of a server that found no block for their state kept their Receives.
 * The client's calls had used the client's window, so it could not answer the calls that had a
 * block. */
static void more_reverse_calls_than_there_is_memory_for(void **state)
{
	struct peer *client = &w.pairs[0].client, *server = &w.pairs[0].server;
	struct setup s = setup_defaults(2, 2, 98);
	static struct hoard hoard;

	(void)state;
	s.memory = 64 << 20;
	world_new(&w, &s);
	client->cfg.credits = server->cfg.credits = 2;
	server->cfg.reply_timeout = NSEC_PER_SEC; /* it may forget calls */
	world_connect(&w);
	hold_calls();
	for (unsigned i = 0; i < 60; i++)
		peer_call(client, &plain);
	world_run(&w, NSEC_PER_SEC);
	for (unsigned i = 0; i < 296; i++) {
		if (i == 256) {
			assert_false(list_is_empty(&session()->reverse.deferred));
			hoard_for_copies(&hoard, &w.proxy->arena);
		}
		if (!peer_call(server, &plain)) {
			/* The server has places for 96 calls: it continues without the answers. */
			peer_forget(server);
			assert_true(peer_call(server, &plain));
		}
		world_run(&w, NSEC_PER_MS);
	}
	answer_calls();
	assert_int_equal(client->done, 60);
	assert_true(server->errors > 0);
	assert_int_equal(server->last_error.code, RPC_ERROR_SYSTEM);
	hoard_end(&hoard);
	world_quit(&w);
	world_free(&w);
}

/* A version 2 peer of octets that grants little and late, and counts what it gets. */
struct strict {
	uint32_t received, sent; /* messages, this side's count */
	uint32_t limit;		 /* that it gave */
	uint32_t gw_limit;	 /* that it was given */
	unsigned calls, replies; /* received */
	unsigned due;		 /* replies it owes */
	uint32_t owed[64];
};

static struct strict strict;

static void strict_answers(struct raw *r)
{
	while (strict.due > 0 && (int32_t)(strict.gw_limit - strict.sent) > 0) {
		uint32_t xid = strict.owed[--strict.due];

		raw_words(r, RAW_V2_REPLY(xid, strict.limit));
		strict.sent++;
	}
}

static void on_message(struct raw *r, struct view in, void *arg)
{
	uint32_t type = xdr_peek_u32(in.data + 12);
	bool is_grant = type == 5;

	(void)arg;
	strict.received++;
	assert_true(strict.received <= strict.limit + is_grant);
	strict.gw_limit = xdr_peek_u32(in.data + 8);
	if (type == 7 && strict.sent == 0) {
		raw_words(r, RAW_V2_PROPS(0x55, strict.limit));
		strict.sent++;
	}
	if (type == 10) {
		assert_true(strict.due < 64);
		strict.owed[strict.due++] = xdr_peek_u32(in.data);
		strict.calls++;
	}
	strict.replies += type == 13;
	strict_answers(r);
}

static void strict_begin(unsigned version, bool is_client)
{
	struct setup s = setup_defaults(version, version, 5);

	s.raw = true;
	s.raw_client = is_client;
	if (!is_client)
		s.upstream_versions = LEG_V2;
	strict = (struct strict){.limit = 1};
	world_new(&w, &s);
	w.raw.on_message = on_message;
}

/* Nothing for a while, then little by little; a GRANT itself is a message. */
static void strict_trickle(unsigned *got, unsigned want)
{
	world_run(&w, 5 * NSEC_PER_SEC);
	assert_int_equal(*got, 0);
	for (unsigned n = 0; n < 400 && *got < want; n++) {
		if (rng_below(&rng, 3) && (int32_t)(strict.gw_limit - strict.sent) > 0) {
			uint32_t more = strict.received + rng_below(&rng, 3);

			strict.limit = more > strict.limit ? more : strict.limit;
			raw_words(&w.raw, 0, 2, strict.limit, 5);
			strict.sent++;
		}
		world_run(&w, NSEC_PER_MS);
		strict_answers(&w.raw);
	}
	assert_int_equal(*got, want);
	assert_false(w.raw.closed);
	world_quit(&w);
	world_free(&w);
}

static void a_server_grants_nothing_and_then_little(void **state)
{
	(void)state;
	rng = rng_seeded("late grants", 3);
	for (unsigned cv = 1; cv <= 2; cv++) {
		strict_begin(cv, false);
		world_connect_pair(&w, 0);
		world_run(&w, NSEC_PER_SEC);
		for (unsigned i = 0; i < 20; i++)
			peer_call(&w.pairs[0].client, &plain);
		strict_trickle(&strict.calls, 20);
	}
}

static void a_client_grants_nothing_and_then_little(void **state)
{
	(void)state;
	rng = rng_seeded("late grants", 4);
	for (unsigned sv = 1; sv <= 2; sv++) {
		strict_begin(sv, true);
		raw_connect(&w.raw, &w.pairs[0].gw_addr);
		world_run(&w, NSEC_PER_SEC);
		strict.sent = 1;
		raw_words(&w.raw, RAW_V2_PROPS(0x99, strict.limit));
		world_run(&w, NSEC_PER_SEC);
		for (uint32_t xid = 0x700; strict.sent < strict.gw_limit; xid += 2) {
			raw_words(&w.raw, RAW_V2_CALL(xid, strict.limit));
			strict.sent++;
		}
		strict_trickle(&strict.replies, strict.sent - 1);
	}
}

/* GRANTs that a version 2 client gets while it makes @calls from the first word on. */
static uint64_t grants_for(unsigned sv, unsigned calls, unsigned depth)
{
	struct setup s = setup_defaults(2, sv, 7);
	struct peer *client = &w.pairs[0].client;
	uint64_t grants;
	unsigned made = 0;

	s.credits = 64;
	s.max_payload = 64 << 10;
	world_new(&w, &s);
	world_connect(&w);
	while (client->done < calls) {
		for (; made < calls && peer_busy(client) < depth; made++)
			peer_call(client, &plain);
		world_turn(&w);
		memnet_step(w.net, NSEC_NEVER);
	}
	grants = client->leg.t->count.grants_received;
	print_message("v2-v%u: %u calls, %u at once: %llu GRANTs\n", sv, calls, depth,
		      (unsigned long long)grants);
	world_quit(&w);
	world_free(&w);
	return grants;
}

/* Messages, not time: a window as wide as it will be, before the server's first reply, too. */
static void grants_are_few(void **state)
{
	(void)state;
	for (unsigned sv = 1; sv <= 2; sv++) {
		assert_int_equal(grants_for(sv, 10, 1), 0);
		assert_int_equal(grants_for(sv, 20, 20), 0);
		assert_int_equal(grants_for(sv, 1000, 30), 0);
	}
}

/* A message that was given back because credits do not cover it was not sent: no answer to it is awaited. */
static void what_credits_do_not_cover_is_not_taken_for_sent(void **state)
{
	static uint8_t octets[1 << 20];
	static struct rpc_msg msg;
	struct setup s = setup_defaults(2, 2, 77);
	struct leg_tx call = {.tx = {.msg = &msg, .cover = RPC_COVER_NOW}};
	struct leg *leg = &w.pairs[0].client.leg;

	(void)state;
	world_new(&w, &s);
	world_connect(&w);
	rpc_msg_reset(&msg, 0x77, RPC_CALL);
	msg.body[msg.nbody++] = view_of(octets, sizeof(octets));
	leg_send(leg, &call);
	leg_pump(leg);
	assert_false(call.encoded);
	assert_false(leg_unsend(leg, &call)); /* its completion was reported already */
	assert_ptr_equal(leg_next_sent(leg), &call);
	assert_int_equal(call.status, ERR_TOOBIG);
	world_quit(&w);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_schedule),
		cmocka_unit_test(calls_fill_both_windows_at_once),
		cmocka_unit_test(calls_that_wait_leave_credits_to_answers),
		cmocka_unit_test(more_reverse_calls_than_can_be_kept),
		cmocka_unit_test(more_reverse_calls_than_there_is_memory_for),
		cmocka_unit_test(a_server_grants_nothing_and_then_little),
		cmocka_unit_test(a_client_grants_nothing_and_then_little),
		cmocka_unit_test(what_credits_do_not_cover_is_not_taken_for_sent),
		cmocka_unit_test(grants_are_few),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("session credits", tests, NULL, NULL);
}
