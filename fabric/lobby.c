/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/lobby.h"

#include <assert.h>

#include "base/mem.h"

struct lobby_host {
	struct host host;    /* must be the first field */
	struct list members; /* oldest first; the fields below are set while there are some */
	struct list rank;    /* in by_count */
};

int lobby_init(struct lobby *lobby, unsigned most, uint64_t seed)
{
	*lobby = (struct lobby){.most = most};
	if (hosts_init(&lobby->hosts, most, sizeof(struct lobby_host), seed))
		return ERR_NOMEM;
	lobby->by_count = mem_zalloc((most + 1) * sizeof(struct list));
	if (!lobby->by_count)
		return ERR_NOMEM;
	for (unsigned i = 0; i <= most; i++)
		list_init(&lobby->by_count[i]);
	return 0;
}

void lobby_fini(struct lobby *lobby)
{
	hosts_fini(&lobby->hosts);
	mem_free(lobby->by_count);
	lobby->by_count = NULL;
	lobby->count = 0;
}

/* The number of members of @host has changed. */
static void place_host(struct lobby *lobby, struct lobby_host *host)
{
	unsigned n = host->host.uses;

	list_del(&host->rank);
	if (n > 0)
		list_add_tail(&lobby->by_count[n], &host->rank);
	if (n > lobby->highest)
		lobby->highest = n;
}

void lobby_enter(struct lobby *lobby, struct lobby_member *m, const struct fabric_addr *addr)
{
	struct lobby_host *host;

	assert(!m->host && !lobby_is_full(lobby));
	host = (struct lobby_host *)hosts_get(&lobby->hosts, addr);
	assert(host); /* there are as many host entries as members */
	if (host->host.uses == 1) {
		list_init(&host->members);
		list_init(&host->rank);
	}
	m->host = host;
	list_add_tail(&host->members, &m->link);
	lobby->count++;
	place_host(lobby, host);
}

void lobby_leave(struct lobby *lobby, struct lobby_member *m)
{
	struct lobby_host *host = m->host;

	if (!host)
		return;
	list_del(&m->link);
	m->host = NULL;
	lobby->count--;
	hosts_put(&lobby->hosts, &host->host);
	place_host(lobby, host);
}

struct lobby_member *lobby_first(struct lobby *lobby)
{
	struct lobby_host *host;

	if (lobby->count == 0)
		return NULL;
	while (list_is_empty(&lobby->by_count[lobby->highest]))
		lobby->highest--;
	host = list_first(&lobby->by_count[lobby->highest], struct lobby_host, rank);
	return list_first(&host->members, struct lobby_member, link);
}

struct lobby_member *lobby_first_of(const struct lobby *lobby, const struct fabric_addr *addr)
{
	struct lobby_host *host = (struct lobby_host *)hosts_find(&lobby->hosts, addr);

	return host && host->host.uses > 0 ? list_first(&host->members, struct lobby_member, link)
					   : NULL;
}

unsigned lobby_count_of(const struct lobby *lobby, const struct fabric_addr *addr)
{
	const struct host *host = hosts_find(&lobby->hosts, addr);

	return host ? host->uses : 0;
}
