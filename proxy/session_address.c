/* SPDX-License-Identifier: BSD-2-Clause */
/* Decisions by the address of a client: whether it may connect, whether it has to prove its name,
 * and from which local address its server is connected, alone or shared with other clients. */
#include "base/log.h"
#include "proxy/session_address.h"
#include "proxy/internal.h"

static bool is_in(const struct fabric_net *nets, unsigned n, const struct fabric_addr *peer)
{
	for (unsigned i = 0; i < n; i++)
		if (fabric_net_has(&nets[i], peer))
			return true;
	return false;
}

bool session_is_let_in(const struct route_state *listener, const struct fabric_addr *peer)
{
	const struct proxy_route *route = listener->route;

	return route->nclients == 0 || is_in(route->clients, route->nclients, peer);
}

static bool is_for(const struct proxy_source *source, const struct fabric_addr *peer,
		   const struct leg *proved)
{
	return (source->everywhere || fabric_net_has(&source->clients, peer)) &&
	       (!source->name || (proved && leg_peer_is(proved, source->name)));
}

static const struct proxy_source *find_source(const struct proxy_route *route,
					      const struct fabric_addr *peer,
					      const struct leg *proved)
{
	for (unsigned i = 0; i < route->nsources; i++)
		if (is_for(&route->sources[i], peer, proved))
			return &route->sources[i];
	return NULL;
}

bool session_has_source(const struct route_state *rs, const struct fabric_addr *peer,
			const struct leg *proved)
{
	return rs->route->nsources == 0 || find_source(rs->route, peer, proved);
}

bool session_source(const struct session *s, struct fabric_addr *out)
{
	const struct fabric_addr *peer = &s->client.conn->peer;
	const struct proxy_source *source = find_source(s->route->route, peer, &s->client);

	if (source)
		fabric_net_move(&source->clients, &source->addresses, peer, out);
	return source;
}

/* Whether several clients have one address at the server. The server knows the holder of an NLM
 * lock by its address and a number that each client assigns for itself. */
static bool shares_address(const struct session *s)
{
	const struct proxy_source *source =
		s->client.conn ? find_source(s->route->route, &s->client.conn->peer, &s->client)
			       : NULL;

	return !source || source->everywhere ||
	       fabric_net_host_bits(&source->addresses) < fabric_net_host_bits(&source->clients);
}

void session_note_version_3(struct session *s)
{
	struct route_state *rs = s->route;

	s->has_version_3 = true;
	if (rs->locks_logged || !shares_address(s))
		return;
	rs->locks_logged = true;
	if (rs->route->locks_logged && atomic_exchange(rs->route->locks_logged, true))
		return;
	log_warn("nfs3.locks",
		 "route=%s why=\"clients of NFS version 3 have one address at their server, which "
		 "cannot tell their locks apart: give each its own (source, side_ports), or mount "
		 "with nolock\"",
		 rs->route->name);
}

bool session_is_unneeded(const struct route_state *listener, const struct fabric_addr *peer)
{
	return is_in(listener->route->unneeded, listener->route->nunneeded, peer);
}
