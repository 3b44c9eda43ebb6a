/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_INHERIT_H
#define DAEMON_INHERIT_H

#include "base/err.h"
#include "fabric/addr.h"

/**
 * inherit - sockets that listen already: those of the service manager (sd_listen_fds(3)), or of the gateway
 * that this one takes over from
 *
 * They are known by where they listen; what no route, nor anything else, listens on is closed.
 */
struct inherit {
	unsigned n;
	unsigned
		nlent; /* of these, the first: the service manager's, whose files are not ours to remove */
	int *fds; /* owned; -1: somebody took it */
};

/** inherit_environment - those of LISTEN_FDS, which is removed. Return: 0 or ERR_NOMEM. */
int inherit_environment(struct inherit *in) WARN_UNUSED;

/** inherit_add - takes @n of @fds. Return: 0, or ERR_NOMEM: they are closed. */
int inherit_add(struct inherit *in, const int *fds, unsigned n) WARN_UNUSED;

/** inherit_take - the one that listens on @addr. Return: the caller's, without blocking; or -1: none. */
int inherit_take(struct inherit *in, const struct fabric_addr *addr);

/** inherit_take_path - the one at @path of the file system, likewise; but not the service manager's. */
int inherit_take_path(struct inherit *in, const char *path);

/** inherit_end - close what nobody took; a line of the log for each. */
void inherit_end(struct inherit *in);

#endif
