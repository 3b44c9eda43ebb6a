/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * More error reports are due at once than the peer leaves credits, or room, for: a peer that keeps
 * to its credits and takes what is sent gets all of them, and its connection stays. A peer that
 * takes none ends as one that takes no replies.
 */
#include "tests/cmocka_all.h"

#include "base/log.h"
#include "tests/session/inside.h"
#include "tests/session/world.h"

enum { XID = 0x5000, BAD_TYPE = 99, ERROR_TYPE = 4, PROPS = 7, MOST = 128 };

static struct world w;

/* Counts of the raw peer. The peer takes all that comes, and grants as it receives. */
static struct {
	unsigned vers, advertised;
	uint32_t received, sent, limit; /* version 2: messages, and how many it may send */
	unsigned errors, replies;
	bool mute; /* it leaves no further credits */
	unsigned ncalls;
	uint32_t calls[MOST]; /* calls received and not answered */
} raw;

static const struct session *session(void)
{
	return inside_session(w.proxy, 0);
}

static uint32_t credit(void)
{
	return raw.vers == 1 ? raw.advertised : raw.received + raw.advertised;
}

static void note(struct raw *r, struct view in, void *arg)
{
	uint32_t xid = xdr_peek_u32(in.data), type = xdr_peek_u32(in.data + 12);

	(void)arg;
	raw.received++;
	raw.limit = xdr_peek_u32(in.data + 8);
	if (type == ERROR_TYPE && xid - XID < 0x1000) {
		assert_int_equal(xid, XID + raw.errors); /* none is missing */
		raw.errors++;
	}
	if (raw.vers == 2 && !raw.mute && raw.received % ((raw.advertised + 1) / 2) == 0) {
		raw.sent++;
		raw_words(r, 0, 2, credit(), 5);
	}
}

static void begin(unsigned client, unsigned server, bool raw_client)
{
	struct setup s = setup_defaults(client, server, 23);

	s.credits = MOST;
	s.memory = s.peer_memory = 64 << 20;
	s.net.latency_min = s.net.latency_max = 20000; /* what is sent together arrives together */
	s.raw = true;
	s.raw_client = raw_client;
	world_new(&w, &s);
	w.raw.on_message = note;
}

/* A raw client of @vers that lets the gateway send @advertised messages at once. */
static void begin_client(unsigned vers, unsigned advertised)
{
	memset(&raw, 0, sizeof(raw));
	raw.vers = vers;
	raw.advertised = advertised;
	begin(LEG_V1, LEG_V1, true);
	raw_connect(&w.raw, &w.pairs[0].gw_addr);
	world_run(&w, NSEC_PER_SEC);
	raw.sent = 1;
	if (vers == 2)
		raw_words(&w.raw, RAW_V2_PROPS(0x99, credit()));
	else
		raw_words(&w.raw, RAW_V1_CALL(0x98));
	world_run(&w, NSEC_PER_SEC);
	if (vers == 1)
		return;
	raw.sent++;
	raw_words(&w.raw, 0, 2, credit(), 5);
	world_run(&w, NSEC_PER_SEC);
	raw.sent++;
	raw_words(&w.raw, RAW_V2_CALL(0x98, credit()));
	world_run(&w, NSEC_PER_SEC);
}

static void end(void)
{
	assert_false(w.raw.closed);
	world_quit(&w);
	world_free(&w);
}

/* A call that the transport refuses, or, with @of_another, the relay: its payload has another XID. */
static void bad_call(uint32_t xid, bool of_another)
{
	raw.sent++;
	if (raw.vers == 1 && of_another)
		raw_words(&w.raw, xid, 1, 16, 0, 0, 0, 0, RAW_CALL_BODY(xid + 1));
	else if (raw.vers == 1)
		raw_words(&w.raw, xid, 1, 16, BAD_TYPE, 0, 0, 0, RAW_CALL_BODY(xid));
	else if (of_another)
		raw_words(&w.raw, xid, 2, credit(), 10, 0, 0, 0, 0, RAW_CALL_BODY(xid + 1));
	else
		raw_words(&w.raw, xid, 2, credit(), BAD_TYPE, 0, 0, 0, 0, RAW_CALL_BODY(xid));
}

static void bad_calls_in_one_burst(void **state)
{
	static const unsigned advertised[] = {64, 4};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		unsigned n = 60;

		begin_client(2, advertised[i / 2]);
		assert_true(raw.limit - raw.sent >= n);
		for (unsigned k = 0; k < n; k++)
			bad_call(XID + k, i % 2);
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(raw.errors, n);
		assert_int_equal(session()->client.t->nreports, 0);
		assert_int_equal(session()->ntxns, 0);
		end();
	}
}

/* A version 1 client takes a report in 100 ms; the gateway has 32 Sends for each connection. */
static void a_client_that_takes_its_time(void **state)
{
	(void)state;
	for (unsigned of_another = 0; of_another < 2; of_another++) {
		begin_client(1, 16);
		memnet_pace(w.raw.conn, &(struct memnet_pace){.take = NSEC_PER_SEC / 10});
		for (unsigned k = 0; k < 120; k++) {
			bad_call(XID + k, of_another);
			if (k % 32 == 31)
				world_run(&w, NSEC_PER_MS);
		}
		world_run(&w, 20 * NSEC_PER_SEC);
		assert_int_equal(raw.errors, 120);
		end();
	}
}

/* A server of version 2. */
static void serve_properties(struct raw *r, struct view in, void *arg)
{
	uint32_t type = xdr_peek_u32(in.data + 12);

	note(r, in, arg);
	if (type != PROPS)
		return;
	raw.sent++;
	raw_words(r, RAW_V2_PROPS(0x99, credit()));
}

