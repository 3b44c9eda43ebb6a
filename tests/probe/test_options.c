/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line, the names of programs, and the writer of JSON. */
#include <stdio.h>
#include <string.h>

#include "tests/cmocka_all.h"
#include "tools/probe/json.h"
#include "tools/probe/options.h"

enum { WORDS = 16 };

static int parse(const char *line, struct probe_options *o, char *why)
{
	static char words[256];
	char *argv[WORDS + 1] = {"rpcrdma-probe"}, *word, *rest = words;
	int argc = 1;

	snprintf(words, sizeof(words), "%s", line);
	while ((word = strtok_r(rest, " ", &rest)) && argc < WORDS)
		argv[argc++] = word;
	argv[argc] = NULL;
	why[0] = '\0';
	return probe_options_parse(argc, argv, o, why);
}

static void test_good_lines(void **state)
{
	static const struct {
		const char *line;
		enum probe_mode mode;
	} good[] = {
		{"iwarp:127.0.0.1:20049", PROBE_SURVEY},
		{"iwarp:[::1]:20049 --json --no-crc", PROBE_SURVEY},
		{"verbs:10.0.0.1:20049", PROBE_SURVEY},
		{"--listen verbs:[::]:0", PROBE_LISTEN},
		{"--conformance iwarp:10.0.0.1:1 --hostile --case v2.", PROBE_CONFORM},
		{"iwarp:10.0.0.1:1 --conformance --timeout 0.5 --time 10", PROBE_CONFORM},
		{"--listen iwarp:0.0.0.0:0 --versions 2 --connections 3", PROBE_LISTEN},
		{"--listen iwarp:0.0.0.0:0 --versions 1,2-early", PROBE_LISTEN},
		{"--listen iwarp:[::]:20049 --conformance", PROBE_LISTEN},
		{"--listen iwarp:[::]:20049 --hostauth-psk x --hostauth-name y", PROBE_LISTEN},
		{"--device rxe0", PROBE_DEVICE},
		{"--json --device mlx5_0 --timeout 2", PROBE_DEVICE},
		{"--list", PROBE_LIST},
		{"--help", PROBE_HELP},
		{"-h", PROBE_HELP},
		{"--version", PROBE_SHOW_VERSION},
	};
	struct probe_options o;
	char why[PROBE_WHY];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		if (parse(good[i].line, &o, why) < 0)
			fail_msg("%s: %s", good[i].line, why);
		assert_int_equal(o.mode, good[i].mode);
	}
	assert_int_equal(parse("iwarp:1.2.3.4:5", &o, why), 0);
	assert_int_equal(o.fabric, PROVIDER_IWARP);
	assert_int_equal(o.nprograms, 0);
	assert_int_equal(o.programs[0].number, 100003); /* one to call all the same */
	assert_int_equal(o.timeout, 5 * NSEC_PER_SEC);
	assert_int_equal(
		parse("iwarp:1.2.3.4:5 --program nfs4 --program 9,8 --timeout 0.25", &o, why), 0);
	assert_int_equal(o.nprograms, 2);
	assert_int_equal(o.programs[0].version, 4);
	assert_int_equal(o.programs[1].number, 9);
	assert_int_equal(o.programs[1].version, 8);
	assert_int_equal(o.timeout, NSEC_PER_SEC / 4);
}

static void test_bad_lines(void **state)
{
	static const char *const bad[] = {
		"",
		"10.0.0.1:20049",
		"tcp:10.0.0.1:20049",
		"verbs:10.0.0.1:0",
		"iwarp:10.0.0.1",
		"iwarp:10.0.0.1:0",
		"iwarp:10.0.0.1:65536",
		"iwarp:10.0.0.1:20049x",
		"iwarp:10.0.0.1:-1",
		"iwarp:host.example:20049",
		"iwarp:10.0.0.1:1 iwarp:10.0.0.2:1",
		"iwarp:10.0.0.1:1 --listen iwarp:10.0.0.1:2",
		"iwarp:10.0.0.1:1 --hostile",
		"iwarp:10.0.0.1:1 --case v2",
		"iwarp:10.0.0.1:1 --conformance --case v2x",
		"--listen iwarp:10.0.0.1:1 --conformance --hostile",
		"iwarp:10.0.0.1:1 --program",
		"iwarp:10.0.0.1:1 --program nosuch",
		"iwarp:10.0.0.1:1 --program 100003",
		"iwarp:10.0.0.1:1 --program nfs,",
		"iwarp:10.0.0.1:1 --program ,3",
		"iwarp:10.0.0.1:1 --program 4294967296,1",
		"iwarp:10.0.0.1:1 --timeout 0",
		"iwarp:10.0.0.1:1 --timeout nan",
		"iwarp:10.0.0.1:1 --timeout 1s",
		"iwarp:10.0.0.1:1 --time -3",
		"--listen iwarp:10.0.0.1:1 --versions 3",
		"--listen iwarp:10.0.0.1:1 --versions 2,early",
		"--listen iwarp:10.0.0.1:1 --connections 0",
		"iwarp:10.0.0.1:1 --bogus",
	};
	struct probe_options o;
	char why[PROBE_WHY];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (parse(bad[i], &o, why) == 0)
			fail_msg("taken: %s", bad[i]);
		assert_int_not_equal(why[0], '\0');
	}
}

