/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "tools/ctl/clients.h"

static void add(struct clients *c, const char *host, unsigned fixed, unsigned of_calls)
{
	char line[256];
	struct json_object *o;

	snprintf(line, sizeof(line),
		 "{\"client_host\":\"%s\",\"fixed_bytes\":%u,\"call_bytes\":%u,"
		 "\"client\":{\"version\":\"1\",\"calls\":1}}",
		 host, fixed, of_calls);
	o = json_tokener_parse(line);
	assert_non_null(o);
	assert_int_equal(clients_add(c, o), 0);
	json_object_put(o);
}

/* Return: what is printed; the caller frees it. */
static char *show(struct clients *c, bool json)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	clients_show(c, f, json);
	assert_int_equal(fclose(f), 0);
	return text;
}

/* The line of @host begins at the returned place. It has the words @first and @second. */
static const char *expect_line(const char *text, const char *host, const char *first,
			       const char *second)
{
	const char *at = strstr(text, host), *end = at ? strchr(at, '\n') : NULL;

	assert_non_null(end);
	if (!memmem(at, (size_t)(end - at), first, strlen(first)) ||
	    !memmem(at, (size_t)(end - at), second, strlen(second)))
		fail_msg("%s has not both of \"%s\" and \"%s\": %s", host, first, second, text);
	return at;
}

/* An operator sees which client holds memory that is short. */
static void the_client_that_holds_most_memory_is_first(void **state)
{
	struct clients *c = clients_new();
	const char *few, *many, *none;
	char *text;

	(void)state;
	assert_non_null(c);
	add(c, "10.0.0.1", 4096, 0);
	add(c, "10.0.0.2", 8192, 3 << 20);
	add(c, "10.0.0.3", 0, 0);
	add(c, "10.0.0.2", 8192, 5 << 20);
	text = show(c, false);
	assert_non_null(strstr(text, " MEMORY "));
	many = expect_line(text, "10.0.0.2", " 8208K ", " 2 ");
	few = expect_line(text, "10.0.0.1", " 4096B ", " 1 ");
	none = expect_line(text, "10.0.0.3", " 0B ", " 1 ");
	assert_true(many < few && few < none);
	free(text);
	text = show(c, true);
	many = expect_line(text, "\"10.0.0.2\"", "\"fixed_bytes\":16384,",
			   "\"call_bytes\":8388608,");
	few = expect_line(text, "\"10.0.0.1\"", "\"fixed_bytes\":4096,", "\"call_bytes\":0,");
	assert_true(many < few);
	free(text);
	clients_free(c);
}

/* Clients that hold the same are in the order of their first sessions. */
static void clients_that_hold_the_same_keep_their_order(void **state)
{
	struct clients *c = clients_new();
	char *text;

	(void)state;
	assert_non_null(c);
	for (unsigned i = 0; i < 9; i++) {
		char host[16];

		snprintf(host, sizeof(host), "10.0.0.%u", 9 - i);
		add(c, host, 4096, 0);
	}
	text = show(c, false);
	for (unsigned i = 1; i < 9; i++) {
		char host[16], next[16];

		snprintf(host, sizeof(host), "10.0.0.%u", 10 - i);
		snprintf(next, sizeof(next), "10.0.0.%u", 9 - i);
		assert_true(strstr(text, host) < strstr(text, next));
	}
	free(text);
	clients_free(c);
}

/* If time grew with the square of their number, the time limit of the test would be over. */
static void a_hundred_thousand_clients_are_sorted(void **state)
{
	enum { MANY = 100000 };
	struct clients *c = clients_new();
	const char *at;
	char *text, host[32];

	(void)state;
	assert_non_null(c);
	for (unsigned i = 0; i < 2 * MANY; i++) {
		unsigned n = i % MANY;

		snprintf(host, sizeof(host), "10.%u.%u.%u", n >> 16, n >> 8 & 0xff, n & 0xff);
		add(c, host, n, 0);
	}
	text = show(c, false);
	at = strchr(text, '\n') + 1;
	for (unsigned n = MANY; n-- > MANY - 10; at = strchr(at, '\n') + 1) {
		snprintf(host, sizeof(host), "10.%u.%u.%u ", n >> 16, n >> 8 & 0xff, n & 0xff);
		assert_memory_equal(at, host, strlen(host));
	}
	free(text);
	clients_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_client_that_holds_most_memory_is_first),
		cmocka_unit_test(clients_that_hold_the_same_keep_their_order),
		cmocka_unit_test(a_hundred_thousand_clients_are_sorted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
