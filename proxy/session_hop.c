/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How far the peers of a session are
 *
 * If the route's key hop leaves it open, two times are measured: the exchange of properties on the
 * server leg, which is one round trip, and the time from each call to its reply.
 */
#include "proxy/session_hop.h"
#include "proxy/internal.h"

static void hop_init(struct session_hop *h, enum hop hop)
{
	*h = (struct session_hop){.hop = hop};
	h->is_far = hop_is_far(hop, &h->times);
	h->is_settled = hop_is_settled(hop, &h->times);
}

void session_hop_init(struct session *s)
{
	hop_init(&s->hop[PROXY_CLIENT], s->route->route->client_hop);
	hop_init(&s->hop[PROXY_SERVER], s->route->route->server_hop);
}

void session_hop_note(struct session_hop *h, nsec_t took)
{
	hop_note(&h->times, took);
	h->is_far = hop_is_far(h->hop, &h->times);
	h->is_settled = hop_is_settled(h->hop, &h->times);
}

/* The server leg is connected: in version 2 its properties come next. */
void session_hop_asked(struct session *s)
{
	if (s->server.state == LEG_NEGOTIATING && !s->hop[PROXY_SERVER].requested_at)
		s->hop[PROXY_SERVER].requested_at = s->proxy->now;
}

void session_hop_ready(struct session *s)
{
	if (s->hop[PROXY_SERVER].requested_at)
		session_hop_note(&s->hop[PROXY_SERVER],
				 s->proxy->now - s->hop[PROXY_SERVER].requested_at);
	s->hop[PROXY_SERVER].requested_at = 0;
}
