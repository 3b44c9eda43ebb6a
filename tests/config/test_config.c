/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration reader: good files, every error with its line, printing and reading back. */
#include "tests/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "config/config.h"
#include "tests/config/load.h"

/* --- good files ----------------------------------------------------------- */

static void test_defaults(void **state)
{
	struct config *cfg;
	const struct config_end *l, *u;

	(void)state;
	assert_int_equal(load_path("tests/config/minimal.conf", &cfg), 0);
	assert_string_equal(told, "");
	assert_int_equal(cfg->workers, 0);
	assert_true(cfg->memory_bytes == 1 << 30);
	assert_int_equal(cfg->max_payload, 8 << 20);
	assert_int_equal(cfg->continue_max, 64 << 10);
	assert_true(cfg->cut_through);
	assert_true(cfg->cut_through_from == 32 << 20);
	assert_int_equal(cfg->max_sessions, 0);
	assert_int_equal(cfg->max_sessions_per_client, 0);
	assert_int_equal(cfg->max_setups, 0);
	assert_int_equal(cfg->max_setups_per_second, 1000);
	assert_int_equal(cfg->drain_timeout_s, 10);
	assert_int_equal(cfg->peer_timeout_s, 30);
	assert_int_equal(cfg->adaptive_poll_us, 250);
	assert_int_equal(cfg->receives, CONFIG_RECEIVES_AUTO);
	assert_int_equal(cfg->handles, CONFIG_HANDLES_REFUSE);
	assert_int_equal(cfg->log_level, LOG_LEVEL_INFO);
	assert_int_equal(cfg->nroutes, 1);
	assert_string_equal(cfg->routes[0].name, "filer1");
	l = &cfg->routes[0].listen;
	assert_string_equal(l->fabric, "iwarp");
	assert_string_equal(l->address, "10.77.0.1");
	assert_int_equal(l->port, 20049);
	assert_int_equal(l->versions, CONFIG_V1 | CONFIG_V2);
	assert_int_equal(l->hop, CONFIG_HOP_AUTO);
	assert_true(l->crc);
	assert_int_equal(l->inline_bytes, 4096);
	assert_int_equal(l->credits, 64);
	assert_int_equal(l->reverse_credits, 16);
	assert_int_equal(l->timeout_s, 30);
	assert_int_equal(l->reply_timeout_s, 0);
	assert_int_equal(l->retry_count, 6);
	assert_int_equal(l->rnr_retry_count, 0);
	assert_int_equal(l->busy_poll_us, 0);
	u = &cfg->routes[0].upstream;
	assert_string_equal(u->fabric, "iwarp");
	assert_int_equal(u->port, 20049);
	assert_int_equal(u->versions, CONFIG_V1 | CONFIG_V2);
	assert_int_equal(u->hop, CONFIG_HOP_AUTO);
	assert_true(u->crc);
	assert_int_equal(u->inline_bytes, 4096);
	assert_int_equal(u->credits, 64);
	assert_int_equal(u->reverse_credits, 16);
	assert_int_equal(u->timeout_s, 10);
	assert_int_equal(u->reply_timeout_s, 0);
	assert_int_equal(u->version_memory_s, 600);
	assert_int_equal(u->reverse, CONFIG_REVERSE_AUTO);
	assert_int_equal(u->retry_count, 6);
	assert_int_equal(u->rnr_retry_count, 0);
	assert_int_equal(u->resolve_timeout_s, 5);
	assert_int_equal(u->busy_poll_us, 0);
	assert_int_equal(l->hostauth.mode, CONFIG_HOSTAUTH_OFF);
	assert_int_equal(l->hostauth.timeout_s, 10);
	assert_int_equal(l->hostauth.warn_days, 30);
	assert_int_equal(l->hostauth.max_handshakes, 256);
	assert_int_equal(u->hostauth.mode, CONFIG_HOSTAUTH_OFF);
	assert_int_equal(u->hostauth.timeout_s, 10);
	assert_int_equal(u->hostauth.warn_days, 30);
	config_free(cfg);
}

