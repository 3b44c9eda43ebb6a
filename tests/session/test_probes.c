/* SPDX-License-Identifier: BSD-2-Clause */
/* Servers that get probes, and handle them in unusual ways. */
#include "tests/cmocka_all.h"

#include "tests/session/inside.h"
#include "tests/session/world.h"
#include "v2/header.h"

enum { PROMISE = 1 << 20, WORD = 4 };
#define S NSEC_PER_SEC

static struct world w;
static enum v2_htype
	begun_as; /* with what the server answers: the first part of so long a message */
static unsigned probes;

/* A server of version 2. */
static void on_message(struct raw *r, struct view in, void *arg)
{
	uint32_t xid = xdr_peek_u32(in.data), type = xdr_peek_u32(in.data + 3 * WORD);
	bool is_call = begun_as == V2_CALL_MIDDLE;

	(void)arg;
	if (type == V2_CONNPROP_FINAL)
		raw_words(r, RAW_V2_PROPS(0x55, 20));
	if (type != V2_CALL_INLINE)
		return;
	probes++;
	raw_words(r, xid, 2, 20, begun_as, PROMISE - 3 * WORD, xid, !is_call, is_call ? 2 : 0);
}

/* The answer to a probe is one word: an announced longer answer takes no memory that reassembly of
 * others needs. */
static void a_promise_takes_no_memory(void **state)
{
	static const enum v2_htype each[] = {V2_REPLY_MIDDLE, V2_CALL_MIDDLE};

	(void)state;
	for (unsigned i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		struct setup s = setup_defaults(LEG_V1, LEG_V1_OR_V2, 17);

		s.memory = s.peer_memory = 64 << 20;
		s.raw = true;
		s.probes = S;
		begun_as = each[i];
		probes = 0;
		world_new(&w, &s);
		w.raw.on_message = on_message;
		for (unsigned k = 0; k < 40; k++) {
			world_run(&w, S / 4);
			assert_true(world_used(&w) < PROMISE);
		}
		assert_true(probes >= 1);
		probes_end(w.proxy->routes[0]);
		world_quit(&w);
		world_free(&w);
	}
}

/* The server has version 1 alone, and then, updated, version 2 alone. It is silent about the other version. */
static bool is_updated, is_away;
static unsigned answered_1;

static void speak_one(struct raw *r, struct view in, void *arg)
{
	uint32_t xid = xdr_peek_u32(in.data), type = xdr_peek_u32(in.data + 3 * WORD);
	bool is_1 = xdr_peek_u32(in.data + WORD) == 1;

	(void)arg;
	if (is_away || is_1 == is_updated)
		return;
	answered_1 += is_1;
	if (is_1)
		raw_words(r, RAW_V1_REPLY(xid, 8));
	else if (type == V2_CONNPROP_FINAL)
		raw_words(r, RAW_V2_PROPS(0x55, 20));
	else if (type == V2_CALL_INLINE)
		raw_words(r, RAW_V2_REPLY(xid, 20 + ++probes));
}

/* The version that is remembered of a server does not keep the server down. */
static void an_update_is_found(void **state)
{
	struct setup s = setup_defaults(LEG_V1, LEG_V1_OR_V2, 17);
	struct servers *servers;

	(void)state;
	s.raw = true;
	s.probes = S;
	is_updated = false;
	probes = 0;
	world_new(&w, &s);
	w.raw.on_message = speak_one;
	servers = w.proxy->routes[0]->servers;
	servers_remember_v1(servers, 0, w.proxy->now + 3600 * S);
	world_run(&w, 5 * S);
	assert_true(servers_v1_until(servers, 0) > 0);
	is_updated = true;
	world_run(&w, 60 * S);
	assert_true(probes > 0);
	assert_int_equal(servers_v1_until(servers, 0), 0);
	probes_end(w.proxy->routes[0]);
	world_quit(&w);
	world_free(&w);
}

/* After a while without an answer the server's version is forgotten. Asked in version 2 the server is silent, and is asked in 1. */
static void a_server_that_was_away_is_found_again(void **state)
{
	struct setup s = setup_defaults(LEG_V1, LEG_V1_OR_V2, 17);
	struct servers *servers;

	(void)state;
	s.raw = true;
	s.probes = S;
	is_updated = false;
	world_new(&w, &s);
	w.raw.on_message = speak_one;
	servers = w.proxy->routes[0]->servers;
	servers_remember_v1(servers, 0, w.proxy->now + 3600 * S);
	world_run(&w, 5 * S);
	is_away = true;
	world_run(&w, 60 * S);
	assert_int_equal(servers_v1_until(servers, 0), 0);
	is_away = false;
	answered_1 = 0;
	world_run(&w, 120 * S);
	assert_true(answered_1 > 0);
	probes_end(w.proxy->routes[0]);
	world_quit(&w);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_promise_takes_no_memory),
		cmocka_unit_test(an_update_is_found),
		cmocka_unit_test(a_server_that_was_away_is_found_again),
	};

	return cmocka_run_group_tests_name("probes", tests, NULL, NULL);
}
