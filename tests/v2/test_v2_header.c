/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include "tests/v2/golden.h"
#include "tests/v2/random_msg.h"
#include "v2/header.h"
#include "v2/message.h"

/* One decode under test. */
struct decoded {
	uint8_t octets[GOLDEN_MAX];
	size_t len;
	struct v2_hdr h;
	struct rpc_msg m;
	struct rpc_error fault;
};

static int decode(struct decoded *d)
{
	return v2_decode(&d->h, &d->m, view_of(d->octets, d->len), RPC_MAX_SEGMENTS, &d->fault);
}

static int decode_hex(struct decoded *d, const char *hex)
{
	d->len = unhex(hex, d->octets);
	return decode(d);
}

static void decode_golden(struct decoded *d, const char *name)
{
	d->len = golden_get(name, d->octets);
	assert_int_not_equal(d->len, 0);
	assert_int_equal(decode(d), 0);
}

/* Decode, encode: the same octets. The seeds of the fuzzer are the same, too. */
static void goldens_round_trip(void **state)
{
	struct decoded d = {0};
	uint8_t out[GOLDEN_MAX], seed[GOLDEN_MAX];
	char path[256];
	FILE *f;
	int n;

	(void)state;
	for (unsigned i = 0; i < GOLDENS; i++) {
		decode_golden(&d, goldens[i].name);
		n = v2_encode(&d.h, &d.m, out, sizeof(out));
		assert_true(n > 0);
		if (d.m.nbody) {
			memcpy(out + n, d.m.body[0].data, d.m.body[0].len);
			n += (int)d.m.body[0].len;
		}
		assert_int_equal(n, d.len);
		assert_memory_equal(out, d.octets, d.len);

		snprintf(path, sizeof(path), "tests/fuzz/corpus/v2_header/%s", goldens[i].name);
		f = fopen(path, "rb");
		assert_non_null(f);
		assert_int_equal(fread(seed, 1, sizeof(seed), f), d.len);
		fclose(f);
		assert_memory_equal(seed, d.octets, d.len);
	}
}

/* The decoder reports every cut message, and the encoder reports lack of room. */
static void goldens_cut_short(void **state)
{
	struct decoded d = {0};
	uint8_t out[GOLDEN_MAX];

	(void)state;
	for (unsigned i = 0; i < GOLDENS; i++) {
		size_t full = golden_get(goldens[i].name, d.octets);
		size_t body;
		int n;

		d.len = full;
		assert_int_equal(decode(&d), 0);
		body = d.m.nbody ? d.m.body[0].len : 0;
		n = v2_encode(&d.h, &d.m, out, sizeof(out));
		for (size_t room = 0; room < (size_t)n; room++)
			assert_int_equal(v2_encode(&d.h, &d.m, out, room), ERR_NOSPACE);
		/* The codec only reads the first word of a payload stream. */
		for (d.len = 0; d.len < full - body + (body ? 4 : 0); d.len++) {
			int err = decode(&d);

			assert_true(err == ERR_SHORT || err == ERR_XDR || err == ERR_PROP);
			if (d.len >= V2_PREFIX_BYTES)
				assert_true(d.fault.code == RPC_ERROR_BAD_XDR ||
					    d.fault.code == RPC_ERROR_BAD_PROPVAL);
		}
	}
}

static void errors_decode(void **state)
{
	struct decoded d = {0};

	(void)state;
	decode_golden(&d, "error_vers");
	assert_int_equal(d.h.xid, 0x11);
	assert_int_equal(d.h.credit, 8);
	assert_true(d.h.error_known);
	assert_int_equal(d.h.error.code, RPC_ERROR_VERS);
	assert_int_equal(d.h.error.a, 1);
	assert_int_equal(d.h.error.b, 2);
	decode_golden(&d, "error_write_resource");
	assert_int_equal(d.h.error.code, RPC_ERROR_WRITE_RESOURCE);
	assert_int_equal(d.h.error.a, 2);
	assert_int_equal(d.h.error.b, 0x100000);
	/* An unknown code, with octets nobody can know the meaning of. */
	assert_int_equal(decode_hex(&d, "00000011 00000002 00000008 00000004 0000000c 01020304"),
			 0);
	assert_false(d.h.error_known);
}

