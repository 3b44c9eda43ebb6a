/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_CHANGE_H
#define DAEMON_CHANGE_H

#include "daemon/gateway.h"

/**
 * change - from the routes that there are to those of another file, all of them or none
 *
 *   prepare --> each worker: ADD ----------> each worker: TURN_OVER --> done
 *                    | one of them cannot
 *                    +--> those before it: TAKE_BACK --> undo
 *
 * Prepared is all that can go wrong in one place: addresses are bound, credentials made. ADD is what can go
 * wrong in a worker; who comes to a new listener is served from then on. TURN_OVER cannot go wrong:
 * listeners lead to new settings, and what is not in the file is left by those who come.
 *
 * A route whose settings, and those of all on the same listener, are as they were is not touched. One that
 * changed keeps its listener, its memory and what was counted; its sessions keep what they began with.
 */
enum change_step { CHANGE_ADD, CHANGE_TAKE_BACK, CHANGE_TURN_OVER };

struct change_new {
	unsigned slot;
	bool leads; /* it is the one that listens, of those on its listener */
	bool opens; /* by a door that is new */
};

struct change_old {
	unsigned slot;
	bool closes;  /* its door, which nobody goes on with */
	bool is_gone; /* no route of its name is left: its sessions are to be drained */
};

enum { CHANGE_KEYS = 256 };

struct change {
	enum change_step step; /* for a worker */
	int err;	       /* its answer to ADD */
	unsigned added;	       /* private to it */
	unsigned sides;	       /* with host authentication, of all routes */
	unsigned nnew, nold;
	struct change_new *new;
	struct change_old *old;
	struct config *cfg; /* owned */
	unsigned nadded, nchanged, nremoved, nkept;
	char restart[CHANGE_KEYS]; /* keys that take one, ", " between them */
};

/**
 * change_prepare - from what @gw has to @cfg
 * @cfg:     taken
 * @running: what the process began with
 * @file:    where @cfg was read
 * @errors:  gets a line for each problem, as config_load() has them
 *
 * Return: 0 and *@out owned; ERR_CONFIG, ERR_IO or ERR_NOMEM: nothing has changed.
 */
int change_prepare(struct gateway *gw, struct auth *auth, struct config *cfg,
		   const struct config *running, const char *file, FILE *errors,
		   struct change **out) WARN_UNUSED;

/** change_done - every worker has turned over. The configuration is the caller's, as long as it is current. */
void change_done(struct gateway *gw, struct auth *auth, struct change *c);

/** change_undo - every worker that was asked to add has taken back. */
void change_undo(struct gateway *gw, struct auth *auth, struct change *c);

/** change_free - takes @c, which may be NULL, and its configuration before change_done(). */
void change_free(struct change *c);

#endif
