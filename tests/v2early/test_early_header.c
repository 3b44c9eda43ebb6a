/* SPDX-License-Identifier: BSD-2-Clause */
/* The header of draft-cel-nfsv4-rpcrdma-version-two-01, section 4.2: layout, and invalid
 * headers. */
#include "tests/cmocka_all.h"

#include <string.h>

#include "tests/v1/gen.h"
#include "v2early/header.h"

enum { XID = 0x1234, CALL = 0, REPLY = 1 };

static struct rpc_msg m;
static struct early_header h;
static enum rpc_dir dir;
static uint8_t wire[GEN_BUF_BYTES];
static struct xdr_out x;

static int decode_octets(size_t len)
{
	uint8_t *exact = gen_exact(wire, len);
	int rc = early_header_decode(&h, &m, &dir, view_of(exact, len));

	free(exact);
	return rc;
}

static int decode(void)
{
	return decode_octets(xdr_out_len(&x));
}

static void begin(uint32_t proc)
{
	xdr_out_init(&x, wire, sizeof(wire));
	gen_header(&x, XID, 2, 8, proc);
	dir = RPC_CALL;
}

static void put_rpc(uint32_t xid, enum rpc_dir of)
{
	uint8_t body[40];
	size_t len = gen_rpc(body, xid, of);

	for (size_t i = 0; i < len; i += 4)
		xdr_put_u32(&x, xdr_peek_u32(body + i));
}

/* One word of direction, then the lists of version 1: 1 PHLOO 0, 1 n HLOO 0, 1 n HLOO. */
static void a_call_with_each_kind_of_chunk(void **state)
{
	static const uint32_t golden[] = {
		7, 2,  9,	   EARLY_MSG, CALL,			     /* fixed, direction */
		1, 48, 0xaa000001, 60,	      2,    3, 0,		     /* reads */
		1, 1,  0xaa000002, 100,	      0,    4, 0,		     /* writes */
		1, 2,  0xaa000003, 10,	      0,    5, 0xaa000004, 20, 0, 6, /* Reply chunk */
		7, 0,  2,	   100003,    3,    0, 0,	   0,  0, 0, 60, 0x11111111,
	};
	size_t len, header = sizeof(golden) - 12 * sizeof(uint32_t);
	uint8_t copy[sizeof(golden)];

	(void)state;
	begin(EARLY_MSG);
	xdr_out_init(&x, wire, sizeof(wire));
	gen_words(&x, sizeof(golden) / 4, golden);
	memcpy(copy, wire, sizeof(copy));
	assert_int_equal(early_header_decode(&h, &m, &dir, view_of(copy, sizeof(copy))), 0);
	assert_int_equal(h.xid, 7);
	assert_int_equal(h.vers, 2);
	assert_int_equal(h.credit, 9);
	assert_int_equal(dir, RPC_CALL);
	assert_int_equal(m.dir, RPC_CALL);
	assert_int_equal(m.nreads, 1);
	assert_int_equal(m.reads[0].position, 48);
	assert_int_equal(m.reads[0].length, 60);
	assert_int_equal(m.segs[0].offset, 0x200000003);
	assert_int_equal(m.nwrites, 1);
	assert_int_equal(m.writes[0].length, 100);
	assert_true(m.has_reply);
	assert_int_equal(m.reply.count, 2);
	assert_int_equal(m.reply.length, 30);
	assert_int_equal(m.body[0].len, 48);
	assert_int_equal(early_header_len(&m), header);
	memset(wire, 0xff, sizeof(wire));
	assert_int_equal(early_header_encode(&m, 9, wire, sizeof(wire), &len), 0);
	assert_int_equal(len, header);
	assert_memory_equal(wire, copy, header);
}