static void test_full(void **state)
{
	struct config *cfg;
	const struct config_end *l, *u;

	(void)state;
	assert_int_equal(load_path("tests/config/full.conf", &cfg), 0);
	assert_string_equal(told, "");
	assert_int_equal(cfg->workers, 2);
	assert_int_equal(cfg->memory_bytes, 512 << 20);
	assert_int_equal(cfg->max_payload, 1 << 20);
	assert_int_equal(cfg->continue_max, 32768);
	assert_false(cfg->cut_through);
	assert_true(cfg->cut_through_from == 5 << 20);
	assert_int_equal(cfg->max_sessions, 200);
	assert_int_equal(cfg->max_sessions_per_client, 50);
	assert_int_equal(cfg->max_setups, 30);
	assert_int_equal(cfg->max_setups_per_second, 20);
	assert_int_equal(cfg->drain_timeout_s, 3);
	assert_int_equal(cfg->peer_timeout_s, 7);
	assert_int_equal(cfg->receives, CONFIG_RECEIVES_OWN);
	assert_int_equal(cfg->handles, CONFIG_HANDLES_ALLOW);
	assert_int_equal(cfg->adaptive_poll_us, 70);
	assert_int_equal(cfg->log_level, LOG_LEVEL_DEBUG);
	assert_string_equal(cfg->control.path, "/run/rpcrdma-gw/control");
	assert_string_equal(cfg->metrics.address, "::1");
	assert_int_equal(cfg->metrics.port, 9750);
	assert_int_equal(cfg->metrics.names.n, 2);
	assert_memory_equal(cfg->metrics.names.text, "gw\0gw.example\0", 14);
	assert_int_equal(cfg->nroutes, 2);
	l = &cfg->routes[0].listen;
	u = &cfg->routes[0].upstream;
	assert_string_equal(cfg->routes[0].name, "edge.v1-2_x");
	assert_string_equal(l->address, "0.0.0.0");
	assert_int_equal(l->port, 1);
	assert_int_equal(l->clients.n, 2);
	assert_int_equal(l->clients.nets[0].bits, 24);
	assert_true(l->clients.nets[1].is_v6);
	assert_int_equal(l->versions, CONFIG_V1);
	assert_int_equal(l->hop, CONFIG_HOP_NEAR);
	assert_int_equal(l->inline_bytes, 8192);
	assert_int_equal(l->bulk_bytes, 0);
	assert_int_equal(l->credits, 32);
	assert_int_equal(l->reverse_credits, 8);
	assert_false(l->crc);
	assert_true(l->literal_credits);
	assert_int_equal(l->timeout_s, 5);
	assert_int_equal(l->reply_timeout_s, 120);
	assert_string_equal(u->address, "::1");
	assert_int_equal(u->port, 65535);
	assert_int_equal(u->sources.n, 2);
	assert_int_equal(u->sources.at[0].clients.bits, 24);
	assert_true(u->sources.at[0].addresses.is_v6);
	assert_int_equal(u->sources.at[1].addresses.bits, 128);
	assert_int_equal(u->versions, CONFIG_V2);
	assert_int_equal(u->hop, CONFIG_HOP_FAR);
	assert_int_equal(u->inline_bytes, 65536);
	assert_int_equal(u->credits, 16);
	assert_int_equal(u->reverse_credits, 4);
	assert_false(u->crc);
	assert_int_equal(u->timeout_s, 2);
	assert_int_equal(u->reply_timeout_s, 86400);
	assert_int_equal(u->version_memory_s, 0);
	assert_int_equal(u->reverse, CONFIG_REVERSE_CONT);
	assert_int_equal(cfg->routes[1].listen.versions, CONFIG_V2);
	assert_int_equal(cfg->routes[1].listen.inline_bytes, 5120);
	assert_int_equal(cfg->routes[1].listen.bulk_bytes, 1048576);
	assert_int_equal(cfg->routes[1].listen.line, 38);
	assert_int_equal(cfg->routes[1].upstream.versions, CONFIG_V1);
	assert_int_equal(cfg->routes[1].listen.retry_count, 6);
	u = &cfg->routes[1].upstream;
	assert_string_equal(u->fabric, "verbs");
	assert_int_equal(u->retry_count, 7);
	assert_int_equal(u->rnr_retry_count, 1);
	assert_int_equal(u->resolve_timeout_s, 9);
	assert_int_equal(u->busy_poll_us, 20);
	config_free(cfg);
}

/* The printed configuration reads back as the same, and prints as the same. */
static void test_round_trip(void **state)
{
	static const char *const files[] = {"tests/config/minimal.conf", "tests/config/issue.conf",
					    "tests/config/full.conf"};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct config *a, *b;
		char *once, *twice;
		size_t len;
		FILE *f;

		assert_int_equal(load_path(files[i], &a), 0);
		f = open_memstream(&once, &len);
		config_print(a, f);
		fclose(f);
		assert_int_equal(load(once, &b), 0);
		assert_string_equal(told, "");
		config_forget_lines(a);
		config_forget_lines(b);
		assert_memory_equal(a, b, sizeof(*a) + a->nroutes * sizeof(a->routes[0]));
		f = open_memstream(&twice, &len);
		config_print(b, f);
		fclose(f);
		assert_string_equal(once, twice);
		free(once);
		free(twice);
		config_free(a);
		config_free(b);
	}
}

/* Numbers and text in one list, which libconfig's arrays cannot hold. */
static void test_early_versions(void **state)
{
	static const struct {
		const char *text, *printed;
		unsigned versions;
	} rows[] = {
		{"[1, 2, \"2-early\"]", "versions = [1, 2, \"2-early\"];", CONFIG_VERSIONS},
		{"[\"2-early\"]", "versions = [\"2-early\"];", CONFIG_V2_EARLY},
		{"[2, \"2-early\"]", "versions = [2, \"2-early\"];", CONFIG_V2 | CONFIG_V2_EARLY},
		{"( \"2-early\", 1 )", "versions = [1, \"2-early\"];", CONFIG_V1 | CONFIG_V2_EARLY},
		{"[ /* \"]\" */ 1, # ]\n \"2-early\" // ]\n ]", "versions = [1, \"2-early\"];",
		 CONFIG_V1 | CONFIG_V2_EARLY},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config *cfg;
		char text[1024], *printed;
		size_t len;
		FILE *f;

		snprintf(text, sizeof(text),
			 "routes = ( { name = \"a_1_\"; \n"
			 "listen = { address = \"::1\"; versions = %s; port = 7; credits = 1;};\n"
			 "upstream = { address = \"::1\"; version = \"2-early\"; }; } );",
			 rows[i].text);
		/* One credit is too few for draft -07 alone. */
		if (rows[i].versions & CONFIG_V2) {
			assert_int_equal(load(text, &cfg), ERR_CONFIG);
			memcpy(strstr(text, "credits = 1;"), "credits = 2;", 12);
		}
		if (load(text, &cfg))
			fail_msg("%s", told);
		assert_int_equal(cfg->routes[0].listen.versions, rows[i].versions);
		assert_int_equal(cfg->routes[0].upstream.versions, CONFIG_V2_EARLY);
		f = open_memstream(&printed, &len);
		config_print(cfg, f);
		fclose(f);
		assert_non_null(strstr(printed, rows[i].printed));
		assert_non_null(strstr(printed, "version = \"2-early\";"));
		config_free(cfg);
		assert_int_equal(load(printed, &cfg), 0);
		assert_int_equal(cfg->routes[0].listen.versions, rows[i].versions);
		assert_int_equal(cfg->routes[0].upstream.versions, CONFIG_V2_EARLY);
		free(printed);
		config_free(cfg);
	}
}

