/* SPDX-License-Identifier: BSD-2-Clause */
/* The re-chunking table of docs/rechunking.md, one test for each cell, and its invariants as
 * properties. */
#include "tests/cmocka_all.h"

#include <stdbool.h>
#include <string.h>

#include "proxy/plan/nfsreply.h"
#include "proxy/plan/segments.h"
#include "tests/proxy/plan_util.h"
#include "tests/rng.h"

/* --- calls: form ---------------------------------------------------------- */

struct call_row {
	const char *name;
	unsigned to;
	size_t body, cap;
	enum rpc_reverse reverse; /* NONE: a forward call */
	enum plan_form form;
	enum rpc_error_code code;
};

static void test_call_form(void **state)
{
	static const struct call_row rows[] = {
		{"v1 short", 1, 100, CAP, 0, PLAN_INLINE, 0},
		{"v1 just fits", 1, 4096 - V1_HDR, CAP, 0, PLAN_INLINE, 0},
		{"v1 one too long", 1, 4097 - V1_HDR, CAP, 0, PLAN_BODY_CHUNK, 0},
		{"v1 long", 1, 3000000, CAP, 0, PLAN_BODY_CHUNK, 0},
		{"v1 beyond a segment", 1, (size_t)UINT32_MAX + 1, CAP, 0, PLAN_REFUSED,
		 RPC_ERROR_SYSTEM},
		{"v2 short", 2, 100, CAP, 0, PLAN_INLINE, 0},
		{"v2 just fits", 2, 4096 - V2_CALL_HDR, CAP, 0, PLAN_INLINE, 0},
		{"v2 one too long", 2, 4097 - V2_CALL_HDR, CAP, 0, PLAN_CONTINUED, 0},
		{"v2 at the cap", 2, CAP, CAP, 0, PLAN_CONTINUED, 0},
		{"v2 above the cap", 2, CAP + 1, CAP, 0, PLAN_BODY_CHUNK, 0},
		{"v2 no continuation", 2, 5000, 0, 0, PLAN_BODY_CHUNK, 0},
		{"v2 too many segments", 2, (16 << 20) + 1, CAP, 0, PLAN_REFUSED,
		 RPC_ERROR_SEGMENTS},
		{"reverse v1 short", 1, 100, CAP, RPC_REV_SIMPLE, PLAN_INLINE, 0},
		{"reverse v1 just fits", 1, 4096 - V1_HDR, CAP, RPC_REV_SIMPLE, PLAN_INLINE, 0},
		{"reverse v1 too long", 1, 4097 - V1_HDR, CAP, RPC_REV_SIMPLE, PLAN_REFUSED,
		 RPC_ERROR_SYSTEM},
		{"reverse v2 simple", 2, 100, CAP, RPC_REV_SIMPLE, PLAN_INLINE, 0},
		{"reverse v2 simple, long", 2, 5000, CAP, RPC_REV_SIMPLE, PLAN_REFUSED,
		 RPC_ERROR_SYSTEM},
		{"reverse v2 continued", 2, 5000, CAP, RPC_REV_CONT, PLAN_CONTINUED, 0},
		{"reverse v2 continued, above cap", 2, 5000, 4999, RPC_REV_CONT, PLAN_REFUSED,
		 RPC_ERROR_SYSTEM},
		{"reverse v2 general", 2, 5000, 4999, RPC_REV_GENL, PLAN_BODY_CHUNK, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct call_row *r = &rows[i];
		struct plan_end from = end_of(r->to, 4096), to = end_of(r->to, 4096);
		static struct rpc_msg m;
		struct plan_call out;

		print_message("%s\n", r->name);
		rpc_msg_reset(&m, 1, RPC_CALL);
		if (r->reverse)
			to.limits.reverse = r->reverse;
		call_form(&m, r->body, NULL, &from, &to, r->to == 1 ? V1_HDR : V2_CALL_HDR,
			  r->reverse != RPC_REV_NONE, r->cap, &out);
		assert_int_equal(out.form, r->form);
		assert_int_equal(out.reply_bytes, 0);
		if (r->form == PLAN_REFUSED)
			assert_int_equal(out.error.code, r->code);
	}
}

/* The exact limit of the peer, to the octet. */
static void test_call_threshold(void **state)
{
	struct plan_end from = end_of(1, 4096), to = end_of(1, 4096);
	static struct rpc_msg m;
	struct plan_call out;

	(void)state;
	rpc_msg_reset(&m, 1, RPC_CALL);
	to.limits.send_bytes = 1024;
	call_form(&m, 1025 - V1_HDR, NULL, &from, &to, V1_HDR, false, CAP, &out);
	assert_int_equal(out.form, PLAN_BODY_CHUNK);
	call_form(&m, 1024 - V1_HDR, NULL, &from, &to, V1_HDR, false, CAP, &out);
	assert_int_equal(out.form, PLAN_INLINE);
}

static void test_call_reverse_refusals(void **state)
{
	struct plan_end from = end_of(2, 4096), to = end_of(1, 4096);
	static struct rpc_msg m;
	struct plan_call out;

	(void)state;
	rpc_msg_reset(&m, 1, RPC_CALL);
	m.reads[m.nreads++] = chunk_of(&m, 1, 100);
	call_form(&m, 100, NULL, &from, &to, V1_HDR, true, CAP, &out);
	assert_int_equal(out.form, PLAN_REFUSED);
	assert_int_equal(out.error.code, RPC_ERROR_READ_CHUNKS);
	assert_int_equal(out.error.a, 0);

	rpc_msg_reset(&m, 1, RPC_CALL);
	m.writes[m.nwrites++] = chunk_of(&m, 1, 100);
	call_form(&m, 100, NULL, &from, &to, V1_HDR, true, CAP, &out);
	assert_int_equal(out.form, PLAN_REFUSED);
	assert_int_equal(out.error.code, RPC_ERROR_WRITE_CHUNKS);
	assert_int_equal(out.error.a, 0);

	/* 4.6.4: that chunks are not taken is said in the words of 7.3, whatever else is not. */
	to = end_of(2, 4096);
	to.limits.reverse = RPC_REV_NONE;
	call_form(&m, 100, NULL, &from, &to, V2_CALL_HDR, true, CAP, &out);
	assert_int_equal(out.error.code, RPC_ERROR_WRITE_CHUNKS);

	rpc_msg_reset(&m, 1, RPC_CALL);
	call_form(&m, 100, NULL, &from, &to, V2_CALL_HDR, true, CAP, &out);
	assert_int_equal(out.form, PLAN_REFUSED);
	assert_int_equal(out.error.code, RPC_ERROR_SYSTEM);
	/* ... which says nothing about forward calls. */
	call_form(&m, 100, NULL, &from, &to, V2_CALL_HDR, false, CAP, &out);
	assert_int_equal(out.form, PLAN_INLINE);
}

static void test_call_segments(void **state)
{
	struct plan_end from = end_of(1, 4096), to = end_of(2, 4096);
	static struct rpc_msg m;
	struct plan_call out;

	(void)state;
	/* Sixteen segments of the requester are one region here: one segment. */
	rpc_msg_reset(&m, 1, RPC_CALL);
	m.reads[m.nreads++] = chunk_of(&m, 16, 4096);
	to.limits.segment_count = 1;
	call_form(&m, 100, NULL, &from, &to, V2_CALL_HDR + 24, false, CAP, &out);
	assert_int_equal(out.form, PLAN_INLINE);
	/* Two chunks are two; an empty Write chunk is none. */
	m.writes[m.nwrites++] = (struct rpc_chunk){0};
	call_form(&m, 100, NULL, &from, &to, V2_CALL_HDR + 32, false, CAP, &out);
	assert_int_equal(out.form, PLAN_INLINE);
	m.writes[m.nwrites++] = chunk_of(&m, 1, 100);
	call_form(&m, 100, NULL, &from, &to, V2_CALL_HDR + 48, false, CAP, &out);
	assert_int_equal(out.form, PLAN_REFUSED);
	assert_int_equal(out.error.code, RPC_ERROR_SEGMENTS);
	assert_int_equal(out.error.a, 1);
	/* A peer that takes segments of no octets takes no chunk; small calls still pass. */
	to = end_of(2, 4096);
	to.limits.segment_bytes = 0;
	call_form(&m, 100, NULL, &from, &to, V2_CALL_HDR + 48, false, CAP, &out);
	assert_int_equal(out.form, PLAN_REFUSED);
	rpc_msg_reset(&m, 1, RPC_CALL);
	call_form(&m, 100, NULL, &from, &to, V2_CALL_HDR, false, CAP, &out);
	assert_int_equal(out.form, PLAN_INLINE);
	/* A header that fills the Send leaves no room for anything. */
	call_form(&m, 100, NULL, &from, &to, 4096, false, CAP, &out);
	assert_int_equal(out.form, PLAN_REFUSED);
	assert_int_equal(out.error.code, RPC_ERROR_SEGMENTS);
}

/* --- calls: Reply chunk --------------------------------------------------- */

static void test_reply_chunk_passed_on(void **state)
{
	static struct rpc_msg m;
	struct rpchdr hdr;

	(void)state;
	for (unsigned from = 1; from <= 2; from++)
		for (unsigned to = 1; to <= 2; to++) {
			struct plan_end a = end_of(from, 4096), b = end_of(to, 4096);

			nfs3_call(&m, &hdr, 6, 1 << 20);
			offer_reply(&m, 2 << 20);
			assert_int_equal(reply_bytes(&m, &hdr, &a, &b, false, CAP), 2 << 20);
			nfs3_call(&m, &hdr, 1, 0);
			offer_reply(&m, 8192);
			assert_int_equal(reply_bytes(&m, NULL, &a, &b, false, CAP), 8192);
			/* In the reverse direction only toward a version 2 peer that is GENL. */
			assert_int_equal(reply_bytes(&m, NULL, &a, &b, true, CAP),
					 to == 1 ? 0 : 8192);
			b.limits.reverse = RPC_REV_CONT;
			assert_int_equal(reply_bytes(&m, NULL, &a, &b, true, CAP), 0);
		}
}

static void test_reply_chunk_none_offered(void **state)
{
	struct plan_end v1 = end_of(1, 4096), v2 = end_of(2, 4096), wide = end_of(1, 16384);
	static struct rpc_msg m;
	struct rpchdr hdr;
	uint32_t max;

	(void)state;
	nfs3_call(&m, &hdr, 16, 65536);
	max = plan_reply_max(&hdr, m.body[0], NULL);
	assert_in_range(max, 65536, 65536 + 1024);

	/* v1 to v1, equal thresholds: what the requester can take, the responder can send. */
	assert_int_equal(reply_bytes(&m, &hdr, &v1, &v1, false, CAP), 0);
	/* The requester takes more inline than the responder can send: up to that much. */
	assert_int_equal(reply_bytes(&m, &hdr, &wide, &v1, false, CAP), 16384 - V1_HDR);
	/* ... unless the procedure's reply is short; or as much as it needs. */
	nfs3_call(&m, &hdr, 1, 0);
	assert_int_equal(reply_bytes(&m, &hdr, &wide, &v1, false, CAP), 0);
	nfs3_call(&m, &hdr, 16, 8192);
	assert_int_equal(reply_bytes(&m, &hdr, &wide, &v1, false, CAP),
			 plan_reply_max(&hdr, m.body[0], NULL));
	/* Unknown: all of it. */
	assert_int_equal(reply_bytes(&m, NULL, &wide, &v1, false, CAP), 16384 - V1_HDR);

	/* v2 to v1: by procedure. */
	nfs3_call(&m, &hdr, 1, 0);
	assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, CAP), 0);
	nfs3_call(&m, &hdr, 16, 65536);
	assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, CAP), max);
	assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, 10000), 10000);
	assert_int_equal(reply_bytes(&m, NULL, &v2, &v1, false, CAP), UNASKED);
	assert_int_equal(reply_bytes(&m, NULL, &v2, &v1, false, 100000), 100000);
	/* COMPOUND: GETATTR with the owner's name fits; with the ACL it has no bound. */
	nfs4_getattr(&m, &hdr, UINT64_C(1) << 36);
	assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, CAP), 0);
	nfs4_getattr(&m, &hdr, 1 << 12);
	assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, CAP), UNASKED);
	hdr = (struct rpchdr){.prog = 0x40000000, .vers = 1, .proc = 1}; /* no filer serves it */
	assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, CAP), UNKNOWN);
	hdr = (struct rpchdr){.prog = 0x40000000, .vers = 1, .proc = 0}; /* NULL of any program */
	assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, CAP), 0);
	/* A short reply over a narrow server leg still needs one. */
	nfs3_call(&m, &hdr, 8, 0);
	v1.limits.recv_bytes = 512;
	assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, CAP),
			 plan_reply_max(&hdr, m.body[0], NULL));
	v1 = end_of(1, 4096);
	/* A requester that cannot take continued messages has its threshold. */
	v2.limits.continuation = false;
	assert_int_equal(reply_bytes(&m, NULL, &v2, &v1, false, CAP), 4096 - V2_REPLY_HDR);
	v2 = end_of(2, 4096);

	/* Toward version 2 what a version 1 requester takes, where the reply can be longer. */
	nfs4_getattr(&m, &hdr, 1 << 12);
	assert_int_equal(reply_bytes(&m, &hdr, &wide, &v2, false, CAP), 16384 - V1_HDR);
	assert_int_equal(reply_bytes(&m, NULL, &wide, &v2, false, CAP), 0);
	nfs4_getattr(&m, &hdr, 1 << 12);
	assert_int_equal(reply_bytes(&m, &hdr, &v1, &v2, false, CAP), 4096 - V1_HDR);
	nfs4_getattr(&m, &hdr, UINT64_C(1) << 36);
	assert_int_equal(reply_bytes(&m, &hdr, &v1, &v2, false, CAP), 0);
	assert_int_equal(reply_bytes(&m, NULL, &v1, &v2, true, CAP), 0);
	/* Otherwise, and in the reverse direction: no Reply chunk. */
	assert_int_equal(reply_bytes(&m, NULL, &v2, &v2, false, CAP), 0);
	assert_int_equal(reply_bytes(&m, NULL, &v2, &v1, true, CAP), 0);
	assert_int_equal(reply_bytes(&m, NULL, &v2, &v2, true, CAP), 0);
}

