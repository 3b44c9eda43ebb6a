/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/metrics/request.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

/* RFC 9112 section 2.2: a lone LF may end a line. */
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

/* The next line of *@at, without its end; NULL: none. */
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

/* The path of @target. If @target has the absolute form, http://HOST/PATH, *@host is its host. (RFC
 * 9112 section 3.2.2: "A server MUST accept the absolute-form in requests", and section 3.2: its
 * host counts, not that of the field.) */
static const char *path_of(char *target, const char **host)
{
	static const char scheme[] = "http://";
	size_t begins = sizeof(scheme) - 1, len;

	if (strncasecmp(target, scheme, begins) != 0)
		return target;
	len = strcspn(target + begins, "/");
	*host = target + begins - 1;
	memmove(target + begins - 1, target + begins, len);
	target[begins - 1 + len] = '\0';
	return target[begins + len] ? target + begins + len : "/";
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
	return find_target(path_of(target, &r->host), &r->target) ? 200 : 404;
}

/* Value of the field @name, which ends with a colon, without blanks around it; NULL: the line is
 * another field. */
static char *value_of(char *line, const char *name)
{
	size_t len = strlen(name);
	char *end;

	if (strncasecmp(line, name, len) != 0)
		return NULL;
	line += len + strspn(line + len, " \t");
	for (end = line + strlen(line); end > line && (end[-1] == ' ' || end[-1] == '\t');)
		end--;
	*end = '\0';
	return line;
}

/* Whether the weight at @q is 0, or 0. and zeros. */
static bool is_zero(const char *q)
{
	size_t zeros = strspn(q, "0.");

	return zeros > 0 && (q[zeros] < '1' || q[zeros] > '9');
}

/* Whether the parameter "version=" at @version is 1.0.0, perhaps between quotes (RFC 9110 section
 * 5.6.6). */
static bool is_open_version(const char *version)
{
	version += strlen("version=");
	return strncmp(version + (*version == '"'), "1.0.0", 5) == 0;
}

/* Whether the value of an Accept field has OpenMetrics 1.0 with a weight above 0 (RFC 9110 section
 * 12.5.1). */
static bool accepts_open(const char *value)
{
	while ((value = strcasestr(value, "application/openmetrics-text"))) {
		const char *end = value + strcspn(value, ","), *q = strcasestr(value, "q=");
		const char *version = strcasestr(value, "version=");

		if (!(version && version < end && !is_open_version(version)) &&
		    !(q && q < end && is_zero(q + 2)))
			return true;
		value = end;
	}
	return false;
}

/* Parse a header field. */
static void parse_field(char *line, struct http_request *r, unsigned *hosts)
{
	const char *value = value_of(line, "accept:");

	if (value && accepts_open(value))
		r->wants_open = true;
	value = value_of(line, "host:");
	if (value) {
		if (!r->host)
			r->host = value;
		++*hosts;
	}
}

/* HTTP/1.0 has no Host field. */
static bool needs_host(const char *first)
{
	const char *version = strrchr(first, ' ');

	return version && strncmp(version, " HTTP/1.", 8) == 0 && strlen(version) == 9 &&
	       version[8] != '0';
}

struct http_request http_parse(char *head, size_t len)
{
	struct http_request r = {.status = 400};
	unsigned hosts = 0, least;
	char *at = head, *line;

	if (strlen(head) != len)
		return r;
	line = next_line(&at);
	if (line && !*line) /* RFC 9112 section 2.2: an empty line before the request is ignored */
		line = next_line(&at);
	if (!line)
		return r;
	least = needs_host(line);
	r.status = parse_first(line, &r);
	while ((line = next_line(&at)) && *line)
		parse_field(line, &r, &hosts);
	if (hosts > 1 || hosts < least)
		r.status = 400;
	return r;
}

enum { HOST_BYTES = 256 };

/* Copy @host without port, brackets, and the final dot. Return: whether it is a host. */
static bool bare_host(const char *host, char *bare)
{
	size_t len = *host == '[' ? strcspn(host, "]") : strcspn(host, ":");
	const char *port = host + len + (*host == '[' && host[len]);

	if (*port && (*port != ':' || strspn(port + 1, "0123456789") != strlen(port + 1)))
		return false;
	if (*host == '[') {
		if (host[len] != ']')
			return false;
		host++;
		len--;
	} else if (len > 1 && host[len - 1] == '.') {
		len--;
	}
	if (len == 0 || len >= HOST_BYTES)
		return false;
	memcpy(bare, host, len);
	bare[len] = '\0';
	return true;
}

bool http_host_is(const char *host, const char *names, unsigned n)
{
	char bare[HOST_BYTES];
	struct in6_addr address;

	if (!bare_host(host, bare))
		return false;
	if (*host == '[')
		return inet_pton(AF_INET6, bare, &address) == 1;
	if (inet_pton(AF_INET, bare, &address) == 1 || strcasecmp(bare, "localhost") == 0)
		return true;
	for (; n > 0; n--, names += strlen(names) + 1)
		if (strcasecmp(bare, names) == 0)
			return true;
	return false;
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
	case 421:
		return "Misdirected Request";
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
