/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_METRICS_REQUEST_H
#define DAEMON_METRICS_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

enum http_target { HTTP_METRICS, HTTP_PAGE, HTTP_STYLE, HTTP_SCRIPT, HTTP_TARGETS };

/** struct http_request - what matters of one. */
struct http_request {
	unsigned status; /* 200, or why it is not served */
	enum http_target target;
	bool is_head;
	bool wants_open;  /* OpenMetrics */
	const char *host; /* what Host says, in the head; NULL: an HTTP/1.0 without */
};

/** http_whole - octets up to and with the empty line that ends a request's head; 0: not there yet. */
size_t http_whole(const char *in, size_t len);

/**
 * http_parse - the head of a request, @len octets and a NUL behind them; written to
 *
 * RFC 9112 3.2: who speaks HTTP/1.1 says Host, once; anything else is answered by 400.
 */
struct http_request http_parse(char *head, size_t len);

/**
 * http_host_is - whether @host, a name or an address with or without a port, is one of this gateway's: an address,
 * "localhost", or one of @n @names, each with its NUL, one behind the other
 *
 * A page that a browser got from elsewhere may have its own name lead here (DNS rebinding), and then read all
 * there is as its own. Nobody but an operator makes a name of the gateway's lead to it.
 */
bool http_host_is(const char *host, const char *names, unsigned n);

/** http_reason - the words for a status; static storage. */
const char *http_reason(unsigned status);

#endif
