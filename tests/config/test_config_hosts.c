/* SPDX-License-Identifier: BSD-2-Clause */
/* The servers of an upstream: addresses and names, one or several. */
#include "tests/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "tests/config/load.h"

#define UPSTREAM(text) ROUTE(NAME LISTEN "upstream = {\n" text " };\n") /* 5 */
#define NEITHER(key, text)                                                                         \
	key " has \"" text                                                                         \
	    "\", which is neither an address nor a name: write an address like \"10.0.0.1\" or "   \
	    "\"fd00::1\", or a name like \"filer.example.net\"\n"
#define NO_ADDRESS(key)                                                                            \
	key " is not an address: write an IPv4 or IPv6 address like \"10.0.0.1\" or \"fd00::1\" "  \
	    "(names are not looked up)\n"
#define WITH_PORT(key, host, port)                                                                 \
	key " has \"" host ":" port "\", with a port: write \"" host                               \
	    "\", and the port by itself: port = " port ";\n"
#define L63 "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabc"

#define SOURCE                                                                                     \
	"each source must be { clients = \"NETWORK\"; addresses = \"NETWORK\"; }, with name = "    \
	"\"NAME\"; beside clients or in their place\n"

#define GROUP(key, text)                                                                           \
	key " has \"" text                                                                         \
	    "\", a multicast or broadcast address, to which nothing connects: write the address "  \
	    "of one machine\n"
#define ZEROS                                                                                      \
	"source has an address of zeros, from which nothing connects: give an address of "         \
	"this machine\n"

