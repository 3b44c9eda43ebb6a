/* SPDX-License-Identifier: BSD-2-Clause */
/* Text that is checked before libconfig parses it. */
#include "tests/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/config/load.h"

static void a_byte_order_mark_is_passed_over(void **state)
{
	struct config *cfg;

	(void)state;
	assert_int_equal(load("\xef\xbb\xbf" GOOD, &cfg), 0);
	config_free(cfg);
	assert_int_equal(load("\xef\xbb\xbf@include \"other.conf\"\n" GOOD, &cfg), ERR_CONFIG);
	assert_string_equal(told, "1: @include is not supported: write all into this file\n");
}

static void another_encoding_is_named(void **state)
{
	struct config *cfg;

	(void)state;
	assert_int_equal(load_octets("\xff\xfew\0o\0", 6, &cfg), ERR_CONFIG);
	assert_string_equal(told, "1: text in UTF-16 or UTF-32: save the file as UTF-8\n");
	assert_int_equal(load_octets("\xfe\xff\0w\0o", 6, &cfg), ERR_CONFIG);
	assert_string_equal(told, "1: text in UTF-16 or UTF-32: save the file as UTF-8\n");
}

/* Return: a text with @n keys that are not known; the caller frees it. */
static char *many_keys(unsigned n, const char *before, const char *behind)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	fputs(before, f);
	for (unsigned i = 0; i < n; i++)
		fprintf(f, "a%u=1;\n", i);
	fputs(behind, f);
	assert_int_equal(fclose(f), 0);
	return text;
}

/* libconfig would take minutes. */
static void so_many_keys_are_refused_at_once(void **state)
{
	static const struct {
		const char *before, *behind;
		unsigned line;
	} places[] = {{"", GOOD, 201}, {"routes = ( {\n" NAME LISTEN UP, "} );\n", 202}};
	char expected[160];
	struct config *cfg;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		char *text = many_keys(330000, places[i].before, places[i].behind);

		assert_int_equal(load(text, &cfg), ERR_CONFIG);
		snprintf(expected, sizeof(expected),
			 "%u: more than 200 keys in one group: leave out those that "
			 "rpcrdma-gw.conf(5) does not have\n",
			 places[i].line);
		assert_string_equal(told, expected);
		free(text);
	}
}

static void few_unknown_keys_are_reported_one_by_one(void **state)
{
	char *text = many_keys(100, "", GOOD);
	struct config *cfg;

	(void)state;
	assert_int_equal(load(text, &cfg), ERR_CONFIG);
	assert_non_null(strstr(told, "100: unknown key \"a99\""));
	free(text);
}

static void groups_without_end_are_refused(void **state)
{
	struct config *cfg;
	char text[1024] = "";

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		strcat(text, "a = {\n");
	assert_int_equal(load(text, &cfg), ERR_CONFIG);
	assert_string_equal(told, "16: groups are nested too deeply: look for a missing }\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_byte_order_mark_is_passed_over),
		cmocka_unit_test(another_encoding_is_named),
		cmocka_unit_test(so_many_keys_are_refused_at_once),
		cmocka_unit_test(few_unknown_keys_are_reported_one_by_one),
		cmocka_unit_test(groups_without_end_are_refused),
	};

	return cmocka_run_group_tests_name("config_scan", tests, NULL, NULL);
}
