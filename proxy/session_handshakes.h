/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SESSION_HANDSHAKES_H
#define PROXY_SESSION_HANDSHAKES_H

#include "proxy/session.h"

/** session_handshakes - a session's places among handshakes of host authentication. */

/* While handshakes wait for a place, those that have one are checked at this interval. */
#define SESSION_SLOT_CHECK (NSEC_PER_SEC / 4)

/** session_auth - call it after each event of @leg: ask for a place for its handshake when it needs
 * one, and give the place back when the handshake is over. */
void session_auth(struct session *s, struct leg *leg);

/** session_auth_leave - the handshake of @leg is over or given up: it needs no place. */
void session_auth_leave(struct session *s, struct leg *leg);

/** session_auth_end - session_auth_leave() of both legs. */
void session_auth_end(struct session *s);

/** session_drop_server - destroy the server leg; another may follow. */
void session_drop_server(struct session *s);

#endif