static const struct bad hosts[] = {
	{UPSTREAM("port = 1;"), "4: address is missing: give it, or addresses\n"},
	{UPSTREAM("address = \"10.0.0.2\";\naddresses = [ \"10.0.0.3\" ];"),
	 "6: upstream has address and addresses: leave one of them out\n"},
	{UPSTREAM("addresses = [];"), "5: addresses is empty: give at least one\n"},
	{UPSTREAM("addresses = \"10.0.0.2\";"),
	 "5: addresses must be a list: write [\"10.0.0.1\", \"filer.example.net\", ...]\n"},
	{UPSTREAM("addresses = ( \"10.0.0.2\",\n7 );"),
	 "6: addresses must be text: write each address or name in double quotes\n"},
	{UPSTREAM("addresses = [ \"10.0.0.2\",\n\"a\",\n\"10.0.0.2\" ];"),
	 "7: addresses has \"10.0.0.2\" twice: once is enough\n"},
	{UPSTREAM("addresses = [ \"fd00::2\",\n\"[fd00:0::2]\" ];"),
	 "6: addresses has \"fd00:0::2\" twice: once is enough\n"},
	{UPSTREAM("addresses = [ \"filer\", \"Filer\" ];"),
	 "5: addresses has \"Filer\" twice: once is enough\n"},
	{UPSTREAM("addresses = [\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\",\"j\","
		  "\"k\",\"l\",\"m\",\"n\",\"o\",\"p\",\"q\"];"),
	 "5: addresses has 17 items: use 16 at most\n"},
	/* Names, and what is none. */
	{UPSTREAM("address = \"\";"), "5: " NEITHER("address", "")},
	{UPSTREAM("address = \"filer one\";"), "5: " NEITHER("address", "filer one")},
	{UPSTREAM("address = \"-filer\";"), "5: " NEITHER("address", "-filer")},
	{UPSTREAM("address = \"filer-\";"), "5: " NEITHER("address", "filer-")},
	{UPSTREAM("address = \"filer..net\";"), "5: " NEITHER("address", "filer..net")},
	{UPSTREAM("address = \".net\";"), "5: " NEITHER("address", ".net")},
	{UPSTREAM("address = \"filer/1\";"), "5: " NEITHER("address", "filer/1")},
	{UPSTREAM("address = \"a" L63 ".net\";"), "5: " NEITHER("address", "a" L63 ".net")},
	{UPSTREAM("address = \"" L63 "." L63 "." L63 "." L63 "\";"),
	 "5: " NEITHER("address", L63 "." L63 "." L63 "." L63)},
	{UPSTREAM("address = \"10.0.0.300\";"), "5: " NEITHER("address", "10.0.0.300")},
	{UPSTREAM("address = \"10.0.0\";"), "5: " NEITHER("address", "10.0.0")},
	{UPSTREAM("address = \"filer:20049\";"), "5: " WITH_PORT("address", "filer", "20049")},
	{UPSTREAM("address = \"[::1]:20049\";"), "5: " WITH_PORT("address", "[::1]", "20049")},
	{UPSTREAM("addresses = [ \"10.0.0.1:7\" ];"),
	 "5: " WITH_PORT("addresses", "10.0.0.1", "7")},
	{UPSTREAM("address = \"filer:nfs\";"), "5: " NEITHER("address", "filer:nfs")},
	{UPSTREAM("address = \"[::1\";"),
	 "5: address is not an address: write an IPv4 or IPv6 address like \"10.0.0.1\" or "
	 "\"fd00::1\"\n"},
	{UPSTREAM("address = \"filer.7\";"), "5: " NEITHER("address", "filer.7")},
	{ROUTE(NAME "listen = { address = \"224.0.0.1\"; };\n" UP),
	 "3: " GROUP("address", "224.0.0.1")},
	{"metrics = { address = \"ff05::2\"; };\n" GOOD, "1: " GROUP("address", "ff05::2")},
	{UPSTREAM("address = \"224.0.0.1\";"), "5: " GROUP("address", "224.0.0.1")},
	{UPSTREAM("addresses = [ \"10.0.0.2\",\n\"ff02::1\",\n\"255.255.255.255\" ];"),
	 "6: " GROUP("addresses", "ff02::1") "7: " GROUP("addresses", "255.255.255.255")},
	{UPSTREAM("address = \"ff02::1%eth0\";"), "5: " GROUP("address", "ff02::1%eth0")},
	{UPSTREAM("addresses = [ \"fe80::1\" ];"),
	 "5: addresses is link-local, and every interface has such addresses: add the one meant, "
	 "like \"fe80::1%eth0\"\n"},
	/* One by one. */
	{UPSTREAM("addresses = [ \"10.0.0.2\",\n\"10.0.0.1\",\n\"0.0.0.0\" ];"),
	 "7: 0.0.0.0 is not an address to connect to: give the server's own address\n"
	 "5: route \"a\" leads to its own listener, by 10.0.0.1 port 20049: give the server's "
	 "address\n"},
	{UPSTREAM("addresses = ( \"a b\",\n7,\n\"c\",\n\"C\" );"),
	 "5: " NEITHER(
		 "addresses",
		 "a b") "6: addresses must be text: write each address or name in double quotes\n"
			"8: addresses has \"C\" twice: once is enough\n"},
	{UPSTREAM("addresses = [ \"filer\", \"10.0.0.2\", \"fd00::2\" ];\nsource = \"10.0.0.9\";"),
	 "6: source has IPv4 addresses, and fd00::2 is of the other family: give addresses of its "
	 "own\n"},
	{UPSTREAM(
		 "addresses = [ \"10.0.0.2\", \"fd00::2\", \"fd00::3\" ];\nsource = \"10.0.0.9\";"),
	 "6: source has IPv4 addresses, and fd00::2 is of the other family: give addresses of its "
	 "own\n6: source has IPv4 addresses, and fd00::3 is of the other family: give addresses "
	 "of its own\n"},
	{UPSTREAM("addresses = ( \"a b\",\n\"0.0.0.0\",\n\"::\" );"),
	 "5: " NEITHER(
		 "addresses",
		 "a b") "6: 0.0.0.0 is not an address to connect to: give the server's own "
			"address\n"
			"7: :: is not an address to connect to: give the server's own address\n"},
	/* From where to connect. */
	{TO("source = \"192.0.2.0/24\";"),
	 "5: source is a network: give one address, or say which clients have its addresses: "
	 "source = ( { "
	 "clients = \"192.0.2.0/24\"; addresses = \"198.51.100.0/24\"; } );\n"},
	{TO("source = \"10.0.0.300\";"),
	 "5: source has \"10.0.0.300\", which is not a network: write it like "
	 "\"192.0.2.0/24\" or \"2001:db8::/32\"\n"},
	{TO("source = \"::1\";"),
	 "5: source has IPv6 addresses, and 10.0.0.2 is of the other family: give "
	 "addresses of its own\n"},
	{TO("source = \"0.0.0.0\";"), "5: " ZEROS},
	{TO("source = \"239.1.2.3\";"),
	 "5: source has a multicast or broadcast address, from which nothing connects: give an "
	 "address of this machine\n"},
	{TO("source = 7;"),
	 "5: source must be a list: write [{ clients = \"NETWORK\"; addresses = \"NETWORK\"; }, "
	 "...]\n"},
	{TO("source = ( { clients = \"192.0.2.0/24\"; } );"), "5: " SOURCE},
	{TO("source = ( 1,\n{ clients = \"10.0.0.0/8\"; addresses = \"10.0.0.7\"; },\n2 );"),
	 "5: " SOURCE "7: " SOURCE},
	{TO("source = ( { clients = \"10.0.0.0/8\"; addresses = \"0.0.0.0\"; },\n{ clients = "
	    "\"192.0.2.0/24\"; addresses = \"0.0.0.0\"; } );"),
	 "5: " ZEROS "6: " ZEROS},
	{TO("source = ( { name = \"a.example\"; clients = \"192.0.2.0/24\"; } );"), "5: " SOURCE},
	{TO("source = ( { addresses = \"10.0.0.7\"; } );"), "5: " SOURCE},
	{TO("source = ( { name = \"a\"; addresses = \"10.0.0.7\"; port = 7; } );"), "5: " SOURCE},
	{TO("source = ( \"10.0.0.7\" );"), "5: " SOURCE},
	{TO("source = ( { name = 7; addresses = \"10.0.0.7\"; } );"),
	 "5: name must be text: write each name in double quotes\n"},
	{TO("source = ( { name = \"a b\"; addresses = \"10.0.0.7\"; } );"),
	 "5: name has a name that is empty or has blanks: write names as certificates have them\n"},
	{TO("source = ( { name = \"a\"; addresses = \"10.0.0.0/28\"; } );"),
	 "5: addresses are a network, and clients with the name may come from any address: add "
	 "clients, or give one address\n"
	 "5: source needs clients that prove their names: give the listener a hostauth with mode = "
	 "\"require\", or leave them out\n"},
	{TO("source = ( { clients = \"192.0.2.0/24\"; addresses = \"10.0.0.0/25\"; } );"),
	 "5: addresses are fewer than clients: give as large a network, or one address for all of "
	 "them\n"},
	/* Settings that need several servers. */
	{TO("balance = \"client\";"),
	 "5: balance does nothing with one address: give several, or a name, or leave it out\n"},
	{TO("balance = \"random\";"), "5: there is no such balance: use \"order\" or \"client\"\n"},
	{TO("probe_interval = 3601;"), "5: " INT_RANGE("probe_interval", "3601", "0", "3600")},
	{UPSTREAM("address = \"filer\";\nsource = ( { clients = \"192.0.2.0/24\"; addresses = "
		  "\"10.1.7.0/24\"; } );\nside_ports = ( 111 );"),
	 "7: side_ports lead to one server, whose address the kernel has to know: give upstream "
	 "one address and no name, or leave them out\n"},
	/* Settings for upstream only. */
	{ROUTE(NAME "listen = { address = \"filer\"; };\n" UP), "3: " NO_ADDRESS("address")},
};

