/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SESSION_HOP_H
#define PROXY_SESSION_HOP_H

#include "proxy/session.h"

/** session_hop - the distance of a session's peers. */

/** session_hop_init - the route of @s is known: begin with its configured distances. */
void session_hop_init(struct session *s);

/**
 * session_hop_asked, session_hop_ready - the server leg may have begun to negotiate; the server leg
 * is ready
 *
 * The time in between is that of the exchange of properties, which is measured.
 */
void session_hop_asked(struct session *s);
void session_hop_ready(struct session *s);

/** session_hop_note - the peer took @took ns to answer. */
void session_hop_note(struct session_hop *h, nsec_t took);

/** session_answered - a call on @leg was answered after @took ns. */
static inline void session_answered(struct session *s, const struct leg *leg, nsec_t took)
{
	if (!session_hop(s, leg)->is_settled)
		session_hop_note(session_hop(s, leg), took);
}

#endif
