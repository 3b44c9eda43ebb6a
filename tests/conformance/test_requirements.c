/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requirements of docs/conformance.md that only a whole session shows: what goes
 * over the wire on one side when the other side does something, octet for octet.
 */
#include "tests/cmocka_all.h"

#include <string.h>

#include "base/log.h"
#include "tests/session/world.h"

enum {
	V1_MSG_TYPE = 0,
	ERROR_TYPE = 4,
	CALL_INLINE_TYPE = 10,
	REPLY_INLINE_TYPE = 13,
	XID = 0x5000
};

static struct world w;
static unsigned reply_at; /* number of the kept message that is the reply */

/* --- a client written by hand ------------------------------------------------ */

static void client_begin(unsigned server, unsigned version, const uint8_t *pdata)
{
	struct setup s = setup_defaults(LEG_V1, server, 11);

	s.raw = s.raw_client = true;
	s.memory = s.peer_memory = 64 << 20;
	world_new(&w, &s);
	if (pdata)
		w.raw.pdata = view_of(pdata, 8);
	raw_connect(&w.raw, &w.pairs[0].gw_addr);
	world_run(&w, NSEC_PER_SEC);
	assert_true(w.raw.connected);
	if (version == 2)
		raw_words(&w.raw, RAW_V2_PROPS(0x99, 60));
	else
		raw_words(&w.raw, RAW_V1_CALL(0x98));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(w.raw.nkept, 1);
}

static void end(void)
{
	assert_false(w.raw.closed);
	world_quit(&w);
	world_free(&w);
}

static void put_write_chunk(struct xdr_out *x, const struct segment *segs, unsigned n)
{
	xdr_put_u32(x, n);
	for (unsigned i = 0; i < n; i++)
		xdr_put_segment(x, &segs[i]);
}

/* Whether a message of @type about @xid came, beside GRANTs. */
static bool find_kept(uint32_t xid, uint32_t type)
{
	for (reply_at = 0; reply_at < w.raw.nkept; reply_at++)
		if (raw_word(&w.raw, reply_at, 0) == xid && raw_word(&w.raw, reply_at, 3) == type)
			return true;
	return false;
}

/* A call with one Write chunk of @n segments, of which the server fills @result octets;
 * version 2: @inv may be invalidated. call_with_write_chunk() returns whether the reply came. */
static void put_call_with_write_chunk(unsigned version, uint32_t xid, const struct segment *segs,
				      unsigned n, uint32_t result, uint32_t inv)
{
	const uint32_t body[] = {RAW_CALL_BODY(xid)};
	struct xdr_out x = raw_begin(&w.raw);

	xdr_put_u32(&x, xid);
	xdr_put_u32(&x, version);
	xdr_put_u32(&x, 60);
	xdr_put_u32(&x, version == 1 ? V1_MSG_TYPE : CALL_INLINE_TYPE);
	if (version == 2)
		xdr_put_u32(&x, inv);
	xdr_put_u32(&x, 0);
	xdr_put_u32(&x, 1);
	put_write_chunk(&x, segs, n);
	xdr_put_u32(&x, 0);
	xdr_put_u32(&x, 0);
	for (unsigned i = 0; i < 24; i++)
		xdr_put_u32(&x, i == 7 ? 1 : i == 8 ? result : body[i]);
	raw_end(&w.raw, &x);
}

static bool call_with_write_chunk(unsigned version, const struct segment *segs, unsigned n,
				  uint32_t result, uint32_t inv)
{
	w.raw.nkept = 0;
	w.raw.invalidated = 0;
	put_call_with_write_chunk(version, XID, segs, n, result, inv);
	world_run(&w, NSEC_PER_SEC);
	return find_kept(XID, version == 1 ? V1_MSG_TYPE : REPLY_INLINE_TYPE);
}

/* RFC 8797 section 4.1, protocol decision 59. */
static void version_1_handles_are_invalidated_only_with_r(void **state)
{
	static const uint8_t with_r[] = {0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3};
	static const uint8_t without_r[] = {0xf6, 0xab, 0x0e, 0x18, 1, 0, 3, 3};
	struct segment segs[2];

	(void)state;
	for (unsigned server = 1; server <= 2; server++) {
		client_begin(server, 1, with_r);
		segs[0] = raw_expose(&w.raw, 4096, FABRIC_REMOTE_WRITE);
		assert_true(call_with_write_chunk(1, segs, 1, 1000, 0));
		assert_int_equal(w.raw.invalidated, segs[0].handle);
		/* Two segments of one handle are still one handle; of two, it could be the wrong. */
		segs[0] = raw_expose(&w.raw, 4096, FABRIC_REMOTE_WRITE);
		segs[1] = segs[0];
		segs[0].length = 512;
		segs[1].length = 1024;
		segs[1].offset += 512;
		assert_true(call_with_write_chunk(1, segs, 2, 1000, 0));
		assert_int_equal(w.raw.invalidated, segs[0].handle);
		segs[0] = raw_expose(&w.raw, 512, FABRIC_REMOTE_WRITE);
		segs[1] = raw_expose(&w.raw, 512, FABRIC_REMOTE_WRITE);
		assert_true(call_with_write_chunk(1, segs, 2, 1000, 0));
		assert_int_equal(w.raw.invalidated, 0);
		/* One that another call uses as well is not associated with the one XID only. */
		segs[0] = raw_expose(&w.raw, 4096, FABRIC_REMOTE_WRITE);
		put_call_with_write_chunk(1, XID + 1, segs, 1, 4000, 0);
		put_call_with_write_chunk(1, XID + 2, segs, 1, 4000, 0);
		world_run(&w, NSEC_PER_SEC);
		assert_true(find_kept(XID + 1, V1_MSG_TYPE));
		assert_true(find_kept(XID + 2, V1_MSG_TYPE));
		end();

		client_begin(server, 1, without_r);
		segs[0] = raw_expose(&w.raw, 4096, FABRIC_REMOTE_WRITE);
		assert_true(call_with_write_chunk(1, segs, 1, 1000, 0));
		assert_int_equal(w.raw.invalidated, 0);
		end();
	}
}

