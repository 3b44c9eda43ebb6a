/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "tests/rng.h"
#include "xdr/cursor.h"

static const uint8_t octets[] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
				 0,    0,    0,	   1,	 0,    0,    0,	   2};

static struct xdr_in in_of(const void *data, size_t len)
{
	struct xdr_in x;

	xdr_in_init(&x, view_of(data, len));
	return x;
}

static void reads_big_endian(void **state)
{
	struct xdr_in x = in_of(octets, sizeof(octets));

	(void)state;
	assert_int_equal(xdr_get_u32(&x), 0x01020304);
	assert_int_equal(xdr_in_left(&x), 12);
	x = in_of(octets, sizeof(octets));
	assert_true(xdr_get_u64(&x) == 0x0102030405060708);
	assert_true(xdr_get_bool(&x));
	assert_false(xdr_get_bool(&x)); /* 2 is no bool */
	assert_true(x.failed);
}

/* Each octet that is not zero, and each that is missing, makes three lists out of them that have to be read. */
static void empty_lists_are_all_zero(void **state)
{
	uint8_t words[XDR_EMPTY_LISTS + 4] = {0};
	struct xdr_in x = in_of(words, sizeof(words));
	struct xdr_out out;

	(void)state;
	assert_true(xdr_get_empty_lists(&x));
	assert_int_equal(xdr_in_left(&x), 4);
	assert_false(xdr_get_empty_lists(&x));
	assert_int_equal(xdr_in_left(&x), 4);
	assert_false(x.failed);
	for (size_t i = 0; i < XDR_EMPTY_LISTS; i++) {
		words[i] = 1;
		x = in_of(words, sizeof(words));
		assert_false(xdr_get_empty_lists(&x));
		assert_int_equal(xdr_in_left(&x), sizeof(words));
		words[i] = 0;
	}
	x = in_of(words, sizeof(words));
	x.failed = true;
	assert_false(xdr_get_empty_lists(&x));
	memset(words, 0xff, sizeof(words));
	xdr_out_init(&out, words, XDR_EMPTY_LISTS - 1);
	xdr_put_empty_lists(&out);
	assert_true(out.failed);
	assert_int_equal(words[0], 0xff);
	xdr_out_init(&out, words, XDR_EMPTY_LISTS);
	xdr_put_empty_lists(&out);
	assert_int_equal(xdr_out_len(&out), XDR_EMPTY_LISTS);
	x = in_of(words, sizeof(words));
	assert_true(xdr_get_empty_lists(&x));
	assert_int_equal(words[XDR_EMPTY_LISTS], 0xff);
}

static void failure_is_sticky(void **state)
{
	struct xdr_in x = in_of(octets, 7);

	(void)state;
	assert_int_equal(xdr_get_u32(&x), 0x01020304);
	assert_int_equal(xdr_get_u32(&x), 0);
	assert_true(x.failed);
	assert_int_equal(xdr_in_left(&x), 3);
	x.end = octets + sizeof(octets); /* even with octets there: nothing more is read */
	assert_int_equal(xdr_get_u32(&x), 0);
	assert_false(xdr_get_bool(&x));
	assert_true(xdr_get_u64(&x) == 0);
	assert_null(xdr_get_opaque(&x, 100).data);
	assert_int_equal(xdr_get_segment(&x).length, 0);
}

static void half_a_u64_fails(void **state)
{
	struct xdr_in x = in_of(octets, 4);

	(void)state;
	xdr_get_u64(&x);
	assert_true(x.failed);
}

static void opaque_is_bounded(void **state)
{
	static const uint8_t five[] = {0, 0, 0, 5, 'a', 'b', 'c', 'd', 'e', 0, 0, 0};
	static const uint8_t huge[] = {0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4};
	struct xdr_in x = in_of(five, sizeof(five));
	struct view v = xdr_get_opaque(&x, 5);

	(void)state;
	assert_int_equal(v.len, 5);
	assert_memory_equal(v.data, "abcde", 5);
	assert_int_equal(xdr_in_left(&x), 0);
	x = in_of(five, sizeof(five));
	xdr_get_opaque(&x, 4); /* more than the caller takes */
	assert_true(x.failed);
	x = in_of(five, sizeof(five) - 1);
	xdr_get_opaque(&x, 5); /* its pad is missing */
	assert_true(x.failed);
	x = in_of(huge, sizeof(huge));
	assert_int_equal(xdr_get_opaque(&x, UINT32_MAX).len, 0);
	assert_true(x.failed);
}

