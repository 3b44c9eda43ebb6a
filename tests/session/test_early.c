/* SPDX-License-Identifier: BSD-2-Clause */
/* The early draft of version 2 (draft-cel-nfsv4-rpcrdma-version-two-01) beside the other versions:
 * which version each peer is answered in, how a server's version is found, and peers that break its
 * rules. */
#include "tests/cmocka_all.h"

#include <string.h>

#include "base/log.h"
#include "tests/session/inside.h"
#include "tests/session/world.h"

enum { MSG = 0, NOMSG = 1, ERROR_TYPE = 4, OPTIONAL = 5, CONNPROP_FINAL = 7, CALL = 0, REPLY = 1 };
enum { VERS = 1, BAD_HEADER = 2, INVAL_OPTION = 3, INVAL_HTYPE = 4 };

#define EARLY_CALL(xid) (xid), 2, 16, MSG, CALL, 0, 0, 0, RAW_CALL_BODY(xid)
#define EARLY_REPLY(xid, credit) (xid), 2, (credit), MSG, REPLY, 0, 0, 0, RAW_REPLY_BODY(xid)

static struct world w;

static const struct peer_spec null_call = {.body = 100, .reply = 24, .segs = 1};

static void end(void)
{
	world_quit(&w);
	world_free(&w);
}

static void begin(unsigned listen, unsigned upstream, unsigned client, bool raw_client)
{
	struct setup s = setup_defaults(client, LEG_V1, 5);

	s.memory = s.peer_memory = 64 << 20;
	s.listen_versions = listen;
	s.upstream_versions = upstream;
	s.raw = true;
	s.raw_client = raw_client;
	world_new(&w, &s);
}

/* --- clients --- */

static void begin_client(unsigned listen)
{
	begin(listen, LEG_V1, LEG_V1, true);
	raw_connect(&w.raw, &w.pairs[0].gw_addr);
	world_run(&w, NSEC_PER_SEC);
	assert_true(w.raw.connected);
}

/* One message is back since the last look: words 0, 1, 3, and 4, unless that is -1. */
static void answered(uint32_t xid, uint32_t version, uint32_t type, int64_t next)
{
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(w.raw.nkept, 1);
	assert_int_equal(raw_last(&w.raw, 0), xid);
	assert_int_equal(raw_last(&w.raw, 1), version);
	assert_int_equal(raw_last(&w.raw, 3), type);
	if (next >= 0)
		assert_int_equal(raw_last(&w.raw, 4), next);
	w.raw.nkept = 0;
}

static void silent(void)
{
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(w.raw.nkept, 0);
	assert_false(w.raw.closed);
}

static void early_works(uint32_t xid)
{
	raw_words(&w.raw, EARLY_CALL(xid));
	answered(xid, 2, MSG, REPLY);
}

static void v1_works(uint32_t xid)
{
	raw_words(&w.raw, RAW_V1_CALL(xid));
	answered(xid, 1, 0, -1);
}

/* Decision 12, and decision 10: it stays the connection's. */
static void the_first_message_decides(void **state)
{
	(void)state;
	begin_client(LEG_V1_OR_V2 | LEG_V2_EARLY);
	early_works(1);
	raw_words(&w.raw, RAW_V1_CALL(2));
	answered(2, 1, ERROR_TYPE, VERS);
	raw_words(&w.raw, RAW_V2_PROPS(3, 8));
	answered(3, 2, ERROR_TYPE, BAD_HEADER);
	early_works(4);
	end();
	begin_client(LEG_V1_OR_V2 | LEG_V2_EARLY);
	raw_words(&w.raw, 1, 2, 16, OPTIONAL, CALL, 99, 0);
	answered(1, 2, ERROR_TYPE, INVAL_OPTION);
	early_works(2);
	end();
	begin_client(LEG_V1_OR_V2 | LEG_V2_EARLY);
	raw_words(&w.raw, RAW_V2_PROPS(1, 8));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(raw_last(&w.raw, 1), 2);
	assert_int_equal(raw_last(&w.raw, 3), CONNPROP_FINAL);
	end();
	begin_client(LEG_V1_OR_V2 | LEG_V2_EARLY);
	v1_works(1);
	raw_words(&w.raw, EARLY_CALL(2));
	answered(2, 2, ERROR_TYPE, 11); /* ERR_VERS_MISMATCH, draft-07 7.1.2 */
	v1_works(3);
	end();
}

