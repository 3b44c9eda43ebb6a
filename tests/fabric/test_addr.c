/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/addr.h"

#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "tests/cmocka_all.h"

/* Addresses to and from text. The interface is loopback, which every namespace has. */

static const struct sockaddr_in6 *v6_of(const struct fabric_addr *addr)
{
	return (const struct sockaddr_in6 *)&addr->ss;
}

static void expect(const char *host, const char *want)
{
	char text[FABRIC_ADDR_TEXT];
	struct fabric_addr addr;

	assert_int_equal(fabric_addr_parse(host, 20049, &addr), 0);
	assert_string_equal(fabric_addr_format(&addr, text), want);
	if (strchr(want, '['))
		assert_int_equal(addr.len, sizeof(struct sockaddr_in6));
	else
		assert_int_equal(addr.len, sizeof(struct sockaddr_in));
}

static void there_and_back(void **state)
{
	(void)state;
	expect("10.0.0.1", "10.0.0.1:20049");
	expect("::1", "[::1]:20049");
	expect("[::1]", "[::1]:20049");
	expect("::ffff:10.0.0.1", "[::ffff:10.0.0.1]:20049");
	expect("fd00:0:0::0001", "[fd00::1]:20049");
	expect("fe80::1", "[fe80::1]:20049");
}

static void an_interface_goes_there_and_back(void **state)
{
	char host[64];
	struct fabric_addr addr;
	unsigned lo = if_nametoindex("lo");

	(void)state;
	assert_true(lo > 0);
	expect("fe80::1%lo", "[fe80::1%lo]:20049");
	expect("[fe80::1%lo]", "[fe80::1%lo]:20049");
	expect("FEBF:0::2%lo", "[febf::2%lo]:20049");
	snprintf(host, sizeof(host), "fe80::1%%%u", lo);
	expect(host, "[fe80::1%lo]:20049");
	assert_int_equal(fabric_addr_parse(host, 20049, &addr), 0);
	assert_int_equal(v6_of(&addr)->sin6_scope_id, lo);
	assert_int_equal(ntohs(v6_of(&addr)->sin6_port), 20049);
}

static void interfaces_that_are_not_there(void **state)
{
	static const char *const hosts[] = {
		"fe80::1%nosuch0",	  "[fe80::1%nosuch0]", "fe80::1%0",  "fe80::1%4294967295",
		"fe80::1%4294967297", /* 1, cut */
		"fe80::1%99999999999999", "fe80::1%1x",	       "fe80::1%-1", "fe80::1%lo%lo",
	};
	struct fabric_addr addr;

	(void)state;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		assert_int_equal(fabric_addr_parse(hosts[i], 1, &addr), ERR_IO);
}

static void what_is_no_address(void **state)
{
	static const char *const hosts[] = {
		"",
		"[]",
		"host",
		"10.0.0.256",
		"010.0.0.1",
		"10.1",
		"[10.0.0.1]",
		"[::1",
		"::1]",
		":::",
		"%lo",
		"fe80::1%",
		"[fe80::1]%lo",
		/* Only link-local addresses are of one link. */
		"::1%lo",
		"fd00::1%lo",
		"fec0::1%lo",
		"10.0.0.1%lo",
		"fe80::1%aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	};
	struct fabric_addr addr;

	(void)state;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		assert_int_equal(fabric_addr_parse(hosts[i], 1, &addr), ERR_CONFIG);
}

static void link_local_addresses_need_an_interface(void **state)
{
	static const struct {
		const char *host;
		bool lacks;
	} rows[] = {{"fe80::1", true},	   {"febf::1", true},  {"fe80::1%lo", false},
		    {"fec0::1", false},	   {"fe7f::1", false}, {"::1", false},
		    {"10.0.0.254", false}, {"0.0.0.0", false}};
	struct fabric_addr addr;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(fabric_addr_parse(rows[i].host, 1, &addr), 0);
		assert_int_equal(fabric_addr_lacks_interface(&addr), rows[i].lacks);
	}
}

/* An interface may be gone when its connection is reported; then its number is printed. */
static void the_longest_fits(void **state)
{
	struct fabric_addr addr = {.len = sizeof(struct sockaddr_in6)};
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&addr.ss;
	char text[FABRIC_ADDR_TEXT];

	(void)state;
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(65535);
	v6->sin6_scope_id = UINT32_MAX;
	memset(&v6->sin6_addr, 0xfe, sizeof(v6->sin6_addr));
	assert_string_equal(fabric_addr_format(&addr, text),
			    "[fefe:fefe:fefe:fefe:fefe:fefe:fefe:fefe%4294967295]:65535");
	assert_true(strlen("[]:65535") + INET6_ADDRSTRLEN + IF_NAMESIZE < FABRIC_ADDR_TEXT);
}

static void of_no_family(void **state)
{
	struct fabric_addr none = {0};
	char text[FABRIC_ADDR_TEXT];

	(void)state;
	assert_string_equal(fabric_addr_format(&none, text), "-");
	assert_false(fabric_addr_lacks_interface(&none));
}