static void test_too_many_programs(void **state)
{
	char *argv[2 * PROBE_PROGRAMS + 5] = {"rpcrdma-probe", "iwarp:1.2.3.4:5"};
	struct probe_options o;
	char why[PROBE_WHY];
	int argc = 2;

	(void)state;
	for (unsigned i = 0; i < PROBE_PROGRAMS + 1; i++) {
		argv[argc++] = "--program";
		argv[argc++] = "nfs";
	}
	assert_int_equal(probe_options_parse(argc, argv, &o, why), ERR_CONFIG);
	assert_int_equal(probe_options_parse(argc - 2, argv, &o, why), 0);
}

static void test_programs(void **state)
{
	static const char *const names[] = {"nfs",   "nfs3", "nfs4", "nfs_acl",
					    "mount", "nlm",  "cb",   "perf"};
	struct program p;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(program_parse(names[i], &p), 0);
		assert_non_null(program_name(p.number));
		assert_non_null(strstr(program_known(), names[i]));
		assert_non_null(strstr(probe_help(), names[i]));
	}
	assert_int_equal(program_parse("nfs,4", &p), 0);
	assert_int_equal(p.number, 100003);
	assert_int_equal(p.version, 4);
	assert_int_equal(program_parse("0x40524d41,1", &p), 0);
	assert_string_equal(program_name(p.number), "perf");
	assert_null(program_name(1));
	assert_int_equal(program_parse("a-name-much-too-long-for-it,1", &p), ERR_CONFIG);
}

static void test_verdicts(void **state)
{
	static const uint8_t accepted[] = {1, 2, 3, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0,
					   0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 9, 9, 9, 9};
	static const uint8_t denied[] = {1, 2, 3, 4, 0, 0, 0, 1, 0, 0,
					 0, 1, 0, 0, 0, 1, 0, 0, 0, 5};
	struct rpc_verdict v;

	(void)state;
	assert_int_equal(rpc_verdict_read(&v, view_of(accepted, sizeof(accepted))), 0);
	assert_int_equal(v.xid, 0x01020304);
	assert_true(v.accepted);
	assert_string_equal(rpc_verdict_name(&v), "program unavailable");
	assert_int_equal(v.results, 24);
	assert_int_equal(rpc_verdict_read(&v, view_of(denied, sizeof(denied))), 0);
	assert_false(v.accepted);
	assert_string_equal(rpc_verdict_name(&v), "denied: authentication");
	for (size_t len = 0; len < 24; len++)
		assert_int_equal(rpc_verdict_read(&v, view_of(accepted, len)), ERR_SHORT);
}

static void test_json(void **state)
{
	static const uint8_t octets[] = {0, 0xab, 255};
	char text[300] = "";
	FILE *to = fmemopen(text, sizeof(text), "w");
	struct json j = {.to = to};

	(void)state;
	assert_non_null(to);
	json_open(&j, NULL, '{');
	json_string(&j, "a", "quote \" backslash \\ line\n");
	json_open(&j, "b", '[');
	json_number(&j, NULL, 4294967295.0);
	json_number(&j, NULL, 0.5);
	json_open(&j, NULL, '{');
	json_close(&j, '}');
	json_close(&j, ']');
	json_bool(&j, "c", true);
	json_hex(&j, "d", octets, sizeof(octets));
	json_close(&j, '}');
	assert_int_equal(fclose(to), 0);
	assert_string_equal(text, "{\"a\": \"quote \\\" backslash \\\\ line\\u000a\", "
				  "\"b\": [4294967295, 0.5, {}], \"c\": true, \"d\": \"00abff\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_lines),	  cmocka_unit_test(test_bad_lines),
		cmocka_unit_test(test_too_many_programs), cmocka_unit_test(test_programs),
		cmocka_unit_test(test_verdicts),	  cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
