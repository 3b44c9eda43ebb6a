/* SPDX-License-Identifier: BSD-2-Clause */
/* Host authentication in the configuration: valid settings, and each error with its line. */
#include "tests/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "tests/config/load.h"

/* Host authentication: "hostauth" is in line 4 of a listener, 5 of an upstream. */
#define PEM "certificate = \"/c\"; key = \"/k\"; ca = \"/a\"; "
#define ON_AUTH(text) ON("hostauth = {\n" text " };")
#define TO_AUTH(text) TO("hostauth = {\n" text " };")
#define LACKS(key) "hostauth has no " key ": give certificate, key and ca, or psk_file\n"

static const struct bad hostauth[] = {
	{ON("hostauth = 1;"), "4: hostauth must be a group: write hostauth = { ... };\n"},
	{ON("hostauth = { };"), "4: mode is missing: give it\n"},
	{ON_AUTH("mode = \"on\";"),
	 "5: there is no such mode: use \"off\", \"allow\" or \"require\"\n"},
	{ON_AUTH("mode = \"require\";"),
	 "4: " LACKS("certificate") "4: " LACKS("key") "4: " LACKS("ca")},
	{TO_AUTH("mode = \"allow\"; certificate = \"/c\"; ca = \"/a\";"), "5: " LACKS("key")},
	{ON_AUTH("mode = \"require\"; psk_file = \"/p\";\n" PEM),
	 "6: certificate and psk_file exclude each other: leave one of them out\n"
	 "6: key and psk_file exclude each other: leave one of them out\n"
	 "6: ca and psk_file exclude each other: leave one of them out\n"},
	{ON_AUTH("mode = \"require\"; psk_file = \"/p\";\ncrl = \"/r\";"),
	 "6: crl and psk_file exclude each other: leave one of them out\n"},
	{ON("versions = [1]; hostauth = { mode = \"allow\"; " PEM "};"),
	 "4: hostauth needs version 2, which this listen does not speak: allow version 2, or "
	 "use mode = \"off\"\n"},
	{ON("versions = [\"2-early\"]; hostauth = { mode = \"require\"; " PEM "};"),
	 "4: hostauth needs version 2, which this listen does not speak: allow version 2, or "
	 "use mode = \"off\"\n"},
	{TO("version = \"2-early\"; hostauth = { mode = \"require\"; " PEM "};"),
	 "5: hostauth needs version 2, which this upstream does not speak: allow version 2, or "
	 "use mode = \"off\"\n"},
	{TO("version = \"1\"; hostauth = { mode = \"require\"; " PEM "};"),
	 "5: hostauth needs version 2, which this upstream does not speak: allow version 2, or "
	 "use mode = \"off\"\n"},
	{ON_AUTH("mode = \"off\"; key = \"k.pem\";"),
	 "5: key is not an absolute path: begin it with a slash, because the service has another "
	 "working folder\n"},
	{ON_AUTH("mode = \"off\"; key = 3;"),
	 "5: key must be text: write the path of a file in double quotes\n"},
	{ON_AUTH("mode = \"off\"; ca = \"/a\\\"b\";"), "5: ca" NOT_PLAIN},
	{ON_AUTH("mode = \"off\"; names = \"client.example\";"),
	 "5: names must be a list: write [\"host.example\", ...]\n"},
	{ON_AUTH("mode = \"off\"; names = [];"),
	 "5: names is empty: give at least one, or leave it out\n"},
	{ON_AUTH("mode = \"off\"; names = [ 1 ];"),
	 "5: names must be text: write each name in double quotes\n"},
	{ON_AUTH("mode = \"off\"; names = [ \"a\", \"\" ];"),
	 "5: names has a name that is empty or has blanks: write names as certificates have "
	 "them\n"},
	{ON_AUTH("mode = \"off\"; names = [ \"a b\" ];"),
	 "5: names has a name that is empty or has blanks: write names as certificates have "
	 "them\n"},
	{ON_AUTH("mode = \"off\"; timeout = 0;"), "5: " INT_RANGE("timeout", "0", "1", "3600")},
	{ON_AUTH("mode = \"off\"; warn_days = 3651;"),
	 "5: " INT_RANGE("warn_days", "3651", "0", "3650")},
	{ON_AUTH("mode = \"off\"; max_handshakes = 0;"),
	 "5: " INT_RANGE("max_handshakes", "0", "1", "65536")},
	{ON_AUTH("mode = \"require\"; " PEM "unneeded_from = [ \"192.0.2.0/33\" ];"),
	 "5: unneeded_from has \"192.0.2.0/33\", which is not a network: write it like "
	 "\"192.0.2.0/24\" "
	 "or \"2001:db8::/32\"\n"},
	{ON_AUTH("mode = \"require\"; " PEM "unneeded_from = ( \"x\",\n\"10.0.0.0/8\",\n7 );"),
	 "5: unneeded_from has \"x\", which is not a network: write it like \"192.0.2.0/24\" or "
	 "\"2001:db8::/32\"\n"
	 "7: unneeded_from must be text: write each network in double quotes\n"},
	{ON_AUTH("mode = \"require\"; " PEM "names = ( \"a b\",\n\"c\",\n7 );"),
	 "5: names has a name that is empty or has blanks: write names as certificates have them\n"
	 "7: names must be text: write each name in double quotes\n"},
	{ON_AUTH("mode = \"require\"; " PEM "unneeded_from = [ \"192.0.2.0/\" ];"),
	 "5: unneeded_from has \"192.0.2.0/\", which is not a network: write it like "
	 "\"192.0.2.0/24\" "
	 "or "
	 "\"2001:db8::/32\"\n"},
	{ON_AUTH("mode = \"require\"; " PEM "unneeded_from = [ \"192.0.2.1/24\" ];"),
	 "5: unneeded_from has \"192.0.2.1/24\", with bits behind its prefix: write the address of "
	 "the "
	 "network, or a longer prefix\n"},
	{ON_AUTH("mode = \"require\"; " PEM "unneeded_from = [ \"2001:db8:1::/32\" ];"),
	 "5: unneeded_from has \"2001:db8:1::/32\", with bits behind its prefix: write the address "
	 "of "
	 "the network, or a longer prefix\n"},
	{ON_AUTH("mode = \"allow\"; " PEM "unneeded_from = [ \"::/0\" ];"),
	 "4: unneeded_from does nothing where hostauth is not required: use mode = \"require\", or "
	 "leave it out\n"},
	{TO_AUTH("mode = \"off\"; unneeded_from = [ ];"),
	 "6: unknown key \"unneeded_from\": known here are mode, certificate, key, ca, crl, "
	 "psk_file, "
	 "names, timeout, warn_days\n"},
};

