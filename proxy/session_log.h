/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SESSION_LOG_H
#define PROXY_SESSION_LOG_H

#include "proxy/session.h"

/** session_log_end - log one line: @leg was the first to end, with @status. */
void session_log_end(struct session *s, const struct leg *leg, int status, const char *why);

/** session_log_legs - log one line event=leg for each leg. */
void session_log_legs(const struct session *s);

/** session_log_auth - log one line when host authentication of @leg's peer succeeded or failed. */
void session_log_auth(const struct session *s, struct leg *leg);

/** session_names - " client_name=... server_name=..." with the names that were proved, into @text
 * of SESSION_NAMES_BYTES. */
enum { SESSION_NAMES_BYTES = 2 * (HOSTAUTH_NAME_BYTES + 16) };
const char *session_names(const struct session *s, char *text);

/** session_log_habit - the server of @s showed a habit, @what. */
void session_log_habit(const struct session *s, const char *what);

/** session_log_report - the peer of @leg reported an error: log a line, unless there were many. */
void session_log_report(struct session *s, const struct leg *leg, const struct leg_out *out);

/** session_log_suppressed - at the end of @s: log how many reports had no line since the last
 * one. */
void session_log_suppressed(const struct session *s);

#endif
