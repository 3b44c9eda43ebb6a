/* SPDX-License-Identifier: BSD-2-Clause */
/* Headers with false counts, headers that end early, and headers without meaning: each has its
 * error code, and none is read beyond its end. */
#include "tests/cmocka_all.h"

#include <string.h>

#include "tests/v1/gen.h"
#include "v1/header.h"

enum { XID = 0x1234 };

static struct rpc_msg m;
static struct v1_header h;
static bool dir_known;
static uint8_t wire[GEN_BUF_BYTES];
static struct xdr_out x;

static void begin(uint32_t proc)
{
	xdr_out_init(&x, wire, sizeof(wire));
	gen_header(&x, XID, 1, 8, proc);
}

static void put_rpc(uint32_t xid, enum rpc_dir dir)
{
	uint8_t body[40];
	size_t len = gen_rpc(body, xid, dir);

	for (size_t i = 0; i < len; i += 4)
		xdr_put_u32(&x, xdr_peek_u32(body + i));
}

static int decode_octets(size_t len)
{
	uint8_t *exact = gen_exact(wire, len);
	int rc = v1_header_decode(&h, &m, &dir_known, view_of(exact, len));

	free(exact);
	return rc;
}

static int decode(void)
{
	return decode_octets(xdr_out_len(&x));
}

static void put_read(uint32_t position, uint32_t length)
{
	GEN_WORDS(&x, 1, position, 0xbeef, length, 0, 0x1000);
}

static void shorter_than_a_header(void **state)
{
	(void)state;
	begin(V1_MSG);
	GEN_WORDS(&x, 0, 0, 0);
	for (size_t len = 0; len < 16; len++)
		assert_int_equal(decode_octets(len), ERR_SHORT);
	for (size_t len = 16; len < 28; len++)
		assert_int_equal(decode_octets(len), ERR_XDR);
	assert_int_equal(decode_octets(28), ERR_SHORT); /* no RPC header behind it */
}

/* rfc5666bis-01 section 8.3.3: too small for an RPC header, so nothing in it counts. */
static void shorter_than_an_rpc_header(void **state)
{
	(void)state;
	begin(V1_MSG);
	GEN_WORDS(&x, 0, 0, 0);
	put_rpc(XID, RPC_CALL);
	for (size_t len = 28; len < 28 + 24; len++)
		assert_int_equal(decode_octets(len), ERR_SHORT);
	assert_int_equal(decode_octets(28 + 24), 0);
	begin(V1_MSG);
	GEN_WORDS(&x, 0, 0, 0);
	put_rpc(XID, RPC_REPLY);
	for (size_t len = 28; len < 28 + 8; len++)
		assert_int_equal(decode_octets(len), ERR_SHORT);
	assert_int_equal(decode_octets(28 + 8), 0);
}

static void other_versions_and_types(void **state)
{
	(void)state;
	for (uint32_t proc = 5; proc < 9; proc++) {
		begin(proc);
		GEN_WORDS(&x, 0, 0, 0);
		assert_int_equal(decode(), ERR_TYPE);
	}
	xdr_out_init(&x, wire, sizeof(wire));
	gen_header(&x, XID, 2, 8, 5);
	assert_int_equal(decode(), ERR_VERS);
	assert_int_equal(h.vers, 2);
	assert_int_equal(h.xid, XID);
	xdr_out_init(&x, wire, sizeof(wire));
	gen_header(&x, XID, 0, 8, 0);
	assert_int_equal(decode(), ERR_VERS);
}

static void discriminators_are_0_or_1(void **state)
{
	static const uint32_t bad[][3] = {{2, 0, 0}, {0, 2, 0}, {0, 0, 2}, {UINT32_MAX, 0, 0}};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		begin(V1_MSG);
		gen_words(&x, 3, bad[i]);
		put_rpc(XID, RPC_CALL);
		assert_int_equal(decode(), ERR_XDR);
	}
}

static void xid_must_be_the_rpc_messages(void **state)
{
	(void)state;
	begin(V1_MSG);
	GEN_WORDS(&x, 0, 0, 0);
	put_rpc(XID + 1, RPC_CALL);
	assert_int_equal(decode(), ERR_XDR);
	assert_true(dir_known);
	assert_int_equal(m.dir, RPC_CALL);
}

static void neither_call_nor_reply(void **state)
{
	(void)state;
	begin(V1_MSG);
	GEN_WORDS(&x, 0, 0, 0, XID, 2, 0, 0, 0, 0, 0);
	assert_int_equal(decode(), ERR_XDR);
	assert_false(dir_known);
}