/* The Reply chunk the plan adds is part of the header: what just fitted no longer does. */
static void test_reply_chunk_takes_room(void **state)
{
	struct plan_end v1 = end_of(1, 4096), v2 = end_of(2, 4096);
	static struct rpc_msg m;
	struct plan_call out;

	(void)state;
	rpc_msg_reset(&m, 1, RPC_CALL);
	/* RFC 8166 4.3.2: 4 octets of header, and 16 for the segment. */
	call_form(&m, 4096 - V1_HDR - 20, NULL, &v2, &v1, V1_HDR, false, CAP, &out);
	assert_int_equal(out.form, PLAN_INLINE);
	assert_int_equal(out.reply_bytes, UNASKED);
	call_form(&m, 4096 - V1_HDR - 19, NULL, &v2, &v1, V1_HDR, false, CAP, &out);
	assert_int_equal(out.form, PLAN_BODY_CHUNK);
	assert_int_equal(out.reply_bytes, UNASKED);
}

/* Draft-07 6.6.4: a version 2 responder can continue its Reply, so no call fails for the chunk. */
static void test_reply_chunk_left_out(void **state)
{
	struct plan_end v1 = end_of(1, 4096), v2 = end_of(2, 4096);
	static struct rpc_msg m;
	struct plan_call out;

	(void)state;
	rpc_msg_reset(&m, 1, RPC_CALL);
	m.reads[m.nreads++] = chunk_of(&m, 1, 3000);
	offer_reply(&m, 8192);
	v2.limits.segment_count = v1.limits.segment_count = 2;
	call_form(&m, 100, NULL, &v1, &v2, V2_CALL_HDR + 24, false, CAP, &out);
	assert_int_equal(out.form, PLAN_INLINE);
	assert_int_equal(out.reply_bytes, 8192);
	v2.limits.segment_count = v1.limits.segment_count = 1;
	call_form(&m, 100, NULL, &v1, &v2, V2_CALL_HDR + 24, false, CAP, &out);
	assert_int_equal(out.form, PLAN_INLINE);
	assert_int_equal(out.reply_bytes, 0);
	/* The same if a chunk of all segments that are left is no longer than a Send, or the header
	 * with it does not fit. */
	v2 = end_of(2, 4096);
	v2.limits.segment_bytes = 400;
	call_form(&m, 100, NULL, &v1, &v2, V2_CALL_HDR + 8 * 24, false, CAP, &out);
	assert_int_equal(out.form, PLAN_INLINE);
	assert_int_equal(out.reply_bytes, 0);
	v2 = end_of(2, 4096);
	call_form(&m, 100, NULL, &v1, &v2, 4096 - 12, false, CAP, &out);
	assert_int_equal(out.form, PLAN_CONTINUED);
	assert_int_equal(out.reply_bytes, 0);
	/* A version 1 responder could not answer. */
	call_form(&m, 100, NULL, &v1, &v1, V1_HDR + 24, false, CAP, &out);
	assert_int_equal(out.form, PLAN_REFUSED);
	assert_int_equal(out.error.code, RPC_ERROR_SEGMENTS);
}