/* Two routes in one place: "for" is in lines 1 and 4, "listen" in 2 and 5. */
#define TWO(first, on_first, second, on_second)                                                    \
	"routes = ( { name = \"a\"; " first "\n" LISTEN_ON(on_first) UP                            \
		"}, { name = \"b\"; " second "\n" LISTEN_ON(on_second) UP "} );\n"
#define LISTEN_ON(text) "listen = { address = \"10.0.0.1\"; " text "};\n"
#define REQUIRE "hostauth = { mode = \"require\"; " PEM "}; "
#define REQUIRE_OF(names) "hostauth = { mode = \"require\"; names = [ " names " ]; " PEM "}; "
#define FOR(names) "for = [ " names " ];"
#define TAKEN(name, by)                                                                            \
	"4: for has \"" name "\", but \"" by                                                       \
	"\" leads to route \"a\" already: a name leads to one route\n"

static const struct bad shared[] = {
	{ROUTE(NAME "for = ();\n" LISTEN UP),
	 "3: for is empty: give at least one, or leave it out\n"},
	{ROUTE(NAME "for = 1;\n" LISTEN UP),
	 "3: for must be a list: write [\"host.example\", ...]\n"},
	{TWO("", REQUIRE, "", ""),
	 "5: route \"a\" listens on 10.0.0.1 port 20049 already: use another address or port\n"},
	{TWO(FOR("\"a.example\""), "", FOR("\"b.example\""), ""),
	 "1: for needs clients that prove their names: give the listener a hostauth with mode = "
	 "\"require\", or leave it out\n"
	 "4: for needs clients that prove their names: give the listener a hostauth with mode = "
	 "\"require\", or leave it out\n"},
	{TWO(FOR("\"a.example\""), "hostauth = { mode = \"allow\"; " PEM "};", "", ""),
	 "1: for needs clients that prove their names: give the listener a hostauth with mode = "
	 "\"require\", or leave it out\n"},
	{TWO(FOR("\"a.example\""), REQUIRE, FOR("\"A.Example\""), ""),
	 TAKEN("A.Example", "a.example")},
	{TWO(FOR("\"x.a\", \"*.example\""), REQUIRE, FOR("\"b.example\""), ""),
	 TAKEN("b.example", "*.example")},
	{TWO(FOR("\"b.example\""), REQUIRE, FOR("\"*.example\""), ""),
	 TAKEN("*.example", "b.example")},
	{TWO(FOR("\"*.example\""), REQUIRE, FOR("\"*.example\""), ""),
	 TAKEN("*.example", "*.example")},
	{TWO(FOR("\"nfs://a/\""), REQUIRE, FOR("\"nfs://a/\""), ""), TAKEN("nfs://a/", "nfs://a/")},
	{TWO(FOR("\"a.example\""), REQUIRE, FOR("\"b.example\""), "credits = 7; "),
	 "5: listen differs from that of route \"a\", whose listener it shares: repeat that "
	 "listen, or give fabric, address and port alone\n"},
	{TWO(FOR("\"a.b\""), REQUIRE_OF("\"*.example\""), FOR("\"a.example\""), ""),
	 "1: for has \"a.b\", which names of the listener's hostauth does not let in: add it "
	 "there, or leave it out here\n"},
	{TWO(FOR("\"a*.example\""), REQUIRE, "", ""),
	 "1: for has \"a*.example\", which matches nothing: a wildcard stands for the whole first "
	 "label, like *.example.net\n"},
	{TWO(FOR("\"*.example\""), "hostauth = { mode = \"require\"; psk_file = \"/p\"; }; ", "",
	     ""),
	 "1: for has \"*.example\", but a wildcard is for certificates: write identities of the "
	 "psk_file\n"},
	{"routes = ( { name = \"a\"; " FOR("\"a.b\"") LISTEN_ON(REQUIRE) UP
	 "}, { name = \"b\";" LISTEN UP "}, { name = \"c\";" LISTEN UP "} );\n",
	 "5: route \"b\" on the same listener has no for either: at most one route of a listener "
	 "serves all other names\n"},
};