/* The RPC server answers RPC_MISMATCH; that is not this layer's business. */
static void rpc_version_is_not_looked_at(void **state)
{
	(void)state;
	begin(V1_MSG);
	GEN_WORDS(&x, 0, 0, 0, XID, 0, 3, 0, 0, 0, 0);
	assert_int_equal(decode(), 0);
	assert_int_equal(m.dir, RPC_CALL);
}

/* 4096 octets of read list: more segments than the table would hold are never stored. */
static void endless_read_list(void **state)
{
	(void)state;
	begin(V1_MSG);
	while (xdr_out_len(&x) + 24 <= 4096)
		put_read(40, 4);
	assert_int_equal(decode(), ERR_XDR); /* 170 fit, then it ends in the middle */
	while (xdr_out_len(&x) + 24 <= sizeof(wire))
		put_read(40, UINT32_MAX);
	assert_int_equal(decode(), ERR_TOOBIG);
	assert_true(m.nsegs <= RPC_MAX_SEGMENTS);
	begin(V1_MSG);
	for (uint32_t i = 0; i < 40; i++)
		put_read(40 + 4 * i, 4);
	assert_int_equal(decode(), ERR_TOOBIG); /* more chunks than the table has */
}

static void endless_write_list(void **state)
{
	(void)state;
	begin(V1_MSG);
	GEN_WORDS(&x, 0);
	for (int i = 0; i < 40; i++)
		GEN_WORDS(&x, 1, 0);
	assert_int_equal(decode(), ERR_TOOBIG);
}

static void counts_that_lie(void **state)
{
	static const uint32_t counts[] = {2, 1000, 0x0fffffff, 0x10000000, 0x10000001, UINT32_MAX};

	(void)state;
	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		begin(V1_MSG); /* one segment, claimed to be more; no body that could be mistaken */
		GEN_WORDS(&x, 0, 1, counts[i], 1, 2, 3, 4);
		assert_int_equal(decode(), ERR_XDR);
		begin(V1_NOMSG);
		GEN_WORDS(&x, 0, 0, 1, counts[i], 1, 2, 3, 4);
		assert_int_equal(decode(), ERR_XDR);
	}
	begin(V1_NOMSG);
	GEN_WORDS(&x, 0, 0, 1, 300);
	for (int i = 0; i < 300; i++)
		GEN_WORDS(&x, 1, UINT32_MAX, 3, 4);
	assert_int_equal(decode(), ERR_TOOBIG);
}

static void lengths_add_up_in_64_bits(void **state)
{
	(void)state;
	begin(V1_NOMSG);
	GEN_WORDS(&x, 0, 0, 1, 200);
	for (int i = 0; i < 200; i++)
		GEN_WORDS(&x, 1, UINT32_MAX, 3, 4);
	assert_int_equal(decode(), 0);
	assert_true(m.body_chunk.length == 200 * (uint64_t)UINT32_MAX);
}

static void body_chunks_too_small_for_rpc(void **state)
{
	(void)state;
	begin(V1_NOMSG);
	put_read(0, 23);
	GEN_WORDS(&x, 0, 0, 0);
	assert_int_equal(decode(), ERR_XDR);
	assert_true(dir_known);
	assert_int_equal(m.dir, RPC_CALL);
	begin(V1_NOMSG);
	GEN_WORDS(&x, 0, 0, 1, 1, 1, 7, 3, 4);
	assert_int_equal(decode(), ERR_XDR);
	assert_true(dir_known);
	assert_int_equal(m.dir, RPC_REPLY);
	begin(V1_NOMSG);
	GEN_WORDS(&x, 0, 0, 1, 0);
	assert_int_equal(decode(), ERR_XDR);
}

static void nomsg_without_a_body(void **state)
{
	(void)state;
	begin(V1_NOMSG);
	GEN_WORDS(&x, 0, 0, 0);
	assert_int_equal(decode(), ERR_XDR);
	assert_false(dir_known);
	begin(V1_NOMSG); /* a data item but no message it belongs to */
	put_read(40, 100);
	GEN_WORDS(&x, 0, 0, 1, 1, 1, 700, 3, 4);
	assert_int_equal(decode(), ERR_XDR);
}

/* Octets behind the lists of an RDMA_NOMSG message are ignored. */
static void nomsg_with_trailing_octets(void **state)
{
	(void)state;
	begin(V1_NOMSG);
	put_read(0, 100);
	GEN_WORDS(&x, 0, 0, 0, 0xdeadbeef, 1, 2, 3);
	assert_int_equal(decode(), 0);
	assert_int_equal(m.nbody, 0);
	assert_true(m.has_body_chunk);
}

