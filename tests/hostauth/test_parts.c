/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <string.h>

#include "hostauth/names.h"
#include "hostauth/value.h"

static struct view text(const char *s)
{
	return view_of(s, strlen(s));
}

static void names(void **state)
{
	(void)state;
	assert_true(hostauth_name_is_dns("client.example", text("client.example")));
	assert_true(hostauth_name_is_dns("client.example", text("CLIENT.Example")));
	assert_false(hostauth_name_is_dns("client.example", text("client.example.")));
	assert_false(hostauth_name_is_dns("client.example", text("a.client.example")));
	assert_false(hostauth_name_is_dns("client.example", view_of("client.example\0.b", 17)));
	assert_true(hostauth_name_is_dns("*.example", text("client.example")));
	assert_false(hostauth_name_is_dns("*.example", text("a.client.example")));
	assert_false(hostauth_name_is_dns("*.example", text("example")));
	assert_false(hostauth_name_is_dns("*.example", text(".example")));
	assert_false(hostauth_name_is_dns("*.example", view_of("a\0b.example", 11)));
	/* A certificate's own wildcard is no host. */
	assert_false(hostauth_name_is_dns("client.example", text("*.example")));
	assert_false(hostauth_name_is_dns("*.a.example", text("*.example")));
	assert_true(hostauth_name_is_dns("*.example", text("*.example")));
	assert_false(hostauth_name_is_dns("c*.example", text("client.example")));
	assert_true(hostauth_name_is_uri("nfs://a/b", text("nfs://a/b")));
	assert_false(hostauth_name_is_uri("nfs://a/b", text("NFS://a/b")));
	assert_false(hostauth_name_is_uri("client.example", text("client.example")));
	assert_false(hostauth_name_is_dns("nfs://a/b", text("nfs://a/b")));
	assert_null(hostauth_name_check("*.example"));
	assert_null(hostauth_name_check("nfs://a/*"));
	assert_non_null(hostauth_name_check("a*.example"));
	assert_non_null(hostauth_name_check("*"));
	assert_non_null(hostauth_name_check(""));
}

static int decode(struct hostauth_value *v, const char *octets, size_t len)
{
	return hostauth_value_decode(v, view_of(octets, len));
}

static void values(void **state)
{
	static const char bind[36] = "\x01\x04\x00\x07";
	struct hostauth_value v;

	(void)state;
	assert_int_equal(decode(&v, "", 0), ERR_VERS);
	assert_int_equal(decode(&v, "\x02\x01\x00\x00x", 5), ERR_VERS);
	assert_int_equal(decode(&v, "\x01\x01\x00", 3), ERR_SHORT);
	assert_int_equal(decode(&v, "\x01\x01\x00\x00", 4), ERR_SHORT);
	assert_int_equal(decode(&v, "\x01\x00\x00\x00x", 5), ERR_XDR);
	assert_int_equal(decode(&v, "\x01\x06\x00\x00x", 5), ERR_XDR);
	assert_int_equal(decode(&v, "\x01\x02\x01\x02x", 5), 0);
	assert_int_equal(v.kind, HOSTAUTH_TURN);
	assert_int_equal(v.sequence, 0x102);
	assert_int_equal(v.tls.len, 1);
	assert_int_equal(decode(&v, "\x01\x03\x00\x00", 4), 0);
	assert_int_equal(decode(&v, "\x01\x03\x00\x00x", 5), ERR_XDR);
	assert_int_equal(decode(&v, bind, 36), 0);
	assert_int_equal(v.binding.len, 32);
	assert_int_equal(v.tls.len, 0);
	assert_int_equal(decode(&v, bind, 35), ERR_SHORT);
	assert_int_equal(decode(&v, "\x01\x05\x00\x00\x00", 5), ERR_SHORT);
	assert_int_equal(decode(&v, "\x01\x05\x00\x00\x00\x04", 6), 0);
	assert_int_equal(v.reason, HOSTAUTH_REASON_NAME);
	assert_int_equal(decode(&v, "\x01\x05\x00\x00\x01\x04", 6), 0);
	assert_int_equal(v.reason, HOSTAUTH_REASON_OWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
