/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared Receives that run out. When few are left calls that wait are set aside, while there is memory for that. Others
 * keep theirs until they have what they wait for, and what would free that may need a Receive. A crowd whose server
 * hangs has as many as it likes that way, over devices, which give them to whoever comes; elsewhere many may keep so many
 * that there are none for those who cannot get on without (.in_want). So, every TRIM_INTERVAL while they are scarce
 * (recvs_are_scarce()), it is seen who sits on them: what a leg held the last time and holds yet. That others, or its own
 * next messages, move is no merit of these.
 *
 * Where such are most of those held, two times in a row, the route that has most of them gives a quarter of all
 * back: sessions of it end that sit on no less than its others do. If the rest of the crowd takes these as well, twice
 * as many are given the next time.
 *
 * Where there are some left for who keeps none, and only sessions of that route want more (.in_want), that is nobody
 * else's affair: where most of what is sat on is of sessions that wait for their server, it takes its time, and nobody ends. Else
 * they wait for each other.
 */
#include "proxy/internal.h"

enum {
	LOOKS = 3, /* in a row; the first sees only what is held */
	MOST_LOOKS = LOOKS + 8,
	GIVES = 4, /* one part in so many is given back */
};

/* From the next look on, on all it holds now. */
static uint32_t sits_on(struct leg *leg, const struct recvs *r)
{
	uint32_t sat = leg->sits_on;

	if (leg->recvs != r)
		return 0;
	leg->sits_on = leg_holds(leg);
	return sat;
}

/* It cannot get on without more of them. */
static bool wants(const struct leg *leg, const struct session_ops *ops, const struct recvs *r)
{
	return leg->recvs == r && leg_is_sated(leg) && (ops->reads.posted || leg->conn->behind);
}

/* Of both legs; of one that is new there is nothing yet. */
static void look_at(struct session *s, const struct recvs *r)
{
	s->sits_on = sits_on(&s->client, r) + sits_on(&s->server, r);
	if (s->state != SESSION_OPEN)
		return;
	s->route->wants += wants(&s->client, &s->cops, r) || wants(&s->server, &s->sops, r);
	if (!s->sits_on)
		return;
	s->route->sat += s->sits_on;
	s->route->asked += s->server.awaiting ? s->sits_on : 0;
	s->route->sitters++;
}

static uint32_t holds(const struct session *s, const struct recvs *r)
{
	return (s->client.recvs == r ? leg_holds(&s->client) : 0) +
	       (s->server.recvs == r ? leg_holds(&s->server) : 0);
}

static void look_at_all(struct proxy *p, struct recvs *r, uint64_t *held, uint64_t *sat)
{
	r->look++;
	for (unsigned i = 0; i < p->nslots; i++)
		if (p->routes[i])
			p->routes[i]->sat = p->routes[i]->asked = p->routes[i]->sitters =
				p->routes[i]->wants = 0;
	for (struct list *it = p->sessions.next; it != &p->sessions; it = it->next) {
		struct session *s = container_of(it, struct session, link);

		look_at(s, r);
		*held += holds(s, r);
	}
	for (unsigned i = 0; i < p->nslots; i++)
		if (p->routes[i])
			*sat += p->routes[i]->sat;
}

static const struct route_state *worst_route(const struct proxy *p)
{
	const struct route_state *worst = NULL;

	for (unsigned i = 0; i < p->nslots; i++)
		if (p->routes[i] && (!worst || p->routes[i]->sat > worst->sat))
			worst = p->routes[i];
	return worst;
}

/* Its server alone keeps them from getting on, and them alone. */
static bool is_servers_time(const struct proxy *p, const struct recvs *r,
			    const struct route_state *rs)
{
	if (!r->fabric->shares_out || recvs_are_out(r) || 2 * rs->asked < rs->sat)
		return false;
	for (unsigned i = 0; i < p->nslots; i++)
		if (p->routes[i] && p->routes[i] != rs && p->routes[i]->wants)
			return false;
	return true;
}

static void end_some(struct proxy *p, const struct recvs *r, const struct route_state *rs)
{
	uint64_t most = (uint64_t)r->total / GIVES << (r->looks - LOOKS), given = 0;
	uint32_t average = rs->sat / rs->sitters;

	for (struct list *it = p->sessions.next; it != &p->sessions && given < most;
	     it = it->next) {
		struct session *s = container_of(it, struct session, link);

		if (s->state != SESSION_OPEN || s->route != rs || s->sits_on < average)
			continue;
		given += holds(s, r);
		session_close(s, ERR_NOMEM, "its messages hold the Receives that others wait for");
		session_touch(s);
	}
}

/* What waited before few were left is set aside as well, as what came since was. */
static void move_calls(struct proxy *p, const struct recvs *r)
{
	for (struct list *it = p->sessions.next; it != &p->sessions; it = it->next) {
		struct session *s = container_of(it, struct session, link);

		if (s->client.recvs == r && s->state == SESSION_OPEN)
			txn_move_all(s, &s->client);
	}
}

void session_press_recvs(struct proxy *p, struct recvs *r)
{
	const struct route_state *worst;
	uint64_t held = 0, sat = 0;

	if (recvs_tight(r))
		move_calls(p, r);
	if (!recvs_are_scarce(r)) {
		r->looks = 0;
		return;
	}
	if (r->looks < MOST_LOOKS)
		r->looks++;
	look_at_all(p, r, &held, &sat);
	if (r->looks > 1 && (sat == 0 || 2 * sat < held))
		r->looks = 1; /* much is asked of them, and they go round */
	if (r->looks < LOOKS)
		return;
	worst = worst_route(p);
	if (!is_servers_time(p, r, worst))
		end_some(p, r, worst);
}
