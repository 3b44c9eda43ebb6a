/* SPDX-License-Identifier: BSD-2-Clause */
/* Text that is checked before libconfig parses it. */
#include "tests/cmocka_all.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_byte_order_mark_is_passed_over),
		cmocka_unit_test(another_encoding_is_named),
	};

	return cmocka_run_group_tests_name("config_scan", tests, NULL, NULL);
}