/* Names of "source", in line 4 of a route whose "for" and listener stand in 2 and 3. */
#define NAMED(first, on, source)                                                                   \
	"routes = ( { name = \"a\";\n" first                                                       \
	"\n" LISTEN_ON(on) "upstream = { address = \"10.0.0.2\"; " source " }; } );\n"
#define FROM(name) "source = ( { name = \"" name "\"; addresses = \"10.0.0.7\"; } );"

static const struct bad sources[] = {
	{NAMED("", "", FROM("a.example")),
	 "4: source needs clients that prove their names: give the listener a hostauth with mode = "
	 "\"require\", or leave them out\n"},
	{NAMED("", REQUIRE, FROM("a.*.example")),
	 "4: source has \"a.*.example\", which matches nothing: a wildcard stands for the whole "
	 "first label, like *.example.net\n"},
	{NAMED("", "hostauth = { mode = \"require\"; psk_file = \"/p\"; }; ", FROM("*.example")),
	 "4: source has \"*.example\", but a wildcard is for certificates: write identities of "
	 "the psk_file\n"},
	{NAMED("", REQUIRE_OF("\"*.example\""), FROM("a.b")),
	 "4: source has \"a.b\", which names of the listener's hostauth does not let in: add it "
	 "there, or leave it out here\n"},
	{NAMED(FOR("\"a.example\""), REQUIRE, FROM("b.example")),
	 "4: source has \"b.example\", which for of this route does not let in: add it there, or "
	 "leave it out here\n"},
	{NAMED("", REQUIRE, FROM("a.example") " side_ports = ( 111 );"),
	 "4: side_ports are carried by the kernel, which does not know names of clients: give a "
	 "source without name, or leave side_ports out\n"},
};

static void test_source_errors(void **state)
{
	(void)state;
	check_rows(ROWS(sources));
}

/* As it is printed it reads back. */
static void test_source_good(void **state)
{
	static const char text[] =
		NAMED(FOR("\"*.example\""), REQUIRE,
		      "source = ( { name = \"a.example\"; addresses = \"10.0.0.7\"; }, { name = "
		      "\"b.example\"; clients = \"192.0.2.0/24\"; addresses = \"10.1.0.0/24\"; }, "
		      "{ clients = \"::/0\"; addresses = \"10.0.0.8\"; } );");
	struct config *a, *b;
	const struct config_sources *s;
	char *printed;
	size_t len;
	FILE *f = open_memstream(&printed, &len);

	(void)state;
	assert_int_equal(load(text, &a), 0);
	s = &a->routes[0].upstream.sources;
	assert_int_equal(s->n, 3);
	assert_string_equal(config_source_name(s, &s->at[0]), "a.example");
	assert_true(s->at[0].everywhere);
	assert_string_equal(config_source_name(s, &s->at[1]), "b.example");
	assert_false(s->at[1].everywhere);
	assert_int_equal(s->at[1].clients.bits, 24);
	assert_null(config_source_name(s, &s->at[2]));
	config_print(a, f);
	fclose(f);
	assert_int_equal(load(printed, &b), 0);
	assert_true(config_is_same_route(&a->routes[0], &b->routes[0]));
	b->routes[0].upstream.sources.names.text[0] = 'c';
	assert_false(config_is_same_route(&a->routes[0], &b->routes[0]));
	free(printed);
	config_free(a);
	config_free(b);
}