/* A first message in one that is not spoken here. */
static void the_other_dialect(void **state)
{
	(void)state;
	begin_client(LEG_V1 | LEG_V2_EARLY);
	raw_words(&w.raw, RAW_V2_PROPS(1, 8));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(raw_last(&w.raw, 5), 1); /* 1 to 1: this draft of 2 is none for it */
	assert_int_equal(raw_last(&w.raw, 6), 1);
	answered(1, 2, ERROR_TYPE, VERS);
	v1_works(2);
	end();
	begin_client(LEG_V1 | LEG_V2_EARLY);
	early_works(1);
	end();
	begin_client(LEG_V2_EARLY);
	raw_words(&w.raw, RAW_V1_CALL(1));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(raw_last(&w.raw, 5), 2);
	assert_int_equal(raw_last(&w.raw, 6), 2);
	answered(1, 1, ERROR_TYPE, VERS);
	early_works(2);
	end();
	begin_client(LEG_V2_EARLY);
	raw_words(&w.raw, RAW_V2_PROPS(1, 8));
	answered(1, 2, ERROR_TYPE, BAD_HEADER);
	early_works(2);
	end();
	begin_client(LEG_V1);
	raw_words(&w.raw, EARLY_CALL(1));
	answered(1, 2, ERROR_TYPE, VERS);
	v1_works(2);
	end();
	begin_client(LEG_V1_OR_V2); /* draft -07's answer to a type that it does not have */
	raw_words(&w.raw, EARLY_CALL(1));
	world_run(&w, NSEC_PER_SEC);
	assert_true(w.raw.nkept >= 1);
	assert_int_equal(raw_word(&w.raw, 0, 3) == ERROR_TYPE ? raw_word(&w.raw, 0, 4)
							      : raw_last(&w.raw, 4),
			 INVAL_HTYPE);
	end();
}

/* Each is answered as the table in v2early/conn.c has it, and the next call works. */
static void clients_that_break_rules(void **state)
{
	static const struct {
		uint32_t words[16];
		unsigned n;
		uint32_t code; /* 0: silence */
	} deeds[] = {
		{{9, 2, 16, MSG, 2, 0, 0, 0, 9, 0, 2, 1, 1, 1, 0, 0}, 16, BAD_HEADER},
		{{9, 2, 16, MSG, UINT32_MAX}, 5, BAD_HEADER},
		{{9, 2, 16, MSG}, 4, BAD_HEADER},
		{{9, 2, 16, MSG, CALL, 0, 0, 0}, 8, 0}, /* too short for a call */
		{{9, 2, 16, MSG, CALL, 7, 0, 0}, 8, BAD_HEADER},
		{{9, 2, 16, MSG, CALL, 0, 1, UINT32_MAX}, 8, BAD_HEADER},
		{{9, 2, 16, MSG, CALL, 0, 0, 1, 0x10000000}, 9, BAD_HEADER},
		{{9, 2, 16, MSG, CALL, 1, 3, 1, 1, 0, 0, 0, 0, 0}, 14, BAD_HEADER},
		{{9, 2, 16, MSG, CALL, 0, 0, 0, 10, 0, 2, 1, 1, 1, 0, 0}, 16, BAD_HEADER},
		{{9, 2, 16, MSG, CALL, 0, 0, 0, 9, 1, 0, 0, 0, 0}, 14, BAD_HEADER},
		{{9, 2, 16, MSG, REPLY, 0, 0, 0, 9, 1, 0, 0, 0, 0}, 14, 0}, /* to nothing */
		{{9, 2, 16, MSG, REPLY, 0, 0, 0, 9, 0, 2, 1, 1, 1, 0, 0}, 16, 0},
		{{9, 2, 16, NOMSG, CALL, 0, 0, 0}, 8, BAD_HEADER},
		{{9, 2, 16, NOMSG, CALL, 0, 0, 1, 1, 5, 96, 0, 0}, 13, BAD_HEADER},
		{{9, 2, 16, NOMSG, CALL, 1, 0, 5, 8, 0, 0, 0, 0, 0}, 14, BAD_HEADER},
		{{9, 2, 16, NOMSG, REPLY, 0, 0, 1, 1, 5, 96, 0, 0}, 13, 0},
		{{9, 2, 16, 2, CALL, 0, 0, 0}, 8, BAD_HEADER},
		{{9, 2, 16, 3, CALL, 0, 0, 0}, 8, BAD_HEADER},
		{{9, 2, 16, 6, CALL, 0, 0, 0}, 8, BAD_HEADER},
		{{9, 2, 16, UINT32_MAX}, 4, BAD_HEADER},
		{{9, 2, 16, OPTIONAL}, 4, BAD_HEADER},
		{{9, 2, 16, OPTIONAL, CALL}, 5, BAD_HEADER},
		{{9, 2, 16, OPTIONAL, CALL, 1}, 6, BAD_HEADER},
		{{9, 2, 16, OPTIONAL, 2, 1, 0}, 7, BAD_HEADER},
		{{9, 2, 16, OPTIONAL, CALL, 1, 4}, 7, BAD_HEADER},
		{{9, 2, 16, OPTIONAL, CALL, 1, UINT32_MAX}, 7, BAD_HEADER},
		{{9, 2, 16, OPTIONAL, CALL, 0, 0}, 7, INVAL_OPTION},
		{{9, 2, 16, OPTIONAL, CALL, 5, 4, 1}, 8, INVAL_OPTION},
		{{9, 2, 16, OPTIONAL, REPLY, 6, 4, 1}, 8, INVAL_OPTION},
		{{9, 2, 16, OPTIONAL, CALL, UINT32_MAX, 0, 1, 2}, 9, INVAL_OPTION},
		{{9, 2, 16, ERROR_TYPE}, 4, 0},
		{{9, 2, 16, ERROR_TYPE, 0}, 5, 0},
		{{9, 2, 16, ERROR_TYPE, VERS, 1}, 6, 0},
		{{9, 2, 16, ERROR_TYPE, VERS, 1, 1}, 7, 0},
		{{9, 2, 16, ERROR_TYPE, BAD_HEADER}, 5, 0},
		{{9, 2, 16, ERROR_TYPE, INVAL_OPTION}, 5, 0},
		{{9, 2, 16, ERROR_TYPE, 99}, 5, 0},
		{{9, 2}, 2, 0},
		{{9}, 1, 0},
		{{9, 0, 16, MSG}, 4, VERS},
		{{9, 1, 16, MSG}, 4, VERS},
		{{9, 3, 16, MSG}, 4, VERS},
	};

	(void)state;
	begin_client(LEG_V1_OR_V2 | LEG_V2_EARLY);
	early_works(1);
	for (unsigned i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++) {
		raw_send_words(&w.raw, deeds[i].words, deeds[i].n);
		if (deeds[i].code)
			/* rfc5666bis-01 5.5: in a version that is spoken here */
			answered(9, deeds[i].words[1] == 1 ? 1 : 2, ERROR_TYPE, deeds[i].code);
		else
			silent();
		early_works(10 + i);
	}
	end();
}

