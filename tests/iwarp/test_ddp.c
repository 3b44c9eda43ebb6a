/* SPDX-License-Identifier: BSD-2-Clause */
/* Headers, framing and CRC. */
#include "fabric/iwarp/ddp.h"

#include <string.h>

#include "fabric/iwarp/fpdu.h"
#include "tests/cmocka_all.h"
#include "tests/rng.h"

static int decode(const uint8_t *in, struct ddp_header *h)
{
	struct ddp_term term;

	return ddp_header_decode(in, h, &term);
}

/* The vectors of RFC 3720 appendix B.4, octets in the order of the wire. */
static void test_crc_vectors(void **state)
{
	uint8_t data[48], wire[4];
	uint32_t crc;

	(void)state;
	assert_int_equal(fpdu_crc(FPDU_CRC_INIT, "123456789", 9), (uint32_t)~0xe3069283u);
	memset(data, 0, 32);
	crc = fpdu_crc(FPDU_CRC_INIT, data, 32);
	fpdu_crc_put(wire, crc);
	assert_memory_equal(wire, "\xaa\x36\x91\x8a", 4);
	assert_int_equal(fpdu_crc_get(wire), crc);
	memset(data, 0xff, 32);
	fpdu_crc_put(wire, fpdu_crc(FPDU_CRC_INIT, data, 32));
	assert_memory_equal(wire, "\x43\xab\xa8\x62", 4);
	for (int i = 0; i < 32; i++)
		data[i] = (uint8_t)i;
	fpdu_crc_put(wire, fpdu_crc(FPDU_CRC_INIT, data, 32));
	assert_memory_equal(wire, "\x4e\x79\xdd\x46", 4);
}

static void test_crc_in_pieces(void **state)
{
	struct rng r = rng_seeded("crc_in_pieces", 11);
	uint8_t data[3000];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)rng_next(&r);
	for (int round = 0; round < 200; round++) {
		uint32_t crc = FPDU_CRC_INIT, at = 0;

		while (at < sizeof(data)) {
			uint32_t n = rng_below(&r, 700);

			if (n > sizeof(data) - at)
				n = (uint32_t)sizeof(data) - at;
			crc = fpdu_crc(crc, data + at, n);
			at += n;
		}
		assert_int_equal(crc, fpdu_crc(FPDU_CRC_INIT, data, sizeof(data)));
	}
}

static void test_sizes(void **state)
{
	(void)state;
	for (uint32_t n = 14; n < 4000; n++) {
		assert_int_equal(fpdu_bytes(n) % 4, 0);
		assert_int_equal(fpdu_bytes(n), FPDU_OVERHEAD + n + fpdu_pad(n));
		assert_true(fpdu_pad(n) < 4);
	}
	assert_int_equal(fpdu_max(1448), 1448);
	assert_int_equal(fpdu_max(1451), 1448);
	assert_int_equal(fpdu_max(0), FPDU_MIN_MAX);
	assert_int_equal(fpdu_max(UINT32_MAX), FPDU_MAX);
}

/* Headers of Linux siw, from the capture. */
static void test_siw_headers(void **state)
{
	const uint8_t send[] = "\x41\x43\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0";
	const uint8_t inv[] = "\x42\x44\xd8\xd4\xb3\x01\0\0\0\0\0\0\0\2\0\0\0\0";
	const uint8_t write[] = "\xc1\x40\xd8\xd4\xb3\x01\x8f\xe1\x4e\x4a\x43\xa3\x20\0";
	const uint8_t read[] = "\x41\x41\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0\0"
			       "\xb1\xb6\x44\1\xff\x26\x99\x5c\x43\x69\x80\0\0\0\5\0"
			       "\xe4\x31\x5f\3\xa6\xe1\x4e\x4a\x44\x43\x30\0";
	struct ddp_header h;
	struct ddp_read rr;
	uint8_t out[64];

	(void)state;
	assert_int_equal(decode(send, &h), 0);
	assert_true(!h.tagged && h.last && h.opcode == RDMAP_SEND);
	assert_true(h.queue == 0 && h.msn == 1 && h.offset == 0);
	memcpy(out, inv, sizeof(inv));
	out[0] = 0x41;
	assert_int_equal(decode(out, &h), 0);
	assert_true(h.opcode == RDMAP_SEND_INV && h.stag == 0xd8d4b301 && h.msn == 2);
	assert_int_equal(decode(write, &h), 0);
	assert_true(h.tagged && h.last && h.opcode == RDMAP_WRITE && h.stag == 0xd8d4b301);
	assert_true(h.offset == 0x8fe14e4a43a32000);
	assert_int_equal(ddp_header_encode(&h, out), DDP_TAGGED_BYTES);
	assert_memory_equal(out, write, DDP_TAGGED_BYTES);
	assert_int_equal(decode(read, &h), 0);
	assert_true(h.opcode == RDMAP_READ_REQUEST && h.queue == 1);
	assert_int_equal(ddp_header_encode(&h, out), DDP_UNTAGGED_BYTES);
	assert_memory_equal(out, read, DDP_UNTAGGED_BYTES);
	ddp_read_decode(read + DDP_UNTAGGED_BYTES, &rr);
	assert_true(rr.sink_stag == 0xb1b64401 && rr.sink_offset == 0xff26995c43698000);
	assert_true(rr.length == 0x500 && rr.source_stag == 0xe4315f03);
	assert_true(rr.source_offset == 0xa6e14e4a44433000);
	ddp_read_encode(&rr, out);
	assert_memory_equal(out, read + DDP_UNTAGGED_BYTES, RDMAP_READ_BYTES);
}

