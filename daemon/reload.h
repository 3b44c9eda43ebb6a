/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_RELOAD_H
#define DAEMON_RELOAD_H

#include "daemon/change.h"
#include "daemon/inquiry.h"

/**
 * reload - the configuration is read anew while the gateway serves: for SIGHUP, and for rpcrdma-gwctl
 *
 * The file is checked whole; then it holds, or all stays as it was. One reload goes on at a time; who asks
 * meanwhile gets the next. The main thread's.
 */
struct reload;

/** struct reload_result - until it was told. */
struct reload_result {
	bool is_refused;
	const char *problems;			/* lines, each with its newline */
	unsigned added, changed, removed, kept; /* routes */
	const char *restart;			/* keys that take one; empty: none */
};

/** struct reload_waiter - one who wants to know; embedded in its owner. */
struct reload_waiter {
	struct list link; /* private */
	void (*told)(struct reload_waiter *w, const struct reload_result *result);
};

struct reload_config {
	const char *path;	      /* all borrowed */
	const struct config *running; /* what the process began with */
	struct gateway *gw;
	struct auth *auth;
	struct inquiries *inquiries;
	/** Why nothing can be reloaded now; NULL: it can. */
	const char *(*objection)(void *arg);
	/** A reload begins; is over. */
	void (*tell)(void *arg, bool begins);
	void *arg;
};

/** reload_new - Return: owned, or NULL. */
struct reload *reload_new(const struct reload_config *cfg);

/** reload_ask - @w stays where it is until it is told; NULL: the log alone is. */
void reload_ask(struct reload *r, struct reload_waiter *w);

/** reload_free - takes @r, which may be NULL; once no thread works on an inquiry. */
void reload_free(struct reload *r);

#endif
