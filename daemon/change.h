/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_CHANGE_H
#define DAEMON_CHANGE_H

#include "daemon/gateway.h"

/**
 * change - replace the current routes by those of another file, all of them or none
 *
 *   prepare --> each worker: ADD ----------> each worker: TURN_OVER --> done
 *                    | one worker cannot
 *                    +--> the workers before it: TAKE_BACK --> undo
 *
 * - Prepare does everything that can fail in the main thread: it binds addresses and makes
 *   credentials.
 * - ADD does what can fail in a worker. Clients that connect to a new listener are served from then
 *   on.
 * - TURN_OVER cannot fail: listeners switch to the new settings, and new clients no longer reach
 *   removed routes.
 *
 * A route is not touched if its settings, and the settings of all routes on its listener, are
 * unchanged. A changed route keeps its listener, its memory and its counters. Its sessions keep the
 * settings they began with.
 */
enum change_step { CHANGE_ADD, CHANGE_TAKE_BACK, CHANGE_TURN_OVER };

struct change_new {
	unsigned slot;
	bool leads; /* of the routes that share the listener, this one listens */
	bool opens; /* the listening socket is new */
};

struct change_old {
	unsigned slot;
	bool closes;  /* the listening socket is closed: no new route uses it */
	bool is_gone; /* no route of this name is left, so its sessions are drained */
};

enum { CHANGE_KEYS = 256 };

struct change {
	enum change_step step; /* step that the worker performs */
	int err;	       /* the worker's result of ADD */
	unsigned added;	       /* private to the worker */
	unsigned sides;	       /* number of sides of new routes that have host authentication */
	unsigned nnew, nold;
	struct change_new *new;
	struct change_old *old;
	struct config *cfg; /* owned */
	unsigned nadded, nchanged, nremoved, nkept;
	/* keys that take effect only after a restart, separated by ", " */
	char restart[CHANGE_KEYS];
};

/**
 * change_prepare - prepare the change from the current routes of @gw to @cfg
 * @cfg:     taken
 * @running: configuration at the start of the process
 * @file:    where @cfg was read
 * @errors:  gets a line for each problem, in the form of config_load()
 *
 * Return: 0 and *@out owned; ERR_CONFIG, ERR_IO or ERR_NOMEM: nothing has changed.
 */
int change_prepare(struct gateway *gw, struct auth *auth, struct config *cfg,
		   const struct config *running, const char *file, FILE *errors,
		   struct change **out) WARN_UNUSED;

/** change_done - finish after TURN_OVER in every worker. The configuration then belongs to the
 * caller, who keeps it while it is current. */
void change_done(struct gateway *gw, struct auth *auth, struct change *c);

/** change_undo - undo the preparation, after TAKE_BACK in every worker that performed ADD. */
void change_undo(struct gateway *gw, struct auth *auth, struct change *c);

/** change_free - takes @c, which may be NULL; frees its configuration unless change_done() was
 * called. */
void change_free(struct change *c);

#endif