static void every_error_round_trips(void **state)
{
	uint8_t buf[64];

	(void)state;
	for (int code = RPC_ERROR_VERS; code <= RPC_ERROR_SYSTEM; code++) {
		struct v2_hdr h = {.xid = 5, .vers = 2, .htype = V2_ERROR}, got;
		struct rpc_error fault;
		struct rpc_msg m;
		int n;

		h.error = (struct rpc_error){(enum rpc_error_code)code, 7, 9};
		n = v2_encode(&h, NULL, buf, sizeof(buf));
		assert_true(n >= 20 && n <= 28);
		assert_int_equal(v2_decode(&got, &m, view_of(buf, (size_t)n), 16, &fault), 0);
		assert_true(got.error_known);
		/* Version 1's one code has no number here: protocol decision 11. */
		assert_int_equal(got.error.code, code == RPC_ERROR_CHUNK ? RPC_ERROR_SYSTEM : code);
		assert_int_equal(got.error.a, n >= 24 ? 7 : 0);
		assert_int_equal(got.error.b, n >= 28 ? 9 : 0);
	}
}

static void call_inline_decodes(void **state)
{
	struct decoded d = {0};

	(void)state;
	decode_golden(&d, "call_inline");
	assert_int_equal(d.m.xid, 0xdeadbef1);
	assert_int_equal(d.m.dir, RPC_CALL);
	assert_int_equal(d.m.inv_handle, 0x11111113);
	assert_int_equal(d.m.nreads, 2);
	assert_int_equal(d.m.reads[0].position, 28);
	assert_int_equal(d.m.reads[0].count, 2);
	assert_int_equal(d.m.reads[0].length, 4096);
	assert_int_equal(d.m.reads[1].position, 64);
	assert_int_equal(d.m.segs[2].offset, 0xfffffffffffff000);
	assert_int_equal(d.m.nwrites, 2);
	assert_int_equal(d.m.writes[0].count, 2);
	assert_int_equal(d.m.writes[0].length, 0x1800);
	assert_int_equal(d.m.writes[1].count, 0);
	assert_false(d.m.has_reply);
	assert_false(d.m.has_body_chunk);
	assert_int_equal(d.m.nbody, 1);
	assert_int_equal(d.m.body[0].len, 8);
	assert_int_equal(xdr_peek_u32(d.m.body[0].data), d.m.xid);
}

static void externals_decode(void **state)
{
	struct decoded d = {0};

	(void)state;
	decode_golden(&d, "call_external");
	assert_true(d.m.has_body_chunk);
	assert_int_equal(d.m.body_chunk.count, 2);
	assert_int_equal(d.m.body_chunk.length, 0x1200);
	assert_true(d.m.has_reply);
	assert_int_equal(d.m.reply.length, 0x2000);
	assert_int_equal(d.m.nbody, 0);
	decode_golden(&d, "reply_external");
	assert_int_equal(d.m.dir, RPC_REPLY);
	assert_true(d.m.has_body_chunk);
	assert_int_equal(d.m.body_chunk.length, 0x123);
	assert_int_equal(d.m.nwrites, 1);
	assert_false(d.m.has_reply);
	decode_golden(&d, "reply_middle");
	assert_int_equal(d.h.remaining, 12);
	assert_int_equal(d.m.body[0].len, 12);
}

