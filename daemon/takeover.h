/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_TAKEOVER_H
#define DAEMON_TAKEOVER_H

#include "daemon/inherit.h"

/**
 * takeover - the place of a gateway that serves, so that another version of the program can go on where it
 * stands: its listening sockets, while it goes on to serve; and when this one serves, that it drains
 *
 * At its control socket. Until takeover_end() nothing has changed for it.
 */
struct takeover {
	int fd; /* -1: there was nobody */
};

/** takeover_begin - of whoever is at @path, its sockets into @in. Return: 0, also if nobody is there;
 * ERR_IO or ERR_NOMEM (logged). takeover_end() or takeover_give_up() is due. */
int takeover_begin(struct takeover *t, const char *path, struct inherit *in) WARN_UNUSED;

/** takeover_end - this process serves. */
void takeover_end(struct takeover *t);

/** takeover_give_up - it does not: the other one goes on. Idempotent. */
void takeover_give_up(struct takeover *t);

#endif
