/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/preauth_queue.h"

#include <assert.h>

#include "base/mem.h"

struct preauth_queue_host {
	struct host host;    /* must be the first field */
	struct list members; /* oldest first; .members and .rank are set while there are some */
	struct list rank;    /* in by_count */
};

int preauth_queue_init(struct preauth_queue *queue, unsigned most, uint64_t seed)
{
	*queue = (struct preauth_queue){.most = most};
	if (host_table_init(&queue->hosts, most, sizeof(struct preauth_queue_host), seed))
		return ERR_NOMEM;
	queue->by_count = mem_zalloc((most + 1) * sizeof(struct list));
	if (!queue->by_count)
		return ERR_NOMEM;
	for (unsigned i = 0; i <= most; i++)
		list_init(&queue->by_count[i]);
	return 0;
}

void preauth_queue_fini(struct preauth_queue *queue)
{
	host_table_fini(&queue->hosts);
	mem_free(queue->by_count);
	queue->by_count = NULL;
	queue->count = 0;
}

/* Puts @host, whose number of members has changed, into the list of its new number. */
static void place_host(struct preauth_queue *queue, struct preauth_queue_host *host)
{
	unsigned n = host->host.uses;

	list_del(&host->rank);
	if (n > 0)
		list_add_tail(&queue->by_count[n], &host->rank);
	if (n > queue->highest)
		queue->highest = n;
}

void preauth_queue_enter(struct preauth_queue *queue, struct preauth_queue_member *m,
			 const struct fabric_addr *addr)
{
	struct preauth_queue_host *host;

	assert(!m->host && !preauth_queue_is_full(queue));
	host = (struct preauth_queue_host *)host_table_get(&queue->hosts, addr);
	assert(host); /* there are as many entries as members */
	if (host->host.uses == 1) {
		list_init(&host->members);
		list_init(&host->rank);
	}
	m->host = host;
	list_add_tail(&host->members, &m->link);
	queue->count++;
	place_host(queue, host);
}

void preauth_queue_leave(struct preauth_queue *queue, struct preauth_queue_member *m)
{
	struct preauth_queue_host *host = m->host;

	if (!host)
		return;
	list_del(&m->link);
	m->host = NULL;
	queue->count--;
	host_table_put(&queue->hosts, &host->host);
	place_host(queue, host);
}

struct preauth_queue_member *preauth_queue_first(struct preauth_queue *queue)
{
	struct preauth_queue_host *host;

	if (queue->count == 0)
		return NULL;
	while (list_is_empty(&queue->by_count[queue->highest]))
		queue->highest--;
	host = list_first(&queue->by_count[queue->highest], struct preauth_queue_host, rank);
	return list_first(&host->members, struct preauth_queue_member, link);
}

struct preauth_queue_member *preauth_queue_first_of(const struct preauth_queue *queue,
						    const struct fabric_addr *addr)
{
	struct preauth_queue_host *host =
		(struct preauth_queue_host *)host_table_find(&queue->hosts, addr);

	return host && host->host.uses > 0
		       ? list_first(&host->members, struct preauth_queue_member, link)
		       : NULL;
}

unsigned preauth_queue_count_of(const struct preauth_queue *queue, const struct fabric_addr *addr)
{
	const struct host *host = host_table_find(&queue->hosts, addr);

	return host ? host->uses : 0;
}
