/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/lost.h"

#include <netinet/in.h>
#include <string.h>

#include "base/log.h"

#define INTERVAL (5 * NSEC_PER_SEC)

/* Return: why no client reaches the listener; or NULL. */
static const char *trouble_of(const struct gateway_listen *listen)
{
	const struct sockaddr_in6 *is = (const struct sockaddr_in6 *)&listen->addr.ss;
	struct fabric_addr now;

	if (fabric_addr_parse(listen->from->listen.address, listen->from->listen.port, &now))
		return "its interface is gone: make it again, and restart the gateway";
	if (((const struct sockaddr_in6 *)&now.ss)->sin6_scope_id == is->sin6_scope_id)
		return NULL;
	return "its interface was made again, and has another number: restart the gateway";
}

/* Return: whether the listener's address has an interface. */
static bool look_at(struct gateway_listen *listen, const char *route)
{
	const char *address = listen->from->listen.address;
	const char *why;

	if (!strchr(address, '%'))
		return false;
	why = trouble_of(listen);
	if (why && why != listen->lost)
		log_warn("listen.lost", "route=%s address=%s why=\"%s\"", route, address, why);
	listen->lost = why;
	return true;
}

nsec_t lost_tick(struct lost *lost, struct gateway *gw, nsec_t now)
{
	bool any = false;

	if (now < lost->at)
		return lost->at;
	for (unsigned i = 0; i < gw->nslots; i++)
		if (gw->listens[i].state == GATEWAY_CURRENT && gw->listens[i].leader == i)
			any |= look_at(&gw->listens[i], gw->routes[i].name);
	lost->at = any ? now + INTERVAL : NSEC_NEVER;
	return lost->at;
}
