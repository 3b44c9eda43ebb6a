/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reclaim of shared Receives that messages hold
 *
 * State:  few shared Receives are left. Waiting calls are copied out of their Receives while there
 *         is memory for copies; other messages hold theirs until they have what they wait for.
 * Danger: the message that would end a wait may need a Receive itself. Over devices any connection
 *         gets a Receive, so the clients of a server that hangs can hold all Receives. Over iWARP
 *         each connection has a share. But if many connections hold theirs, none is left for
 *         connections that need one to continue (.recv_starving).
 * Rule:   every TRIM_INTERVAL, while Receives are short (recv_pool_is_starving()):
 * - A Receive is stuck if its leg held it at the last look and holds it still.
 * - If most Receives that legs hold are stuck at two looks in a row, the route with most stuck
 *   Receives gives back a quarter of all Receives: sessions of that route end that hold at least
 *   the route's average.
 * - If other sessions of the route take these Receives too, the route gives back twice as many the
 *   next time.
 * Exception: no session ends if some Receives are left for connections that hold none, only
 * sessions of that route need more (.recv_starving), and most of these Receives belong to sessions
 * that await their server. The server takes its time, and no other route suffers.
 * Pinned: tests/session/test_recv_reclaim.c, decision 82.
 */
#include "proxy/session_recv_reclaim.h"
#include "proxy/internal.h"
#include "proxy/session_end.h"
#include "proxy/txn_admit.h"

enum {
	LOOKS = 3, /* looks in a row; the first only records what is held */
	MOST_LOOKS = LOOKS + 8,
	GIVES = 4, /* 1/GIVES of all Receives is given back */
};

/* Return: Receives that @leg held at the last look and holds still; record all it holds now for
 * the next look. */
static uint32_t count_stuck(struct leg *leg, const struct recv_pool *r)
{
	uint32_t stuck = leg->stuck_recvs;

	if (leg->recvs != r)
		return 0;
	leg->stuck_recvs = leg_holds(leg);
	return stuck;
}

/* Whether the leg cannot continue without more Receives. */
static bool is_starving(const struct leg *leg, const struct session_ops *ops,
			const struct recv_pool *r)
{
	return leg->recvs == r && leg_is_recv_limited(leg) &&
	       (ops->reads.posted || leg->conn->reads_blocked);
}

/* Add both legs of @s to the sums of its route; a leg that is new has none. */
static void look_at(struct session *s, const struct recv_pool *r)
{
	s->stuck_recvs = count_stuck(&s->client, r) + count_stuck(&s->server, r);
	if (s->state != SESSION_OPEN)
		return;
	s->route->starving += is_starving(&s->client, &s->ops[PROXY_CLIENT], r) ||
			      is_starving(&s->server, &s->ops[PROXY_SERVER], r);
	if (!s->stuck_recvs)
		return;
	s->route->stuck += s->stuck_recvs;
	s->route->stuck_awaiting += s->server.awaiting ? s->stuck_recvs : 0;
	s->route->holders++;
}

static uint32_t holds(const struct session *s, const struct recv_pool *r)
{
	return (s->client.recvs == r ? leg_holds(&s->client) : 0) +
	       (s->server.recvs == r ? leg_holds(&s->server) : 0);
}

static void look_at_all(struct proxy *p, struct recv_pool *r, uint64_t *held, uint64_t *stuck)
{
	r->look++;
	for (unsigned i = 0; i < p->nslots; i++)
		if (p->routes[i])
			p->routes[i]->stuck = p->routes[i]->stuck_awaiting = p->routes[i]->holders =
				p->routes[i]->starving = 0;
	for (struct list *it = p->sessions.next; it != &p->sessions; it = it->next) {
		struct session *s = container_of(it, struct session, link);

		look_at(s, r);
		*held += holds(s, r);
	}
	for (unsigned i = 0; i < p->nslots; i++)
		if (p->routes[i])
			*stuck += p->routes[i]->stuck;
}

static const struct route_state *worst_route(const struct proxy *p)
{
	const struct route_state *worst = NULL;

	for (unsigned i = 0; i < p->nslots; i++)
		if (p->routes[i] && (!worst || p->routes[i]->stuck > worst->stuck))
			worst = p->routes[i];
	return worst;
}

/* Whether only the sessions of @rs are held up, and only by their server. */
static bool is_servers_time(const struct proxy *p, const struct recv_pool *r,
			    const struct route_state *rs)
{
	if (!r->fabric->shares_out || recv_pool_is_exhausted(r) ||
	    2 * rs->stuck_awaiting < rs->stuck)
		return false;
	for (unsigned i = 0; i < p->nslots; i++)
		if (p->routes[i] && p->routes[i] != rs && p->routes[i]->starving)
			return false;
	return true;
}

static void end_some(struct proxy *p, const struct recv_pool *r, const struct route_state *rs)
{
	uint64_t most = (uint64_t)r->total / GIVES << (r->looks - LOOKS), given = 0;
	uint32_t average = rs->stuck / rs->holders;

	for (struct list *it = p->sessions.next; it != &p->sessions && given < most;
	     it = it->next) {
		struct session *s = container_of(it, struct session, link);

		if (s->state != SESSION_OPEN || s->route != rs || s->stuck_recvs < average)
			continue;
		given += holds(s, r);
		session_close(s, ERR_NOMEM, "its messages hold the Receives that others wait for");
		session_touch(s);
	}
}

/* Few Receives are left: copy calls that wait out of their Receives. Calls that begin to wait now
 * are copied anyway. */
static void move_calls(struct proxy *p, const struct recv_pool *r)
{
	for (struct list *it = p->sessions.next; it != &p->sessions; it = it->next) {
		struct session *s = container_of(it, struct session, link);

		if (s->client.recvs == r && s->state == SESSION_OPEN)
			txn_move_all(s, &s->client);
	}
}

void session_reclaim_recvs(struct proxy *p, struct recv_pool *r)
{
	const struct route_state *worst;
	uint64_t held = 0, stuck = 0;

	if (recv_pool_is_low(r))
		move_calls(p, r);
	if (!recv_pool_is_starving(r)) {
		r->looks = 0;
		return;
	}
	if (r->looks < MOST_LOOKS)
		r->looks++;
	look_at_all(p, r, &held, &stuck);
	if (r->looks > 1 && (stuck == 0 || 2 * stuck < held))
		r->looks = 1; /* Receives are in use and come back */
	if (r->looks < LOOKS)
		return;
	worst = worst_route(p);
	if (!is_servers_time(p, r, worst))
		end_some(p, r, worst);
}
