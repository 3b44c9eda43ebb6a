/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "tests/rng.h"
#include "v1/pdata.h"

static struct v1_pdata parse(const void *octets, size_t len)
{
	uint8_t *exact = malloc(len ? len : 1);
	struct v1_pdata p;

	assert_non_null(exact);
	memcpy(exact, octets, len);
	v1_pdata_parse(&p, view_of(exact, len));
	free(exact);
	return p;
}

static void assert_defaults(struct v1_pdata p)
{
	assert_false(p.present);
	assert_false(p.remote_inv);
	assert_int_equal(p.send_bytes, 1024);
	assert_int_equal(p.recv_bytes, 1024);
}

/* As a Linux 6.1 client and filer send it: RFC 6581 IRD and ORD first. */
static void linux_peers(void **state)
{
	static const uint8_t client[] = {0, 0x80, 0x80, 0, 0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3};
	static const uint8_t filer[] = {0, 0, 0, 0x80, 0xf6, 0xab, 0x0e, 0x18, 1, 0, 3, 3};
	struct v1_pdata p = parse(client, sizeof(client));

	(void)state;
	assert_true(p.present);
	assert_true(p.remote_inv);
	assert_int_equal(p.send_bytes, 4096);
	assert_int_equal(p.recv_bytes, 4096);
	p = parse(filer, sizeof(filer));
	assert_true(p.present);
	assert_false(p.remote_inv);
}

/* RFC 8797 section 5.1: as if R were clear and both sizes 0. */
static void absent_or_wrong_means_defaults(void **state)
{
	static const uint8_t wrong_version[] = {0xf6, 0xab, 0x0e, 0x18, 2, 1, 3, 3};
	static const uint8_t wrong_magic[] = {0xf6, 0xab, 0x0e, 0x19, 1, 1, 3, 3};
	static const uint8_t good[] = {0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3};
	struct v1_pdata p;

	(void)state;
	assert_defaults(parse("", 0));
	v1_pdata_parse(&p, view_of(NULL, 0));
	assert_defaults(p);
	assert_defaults(parse(wrong_version, sizeof(wrong_version)));
	assert_defaults(parse(wrong_magic, sizeof(wrong_magic)));
	for (size_t len = 0; len < sizeof(good); len++)
		assert_defaults(parse(good, len));
	assert_true(parse(good, sizeof(good)).present);
}

/* Section 5.2: not restricted to any alignment. */
static void found_at_any_offset(void **state)
{
	uint8_t buf[64];

	(void)state;
	for (size_t at = 0; at + 8 <= sizeof(buf); at++) {
		struct v1_pdata p;

		memset(buf, 0xf6, sizeof(buf));
		memcpy(buf + at, "\xf6\xab\x0e\x18\x01\xff\x00\xff", 8);
		p = parse(buf, sizeof(buf));
		assert_true(p.present);
		assert_true(p.remote_inv); /* reserved bits ignored */
		assert_int_equal(p.send_bytes, 1024);
		assert_int_equal(p.recv_bytes, 262144);
	}
}

static void search_goes_on_behind_a_bad_one(void **state)
{
	static const uint8_t two[] = {0xf6, 0xab, 0x0e, 0x18, 9, 1, 0xf6,
				      0xab, 0x0e, 0x18, 1,    0, 7, 15};
	struct v1_pdata p = parse(two, sizeof(two));

	(void)state;
	assert_true(p.present);
	assert_int_equal(p.send_bytes, 8192);
	assert_int_equal(p.recv_bytes, 16384);
}

static void encodes_what_can_be_said(void **state)
{
	static const struct {
		uint32_t bytes;
		uint8_t code;
	} sizes[] = {{0, 0},	{1024, 0},     {2047, 0},     {2048, 1},     {4096, 3},
		     {5000, 3}, {262143, 254}, {262144, 255}, {262145, 255}, {UINT32_MAX, 255}};
	struct rpc_params own = {.remote_inv = true};
	uint8_t out[V1_PDATA_BYTES];

	(void)state;
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		own.send_bytes = sizes[i].bytes;
		own.recv_bytes = 4096;
		v1_pdata_encode(out, &own);
		assert_memory_equal(out, "\xf6\xab\x0e\x18\x01\x01", 6);
		assert_int_equal(out[6], sizes[i].code);
		assert_int_equal(out[7], 3);
	}
	own.remote_inv = false;
	v1_pdata_encode(out, &own);
	assert_int_equal(out[5], 0); /* reserved bits MUST be zero */
}

/* The advertised size is never more than the real one, and less by at most 1023 octets. */
static void round_trip(void **state)
{
	struct rng r = rng_seeded("v1 private data", 3);

	(void)state;
	for (int i = 0; i < 2000; i++) {
		struct rpc_params own = {
			.send_bytes = 1024 + rng_below(&r, 262144 - 1023),
			.recv_bytes = 1024 + rng_below(&r, 262144 - 1023),
			.remote_inv = rng_below(&r, 2),
		};
		uint8_t out[V1_PDATA_BYTES];
		struct v1_pdata p;

		v1_pdata_encode(out, &own);
		p = parse(out, sizeof(out));
		assert_true(p.present);
		assert_int_equal(p.remote_inv, own.remote_inv);
		assert_in_range(own.send_bytes - p.send_bytes, 0, 1023);
		assert_in_range(own.recv_bytes - p.recv_bytes, 0, 1023);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(linux_peers),
		cmocka_unit_test(absent_or_wrong_means_defaults),
		cmocka_unit_test(found_at_any_offset),
		cmocka_unit_test(search_goes_on_behind_a_bad_one),
		cmocka_unit_test(encodes_what_can_be_said),
		cmocka_unit_test(round_trip),
	};
	return cmocka_run_group_tests_name("v1 pdata", tests, NULL, NULL);
}
