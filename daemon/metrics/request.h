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
	bool wants_open; /* OpenMetrics */
};

/** http_whole - octets up to and with the empty line that ends a request's head; 0: not there yet. */
size_t http_whole(const char *in, size_t len);

/** http_parse - the head of a request, @len octets and a NUL behind them; written to. */
struct http_request http_parse(char *head, size_t len);

/** http_reason - the words for a status; static storage. */
const char *http_reason(unsigned status);

#endif