static void long_messages_are_nomsg(void **state)
{
	static const uint32_t call[] = {7, 2, 9, EARLY_NOMSG, CALL, 1, 0, 0xaa, 64, 0, 1, 0, 0, 0};
	static const uint32_t reply[] = {7, 2, 9, EARLY_NOMSG, REPLY, 0, 0, 1, 1, 0xbb, 80, 0, 1};
	size_t len;

	(void)state;
	xdr_out_init(&x, wire, sizeof(wire));
	gen_words(&x, sizeof(call) / 4, call);
	assert_int_equal(decode(), 0);
	assert_int_equal(dir, RPC_CALL);
	assert_true(m.has_body_chunk);
	assert_int_equal(m.body_chunk.length, 64);
	assert_int_equal(early_header_encode(&m, 9, wire, sizeof(wire), &len), 0);
	assert_int_equal(len, sizeof(call));
	xdr_out_init(&x, wire, sizeof(wire));
	gen_words(&x, sizeof(reply) / 4, reply);
	assert_int_equal(decode(), 0);
	assert_int_equal(dir, RPC_REPLY);
	assert_true(m.has_body_chunk);
	assert_false(m.has_reply);
	assert_int_equal(m.body_chunk.length, 80);
	assert_int_equal(early_header_encode(&m, 9, wire, sizeof(wire), &len), 0);
	assert_int_equal(len, sizeof(reply));
	for (size_t i = 0; i < len; i += 4)
		assert_int_equal(xdr_peek_u32(wire + i), reply[i / 4]);
}

/* Section 4.2.2: MUST be the same as that of the RPC message. */
static void the_direction_is_that_of_the_message(void **state)
{
	(void)state;
	for (uint32_t said = 0; said < 4; said++)
		for (uint32_t is = 0; is < 2; is++) {
			begin(EARLY_MSG);
			GEN_WORDS(&x, said, 0, 0, 0);
			put_rpc(XID, is ? RPC_REPLY : RPC_CALL);
			assert_int_equal(decode(), said == is ? 0 : ERR_XDR);
			/* The message has the direction it says; if that is invalid, the expected
			 * one. */
			assert_int_equal(dir, said == 1 ? RPC_REPLY : RPC_CALL);
		}
	begin(EARLY_NOMSG); /* no body for a call ... */
	GEN_WORDS(&x, CALL, 0, 0, 1, 1, 1, 1000, 3, 4);
	assert_int_equal(decode(), ERR_XDR);
	assert_int_equal(dir, RPC_CALL);
	begin(EARLY_NOMSG); /* ... and none for a reply */
	GEN_WORDS(&x, REPLY, 1, 0, 1, 200, 3, 4, 0, 0, 0);
	assert_int_equal(decode(), ERR_XDR);
	assert_int_equal(dir, RPC_REPLY);
}

/* Section 4.2.1: a payload stream MUST follow RDMA2_MSG. */
static void a_payload_stream_follows(void **state)
{
	(void)state;
	begin(EARLY_MSG);
	GEN_WORDS(&x, CALL, 0, 0, 0);
	put_rpc(XID, RPC_CALL);
	for (size_t len = 0; len < 16; len++)
		assert_int_equal(decode_octets(len), ERR_SHORT);
	for (size_t len = 16; len < 32; len++)
		assert_int_equal(decode_octets(len), ERR_XDR);
	for (size_t len = 32; len < 32 + 24; len++)
		assert_int_equal(decode_octets(len), ERR_SHORT);
	assert_int_equal(decode_octets(32 + 24), 0);
	begin(EARLY_MSG);
	GEN_WORDS(&x, CALL, 0, 0, 0);
	put_rpc(XID + 1, RPC_CALL);
	assert_int_equal(decode(), ERR_XDR);
}

static void other_versions_and_types(void **state)
{
	static const uint32_t types[] = {2, 3, 6, 7, 8, 10, 13, UINT32_MAX};

	(void)state;
	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		begin(types[i]);
		GEN_WORDS(&x, CALL, 0, 0, 0);
		put_rpc(XID, RPC_CALL);
		assert_int_equal(decode(), ERR_TYPE);
	}
	for (uint32_t vers = 0; vers < 4; vers++) {
		xdr_out_init(&x, wire, sizeof(wire));
		gen_header(&x, XID, vers, 8, EARLY_MSG);
		GEN_WORDS(&x, CALL, 0, 0, 0);
		put_rpc(XID, RPC_CALL);
		assert_int_equal(decode(), vers == 2 ? 0 : ERR_VERS);
		assert_int_equal(h.vers, vers);
	}
}

