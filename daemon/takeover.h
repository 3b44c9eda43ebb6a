/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_TAKEOVER_H
#define DAEMON_TAKEOVER_H

#include "daemon/inherit.h"

/**
 * takeover - take over from a running gateway, so that another version of the program can serve
 *
 * Over the running gateway's control socket this process gets the listening sockets, while the
 * other gateway still serves. When this process can serve, the other one drains. Until
 * takeover_end() succeeds the other gateway is unchanged.
 */
struct takeover {
	int fd; /* -1: no gateway was running */
};

/** takeover_begin - get the listening sockets of the gateway at @path into @in. Return: 0, also if
 * no gateway runs there; ERR_IO or ERR_NOMEM (logged). The caller must then call takeover_end() or
 * takeover_give_up(). */
int takeover_begin(struct takeover *t, const char *path, struct inherit *in) WARN_UNUSED;

/** takeover_end - this process can serve: the other gateway yields, and stays until
 * takeover_give_up(). Return: 0, also if it has ended; or ERR_IO (logged): it continues, and this
 * process must not serve. */
int takeover_end(struct takeover *t) WARN_UNUSED;

/** takeover_give_up - close the connection to the other gateway. It ends if it has yielded, and
 * continues otherwise. Idempotent. */
void takeover_give_up(struct takeover *t);

#endif
