/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SESSION_VERSION_H
#define PROXY_SESSION_VERSION_H

#include "proxy/session.h"

/** session_version - the version that a session's server speaks. */

/** session_connect_server - open the server leg to the server that s->upstream names. Return: as
 * leg_connect(). */
int session_connect_server(struct session *s) WARN_UNUSED;

/**
 * session_retry_as_v1, session_retry_bare - the server leg ended with *@status: connect again, in
 * version 1 or without host authentication, if that may help
 *
 * Return: whether another connection is under way; if not, *@status says why the last one ended or
 * could not begin.
 */
bool session_retry_as_v1(struct session *s, int *status);
bool session_retry_bare(struct session *s, int *status);

/** session_judge_bare - the server leg is ready (@status 0) or ended with @status: if it was
 * begun without host authentication, remember or forget that the server has none. */
void session_judge_bare(struct session *s, int status);

/** session_remember_v1, session_forget_v1 - the verdict "this server speaks only version 1": it
 * is confirmed; or the server leg ended with @status, which may contradict it. */
void session_remember_v1(struct session *s);
void session_forget_v1(struct session *s, int status);

/** session_count_version - the version that the peer of @leg speaks is known: count it. */
void session_count_version(struct session *s, const struct leg *leg);

/** session_uncount_versions - @s ends: its versions no longer count. */
void session_uncount_versions(struct session *s);

#endif
