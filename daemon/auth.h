/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_AUTH_H
#define DAEMON_AUTH_H

#include "base/loop.h"
#include "config/config.h"
#include "proxy/leg/leg_auth.h"

/**
 * auth - credentials for host authentication (draft-07 5.2.6, docs/hostauth-profile.md)
 *
 * Reads the files that "hostauth" names, for every listener and every upstream. Reads these files
 * again on request. Warns before credentials expire.
 *
 * Only the main thread calls these functions. Legs use their struct leg_auth from any thread.
 */
struct auth;

enum auth_side { AUTH_LISTEN, AUTH_UPSTREAM };

/**
 * auth_new - read all files and make all credentials
 * @cfg:    borrowed, as long as the result lives
 * @file:   where @cfg was read, for messages; borrowed, as long as the result lives
 * @errors: gets a line for each problem, in the form of config_load()
 *
 * Credentials that have expired, or are not valid yet, are no error here: auth_tick() warns of
 * them.
 * Return: 0 and *@out owned, ERR_CONFIG or ERR_NOMEM.
 */
int auth_new(const struct config *cfg, const char *file, FILE *errors,
	     struct auth **out) WARN_UNUSED;

/**
 * auth_add - make the credentials of a route that a reload adds
 * @slot:       a free slot; at start, the index of the route in the file
 * @route:      borrowed until auth_drop(), which the caller must call after a failure, too
 * @is_anothers: the listener belongs to another route
 *
 * Return: 0, ERR_CONFIG or ERR_NOMEM.
 */
int auth_add(struct auth *auth, unsigned slot, const struct config_route *route, bool is_anothers,
	     FILE *errors) WARN_UNUSED;

/** auth_retire - the route in @slot is replaced: its files are no longer read, and nothing warns of
 * their expiry. Legs that use the credentials keep them. */
void auth_retire(struct auth *auth, unsigned slot);

/** auth_drop - make @slot free; no leg uses it any more. */
void auth_drop(struct auth *auth, unsigned slot);

/** auth_check - check as auth_new() does, without keeping the result; credentials that are not
 * valid at @now are a problem, too. */
int auth_check(const struct config *cfg, const char *file, FILE *errors, int64_t now) WARN_UNUSED;

/** auth_free - takes @auth, which may be NULL; no leg uses it any more. */
void auth_free(struct auth *auth);

/**
 * auth_leg - the policy of the legs on one side of the route in slot @route.
 * @required: the peer must authenticate, whatever the configuration says
 *
 * Return: borrowed, as long as @auth lives; NULL: host authentication is off there.
 */
const struct leg_auth *auth_leg(const struct auth *auth, unsigned route, enum auth_side which,
				bool required);

/** auth_reload - read all files again, for connections made from now on. Credentials that are
 * unusable at @now do not replace the old ones: @problems gets a line for each of these. Logs a
 * line for each side of a route with credentials. */
void auth_reload(struct auth *auth, int64_t now, FILE *problems);

/** auth_times - get the times at which the credentials of one side of a route expire. Return:
 * whether the side has credentials. */
bool auth_times(const struct auth *auth, unsigned route, enum auth_side which,
		struct hostauth_times *times);

/**
 * auth_tick - at the first call, once a day, and when a file expires: warn of credentials that have
 * expired or will soon
 * @now:  time of the loop's clock, ns
 * @wall: seconds since 1970
 *
 * Return: when to call again; NSEC_NEVER without host authentication.
 */
nsec_t auth_tick(struct auth *auth, nsec_t now, int64_t wall);

#endif
