/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "tests/cmocka_all.h"
#include "tools/perf/options.h"

enum { MAX_ARGS = 24 };

/* Parse a command line written as one string. */
static int parse(const char *line, struct perf_options *o, char *why)
{
	static char text[256];
	char *argv[MAX_ARGS + 1] = {NULL}, *save = NULL;
	int argc = 0;

	snprintf(text, sizeof(text), "rpcrdma-perf %s", line);
	for (char *w = strtok_r(text, " ", &save); w && argc < MAX_ARGS;
	     w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	why[0] = '\0';
	return perf_options_parse(argc, argv, o, why);
}

static void test_good(void **state)
{
	static struct perf_options o;
	char why[PERF_WHY], addr[FABRIC_ADDR_TEXT];

	(void)state;
	assert_int_equal(parse("server --listen iwarp:[::1]:0", &o, why), 0);
	assert_int_equal(o.mode, PERF_SERVER);
	assert_int_equal(o.fabric, PROVIDER_IWARP);
	assert_int_equal(parse("server --listen verbs:[::1]:0", &o, why), 0);
	assert_int_equal(o.fabric, PROVIDER_VERBS);
	assert_string_equal(fabric_addr_format(&o.addr, addr), "[::1]:0");
	assert_int_equal(o.server.leg.versions, LEG_V1_OR_V2);
	assert_true(o.crc && o.server.verify);
	assert_int_equal(
		parse("server --listen iwarp:127.0.0.1:7 --versions 1 --inline 1024 --credits 2 "
		      "--no-crc --no-verify --gentle --memory 64",
		      &o, why),
		0);
	assert_int_equal(o.server.leg.versions, LEG_V1);
	assert_true(o.gentle);
	assert_int_equal(o.server.leg.inline_bytes, 1024);
	assert_int_equal(o.server.leg.credits, 2);
	assert_int_equal(o.memory, 64 << 20);
	assert_false(o.crc || o.server.verify);
	assert_int_equal(parse("client --connect iwarp:127.0.0.1:7 --version 2 --op read --size 1m "
			       "--depth 16 "
			       "--time 0.5 --connections 3 --rate 50 --reconnect --json",
			       &o, why),
			 0);
	assert_true(o.client.reconnects);
	assert_int_equal(o.mode, PERF_CLIENT);
	assert_int_equal(o.client.leg.versions, LEG_V2);
	assert_int_equal(o.client.op, PERF_READ);
	assert_int_equal(o.client.nsizes, 1);
	assert_int_equal(o.client.sizes[0], 1 << 20);
	assert_int_equal(o.client.duration, NSEC_PER_SEC / 2);
	assert_true(o.client.count == UINT64_MAX && o.json && o.client.reply_chunk);
	assert_int_equal(o.client.connections, 3);
	assert_int_equal(o.client.rate, 50);
	assert_int_equal(
		parse("client --connect iwarp:127.0.0.1:7 --version 1 --op echo --size ladder", &o,
		      why),
		0);
	assert_true(o.client.count == 8 && o.client.duration == NSEC_NEVER);
	assert_int_equal(
		parse("client --connect iwarp:127.0.0.1:7 --version 2-early --op echo", &o, why),
		0);
	assert_int_equal(o.client.leg.versions, LEG_V2_EARLY);
	assert_int_equal(parse("server --listen iwarp:[::1]:0 --versions 1,2-early", &o, why), 0);
	assert_int_equal(o.server.leg.versions, LEG_V1 | LEG_V2_EARLY);
	assert_int_equal(parse("--help", &o, why), 0);
	assert_int_equal(o.mode, PERF_HELP);
	assert_int_equal(parse("client --help", &o, why), 0);
	assert_int_equal(o.mode, PERF_HELP);
	assert_int_equal(parse("--version", &o, why), 0);
	assert_int_equal(o.mode, PERF_SHOW_VERSION);
}

/* Each is refused, and the reason names the word that is wrong. */
static void test_bad(void **state)
{
	static const struct {
		const char *line, *names;
	} cases[] = {
		{"", "server"},
		{"serve", "serve"},
		{"server", "--listen"},
		{"server --listen iwarp:127.0.0.1", "iwarp:127.0.0.1"},
		{"server --listen iwarp:127.0.0.1:70000", "70000"},
		{"server --listen iwarp:localhost:7", "localhost"},
		{"server --listen tcp:127.0.0.1:7", "verbs"},
		{"server --listen verbs:127.0.0.1", "verbs:127.0.0.1"},
		{"server --listen iwarp:127.0.0.1:7 --versions 3", "--versions 3"},
		{"server --listen iwarp:127.0.0.1:7 --versions 1,2,1", "--versions 1,2,1"},
		{"server --listen iwarp:127.0.0.1:7 --versions 2-late", "--versions 2-late"},
		{"server --listen iwarp:127.0.0.1:7 --versions 2-early --inline 2048", "2048"},
		{"server --listen iwarp:127.0.0.1:7 --inline 1024", "1024"},
		{"server --listen iwarp:127.0.0.1:7 --inline 5000", "5000"},
		{"server --listen iwarp:127.0.0.1:7 --credits 0", "--credits"},
		{"server --listen iwarp:127.0.0.1:7 --credits 1x", "1x"},
		{"server --listen iwarp:127.0.0.1:7 --op read", "--op"},
		{"server --listen iwarp:127.0.0.1:7 more", "more"},
		{"server --listen", "--listen"},
		{"client --connect iwarp:127.0.0.1:7 --op read", "--version"},
		{"client --connect iwarp:127.0.0.1:0 --op read --version 1", "port"},
		{"client --connect iwarp:127.0.0.1:7 --version 1", "--op"},
		{"client --connect iwarp:127.0.0.1:7 --version 1,2 --op read", "1,2"},
		{"client --connect iwarp:127.0.0.1:7 --version 1 --op delete", "delete"},
		{"client --connect iwarp:127.0.0.1:7 --version 1 --op read --size 1g", "1g"},
		{"client --connect iwarp:127.0.0.1:7 --version 1 --op read --depth 0", "--depth"},
		{"client --connect iwarp:127.0.0.1:7 --version 1 --op read --time 0", "--time"},
		{"client --connect iwarp:127.0.0.1:7 --version 1 --op read --time nan", "--time"},
		{"client --connect iwarp:127.0.0.1:7 --version 1 --op read --rate 0", "--rate"},
		{"client --connect iwarp:127.0.0.1:7 --version 1 --op read --count -1", "--count"},
		{"client --connect iwarp:127.0.0.1:7 --version 1 --op echo --no-reply-chunk",
		 "--no-reply-chunk"},
		{"client --connect iwarp:127.0.0.1:7 --version 1 --op echo --call-chunk",
		 "--call-chunk"},
		{"client --connect iwarp:127.0.0.1:7 --version 2-early,1 --op echo", "2-early,1"},
		{"client --connect iwarp:127.0.0.1:7 --version 2-early --op echo --no-reply-chunk",
		 "--no-reply-chunk"},
		{"client --connect iwarp:127.0.0.1:7 --version 2-early --op echo --call-chunk",
		 "2-early"},
		{"client --connect iwarp:127.0.0.1:7 --version 2-early --op echo --inline 1024",
		 "1024"},
		{"client --connect iwarp:127.0.0.1:7 --version 2 --op echo --inline 1024", "1024"},
		{"client --listen iwarp:127.0.0.1:7", "--listen"},
	};
	static struct perf_options o;
	char why[PERF_WHY];

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse(cases[i].line, &o, why), ERR_CONFIG);
		if (!strstr(why, cases[i].names))
			fail_msg("\"%s\" draws \"%s\"", cases[i].line, why);
	}
}

/* Every option that is parsed is explained. */
static void test_help_is_whole(void **state)
{
	static const char *const words[] = {
		"--listen",	 "--connect",	     "--versions", "--version",	  "--op",
		"--size",	 "--depth",	     "--time",	   "--count",	  "--connections",
		"--inline",	 "--credits",	     "--segment",  "--memory",	  "--timeout",
		"--slack",	 "--call-chunk",     "--no-crc",   "--no-verify", "--json",
		"--inline-data", "--no-reply-chunk", "2-early",	   "--gentle",	  "--rate",
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		assert_non_null(strstr(perf_help(), words[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_help_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
