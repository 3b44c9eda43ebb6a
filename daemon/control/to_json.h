/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_CONTROL_TO_JSON_H
#define DAEMON_CONTROL_TO_JSON_H

#include "daemon/auth.h"
#include "daemon/stats_table.h"
#include "daemon/reload.h"

/** to_json - objects of the control socket's answers, in JSON; each is owned by the caller. */
struct json_object;

/** struct to_json_process - state of the process beside the figures; all borrowed. */
struct to_json_process {
	const struct gateway *gw;
	const struct auth *auth;
	const char *config, *state;
	nsec_t uptime;
};

/** to_json_status, to_json_route, to_json_session, to_json_reload, to_json_call - the object of one
 * line of the answer (rpcrdma-gwctl(8), --json). @i: slot of the route. Return: owned, or NULL
 * without memory. */
struct json_object *to_json_status(const struct to_json_process *p, const struct stats_table *f);
struct json_object *to_json_route(const struct to_json_process *p, const struct stats_table *f,
				  unsigned i);
struct json_object *to_json_session(const struct gateway *gw, const struct snapshot_session *s);
struct json_object *to_json_reload(const struct reload_result *r);
struct json_object *to_json_call(const struct snapshot_call *c);

/** to_json_level - the current log level. */
const char *to_json_level(void);

#endif