static void reverse_calls_with_chunks(void **state)
{
	static const unsigned advertised[] = {64, 8};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		memset(&raw, 0, sizeof(raw));
		raw.vers = 2;
		raw.advertised = advertised[i];
		begin(LEG_V1, LEG_V1_OR_V2, false);
		w.raw.on_message = serve_properties;
		world_connect_pair(&w, 0);
		world_run(&w, NSEC_PER_SEC);
		peer_call(&w.pairs[0].client,
			  &(struct peer_spec){.body = 100, .reply = 24, .segs = 1});
		world_run(&w, NSEC_PER_SEC);
		assert_true(raw.limit - raw.sent >= 61);
		for (unsigned k = 0; k < 61; k++) {
			raw.sent++;
			raw_words(&w.raw, XID + k, 2, credit(), 10, 0, 1, 44, 1, 4, 0, 0, 0, 0, 0,
				  RAW_CALL_BODY(XID + k));
		}
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(raw.errors, 61);
		assert_false(w.raw.closed);
		assert_false(w.pairs[0].client.closed);
		end();
	}
}

/* A server of version 1 that answers its first call, and reports the others together. */
static void serve_v1(struct raw *r, struct view in, void *arg)
{
	uint32_t xid = xdr_peek_u32(in.data);

	(void)arg;
	if (xdr_peek_u32(in.data + 4) == 2)
		raw_words(r, xid, 2, MOST, ERROR_TYPE, 1, 1, 1);
	else if (raw.replies++ == 0)
		raw_words(r, RAW_V1_REPLY(xid, MOST));
	else
		raw.calls[raw.ncalls++] = xid;
}

static void a_server_that_reports_all_calls_at_once(void **state)
{
	static const unsigned advertised[] = {8, 32};
	static const uint32_t null[] = {0, 2, 100003, 3, 0, 0, 0, 0, 0};
	const struct peer_spec plain = {
		.body = 100, .reply = 24, .segs = 1, .words = null, .nwords = 9};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct peer *c = &w.pairs[0].client;

		memset(&raw, 0, sizeof(raw));
		begin(LEG_V2, LEG_V1_OR_V2, false);
		w.raw.on_message = serve_v1;
		world_connect_pair(&w, 0);
		leg_set_grant(&c->leg, advertised[i]);
		world_run(&w, NSEC_PER_SEC);
		peer_call(c, &plain);
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(c->done, 1);
		for (unsigned k = 0; k < 60; k++)
			assert_true(peer_call(c, &plain));
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(raw.ncalls, 60);
		for (unsigned k = 0; k < 60; k++)
			raw_words(&w.raw, raw.calls[k], 1, MOST, ERROR_TYPE, 2);
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(c->errors, 60);
		assert_false(c->closed);
		end();
	}
}

/* The client leaves no credits for reports. Its messages wait, or the reports of its transactions
 * do, and their memory has limits: a minute later the session ends. */
static void a_client_that_takes_no_reports_ends(void **state)
{
	(void)state;
	for (unsigned of_another = 0; of_another < 2; of_another++) {
		uint32_t limit;
		unsigned n = 0;

		begin_client(2, 4);
		raw.mute = true;
		limit = raw.limit;
		for (; n < 60; n++)
			bad_call(XID + n, of_another);
		world_run(&w, 50 * NSEC_PER_SEC);
		assert_false(w.raw.closed);
		assert_true(raw.errors < 8);
		assert_true(session()->client.t->nreports <= RPC_REPORTS);
		assert_true(session()->ntxns <= n);
		assert_true(raw.limit - limit < MOST);
		world_run(&w, 15 * NSEC_PER_SEC);
		assert_true(w.raw.closed);
		assert_int_equal(proxy_counters(w.proxy)->peer_faults, 1);
		world_quit(&w);
		world_free(&w);
	}
}

/* A client takes one report at a time, and sends as many calls as it may. A call whose report waits
 * keeps its Receive, so the client has credits for few calls. */
static void calls_whose_reports_wait_hold_credits(void **state)
{
	uint32_t xid = 1;

	(void)state;
	begin_client(2, 4);
	raw.mute = true;
	for (unsigned i = 0; i < 600 && !w.raw.closed; i++) {
		for (unsigned n = 0; n < 50 && (int32_t)(raw.limit - raw.sent) > 1; n++) {
			raw.sent++;
			/* with a Write chunk of 2 GiB */
			raw_words(&w.raw, xid, 2, raw.received, 10, 0, 0, 1, 1, 7, 0x7fffffff, 0, 0,
				  0, 0, RAW_CALL_BODY(xid));
			xid++;
		}
		world_run(&w, NSEC_PER_SEC / 80);
		raw.sent++;
		raw_words(&w.raw, 0, 2, raw.received + 1, 5);
		world_run(&w, NSEC_PER_SEC / 80);
		assert_in_range(session()->ntxns, 0, MOST + 16);
	}
	assert_in_range(xid, 2 * MOST, UINT32_MAX);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_calls_in_one_burst),
		cmocka_unit_test(a_client_that_takes_its_time),
		cmocka_unit_test(reverse_calls_with_chunks),
		cmocka_unit_test(a_server_that_reports_all_calls_at_once),
		cmocka_unit_test(a_client_that_takes_no_reports_ends),
		cmocka_unit_test(calls_whose_reports_wait_hold_credits),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("many error reports", tests, NULL, NULL);
}
