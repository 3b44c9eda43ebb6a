/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <string.h>

#include "fabric/provider/provider.h"

static void names(void **state)
{
	enum provider_kind kind;

	(void)state;
	assert_int_equal(provider_parse("iwarp", &kind), 0);
	assert_int_equal(kind, PROVIDER_IWARP);
	assert_int_equal(provider_parse("verbs", &kind), 0);
	assert_int_equal(kind, PROVIDER_VERBS);
	assert_int_equal(provider_parse("", &kind), ERR_CONFIG);
	assert_int_equal(provider_parse("Verbs", &kind), ERR_CONFIG);
}

/* Where verbs cannot be had it is said what is missing, and that iwarp needs nothing. */
static void what_is_missing_is_named(void **state)
{
	char why[PROVIDER_WHY] = "";

	(void)state;
	assert_int_equal(provider_check(PROVIDER_IWARP, why), 0);
	if (provider_check(PROVIDER_VERBS, why) == 0)
		return; /* a machine with a device */
	assert_non_null(strstr(why, "iwarp"));
	assert_non_null(strstr(why, "device"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(what_is_missing_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
