/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_INHERIT_H
#define DAEMON_INHERIT_H

#include <stdbool.h>

#include "base/err.h"
#include "fabric/addr.h"

/**
 * inherit - sockets that already listen: passed by the service manager (sd_listen_fds(3)), or by
 * the gateway that this process replaces
 *
 * A socket is found by the address it listens on. Sockets of the service manager are lent: the
 * manager keeps them open, and this process keeps a descriptor of each, so that a route which a
 * later reload adds can use it. All other sockets belong to the route that takes them.
 */
struct inherited {
	int fd; /* the listening socket; -1: taken */
	bool is_lent;
	bool is_used; /* a lent socket: a route has a duplicate */
};

struct inherit {
	unsigned n;
	struct inherited *all; /* owned */
};

/** inherit_environment - add the sockets named by LISTEN_FDS, all lent, and remove the variable.
 * Return: 0 or ERR_NOMEM. */
int inherit_environment(struct inherit *in) WARN_UNUSED;

/** inherit_add - takes @n descriptors of @fds, also on failure. Return: 0; or ERR_NOMEM, and the
 * descriptors are closed. */
int inherit_add(struct inherit *in, const int *fds, unsigned n, bool is_lent) WARN_UNUSED;

/** inherit_take - take the socket that listens on @addr. Return: the caller's descriptor,
 * non-blocking; or -1: none. */
int inherit_take(struct inherit *in, const struct fabric_addr *addr);

/** inherit_give_back - the route that took the socket on @addr has closed it. No effect unless the
 * socket is lent. */
void inherit_give_back(struct inherit *in, const struct fabric_addr *addr);

/** inherit_take_path - take the socket bound to @path, as inherit_take(); lent sockets are not
 * considered. */
int inherit_take_path(struct inherit *in, const char *path);

/** inherit_lends - whether @fd is a duplicate of a lent socket. */
bool inherit_lends(const struct inherit *in, int fd);

/** inherit_is_idle - whether socket @i is lent and no route uses it. */
bool inherit_is_idle(const struct inherit *in, unsigned i);

/** inherit_tell_idle - log that no route uses socket @i. */
void inherit_tell_idle(const struct inherit *in, unsigned i);

/** inherit_settle - after set-up: close and log each socket that is not lent and that nothing
 * took. */
void inherit_settle(struct inherit *in);

/** inherit_end - close all remaining sockets. */
void inherit_end(struct inherit *in);

#endif
