/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_METRICS_METRICS_H
#define DAEMON_METRICS_METRICS_H

#include "config/config.h"
#include "daemon/stats_collector.h"
#include "daemon/metrics/text.h"

/**
 * metrics - GET /metrics over HTTP, for Prometheus and similar programs; and /, a page that draws
 * the same figures
 *
 * The part of HTTP/1.1 (RFC 9112) that is implemented: GET and HEAD, one request for each
 * connection, no body. An HTTP library would need the same limits on connections and time that
 * daemon/opsock has.
 */
struct metrics;

struct metrics_config {
	const char *address;
	uint16_t port;
	/* host names that requests may use, beside this machine's; borrowed */
	const struct config_names *names;
	struct inherit *inherit; /* sockets that were passed to this process, for metrics_open() */
	struct loop *loop;
	struct stats_collector *stats_collector;
	struct text_process process;
};

/** metrics_open - listen now, or, if the address does not exist yet, as soon as it does. Return: 0 and
 * *@out owned; ERR_IO (logged) or ERR_NOMEM. */
int metrics_open(const struct metrics_config *cfg, struct metrics **out) WARN_UNUSED;

/** metrics_close - stop accepting; idempotent. */
void metrics_close(struct metrics *m);

/** metrics_fd - its listening socket, borrowed; -1: closed, or the address does not exist yet. */
int metrics_fd(const struct metrics *m);

/** metrics_tick - call after each wake-up. Return: when to call again. */
nsec_t metrics_tick(struct metrics *m);

/** metrics_free - takes @m, which may be NULL; no worker may be answering a query. */
void metrics_free(struct metrics *m);

#endif
