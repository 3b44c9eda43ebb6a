/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SESSION_ADDRESS_H
#define PROXY_SESSION_ADDRESS_H

#include "proxy/session.h"

/** session_address - what the address of a client decides. */

/** session_is_let_in - whether a client at @peer may connect. */
bool session_is_let_in(const struct route_state *listener, const struct fabric_addr *peer);

/** session_is_unneeded - whether a client at @peer may connect without proving its name. */
bool session_is_unneeded(const struct route_state *listener, const struct fabric_addr *peer);

/** session_has_source - false if @rs configures local addresses and none of them is for a client
 * at @peer that proved its name to @proved (NULL: no name). */
bool session_has_source(const struct route_state *rs, const struct fabric_addr *peer,
			const struct leg *proved);

/** session_note_version_3 - the client of @s speaks version 3 of NFS, whose locks are in another
 * protocol. */
void session_note_version_3(struct session *s);

/** session_source - the local address from which to connect for the client of @s, into @out.
 * Return: false if the route configures none. */
bool session_source(const struct session *s, struct fabric_addr *out);

#endif
