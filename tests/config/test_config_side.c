/* SPDX-License-Identifier: BSD-2-Clause */
/* The protocols beside RDMA: which configurations the kernel can forward, and the rules for
 * them. */
#include "tests/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "tests/config/load.h"

#define OWN "source = ( { clients = \"192.0.2.0/24\"; addresses = \"10.1.7.0/24\"; } ); "
#define NO_PORT                                                                                    \
	"side_ports has an item that is not a port: use 1 to 65535, or text like \"4045-4046\"\n"
#define ONE_FOR_MANY                                                                               \
	"side_ports need an address for each client, and source has one for many: the server "     \
	"could not tell their locks apart\n"

static const struct bad side[] = {
	{TO("side_ports = 111;"), "5: side_ports must be a list: write [111, 2049, ...]\n"},
	{TO(OWN "side_ports = ( 111, 0 );"), "5: " NO_PORT},
	{TO(OWN "side_ports = ( 111, 65536 );"), "5: " NO_PORT},
	{TO(OWN "side_ports = [ \"111\", \"-4046\" ];"), "5: " NO_PORT},
	{TO(OWN "side_ports = [ \"4046-4045\" ];"), "5: " NO_PORT},
	{TO(OWN "side_ports = [ \"4045-\" ];"), "5: " NO_PORT},
	{TO(OWN "side_ports = [ \"4045-4046-4047\" ];"), "5: " NO_PORT},
	{TO(OWN "side_ports = [ \"4045-65536\" ];"), "5: " NO_PORT},
	{TO(OWN "side_ports = [ \"99999999999999999999\" ];"), "5: " NO_PORT},
	{TO(OWN "side_ports = ( true );"), "5: " NO_PORT},
	{TO(OWN "side_ports = ( 0,\n111,\n111,\n\"x\" );"),
	 "5: " NO_PORT "7: side_ports has port 111 twice: once is enough\n"
	 "8: " NO_PORT},
	{TO(OWN "side_ports = ( 4045, \"4000-5000\" );"),
	 "5: side_ports has port 4000 twice: once is enough\n"},
	{TO(OWN "side_ports = ( 111, \"20000-30000\" );"),
	 "5: side_ports have port 20049, where the gateway itself listens: leave it out\n"},
	{TO("side_ports = ( 111 );"),
	 "5: side_ports need a source: if all clients have one address, the server cannot tell "
	 "their locks apart, and its callbacks cannot reach the right client\n"},
	{TO("source = \"10.0.0.7\"; side_ports = ( 111 );"), "5: " ONE_FOR_MANY},
	{TO("source = ( { clients = \"192.0.2.0/31\"; addresses = \"10.0.0.7\"; } ); "
	    "side_ports = ( 111 );"),
	 "5: " ONE_FOR_MANY},
	{TO("source = ( { clients = \"192.0.2.0/24\"; addresses = \"10.1.0.0/16\"; }, "
	    "{ clients = \"192.0.3.0/24\"; addresses = \"10.1.0.0/24\"; } ); side_ports = ( 111 "
	    ");"),
	 "5: side_ports need an address for each client, and two items of source have the same "
	 "ones: give them others\n"},
	{ROUTE(NAME "listen = { address = \"::\"; };\n"
		    "upstream = { address = \"10.0.0.2\";\n" OWN "side_ports = ( 111 ); };\n"),
	 "5: side_ports need a listener with one address, and this one listens on all: give listen "
	 "an address that leads to this server alone\n"},
	{ROUTE(NAME "listen = { address = \"::1\"; };\n"
		    "upstream = { address = \"10.0.0.2\";\n" OWN "side_ports = ( 111 ); };\n"),
	 "5: side_ports are carried from IPv4 to IPv4, or IPv6 to IPv6: listen on an address of "
	 "the upstream's family, or leave them out\n"},
	{ROUTE(NAME "listen = { address = \"fd00::1\"; };\n"
		    "upstream = { address = \"fe80::2%eth0\";\n"
		    "source = ( { clients = \"fd00:1::/64\"; addresses = \"fd00:2::/64\"; } );\n"
		    "side_ports = ( 111 ); };\n"),
	 "6: side_ports are not carried from or to link-local addresses: use others, or leave "
	 "them out\n"},
	{"metrics = { address = \"0.0.0.0\"; port = 2049; };\n" TO(
		 OWN "side_ports = ( \"111\", 2049 );"),
	 "6: side_ports have port 2049, where the gateway itself listens: leave it out\n"},
	/* One address has one rpcbind; one filer's callbacks have one way. */
	{"routes = ( {\n" NAME LISTEN "upstream = { address = \"10.0.0.2\";\n" OWN
	 "side_ports = ( 111 ); }; }, { name = \"b\";\n"
	 "listen = { address = \"10.0.0.1\"; port = 20050; };\n"
	 "upstream = { address = \"10.0.0.3\";\n" OWN "side_ports = ( 111 ); }; } );",
	 "8: route \"a\" has side_ports at the same address, with another server, source, clients "
	 "or "
	 "ports: one address has one rpcbind, so give both routes the same, or listen on another "
	 "address\n"},
	{"routes = ( {\n" NAME LISTEN "upstream = { address = \"10.0.0.2\";\n" OWN
	 "side_ports = ( 111 ); }; }, { name = \"b\";\n"
	 "listen = { address = \"10.0.0.9\"; };\n"
	 "upstream = { address = \"10.0.0.2\";\n" OWN "side_ports = ( 111 ); }; } );",
	 "8: route \"a\" has the same server and the same source addresses: the server's callbacks "
	 "could be for either: give one of the two routes other addresses\n"},
};

static void test_refused(void **state)
{
	(void)state;
	check_rows(ROWS(side));
}

static void assert_rules(const struct config *cfg, const char *path)
{
	char *rules, want[16384] = "";
	FILE *f = fopen(path, "r");
	size_t len = fread(want, 1, sizeof(want) - 1, f);

	fclose(f);
	assert_true(len < sizeof(want) - 1);
	f = open_memstream(&rules, &len);
	config_print_nft(cfg, f);
	fclose(f);
	assert_string_equal(rules, want);
	free(rules);
}

/* Only the text of the rules; tests/nfs3 loads them into nft. */
static void test_rules(void **state)
{
	struct config *cfg;

	(void)state;
	assert_int_equal(load_path("tests/config/side.conf", &cfg), 0);
	assert_int_equal(cfg->routes[0].upstream.side_ports.n, 3);
	assert_int_equal(cfg->routes[0].upstream.side_ports.at[2].first, 4045);
	assert_int_equal(cfg->routes[0].upstream.side_ports.at[2].last, 4046);
	assert_rules(cfg, "tests/config/side.nft");
	config_free(cfg);
	assert_int_equal(load(GOOD, &cfg), 0);
	assert_rules(cfg, "tests/config/none.nft");
	config_free(cfg);
}

/* As it is printed it reads back. */
static void test_printed(void **state)
{
	struct config *a, *b;
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	assert_int_equal(load_path("tests/config/side.conf", &a), 0);
	config_print(a, f);
	fclose(f);
	assert_int_equal(load(text, &b), 0);
	for (uint32_t i = 0; i < a->nroutes; i++)
		assert_true(config_is_same_route(&a->routes[i], &b->routes[i]));
	b->routes[0].upstream.side_ports.at[1].last++;
	assert_false(config_is_same_route(&a->routes[0], &b->routes[0]));
	assert_rules(a, "tests/config/side.nft");
	free(text);
	config_free(a);
	config_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_printed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
