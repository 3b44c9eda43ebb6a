/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors of a server, and what the client is sent for them: for every pair of versions. */
#include "tests/cmocka_all.h"

#include "base/log.h"
#include "tests/session/world.h"

enum { ERROR_TYPE = 4 };

static struct world w;

/* One report as it is on the server's wire, and as the client has to understand it. */
struct row {
	unsigned vers;	   /* the server's */
	uint32_t words[3]; /* code, and what follows it */
	unsigned n;
	/* the error that a version 2 client gets; version 1: always ERR_CHUNK */
	struct rpc_error v2;
};

/* Decision 11; section 7 and 8.4 of the draft, RFC 8166 section 4.5. Decisions 48 and 49, the
 * reports that end a connection, are in tests/conformance/test_reports.c. */
static const struct row rows[] = {
	{1, {2}, 1, {.code = RPC_ERROR_SYSTEM}},       /* ERR_CHUNK: cause not known */
	{1, {1, 1, 1}, 3, {.code = RPC_ERROR_SYSTEM}}, /* ERR_VERS in mid-stream */
	{1, {99}, 1, {.code = RPC_ERROR_SYSTEM}},      /* no such code */
	{2, {2}, 1, {.code = RPC_ERROR_SYSTEM}},       /* BAD_XDR: the gateway's own header */
	{2, {3}, 1, {.code = RPC_ERROR_SYSTEM}},       /* BAD_PROPVAL */
	{2, {5}, 1, {.code = RPC_ERROR_SYSTEM}},       /* INVAL_CONT */
	{2, {6, 3}, 2, {.code = RPC_ERROR_READ_CHUNKS, 3, 0}},
	{2, {7, 2}, 2, {.code = RPC_ERROR_WRITE_CHUNKS, 2, 0}},
	{2, {8, 16}, 2, {.code = RPC_ERROR_SEGMENTS, 16, 0}},
	{2, {9, 1, 70000}, 3, {.code = RPC_ERROR_WRITE_RESOURCE, 1, 70000}},
	{2, {10, 80000}, 2, {.code = RPC_ERROR_REPLY_RESOURCE, 80000, 0}},
	{2, {100}, 1, {.code = RPC_ERROR_SYSTEM}},
};

struct play {
	const struct row *row;
	unsigned vers, received;
	bool long_reply; /* a continued reply of 16 KiB instead of a report */
};

static uint32_t credit(const struct play *p)
{
	return p->vers == 1 ? 8 : p->received + 30;
}

static void send_report(struct raw *r, const struct play *p, uint32_t xid)
{
	struct xdr_out x = raw_begin(r);

	xdr_put_u32(&x, xid);
	xdr_put_u32(&x, p->vers);
	xdr_put_u32(&x, credit(p));
	xdr_put_u32(&x, ERROR_TYPE);
	for (unsigned i = 0; i < p->row->n; i++)
		xdr_put_u32(&x, p->row->words[i]);
	raw_end(r, &x);
}

/* 16 KiB in 16 messages of 1 KiB. */
static void send_long_reply(struct raw *r, const struct play *p, uint32_t xid)
{
	for (uint32_t part = 0; part < 16; part++) {
		struct xdr_out x = raw_begin(r);
		bool last = part == 15;

		xdr_put_u32(&x, xid);
		xdr_put_u32(&x, 2);
		xdr_put_u32(&x, credit(p));
		xdr_put_u32(&x, last ? 13 : 12);
		xdr_put_u32(&x, last ? 0 : (15 - part) * 1024);
		for (uint32_t i = 0; i < 256; i++)
			xdr_put_u32(&x, part == 0 && i == 0 ? xid : part == 0 && i == 1);
		raw_end(r, &x);
	}
}