/* A longer Reply has a way, although the responder takes fewer segments than the requester's chunk
 * has. */
static void test_reply_chunk_shortened(void **state)
{
	struct plan_end from = end_of(2, 4096), to = end_of(2, 4096);
	static struct rpc_msg m;
	struct plan_call out;

	(void)state;
	rpc_msg_reset(&m, 1, RPC_CALL);
	offer_reply(&m, 40 << 20);
	call_form(&m, 100, NULL, &from, &to, V2_CALL_HDR, false, CAP, &out);
	assert_int_equal(out.form, PLAN_INLINE);
	assert_int_equal(out.reply_bytes, 16 << 20);
	m.reads[m.nreads++] = chunk_of(&m, 1, 3 << 20);
	call_form(&m, 100, NULL, &from, &to, V2_CALL_HDR + 3 * 24, false, CAP, &out);
	assert_int_equal(out.form, PLAN_INLINE);
	assert_int_equal(out.reply_bytes, 13 << 20);
	/* A long call keeps the segments that it needs. */
	call_form(&m, 3 << 20, NULL, &from, &to, V2_CALL_HDR + 3 * 24, false, 0, &out);
	assert_int_equal(out.form, PLAN_BODY_CHUNK);
	assert_int_equal(out.reply_bytes, 10 << 20);
	/* The header has room for fewer segments. */
	to.limits.send_bytes = 1024;
	to.limits.segment_count = 256;
	call_form(&m, 100, NULL, &from, &to, 600, false, CAP, &out);
	assert_int_equal(out.form, PLAN_INLINE);
	assert_true(out.reply_bytes >= 16 << 20 && out.reply_bytes < 40 << 20);
}

