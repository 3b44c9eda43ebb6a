/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "fabric/mem/mem.h"
#include "tests/isolation/net.h"

/* Towns on fabric/mem: messages and operations are delivered one by one, each whole. */
struct mem_town {
	struct memnet *net;
	struct memnet_watcher here;
	const struct net_watcher *watcher;
};

static void moved(void *arg, struct fabric_conn *to, enum fabric_ev_type kind,
		  const uint8_t *octets, uint32_t len)
{
	const struct mem_town *m = arg;

	m->watcher->moved(m->watcher->arg, to, kind, octets, len, true);
}

static void *mem_new(const struct net_config *cfg, const struct net_watcher *watcher)
{
	const struct memnet_config c = {.seed = cfg->seed,
					.latency_min = cfg->latency_min,
					.latency_max = cfg->latency_max,
					.shares_receives = cfg->shares_receives,
					.no_written = cfg->no_written,
					.no_remote_inv = cfg->no_remote_inv};
	struct mem_town *m = calloc(1, sizeof(*m));

	if (!m)
		abort();
	m->net = memnet_new(&c);
	if (!m->net)
		abort();
	m->here = (struct memnet_watcher){moved, m};
	m->watcher = watcher;
	memnet_watch(m->net, &m->here);
	return m;
}

static void mem_town_free(void *net)
{
	struct mem_town *m = net;

	memnet_free(m->net);
	free(m);
}

static struct fabric *fabric(void *net, bool wild)
{
	(void)wild;
	return memnet_fabric(((struct mem_town *)net)->net);
}

static struct fabric_listener *listen_at(void *net, const struct fabric_addr *addr)
{
	return memnet_listen(((struct mem_town *)net)->net, addr);
}

static nsec_t now(void *net)
{
	return memnet_now(((struct mem_town *)net)->net);
}

static int step(void *net, nsec_t until)
{
	return memnet_step(((struct mem_town *)net)->net, until);
}

static void pace(struct fabric_conn *conn, const struct net_pace *p)
{
	memnet_pace(conn,
		    &(struct memnet_pace){p->take, p->take_octet, p->answer, p->answer_octet});
}

static uint64_t held(void *net)
{
	struct memnet_usage u;

	memnet_usage(((struct mem_town *)net)->net, &u);
	return u.conns + u.posted + u.exposures;
}

const struct net_ops net_mem = {
	.name = "mem",
	.new = mem_new,
	.free = mem_town_free,
	.fabric = fabric,
	.listen = listen_at,
	.listener_free = memnet_listener_free,
	.now = now,
	.step = step,
	.pace = pace,
	.held = held,
};
