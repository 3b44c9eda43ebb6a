/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_CONTROL_TELL_H
#define DAEMON_CONTROL_TELL_H

#include "daemon/auth.h"
#include "daemon/stats_table.h"
#include "daemon/reload.h"

/** tell - objects of the control socket's answers, in JSON; each is owned by the caller. */
struct json_object;

/** struct tell_process - state of the process beside the figures; all borrowed. */
struct tell_process {
	const struct gateway *gw;
	const struct auth *auth;
	const char *config, *state;
	nsec_t uptime;
};

/** tell_status, tell_route, tell_session, tell_reload, tell_call - the object of one line of the answer
 * (rpcrdma-gwctl(8), --json); @i: slot of the route. Return: owned, or NULL without memory. */
struct json_object *tell_status(const struct tell_process *p, const struct stats_table *f);
struct json_object *tell_route(const struct tell_process *p, const struct stats_table *f,
			       unsigned i);
struct json_object *tell_session(const struct gateway *gw, const struct snapshot_session *s);
struct json_object *tell_reload(const struct reload_result *r);
struct json_object *tell_call(const struct snapshot_call *c);

/** tell_level - the current log level. */
const char *tell_level(void);

#endif