/* Lists that must be refused, each as RDMA2_ERR_BAD_XDR. */
static void bad_lists(void **state)
{
#define CALL_INLINE "00000001 00000002 00000008 0000000a "
#define CALL_EXTERNAL "00000001 00000002 00000008 00000008 "
#define SEG "00000077 00000010 0000000000000000 "
#define BODY " 00000001 00000000"
	static const struct {
		const char *what, *hex;
	} cases[] = {
		{"Position zero in rdma_reads",
		 CALL_INLINE "00000000 00000001 00000000" SEG "00000000 00000000 00000000" BODY},
		{"Position not a multiple of four",
		 CALL_INLINE "00000000 00000001 0000001e" SEG "00000000 00000000 00000000" BODY},
		{"Positions fall",
		 CALL_INLINE "00000000 00000001 00000020" SEG "00000001 0000001c" SEG
			     "00000000 00000000 00000000" BODY},
		{"a discriminator of two",
		 CALL_INLINE "00000000 00000002 00000020" SEG "00000000 00000000 00000000" BODY},
		{"a Write chunk that lies about its length",
		 CALL_INLINE "00000000 00000000 00000001 00000003" SEG "00000000 00000000" BODY},
		{"a Write chunk of 2^32-1 segments",
		 CALL_INLINE "00000000 00000000 00000001 ffffffff" SEG "00000000 00000000" BODY},
		{"a handle to invalidate that is not in the header",
		 CALL_INLINE "00000078 00000001 0000001c" SEG "00000000 00000000 00000000" BODY},
		{"no first word", CALL_INLINE "00000000 00000000 00000000 00000000"},
		{"an empty Call chunk",
		 CALL_EXTERNAL "00000000 00000000 00000000 00000000 00000000"},
		{"a Call chunk not at zero", CALL_EXTERNAL "00000000 00000001 00000004" SEG
							   "00000000 00000000 00000000 00000000"},
		{"octets after a Call without payload", CALL_EXTERNAL
		 "00000000 00000001 00000000" SEG "00000000 00000000 00000000 00000000" BODY},
		{"no Reply chunk", "00000001 00000002 00000008 0000000b 00000000 00000000"},
		{"two Reply chunks", "00000001 00000002 00000008 0000000b 00000000 00000001 "
				     "00000000 00000001 00000000"},
		{"octets after a GRANT", "00000000 00000002 00000008 00000005 00000000"},
		{"octets after properties",
		 "00000000 00000002 00000008 00000007 00000000 00000000"},
	};
	struct decoded d = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int err = decode_hex(&d, cases[i].hex);

		if (err != ERR_XDR && err != ERR_SHORT)
			fail_msg("%s: %d", cases[i].what, err);
		assert_int_equal(d.fault.code, RPC_ERROR_BAD_XDR);
	}
	/* The same handle in the list is fine. */
	assert_int_equal(decode_hex(&d, CALL_INLINE "00000077 00000001 0000001c" SEG
						    "00000000 00000000 00000000" BODY),
			 0);
}

static void other_types_and_versions(void **state)
{
	struct decoded d = {0};

	(void)state;
	for (uint32_t type = 0; type < 300; type++) {
		bool known = type >= 4 && type <= 13;

		assert_int_equal(v2_type_find(type) != NULL, known);
	}
	assert_int_equal(decode_hex(&d, "00000001 00000002 00000008 0000000e"), ERR_TYPE);
	assert_int_equal(d.fault.code, RPC_ERROR_INVAL_HTYPE);
	assert_int_equal(decode_hex(&d, "00000001 00000003 00000008 00000005"), ERR_VERS);
	assert_int_equal(d.fault.code, RPC_ERROR_VERS);
	d.h.htype = 99;
	assert_int_equal(v2_encode(&d.h, NULL, d.octets, sizeof(d.octets)), ERR_TYPE);
}