/* The printed form itself: operators read it, scripts may. */
static void test_print_golden(void **state)
{
	char want[8192] = "";
	struct config *cfg;
	size_t len;
	char *got;
	FILE *f;

	(void)state;
	assert_int_equal(load_path("tests/config/minimal.conf", &cfg), 0);
	f = open_memstream(&got, &len);
	config_print(cfg, f);
	fclose(f);
	f = fopen("tests/config/minimal.printed", "r");
	assert_non_null(f);
	assert_true(fread(want, 1, sizeof(want) - 1, f) > 0);
	fclose(f);
	assert_string_equal(got, want);
	free(got);
	config_free(cfg);
}

static void test_workers(void **state)
{
	struct config *cfg;

	(void)state;
	assert_int_equal(load_path("tests/config/minimal.conf", &cfg), 0);
	assert_int_equal(config_worker_bytes(cfg), 96 << 20);
	assert_int_equal(config_workers(cfg, 4), 4);
	assert_int_equal(config_workers(cfg, 0), 1);
	assert_int_equal(config_workers(cfg, 128), 10); /* more could not be fed from 1G */
	config_free(cfg);
	assert_int_equal(load_path("tests/config/full.conf", &cfg), 0);
	assert_int_equal(config_workers(cfg, 128), 2);
	config_free(cfg);
}

/* --- errors --------------------------------------------------------------- */

static const struct bad syntax[] = {
	{"", "1: routes is missing: give it\n"},
	{"a = 1",
	 "1: unknown key \"a\": known here are workers, memory_limit, max_payload, continue_max, "
	 "cut_through, cut_through_from, max_sessions, max_sessions_per_client, max_setups, "
	 "max_setups_per_second, drain_timeout, peer_timeout, receive_queue, insecure_handles, "
	 "adaptive_poll_us, log, control, metrics, routes\n"
	 "1: routes is missing: give it\n"},
	/* No message has control characters for terminals. */
	{ROUTE(NAME "listen = { address = \"\\x7f\"; };" UP), "3: address" NOT_PLAIN},
	{"control = \"/\\\\x00\";\nlog = { level = \"info\\x00\"; }; # \"\\x00\"\n" GOOD,
	 "2: an octet 0 (\\x00), where the text would end: leave it out\n"
	 "1: control" NOT_PLAIN},
	{"\n\nworkers = ;\n" GOOD, "3: syntax error: look here and in the line before\n"},
	{"workers = 1;\nworkers = 2;\n" GOOD,
	 "2: duplicate setting name: look here and in the line before\n"},
	{"# x\n@include \"other.conf\"\n" GOOD,
	 "2: @include is not supported: write all into this file\n"},
	{"\n  @include \"/dev/zero\"\n",
	 "2: @include is not supported: write all into this file\n"},
	{"workers = [1, \"x\"];\n",
	 "1: mismatched element type in array: look here and in the line before\n"},
};

