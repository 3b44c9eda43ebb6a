/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include "xdr/cursor.h"
#include "xdr/rpchdr.h"

static uint8_t buf[40];

static int peek(struct rpchdr *h, const uint32_t *words, size_t octets)
{
	struct xdr_out x;

	xdr_out_init(&x, buf, sizeof(buf));
	for (size_t i = 0; i < (octets + 3) / 4; i++)
		xdr_put_u32(&x, words[i]);
	return rpchdr_peek(h, view_of(buf, octets));
}

static void calls(void **state)
{
	static const uint32_t call[] = {0xabc, 0, 2, 100003, 4, 1};
	static const uint32_t rpc3[] = {0xabc, 0, 3, 100003, 4, 1};
	struct rpchdr h;

	(void)state;
	assert_int_equal(peek(&h, call, 24), 0);
	assert_int_equal(h.xid, 0xabc);
	assert_int_equal(h.mtype, 0);
	assert_int_equal(h.prog, 100003);
	assert_int_equal(h.vers, 4);
	assert_int_equal(h.proc, 1);
	for (size_t len = 0; len < 24; len++)
		assert_int_equal(peek(&h, call, len), ERR_SHORT);
	assert_int_equal(peek(&h, rpc3, 24), ERR_XDR);
	assert_int_equal(h.mtype, 0); /* seen all the same */
}

static void replies(void **state)
{
	static const uint32_t reply[] = {0xabc, 1, 0};
	static const uint32_t neither[] = {0xabc, 2, 0};
	struct rpchdr h;

	(void)state;
	assert_int_equal(peek(&h, reply, 8), 0);
	assert_int_equal(h.xid, 0xabc);
	assert_int_equal(h.mtype, 1);
	assert_int_equal(h.prog, 0);
	for (size_t len = 0; len < 8; len++)
		assert_int_equal(peek(&h, reply, len), ERR_SHORT);
	assert_int_equal(peek(&h, neither, 12), ERR_XDR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls),
		cmocka_unit_test(replies),
	};
	return cmocka_run_group_tests_name("rpchdr", tests, NULL, NULL);
}
