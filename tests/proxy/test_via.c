/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <string.h>

#include "proxy/leg/via.h"
#include "v1/pdata.h"

enum { REQUEST = 56 }; /* octets of a request's private data on InfiniBand and RoCE */

static const uint8_t two[] = {0x9c, 0x5d, 0x17, 0xe2, 1,    2,	  0,	0,
			      0,    0,	  0,	7,    0xff, 0xfe, 0xfd, 0xfc};

static struct via parsed(const void *octets, size_t len)
{
	struct via via = {.n = 5};

	via_parse(&via, view_of(octets, len));
	return via;
}

static void as_it_is_written(void **state)
{
	struct via via = {.n = 0};
	uint8_t out[VIA_BYTES];

	(void)state;
	assert_int_equal(via_encode(out, &via), 0);
	via_add(&via, 7);
	via_add(&via, 0xfffefdfc);
	assert_int_equal(via_encode(out, &via), sizeof(two));
	assert_memory_equal(out, two, sizeof(two));
	assert_true(via_has(&via, 7));
	assert_false(via_has(&via, 8));
}

static void as_it_is_read(void **state)
{
	struct via via = parsed(two, sizeof(two));

	(void)state;
	assert_int_equal(via.n, 2);
	assert_int_equal(via.id[0], 7);
	assert_int_equal(via.id[1], 0xfffefdfc);
	assert_int_equal(parsed(NULL, 0).n, 0);
}

/* Behind RFC 8797's data, and before zeros, as on RoCE. A peer that looks for RFC 8797's data finds them. */
static void the_longest_fits_behind_rfc_8797(void **state)
{
	const struct rpc_params own = {.send_bytes = 4096, .recv_bytes = 8192, .remote_inv = true};
	uint8_t all[REQUEST] = {0};
	struct v1_pdata said;
	struct via via = {.n = 0}, back;

	(void)state;
	for (uint32_t i = 0; i < VIA_MOST; i++)
		via_add(&via, 100 + i);
	v1_pdata_encode(all, &own);
	assert_true(V1_PDATA_BYTES + VIA_BYTES <= REQUEST);
	assert_int_equal(via_encode(all + V1_PDATA_BYTES, &via), VIA_BYTES);
	back = parsed(all, sizeof(all));
	assert_int_equal(back.n, VIA_MOST);
	assert_memory_equal(back.id, via.id, sizeof(via.id));
	v1_pdata_parse(&said, view_of(all, sizeof(all)));
	assert_true(said.present && said.remote_inv);
	assert_int_equal(said.send_bytes, 4096);
	assert_int_equal(said.recv_bytes, 8192);
}

/* A list that is cut, empty, too long or of another version is ignored; a valid list behind it
 * counts. */
static void what_is_none(void **state)
{
	uint8_t bad[2 * sizeof(two)];

	(void)state;
	for (size_t len = 0; len < sizeof(two); len++)
		assert_int_equal(parsed(two, len).n, 0);
	memcpy(bad, two, sizeof(two));
	memcpy(bad + sizeof(two), two, sizeof(two));
	bad[4] = 2;
	assert_int_equal(parsed(bad, sizeof(two)).n, 0);
	assert_int_equal(parsed(bad, sizeof(bad)).n, 2);
	bad[4] = 1;
	bad[5] = 0;
	assert_int_equal(parsed(bad, sizeof(two)).n, 0);
	bad[5] = VIA_MOST + 1;
	assert_int_equal(parsed(bad, sizeof(bad)).n, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_it_is_written),
		cmocka_unit_test(as_it_is_read),
		cmocka_unit_test(the_longest_fits_behind_rfc_8797),
		cmocka_unit_test(what_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