static const struct bad top[] = {
	{"workers = 257;\n" GOOD, "1: " INT_RANGE("workers", "257", "0", "256")},
	{"workers = -1;\n" GOOD, "1: " INT_RANGE("workers", "-1", "0", "256")},
	{"workers = \"2\";\n" GOOD, "1: workers must be a whole number: use 0 to 256\n"},
	{"workers = 1.5;\n" GOOD, "1: workers must be a whole number: use 0 to 256\n"},
	{"workers = 4294967297;\n" GOOD,
	 "1: a number beyond 32 bits: put an L behind it, or write a size as text like \"4G\"\n"},
	{"workers = 0x100000001;\n" GOOD,
	 "1: a number beyond 32 bits: put an L behind it, or write a size as text like \"4G\"\n"},
	{"workers = 99999999999999999999;\n" GOOD,
	 "1: a number beyond 64 bits: use a smaller one\n"},
	{"drain_timeout = 0060;\n" GOOD, "1: numbers do not begin with 0: write 60, not 060\n"},
	{"drain_timeout = 060L;\n" GOOD, "1: numbers do not begin with 0: write 60, not 060\n"},
	{"\nworkers = -08;\n" GOOD, "2: numbers do not begin with 0: write 60, not 060\n"},
	{"workers = 4294967297L;\n" GOOD, "1: " INT_RANGE("workers", "4294967297", "0", "256")},
	{"memory_limit = \"1T\";\n" GOOD,
	 "1: memory_limit is not a size: write octets as a number, or as text with K, M or G like "
	 "\"4M\"\n"},
	{"memory_limit = \"\";\n" GOOD,
	 "1: memory_limit is not a size: write octets as a number, or as text with K, M or G like "
	 "\"4M\"\n"},
	{"memory_limit = \"-5G\";\n" GOOD,
	 "1: memory_limit is not a size: write octets as a number, or as text with K, M or G like "
	 "\"4M\"\n"},
	{"memory_limit = \"1GB\";\n" GOOD,
	 "1: memory_limit is not a size: write octets as a number, or as text with K, M or G like "
	 "\"4M\"\n"},
	{"memory_limit = \"99999999999999999999\";\n" GOOD,
	 "1: memory_limit is not a size: write octets as a number, or as text with K, M or G like "
	 "\"4M\"\n"},
	{"memory_limit = true;\n" GOOD,
	 "1: memory_limit is not a size: write octets as a number, or as text with K, M or G like "
	 "\"4M\"\n"},
	{"memory_limit = 0;\n" GOOD,
	 "1: " INT_RANGE("memory_limit", "0", "1048576", "1099511627776")},
	{"memory_limit = \"1025G\";\n" GOOD,
	 "1: " INT_RANGE("memory_limit", "1100585369600", "1048576", "1099511627776")},
	{"max_payload = \"32M\";\n" GOOD,
	 "1: " INT_RANGE("max_payload", "33554432", "65536", "16777216")},
	{"continue_max = \"32M\";\n" GOOD,
	 "1: " INT_RANGE("continue_max", "33554432", "0", "16777216")},
	{"max_payload = 65537;\n" GOOD,
	 "1: max_payload = 65537 is not a multiple of 4096: use 65536 or 69632\n"},
	{"max_sessions = 1000001;\n" GOOD,
	 "1: " INT_RANGE("max_sessions", "1000001", "0", "1000000")},
	{"\nmax_sessions_per_client = -1;\n" GOOD,
	 "2: " INT_RANGE("max_sessions_per_client", "-1", "0", "1000000")},
	{"max_setups = 1000001;\n" GOOD, "1: " INT_RANGE("max_setups", "1000001", "0", "1000000")},
	{"max_setups_per_second = \"many\";\n" GOOD,
	 "1: max_setups_per_second must be a whole number: use 0 to 1000000\n"},
	{"peer_timeout = 5;\n" GOOD, "1: " INT_RANGE("peer_timeout", "5", "6", "3600")},
	{"drain_timeout = 3601;\n" GOOD, "1: " INT_RANGE("drain_timeout", "3601", "0", "3600")},
	{"\nreceive_queue = \"srq\";\n" GOOD,
	 "2: there is no such receive_queue: use \"auto\", \"shared\" or \"own\"\n"},
	{"\ninsecure_handles = true;\n" GOOD,
	 "2: insecure_handles must be text: write \"refuse\" or \"allow\" in double quotes\n"},
	{"insecure_handles = \"maybe\";\n" GOOD,
	 "1: there is no such insecure_handles: use \"refuse\" or \"allow\"\n"},
	{"receive_queue = true;\n" GOOD,
	 "1: receive_queue must be text: write \"auto\", \"shared\" or \"own\" in double quotes\n"},
	{"log = \"info\";\n" GOOD, "1: log must be a group: write log = { ... };\n"},
	{"log = {\nlevel = \"loud\"; };\n" GOOD,
	 "2: there is no such level: use \"error\", \"warn\", \"info\" or \"debug\"\n"},
	{"log = {\nlevel = 1; };\n" GOOD,
	 "2: level must be text: write a level in double quotes\n"},
	{"log = {\nlevels = 1; };\n" GOOD, "2: unknown key \"levels\": known here are level\n"},
	{"workers = 4;\nmemory_limit = \"127M\";\n" GOOD,
	 "2: memory_limit is too small for 4 workers, a session of each route and max_payload: use "
	 "at least \"128M\", or lower workers, credits, inline or max_payload\n"},
	{"\nmemory_limit = \"31M\";\n" GOOD,
	 "2: memory_limit is too small for 1 worker, a session of each route and max_payload: use "
	 "at least \"32M\", or lower workers, credits, inline or max_payload\n"},
	{"\nworkers = 100;\n" GOOD,
	 "2: memory_limit is too small for 100 workers, a session of each route and max_payload: "
	 "use at least \"3200M\", or lower workers, credits, inline or max_payload\n"},
};

#define VERSIONS                                                                                   \
	"versions must list versions of RPC-over-RDMA: use 1, 2 and \"2-early\", like [1, 2]\n"
#define VERSION "there is no such version: use \"auto\", \"1\", \"2\" or \"2-early\"\n"