/* --- replies -------------------------------------------------------------- */

struct reply_row {
	const char *name;
	unsigned to;
	uint32_t offered; /* Reply chunk, 0 none */
	size_t body, cap;
	enum rpc_reverse reverse;
	enum plan_form form;
};

static void test_reply_form(void **state)
{
	static const struct reply_row rows[] = {
		{"v1 short", 1, 0, 100, CAP, 0, PLAN_INLINE},
		{"v1 just fits", 1, 0, 4096 - V1_HDR, CAP, 0, PLAN_INLINE},
		{"v1 one too long", 1, 0, 4097 - V1_HDR, CAP, 0, PLAN_REFUSED},
		{"v1 chunk, short", 1, 8192, 100, CAP, 0, PLAN_INLINE},
		{"v1 chunk, long", 1, 8192, 8192, CAP, 0, PLAN_BODY_CHUNK},
		{"v1 chunk, too long", 1, 8192, 8193, CAP, 0, PLAN_REFUSED},
		{"v2 short", 2, 0, 100, CAP, 0, PLAN_INLINE},
		{"v2 just fits", 2, 0, 4096 - V2_REPLY_HDR, CAP, 0, PLAN_INLINE},
		{"v2 one too long", 2, 0, 4097 - V2_REPLY_HDR, CAP, 0, PLAN_CONTINUED},
		{"v2 above the cap", 2, 0, CAP + 1, CAP, 0, PLAN_REFUSED},
		{"v2 chunk, short", 2, 8192, 100, CAP, 0, PLAN_INLINE},
		{"v2 chunk, long", 2, 8192, 8192, CAP, 0, PLAN_BODY_CHUNK},
		{"v2 chunk too small", 2, 8192, 8193, CAP, 0, PLAN_CONTINUED},
		{"v2 chunk too small, above the cap", 2, 8192, 8193, 8192, 0, PLAN_REFUSED},
		{"reverse v1", 1, 0, 100, CAP, RPC_REV_SIMPLE, PLAN_INLINE},
		{"reverse v1 long", 1, 0, 5000, CAP, RPC_REV_SIMPLE, PLAN_REFUSED},
		{"reverse v2 simple, long", 2, 0, 5000, CAP, RPC_REV_SIMPLE, PLAN_REFUSED},
		{"reverse v2 continued", 2, 0, 5000, CAP, RPC_REV_CONT, PLAN_CONTINUED},
		{"reverse v2 chunk", 2, 8192, 5000, CAP, RPC_REV_GENL, PLAN_BODY_CHUNK},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct reply_row *r = &rows[i];
		struct plan_end to = end_of(r->to, 4096);
		static struct rpc_msg call;
		struct plan_reply out;

		print_message("%s\n", r->name);
		rpc_msg_reset(&call, 1, RPC_CALL);
		if (r->offered)
			offer_reply(&call, r->offered);
		if (r->reverse)
			to.limits.reverse = r->reverse;
		reply_form(&call, r->body, &to, r->to == 1 ? V1_HDR : V2_REPLY_HDR,
			   r->reverse != RPC_REV_NONE, r->cap, &out);
		assert_int_equal(out.form, r->form);
		if (r->form != PLAN_REFUSED)
			continue;
		/* 7.3.5: with the length that would have sufficed. */
		assert_int_equal(out.error.code, RPC_ERROR_REPLY_RESOURCE);
		assert_int_equal(out.error.a, r->body);
	}
}

