/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_METRICS_METRICS_H
#define DAEMON_METRICS_METRICS_H

#include "config/config.h"
#include "daemon/collect.h"
#include "daemon/metrics/text.h"

/**
 * metrics - GET /metrics by HTTP, for Prometheus and its like; and /, a page that draws the same figures
 *
 * As little of HTTP/1.1 (RFC 9112) as that takes: GET and HEAD, one request a connection, no body.
 * An HTTP library would have to be as bounded as a desk is, in connections and in time.
 */
struct metrics;

struct metrics_config {
	const char *address;
	uint16_t port;
	const struct config_names *names; /* that lead here, beside this machine's; borrowed */
	struct inherit *inherit;	  /* sockets that listen already, for metrics_open() */
	struct loop *loop;
	struct collector *collector;
	struct text_process process;
};

/** metrics_open - Return: 0 and *@out owned; ERR_IO or ERR_NOMEM (logged). */
int metrics_open(const struct metrics_config *cfg, struct metrics **out) WARN_UNUSED;

/** metrics_close - nobody comes any more; idempotent. */
void metrics_close(struct metrics *m);

/** metrics_fd - its listening socket, borrowed; -1: closed. */
int metrics_fd(const struct metrics *m);

/** metrics_tick - after each wake-up. Return: when it is due again. */
nsec_t metrics_tick(struct metrics *m);

/** metrics_free - takes @m, which may be NULL; once no thread works on an inquiry. */
void metrics_free(struct metrics *m);

#endif