static const struct bad routes[] = {
	{"routes = ( );\n", "1: there are no routes: give at least one\n"},
	{"\nroutes = { };\n", "2: routes must be a list: write routes = ( { ... }, { ... } );\n"},
	{"routes = [ ];\n", "1: routes must be a list: write routes = ( { ... }, { ... } );\n"},
	{"routes = (\n{" NAME LISTEN UP "},\n3 );\n",
	 "6: a route must be a group: write { name = ...; }\n"},
	{"routes = (\n( 1 ) );\n", "2: a route must be a group: write { name = ...; }\n"},
	{"routes = (\n{ } );\n", "2: name is missing: give it\n"
				 "2: listen is missing: give it\n"
				 "2: upstream is missing: give it\n"},
	{ROUTE(NAME LISTEN UP "color = 1;\n"),
	 "5: unknown key \"color\": known here are name, for, listen, upstream\n"},
	{ROUTE("name = \"\";\n" LISTEN UP), "2: name has 0 octets: use 1 to 63\n"},
	{ROUTE("name = 7;\n" LISTEN UP), "2: name must be text: write a word in double quotes\n"},
	{ROUTE("name = \"a b\";\n" LISTEN UP),
	 "2: name has characters it may not have: use letters, digits, '.', '_' and '-'\n"},
	{ROUTE("name = \"1-2\";\n" LISTEN UP), "2: name \"1-2\" has no letter: use one that has\n"},
	{ROUTE("name = \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\";"
	       "\n" LISTEN UP),
	 "2: name has 64 octets: use 1 to 63\n"},
	{ROUTE(NAME "listen = 3;\n" UP), "3: listen must be a group: write listen = { ... };\n"},
	{ROUTE(NAME "listen =\n{ port = 1; };\n" UP), "3: address is missing: give it\n"},
	{ON("fabric = \"tcp\";"), "4: there is no such fabric: use \"iwarp\" or \"verbs\"\n"},
	{TO("fabric = \"\";"), "5: there is no such fabric: use \"iwarp\" or \"verbs\"\n"},
	{ON("fabric = 1;"),
	 "4: fabric must be text: write \"iwarp\" or \"verbs\" in double quotes\n"},
	{ON("port = 0;"), "4: " INT_RANGE("port", "0", "1", "65535")},
	{ON("port = 65536;"), "4: " INT_RANGE("port", "65536", "1", "65535")},
	{TO("port = \"20049\";"), "5: port must be a whole number: use 1 to 65535\n"},
	{ON("clients = [ \"192.0.2.1/24\" ];"),
	 "4: clients has \"192.0.2.1/24\", with bits behind "
	 "its prefix: write the address of the network, or a longer prefix\n"},
	{ON("clients = [ \"::ffff:192.0.2.0/120\" ];"),
	 "4: clients has \"::ffff:192.0.2.0/120\", an IPv4 network in IPv6: write "
	 "\"192.0.2.0/24\"\n"},
	{ON("clients = [];"), "4: clients is empty: give at least one, or leave it out\n"},
	{ON("clients = \"192.0.2.0/24\";"),
	 "4: clients must be a list: write [\"192.0.2.0/24\", ...]\n"},
	{ON("rpcbind = 1;"), "4: rpcbind must be true or false: write it without quotes\n"},
	{"routes = ( {\n" NAME "listen = { address = \"10.0.0.1\"; rpcbind = true; };\n" UP
	 "}, { name = \"b\";\nlisten = { address = \"0.0.0.0\"; port = 7; rpcbind = true; };\n" UP
	 "} );",
	 "6: route \"a\" has rpcbind already, and rpcbind has one address for each address family: "
	 "leave one of the two out\n"},
	{ON("versions = [];"), "4: " VERSIONS},
	{ON("versions = [1, 3];"), "4: " VERSIONS},
	{ON("versions = [1, \"2-late\"];"), "4: " VERSIONS},
	{ON("versions = [[1, \"2-early\"]];"),
	 "4: syntax error: look here and in the line before\n"},
	{ON("versions = [1, \"2-early\", true];"), "4: " VERSIONS},
	{ON("versions = [1, \"2-early\";"),
	 "4: mismatched element type in array: look here and in the line before\n"},
	{ON("versions = \"2-early\";"), "4: " VERSIONS},
	{ON("versions = 1;"), "4: " VERSIONS},
	{ON("versions = [\"1\"];"), "4: " VERSIONS},
	{ON("version = 1;"),
	 "4: unknown key \"version\": known here are fabric, address, port, clients, rpcbind, "
	 "versions, "
	 "hop, inline, receive_structure, "
	 "credits, reverse_credits, crc, literal_credits, setup_timeout, reply_timeout, "
	 "retry_count, rnr_retry_count, busy_poll_us, hostauth\n"},
	{TO("version = 3;"), "5: " VERSION},
	{TO("version = \"both\";"), "5: " VERSION},
	{TO("version = [1];"), "5: " VERSION},
	{TO("version = \"early\";"), "5: " VERSION},
	{TO("version = 4;"), "5: " VERSION},
	{TO("versions = [1];"),
	 "5: unknown key \"versions\": known here are fabric, address, addresses, balance, "
	 "probe_interval, port, source, side_ports, "
	 "version, hop, inline, receive_structure, "
	 "credits, reverse_credits, reverse, crc, literal_credits, connect_timeout, "
	 "reply_timeout, version_memory, retry_count, rnr_retry_count, resolve_timeout, "
	 "busy_poll_us, hostauth\n"},
	{ON("inline = 2048;"),
	 "4: version 2 needs an inline of 4096 or more: raise it, or leave out "
	 "version 2\n"},
	{ON("inline = 1024; versions = [1, \"2-early\"];"),
	 "4: version 2-early needs an inline of 4096 or more: raise it, or leave out "
	 "version 2-early\n"},
	{TO("inline = 3072; version = \"2-early\";"),
	 "5: version 2-early needs an inline of 4096 or more: raise it, or leave out "
	 "version 2-early\n"},
	{TO("inline = 1024; version = 2;"),
	 "5: version 2 needs an inline of 4096 or more: raise it, "
	 "or leave out version 2\n"},
	{ON("credits = 1;"), "4: version 2 needs 2 credits or more: raise them, or leave out "
			     "version 2\n"},
	{ON("versions = [1]; receive_structure = \"1M\";"),
	 "4: receive_structure needs version 2: allow version 2, or leave out receive_structure\n"},
	{TO("version = 1; receive_structure = 4096;"),
	 "5: receive_structure needs version 2: allow version 2, or leave out receive_structure\n"},
	{ON("versions = [1, 2, \"2-early\"]; inline = \"8K\"; receive_structure = \"1M\";"),
	 "4: receive_structure with version 2-early needs an inline of 4096: leave out inline, "
	 "version 2-early or receive_structure\n"},
	{TO("version = \"2-early\"; inline = \"64K\"; receive_structure = \"1M\";"),
	 "5: receive_structure with version 2-early needs an inline of 4096: leave out inline, "
	 "version 2-early or receive_structure\n"},
	{ON("receive_structure = 4097;"),
	 "4: receive_structure = 4097 is not a multiple of 4096: use 4096 or 8192\n"},
	{ON("receive_structure = \"9M\";"),
	 "4: " INT_RANGE("receive_structure", "9437184", "0", "8388608")},
	{ON("inline = 1000;"), "4: " INT_RANGE("inline", "1000", "1024", "65536")},
	{ON("inline = 65537;"), "4: " INT_RANGE("inline", "65537", "1024", "65536")},
	{ON("inline = 4095;"), "4: inline = 4095 is not a multiple of 1024: use 3072 or 4096\n"},
	{TO("inline = 1536;"), "5: inline = 1536 is not a multiple of 1024: use 1024 or 2048\n"},
	{ON("credits = 0;"), "4: " INT_RANGE("credits", "0", "1", "4096")},
	{TO("credits = 4097;"), "5: " INT_RANGE("credits", "4097", "1", "4096")},
	{ON("reverse_credits = 0;"), "4: " INT_RANGE("reverse_credits", "0", "1", "1024")},
	{ON("crc = 1;"), "4: crc must be true or false: write it without quotes\n"},
	{TO("crc = \"true\";"), "5: crc must be true or false: write it without quotes\n"},
	{ON("setup_timeout = 0;"), "4: " INT_RANGE("setup_timeout", "0", "1", "3600")},
	{TO("connect_timeout = 3601;"), "5: " INT_RANGE("connect_timeout", "3601", "1", "3600")},
	{ON("reply_timeout = 86401;"), "4: " INT_RANGE("reply_timeout", "86401", "0", "86400")},
	{TO("reply_timeout = -1;"), "5: " INT_RANGE("reply_timeout", "-1", "0", "86400")},
	{TO("reverse = \"callbacks\";"), "5: there is no such reverse: use \"auto\", \"none\", "
					 "\"simple\", \"continued\" or \"general\"\n"},
	{TO("reverse = 0;"), "5: reverse must be text: write \"auto\", \"none\", \"simple\", "
			     "\"continued\" or \"general\" in double quotes\n"},
	{TO("version_memory = -1;"), "5: " INT_RANGE("version_memory", "-1", "0", "604800")},
	{ON(ON_VERBS "retry_count = 0;"), "4: " INT_RANGE("retry_count", "0", "1", "7")},
	{TO(ON_VERBS "retry_count = 8;"), "5: " INT_RANGE("retry_count", "8", "1", "7")},
	{ON(ON_VERBS "rnr_retry_count = 8;"), "4: " INT_RANGE("rnr_retry_count", "8", "0", "7")},
	{TO(ON_VERBS "resolve_timeout = 0;"), "5: " INT_RANGE("resolve_timeout", "0", "1", "3600")},
	{ON(ON_VERBS "busy_poll_us = 1000001;"),
	 "4: " INT_RANGE("busy_poll_us", "1000001", "0", "1000000")},
	{ON("retry_count = 6;"), "4: " NOT_ON_IWARP("retry_count")},
	{ON("fabric = \"iwarp\"; rnr_retry_count = 0;"), "4: " NOT_ON_IWARP("rnr_retry_count")},
	{TO("resolve_timeout = 5;"), "5: " NOT_ON_IWARP("resolve_timeout")},
	{TO("busy_poll_us = -1;"), "5: " INT_RANGE("busy_poll_us", "-1", "0", "1000000")},
};

