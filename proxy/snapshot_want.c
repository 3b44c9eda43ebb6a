/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "proxy/snapshot_want.h"
#include "proxy/internal.h"

bool session_fits(const struct session *s, const struct snapshot_want *want)
{
	if (want->id && s->id != want->id)
		return false;
	if (want->route != SNAPSHOT_ANY_ROUTE && want->route != s->route->slot)
		return false;
	if (*want->route_name && strcmp(want->route_name, s->route->route->name) != 0)
		return false;
	if (*want->client && strcmp(want->client, s->host) != 0)
		return false;
	return !*want->name || strcmp(want->name, leg_peer_name(&s->client)) == 0 ||
	       strcmp(want->name, leg_peer_name(&s->server)) == 0;
}
