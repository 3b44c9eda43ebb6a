/* SPDX-License-Identifier: BSD-2-Clause */
/* Which version to speak to a server (draft-07 4.3.2, decision 9): version 2 first, unless the
 * server is remembered not to speak it. A leg falls back to version 1 on the same connection by
 * itself. This file handles servers that close the connection instead, and remembers the
 * results. */
#include "base/log.h"
#include "proxy/session_version.h"
#include "proxy/internal.h"
#include "proxy/session_address.h"
#include "proxy/session_end.h"
#include "proxy/session_handshakes.h"
#include "proxy/session_share.h"

#define BARE_MEMORY (60 * NSEC_PER_SEC)

/* Only version 1 is tried while the server is remembered not to speak version 2. */
int session_connect_server(struct session *s)
{
	struct route_state *rs = s->route;
	const struct proxy_route *route = rs->route;
	struct proxy *p = s->proxy;
	const struct leg_config *cfg = &route->server;
	unsigned slot = s->upstream->user.server;
	struct fabric_addr from, to;
	struct leg_target target = {.fabric = p->cfg.fabrics[route->upstream_fabric],
				    .to = &to,
				    .via = &s->upstream->via,
				    .resets = true};
	int err;

	servers_addr(rs->servers, slot, &to);
	if ((cfg->versions & LEG_V1) &&
	    (s->retried_v1 || p->now < servers_v1_until(rs->servers, slot)))
		cfg = &rs->server_v1;
	leg_init(&s->server, RPC_INITIATOR);
	s->hop[PROXY_SERVER].requested_at = 0;
	leg_set_quotas(&s->server, s->route->groups);
	session_share_server(s);
	s->server.jobs = p->cfg.jobs;
	s->server.trace = &p->leg_trace;
	s->server.group_copiers = &p->group_copiers;
	s->server.copies = true;
	s->server.gated = rs->handshakes[PROXY_SERVER].inside.most > 0;
	s->server.bare = session_goes_bare(rs, slot, s->retried_bare);
	s->server.after_silence = s->retried_bare;
	s->server.first_xid = (uint32_t)session_random(p);
	if (session_source(s, &from))
		target.from = &from;
	err = leg_connect(&s->server, cfg, &p->arena, &target, SESSION_OP_DEPTH, p->now);
	session_await_setup(s);
	return err;
}

void session_remember_v1(struct session *s)
{
	char server[FABRIC_ADDR_TEXT];

	servers_remember_v1(s->route->servers, s->upstream->user.server,
			    s->proxy->now + s->route->route->version_memory);
	log_peer(LOG_LEVEL_INFO, "upstream.version", s->route->route->name,
		 "route=%s server=%s version=1", s->route->route->name,
		 session_server_text(s, server));
}

/*
 * State:  a server closed the connection on version 2 and then spoke version 1. The gateway
 *         remembers that the server speaks version 1 alone.
 * Danger: the server may have been restarting, and may speak version 2 again. Sessions would stay
 *         with version 1.
 * Rule:   the verdict holds while the server answers in version 1. If it refuses version 1 as well,
 *         or ends a connection before it has sent any message, the next session tries version 2
 *         first.
 * Pinned: tests/session/test_versions.c:a_verdict_falls_when_version_1_is_refused,
 *         :a_restart_is_not_taken_for_a_verdict, decision 75.
 */
void session_forget_v1(struct session *s, int status)
{
	const struct rpc_transport *t = s->server.t;
	struct route_state *rs = s->route;
	unsigned slot = s->upstream->user.server;
	char server[FABRIC_ADDR_TEXT];

	if (servers_v1_until(rs->servers, slot) <= s->proxy->now || !session_is_of_server(status) ||
	    s->server.cfg != &rs->server_v1 || (t && t->count.recvs > 0 && status != ERR_VERS))
		return;
	servers_remember_v1(rs->servers, slot, 0);
	log_peer(LOG_LEVEL_INFO, "upstream.version", rs->route->name,
		 "route=%s server=%s version=unknown", rs->route->name,
		 session_server_text(s, server));
}

