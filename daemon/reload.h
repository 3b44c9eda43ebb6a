/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_RELOAD_H
#define DAEMON_RELOAD_H

#include "daemon/change.h"
#include "daemon/worker_query.h"

/**
 * reload - read the configuration again while the gateway serves: for SIGHUP, and for rpcrdma-gwctl
 *
 * The file is checked as a whole. If it is good it takes effect, otherwise nothing changes. One
 * reload runs at a time. A request made during a reload gets the next one. Only the main thread
 * calls these functions.
 */
struct reload;

/** struct reload_result - valid only during the call that reports it. */
struct reload_result {
	bool is_refused;
	/* why the file was refused; or, if it was not, which files of credentials were not taken.
	 * Lines, each with its newline */
	const char *problems;
	unsigned added, changed, removed, kept; /* numbers of routes */
	const char *restart; /* keys that take effect only after a restart; empty: none */
};

/** struct reload_waiter - a caller that waits for the result; embedded in its owner. */
struct reload_waiter {
	struct list link; /* private */
	void (*answered)(struct reload_waiter *w, const struct reload_result *result);
};

struct reload_config {
	const char *path;	      /* all borrowed */
	const struct config *running; /* configuration at the start of the process */
	struct gateway *gw;
	struct auth *auth;
	struct worker_queries *worker_queries;
	/** Return: why a reload is not possible now; NULL: it is possible. */
	const char *(*objection)(void *arg);
	/** Called when a reload begins, and when it is over. */
	void (*notify)(void *arg, bool begins);
	void *arg;
};

/** reload_new - Return: owned, or NULL. */
struct reload *reload_new(const struct reload_config *cfg);

/** reload_ask - request a reload. @w must stay in place until .answered is called. NULL: the result
 * is only logged. */
void reload_ask(struct reload *r, struct reload_waiter *w);

/** reload_free - takes @r, which may be NULL; no worker may be answering a query. */
void reload_free(struct reload *r);

#endif
