/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SESSION_OPEN_H
#define PROXY_SESSION_OPEN_H

#include "proxy/session.h"

/** session_open - admission of clients */

/** session_open - answer a connection request that arrived at @listener; takes @ev->conn. */
void session_open(struct route_state *listener, const struct fabric_event *ev);

/**
 * session_excess - octets that the fabrics' pools have to give up, because sessions and pools
 * together hold more than their limit
 *
 * Connections take memory of the fabrics' pools while octets are under way.
 */
size_t session_excess(const struct proxy *p);

#endif
