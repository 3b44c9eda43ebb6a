/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_SERVICE_H
#define DAEMON_SERVICE_H

#include <sys/un.h>

#include "daemon/collect.h"

/**
 * service - what the service manager hears of the process: sd_notify(3), the datagrams themselves
 *
 * Without NOTIFY_SOCKET in the environment nothing is said. The watchdog is fed when every worker has
 * answered a question in the meantime: a worker that hangs is a gateway that hangs.
 */
struct service {
	int fd; /* -1: nobody listens */
	struct sockaddr_un to;
	socklen_t len;
	nsec_t interval; /* of the watchdog; 0: none */
	nsec_t next;
	bool is_asking;
	struct collector *collector;
	struct collect collect;
};

/** service_open - as the environment says, which is cleared of it. */
void service_open(struct service *s);

/** service_watch - from now on the watchdog is fed, by answers that @collector gets; borrowed. */
void service_watch(struct service *s, struct collector *collector);

/** service_ready - it serves; service_reloading - it does as well, and what it serves is about to be
 * other. */
void service_ready(const struct service *s);
void service_reloading(const struct service *s);

/**
 * service_stopping - the process drains, and ends @within that time
 *
 * The manager is asked for that time and a margin (EXTEND_TIMEOUT_USEC), so that a drain longer than the unit's
 * TimeoutStopSec is not cut by SIGKILL. A process that does not end in it is killed.
 */
void service_stopping(const struct service *s, nsec_t within);

/** service_tick - feeds the watchdog. Return: when it is due again. */
nsec_t service_tick(struct service *s);

void service_close(struct service *s);

#endif
