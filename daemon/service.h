/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_SERVICE_H
#define DAEMON_SERVICE_H

#include <sys/un.h>

#include "daemon/stats_collector.h"

/**
 * service - messages to the service manager: the datagrams of sd_notify(3)
 *
 * Without NOTIFY_SOCKET in the environment nothing is sent. The watchdog is fed only if every
 * worker has answered a query since the last time, so a gateway with a worker that hangs is
 * restarted.
 */
struct service {
	int fd; /* -1: no service manager */
	struct sockaddr_un to;
	socklen_t len;
	nsec_t interval; /* of the watchdog; 0: none */
	nsec_t next;
	bool is_asking;
	struct stats_collector *stats_collector;
	struct stats_collect collect;
};

/** service_open - connect as the environment says, and remove these variables from it. */
void service_open(struct service *s);

/** service_watch - feed the watchdog from now on, after each answer of @stats_collector, which is
 * borrowed. */
void service_watch(struct service *s, struct stats_collector *stats_collector);

/** service_ready - the gateway serves. service_reloading - the gateway serves, and a reload has
 * begun. */
void service_ready(const struct service *s);
void service_reloading(const struct service *s);

/**
 * service_stopping - the process drains and ends in the time @within
 *
 * The manager is asked for that time and a margin (EXTEND_TIMEOUT_USEC), so that a drain longer
 * than the unit's TimeoutStopSec is not cut by SIGKILL. If the process does not end in that time,
 * the manager kills it.
 */
void service_stopping(const struct service *s, nsec_t within);

/** service_tick - feed the watchdog if due. Return: when to call again. */
nsec_t service_tick(struct service *s);

/** service_close - close the socket to the service manager, after the last message. */
void service_close(struct service *s);

#endif