/* draft-07 section 6.5: the handle the call names, and no other. */
static void version_2_handles_are_invalidated_as_the_call_says(void **state)
{
	struct segment segs[2];

	(void)state;
	for (unsigned server = 1; server <= 2; server++)
		for (unsigned named = 0; named <= 2; named++) {
			uint32_t inv;

			client_begin(server, 2, NULL);
			segs[0] = raw_expose(&w.raw, 512, FABRIC_REMOTE_WRITE);
			segs[1] = raw_expose(&w.raw, 512, FABRIC_REMOTE_WRITE);
			inv = named ? segs[named - 1].handle : 0;
			assert_true(call_with_write_chunk(2, segs, 2, 1000, inv));
			assert_int_equal(w.raw.invalidated, inv);
			/* ... and a report of an error is never one that invalidates. */
			w.raw.nkept = w.raw.invalidated = 0;
			raw_words(&w.raw, XID, 2, 60, 99);
			world_run(&w, NSEC_PER_SEC);
			assert_true(find_kept(XID, ERROR_TYPE));
			assert_int_equal(w.raw.invalidated, 0);
			end();
		}
}

/* draft-07 section 4.5.2.1, rfc5666bis-01 sections 4.4.5 and 4.4.5.1: the requester's own
 * segments come back, all of them, in order, with what lies in each. */
static void write_chunks_come_back_segment_for_segment(void **state)
{
	static const uint32_t results[] = {0, 1, 512, 513, 700, 1199, 1200};
	struct segment segs[3];

	(void)state;
	for (unsigned version = 1; version <= 2; version++)
		for (unsigned i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
			unsigned at = version == 1 ? 5 : 4; /* past an empty Read list */
			uint32_t left = results[i];

			client_begin(LEG_V1_OR_V2, version, NULL);
			for (unsigned k = 0; k < 3; k++)
				segs[k] =
					raw_expose(&w.raw, k == 1 ? 176 : 512, FABRIC_REMOTE_WRITE);
			assert_true(call_with_write_chunk(version, segs, 3, results[i], 0));
			assert_int_equal(raw_word(&w.raw, reply_at, at), 1);
			assert_int_equal(raw_word(&w.raw, reply_at, at + 1), 3);
			for (unsigned k = 0; k < 3; k++) {
				uint32_t here = left < segs[k].length ? left : segs[k].length;
				unsigned seg = at + 2 + 4 * k;

				assert_int_equal(raw_word(&w.raw, reply_at, seg), segs[k].handle);
				assert_int_equal(raw_word(&w.raw, reply_at, seg + 1), here);
				assert_int_equal(raw_word(&w.raw, reply_at, seg + 2),
						 segs[k].offset >> 32);
				assert_int_equal(raw_word(&w.raw, reply_at, seg + 3),
						 (uint32_t)segs[k].offset);
				left -= here;
			}
			assert_int_equal(raw_word(&w.raw, reply_at, at + 14),
					 0); /* no second chunk */
			end();
		}
}

/* --- a server written by hand ------------------------------------------------ */

struct seen {
	unsigned calls;
	unsigned vers, type;
	uint32_t positions[4];
	unsigned nreads;
};

/* Speaks version 1 or 2 as it is spoken to; notes the Read list of the last call. */
static void note_call(struct raw *r, struct view in, void *arg)
{
	struct seen *s = arg;
	struct xdr_in x;
	uint32_t xid;

	xdr_in_init(&x, in);
	xid = xdr_get_u32(&x);
	s->vers = xdr_get_u32(&x);
	xdr_skip(&x, 4);
	s->type = xdr_get_u32(&x);
	if (s->vers == 2 && s->type == 7) {
		raw_words(r, RAW_V2_PROPS(0x77, 60));
		return;
	}
	if (s->vers == 2 && s->type != CALL_INLINE_TYPE)
		return;
	s->calls++;
	if (s->vers == 2)
		xdr_skip(&x, 4);
	for (s->nreads = 0; s->nreads < 4 && xdr_get_bool(&x); s->nreads++) {
		s->positions[s->nreads] = xdr_get_u32(&x);
		xdr_get_segment(&x);
	}
	if (s->vers == 2)
		raw_words(r, RAW_V2_REPLY(xid, 60));
	else
		raw_words(r, RAW_V1_REPLY(xid, 16));
}