static void test_errors(void **state)
{
	(void)state;
	check_rows(ROWS(hosts));
}

static struct config *good(const char *text)
{
	struct config *cfg;

	if (load(text, &cfg))
		fail_msg("refused: %s", told);
	return cfg;
}

static void test_names(void **state)
{
	static const char *const names[] = {"filer",
					    "filer.example.net",
					    "filer.example.net.",
					    "1filer",
					    "10.0.0.x",
					    "a_b.example",
					    L63 ".example",
					    L63 "." L63 "." L63 "."
						"abcdefghijabcdefghijabcdefghij"
						"abcdefghijabcdefghijabcdefghija"};

	(void)state;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char text[1024];
		struct config *cfg;

		snprintf(text, sizeof(text), UPSTREAM("address = \"%s\"; balance = \"client\";"),
			 names[i]);
		cfg = good(text);
		assert_int_equal(config_hosts(&cfg->routes[0].upstream), 1);
		assert_string_equal(config_host(&cfg->routes[0].upstream, 0), names[i]);
		assert_false(config_is_literal(names[i]));
		config_free(cfg);
	}
}

/* As it is printed it is read again. */
static void test_several(void **state)
{
	struct config *cfg = good(UPSTREAM(
		"addresses = ( \"10.0.0.2\", \"filer.example\", \"[fd00::2]\", \"fe80::1%eth0\" "
		");\nbalance = \"client\"; probe_interval = 7;"));
	struct config_end *up = &cfg->routes[0].upstream;
	struct config *again;
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	assert_int_equal(config_hosts(up), 4);
	assert_string_equal(config_host(up, 0), "10.0.0.2");
	assert_string_equal(config_host(up, 1), "filer.example");
	assert_string_equal(config_host(up, 2), "fd00::2");
	assert_string_equal(config_host(up, 3), "fe80::1%eth0");
	assert_int_equal(up->balance, CONFIG_BALANCE_CLIENT);
	assert_int_equal(up->probe_interval_s, 7);
	config_print(cfg, f);
	fclose(f);
	again = good(text);
	assert_true(config_is_same_route(&cfg->routes[0], &again->routes[0]));
	again->routes[0].upstream.hosts.text[0] = '2';
	assert_false(config_is_same_route(&cfg->routes[0], &again->routes[0]));
	config_free(again);
	config_free(cfg);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_several),
	};

	return cmocka_run_group_tests_name("hosts", tests, NULL, NULL);
}
