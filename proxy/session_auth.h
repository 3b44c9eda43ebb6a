/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SESSION_AUTH_H
#define PROXY_SESSION_AUTH_H

#include "proxy/session.h"

/** session_auth - handshakes of host authentication of all sessions */

/** session_auth_sides - how many sides of @route have host authentication, 0 to 2. */
unsigned session_auth_sides(const struct proxy_route *route);

/**
 * session_auth_open - set the handshake limits of @rs; all routes together have @sides sides with
 * host authentication
 *
 * Return: 0 or ERR_NOMEM; session_auth_fini() is due.
 */
int session_auth_open(struct route_state *rs, unsigned sides) WARN_UNUSED;
void session_auth_fini(struct route_state *rs);

/** session_auth_back - take back finished jobs of host authentication. */
void session_auth_back(struct proxy *p);

#endif
