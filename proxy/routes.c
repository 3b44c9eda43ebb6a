/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 *   free --add--> serves --retire--> retired --last session ends--> free
 *
 * A session holds the route that it uses and the one by whose listener it arrived; these differ if
 * several routes share a listener. While a session of that listener has not proved its name, all
 * routes that share the listener stay, because the session may choose any of them. The route that
 * owns the listener stays as long as those that share it, because another route may take its slot.
 */
#include "proxy/routes.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "proxy/internal.h"
#include "proxy/probe.h"
#include "proxy/session_auth.h"

static void init_groups(struct route_state *rs, unsigned part)
{
	for (unsigned k = 0; k < QUOTA_PURPOSES; k++)
		quota_group_init(&rs->groups[k], &rs->proxy->quota, (enum buf_purpose)k, part);
}

static void free_route(struct route_state *rs)
{
	atomic_uint *users = rs->route->users;
	struct proxy *p = rs->proxy;

	probes_end(rs);
	session_auth_fini(rs);
	if (rs->owns_servers)
		servers_put(rs->servers);
	for (unsigned k = 0; k < QUOTA_PURPOSES; k++)
		quota_group_fini(&rs->groups[k]);
	if (rs->leader) {
		rs->leader->sharers--;
		p->sweep = true; /* the leader may be unused as well */
	}
	mem_free(rs->by_server);
	shares_fini(&rs->by_client);
	p->routes[rs->slot] = NULL;
	p->nroutes -= !rs->is_retired;
	mem_free(rs);
	if (users)
		atomic_fetch_sub(users, 1); /* last use of rs->route */
}

/* If the route has no shared servers it has its own: one address. */
static int take_servers(struct route_state *rs)
{
	struct servers_config one = {.nhosts = 1, .hosts[0] = {.addr = rs->route->upstream}};

	rs->servers = rs->route->servers;
	if (rs->servers)
		return 0;
	one.timeout = rs->route->server.setup_timeout;
	rs->owns_servers = true;
	rs->servers = servers_new(&one, rs->proxy->cfg.changes);
	return rs->servers ? 0 : ERR_NOMEM;
}

static int open_shares(struct route_state *rs)
{
	const struct proxy *p = rs->proxy;

	if (rs->route->several) {
		rs->by_server = mem_zalloc(SERVERS_MOST * sizeof(*rs->by_server));
		if (!rs->by_server)
			return ERR_NOMEM;
	}
	return shares_init(&rs->by_client, p->most_sessions, p->cfg.seed);
}

static void find_leader(struct route_state *rs)
{
	const struct proxy *p = rs->proxy;

	for (unsigned i = 0; rs->route->shares && !rs->leader && i < p->nslots; i++)
		if (p->routes[i] && p->routes[i]->route == rs->route->shares) {
			rs->leader = p->routes[i];
			rs->leader->sharers++;
		}
}

int proxy_route_add(struct proxy *p, unsigned slot, unsigned part, unsigned sides)
{
	struct route_state *rs = mem_zalloc(sizeof(*rs));

	assert(slot < p->nslots && !p->routes[slot]);
	if (!rs)
		return ERR_NOMEM;
	rs->proxy = p;
	rs->route = &p->cfg.routes[slot];
	rs->slot = slot;
	rs->server_v1 = rs->route->server;
	rs->server_v1.versions = LEG_V1;
	list_init(&rs->upstreams);
	list_init(&rs->waiting);
	probes_init(rs);
	init_groups(rs, part);
	p->routes[slot] = rs;
	find_leader(rs);
	p->nroutes++;
	if (rs->route->users)
		atomic_fetch_add(rs->route->users, 1);
	if (session_auth_open(rs, sides) == 0 && take_servers(rs) == 0 && open_shares(rs) == 0) {
		probes_begin(rs);
		return 0;
	}
	free_route(rs);
	return ERR_NOMEM;
}

void proxy_listen_by(struct proxy *p, unsigned listener, unsigned slot)
{
	p->listeners[listener] = slot == PROXY_NO_SLOT ? NULL : p->routes[slot];
}

void proxy_route_retire(struct proxy *p, unsigned slot)
{
	p->routes[slot]->is_retired = true;
	probes_end(p->routes[slot]);
	p->nroutes--;
	p->sweep = true;
}

void proxy_use_jobs(struct proxy *p, struct jobs_port *jobs)
{
	p->cfg.jobs = jobs;
}

void route_hold(struct route_state *rs)
{
	rs->holds++;
}

void route_put(struct route_state *rs)
{
	rs->holds--;
	rs->proxy->sweep |= rs->is_retired && rs->holds == 0;
}

static bool is_over(const struct route_state *rs)
{
	if (!rs->is_retired || rs->holds > 0 || rs->sharers > 0)
		return false;
	return !rs->leader || (rs->leader->is_retired && rs->leader->holds == 0);
}

struct route_state *route_successor(const struct proxy *p, const struct route_state *rs)
{
	for (unsigned i = 0; i < p->nslots; i++)
		if (p->routes[i] && !p->routes[i]->is_retired &&
		    strcmp(p->routes[i]->route->name, rs->route->name) == 0)
			return p->routes[i];
	return NULL;
}

static void end_route(struct proxy *p, struct route_state *rs)
{
	struct route_state *next = route_successor(p, rs);

	proxy_counters_add(next ? &next->count : &p->gone, &rs->count);
	free_route(rs);
}

/* The order does not matter: each route is judged by itself. */
void routes_sweep(struct proxy *p)
{
	p->sweep = false;
	for (unsigned i = 0; i < p->nslots; i++)
		if (p->routes[i] && is_over(p->routes[i]))
			end_route(p, p->routes[i]);
}

int routes_open(struct proxy *p)
{
	unsigned sides = 0;

	p->nslots = p->cfg.nslots > p->cfg.nroutes ? p->cfg.nslots : p->cfg.nroutes;
	p->routes = mem_zalloc(p->nslots * sizeof(struct route_state *));
	p->listeners = mem_zalloc(p->nslots * sizeof(struct route_state *));
	if (!p->routes || !p->listeners)
		return ERR_NOMEM;
	for (unsigned i = 0; i < p->cfg.nroutes; i++)
		sides += session_auth_sides(&p->cfg.routes[i]);
	for (unsigned i = 0; i < p->cfg.nroutes; i++) {
		int err = proxy_route_add(p, i, i, sides);

		if (err)
			return err;
		proxy_listen_by(p, i, i);
	}
	for (unsigned i = 0; i < p->cfg.nroutes; i++)
		find_leader(p->routes[i]); /* whatever their order is */
	return 0;
}

void routes_close(struct proxy *p)
{
	for (unsigned i = 0; p->routes && i < p->nslots; i++)
		if (p->routes[i])
			p->routes[i]->leader = NULL;
	for (unsigned i = 0; p->routes && i < p->nslots; i++)
		if (p->routes[i])
			free_route(p->routes[i]);
	mem_free(p->routes);
	mem_free(p->listeners);
}