/* The whole message in a chunk, and inline as well: which one? */
static void position_zero_with_an_inline_message(void **state)
{
	(void)state;
	begin(V1_MSG);
	put_read(0, 100);
	GEN_WORDS(&x, 0, 0, 0);
	put_rpc(XID, RPC_CALL);
	assert_int_equal(decode(), ERR_XDR);
}

static void reply_with_read_chunks(void **state)
{
	(void)state;
	begin(V1_MSG);
	put_read(40, 100);
	GEN_WORDS(&x, 0, 0, 0);
	put_rpc(XID, RPC_REPLY);
	assert_int_equal(decode(), ERR_XDR);
	assert_true(dir_known);
	assert_int_equal(m.dir, RPC_REPLY);
}

/* A responder that did not need the Reply chunk may return it all the same. */
static void inline_reply_with_unused_reply_chunk(void **state)
{
	(void)state;
	begin(V1_MSG);
	GEN_WORDS(&x, 0, 0, 1, 1, 1, 0, 3, 4);
	put_rpc(XID, RPC_REPLY);
	assert_int_equal(decode(), 0);
	assert_true(m.has_reply);
	assert_false(m.has_body_chunk);
	assert_int_equal(m.reply.length, 0);

	/* With octets in it, it is the reply or a part of it: what is inline is not all. */
	begin(V1_MSG);
	GEN_WORDS(&x, 0, 0, 1, 1, 1, 16, 3, 4);
	put_rpc(XID, RPC_REPLY);
	assert_int_equal(decode(), ERR_XDR);
	assert_true(dir_known);
}

static int with_reads(unsigned n, const uint32_t (*reads)[2])
{
	begin(V1_MSG);
	for (unsigned i = 0; i < n; i++)
		put_read(reads[i][0], reads[i][1]);
	GEN_WORDS(&x, 0, 0, 0);
	put_rpc(XID, RPC_CALL); /* 40 octets */
	GEN_WORDS(&x, 1, 2);	/* and 8 of arguments */
	return decode();
}
#define WITH_READS(...)                                                                            \
	with_reads(sizeof((uint32_t[][2]){__VA_ARGS__}) / 8, (const uint32_t[][2]){__VA_ARGS__})

static void positions_are_in_the_message(void **state)
{
	(void)state;
	assert_int_equal(WITH_READS({40, 100}), 0);
	assert_int_equal(WITH_READS({48, 100}), 0); /* at the end of the stream */
	assert_int_equal(WITH_READS({52, 100}), ERR_XDR);
	assert_int_equal(WITH_READS({0xfffffffc, 100}), ERR_XDR);
	assert_int_equal(WITH_READS({36, 100}), ERR_XDR); /* in the RPC header */
	assert_int_equal(WITH_READS({4, 100}), ERR_XDR);
	assert_int_equal(WITH_READS({42, 100}), ERR_XDR); /* MUST be a multiple of four */
	assert_int_equal(WITH_READS({41, 0}), ERR_XDR);
}

static void positions_count_the_items_before(void **state)
{
	(void)state;
	assert_int_equal(WITH_READS({40, 100}, {140, 5}, {148, 4}), 0);
	assert_int_equal(WITH_READS({40, 101}, {144, 5}), 0);
	assert_int_equal(WITH_READS({40, 101}, {140, 5}), ERR_XDR); /* overlap */
	assert_int_equal(WITH_READS({40, 100}, {152, 5}), ERR_XDR); /* behind the end */
	assert_int_equal(WITH_READS({40, UINT32_MAX}, {44, 5}), ERR_XDR);
	assert_int_equal(WITH_READS({40, UINT32_MAX}, {40, UINT32_MAX}, {48, 1}), ERR_XDR);
	assert_int_equal(WITH_READS({40, UINT32_MAX}, {0xfffffffc, 5}), ERR_XDR);
}

static void positions_are_sorted_here(void **state)
{
	(void)state;
	assert_int_equal(WITH_READS({148, 4}, {40, 50}, {40, 50}, {140, 5}), 0);
	assert_int_equal(m.nreads, 3);
	assert_int_equal(m.reads[0].position, 40);
	assert_int_equal(m.reads[0].count, 2);
	assert_int_equal(m.reads[0].length, 100);
	assert_int_equal(m.reads[1].position, 140);
	assert_int_equal(m.reads[2].position, 148);
	assert_int_equal(m.segs[m.reads[2].first].length, 4);
	/* ... but one chunk is one run of the list */
	assert_int_equal(WITH_READS({40, 50}, {140, 5}, {40, 50}), ERR_XDR);
	assert_int_equal(WITH_READS({40, 0}, {44, 0}, {40, 0}), ERR_XDR);
}

