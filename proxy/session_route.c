/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Clients that have to prove their name
 *
 * State:  a client that has to prove its name has connected.
 * Danger: unknown clients cause connections to servers and take the servers' time.
 * Rule:   the client is accepted first, and no server is connected for it before the proof. If
 *         several routes share the listener, the name chooses the route. Messages of the client
 *         stay in their Receives until its server is connected (leg_holds_back()), so the session
 *         has taken no memory of a route before its route is known.
 * Pinned: tests/session/test_hostauth.c:nothing_is_asked_of_the_server_before_the_proof,
 *         tests/session/test_hostauth_names.c:the_name_chooses_the_route, decision 105.
 *
 *   session_prove() -> handshake -> session_choose() -> the server leg connects -> OPEN
 *                                        |
 *                                        +-> no route is for that name: the session ends
 *
 * No name leads to more than one route (config/shared.c).
 */
#include <assert.h>

#include "base/log.h"
#include "proxy/session_route.h"
#include "proxy/internal.h"
#include "proxy/session_address.h"
#include "proxy/session_end.h"
#include "proxy/session_hop.h"
#include "proxy/session_log.h"
#include "proxy/session_server.h"
#include "proxy/session_share.h"

static bool shares(const struct proxy_route *route, const struct route_state *listener)
{
	return route == listener->route || route->shares == listener->route;
}

static bool has_names(const struct proxy_route *route)
{
	for (unsigned i = 0; i < route->nsources; i++)
		if (route->sources[i].name)
			return true;
	return route->nnames > 0;
}

bool session_goes_by_name(const struct route_state *listener)
{
	const struct proxy *p = listener->proxy;

	for (unsigned i = 0; i < p->nslots; i++)
		if (p->routes[i] && shares(p->routes[i]->route, listener) &&
		    has_names(p->routes[i]->route))
			return true;
	return false;
}

bool session_has_to_prove(const struct route_state *listener, const struct fabric_addr *peer)
{
	const struct leg_auth *auth = listener->route->client.auth;

	return auth && auth->required && !session_is_unneeded(listener, peer);
}

static bool is_for(const struct proxy_route *route, const struct leg *client)
{
	for (unsigned i = 0; i < route->nnames; i++)
		if (leg_peer_is(client, route->names[i]))
			return true;
	return false;
}

/* The route for the name that @client proved. If there is none, or no @client, the route without
 * names. */
static struct route_state *find(struct route_state *listener, const struct leg *client)
{
	struct proxy *p = listener->proxy;
	struct route_state *rest = NULL;

	for (unsigned i = 0; i < p->nslots; i++) {
		struct route_state *rs = p->routes[i];

		if (!rs || !shares(rs->route, listener))
			continue;
		if (rs->route->nnames == 0)
			rest = rs;
		else if (client && is_for(rs->route, client))
			return rs;
	}
	return rest;
}

struct route_state *session_route_of(struct route_state *listener, const struct fabric_addr *peer)
{
	bool by_name = session_goes_by_name(listener);

	return by_name && session_is_unneeded(listener, peer) ? find(listener, NULL) : listener;
}

/* The route for the name that the client proved, unless a reload has removed this route meanwhile
 * without a successor: when the route was drained, this session did not belong to it yet. */
static struct route_state *choose(const struct session *s)
{
	struct route_state *rs = find(s->listener, &s->client);

	return rs && rs->is_retired && !route_successor(s->proxy, rs) ? NULL : rs;
}

/* Set up @q, in which as many calls may run at once as the larger of @a and @b says, and at least
 * one. Credits do not limit the calls: version 2 grants messages. */
static void open_queue(struct session *s, struct session_queue *q, uint32_t a, uint32_t b)
{
	enum buf_purpose purpose = q == &s->forward ? BUF_TXN_FORWARD : BUF_TXN_REVERSE;

	quota_member_init(&q->quota, &s->route->groups[BUF_TRANSACTION]);
	quota_member_init(&q->block_quota, &s->route->groups[purpose]);
	q->s = s;
	q->limit = a > b ? a : b;
	if (q->limit == 0)
		q->limit = 1;
	list_init(&q->waiting);
	list_init(&q->passing);
	list_init(&q->deferred);
}

void session_set_route(struct session *s, struct route_state *rs)
{
	route_hold(rs);
	if (s->route) {
		s->route->count.sessions--;
		session_share_leave(s);
		route_put(s->route);
		list_del(&s->upstream->link);
	}
	s->route = rs;
	list_add_tail(&rs->upstreams, &s->upstream->link);
	rs->count.sessions++;
	open_queue(s, &s->forward, rs->route->client.credits, rs->route->server.credits);
	/* No more reverse calls than there are Receives beside those for replies. */
	open_queue(s, &s->reverse, rs->route->server.rev_credits, 0);
	leg_set_quotas(&s->client, rs->groups);
	session_share_client(s);
	session_hop_init(s);
}

/* Settings of the client leg: clients of some networks need not prove their name. */
static const struct leg_config *client_config(const struct session *s)
{
	const struct proxy_route *route = s->listener->route;

	return session_is_unneeded(s->listener, &s->client.conn->peer) ? &route->client_unneeded
								       : &route->client;
}

void session_accept(struct session *s)
{
	int err = leg_accept(&s->client, client_config(s), &s->proxy->arena, s->client.conn,
			     view_of(s->request, s->request_len), SESSION_OP_DEPTH, s->proxy->now);

	session_drop_request(s);
	if (err < 0)
		session_close(s, err, err == ERR_AGAIN ? "memory_limit reached" : "accept failed");
}

void session_prove(struct session *s)
{
	assert(s->listener->route->client.auth && s->listener->route->client.auth->required);
	s->state = SESSION_PROVE;
	s->client.held = true;
	session_accept(s);
	session_await_setup(s);
}

void session_choose(struct session *s)
{
	const char *name = leg_peer_name(&s->client);
	char peer[FABRIC_ADDR_TEXT];
	struct route_state *rs;
	int err;

	if (!*name)
		return;
	rs = choose(s);
	if (!rs) {
		session_log_auth(s, &s->client);
		log_peer(LOG_LEVEL_WARN, "hostauth.unrouted", s->host,
			 "session=%llu route=%s peer=%s name=\"%s\" why=\"no route is for this "
			 "name, "
			 "and none for the rest\"",
			 (unsigned long long)s->id, s->route->route->name,
			 fabric_addr_format(&s->client.conn->peer, peer), name);
		session_count_refusal(s, PROXY_REFUSED_HOSTAUTH);
		session_close(s, ERR_AUTH, "no route is for this name");
		return;
	}
	if (!session_has_source(rs, &s->client.conn->peer, &s->client)) {
		session_count_refusal(s, PROXY_REFUSED_SOURCE);
		session_close(s, ERR_CONFIG, "no source address is for it");
		return;
	}
	session_set_route(s, rs);
	s->state = SESSION_JOIN;
	err = session_find_server(s);
	if (err < 0)
		session_close_for(s, &s->server, err, session_upstream_strerror(s, err));
}