#define TEN "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define NO_ADDRESS                                                                                 \
	"address is not an address: write an IPv4 or IPv6 address like \"10.0.0.1\" or "           \
	"\"fd00::1\" "                                                                             \
	"(names are not looked up)\n"
#define NEEDS_LINK(text)                                                                           \
	"address is link-local, and every interface has such addresses: add the one meant, like "  \
	"\"" text "%eth0\"\n"
#define NEEDS_NO_LINK(text)                                                                        \
	"address has an interface, which only link-local addresses (fe80::/10) need: leave out "   \
	"\"" text "\"\n"
#define LINKS(on, to)                                                                              \
	ROUTE(NAME "listen = { address = \"" on "\"; };\n"                                         \
		   "upstream = {\naddress = \"" to "\"; };\n")
#define AT(text) ROUTE(NAME "listen = {\naddress = " text "; };\n" UP)	      /* line 4 */
#define FOR(text) ROUTE(NAME LISTEN "upstream = {\naddress = " text "; };\n") /* line 5 */
#define SECOND(name, on)                                                                           \
	"routes = ( {\n" NAME LISTEN UP "}, {\nname = \"" name "\";\nlisten = { " on               \
	" };\nupstream = { address = \"10.0.0.3\"; };\n} );\n"
#define WILD(one, two)                                                                             \
	"routes = ( {\n" NAME "listen = { address = \"" one "\"; };\n" UP                          \
	"}, {\nname = \"b\";\nlisten = { address = \"" two                                         \
	"\"; };\nupstream = { address = \"10.0.0.3\"; };\n} );\n"

