/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/metrics/request.h"

#include <string.h>
#include <strings.h>

/* RFC 9112 section 2.2: a lone LF may end a line, too. */
size_t http_whole(const char *in, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (in[i] != '\n')
			continue;
		if (i + 1 < len && in[i + 1] == '\n')
			return i + 2;
		if (i + 2 < len && in[i + 1] == '\r' && in[i + 2] == '\n')
			return i + 3;
	}
	return 0;
}

/* The next line of *@at, without its end; NULL when there is none. */
static char *next_line(char **at)
{
	char *line = *at, *end = strchr(line, '\n');

	if (!end)
		return NULL;
	*at = end + 1;
	*end = '\0';
	if (end > line && end[-1] == '\r')
		end[-1] = '\0';
	return line;
}

static bool find_target(const char *path, enum http_target *target)
{
	static const char *const paths[HTTP_TARGETS] = {[HTTP_METRICS] = "/metrics",
							[HTTP_PAGE] = "/",
							[HTTP_STYLE] = "/page.css",
							[HTTP_SCRIPT] = "/page.js"};

	for (unsigned i = 0; i < HTTP_TARGETS; i++)
		if (strcmp(path, paths[i]) == 0) {
			*target = (enum http_target)i;
			return true;
		}
	return false;
}

/* METHOD SP TARGET SP HTTP/1.x */
static unsigned parse_first(char *line, struct http_request *r)
{
	char *target = strchr(line, ' '), *version = target ? strchr(target + 1, ' ') : NULL;

	if (!version)
		return 400;
	*target++ = '\0';
	*version++ = '\0';
	if (strncmp(version, "HTTP/1.", 7) != 0 || strlen(version) != 8)
		return strncmp(version, "HTTP/", 5) == 0 ? 505 : 400;
	r->is_head = strcmp(line, "HEAD") == 0;
	if (!r->is_head && strcmp(line, "GET") != 0)
		return 405;
	target[strcspn(target, "?")] = '\0';
	return find_target(target, &r->target) ? 200 : 404;
}

struct http_request http_parse(char *head, size_t len)
{
	struct http_request r = {.status = 400};
	char *at = head, *line;

	if (strlen(head) != len)
		return r;
	line = next_line(&at);
	if (!line)
		return r;
	r.status = parse_first(line, &r);
	while ((line = next_line(&at)) && *line)
		if (strncasecmp(line, "accept:", 7) == 0 &&
		    strcasestr(line, "application/openmetrics-text"))
			r.wants_open = true;
	return r;
}

const char *http_reason(unsigned status)
{
	switch (status) {
	case 200:
		return "OK";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 431:
		return "Request Header Fields Too Large";
	case 500:
		return "Internal Server Error";
	case 505:
		return "HTTP Version Not Supported";
	default:
		return "Bad Request";
	}
}
