/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SESSION_SHARE_H
#define PROXY_SESSION_SHARE_H

#include "proxy/session.h"

/** session_share - the accounts to which a session's memory is charged. */

/** session_share_client - @s has a new route and holds no memory yet: memory of its client leg is
 * charged to its client's address. */
void session_share_client(struct session *s);

/** session_share_server - the server of @s is chosen and the server leg holds no memory yet:
 * memory of @s is charged to that server as well. */
void session_share_server(struct session *s);

/** session_share_leave - @s holds no memory, and ends or takes another route. */
void session_share_leave(struct session *s);

#endif