static void test_bad_headers(void **state)
{
	static const struct {
		uint8_t ddp, rdmap, queue;
		int err;
		struct ddp_term term;
	} rows[] = {
		{0x42, 0x43, 0, ERR_VERS, {1, 2, 6}}, {0xc2, 0x40, 0, ERR_VERS, {1, 1, 4}},
		{0x41, 0x03, 0, ERR_VERS, {0, 2, 5}}, {0x41, 0x83, 0, ERR_VERS, {0, 2, 5}},
		{0x41, 0x48, 0, ERR_TYPE, {0, 2, 6}}, {0x41, 0x4f, 0, ERR_TYPE, {0, 2, 6}},
		{0xc1, 0x43, 0, ERR_TYPE, {0, 2, 6}}, {0x41, 0x40, 0, ERR_TYPE, {0, 2, 6}},
		{0x41, 0x43, 1, ERR_TYPE, {0, 2, 6}}, {0x41, 0x41, 0, ERR_TYPE, {0, 2, 6}},
		{0x41, 0x43, 3, ERR_TYPE, {1, 2, 1}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t in[18] = {rows[i].ddp, rows[i].rdmap, [9] = rows[i].queue};
		struct ddp_header h;
		struct ddp_term term;

		assert_int_equal(ddp_header_decode(in, &h, &term), rows[i].err);
		assert_memory_equal(&term, &rows[i].term, sizeof(term));
		assert_string_not_equal(ddp_term_words(term), "an unknown error");
	}
}

static void test_terminate(void **state)
{
	const uint8_t write[14] = {0xc1, 0x40, 1, 2, 3, 4};
	uint8_t rreq[46] = {0x41, 0x41}, out[RDMAP_TERM_MAX];
	struct ddp_term term;

	(void)state;
	assert_int_equal(ddp_term_encode(TERM_MPA_CRC, NULL, 0, 0, out), 4);
	assert_memory_equal(out, "\x20\x02\0\0", 4);
	assert_int_equal(ddp_term_encode(TERM_DDP_BOUNDS, write, 500, 14, out), 20);
	assert_memory_equal(out, "\x11\x01\xc0\0\x01\xf4\xc1\x40", 8);
	assert_int_equal(ddp_term_encode(TERM_RDMA_ACCESS, rreq, 46, 46, out), RDMAP_TERM_MAX);
	assert_memory_equal(out, "\x01\x02\xe0\0\x00\x2e", 6);
	assert_int_equal(ddp_term_decode(out, sizeof(out), &term), 0);
	assert_true(term.layer == 0 && term.etype == 1 && term.code == 2);
	assert_int_equal(ddp_term_decode(out, 3, &term), ERR_SHORT);
	assert_string_equal(ddp_term_words((struct ddp_term){9, 9, 9}), "an unknown error");
}

static void test_round_trip(void **state)
{
	struct rng r = rng_seeded("ddp_round_trip", 5);
	static const uint8_t tagged_ops[] = {RDMAP_WRITE, RDMAP_READ_RESPONSE};

	(void)state;
	for (int i = 0; i < 2000; i++) {
		struct ddp_header h = {.tagged = rng_below(&r, 2), .last = rng_below(&r, 2)}, back;
		uint8_t out[DDP_UNTAGGED_BYTES] = {0};
		uint32_t n;

		h.stag = (uint32_t)rng_next(&r);
		if (h.tagged) {
			h.opcode = tagged_ops[rng_below(&r, 2)];
			h.offset = rng_next(&r);
		} else {
			h.opcode = (uint8_t)(RDMAP_SEND + rng_below(&r, 5));
			h.queue = h.opcode == RDMAP_TERMINATE ? DDP_QUEUE_TERMINATE : 0;
			h.msn = (uint32_t)rng_next(&r);
			h.offset = (uint32_t)rng_next(&r);
		}
		n = ddp_header_encode(&h, out);
		assert_int_equal(n, ddp_header_bytes(out[0]));
		assert_int_equal(decode(out, &back), 0);
		assert_true(back.tagged == h.tagged && back.last == h.last);
		assert_true(back.opcode == h.opcode && back.stag == h.stag);
		assert_true(back.offset == h.offset && back.queue == h.queue && back.msn == h.msn);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crc_vectors), cmocka_unit_test(test_crc_in_pieces),
		cmocka_unit_test(test_sizes),	    cmocka_unit_test(test_siw_headers),
		cmocka_unit_test(test_bad_headers), cmocka_unit_test(test_terminate),
		cmocka_unit_test(test_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
