/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of the server to the client: each form at each level that a client may have announced
 * (draft-07 5.2.5), and what happens to forms beyond it. The client's inline threshold is 4096
 * octets, that of the server and the gateway 8192, so a server's inline call may be too long for
 * the client.
 */
#include "tests/cmocka_all.h"

#include "base/log.h"
#include "tests/session/inside.h"
#include "tests/session/world.h"

static struct world w;

enum form {
	SHORT,
	LONG,
	LONG_REPLY,
	READ,
	WRITE,
	BODY_CHUNK,
	REPLY_CHUNK,
	REPLY_CHUNK_USED,
	FORMS
};

static const struct peer_spec specs[FORMS] = {
	[SHORT] = {.body = 128, .reply = 100, .segs = 1},
	[LONG] = {.body = 6000, .reply = 100, .segs = 1},
	[LONG_REPLY] = {.body = 128, .reply = 6000, .segs = 1},
	[READ] = {.body = 128, .reply = 100, .segs = 1, .nreads = 1, .reads = {3000}},
	[WRITE] = {.body = 128,
		   .reply = 100,
		   .segs = 1,
		   .nwrites = 1,
		   .write_caps = {3000},
		   .writes = {2000}},
	[BODY_CHUNK] = {.body = 20000, .by_chunk = true, .reply = 100, .segs = 2},
	[REPLY_CHUNK] = {.body = 128, .reply = 100, .reply_cap = 20000, .segs = 2},
	[REPLY_CHUNK_USED] = {.body = 128, .reply = 18000, .reply_cap = 20000, .segs = 2},
};

static const enum rpc_error_code DONE = 0,  /* carried, and answered */
	UNSENT = (enum rpc_error_code) - 1; /* the client or the server cannot say that */

#define ROW(x) RPC_ERROR_##x
/* The error that the server gets, in version 2's terms. */
static const struct {
	const char *client;
	unsigned version;
	enum rpc_reverse level;
	enum rpc_error_code told[FORMS];
} rows[] = {
	{"version 1",
	 1,
	 RPC_REV_SIMPLE,
	 {DONE, ROW(SYSTEM), UNSENT, ROW(READ_CHUNKS), ROW(WRITE_CHUNKS), ROW(SYSTEM), DONE,
	  UNSENT}},
	{"version 2 NONE",
	 2,
	 RPC_REV_NONE,
	 {ROW(SYSTEM), ROW(SYSTEM), ROW(SYSTEM), ROW(READ_CHUNKS), ROW(WRITE_CHUNKS), ROW(SYSTEM),
	  ROW(SYSTEM), ROW(SYSTEM)}},
	{"version 2 SIMPLE",
	 2,
	 RPC_REV_SIMPLE,
	 {DONE, ROW(SYSTEM), UNSENT, ROW(READ_CHUNKS), ROW(WRITE_CHUNKS), ROW(SYSTEM), DONE,
	  UNSENT}},
	{"version 2 CONT",
	 2,
	 RPC_REV_CONT,
	 {DONE, DONE, DONE, ROW(READ_CHUNKS), ROW(WRITE_CHUNKS), DONE, DONE, DONE}},
	{"version 2 GENL", 2, RPC_REV_GENL, {DONE, DONE, DONE, DONE, DONE, DONE, DONE, DONE}},
};

static void begin(unsigned cv, unsigned sv, enum rpc_reverse client, enum rpc_reverse server,
		  uint64_t seed)
{
	struct setup s = setup_defaults(cv, sv, seed);
	struct world_pair *p = &w.pairs[0];

	s.gw_inline = s.server_inline = 8192;
	s.rev_credits = 4;
	world_new(&w, &s);
	p->client.cfg.reverse = client;
	p->server.cfg.reverse = server;
	world_connect(&w);
	peer_call(&p->client, &specs[SHORT]);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(p->client.done, 1);
}

static void end(void)
{
	struct world_pair *p = &w.pairs[0];

	assert_int_equal(p->client.corrupt + p->server.corrupt, 0);
	assert_int_equal(p->client.unexpected + p->server.unexpected, 0);
	assert_int_equal(proxy_sessions(w.proxy), 1);
	world_quit(&w);
	world_free(&w);
}

/* One call; what it must come to. Refused ones never leave the gateway. */
static void try_form(enum form form, enum rpc_error_code told)
{
	struct peer *client = &w.pairs[0].client, *server = &w.pairs[0].server;
	uint64_t served = client->served, done = server->done, errors = server->errors;

	assert_true(peer_call(server, &specs[form]));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(peer_busy(server), 0);
	assert_int_equal(server->done, done + (told == DONE));
	assert_int_equal(server->errors, errors + (told != DONE));
	assert_int_equal(client->served, served + (told == DONE));
	assert_int_equal(client->errors, 0);
	if (told == DONE)
		return;
	assert_int_equal(server->last_error.code,
			 server->leg.t->version == 1 ? RPC_ERROR_CHUNK : told);
	assert_int_equal(server->last_error.a, 0);
}

static void every_form_at_every_level(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned sv = 1; sv <= 2; sv++) {
			print_message("%s, server version %u\n", rows[i].client, sv);
			begin(rows[i].version, sv, rows[i].level, RPC_REV_GENL, 50 + i);
			for (unsigned form = 0; form < FORMS; form++)
				/* Version 1 has no chunks in the reverse direction. */
				if (rows[i].told[form] != UNSENT && (sv == 2 || form <= LONG_REPLY))
					try_form((enum form)form, rows[i].told[form]);
			try_form(SHORT, rows[i].told[SHORT]);
			end();
		}
}