/* The header of a long reply returns the Reply chunk's segments; it has to fit, too. */
static void test_reply_header_room(void **state)
{
	struct plan_end to = end_of(1, 1024);
	static struct rpc_msg call;
	struct plan_reply out;

	(void)state;
	rpc_msg_reset(&call, 1, RPC_CALL);
	call.has_reply = true;
	call.reply = chunk_of(&call, 62, 4096);
	reply_form(&call, 8192, &to, V1_HDR, false, CAP, &out);
	assert_int_equal(out.form, PLAN_BODY_CHUNK);
	rpc_msg_reset(&call, 1, RPC_CALL);
	call.has_reply = true;
	call.reply = chunk_of(&call, 63, 4096);
	reply_form(&call, 8192, &to, V1_HDR, false, CAP, &out);
	assert_int_equal(out.form, PLAN_REFUSED);
	reply_form(&call, 8, &to, 1024, false, CAP, &out);
	assert_int_equal(out.form, PLAN_REFUSED);
	assert_int_equal(out.error.code, RPC_ERROR_SYSTEM);

	/* RDMA2_REPLY_EXTERNAL has a word more than RDMA2_REPLY_INLINE and the chunk. */
	to = end_of(2, 1024);
	rpc_msg_reset(&call, 1, RPC_CALL);
	call.has_reply = true;
	call.reply = chunk_of(&call, 62, 4096);
	reply_form(&call, 8192, &to, 1024 - 8 - 62 * 16, false, CAP, &out);
	assert_int_equal(out.form, PLAN_BODY_CHUNK);
	reply_form(&call, 8192, &to, 1024 - 4 - 62 * 16, false, CAP, &out);
	assert_int_equal(out.form, PLAN_CONTINUED);
}