static const struct bad addresses[] = {
	{AT("\"filer\""), "4: " NO_ADDRESS},
	{AT("\"\""), "4: " NO_ADDRESS},
	{AT("\"10.0.0.256\""), "4: " NO_ADDRESS},
	{AT("\"10.0.0.1:20049\""),
	 "4: address has \"10.0.0.1:20049\", with a port: write \"10.0.0.1\", and the port by "
	 "itself: port = 20049;\n"},
	{AT("\"[]\""), "4: " NO_ADDRESS},
	{AT("\"[::1\""), "4: " NO_ADDRESS},
	{AT("\"fe80::1%\""), "4: " NO_ADDRESS},
	{AT("\"fe80::1%et h0\""), "4: " NO_ADDRESS},
	{AT("\"fe80::1%eth0%eth1\""), "4: " NO_ADDRESS},
	{AT("\"[fe80::1]%eth0\""), "4: " NO_ADDRESS},
	{AT("\"fe80::1%eth\\\"0\""), "4: address" NOT_PLAIN},
	{AT("\"fe80::1%..\""), "4: " NO_ADDRESS},
	{AT("\"fe80::1%sixteen-letters-\""), "4: " NO_ADDRESS},
	{AT("\"10.0.0.1%eth0\""), "4: " NO_ADDRESS},
	{AT("\"fe80::1\""), "4: " NEEDS_LINK("fe80::1")},
	{FOR("\"[febf::0001]\""), "5: " NEEDS_LINK("febf::0001")},
	{FOR("\"fd00::1%eth0\""), "5: " NEEDS_NO_LINK("%eth0")},
	{AT("\"::1%1\""), "4: " NEEDS_NO_LINK("%1")},
	{AT("\"::%eth0\""), "4: " NEEDS_NO_LINK("%eth0")},
	{LINKS("fe80::1%eth0", "fe80:0::1%eth0"), "5: route \"a\" leads to its own listener, by "
						  "fe80:0::1%eth0 port 20049: give the server's "
						  "address\n"},
	{WILD("fe80::1%eth0", "fe80::0:1%eth0"), "7: route \"a\" listens on fe80::1%eth0 port "
						 "20049 already: use another address or port\n"},
	{WILD("::", "fe80::1%eth0"),
	 "7: route \"a\" listens on :: port 20049 already: use another address or port\n"},
	{AT("\"::1                                                                         \""),
	 "4: " NO_ADDRESS},
	{FOR("\"[fd00:::1]\""),
	 "5: address is not an address: write an IPv4 or IPv6 address like \"10.0.0.1\" or "
	 "\"fd00::1\"\n"},
	{AT("\"[fd00::1]:20049\""),
	 "4: address has \"[fd00::1]:20049\", with a port: write \"[fd00::1]\", and the port by "
	 "itself: port = 20049;\n"},
	{AT("10"), "4: address must be text: write an IPv4 or IPv6 address in double quotes\n"},
	/* Otherwise the same address would be two, and a route could lead to itself by the other. */
	{AT("\"::ffff:127.0.0.1\""),
	 "4: address has \"::ffff:127.0.0.1\", an IPv4 address in IPv6: write \"127.0.0.1\"\n"},
	{FOR("\"[::ffff:7f00:1]\""),
	 "5: address has \"::ffff:7f00:1\", an IPv4 address in IPv6: write \"127.0.0.1\"\n"},
	{FOR("\"0.0.0.0\""),
	 "5: 0.0.0.0 is not an address to connect to: give the server's own address\n"},
	{FOR("\"::\""), "5: :: is not an address to connect to: give the server's own address\n"},
	{SECOND("a", "address = \"10.0.0.9\";"),
	 "6: a second route \"a\": give each its own name\n"},
	{SECOND("b", "address = \"10.0.0.1\";"),
	 "7: route \"a\" listens on 10.0.0.1 port 20049 already: use another address or port\n"},
	{SECOND("b", "address = \"10.0.0.1\";\nport = 20049;"),
	 "8: route \"a\" listens on 10.0.0.1 port 20049 already: use another address or port\n"},
	{WILD("10.0.0.1", "0.0.0.0"),
	 "7: route \"a\" listens on 10.0.0.1 port 20049 already: use another address or port\n"},
	{WILD("0.0.0.0", "10.0.0.1"),
	 "7: route \"a\" listens on 0.0.0.0 port 20049 already: use another address or port\n"},
	{WILD("::", "fd00::1"),
	 "7: route \"a\" listens on :: port 20049 already: use another address or port\n"},
	{WILD("fd00::1", "fd00:0:0:0::0001"),
	 "7: route \"a\" listens on fd00::1 port 20049 already: use another address or port\n"},
	/* Operators' sockets. */
	{"control = \"run/gw\";\n" GOOD, "1: control is not an absolute path: begin it with a "
					 "slash, because the service has another working folder\n"},
	{"control = \"/" HUNDRED "12345678\";\n" GOOD,
	 "1: control has 109 octets: use 107 at most, as for any socket\n"},
	{"control = \"/" HUNDRED "1234567\";\n" GOOD,
	 "1: control has 108 octets: use 107 at most, as for any socket\n"},
	{"metrics = { port = 80; };\n" GOOD, "1: address is missing: give it\n"},
	{"metrics = { address = \"localhost\"; };\n" GOOD, "1: " NO_ADDRESS},
	{"metrics = { address = \"::1\"; port = 0; };\n" GOOD,
	 "1: " INT_RANGE("port", "0", "1", "65535")},
	{"metrics = { address = \"::1\";\nnames = [ \"gw\", \"gw:9749\" ]; };\n" GOOD,
	 "2: names has \"gw:9749\": write host names alone, without port or path, each in full\n"},
	{"\nmetrics = { address = \"10.0.0.1\"; port = 20049; };\n" GOOD,
	 "2: route \"a\" listens on 10.0.0.1 port 20049 already: give metrics another address or "
	 "port\n"},
	{"metrics = { address = \"0.0.0.0\"; port = 20049; };\n" GOOD,
	 "1: route \"a\" listens on 10.0.0.1 port 20049 already: give metrics another address or "
	 "port\n"},
	/* Several at once, in one pass. */
	{"wokers = 2;\nlog = { level = \"x\"; };\n" ROUTE(
		 "name = 1;\n"
		 "listen = { address = \"x\"; port = 0; };\n" UP),
	 "1: unknown key \"wokers\": known here are workers, memory_limit, max_payload, "
	 "continue_max, cut_through, cut_through_from, "
	 "max_sessions, max_sessions_per_client, max_setups, max_setups_per_second, "
	 "drain_timeout, peer_timeout, receive_queue, insecure_handles, "
	 "adaptive_poll_us, log, control, metrics, routes\n"
	 "2: there is no such level: use \"error\", \"warn\", \"info\" or \"debug\"\n"
	 "4: name must be text: write a word in double quotes\n"
	 "5: " NO_ADDRESS "5: " INT_RANGE("port", "0", "1", "65535")},
};