static void lists_that_lie(void **state)
{
	static const uint32_t bad[][8] = {
		{CALL, 2, 0, 0},
		{CALL, 0, 2, 0},
		{CALL, 0, 0, 2},
		{CALL, 0, 1, UINT32_MAX, 0, 0},
		{CALL, 0, 0, 1, 0x10000000},
		{CALL, 1, 41, 1, 8, 0, 0, 0},  /* no multiple of four */
		{CALL, 1, 36, 1, 8, 0, 0, 0},  /* in the RPC header */
		{CALL, 1, 0, 1, 100, 0, 0, 0}, /* a body, beside an inline one */
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		begin(EARLY_MSG);
		gen_words(&x, 8, bad[i]);
		GEN_WORDS(&x, 0, 0);
		put_rpc(XID, RPC_CALL);
		assert_int_equal(decode(), ERR_XDR);
	}
	begin(EARLY_MSG);
	GEN_WORDS(&x, CALL, 0);
	for (unsigned i = 0; i <= RPC_MAX_CHUNKS; i++)
		GEN_WORDS(&x, 1, 0);
	assert_int_equal(decode(), ERR_TOOBIG);
}

/* The codes' numbers and arms of section 4.2; a reply in any case (section 4.2.2). */
static void every_error_and_back(void **state)
{
	static const uint32_t words[][7] = {
		{6, 2, 32, EARLY_ERROR, EARLY_ERR_VERS, 1, 3},
		{6, 2, 32, EARLY_ERROR, EARLY_ERR_BAD_HEADER},
		{6, 2, 32, EARLY_ERROR, EARLY_ERR_INVAL_OPTION},
		{6, 1, 32, EARLY_ERROR, EARLY_ERR_VERS, 1, 1}, /* from one that has 1 alone */
	};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		unsigned n = words[i][4] == EARLY_ERR_VERS ? 7 : 5;
		uint8_t copy[28];

		xdr_out_init(&x, wire, sizeof(wire));
		gen_words(&x, n, words[i]);
		memcpy(copy, wire, sizeof(copy));
		dir = RPC_CALL;
		for (size_t len = 16; len < 4 * n; len++)
			assert_int_equal(decode_octets(len), ERR_SHORT);
		assert_int_equal(decode(), 0);
		assert_int_equal(dir, RPC_REPLY);
		assert_int_equal(h.err, words[i][4]);
		assert_int_equal(h.high, words[i][6]);
		assert_int_equal(early_error_encode(&h, wire, 4 * n - 1), ERR_NOSPACE);
		assert_int_equal(early_error_encode(&h, wire, sizeof(wire)), 4 * n);
		assert_memory_equal(wire, copy, 4 * n);
	}
}

static void optional_and_back(void **state)
{
	static const uint8_t info[5] = {1, 2, 3, 4, 5};
	const struct early_header out = {.xid = 9,
					 .credit = 3,
					 .opttype = 77,
					 .optdir = RPC_REPLY,
					 .optinfo = {info, sizeof(info)}};
	uint8_t copy[64];
	int len = early_optional_encode(&out, wire, sizeof(wire));

	(void)state;
	assert_int_equal(len, EARLY_OPTIONAL_BYTES + 8);
	assert_int_equal(early_optional_encode(&out, wire, (size_t)len - 1), ERR_NOSPACE);
	assert_int_equal(early_optional_encode(&out, wire, sizeof(wire)), len);
	memset(wire + len, 0x5a, 4); /* a payload, or the beginning of one */
	memcpy(copy, wire, sizeof(copy));
	dir = RPC_CALL;
	assert_int_equal(early_header_decode(&h, &m, &dir, view_of(copy, (size_t)len + 4)), 0);
	assert_int_equal(dir, RPC_REPLY);
	assert_int_equal(h.proc, EARLY_OPTIONAL);
	assert_int_equal(h.optdir, RPC_REPLY);
	assert_int_equal(h.opttype, 77);
	assert_int_equal(h.optinfo.len, 5);
	assert_memory_equal(h.optinfo.data, info, 5);
	assert_int_equal(h.payload.len, 4);
	for (size_t n = 16; n < (size_t)len; n++)
		assert_int_equal(decode_octets(n), ERR_XDR);
	begin(EARLY_OPTIONAL);
	GEN_WORDS(&x, 2, 77, 0); /* no such direction */
	assert_int_equal(decode(), ERR_XDR);
	begin(EARLY_OPTIONAL);
	GEN_WORDS(&x, CALL, 77, UINT32_MAX, 0);
	assert_int_equal(decode(), ERR_XDR);
}

