/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "tools/ctl/sample.h"
#include "tools/ctl/top_view.h"

enum { SESSIONS = 5 };
#define SECOND 1000000000U

static char *text;

static int forget_text(void **state)
{
	(void)state;
	free(text);
	text = NULL;
	return 0;
}

/* One where session i has made calls[i - 1] so far, @n seconds after 0. */
static struct sample sample_of(const unsigned *calls, uint64_t n)
{
	struct sample s = {.at_ns = 0};

	for (unsigned i = 0; i < SESSIONS; i++) {
		char line[128];
		struct json_object *o;

		snprintf(line, sizeof(line), "{\"id\":%u,\"client\":{\"calls\":%u}}", i + 1,
			 calls[i]);
		o = json_tokener_parse(line);
		sample_take(&s, "session", o);
		json_object_put(o);
	}
	sample_end(&s, n * SECOND);
	return s;
}

static void show_as(const struct top_view *v, const struct sample *before, struct sample *now)
{
	size_t len;
	FILE *f;

	free(text);
	f = open_memstream(&text, &len);
	assert_non_null(f);
	top_view(f, v, before, now);
	assert_int_equal(fclose(f), 0);
}

static void show_since(const struct sample *before, struct sample *now)
{
	const struct top_view v = {.has_list = true};

	show_as(&v, before, now);
}

/* The calls a second of session @id, and on which line of the list it is. */
static void expect_rate(unsigned id, unsigned rate, unsigned line)
{
	const char *at = strstr(text, "\nSESSION");
	unsigned got_id = 0, got_rate = 0;

	assert_non_null(at);
	for (unsigned i = 0; i < line; i++) {
		at = strchr(at + 1, '\n');
		assert_non_null(at);
	}
	/* "-" for what a session of this test has not */
	assert_int_equal(sscanf(at, "%u - - --- %u", &got_id, &got_rate), 2);
	assert_int_equal(got_id, id);
	assert_int_equal(got_rate, rate);
}

/* Sessions that were shown in another order are found again in the next sample. */
static void rates_are_since_the_sample_before(void **state)
{
	static const unsigned calls[3][SESSIONS] = {{1000, 1000, 1000, 1000, 1000},
						    {1001, 1003, 1005, 1004, 1002},
						    {1006, 1005, 1008, 1005, 1006}};
	struct sample s[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		s[i] = sample_of(calls[i], i);
	show_since(&s[0], &s[1]);
	expect_rate(3, 5, 1);
	expect_rate(4, 4, 2);
	expect_rate(1, 1, 5);
	show_since(&s[1], &s[2]);
	expect_rate(1, 5, 1);
	expect_rate(5, 4, 2);
	expect_rate(3, 3, 3);
	expect_rate(2, 2, 4);
	expect_rate(4, 1, 5);
	for (unsigned i = 0; i < 3; i++)
		sample_free(&s[i]);
}

/* The sessions were too many to be listed before. Their totals are no rates. */
static void sessions_that_were_not_listed_have_no_rate(void **state)
{
	static const unsigned calls[SESSIONS] = {1000, 2000, 3000, 4000, 5000};
	struct sample before = {.sessions = 2001, .at_ns = SECOND};
	struct sample now = sample_of(calls, 2);

	(void)state;
	show_since(&before, &now);
	for (unsigned id = 1; id <= SESSIONS; id++)
		expect_rate(id, 0, id);
	sample_free(&now);
}

/* The session that holds most memory is first; memory is what calls and connections take. */
static void sessions_are_sorted_by_memory(void **state)
{
	static const char *const sessions[] = {
		"{\"id\":1,\"fixed_bytes\":65536,\"call_bytes\":0,\"client\":{\"calls\":9}}",
		"{\"id\":2,\"fixed_bytes\":4096,\"call_bytes\":1048576,\"client\":{\"calls\":1}}",
		"{\"id\":3,\"fixed_bytes\":131072,\"call_bytes\":0,\"client\":{\"calls\":5}}",
	};
	static const struct {
		unsigned id;
		const char *memory;
	} lines[] = {{2, " 1028K "}, {3, " 128K "}, {1, " 64.0K "}};
	struct sample none = {.at_ns = 0}, now = {.at_ns = 0};
	const struct top_view v = {.has_list = true, .order = TOP_MEMORY};
	const char *at;

	(void)state;
	assert_string_equal(top_order_name(TOP_MEMORY), "memory");
	for (unsigned i = 0; i < 3; i++) {
		struct json_object *o = json_tokener_parse(sessions[i]);

		sample_take(&now, "session", o);
		json_object_put(o);
	}
	sample_end(&now, SECOND);
	show_as(&v, &none, &now);
	at = strstr(text, "\nSESSION");
	assert_non_null(at);
	for (unsigned i = 0; i < 3; i++) {
		at = strchr(at + 1, '\n');
		assert_non_null(at);
		assert_int_equal(strtoul(at, NULL, 10), lines[i].id);
		assert_non_null(memmem(at, strcspn(at + 1, "\n") + 1, lines[i].memory,
				       strlen(lines[i].memory)));
	}
	sample_free(&now);
}

/* A route has two servers, and one of them is down. */
static void servers_that_are_up_are_reported(void **state)
{
	struct json_object *o = json_tokener_parse(
		"{\"name\":\"one\",\"upstreams\":{\"servers_up\":1,\"servers_down\":1}}");
	struct sample none = {.at_ns = 0}, now = {.at_ns = 0};

	(void)state;
	sample_take(&now, "route", o);
	json_object_put(o);
	sample_end(&now, SECOND);
	show_since(&none, &now);
	assert_non_null(strstr(text, "  1 of 2 up\n"));
	sample_free(&now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(rates_are_since_the_sample_before, forget_text),
		cmocka_unit_test_teardown(sessions_that_were_not_listed_have_no_rate, forget_text),
		cmocka_unit_test_teardown(sessions_are_sorted_by_memory, forget_text),
		cmocka_unit_test_teardown(servers_that_are_up_are_reported, forget_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
