/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The limit of handshakes of host authentication under way on each side of a route
 * (handshake_limit.h), for one session.
 *
 *     first message, or first turn --> leg_awaits_handshake_slot() --> has a place --> over
 *                                          |                               ^            |
 *                                          +-- no place --> waits ---------+------------+
 *                                                                a place comes free
 */
#include "proxy/session_handshakes.h"
#include "proxy/internal.h"

/* The route whose limits apply to @leg: for a client its listener's, whatever route the client
 * takes. */
static struct route_state *side_of(const struct session *s, const struct leg *leg)
{
	return leg == &s->client ? s->listener : s->route;
}

static struct handshake_limit *handshake_limit_of(const struct session *s, const struct leg *leg)
{
	struct route_state *rs = side_of(s, leg);

	return &rs->handshakes[session_side(leg)];
}

static struct handshake_slot *slot_of(struct session *s, const struct leg *leg)
{
	return &s->slots[session_side(leg)];
}

static void admit(struct session *s, struct leg *leg)
{
	leg_admit(leg, s->proxy->now);
	session_touch(s);
}

static void admit_waiting(struct route_state *rs, struct handshake_limit *d)
{
	struct handshake_slot *g;

	while ((g = handshake_limit_next(d, rs->proxy->now)))
		admit(session_of(g->leg), g->leg);
}

/* A handshake that is over leaves its place to the next one. */
void session_auth_leave(struct session *s, struct leg *leg)
{
	struct handshake_limit *d = handshake_limit_of(s, leg);

	if (d->inside.most == 0)
		return;
	handshake_limit_leave(d, slot_of(s, leg));
	admit_waiting(side_of(s, leg), d);
}

void session_auth(struct session *s, struct leg *leg)
{
	struct handshake_slot *g = slot_of(s, leg);
	struct handshake_limit *d = handshake_limit_of(s, leg);
	struct timer *timer = &side_of(s, leg)->slot_timer;
	struct proxy *p = s->proxy;

	leg_auth_clock(leg, p->now);
	if (g->member.host && !leg_proves(leg))
		session_auth_leave(s, leg);
	if (!leg_awaits_handshake_slot(leg) || g->member.host || !list_is_empty(&g->waiting))
		return;
	if (handshake_limit_enter(d, g, &leg->conn->peer, p->now))
		admit(s, leg);
	else if (!timer_is_armed(timer))
		timer_arm(&p->timers, timer, p->now + SESSION_SLOT_CHECK);
}

void session_auth_end(struct session *s)
{
	session_auth_leave(s, &s->client);
	session_auth_leave(s, &s->server);
}

void session_drop_server(struct session *s)
{
	session_auth_leave(s, &s->server);
	leg_fini(&s->server);
}