/* More than is taken here has codes of its own, with the most that would be. */
static void too_many(void **state)
{
	struct decoded d = {0};
	uint8_t buf[16384];
	struct v2_hdr h = {.xid = 1, .vers = 2, .htype = V2_REPLY_INLINE};
	struct rpc_msg m;
	struct xdr_out x;

	(void)state;
	d.len = golden_get("call_inline", d.octets);
	assert_int_equal(v2_decode(&d.h, &d.m, view_of(d.octets, d.len), 5, &d.fault), 0);
	assert_int_equal(v2_decode(&d.h, &d.m, view_of(d.octets, d.len), 4, &d.fault), ERR_TOOBIG);
	assert_int_equal(d.fault.code, RPC_ERROR_SEGMENTS);
	assert_int_equal(d.fault.a, 4);
	/* A Call chunk has no more right to them. */
	d.len = golden_get("call_external", d.octets);
	assert_int_equal(v2_decode(&d.h, &d.m, view_of(d.octets, d.len), 3, &d.fault), 0);
	assert_int_equal(v2_decode(&d.h, &d.m, view_of(d.octets, d.len), 1, &d.fault), ERR_TOOBIG);
	assert_int_equal(d.fault.code, RPC_ERROR_SEGMENTS);
	assert_int_equal(d.fault.a, 1);
	/* A Reply's segments are those our Call had. */
	d.len = golden_get("reply_inline", d.octets);
	assert_int_equal(v2_decode(&d.h, &d.m, view_of(d.octets, d.len), 1, &d.fault), 0);

	rpc_msg_reset(&m, 1, RPC_REPLY);
	xdr_out_init(&x, buf, sizeof(buf));
	xdr_put_u32(&x, h.xid);
	xdr_put_u32(&x, h.vers);
	xdr_put_u32(&x, 0);
	xdr_put_u32(&x, h.htype);
	for (int i = 0; i <= RPC_MAX_CHUNKS; i++) {
		xdr_put_u32(&x, 1);
		xdr_put_u32(&x, 0);
	}
	xdr_put_u32(&x, 0);
	xdr_put_u32(&x, h.xid);
	assert_int_equal(v2_decode(&d.h, &d.m, view_of(buf, xdr_out_len(&x)), 16, &d.fault),
			 ERR_TOOBIG);
	assert_int_equal(d.fault.code, RPC_ERROR_WRITE_CHUNKS);
	assert_int_equal(d.fault.a, RPC_MAX_CHUNKS);

	xdr_out_init(&x, buf, sizeof(buf));
	xdr_put_u32(&x, 1);
	xdr_put_u32(&x, 2);
	xdr_put_u32(&x, 0);
	xdr_put_u32(&x, V2_CALL_INLINE);
	xdr_put_u32(&x, 0);
	for (uint32_t i = 1; i <= RPC_MAX_CHUNKS + 1; i++) {
		struct segment s = {.handle = i, .length = 4};

		xdr_put_u32(&x, 1);
		xdr_put_u32(&x, i * 4);
		xdr_put_segment(&x, &s);
	}
	for (int i = 0; i < 4; i++)
		xdr_put_u32(&x, 0);
	assert_int_equal(v2_decode(&d.h, &d.m, view_of(buf, xdr_out_len(&x)), 256, &d.fault),
			 ERR_TOOBIG);
	assert_int_equal(d.fault.code, RPC_ERROR_READ_CHUNKS);
	assert_int_equal(d.fault.a, RPC_MAX_CHUNKS);
}

/* decode(encode(m)) == m, and the length foretold is the length. */
static void random_messages_round_trip(void **state)
{
	struct rng r = rng_seeded("v2 header", 1);
	static uint8_t buf[65536];
	static struct rpc_msg m, got;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint8_t body[64] = {0};
		size_t body_len = 4 + 4 * rng_below(&r, 15);
		struct v2_hdr h = {.xid = (uint32_t)rng_next(&r), .vers = 2}, back;
		struct rpc_error fault;
		int n;

		for (size_t k = 0; k < body_len; k++)
			body[k] = (uint8_t)rng_next(&r);
		random_msg(&r, &m, h.xid, rng_below(&r, 2) ? RPC_CALL : RPC_REPLY,
			   view_of(body, body_len), 1 + rng_below(&r, RPC_MAX_SEGMENTS));
		h.credit = (uint32_t)rng_next(&r);
		h.htype = v2_msg_htype(&m);
		n = v2_encode(&h, &m, buf, sizeof(buf));
		assert_int_equal(n, v2_msg_header_len(&m));
		if (m.nbody)
			memcpy(buf + n, body, body_len);
		assert_int_equal(v2_decode(&back, &got,
					   view_of(buf, (size_t)n + (m.nbody ? body_len : 0)),
					   RPC_MAX_SEGMENTS, &fault),
				 0);
		assert_int_equal(back.xid, h.xid);
		assert_int_equal(back.credit, h.credit);
		assert_int_equal(back.htype, h.htype);
		assert_true(same_chunks(&m, &got));
		assert_int_equal(got.nbody, m.nbody);
		if (m.nbody)
			assert_memory_equal(got.body[0].data, body, body_len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goldens_round_trip),
		cmocka_unit_test(goldens_cut_short),
		cmocka_unit_test(errors_decode),
		cmocka_unit_test(every_error_round_trips),
		cmocka_unit_test(call_inline_decodes),
		cmocka_unit_test(externals_decode),
		cmocka_unit_test(bad_lists),
		cmocka_unit_test(other_types_and_versions),
		cmocka_unit_test(too_many),
		cmocka_unit_test(random_messages_round_trip),
	};
	return cmocka_run_group_tests_name("v2 header", tests, NULL, NULL);
}
