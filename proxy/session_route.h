/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SESSION_ROUTE_H
#define PROXY_SESSION_ROUTE_H

#include "proxy/session.h"

/** session_route - clients whose name chooses the route, or the local address that their server
 * sees */

/**
 * session_route_of - the route of a client at @peer that arrives at @listener
 *
 * If the client has to prove its name first, that is @listener's own. Return: NULL if no route is
 * for it.
 */
struct route_state *session_route_of(struct route_state *listener, const struct fabric_addr *peer);

/** session_goes_by_name - whether the name that a client of @listener proves chooses its route or
 * local address. */
bool session_goes_by_name(const struct route_state *listener);

/**
 * session_has_to_prove - whether a client at @peer has to prove its name to @listener
 *
 * Until it has, nothing is asked of a server for it.
 */
bool session_has_to_prove(const struct route_state *listener, const struct fabric_addr *peer);

/** session_drop_request - free the client's private data. */
static inline void session_drop_request(struct session *s)
{
	mem_free(s->request);
	s->request = NULL;
	s->request_len = 0;
}

/** session_accept - accept the client; from then on it cannot be rejected. */
void session_accept(struct session *s);

/** session_prove - accept the client of @s before any server is connected, so that it can prove
 * its name. */
void session_prove(struct session *s);

/** session_choose - if the client has proved its name, continue with its route, or end @s. */
void session_choose(struct session *s);

/** session_set_route - @s, over which no RPC has passed, belongs to @rs from now on. */
void session_set_route(struct session *s, struct route_state *rs);

#endif