static void test_syntax_errors(void **state)
{
	(void)state;
	check_rows(ROWS(syntax));
}

/* A default payload gives way to a small memory_limit; one that was asked for does not. */
static void test_payload_fits(void **state)
{
	struct config *cfg;

	(void)state;
	assert_int_equal(load("memory_limit = \"64M\";\n" GOOD, &cfg), 0);
	assert_int_equal(cfg->max_payload, 4 << 20);
	config_free(cfg);
	assert_int_equal(load("memory_limit = \"32M\";\n" GOOD, &cfg), 0);
	assert_int_equal(cfg->max_payload, 1 << 20);
	config_free(cfg);
	assert_int_equal(load("memory_limit = \"64M\"; max_payload = \"8M\";\n" GOOD, &cfg),
			 ERR_CONFIG);
}

static void test_top_errors(void **state)
{
	(void)state;
	check_rows(ROWS(top));
}

static void test_route_errors(void **state)
{
	(void)state;
	check_rows(ROWS(routes));
}

static void test_address_errors(void **state)
{
	(void)state;
	check_rows(ROWS(addresses));
}

/* On another link it is another address; the interfaces need not be there. */
static void test_link_local(void **state)
{
	static const char *const good[] = {
		LINKS("fe80::1%eth0", "fe80::1%eth1"),
		LINKS("[fe80::1%ib0.8001]", "[fe80::1%4]"),
		LINKS("fe80::1%fifteen-letters", "fd00::1"),
		WILD("fe80::1%eth0", "fe80::1%eth1"),
	};
	struct config *cfg;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(load(good[i], &cfg), 0);
		assert_string_equal(told, "");
		config_free(cfg);
	}
	assert_int_equal(load(good[1], &cfg), 0);
	assert_string_equal(cfg->routes[0].listen.address, "fe80::1%ib0.8001");
	assert_string_equal(cfg->routes[0].upstream.address, "fe80::1%4");
	config_free(cfg);
}

static void test_unreadable(void **state)
{
	struct config *cfg;
	char *big;

	(void)state;
	assert_int_equal(load_path("tests/config/no-such-file.conf", &cfg), ERR_CONFIG);
	assert_string_equal(told,
			    " No such file or directory: give a readable configuration file\n");
	assert_int_equal(load_path("tests/config", &cfg), ERR_CONFIG);
	assert_string_equal(told, " Is a directory: give a readable configuration file\n");
	assert_int_equal(load_octets("workers\n=\0 1;", 13, &cfg), ERR_CONFIG);
	assert_string_equal(told, "2: an octet 0: this is no text file\n");
	big = malloc((4 << 20) + 1);
	assert_non_null(big);
	memset(big, '#', (4 << 20) + 1);
	assert_int_equal(load_octets(big, (4 << 20) + 1, &cfg), ERR_CONFIG);
	assert_string_equal(told, " longer than 4 MiB: leave out defaults and comments\n");
	free(big);
}

/* Settings that look like the beginning of an error, and are none. */
static void test_not_errors(void **state)
{
	static const char *const texts[] = {
		"# 99999999999 @include \"x\"\n// 99999999999\n/* 99999999999\n@include \"x\" "
		"*/" GOOD,
		"/*/ 99999999999 */" GOOD,
		"memory_limit = 2147483647;" GOOD,
		"memory_limit = 4294967296L;" GOOD,
		"memory_limit = \"40g\";" GOOD,
		"max_payload = 0x100000;" GOOD,
		"log = { };" GOOD,
		/* Another port, another family: no collision. */
		WILD("10.0.0.1", "10.0.0.1\"; port = 2050; versions = [1]; fabric = \"iwarp"),
		WILD("0.0.0.0", "::"),
		/* The second route is the first one's filer: a chain in one process. */
		"routes = ({" NAME LISTEN UP
		"},{ name = \"b\"; listen = { address = \"10.0.0.2\"; };"
		"upstream = { address = \"10.0.0.3\"; }; });",
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

static void test_out_of_memory(void **state)
{
	uint64_t live = mem_live();
	struct config *cfg;

	(void)state;
	for (uint64_t nth = 1; nth <= 2; nth++) {
		mem_fail_at(nth);
		assert_int_equal(load_path("tests/config/full.conf", &cfg), ERR_NOMEM);
		assert_string_equal(told, " out of memory\n");
	}
	mem_fail_at(0);
	assert_int_equal(load_path("tests/config/full.conf", &cfg), 0);
	config_free(cfg);
	config_free(NULL);
	assert_int_equal(mem_live(), live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),       cmocka_unit_test(test_full),
		cmocka_unit_test(test_round_trip),     cmocka_unit_test(test_print_golden),
		cmocka_unit_test(test_payload_fits),   cmocka_unit_test(test_workers),
		cmocka_unit_test(test_syntax_errors),  cmocka_unit_test(test_top_errors),
		cmocka_unit_test(test_route_errors),   cmocka_unit_test(test_address_errors),
		cmocka_unit_test(test_link_local),     cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_not_errors),     cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_early_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