/* More to answer than it takes: the end, of this session alone. */
static void a_flood_ends_its_session(void **state)
{
	struct setup s = setup_defaults(LEG_V2_EARLY, LEG_V2_EARLY, 6);
	struct world_pair *p = &w.pairs[1];

	(void)state;
	s.pairs = 2;
	s.raw = s.raw_client = true;
	world_new(&w, &s);
	world_connect_pair(&w, 1);
	raw_connect(&w.raw, &w.pairs[0].gw_addr);
	world_run(&w, NSEC_PER_SEC);
	peer_call(&p->client, &null_call);
	for (unsigned i = 0; i < 4000 && !w.raw.closed; i++) {
		raw_words(&w.raw, i, 2, 16, OPTIONAL, CALL, i, 0);
		if (i % 16 == 15)
			world_run(&w, NSEC_PER_MS);
	}
	world_run(&w, NSEC_PER_SEC);
	peer_call(&p->client, &null_call);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(p->client.done, 2);
	assert_int_equal(p->client.errors + p->client.corrupt, 0);
	end();
}

/* --- servers --- */

/* How a server of the test answers its first call; .arg points to one. */
struct script {
	uint32_t first[8];
	unsigned nfirst; /* 0: with the reply */
	bool waits;	 /* answers nothing until the test says so */
	uint32_t credit;
	unsigned calls;
};

static void serve(struct raw *r, struct view in, void *arg)
{
	struct script *s = arg;
	uint32_t xid = xdr_peek_u32(in.data);

	s->calls++;
	if (s->waits)
		return;
	if (s->nfirst) {
		s->first[0] = xid;
		raw_send_words(r, s->first, s->nfirst);
		return;
	}
	raw_words(r, EARLY_REPLY(xid, s->credit));
}

static void begin_server(struct script *s)
{
	begin(LEG_V1_OR_V2, LEG_V2_EARLY, LEG_V1, false);
	w.raw.on_message = serve;
	w.raw.arg = s;
	world_connect_pair(&w, 0);
	world_run(&w, NSEC_PER_SEC);
	assert_true(w.pairs[0].client.open);
}