/* Protocol decision 12. */
static void the_first_message_tells_the_dialects_apart(void **state)
{
	static const struct {
		uint32_t vers, type, more;
		bool is_early;
	} first[] = {
		{2, 0, 20, true},  /* RDMA2_MSG */
		{2, 1, 20, true},  /* RDMA2_NOMSG */
		{2, 4, 4, false},  /* an error, in both */
		{2, 5, 12, true},  /* RDMA2_OPTIONAL */
		{2, 5, 0, false},  /* RDMA2_GRANT */
		{2, 6, 20, false}, /* CONNPROP and what else -07 has */
		{2, 7, 20, false}, {2, 10, 20, false}, {1, 0, 20, false}, /* RDMA_MSG */
		{3, 0, 20, false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
		xdr_out_init(&x, wire, sizeof(wire));
		gen_header(&x, XID, first[i].vers, 8, first[i].type);
		assert_int_equal(early_is_first(view_of(wire, 16 + first[i].more)),
				 first[i].is_early);
		for (size_t len = 0; len < 16; len++) {
			uint8_t *exact = gen_exact(wire, len);

			assert_false(early_is_first(view_of(exact, len)));
			free(exact);
		}
	}
}

/* decode(encode(m)) == m; the length is foretold; no shorter buffer will do. */
static void random_messages_come_back(void **state)
{
	struct rng r = rng_seeded("early header round trip", 1);
	static struct rpc_msg sent;
	uint8_t body[GEN_BODY_MAX];

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint32_t credit = (uint32_t)rng_next(&r);
		size_t header, n;
		uint8_t *exact;

		gen_msg(&r, &sent, body);
		header = early_header_len(&sent);
		assert_int_equal(early_header_encode(&sent, credit, wire, sizeof(wire), &n), 0);
		assert_int_equal(n, header);
		if (sent.nbody)
			memcpy(wire + n, body, sent.body[0].len);
		n += rpc_msg_body_len(&sent);
		exact = gen_exact(wire, n);
		dir = sent.dir == RPC_CALL ? RPC_REPLY : RPC_CALL;
		assert_int_equal(early_header_decode(&h, &m, &dir, view_of(exact, n)), 0);
		assert_int_equal(dir, sent.dir);
		assert_int_equal(h.credit, credit);
		assert_true(gen_same(&sent, &m));
		free(exact);
		exact = gen_exact(wire, header - 1);
		assert_int_equal(early_header_encode(&sent, credit, exact, header - 1, &n),
				 ERR_NOSPACE);
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_with_each_kind_of_chunk),
		cmocka_unit_test(long_messages_are_nomsg),
		cmocka_unit_test(the_direction_is_that_of_the_message),
		cmocka_unit_test(a_payload_stream_follows),
		cmocka_unit_test(other_versions_and_types),
		cmocka_unit_test(lists_that_lie),
		cmocka_unit_test(every_error_and_back),
		cmocka_unit_test(optional_and_back),
		cmocka_unit_test(the_first_message_tells_the_dialects_apart),
		cmocka_unit_test(random_messages_come_back),
	};
	return cmocka_run_group_tests_name("early header", tests, NULL, NULL);
}