static void skip_and_rest(void **state)
{
	struct xdr_in x = in_of(octets, sizeof(octets));

	(void)state;
	xdr_skip(&x, 8);
	assert_ptr_equal(xdr_in_rest(&x).data, octets + 8);
	assert_int_equal(xdr_in_rest(&x).len, 8);
	xdr_skip(&x, SIZE_MAX);
	assert_true(x.failed);
}

static void full_buffer_changes_nothing(void **state)
{
	uint8_t buf[8] = {0, 0, 0, 0, 9, 9, 9, 9};
	struct xdr_out x;

	(void)state;
	xdr_out_init(&x, buf, 7);
	xdr_put_u32(&x, 0xa1b2c3d4);
	xdr_put_u32(&x, 5);
	assert_true(x.failed);
	assert_int_equal(xdr_out_len(&x), 4);
	assert_memory_equal(buf, "\xa1\xb2\xc3\xd4\x09\x09\x09\x09", 8);
	x.end = buf + 8;
	xdr_put_u32(&x, 5);
	assert_int_equal(xdr_out_len(&x), 4);
}

static void pad_to_words(void **state)
{
	(void)state;
	assert_int_equal(xdr_pad(0), 0);
	assert_int_equal(xdr_pad(1), 3);
	assert_int_equal(xdr_pad(3), 1);
	assert_int_equal(xdr_pad(4), 0);
	assert_int_equal(xdr_pad(UINT32_MAX), 1);
	assert_int_equal(xdr_pad((uint64_t)UINT32_MAX * 3), 3);
}

static void what_is_put_is_got(void **state)
{
	struct rng r = rng_seeded("xdr round trip", 5);

	(void)state;
	for (int i = 0; i < 5000; i++) {
		struct segment s = {(uint32_t)rng_next(&r), (uint32_t)rng_next(&r), rng_next(&r)},
			       t;
		uint32_t word = (uint32_t)rng_next(&r), len = rng_below(&r, 20);
		uint64_t hyper = rng_next(&r);
		uint8_t *buf = malloc(4 + 8 + 16 + 4 + len + xdr_pad(len)), data[20];
		struct xdr_out out;
		struct xdr_in in;
		struct view v;

		assert_non_null(buf);
		for (uint32_t k = 0; k < len; k++)
			data[k] = (uint8_t)rng_next(&r);
		xdr_out_init(&out, buf, 4 + 8 + 16 + 4 + len + xdr_pad(len));
		xdr_put_u32(&out, word);
		xdr_put_opaque(&out, view_of(data, len));
		xdr_put_segment(&out, &s);
		xdr_put_u64(&out, hyper);
		assert_false(out.failed);
		assert_ptr_equal(out.pos, out.end);
		in = in_of(buf, xdr_out_len(&out));
		assert_int_equal(xdr_get_u32(&in), word);
		v = xdr_get_opaque(&in, 20);
		assert_int_equal(v.len, len);
		assert_true(len == 0 || memcmp(v.data, data, len) == 0);
		t = xdr_get_segment(&in);
		assert_true(t.handle == s.handle && t.length == s.length && t.offset == s.offset);
		assert_true(xdr_get_u64(&in) == hyper);
		assert_false(in.failed);
		assert_int_equal(xdr_in_left(&in), 0);
		free(buf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_big_endian),
		cmocka_unit_test(failure_is_sticky),
		cmocka_unit_test(empty_lists_are_all_zero),
		cmocka_unit_test(half_a_u64_fails),
		cmocka_unit_test(opaque_is_bounded),
		cmocka_unit_test(skip_and_rest),
		cmocka_unit_test(full_buffer_changes_nothing),
		cmocka_unit_test(pad_to_words),
		cmocka_unit_test(what_is_put_is_got),
	};
	return cmocka_run_group_tests_name("xdr cursor", tests, NULL, NULL);
}