static void test_shared_errors(void **state)
{
	(void)state;
	check_rows(ROWS(shared));
}

static void test_shared_good(void **state)
{
	static const char *const texts[] = {
		TWO(FOR("\"a.example\""), REQUIRE, FOR("\"b.example\""), ""),
		TWO(FOR("\"a.example\""), REQUIRE, "", "fabric = \"iwarp\"; port = 20049; "),
		TWO("", REQUIRE, FOR("\"*.example\", \"a.b.example\""), REQUIRE),
		TWO(FOR("\"*.example\", \"nfs://a/\""),
		    REQUIRE_OF("\"*.example\", \"*.b.example\", \"nfs://a/\", \"nfs://A/\""),
		    FOR("\"*.b.example\", \"nfs://A/\""), ""),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct config *cfg;
		int err = load(texts[i], &cfg);

		assert_string_equal(told, "");
		assert_int_equal(err, 0);
		assert_int_equal(cfg->routes[0].listener, 0);
		assert_int_equal(cfg->routes[1].listener, 0);
		assert_int_equal(cfg->routes[1].listen.hostauth.mode, CONFIG_HOSTAUTH_REQUIRE);
		assert_string_equal(cfg->routes[1].listen.hostauth.ca.path, "/a");
		config_free(cfg);
	}
}

static void test_full_hostauth(void **state)
{
	const struct config_hostauth *h;
	struct config *cfg;

	(void)state;
	assert_int_equal(load_path("tests/config/full.conf", &cfg), 0);
	h = &cfg->routes[1].listen.hostauth;

	assert_int_equal(h->mode, CONFIG_HOSTAUTH_REQUIRE);
	assert_string_equal(h->certificate.path, "/etc/gw/cert.pem");
	assert_string_equal(h->key.path, "/etc/gw/key.pem");
	assert_string_equal(h->ca.path, "/etc/gw/ca.pem");
	assert_string_equal(h->crl.path, "/etc/gw/crl.pem");
	assert_string_equal(h->psk.path, "");
	assert_int_equal(h->names.n, 2);
	assert_memory_equal(h->names.text, "*.example\0nfs://client.example/\0", 32);
	assert_int_equal(h->unneeded.n, 3);
	assert_int_equal(h->unneeded.nets[0].bits, 24);
	assert_memory_equal(h->unneeded.nets[0].octets, "\xc0\0\2\0", 4);
	assert_false(h->unneeded.nets[0].is_v6);
	assert_true(h->unneeded.nets[1].is_v6);
	assert_int_equal(h->unneeded.nets[1].bits, 32);
	assert_int_equal(h->unneeded.nets[2].bits, 32); /* an address alone */
	assert_int_equal(h->timeout_s, 7);
	assert_int_equal(h->warn_days, 14);
	assert_int_equal(h->max_handshakes, 40);
	assert_int_equal(h->line, 39);
	assert_int_equal(h->key.line, 40);
	assert_int_equal(cfg->routes[1].names.n, 2);
	assert_string_equal(cfg->routes[1].names.text, "*.example");
	assert_int_equal(cfg->routes[1].listener, 1);
	h = &cfg->routes[0].upstream.hostauth;
	assert_int_equal(h->mode, CONFIG_HOSTAUTH_ALLOW);
	assert_string_equal(h->psk.path, "/etc/gw/psk");
	assert_int_equal(h->names.n, 0);
	config_free(cfg);
}

static void test_hostauth_errors(void **state)
{
	(void)state;
	check_rows(ROWS(hostauth));
}

static void test_hostauth_good(void **state)
{
	static const char *const texts[] = {
		ON_AUTH("mode = \"off\"; key = \"\"; unneeded_from = ();"),
		ON_AUTH("mode = \"require\"; " PEM "unneeded_from = ( \"0.0.0.0/0\", \"::/0\" );"),
		TO_AUTH("mode = \"require\"; psk_file = \"/p\";"),
		"receive_queue = \"shared\";" GOOD, /* on whatever fabric */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct config *cfg;
		int err = load(texts[i], &cfg);

		assert_string_equal(told, "");
		assert_int_equal(err, 0);
		config_free(cfg);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full_hostauth), cmocka_unit_test(test_hostauth_errors),
		cmocka_unit_test(test_hostauth_good), cmocka_unit_test(test_shared_errors),
		cmocka_unit_test(test_shared_good),   cmocka_unit_test(test_source_errors),
		cmocka_unit_test(test_source_good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
