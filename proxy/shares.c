/* SPDX-License-Identifier: BSD-2-Clause */
#include "proxy/shares.h"

int shares_init(struct shares *s, size_t most, uint64_t seed)
{
	return host_table_init(&s->clients, most, sizeof(struct share), seed);
}

void shares_fini(struct shares *s)
{
	host_table_fini(&s->clients);
}

struct share *shares_enter(struct shares *s, const struct fabric_addr *addr)
{
	struct host *host = host_table_get(&s->clients, addr);

	return host ? container_of(host, struct share, host) : NULL;
}

void shares_leave(struct shares *s, struct share *share)
{
	if (share)
		host_table_put(&s->clients, &share->host);
}
