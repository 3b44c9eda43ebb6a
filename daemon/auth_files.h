/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_AUTH_FILES_H
#define DAEMON_AUTH_FILES_H

#include "config/config.h"
#include "hostauth/creds.h"

/** auth_files - make credentials from the files of one side of a route. */

enum { AUTH_WHY_BYTES = 320 };

/** struct auth_problem - why the files cannot be used, and what to do. */
struct auth_problem {
	const char *key;  /* key of the configuration: "certificate", "names"... */
	const char *path; /* path of the file; NULL: the problem is not in a file */
	uint32_t line;	  /* line of the configuration file */
	int err;	  /* kind of the problem: ERR_CONFIG or ERR_NOMEM */
	char why[AUTH_WHY_BYTES];
	const char *remedy;
};

/** auth_files_load - read the files that @cfg names, and make credentials for @role. Return: owned;
 * or NULL, and @problem is filled. */
struct hostauth_creds *auth_files_load(enum hostauth_role role, const struct config_hostauth *cfg,
				       struct auth_problem *problem);

/** auth_files_is_current - whether @creds are valid at @now; if not, @problem says what has expired
 * or is not valid yet. */
bool auth_files_is_current(const struct hostauth_creds *creds, const struct config_hostauth *cfg,
			   int64_t now, struct auth_problem *problem);

/** auth_files_time - write "2026-11-22T14:05:00Z", or "never", into @text of AUTH_TIME_BYTES. */
enum { AUTH_TIME_BYTES = 32 };
const char *auth_files_time(int64_t seconds, char *text);

#endif