/* --- segments and pads ---------------------------------------------------- */

static void test_spread(void **state)
{
	static const struct segment in[] = {{1, 100, 7}, {2, 0, 8}, {3, 50, 9}};
	struct segment out[3];

	(void)state;
	assert_int_equal(plan_spread(in, 3, 120, out), 0);
	assert_int_equal(out[0].length, 100);
	assert_int_equal(out[1].length, 0);
	assert_int_equal(out[2].length, 20);
	assert_int_equal(out[2].handle, 3);
	assert_int_equal(out[2].offset, 9);
	assert_int_equal(plan_spread(in, 3, 0, out), 0);
	assert_int_equal(out[0].length + out[1].length + out[2].length, 0);
	assert_int_equal(plan_spread(in, 3, 150, out), 0);
	assert_int_equal(plan_spread(in, 3, 151, out), ERR_TOOBIG);
	assert_int_equal(plan_spread(in, 0, 0, out), 0);
	assert_int_equal(plan_spread(in, 0, 1, out), ERR_TOOBIG);
}

static void test_split(void **state)
{
	static const struct segment region = {5, 10, 1000}, empty = {5, 0, 1000};
	struct segment out[4];

	(void)state;
	assert_int_equal(plan_split(&region, 4, out, 4), 3);
	assert_int_equal(out[2].length, 2);
	assert_int_equal(out[2].offset, 1008);
	assert_int_equal(out[2].handle, 5);
	assert_int_equal(plan_split(&region, 10, out, 1), 1);
	assert_int_equal(plan_split(&region, 4, out, 2), ERR_TOOBIG);
	assert_int_equal(plan_split(&empty, 4, out, 1), 1);
	assert_int_equal(out[0].length, 0);
	assert_int_equal(plan_split(&empty, 4, out, 0), ERR_TOOBIG);
}