/* Section 5: one message, of 1024 octets at most, until its reply; then as many as are granted, of 4096. */
static void a_server_is_asked_by_the_first_call(void **state)
{
	struct script s = {.waits = true, .credit = 3};
	struct peer *client = &w.pairs[0].client;
	const struct peer_spec wide = {.body = 2000, .reply = 24, .segs = 1};

	(void)state;
	begin_server(&s);
	for (unsigned i = 0; i < 6; i++)
		peer_call(client, &wide);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(s.calls, 1);
	assert_int_equal(w.raw.nkept, 1);
	assert_true(w.raw.kept[0].len <= 1024);
	assert_int_equal(raw_word(&w.raw, 0, 1), 2);
	assert_int_equal(raw_word(&w.raw, 0, 3), NOMSG); /* it would have been longer */
	assert_int_equal(raw_word(&w.raw, 0, 4), CALL);
	raw_words(&w.raw, EARLY_REPLY(raw_word(&w.raw, 0, 0), s.credit));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(client->done, 1);
	assert_int_equal(s.calls, 4);
	for (unsigned i = 1; i < 4; i++)
		raw_words(&w.raw, EARLY_REPLY(raw_word(&w.raw, i, 0), s.credit));
	world_run(&w, NSEC_PER_SEC);
	for (unsigned i = 4; i < 6; i++)
		raw_words(&w.raw, EARLY_REPLY(raw_word(&w.raw, i, 0), s.credit));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(client->done, 6);
	s.waits = false;
	peer_call(client, &wide);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(raw_word(&w.raw, 6, 3), MSG); /* formed when it was known */
	assert_true(w.raw.kept[6].len > 1024);
	assert_int_equal(client->done, 7);
	assert_int_equal(client->errors + client->corrupt, 0);
	end();
}

/* A server that refuses version 2, or speaks the other draft, loses the session; no other version
 * is tried. */
static void servers_that_do_not_speak_it(void **state)
{
	struct script scripts[] = {
		{.first = {0, 2, 8, ERROR_TYPE, VERS, 1, 1}, .nfirst = 7},
		{.first = {0, 1, 8, ERROR_TYPE, VERS, 1, 1}, .nfirst = 7},
		{.first = {0, 2, 8, ERROR_TYPE, INVAL_HTYPE}, .nfirst = 5},
		{.first = {0, 2, 8, CONNPROP_FINAL, 0}, .nfirst = 5},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		begin_server(&scripts[i]);
		peer_call(&w.pairs[0].client, &null_call);
		world_run(&w, 5 * NSEC_PER_SEC);
		assert_true(w.pairs[0].client.closed);
		assert_int_equal(w.pairs[0].client.done, 0);
		assert_int_equal(scripts[i].calls, 1);
		assert_int_equal(w.raw.accepted, 1);
		end();
	}
}

/* Each fails the call that it answers, and no other. */
static void servers_that_break_rules(void **state)
{
	static const struct {
		uint32_t words[8];
		unsigned n;
	} deeds[] = {
		{{0, 2, 8, ERROR_TYPE, BAD_HEADER}, 5},
		{{0, 2, 8, ERROR_TYPE, 0}, 5},
		{{0, 2, 8, MSG, REPLY, 5, 0, 0}, 8},
		{{0, 2, 8, MSG, REPLY, 0, 0, 7}, 8},
		{{0, 2, 8, MSG, 3, 0, 0, 0}, 8},
		{{0, 2, 8, NOMSG, REPLY, 0, 0, 0}, 8},
		{{0, 2, 8, 13, 0, 0, 0, 0}, 8},
		{{0, 1, 8, MSG, 0, 0, 0, 0}, 8},
		{{0, 9, 8, MSG, 0, 0, 0, 0}, 8},
		{{0, 2, 8, MSG, REPLY, 0, 0, 0}, 8},
		{{0, 2, 8, ERROR_TYPE}, 4},
		{{0, 2, 8, ERROR_TYPE, VERS, 1}, 6},
	};
	struct script s = {.credit = 4};
	struct peer *client = &w.pairs[0].client;

	(void)state;
	begin_server(&s);
	peer_call(client, &null_call);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(client->done, 1);
	for (unsigned i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++) {
		memcpy(s.first, deeds[i].words, sizeof(s.first));
		s.nfirst = deeds[i].n;
		peer_call(client, &null_call);
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(client->errors, i + 1);
		s.nfirst = 0;
		peer_call(client, &null_call);
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(client->done, i + 2);
		assert_false(client->closed);
	}
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_message_decides),
		cmocka_unit_test(the_other_dialect),
		cmocka_unit_test(clients_that_break_rules),
		cmocka_unit_test(a_flood_ends_its_session),
		cmocka_unit_test(a_server_is_asked_by_the_first_call),
		cmocka_unit_test(servers_that_do_not_speak_it),
		cmocka_unit_test(servers_that_break_rules),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("early draft", tests, NULL, NULL);
}
