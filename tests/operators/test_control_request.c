/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "daemon/control/request.h"
#include "tests/rng.h"

static struct control_request r;
static char why[REQUEST_WHY];

static void accept_line(const char *text, enum control_command command)
{
	if (request_parse(text, strlen(text), &r, why) != 0)
		fail_msg("%s: %s", text, why);
	assert_int_equal(r.command, command);
}

static void refuse_line(const char *text, const char *words)
{
	assert_int_equal(request_parse(text, strlen(text), &r, why), ERR_CONFIG);
	if (!strstr(why, words))
		fail_msg("%s: \"%s\" lacks \"%s\"", text, why, words);
}

static void what_is_known_is_taken(void **state)
{
	(void)state;
	accept_line("{\"do\":\"status\"}\n", CONTROL_STATUS);
	accept_line("{\"do\":\"routes\"}\r\n", CONTROL_ROUTES);
	accept_line(" { \"do\" : \"reload\" } ", CONTROL_RELOAD);
	accept_line("{\"route\":\"one\",\"do\":\"sessions\",\"client\":\"::1\",\"name\":\"h\"}",
		    CONTROL_SESSIONS);
	assert_string_equal(r.route, "one");
	assert_string_equal(r.client, "::1");
	assert_string_equal(r.name, "h");
	accept_line("{\"do\":\"show\",\"session\":1000000001}", CONTROL_SHOW);
	assert_int_equal(r.session, 1000000001);
	accept_line("{\"do\":\"drain\"}", CONTROL_DRAIN);
	assert_int_equal(r.session, 0);
	accept_line("{\"do\":\"kill\",\"session\":7}", CONTROL_KILL);
	accept_line("{\"do\":\"trace\"}", CONTROL_TRACE);
	assert_false(r.has_program);
	accept_line("{\"do\":\"trace\",\"slow_ns\":50000000,\"program\":100003,\"version\":4,"
		    "\"procedure\":0,\"kind\":\"nfs4 read\",\"session\":2}",
		    CONTROL_TRACE);
	assert_int_equal(r.slow_ns, 50000000);
	assert_int_equal(r.program, 100003);
	assert_int_equal(r.version, 4);
	assert_true(r.has_procedure);
	assert_int_equal(r.procedure, 0);
	assert_string_equal(r.kind, "nfs4 read");
	accept_line("{\"do\":\"capture\",\"route\":\"one\"}", CONTROL_CAPTURE);
	accept_line("{\"do\":\"more\"}", CONTROL_MORE);
	accept_line("{\"do\":\"log\"}", CONTROL_LOG);
	assert_false(r.has_level);
	accept_line("{\"do\":\"log\",\"level\":\"debug\"}", CONTROL_LOG);
	assert_int_equal(r.level, LOG_LEVEL_DEBUG);
}

static void all_else_is_refused(void **state)
{
	(void)state;
	refuse_line("", "no JSON object");
	refuse_line("status", "no JSON object");
	refuse_line("null", "JSON object");
	refuse_line("[]", "JSON object");
	refuse_line("{\"do\":\"status\"", "no JSON object");
	refuse_line("{\"do\":\"status\"}{\"do\":\"kill\"}", "");
	refuse_line("{'do':'status'}", "no JSON object");
	refuse_line("{}", "no \"do\"");
	refuse_line("{\"do\":\"dance\"}", "no such command: dance");
	refuse_line("{\"do\":1}", "text: do");
	refuse_line("{\"do\":\"status\",\"who\":1}", "no such member: who");
	refuse_line("{\"do\":\"status\",\"route\":\"a\"}", "does not take it: route");
	refuse_line("{\"do\":\"kill\"}", "needs it: session");
	refuse_line("{\"do\":\"kill\",\"session\":0}", "from 1");
	refuse_line("{\"do\":\"kill\",\"session\":-1}", "from 1");
	refuse_line("{\"do\":\"kill\",\"session\":1.5}", "whole number");
	refuse_line("{\"do\":\"kill\",\"session\":\"1\"}", "whole number");
	refuse_line("{\"do\":\"trace\",\"program\":4294967296}", "out of bounds: program");
	refuse_line("{\"do\":\"trace\",\"slow_ns\":-1}", "out of bounds: slow_ns");
	refuse_line("{\"do\":\"capture\",\"slow_ns\":1}", "does not take it: slow_ns");
	refuse_line("{\"do\":\"more\",\"route\":\"one\"}", "does not take it: route");
	refuse_line("{\"do\":\"log\",\"level\":\"loud\"}", "no such level");
	refuse_line("{\"do\":\"sessions\",\"route\":\"\"}", "1 to 255");
	refuse_line("{\"do\":\"sessions\",\"name\":\"a\\u0000b\"}", "1 to 255");
	refuse_line("{\"do\":\"sessions\",\"name\":\"\xff\"}", "no JSON object");
	refuse_line("[[[[[[[[[[", "no JSON object");
}