static void serve(struct raw *r, struct view in, void *arg)
{
	struct play *p = arg;
	uint32_t xid = xdr_peek_u32(in.data), vers = xdr_peek_u32(in.data + 4);
	uint32_t type = xdr_peek_u32(in.data + 12);

	p->received++;
	if (vers == 2 && p->vers == 1)
		raw_words(r, xid, 2, 8, ERROR_TYPE, 1, 1, 1);
	else if (vers == 2 && type == 7)
		raw_words(r, RAW_V2_PROPS(0x55, credit(p)));
	else if (type == (p->vers == 1 ? 0 : 10) && p->long_reply)
		send_long_reply(r, p, xid);
	else if (type == (p->vers == 1 ? 0 : 10))
		send_report(r, p, xid);
}

static struct peer *begin(unsigned client, struct play *p)
{
	struct setup s = setup_defaults(client, LEG_V1, 31);

	s.memory = s.peer_memory = 64 << 20;
	s.raw = true;
	world_new(&w, &s);
	w.raw.on_message = serve;
	w.raw.arg = p;
	world_connect_pair(&w, 0);
	world_run(&w, NSEC_PER_SEC);
	assert_true(w.pairs[0].client.open);
	return &w.pairs[0].client;
}

static void end(void)
{
	assert_false(w.pairs[0].client.closed); /* an error is no reason to part */
	world_quit(&w);
	world_free(&w);
}

static void a_servers_report_reaches_its_client_in_the_clients_words(void **state)
{
	const struct peer_spec spec = {.body = 100,
				       .reply = 24,
				       .segs = 1,
				       .nreads = 1,
				       .reads = {2000},
				       .nwrites = 1,
				       .write_caps = {3000}};

	(void)state;
	for (unsigned cv = 1; cv <= 2; cv++)
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			const struct row *row = &rows[i];
			struct play p = {.row = row, .vers = row->vers};
			struct peer *c = begin(cv, &p);

			for (unsigned n = 1; n <= 3; n++) {
				peer_call(c, &spec);
				world_run(&w, NSEC_PER_SEC);
				assert_int_equal(c->errors, n);
				assert_int_equal(peer_busy(c), 0);
				if (cv == 1) {
					assert_int_equal(c->last_error.code, RPC_ERROR_CHUNK);
					continue;
				}
				assert_int_equal(c->last_error.code, row->v2.code);
				assert_int_equal(c->last_error.a, row->v2.a);
				assert_int_equal(c->last_error.b, row->v2.b);
			}
			assert_int_equal(proxy_counters(w.proxy)->errors_from_responder, 3);
			assert_int_equal(proxy_counters(w.proxy)->errors_to_requester, 3);
			end();
		}
}

/* "I do not know calls": there is nothing left to say to such a server (7.1.2, 7.1.3). */
static void a_server_that_takes_no_calls_costs_the_session(void **state)
{
	static const struct row takes_none[] = {{2, {4}, 1, {0}}, {2, {11}, 1, {0}}};
	const struct peer_spec spec = {.body = 100, .reply = 24, .segs = 1};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct play p = {.row = &takes_none[i], .vers = 2};
		struct peer *c = begin(1, &p);
		const struct proxy_counters *count;

		peer_call(c, &spec);
		world_run(&w, 10 * NSEC_PER_SEC);
		assert_true(c->closed);
		count = proxy_counters(w.proxy);
		assert_int_equal(count->peer_faults, i == 0);
		assert_int_equal(count->version_faults, i == 1); /* ERR_VERS_MISMATCH */
		world_quit(&w);
		world_free(&w);
	}
}

/* A reply for which the client left no room: the gateway's own finding. */
static void a_reply_without_room_is_reported(void **state)
{
	const struct peer_spec spec = {.body = 100, .reply = 16384, .segs = 1};
	struct play p = {.vers = 2, .long_reply = true};
	struct peer *c = begin(1, &p);

	(void)state;
	peer_call(c, &spec);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(c->errors, 1);
	assert_int_equal(c->last_error.code, RPC_ERROR_CHUNK);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_servers_report_reaches_its_client_in_the_clients_words),
		cmocka_unit_test(a_server_that_takes_no_calls_costs_the_session),
		cmocka_unit_test(a_reply_without_room_is_reported),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("errors", tests, NULL, NULL);
}
