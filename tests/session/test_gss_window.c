/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kerberos: a server drops a call in silence if its sequence number is behind the window of its RPCSEC_GSS
 * context (RFC 2203 5.3.3.1). The client numbers its calls in the order in which it sends them.
 */
#include "tests/cmocka_all.h"

#include "tests/session/hoard.h"
#include "tests/session/inside.h"
#include "tests/session/world.h"

enum {
	RPCSEC_GSS = 6,
	NO_WRAPPING = 1,
	WINDOW = 32, /* of ntirpc's server; Linux's has 128 */
	CONTEXTS = 2,
	CALL_WORDS = 16,
	CREDITS = 20,
	OTHERS = 40, /* calls that no call waits with */
	CALLS = 60,  /* more than the window, beside a call that waits */
};

static struct world w;
static struct hoard hoard;
static uint32_t sent[CONTEXTS],
	latest[CONTEXTS]; /* sequence numbers, at the client and at the server */
static unsigned dropped;

/* The server. A call with data has one Write chunk of one segment. */
static void on_message(struct raw *r, struct view in, void *arg)
{
	uint32_t xid = xdr_peek_u32(in.data), context, seq;
	struct xdr_in x;

	(void)arg;
	xdr_in_init(&x, in);
	xdr_skip(&x, 5 * 4); /* fixed part, no Read chunks */
	if (xdr_get_bool(&x)) {
		assert_int_equal(xdr_get_u32(&x), 1);
		(void)xdr_get_segment(&x);
		assert_false(xdr_get_bool(&x));
	}
	assert_false(xdr_get_bool(&x)); /* no Reply chunk */
	xdr_skip(&x, 6 * 4);
	if (xdr_get_u32(&x) == RPCSEC_GSS) {
		xdr_skip(&x, 3 * 4); /* length, version, procedure */
		seq = xdr_get_u32(&x);
		xdr_skip(&x, 2 * 4); /* service, length of the handle */
		context = xdr_get_u32(&x);
		assert_true(context < CONTEXTS && !x.failed);
		if (seq + WINDOW <= latest[context]) {
			dropped++;
			return;
		}
		if (seq > latest[context])
			latest[context] = seq;
	}
	raw_words(r, RAW_V1_REPLY(xid, CREDITS));
}

/* Make a call; in @context if that is one. Return: false if too many are unanswered. */
static bool call_in(unsigned context, bool is_read)
{
	const uint32_t gss[CALL_WORDS] = {
		0,	     2,	 100003,  3,	     1,
		RPCSEC_GSS,  24, 1,	  0,	     sent[context % CONTEXTS] + 1,
		NO_WRAPPING, 4,	 context, RPCSEC_GSS};
	const uint32_t sys[CALL_WORDS] = {0, 2, 100003, 3, 1, 1};
	struct peer_spec spec = {.body = 128,
				 .reply = 24,
				 .segs = 1,
				 .nwrites = is_read,
				 .write_caps = {100},
				 .words = context < CONTEXTS ? gss : sys,
				 .nwords = CALL_WORDS};

	if (!peer_call(&w.pairs[0].client, &spec))
		return false;
	if (context < CONTEXTS)
		sent[context]++;
	return true;
}

static void begin(unsigned version)
{
	struct setup s = setup_defaults(version, LEG_V1, 70 + version);

	s.memory = 32 << 20;
	s.raw = true;
	s.upstream_versions = LEG_V1;
	s.credits = CREDITS;
	dropped = sent[0] = sent[1] = latest[0] = latest[1] = 0;
	world_new(&w, &s);
	w.raw.on_message = on_message;
	world_connect_pair(&w, 0);
	world_run(&w, NSEC_PER_SEC);
	assert_true(call_in(CONTEXTS, false)); /* brings credits */
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(w.pairs[0].client.done, 1);
}

static void end(void)
{
	raw_hang_up(&w.raw);
	world_run(&w, NSEC_PER_SEC);
	world_quit(&w);
	world_free(&w);
}

/* Take all payload memory, so that calls with chunks wait. */
static void hoard_payload(void)
{
	struct buf_arena *arena = &w.proxy->arena;

	hoard_zone(&hoard, arena, BUF_ZONE_ORDINARY);
	for (unsigned i = 0; i < arena->parts; i++)
		hoard_zone(&hoard, arena, buf_own_zone(arena, BUF_TRANSACTION, i));
}

/* Exposures fail for a while, as on a device that is short of registrations. */
static void begin_shortage(nsec_t length)
{
	nsec_t from = memnet_now(w.net);

	memnet_short(w.gw_fabrics[0], from, from + length);
}

/* A READ waits, for memory or for a device, while its client goes on with small calls of the same user. All are answered.
 * Calls of another user, and without Kerberos, pass. */
static void a_call_that_waits_stays_in_its_window(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct peer *client = &w.pairs[0].client;
		bool lacks_memory = i < 2;
		uint64_t done;

		begin(LEG_V1 + i % 2);
		if (lacks_memory)
			hoard_payload();
		else
			begin_shortage(20 * NSEC_PER_SEC);
		assert_true(call_in(0, true));
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(client->done, 1);
		for (unsigned n = 0; n < 2 * OTHERS; n++) {
			assert_true(call_in(1 + n % 2, false));
			world_run(&w, NSEC_PER_SEC / 10);
		}
		assert_int_equal(client->done, 1 + 2 * OTHERS);
		for (unsigned n = 0; n < CALLS; n++)
			assert_true(call_in(0, false));
		world_run(&w, NSEC_PER_SEC);
		done = client->done;
		if (lacks_memory)
			hoard_end(&hoard);
		world_run(&w, 20 * NSEC_PER_SEC);
		assert_int_equal(dropped, 0);
		assert_int_equal(client->done, 2 + 2 * OTHERS + CALLS);
		assert_true(done > 1 + 2 * OTHERS); /* a few may pass */
		assert_int_equal(client->errors, 0);
		end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_that_waits_stays_in_its_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
