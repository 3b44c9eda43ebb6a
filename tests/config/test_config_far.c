/* SPDX-License-Identifier: BSD-2-Clause */
/* The defaults of an end whose peer is far. */
#include "tests/cmocka_all.h"

#include <stdio.h>

#include "config/config.h"
#include "tests/config/load.h"

/* An end with hop = "far" has larger messages and more credits, as far as the file sets none, before
 * or behind the key. */
static void far_ends_have_defaults_of_their_own(void **state)
{
	static const struct {
		const char *keys;
		uint32_t inline_bytes, credits;
	} rows[] = {
		{"hop = \"far\";", 65536, 256},
		{"hop = \"far\"; inline = \"8K\";", 8192, 256},
		{"credits = 64; hop = \"far\";", 65536, 64},
		{"inline = 4096; hop = \"far\"; credits = 4096;", 4096, 4096},
		{"receive_structure = \"1M\"; hop = \"far\";", 4096, 64},
		{"hop = \"near\";", 4096, 64},
		{"hop = \"auto\";", 4096, 64},
		{"", 4096, 64},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned upstream = 0; upstream < 2; upstream++) {
			const char *l = upstream ? "" : rows[i].keys,
				   *u = upstream ? rows[i].keys : "";
			const struct config_end *end, *other;
			struct config *cfg;
			char text[512];

			snprintf(text, sizeof(text),
				 "routes = ( { name = \"a\"; listen = { address = \"::1\"; %s };"
				 " upstream = { address = \"::2\"; %s }; } );",
				 l, u);
			assert_int_equal(load(text, &cfg), 0);
			end = upstream ? &cfg->routes[0].upstream : &cfg->routes[0].listen;
			other = upstream ? &cfg->routes[0].listen : &cfg->routes[0].upstream;
			assert_int_equal(end->inline_bytes, rows[i].inline_bytes);
			assert_int_equal(end->credits, rows[i].credits);
			assert_int_equal(other->inline_bytes, 4096);
			assert_int_equal(other->credits, 64);
			config_free(cfg);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(far_ends_have_defaults_of_their_own),
	};

	return cmocka_run_group_tests_name("config far", tests, NULL, NULL);
}
