/* SPDX-License-Identifier: BSD-2-Clause */
/* Handshakes of host authentication of all sessions: the limits of each route, the end of
 * handshakes that take long while others wait, and results from the threads that compute them. */
#include "base/budget.h"
#include "proxy/session_auth.h"
#include "proxy/internal.h"
#include "proxy/session_end.h"
#include "proxy/session_handshakes.h"

#define TOOK_LONG "host authentication took long, and others wait for theirs"

/*
 * State:  all places for handshakes are taken, and others wait.
 * Danger: peers that answer slowly keep all places, and no other peer can authenticate.
 * Rule:   the longest running handshake of the client address, or server, with most of them ends
 *         once it is older than HANDSHAKE_SLOT_TIME. A client's session ends with it. A server's
 *         leg ends alone, because the client may have another server. A handshake that is computed
 *         by threads here is not at fault: its time begins anew.
 * Pinned: tests/session/test_hostauth.c:a_handshake_that_waits_too_long_is_closed,
 *         :a_handshake_under_computation_is_not_closed,
 *         tests/session/test_hostauth_handshakes.c:a_server_that_takes_long_is_left_for_the_next
 */
static void evict_slow(struct route_state *rs, struct handshake_limit *d, nsec_t now)
{
	struct handshake_slot *g;

	if (pause_excuses(rs->proxy->paused_until, HANDSHAKE_SLOT_TIME, now))
		return;
	while ((g = handshake_limit_worst(d, now))) {
		struct session *s = session_of(g->leg);

		if (leg_is_worked_on(g->leg)) {
			handshake_limit_again(d, g, now);
			continue;
		}
		if (g->leg == &s->client) {
			session_close(s, ERR_TIMEOUT, TOOK_LONG);
		} else {
			session_auth_leave(s, &s->server);
			/* ERR_AUTH, so version 1 is not tried either */
			leg_close(&s->server, ERR_AUTH, TOOK_LONG);
		}
		session_touch(s);
	}
}

static void on_slot_timer(struct timer *timer, nsec_t now)
{
	struct route_state *rs = container_of(timer, struct route_state, slot_timer);

	evict_slow(rs, &rs->handshakes[PROXY_CLIENT], now);
	evict_slow(rs, &rs->handshakes[PROXY_SERVER], now);
	if (handshake_limit_has_waiting(&rs->handshakes[PROXY_CLIENT]) ||
	    handshake_limit_has_waiting(&rs->handshakes[PROXY_SERVER]))
		timer_arm(&rs->proxy->timers, timer, now + SESSION_SLOT_CHECK);
}

/* Set the limit of one side, and keep the memory of its handshakes free: at most
 * 1/BUDGET_HANDSHAKES of the connections' memory, for all sides of all routes together. */
static int open_handshakes(struct route_state *rs, struct handshake_limit *d,
			   const struct leg_auth *auth, size_t share)
{
	struct proxy *p = rs->proxy;
	unsigned most = rs->route->max_handshakes;
	size_t kept;

	list_init(&d->waiting);
	if (!auth)
		return 0;
	if (most == 0 || most > share / BUDGET_HANDSHAKE)
		most = (unsigned)(share / BUDGET_HANDSHAKE);
	if (most < 2)
		most = 2;
	kept = (size_t)most * BUDGET_HANDSHAKE; /* two at least, however many routes there are */
	kept = kept < p->fixed_limit ? kept : p->fixed_limit;
	p->fixed_limit -= kept;
	rs->handshake_limits_bytes += kept;
	/* One client address or server has half of the places at most, if there can be others. */
	if (d == &rs->handshakes[PROXY_CLIENT] || rs->route->several)
		return handshake_limit_init(d, most, (most + 1) / 2, p->cfg.seed);
	return handshake_limit_init(d, most, most, p->cfg.seed);
}

unsigned session_auth_sides(const struct proxy_route *route)
{
	return (route->client.auth ? 1u : 0u) + (route->server.auth ? 1u : 0u);
}

int session_auth_open(struct route_state *rs, unsigned sides)
{
	size_t share = buf_zone_bytes(&rs->proxy->arena, BUF_ZONE_CONN) / BUDGET_HANDSHAKES;
	int err;

	if (sides > 0)
		share /= sides;
	timer_init(&rs->slot_timer, on_slot_timer);
	err = open_handshakes(rs, &rs->handshakes[PROXY_CLIENT], rs->route->client.auth, share);
	if (!err)
		err = open_handshakes(rs, &rs->handshakes[PROXY_SERVER], rs->route->server.auth,
				      share);
	return err;
}

void session_auth_fini(struct route_state *rs)
{
	timer_disarm(&rs->proxy->timers, &rs->slot_timer);
	rs->proxy->fixed_limit += rs->handshake_limits_bytes;
	handshake_limit_fini(&rs->handshakes[PROXY_CLIENT]);
	handshake_limit_fini(&rs->handshakes[PROXY_SERVER]);
}

void session_auth_back(struct proxy *p)
{
	struct job *job;

	while (p->cfg.jobs && (job = jobs_next(p->cfg.jobs))) {
		struct leg *leg = leg_auth_back(job, p->now);

		if (leg)
			session_touch(session_of(leg));
	}
}