static void test_strip_pad(void **state)
{
	static const uint8_t body[] = {0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 8};
	struct view whole = view_of(body, sizeof(body));
	struct view parts[3] = {view_of(body, 5), view_of(body + 5, 0), view_of(body + 5, 7)};
	struct rpc_chunk c = {.position = 8, .length = 8};

	(void)state;
	assert_int_equal(plan_strip_pad(&whole, 1, &c, 0), 5);
	assert_int_equal(plan_strip_pad(parts, 3, &c, 0), 5);
	c.length = 5; /* no pad was sent */
	assert_int_equal(plan_strip_pad(&whole, 1, &c, 0), 5);
	c.length = 12; /* the word is no count of this chunk */
	assert_int_equal(plan_strip_pad(&whole, 1, &c, 0), 12);
	c.length = 4;
	assert_int_equal(plan_strip_pad(&whole, 1, &c, 0), 4);
	c = (struct rpc_chunk){.position = 12, .length = 8}; /* whole words: nothing to strip */
	assert_int_equal(plan_strip_pad(&whole, 1, &c, 0), 8);
	/* After an earlier chunk of 5 octets, 8 of the stream. */
	c = (struct rpc_chunk){.position = 16, .length = 8};
	assert_int_equal(plan_strip_pad(&whole, 1, &c, 8), 5);
	/* Positions that point nowhere. */
	c = (struct rpc_chunk){.position = 0, .length = 8};
	assert_int_equal(plan_strip_pad(&whole, 1, &c, 0), 8);
	c.position = 16;
	assert_int_equal(plan_strip_pad(&whole, 1, &c, 0), 8);
	c.position = UINT32_MAX;
	assert_int_equal(plan_strip_pad(&whole, 1, &c, 0), 8);
	c.position = 8;
	assert_int_equal(plan_strip_pad(&whole, 1, &c, 8), 8);
	assert_int_equal(plan_strip_pad(NULL, 0, &c, 0), 8);
}

/* --- properties ----------------------------------------------------------- */

static struct plan_end random_end(struct rng *r)
{
	struct plan_end e = end_of(1 + rng_below(r, 2), 1024 * (1 + rng_below(r, 64)));

	if (rng_below(r, 2))
		e.limits.recv_bytes = 1024 * (1 + rng_below(r, 64));
	if (rng_below(r, 2))
		e.limits.send_bytes = 1024 * (1 + rng_below(r, 64));
	if (!is_v1(&e)) {
		e.limits.reverse = rng_below(r, 4);
		e.limits.segment_bytes = rng_below(r, 3) ? 1 + rng_below(r, 1 << 22) : UINT32_MAX;
		e.limits.segment_count = 1 + rng_below(r, 32);
	}
	return e;
}

static void random_call(struct rng *r, struct rpc_msg *m, struct rpchdr *hdr)
{
	nfs3_call(m, hdr, rng_below(r, 24), rng_below(r, 3) ? rng_below(r, 1 << 21) : UINT32_MAX);
	for (unsigned n = rng_below(r, 3); n > 0; n--)
		m->reads[m->nreads++] = chunk_of(m, 1 + rng_below(r, 4), rng_below(r, 1 << 18));
	for (unsigned n = rng_below(r, 3); n > 0; n--)
		m->writes[m->nwrites++] = chunk_of(m, rng_below(r, 4), rng_below(r, 1 << 18));
	if (rng_below(r, 3) == 0)
		offer_reply(m, rng_below(r, 1 << 20));
}

/* For any input no form is chosen that the target cannot accept. */
static void test_call_properties(void **state)
{
	struct rng r = rng_seeded("call", 1);

	(void)state;
	for (unsigned i = 0; i < 200000; i++) {
		struct plan_end from = random_end(&r), to = random_end(&r);
		size_t body = rng_below(&r, rng_below(&r, 2) ? 70000 : 5 << 20);
		size_t hdr_len = 28 + rng_below(&r, rng_below(&r, 20) ? 600 : 70000);
		size_t cap = rng_below(&r, 2) ? CAP : rng_below(&r, CAP);
		size_t threshold = to.limits.send_bytes;
		bool reverse = rng_below(&r, 4) == 0;
		bool chunks = !reverse || (!is_v1(&to) && to.limits.reverse == RPC_REV_GENL);
		static struct rpc_msg m;
		struct plan_call out;
		struct rpchdr hdr;

		random_call(&r, &m, &hdr);
		call_form(&m, body, &hdr, &from, &to, hdr_len, reverse, cap, &out);
		if (out.form == PLAN_INLINE)
			assert_true(hdr_len + body + (out.reply_bytes ? 20 : 0) <= threshold);
		if (out.form == PLAN_CONTINUED) {
			assert_false(is_v1(&to));
			assert_true(body <= cap);
			assert_true(!reverse || to.limits.reverse >= RPC_REV_CONT);
		}
		if (out.form == PLAN_BODY_CHUNK || out.form == PLAN_CONTINUED)
			assert_true(hdr_len + body > threshold || out.reply_bytes);
		if (out.form == PLAN_BODY_CHUNK)
			assert_true(chunks);
		if (!chunks || out.form == PLAN_REFUSED)
			assert_int_equal(out.reply_bytes, 0);
		else if (m.has_reply && is_v1(&to) &&
			 (out.reply_bytes || (is_v1(&from) && !m.nwrites)))
			assert_true(out.reply_bytes >= m.reply.length);
		if (!is_v1(&to) && out.reply_bytes && m.has_reply)
			assert_true(out.reply_bytes == m.reply.length ||
				    (out.reply_bytes < m.reply.length &&
				     out.reply_bytes > to.limits.recv_bytes));
		else if (!is_v1(&to) && out.reply_bytes)
			assert_true(is_v1(&from) && !reverse && out.reply_bytes <= 65536);
	}
}