/* The property is the client's: a server that announced nothing for itself gets long replies. */
static void a_server_announces_no_level(void **state)
{
	const struct peer_spec longest = {.body = 128, .reply = 30000, .segs = 1};

	(void)state;
	begin(2, 2, RPC_REV_GENL, RPC_REV_NONE, 60);
	for (unsigned form = 0; form < FORMS; form++)
		try_form((enum form)form, DONE);
	assert_true(peer_call(&w.pairs[0].server, &longest));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(w.pairs[0].server.done, FORMS + 1);
	end();
	begin(1, 2, RPC_REV_SIMPLE, RPC_REV_NONE, 61);
	try_form(SHORT, DONE);
	end();
}

/* The server cannot receive the reply: the error has the length that a Reply chunk would have
 * needed. */
static void a_reply_that_version_1_cannot_take(void **state)
{
	const struct peer_spec too_long = {.body = 128, .reply = 10000, .segs = 1};
	struct peer *server = &w.pairs[0].server;

	(void)state;
	begin(2, 1, RPC_REV_CONT, RPC_REV_SIMPLE, 62);
	assert_true(peer_call(server, &too_long));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(w.pairs[0].client.served, 1);
	assert_int_equal(server->errors, 1);
	assert_int_equal(server->last_error.code, RPC_ERROR_CHUNK);
	try_form(SHORT, DONE);
	end();
}

/* Over version 2 a call may have 4 octets less than over version 1 in one message. With level "continued" the
 * gateway takes it in two, and sends it to the client in one. */
static void the_longest_call_of_version_1_comes_continued(void **state)
{
	enum { INLINE = 4096, LONGEST = INLINE - 28 };
	struct setup s = setup_defaults(LEG_V1, LEG_V2, 63);
	struct world_pair *p = &w.pairs[0];

	(void)state;
	s.gw_inline = s.server_inline = INLINE;
	world_new(&w, &s);
	w.routes[0].server.reverse = RPC_REV_CONT;
	world_connect(&w);
	assert_true(peer_call(&p->client, &specs[SHORT]));
	world_run(&w, NSEC_PER_SEC);
	for (uint32_t body = LONGEST - 4; body <= LONGEST + 4; body += 4) {
		const struct peer_spec spec = {.body = body, .reply = 100, .segs = 1};

		assert_true(peer_call(&p->server, &spec));
		world_run(&w, NSEC_PER_SEC);
	}
	assert_int_equal(p->client.served, 2);
	assert_int_equal(p->server.done, 2);
	assert_int_equal(p->server.errors, 1);
	assert_int_equal(p->server.last_error.code, RPC_ERROR_SYSTEM);
	end();
}

/* Many more than may be in flight, in both directions at once. */
static void credits_are_kept(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned sv = 1; sv <= 2 && rows[i].level != RPC_REV_NONE; sv++) {
			struct peer *client = &w.pairs[0].client, *server = &w.pairs[0].server;

			begin(rows[i].version, sv, rows[i].level, RPC_REV_GENL, 70 + i);
			for (unsigned n = 0; n < PEER_CALLS; n++) {
				assert_true(peer_call(server, &specs[SHORT]));
				assert_true(peer_call(client, &specs[SHORT]));
			}
			world_run(&w, 10 * NSEC_PER_SEC);
			assert_int_equal(server->done, PEER_CALLS);
			assert_int_equal(client->done, 1 + PEER_CALLS);
			assert_int_equal(server->errors + client->errors, 0);
			end();
		}
}

/* At level GENL the directions do not differ: any call, both ways at once. */
static void all_that_is_possible_forward(void **state)
{
	struct rng r = rng_seeded("reverse", 5);

	(void)state;
	for (unsigned round = 0; round < 10; round++) {
		struct peer *client = &w.pairs[0].client, *server = &w.pairs[0].server;
		unsigned made = 0;

		begin(2, 2, RPC_REV_GENL, RPC_REV_GENL, rng_next(&r));
		while (made < 100 || peer_busy(server) || peer_busy(client)) {
			while (made < 100 && peer_busy(server) < 10 && peer_busy(client) < 10) {
				struct peer_spec a = peer_random_spec(&r, 2, false, 4096);
				struct peer_spec b = peer_random_spec(&r, 2, false, 4096);

				assert_true(peer_call(server, &a) && peer_call(client, &b));
				made++;
			}
			world_run(&w, NSEC_PER_MS);
			assert_true(memnet_now(w.net) < 100 * NSEC_PER_SEC);
		}
		assert_int_equal(server->done, 100);
		assert_int_equal(client->done, 101);
		assert_int_equal(server->errors + client->errors, 0);
		end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_form_at_every_level),
		cmocka_unit_test(a_server_announces_no_level),
		cmocka_unit_test(a_reply_that_version_1_cannot_take),
		cmocka_unit_test(the_longest_call_of_version_1_comes_continued),
		cmocka_unit_test(credits_are_kept),
		cmocka_unit_test(all_that_is_possible_forward),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("reverse", tests, NULL, NULL);
}