/* A host has as many addresses of its network as it likes, and as many ports. */
static void whom_an_address_counts_for(void **state)
{
	static const struct {
		const char *addr, *host;
	} rows[] = {
		{"10.0.0.1", "10.0.0.1"},
		{"2001:db8:0:1:2:3:4:5", "2001:db8:0:1::/64"},
		{"2001:db8:0:1:ffff::", "2001:db8:0:1::/64"},
		{"::1", "::/64"},
		{"::ffff:10.0.0.1", "10.0.0.1"},
		{"fe80::2%lo", "fe80::2%lo"},
	};
	uint8_t keys[sizeof(rows) / sizeof(rows[0])][FABRIC_ADDR_KEY];
	struct fabric_addr addr;
	char text[FABRIC_ADDR_TEXT];

	(void)state;
	for (uint16_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(fabric_addr_parse(rows[i].addr, i, &addr), 0);
		assert_string_equal(fabric_addr_host(&addr, text), rows[i].host);
		fabric_addr_key(&addr, keys[i]);
		for (uint16_t k = 0; k < i; k++)
			assert_int_equal(memcmp(keys[i], keys[k], FABRIC_ADDR_KEY) == 0,
					 strcmp(rows[i].host, rows[k].host) == 0);
	}
	memset(&addr, 0, sizeof(addr));
	assert_string_equal(fabric_addr_host(&addr, text), "-");
}

static void nets_have_addresses(void **state)
{
	static const struct {
		struct fabric_net net;
		const char *in, *out;
	} rows[] = {
		{{.bits = 24, .octets = {192, 0, 2}}, "192.0.2.255", "192.0.3.0"},
		{{.bits = 24, .octets = {192, 0, 2}}, "::ffff:192.0.2.1", "::ffff:192.0.3.1"},
		{{.bits = 25, .octets = {192, 0, 2, 128}}, "192.0.2.128", "192.0.2.127"},
		{{.bits = 32, .octets = {192, 0, 2, 7}}, "192.0.2.7", "192.0.2.6"},
		{{.bits = 0}, "203.0.113.9", "2001:db8::1"},
		{{.is_v6 = true}, "2001:db8::1", "::ffff:192.0.2.1"},
		{{.is_v6 = true, .bits = 33, .octets = {0x20, 1, 0xd, 0xb8, 0x80}},
		 "2001:db8:8000::1",
		 "2001:db8:7fff::1"},
		{{.is_v6 = true, .bits = 128, .octets = {[15] = 1}}, "::1", "::2"},
	};
	struct fabric_addr addr = {0};

	(void)state;
	assert_false(fabric_net_has(&rows[4].net, &addr)); /* of no family */
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(fabric_addr_parse(rows[i].in, 1, &addr), 0);
		assert_true(fabric_net_has(&rows[i].net, &addr));
		assert_int_equal(fabric_addr_parse(rows[i].out, 1, &addr), 0);
		assert_false(fabric_net_has(&rows[i].net, &addr));
	}
}

static void each_host_has_an_address_of_its_own(void **state)
{
	static const struct {
		struct fabric_net from, to;
		const char *host, *stands;
	} rows[] = {
		{{.bits = 24, .octets = {192, 0, 2}},
		 {.bits = 24, .octets = {10, 1, 2}},
		 "192.0.2.255",
		 "10.1.2.255:0"},
		{{.bits = 24, .octets = {192, 0, 2}},
		 {.bits = 8, .octets = {10}},
		 "::ffff:192.0.2.7",
		 "10.0.0.7:0"},
		{{.bits = 27, .octets = {192, 0, 2, 64}},
		 {.bits = 27, .octets = {10, 0, 0, 160}},
		 "192.0.2.85",
		 "10.0.0.181:0"},
		{{.bits = 21, .octets = {192, 0, 8}},
		 {.bits = 20, .octets = {10, 0, 16}},
		 "192.0.13.9",
		 "10.0.21.9:0"},
		{{.bits = 0}, {.bits = 32, .octets = {10, 0, 0, 9}}, "203.0.113.9", "10.0.0.9:0"},
		{{.bits = 32, .octets = {192, 0, 2, 7}},
		 {.bits = 24, .octets = {10, 0, 3}},
		 "192.0.2.7",
		 "10.0.3.0:0"},
		{{.is_v6 = true, .bits = 112, .octets = {0x20, 1, 0xd, 0xb8}},
		 {.bits = 16, .octets = {10, 3}},
		 "2001:db8::203",
		 "10.3.2.3:0"},
		{{.bits = 16, .octets = {192, 0}},
		 {.is_v6 = true, .bits = 64, .octets = {0xfd, 0, 0, 1}},
		 "192.0.2.3",
		 "[fd00:1::203]:0"},
		{{.is_v6 = true},
		 {.is_v6 = true, .bits = 128, .octets = {[15] = 1}},
		 "fd00::7",
		 "[::1]:0"},
	};
	struct fabric_addr addr, out;
	char text[FABRIC_ADDR_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(fabric_addr_parse(rows[i].host, 1, &addr), 0);
		assert_true(fabric_net_has(&rows[i].from, &addr));
		fabric_net_move(&rows[i].from, &rows[i].to, &addr, &out);
		assert_string_equal(fabric_addr_format(&out, text), rows[i].stands);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(an_interface_goes_there_and_back),
		cmocka_unit_test(interfaces_that_are_not_there),
		cmocka_unit_test(what_is_no_address),
		cmocka_unit_test(link_local_addresses_need_an_interface),
		cmocka_unit_test(the_longest_fits),
		cmocka_unit_test(each_host_has_an_address_of_its_own),
		cmocka_unit_test(of_no_family),
		cmocka_unit_test(whom_an_address_counts_for),
		cmocka_unit_test(nets_have_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
