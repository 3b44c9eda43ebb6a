/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/target.h"

#include <string.h>

#include "tests/cmocka_all.h"

/* FABRIC:ADDR:PORT of both tools' command lines. */

static void test_good(void **state)
{
	static const struct {
		const char *text, *fabric, *addr;
	} good[] = {
		{"iwarp:127.0.0.1:7", "iwarp", "127.0.0.1:7"},
		{"verbs:10.0.0.1:65535", "verbs", "10.0.0.1:65535"},
		{"iwarp:[::1]:20049", "iwarp", "[::1]:20049"},
		{"verbs:[fe80::1%lo]:1", "verbs", "[fe80::1%lo]:1"},
		{"iwarp:fe80::1%lo:1", "iwarp", "[fe80::1%lo]:1"},
	};
	char why[TARGET_WHY], addr[FABRIC_ADDR_TEXT];
	struct target t;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(target_parse(good[i].text, false, &t, why), 0);
		assert_string_equal(target_fabric(t.fabric), good[i].fabric);
		assert_string_equal(fabric_addr_format(&t.addr, addr), good[i].addr);
	}
	assert_int_equal(target_parse("iwarp:0.0.0.0:0", true, &t, why), 0);
}

static void test_bad(void **state)
{
	static const struct {
		const char *text, *word;
	} bad[] = {
		{"", "verbs:"},
		{"10.0.0.1:7", "iwarp:"},
		{"tcp:10.0.0.1:7", "verbs:"},
		{"iwarpiwarp:10.0.0.1:7", "iwarp:"},
		{":10.0.0.1:7", "iwarp:"},
		{"iwarp:", "FABRIC:ADDR:PORT"},
		{"verbs:10.0.0.1", "FABRIC:ADDR:PORT"},
		{"iwarp:10.0.0.1:0", "port"},
		{"iwarp:10.0.0.1:", "port"},
		{"iwarp:10.0.0.1:65536", "port"},
		{"iwarp:10.0.0.1:-1", "port"},
		{"iwarp:10.0.0.1:7x", "port"},
		{"iwarp:10.0.0.1:99999999999999999999", "port"},
		{"iwarp:host.example:7", "address"},
		{"iwarp::7", "address"},
		{"iwarp:[::1:7", "address"},
		{"iwarp:[::1%lo]:7", "address"},
		{"iwarp:[fe80::1]:7", "link-local: add the interface"},
		{"verbs:[fe80::1%nosuch0]:7", "no such interface"},
	};
	char longest[4 * FABRIC_ADDR_TEXT] = "iwarp:";
	char why[TARGET_WHY];
	struct target t;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(target_parse(bad[i].text, false, &t, why), ERR_CONFIG);
		if (!strstr(why, bad[i].word) || !strstr(why, bad[i].text))
			fail_msg("%s: %s", bad[i].text, why);
	}
	memset(longest + 6, '1', sizeof(longest) - 9);
	memcpy(longest + sizeof(longest) - 3, ":7", 3);
	assert_int_equal(target_parse(longest, false, &t, why), ERR_CONFIG);
}

static void test_versions(void **state)
{
	static const struct {
		const char *text;
		unsigned mask;
	} rows[] = {
		{"1", TARGET_V1},
		{"2", TARGET_V2},
		{"2-early", TARGET_V2_EARLY},
		{"1,2", TARGET_V1 | TARGET_V2},
		{"2,1", TARGET_V1 | TARGET_V2},
		{"2-early,1", TARGET_V1 | TARGET_V2_EARLY},
		{"1,2,2-early", TARGET_V1 | TARGET_V2 | TARGET_V2_EARLY},
		{"", 0},
		{"3", 0},
		{"1,", 0},
		{",1", 0},
		{"1,1", 0},
		{"1 2", 0},
		{"2-earl", 0},
		{"2-early2", 0},
		{"12", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(target_versions(rows[i].text), rows[i].mask);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