/* Return: whether another connection to the same server is under way. If not, *@status says why.
 * The cause may be a shortage of this machine, which is no verdict about the server. */
static bool connect_again(struct session *s, int *status)
{
	int err;

	session_drop_server(s);
	err = session_connect_server(s);
	if (err < 0)
		*status = err;
	return err == 0;
}

bool session_retry_as_v1(struct session *s, int *status)
{
	char server[FABRIC_ADDR_TEXT];

	if (!session_awaits_server(s) || s->retried_v1 || !session_may_be_v1(&s->server, *status))
		return false;
	log_peer(LOG_LEVEL_INFO, "upstream.retry", s->route->route->name,
		 "route=%s server=%s version=1 why=\"no answer to version 2: %s\"",
		 s->route->route->name, session_server_text(s, server),
		 *status ? err_name(*status) : "it ended the connection");
	s->retried_v1 = true;
	return connect_again(s, status);
}

/*
 * State:  the connection began without host authentication, because the server was silent before,
 *         and ended before it was ready.
 * Danger: the server may have learned host authentication since, and refuse connections without it.
 *         It would be taken for down, and its clients would move.
 * Rule:   the failure is no verdict about the server. The gateway forgets that the server was
 *         silent, and one more connection begins with host authentication.
 * Pinned: tests/session/test_hostauth_silent.c:what_is_remembered_of_it_is_no_verdict
 *
 * Return: as connect_again().
 */
static bool retry_unremembered(struct session *s, int *status)
{
	if (s->retried_anew || !s->server.t || !session_is_of_server(*status))
		return false;
	s->retried_anew = true;
	servers_remember_bare(s->route->servers, s->upstream->user.server, 0);
	return connect_again(s, status);
}

bool session_retry_bare(struct session *s, int *status)
{
	char server[FABRIC_ADDR_TEXT];

	/* If the client was assigned another server, this session closed the leg itself. */
	if (!session_awaits_server(s) || s->retried_bare || s->upstream->has_moved)
		return false;
	if (s->server.bare)
		return retry_unremembered(s, status);
	if (!session_may_be_bare(&s->server, *status))
		return false;
	log_peer(LOG_LEVEL_INFO, "upstream.retry", s->route->route->name,
		 "route=%s server=%s version=2 why=\"no answer to host authentication\"",
		 s->route->route->name, session_server_text(s, server));
	s->retried_bare = true;
	return connect_again(s, status);
}

/*
 * State:  a server was silent when host authentication was begun, and served without it.
 * Danger: the server may have host authentication and have been busy. While its silence is
 *         remembered, no session to it is authenticated.
 * Rule:   its silence is remembered for BARE_MEMORY at most.
 * Pinned: tests/session/test_hostauth_silent.c:silence_is_not_remembered_for_long
 */
void session_judge_bare(struct session *s, int status)
{
	const struct route_state *rs = s->route;
	nsec_t now = s->proxy->now;
	bool serves = status == 0;

	if (!s->server.bare || !s->server.t || s->server.t->version == 1 ||
	    s->state == SESSION_OPEN)
		return;
	if (serves && s->retried_bare)
		servers_remember_bare(rs->servers, s->upstream->user.server,
				      now + nsec_min(rs->route->version_memory, BARE_MEMORY));
	else if (!serves && session_is_of_server(status))
		servers_remember_bare(rs->servers, s->upstream->user.server, 0);
}

void session_count_version(struct session *s, const struct leg *leg)
{
	enum proxy_side side = session_side(leg);

	if (s->speaks[side])
		return;
	s->speaks[side] = true;
	s->spoken[side] = (uint8_t)leg_spoken(leg);
	s->route->count.speaking[side][s->spoken[side]]++;
}

void session_uncount_versions(struct session *s)
{
	for (unsigned side = 0; side < PROXY_SIDES; side++)
		if (s->speaks[side])
			s->route->count.speaking[side][s->spoken[side]]--;
}