/*
 * The promise of the whole: a reply the requester can take in some way, and the
 * procedure can produce, reaches the gateway from a version 1 responder.
 */
static void test_no_reply_is_lost(void **state)
{
	struct rng r = rng_seeded("reply", 2);

	(void)state;
	for (unsigned i = 0; i < 200000; i++) {
		struct plan_end from = random_end(&r), to = random_end(&r);
		size_t responder = to.limits.recv_bytes - V1_HDR;
		static struct rpc_msg m;
		struct plan_reply back;
		struct plan_call out;
		struct rpchdr hdr;
		uint32_t max, len;

		to.traits = &v1_traits;
		to.limits.continuation = false;
		to.limits.segment_bytes = UINT32_MAX;
		to.limits.segment_count = 16;
		random_call(&r, &m, &hdr);
		m.nreads = m.nwrites = 0;
		if (m.has_reply && is_v1(&from))
			continue; /* then its capacity is all there is, by design */
		max = plan_reply_max(&hdr, m.body[0], NULL);
		len = 1 + rng_below(&r, max ? max : UNKNOWN);
		if (m.has_reply && max == 0)
			len = rng_below(&r, (uint32_t)m.reply.length + 1);
		call_form(&m, 200, &hdr, &from, &to, V1_HDR, false, CAP, &out);
		assert_int_not_equal(out.form, PLAN_REFUSED);
		reply_form(&m, len, &from, is_v1(&from) ? V1_HDR : V2_REPLY_HDR, false, CAP, &back);
		if (back.form == PLAN_REFUSED ||
		    len > (hdr.prog == 100003 && (hdr.vers == 4 || !max) ? UNASKED : UNKNOWN))
			continue;
		/* A requester that counted the longest reply is believed. */
		if (m.has_reply && m.reply.length + REPLY_UNSURE >= max && len > m.reply.length)
			continue;
		assert_true(len <= out.reply_bytes || (!out.reply_bytes && len <= responder));
	}
}

static void test_segment_properties(void **state)
{
	struct rng r = rng_seeded("segments", 3);

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		struct segment region = {9, rng_below(&r, 1 << 20), rng_next(&r) >> 1}, cut[64],
			       spread[64];
		uint32_t max = 1 + rng_below(&r, 1 << 18), length;
		int n = plan_split(&region, max, cut, 64);
		uint64_t sum = 0, at = region.offset;

		if (n < 0) {
			assert_true(region.length / max >= 64 ||
				    (region.length / max == 63 && region.length % max));
			continue;
		}
		for (int k = 0; k < n; k++) {
			assert_true(cut[k].length <= max);
			assert_int_equal(cut[k].offset, at);
			at += cut[k].length;
			sum += cut[k].length;
		}
		assert_int_equal(sum, region.length);
		length = rng_below(&r, region.length + 2);
		if (length > region.length) {
			assert_int_equal(plan_spread(cut, (unsigned)n, length, spread), ERR_TOOBIG);
			continue;
		}
		assert_int_equal(plan_spread(cut, (unsigned)n, length, spread), 0);
		sum = 0;
		for (int k = 0; k < n; k++) {
			assert_true(spread[k].length == cut[k].length ||
				    sum + spread[k].length == length);
			sum += spread[k].length;
		}
		assert_int_equal(sum, length);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_call_form),
		cmocka_unit_test(test_call_threshold),
		cmocka_unit_test(test_call_reverse_refusals),
		cmocka_unit_test(test_call_segments),
		cmocka_unit_test(test_reply_chunk_passed_on),
		cmocka_unit_test(test_reply_chunk_none_offered),
		cmocka_unit_test(test_reply_chunk_takes_room),
		cmocka_unit_test(test_reply_chunk_left_out),
		cmocka_unit_test(test_reply_chunk_shortened),
		cmocka_unit_test(test_reply_form),
		cmocka_unit_test(test_reply_header_room),
		cmocka_unit_test(test_spread),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_strip_pad),
		cmocka_unit_test(test_call_properties),
		cmocka_unit_test(test_no_reply_is_lost),
		cmocka_unit_test(test_segment_properties),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
