/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_INHERIT_H
#define DAEMON_INHERIT_H

#include <stdbool.h>

#include "base/err.h"
#include "fabric/addr.h"

/**
 * inherit - sockets that listen already: those of the service manager (sd_listen_fds(3)), or of the gateway
 * that this one takes over from
 *
 * They are known by where they listen. Those that are lent, by the service manager, stay open there whatever this
 * process does: it keeps its own descriptor of each, so that a route that a reload brings back can have it again.
 * The others are whoever's takes them.
 */
struct inherited {
	int fd; /* -1: somebody took it */
	bool is_lent;
	bool is_used; /* a lent one: somebody has a duplicate */
};

struct inherit {
	unsigned n;
	struct inherited *all; /* owned */
};

/** inherit_environment - those of LISTEN_FDS, which is removed: all lent. Return: 0 or ERR_NOMEM. */
int inherit_environment(struct inherit *in) WARN_UNUSED;

/** inherit_add - takes @n of @fds. Return: 0, or ERR_NOMEM: they are closed. */
int inherit_add(struct inherit *in, const int *fds, unsigned n, bool is_lent) WARN_UNUSED;

/** inherit_take - the one that listens on @addr. Return: the caller's, without blocking; or -1: none. */
int inherit_take(struct inherit *in, const struct fabric_addr *addr);

/** inherit_give_back - whoever took the one on @addr has closed it. Nothing, unless it is lent. */
void inherit_give_back(struct inherit *in, const struct fabric_addr *addr);

/** inherit_take_path - the one at @path of the file system, as inherit_take(); but no lent one. */
int inherit_take_path(struct inherit *in, const char *path);

/** inherit_lends - whether @fd is a duplicate of a lent one. */
bool inherit_lends(const struct inherit *in, int fd);

/** inherit_is_idle - whether number @i is lent, and nobody uses it. */
bool inherit_is_idle(const struct inherit *in, unsigned i);

/** inherit_tell_idle - a line of the log about number @i, which nobody uses. */
void inherit_tell_idle(const struct inherit *in, unsigned i);

/** inherit_settle - once all that starts has taken its own: close what nobody took and is not lent; a line of the log
 * for each. */
void inherit_settle(struct inherit *in);

/** inherit_end - close all that is left. */
void inherit_end(struct inherit *in);

#endif
