/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_AUTH_H
#define DAEMON_AUTH_H

#include "base/loop.h"
#include "config/config.h"
#include "proxy/leg/leg_auth.h"

/**
 * auth - who the gateway is, and whom it believes: the files that "hostauth" of the configuration names,
 * read for every listener and every upstream, read again when asked to, and looked after
 *
 * The main thread's, but for what legs ask of their struct leg_auth, which any thread may.
 */
struct auth;

enum auth_side { AUTH_LISTEN, AUTH_UPSTREAM };

/**
 * auth_new - all files read, all credentials made
 * @cfg: borrowed, as long as it lives
 * @file: where that was read, for messages; borrowed likewise
 * @errors: gets a line for each problem, as config_load() has them
 *
 * What has expired, or is not valid yet, is no problem here: auth_tick() warns of it.
 * Return: 0 and *@out owned, ERR_CONFIG or ERR_NOMEM.
 */
int auth_new(const struct config *cfg, const char *file, FILE *errors,
	     struct auth **out) WARN_UNUSED;

/** auth_add - of a route that comes later, in @slot, which is free; at first a route has the slot of its number.
 * @route: borrowed until auth_drop(), which is due on failure, too
 * @is_anothers: an other route has the listener
 *
 * Return: 0, ERR_CONFIG or ERR_NOMEM. */
int auth_add(struct auth *auth, unsigned slot, const struct config_route *route, bool is_anothers,
	     FILE *errors) WARN_UNUSED;

/** auth_retire - the route in @slot is for those who have it: nothing of it is read again, or warned of. */
void auth_retire(struct auth *auth, unsigned slot);

/** auth_drop - @slot is free: no leg is left that goes by it. */
void auth_drop(struct auth *auth, unsigned slot);

/** auth_check - the same for nobody's use; what is not valid at @now is a problem as well. */
int auth_check(const struct config *cfg, const char *file, FILE *errors, int64_t now) WARN_UNUSED;

/** auth_free - takes @auth, which may be NULL; no leg is left. */
void auth_free(struct auth *auth);

/** auth_leg - what legs of one side of the route in a slot go by; @required or not, whatever the configuration says.
 * NULL: it is off there. Borrowed, as long as @auth lives. */
const struct leg_auth *auth_leg(const struct auth *auth, unsigned route, enum auth_side which,
				bool required);

/** auth_reload - read all files again, for connections made from now on; what is unusable at @now leaves
 * what there was. A line of the log for each side of a route that has them. */
void auth_reload(struct auth *auth, int64_t now);

/** auth_times - when what one side of a route proves itself with ends. Return: whether it has any. */
bool auth_times(const struct auth *auth, unsigned route, enum auth_side which,
		struct hostauth_times *times);

/**
 * auth_tick - once a day, and at the first call: warn of what expires soon, or has
 * @now: of the loop's clock
 * @wall: seconds since 1970
 *
 * Return: when it is due again; NSEC_NEVER without host authentication.
 */
nsec_t auth_tick(struct auth *auth, nsec_t now, int64_t wall);

#endif
