/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "daemon/metrics/request.h"

/* How the first line of a whole request ends. */
#define GW "HTTP/1.1\r\nHost: gw\r\n\r\n"

static struct http_request parse(const char *text)
{
	static char head[256]; /* .host points into it */
	size_t len = strlen(text);

	assert_true(len < sizeof(head));
	memcpy(head, text, len + 1);
	assert_int_equal(http_whole(head, len), len);
	return http_parse(head, len);
}

static void the_page_is_served(void **state)
{
	struct http_request r = parse("GET /metrics " GW);

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
	r = parse("GET /metrics HTTP/1.1\r\nHost: a\r\nX: application/openmetrics-text\r\n\r\n");
	assert_false(r.wants_open);
}

/* RFC 9112 sections 2.2 and 3.2.2 */
static void other_forms_of_a_request(void **state)
{
	struct http_request r =
		parse("GET http://gw:9749/metrics?x HTTP/1.1\r\nHost: other\r\n\r\n");

	(void)state;
	assert_int_equal(r.status, 200);
	assert_int_equal(r.target, HTTP_METRICS);
	assert_string_equal(r.host, "gw:9749");
	r = parse("GET HTTP://gw HTTP/1.0\r\n\r\n");
	assert_int_equal(r.target, HTTP_PAGE);
	assert_string_equal(r.host, "gw");
	assert_int_equal(parse("GET http:///metrics " GW).status, 200);
	assert_string_equal(parse("GET http:///metrics " GW).host, "");
	assert_int_equal(parse("GET http://gw/page " GW).status, 404);
	assert_int_equal(parse("GET https://gw/metrics " GW).status, 404);
	assert_int_equal(parse("GET http://gw/metrics HTTP/1.1\r\n\r\n").status, 400);
	assert_int_equal(parse("\r\nGET /metrics " GW).status, 200);
	assert_int_equal(parse("\nGET /metrics " GW).status, 200);
}

static bool is_open(const char *accept)
{
	char text[256];

	snprintf(text, sizeof(text), "GET /metrics HTTP/1.0\r\nAccept: %s\r\n\r\n", accept);
	return parse(text).wants_open;
}

static void openmetrics_only_if_accepted(void **state)
{
	(void)state;
	assert_true(is_open("application/openmetrics-text"));
	assert_true(is_open("application/openmetrics-text;version=1.0.0;q=0.5,text/plain"));
	assert_true(is_open("application/openmetrics-text;version=0.0.1;q=0.75,"
			    "application/openmetrics-text; version=1.0.0; q=0.5"));
	assert_true(is_open("application/openmetrics-text; version=\"1.0.0\"; charset=utf-8"));
	assert_false(is_open("application/openmetrics-text; version=\"0.0.1\""));
	assert_false(is_open("application/openmetrics-text;q=0, text/plain"));
	assert_false(is_open("application/openmetrics-text; q=0.000,text/plain;q=1"));
	assert_false(
		is_open("application/openmetrics-text;version=0.0.1,text/plain;version=1.0.0"));
	assert_false(is_open("text/plain"));
	assert_false(is_open("text/plain, application/openmetrics-text;q=0"));
	assert_true(is_open("text/plain, application/openmetrics-text;q=1"));
}

static void so_are_the_files_of_a_browser(void **state)
{
	(void)state;
	assert_int_equal(parse("GET / " GW).target, HTTP_PAGE);
	assert_int_equal(parse("GET /?a " GW).status, 200);
	assert_int_equal(parse("HEAD /page.js " GW).target, HTTP_SCRIPT);
	assert_int_equal(parse("GET /page.css " GW).target, HTTP_STYLE);
	assert_int_equal(parse("GET /metrics " GW).target, HTTP_METRICS);
	assert_int_equal(parse("GET /page.css " GW).status, 200);
}

static void nothing_else_is(void **state)
{
	(void)state;
	assert_int_equal(parse("GET /page " GW).status, 404);
	assert_int_equal(parse("GET //  " GW).status, 400);
	assert_int_equal(parse("POST / " GW).status, 405);
	assert_int_equal(parse("GET /metrics/ " GW).status, 404);
	assert_int_equal(parse("GET /../etc/passwd " GW).status, 404);
	assert_int_equal(parse("POST /metrics " GW).status, 405);
	assert_int_equal(parse("get /metrics " GW).status, 405);
	assert_int_equal(parse("GET /metrics HTTP/2.0\r\n\r\n").status, 505);
	assert_int_equal(parse("GET /metrics\r\n\r\n").status, 400);
	assert_int_equal(parse("GET /metrics HTTP/1.11\r\n\r\n").status, 505);
	assert_int_equal(parse("\r\n\r\n").status, 400);
	assert_int_equal(parse("nonsense\n\n").status, 400);
}

/* RFC 9112 3.2 */
static void host_is_said_once(void **state)
{
	struct http_request r =
		parse("GET / HTTP/1.1\r\nhOST: \t gw.example:80 \t\r\nX: y\r\n\r\n");

	(void)state;
	assert_int_equal(r.status, 200);
	assert_int_equal(parse("GET / HTTP/1.1\r\n\r\n").status, 400);
	assert_int_equal(parse("POST / HTTP/1.1\r\n\r\n").status, 400);
	assert_int_equal(parse("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n").status, 400);
	assert_int_equal(parse("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n").status, 400);
	assert_int_equal(parse("GET / HTTP/1.1\r\nHosts: a\r\n\r\n").status, 400);
	assert_null(parse("GET / HTTP/1.0\r\n\r\n").host);
}

static bool is_served(const char *host)
{
	static const char names[] = "gw\0gw.example";

	return http_host_is(host, names, 2);
}

/* DNS rebinding: a page of anybody's, whose name leads here. */
static void others_names_are_not_served(void **state)
{
	static const char *const ours[] = {
		"127.0.0.1", "127.0.0.1:9749", "192.0.2.7:80", "[::1]",	       "[::1]:9749",
		"localhost", "LocalHost:1",    "gw",	       "gw.example.:", "GW.Example:9749",
	};
	static const char *const others[] = {
		"",
		":",
		"evil.example",
		"evil.example:9749",
		"gw.example.evil",
		"xgw",
		"gw.examples",
		"127.0.0.1.evil",
		"127.0.0.1x",
		"1",
		"gw:80:80",
		"gw:x",
		"user@gw",
		"gw/",
		"gw,evil",
		"[gw]",
		"[::1",
		"[::1]x",
		"[::1]:x",
		"::1",
		"[]",
		".",
		"[127.0.0.1]:80",
		"gw evil",
		"localhost.evil",
	};
	char longest[400];

	(void)state;
	for (unsigned i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (!is_served(ours[i]))
			fail_msg("not served: %s", ours[i]);
	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (is_served(others[i]))
			fail_msg("served: %s", others[i]);
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_false(is_served(longest));
	assert_false(http_host_is("gw", "", 0));
	assert_false(http_host_is("", "", 1));
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
		cmocka_unit_test(other_forms_of_a_request),
		cmocka_unit_test(openmetrics_only_if_accepted),
		cmocka_unit_test(so_are_the_files_of_a_browser),
		cmocka_unit_test(nothing_else_is),
		cmocka_unit_test(a_head_ends_at_its_empty_line),
		cmocka_unit_test(a_nul_is_no_end),
		cmocka_unit_test(host_is_said_once),
		cmocka_unit_test(others_names_are_not_served),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
