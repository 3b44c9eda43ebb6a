/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include "tests/v2/golden.h"
#include "v2/header.h"

#define FINAL "00000001 00000002 00000040 00000007 "

static int decode_hex(struct v2_props *props, struct rpc_error *fault, const char *hex)
{
	static uint8_t buf[GOLDEN_MAX];
	struct v2_hdr h = {0};
	struct rpc_msg m;
	int err = v2_decode(&h, &m, view_of(buf, unhex(hex, buf)), 16, fault);

	*props = h.props;
	return err;
}

static const struct rpc_params own = {
	.recv_bytes = 16384,
	.send_bytes = 32768,
	.segment_bytes = 1 << 20,
	.segment_count = 32,
	.credits = 8,
	.reverse = RPC_REV_GENL,
};

static void all_five(void **state)
{
	struct rpc_error fault;
	struct rpc_limits peer;
	struct v2_props props;
	uint8_t buf[GOLDEN_MAX];
	struct v2_hdr h = {0};
	struct rpc_msg m;

	(void)state;
	assert_int_equal(
		v2_decode(&h, &m, view_of(buf, golden_get("connprop_final", buf)), 16, &fault), 0);
	props = h.props;
	v2_props_limits(&peer, &props, &own);
	assert_int_equal(peer.recv_bytes, 8192);
	assert_int_equal(peer.send_bytes, 16384);
	assert_int_equal(peer.segment_bytes, 1 << 20);
	assert_int_equal(peer.segment_count, 32);
	assert_int_equal(peer.reverse, RPC_REV_GENL);
	assert_true(peer.continuation);
}

/* None at all, and each present with no data: the defaults of section 5.2. */
static void defaults_hold(void **state)
{
	static const char *const cases[] = {
		FINAL "00000000",
		FINAL "00000006 00000001 00000000 00000002 00000000 00000003 00000000 "
		      "00000004 00000000 00000005 00000000 00000006 00000000",
	};
	struct rpc_error fault;
	struct rpc_limits peer;
	struct v2_props props;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(decode_hex(&props, &fault, cases[i]), 0);
		v2_props_limits(&peer, &props, &own);
		assert_int_equal(peer.recv_bytes, 4096);
		assert_int_equal(peer.send_bytes, 4096);
		assert_int_equal(peer.segment_bytes, 1048576);
		assert_int_equal(peer.segment_count, 16);
		assert_int_equal(peer.reverse, RPC_REV_NONE);
		assert_int_equal(props.hostauth.len, 0);
	}
}

static void bad_values(void **state)
{
	static const char *const propval[] = {
		FINAL "00000001 00000001 00000003 00100000",	      /* less than a uint32 */
		FINAL "00000001 00000001 00000008 00001000 00001000", /* more */
		FINAL "00000001 00000001 00000400 00001000",	      /* beyond the message */
		FINAL "00000001 00000063 00000400 00001000",	      /* same, not known */
		FINAL "00000001 00000002 ffffffff 00001000",
		FINAL "00000001 00000006 00000004 00000001", /* opaque<> cut off */
		FINAL "00000001 00000006 00000003 00000000",
		FINAL "00000001 00000006 0000000c 00000001 41000000 00000000",
	};
	static const char *const xdr[] = {
		FINAL, /* no count */
		FINAL "00000002 00000001 00000000",
		FINAL "ffffffff 00000001 00000000",
		FINAL "00000001 00000001",
		FINAL "00000001 00000001 00000000 00000000",
	};
	struct rpc_error fault;
	struct v2_props props;

	(void)state;
	for (size_t i = 0; i < sizeof(propval) / sizeof(propval[0]); i++) {
		assert_int_equal(decode_hex(&props, &fault, propval[i]), ERR_PROP);
		assert_int_equal(fault.code, RPC_ERROR_BAD_PROPVAL);
	}
	for (size_t i = 0; i < sizeof(xdr) / sizeof(xdr[0]); i++) {
		assert_true(decode_hex(&props, &fault, xdr[i]) < 0);
		assert_int_equal(fault.code, RPC_ERROR_BAD_XDR);
	}
}

/* Not known: passed over. Twice: the last one wins. */
static void unknown_and_repeated(void **state)
{
	struct rpc_error fault;
	struct v2_props props;

	(void)state;
	assert_int_equal(decode_hex(&props, &fault,
				    FINAL "00000005 00000000 00000004 12345678 "
					  "00000004 00000004 00000008 "
					  "fffffff0 00000005 0102030405000000 "
					  "00000004 00000004 00000009 "
					  "00000006 00000008 00000002 abcd0000"),
			 0);
	assert_int_equal(v2_props_get(&props, V2_PROP_RCSIZ), 9);
	assert_int_equal(props.hostauth.len, 2);
	assert_int_equal(props.hostauth.data[0], 0xab);
	assert_int_equal(props.present, 1u << V2_PROP_RCSIZ | 1u << V2_PROP_HOSTAUTH);
}

static void limits_are_bounded(void **state)
{
	struct rpc_limits peer;
	struct v2_props props = {0};

	(void)state;
	v2_props_set(&props, V2_PROP_SBSIZ, 0);
	v2_props_set(&props, V2_PROP_RBSIZ, 17);
	v2_props_set(&props, V2_PROP_RSSIZ, 0);
	v2_props_set(&props, V2_PROP_RCSIZ, 0xffffffff);
	v2_props_set(&props, V2_PROP_BRS, 4);
	v2_props_limits(&peer, &props, &own);
	assert_int_equal(peer.recv_bytes, 1024);
	assert_int_equal(peer.send_bytes, 1024);
	assert_int_not_equal(peer.segment_bytes, 0); /* nobody divides by it */
	assert_int_equal(peer.segment_count, 0);
	assert_int_equal(peer.reverse, RPC_REV_NONE);
	v2_props_set(&props, V2_PROP_RSSIZ, 4096);
	v2_props_set(&props, V2_PROP_SBSIZ, 0xffffffff);
	v2_props_set(&props, V2_PROP_RBSIZ, 0xffffffff);
	v2_props_limits(&peer, &props, &own);
	assert_int_equal(peer.recv_bytes, own.recv_bytes);
	assert_int_equal(peer.send_bytes, own.send_bytes);
	assert_int_equal(peer.segment_bytes, 4096);
	assert_int_equal(peer.segment_count, RPC_MAX_SEGMENTS);
}

static void merge_keeps_what_is_not_there(void **state)
{
	struct v2_props a = {0}, b = {0};

	(void)state;
	v2_props_set(&a, V2_PROP_SBSIZ, 1);
	v2_props_set(&a, V2_PROP_RBSIZ, 2);
	v2_props_set(&b, V2_PROP_RBSIZ, 3);
	v2_props_merge(&a, &b);
	assert_int_equal(v2_props_get(&a, V2_PROP_SBSIZ), 1);
	assert_int_equal(v2_props_get(&a, V2_PROP_RBSIZ), 3);
	assert_int_equal(v2_props_get(&a, V2_PROP_RCSIZ), V2_DEFAULT_SEGMENTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_five),
		cmocka_unit_test(defaults_hold),
		cmocka_unit_test(bad_values),
		cmocka_unit_test(unknown_and_repeated),
		cmocka_unit_test(limits_are_bounded),
		cmocka_unit_test(merge_keeps_what_is_not_there),
	};
	return cmocka_run_group_tests_name("v2 props", tests, NULL, NULL);
}
