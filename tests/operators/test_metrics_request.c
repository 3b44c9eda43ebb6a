/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <string.h>

#include "daemon/metrics/request.h"

static struct http_request parse(const char *text)
{
	char head[256];
	size_t len = strlen(text);

	assert_true(len < sizeof(head));
	memcpy(head, text, len + 1);
	assert_int_equal(http_whole(head, len), len);
	return http_parse(head, len);
}

static void the_page_is_served(void **state)
{
	struct http_request r = parse("GET /metrics HTTP/1.1\r\nHost: gw\r\n\r\n");

	(void)state;
	assert_int_equal(r.status, 200);
	assert_false(r.is_head);
	assert_false(r.wants_open);
	r = parse("HEAD /metrics?x=1 HTTP/1.0\n\n");
	assert_int_equal(r.status, 200);
	assert_true(r.is_head);
	r = parse("GET /metrics HTTP/1.1\r\nHost: a\r\naCCept: application/openmetrics-text;"
		  "version=1.0.0,text/plain;q=0.5\r\n\r\n");
	assert_true(r.wants_open);
	r = parse("GET /metrics HTTP/1.1\r\nX: application/openmetrics-text\r\n\r\n");
	assert_false(r.wants_open);
}

static void so_are_the_files_of_a_browser(void **state)
{
	(void)state;
	assert_int_equal(parse("GET / HTTP/1.1\r\n\r\n").target, HTTP_PAGE);
	assert_int_equal(parse("GET /?a HTTP/1.1\r\n\r\n").status, 200);
	assert_int_equal(parse("HEAD /page.js HTTP/1.1\r\n\r\n").target, HTTP_SCRIPT);
	assert_int_equal(parse("GET /page.css HTTP/1.1\r\n\r\n").target, HTTP_STYLE);
	assert_int_equal(parse("GET /metrics HTTP/1.1\r\n\r\n").target, HTTP_METRICS);
	assert_int_equal(parse("GET /page.css HTTP/1.1\r\n\r\n").status, 200);
}

static void nothing_else_is(void **state)
{
	(void)state;
	assert_int_equal(parse("GET /page HTTP/1.1\r\n\r\n").status, 404);
	assert_int_equal(parse("GET //  HTTP/1.1\r\n\r\n").status, 400);
	assert_int_equal(parse("POST / HTTP/1.1\r\n\r\n").status, 405);
	assert_int_equal(parse("GET /metrics/ HTTP/1.1\r\n\r\n").status, 404);
	assert_int_equal(parse("GET /../etc/passwd HTTP/1.1\r\n\r\n").status, 404);
	assert_int_equal(parse("POST /metrics HTTP/1.1\r\n\r\n").status, 405);
	assert_int_equal(parse("get /metrics HTTP/1.1\r\n\r\n").status, 405);
	assert_int_equal(parse("GET /metrics HTTP/2.0\r\n\r\n").status, 505);
	assert_int_equal(parse("GET /metrics\r\n\r\n").status, 400);
	assert_int_equal(parse("GET /metrics HTTP/1.11\r\n\r\n").status, 505);
	assert_int_equal(parse("\r\n\r\n").status, 400);
	assert_int_equal(parse("nonsense\n\n").status, 400);
}

static void a_head_ends_at_its_empty_line(void **state)
{
	static const char two[] = "GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n";

	(void)state;
	assert_int_equal(http_whole(two, sizeof(two) - 1), 18);
	for (size_t len = 0; len < 18; len++)
		assert_int_equal(http_whole(two, len), 0);
	assert_int_equal(http_whole("\n\n", 2), 2);
	assert_int_equal(http_whole("\r\n\r\n", 4), 4);
	assert_int_equal(http_whole("\n\r", 2), 0);
}

static void a_nul_is_no_end(void **state)
{
	char head[] = "GET /metrics HTTP/1.1\0\r\n\r\n";

	(void)state;
	assert_int_equal(http_parse(head, sizeof(head) - 1).status, 400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_page_is_served),
		cmocka_unit_test(so_are_the_files_of_a_browser),
		cmocka_unit_test(nothing_else_is),
		cmocka_unit_test(a_head_ends_at_its_empty_line),
		cmocka_unit_test(a_nul_is_no_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
