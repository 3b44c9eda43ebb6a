/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_METRICS_REQUEST_H
#define DAEMON_METRICS_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

enum http_target { HTTP_METRICS, HTTP_PAGE, HTTP_STYLE, HTTP_SCRIPT, HTTP_TARGETS };

/** struct http_request - the parts of a request that are used. */
struct http_request {
	unsigned status; /* 200, or the status with which the request is refused */
	enum http_target target;
	bool is_head;
	bool wants_open; /* the client asked for OpenMetrics */
	/* value of Host, inside the head; NULL: an HTTP/1.0 request without Host */
	const char *host;
};

/** http_whole - length of a request's head, up to and including its empty line; 0: incomplete. */
size_t http_whole(const char *in, size_t len);

/**
 * http_parse - parse the head of a request: @len octets and a NUL, which are changed
 *
 * RFC 9112 3.2: an HTTP/1.1 request has exactly one Host. Any other number is answered 400.
 */
struct http_request http_parse(char *head, size_t len);

/**
 * http_host_is - whether @host, a name or an address with or without a port, belongs to this
 * gateway: an address, "localhost", or one of @n @names, which follow each other, each with its NUL
 *
 * State:  a browser of an operator can reach the metrics, and has an attacker's web page open.
 * Danger: the page makes its own name resolve to the gateway's address (DNS rebinding). The browser
 *         then lets the page read the metrics as its own.
 * Rule:   a request under another host name is refused. Only an operator makes one of the gateway's
 *         names resolve to it.
 * Pinned: tests/operators/test_metrics_request.c:others_names_are_not_served
 */
bool http_host_is(const char *host, const char *names, unsigned n);

/** http_reason - reason phrase of a status; static storage. */
const char *http_reason(unsigned status);

#endif
