/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SESSION_SERVER_H
#define PROXY_SESSION_SERVER_H

#include "proxy/session.h"

/** session_server - the choice of a session's server. */

/** session_upstream_new - allocate s->upstream. Return: 0 or ERR_NOMEM. */
int session_upstream_new(struct session *s) WARN_UNUSED;

/**
 * session_find_server - choose a server and open the server leg, or wait for the server's address
 *
 * Return: 0; or an error if no server is left to try.
 */
int session_find_server(struct session *s) WARN_UNUSED;

/** session_upstream_strerror - the text for an error of session_find_server(); static storage. */
const char *session_upstream_strerror(const struct session *s, int err);

/** session_is_waiting - whether @s waits for the address of its server. */
bool session_is_waiting(const struct session *s);

/**
 * session_lookup_late - the look-up of the server's address takes too long
 *
 * The session continues with addresses known from before, waits longer if there are none, or ends.
 */
void session_lookup_late(struct session *s);

/** session_upstream_ready - the server leg of @s is ready. Return: false if its client was assigned
 * another server meanwhile; the session then connects there. */
bool session_upstream_ready(struct session *s);

/** session_hear - the server has sent its first message since @s is open. */
void session_hear(struct session *s);

/** session_note_unheard - the server leg of @s ended with @status; the server may have sent nothing
 * since @s was open (servers_ended_unheard()). */
void session_note_unheard(struct session *s, int status);

/**
 * session_release - as session_leave(), and the client chooses a server anew
 *
 * All sessions of the client follow if the choice is another server.
 */
void session_release(struct session *s, nsec_t deadline);

/** session_fail_over - the server leg ended with @status, for @why, before @s was open. Return:
 * whether another server is being tried. */
bool session_fail_over(struct session *s, int status, const char *why);

/** session_upstream_end - @s ends: free s->upstream. */
void session_upstream_end(struct session *s);

/** sessions_note_changes - act on changes in proxy/servers.h: new addresses, and clients that
 * moved. */
void sessions_note_changes(struct proxy *p);

#endif