/* A quoted word that is cut keeps whole characters only. */
static void an_error_is_utf8(void **state)
{
	enum { CHARACTERS = 60 };
	char text[32 + 2 * CHARACTERS];
	const char *told;

	(void)state;
	for (unsigned odd = 0; odd < 2; odd++) {
		int n = snprintf(text, sizeof(text), "{\"do\":\"%s", odd ? "x" : "");

		for (unsigned i = 0; i < CHARACTERS; i++)
			n += snprintf(text + n, sizeof(text) - (size_t)n, "\xc3\xa9");
		snprintf(text + n, sizeof(text) - (size_t)n, "\"}");
		refuse_line(text, "no such command: ");
		told = strchr(why, ':') + 2 + odd;
		assert_int_equal(strlen(told), 64 - 2 * odd);
		assert_int_equal((unsigned char)told[strlen(told) - 1], 0xa9);
	}
}

static void lengths_are_bounded(void **state)
{
	char text[CONTROL_REQUEST_BYTES + 64];
	int n = snprintf(text, sizeof(text), "{\"do\":\"sessions\",\"name\":\"");

	(void)state;
	memset(text + n, 'a', 255);
	memcpy(text + n + 255, "\"}", 3);
	accept_line(text, CONTROL_SESSIONS);
	memset(text + n, 'a', 256);
	memcpy(text + n + 256, "\"}", 3);
	refuse_line(text, "1 to 255");
	memset(text, ' ', sizeof(text));
	assert_int_equal(request_parse(text, sizeof(text), &r, why), ERR_CONFIG);
	assert_non_null(strstr(why, "too long"));
}

/* A sound request with octets changed, cut out or doubled is parsed within its bounds, and says why
 * or is sound again. */
static void octets_change(void **state)
{
	static const char sound[] =
		"{\"do\":\"drain\",\"route\":\"filer1\",\"session\":12,\"client\":\"10.0.0.1\"}";
	struct rng rng = rng_seeded("octets_change", 15);

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		char text[256];
		size_t len = sizeof(sound) - 1;
		char *exact;

		memcpy(text, sound, len);
		for (unsigned changes = 1 + rng_below(&rng, 4); changes > 0; changes--) {
			size_t at = rng_below(&rng, (uint32_t)len);

			switch (rng_below(&rng, 3)) {
			case 0:
				text[at] = (char)rng_below(&rng, 256);
				break;
			case 1:
				memmove(text + at, text + at + 1, len - at - 1);
				len--;
				break;
			default:
				memmove(text + at + 1, text + at, len - at);
				len++;
			}
		}
		exact = test_malloc(len);
		memcpy(exact, text, len);
		if (request_parse(exact, len, &r, why) == 0) {
			assert_true(r.command < CONTROL_COMMANDS);
			assert_string_equal(why, "");
		} else {
			assert_true(*why && strlen(why) < REQUEST_WHY);
		}
		test_free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_known_is_taken), cmocka_unit_test(all_else_is_refused),
		cmocka_unit_test(an_error_is_utf8),	  cmocka_unit_test(lengths_are_bounded),
		cmocka_unit_test(octets_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