/* draft-07 sections 4.4.2, 4.5.1, rfc5666bis-01 4.4.1, 4.4.4, 5.2.1: what the requester took
 * out of the stream stays out of it, nothing else is, and where it belongs does not change. */
static void positions_and_items_pass_unchanged(void **state)
{
	const struct peer_spec two_items = {
		.body = 400, .reply = 24, .segs = 3, .nreads = 2, .reads = {1001, 77}};
	const struct peer_spec none = {.body = 3000, .reply = 24, .segs = 1};

	(void)state;
	for (unsigned cv = 1; cv <= 2; cv++)
		for (unsigned sv = 1; sv <= 2; sv++) {
			struct setup s = setup_defaults(cv, LEG_V1, 3);
			struct seen seen = {0};

			s.raw = true;
			s.memory = s.peer_memory = 64 << 20;
			s.upstream_versions = sv;
			world_new(&w, &s);
			w.raw.on_message = note_call;
			w.raw.arg = &seen;
			world_connect_pair(&w, 0);
			world_run(&w, NSEC_PER_SEC);
			peer_call(&w.pairs[0].client, &two_items);
			world_run(&w, NSEC_PER_SEC);
			assert_int_equal(seen.calls, 1);
			assert_int_equal(seen.vers, sv);
			assert_int_equal(seen.nreads,
					 2); /* a segment each: what was cut is whole */
			assert_int_equal(seen.positions[0], 64);
			assert_int_equal(seen.positions[1], 64 + 8 + 1004);
			peer_call(&w.pairs[0].client, &none);
			world_run(&w, NSEC_PER_SEC);
			assert_int_equal(seen.calls, 2);
			assert_int_equal(seen.nreads, 0);
			assert_int_equal(seen.type, sv == 1 ? V1_MSG_TYPE : CALL_INLINE_TYPE);
			assert_int_equal(w.pairs[0].client.done, 2);
			end();
		}
}

/* --- a client like others ------------------------------------------------------ */

/* RFC 8797 section 4: settings may change upon a reconnection. */
static void settings_are_those_of_the_new_connection(void **state)
{
	static const uint32_t sizes[] = {1024, 8192, 2048};
	const struct peer_spec long_reply = {.body = 100, .reply = 5000, .segs = 1};
	struct setup s = setup_defaults(LEG_V1, LEG_V1, 3);
	struct peer *client = &w.pairs[0].client;
	uint64_t done = 0, errors = 0;

	(void)state;
	s.gw_inline = 16384;
	s.server_inline = 16384;
	s.memory = s.peer_memory = 64 << 20;
	world_new(&w, &s);
	for (unsigned i = 0; i < 3; i++) {
		client->cfg.inline_bytes = sizes[i];
		world_connect(&w);
		assert_int_equal(client->leg.t->peer.recv_bytes, sizes[i]);
		peer_call(client, &long_reply); /* and no Reply chunk */
		world_run(&w, NSEC_PER_SEC);
		done += sizes[i] >= 8192;
		errors += sizes[i] < 8192;
		assert_int_equal(client->done, done);
		assert_int_equal(client->errors, errors);
		peer_end(client);
		world_run(&w, 10 * NSEC_PER_SEC);
		peer_end(&w.pairs[0].server);
		w.pairs[0].server.has_leg = false;
	}
	world_quit(&w);
	world_free(&w);
}

/* draft-07 section 4.6.5: the server may call at any time, so a connection is not ended for
 * being idle. */
static void an_idle_session_stays(void **state)
{
	const struct peer_spec null_call = {.body = 100, .reply = 24, .segs = 1};

	(void)state;
	for (unsigned cv = 1; cv <= 2; cv++)
		for (unsigned sv = 1; sv <= 2; sv++) {
			struct setup s = setup_defaults(cv, sv, 5);
			struct world_pair *p = &w.pairs[0];

			s.memory = s.peer_memory = 64 << 20;
			world_new(&w, &s);
			world_connect(&w);
			peer_call(&p->client, &null_call);
			world_run(&w, 24 * 3600 * NSEC_PER_SEC);
			assert_int_equal(proxy_sessions(w.proxy), 1);
			peer_call(&p->server, &null_call);
			world_run(&w, NSEC_PER_SEC);
			assert_int_equal(p->client.served, 1);
			assert_int_equal(p->server.done, 1);
			world_quit(&w);
			world_free(&w);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_1_handles_are_invalidated_only_with_r),
		cmocka_unit_test(version_2_handles_are_invalidated_as_the_call_says),
		cmocka_unit_test(write_chunks_come_back_segment_for_segment),
		cmocka_unit_test(positions_and_items_pass_unchanged),
		cmocka_unit_test(settings_are_those_of_the_new_connection),
		cmocka_unit_test(an_idle_session_stays),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("requirements", tests, NULL, NULL);
}