static void empty_chunks_and_segments(void **state)
{
	(void)state;
	assert_int_equal(WITH_READS({40, 0}), 0);
	assert_int_equal(m.reads[0].length, 0);
	begin(V1_MSG);
	GEN_WORDS(&x, 0, 1, 0, 1, 1, 9, 0, 0, 0, 0, 1, 0);
	put_rpc(XID, RPC_CALL);
	assert_int_equal(decode(), 0);
	assert_int_equal(m.nwrites, 2);
	assert_int_equal(m.writes[0].count, 0);
	assert_int_equal(m.writes[1].count, 1);
	assert_int_equal(m.writes[1].length, 0);
	assert_true(m.has_reply);
	assert_int_equal(m.reply.count, 0);
}

static void errors_that_end_early(void **state)
{
	(void)state;
	begin(V1_ERROR);
	GEN_WORDS(&x, V1_ERR_VERS, 1, 1);
	for (size_t len = 0; len < 28; len++)
		assert_int_equal(decode_octets(len), ERR_SHORT);
	assert_int_equal(decode_octets(28), 0);
	begin(V1_ERROR);
	GEN_WORDS(&x, 77); /* no such code: still an error */
	assert_int_equal(decode(), 0);
	assert_int_equal(h.err, 77);
}

/* Any change to any octet, any cut: a verdict, no access outside, a message that can be sent on. */
static void mutations_never_harm(void **state)
{
	struct rng r = rng_seeded("v1 header mutations", 2);
	static uint8_t again[GEN_BUF_BYTES];
	uint8_t body[GEN_BODY_MAX];

	(void)state;
	for (int i = 0; i < 40000; i++) {
		size_t len, n;
		unsigned hits = 1 + rng_below(&r, 4);
		uint8_t *exact;

		gen_msg(&r, &m, body);
		len = gen_wire(&m, 1, wire, sizeof(wire));
		while (hits--) {
			size_t at = rng_below(&r, (uint32_t)len);

			if (rng_below(&r, 2))
				wire[at & ~(size_t)3] = (uint8_t)rng_next(&r);
			wire[at] = (uint8_t)(rng_below(&r, 2) ? rng_next(&r) : rng_below(&r, 3));
		}
		if (rng_below(&r, 2))
			len = rng_below(&r, (uint32_t)len + 1);
		exact = gen_exact(wire, len);
		if (v1_header_decode(&h, &m, &dir_known, view_of(exact, len)) == 0 &&
		    h.proc <= V1_MSGP) {
			assert_true(dir_known);
			assert_int_equal(v1_header_encode(&m, 1, again, sizeof(again), &n), 0);
			assert_int_equal(n, v1_header_len(&m));
		}
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shorter_than_a_header),
		cmocka_unit_test(shorter_than_an_rpc_header),
		cmocka_unit_test(other_versions_and_types),
		cmocka_unit_test(discriminators_are_0_or_1),
		cmocka_unit_test(xid_must_be_the_rpc_messages),
		cmocka_unit_test(neither_call_nor_reply),
		cmocka_unit_test(rpc_version_is_not_looked_at),
		cmocka_unit_test(endless_read_list),
		cmocka_unit_test(endless_write_list),
		cmocka_unit_test(counts_that_lie),
		cmocka_unit_test(lengths_add_up_in_64_bits),
		cmocka_unit_test(body_chunks_too_small_for_rpc),
		cmocka_unit_test(nomsg_without_a_body),
		cmocka_unit_test(nomsg_with_trailing_octets),
		cmocka_unit_test(position_zero_with_an_inline_message),
		cmocka_unit_test(reply_with_read_chunks),
		cmocka_unit_test(inline_reply_with_unused_reply_chunk),
		cmocka_unit_test(positions_are_in_the_message),
		cmocka_unit_test(positions_count_the_items_before),
		cmocka_unit_test(positions_are_sorted_here),
		cmocka_unit_test(empty_chunks_and_segments),
		cmocka_unit_test(errors_that_end_early),
		cmocka_unit_test(mutations_never_harm),
	};
	return cmocka_run_group_tests_name("v1 hostile", tests, NULL, NULL);
}
