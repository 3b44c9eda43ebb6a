/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_TAKEOVER_H
#define DAEMON_TAKEOVER_H

#include "daemon/inherit.h"

/**
 * takeover - the place of a gateway that serves, so that another version of the program can go on where it
 * stands: its listening sockets, while it goes on to serve; and when this one serves, that it drains
 *
 * At its control socket. Until takeover_end() nothing has changed for it, and nothing has if that fails.
 */
struct takeover {
	int fd; /* -1: there was nobody */
};

/** takeover_begin - of whoever is at @path, its sockets into @in. Return: 0, also if nobody is there;
 * ERR_IO or ERR_NOMEM (logged). takeover_end() or takeover_give_up() is due. */
int takeover_begin(struct takeover *t, const char *path, struct inherit *in) WARN_UNUSED;

/** takeover_end - this process can serve: the other one yields, and stays until takeover_give_up(). Return: 0, also if it
 * is gone; or ERR_IO (logged): it goes on, and this one is not to. */
int takeover_end(struct takeover *t) WARN_UNUSED;

/** takeover_give_up - the other one is left alone: it goes on, or ends if it has yielded. Idempotent. */
void takeover_give_up(struct takeover *t);

#endif
