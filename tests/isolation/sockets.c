/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fabric/iwarp over TCP, in real time. pace() does nothing, because bench/line makes slow ends slow.
 */
#include <assert.h>
#include <stdlib.h>

#include "fabric/iwarp/iwarp.h"
#include "tests/isolation/net.h"
#include "tests/poll_loop.h"

enum { FABRICS = 4 };

struct sockets {
	struct poll_loop loop;
	struct fabric *fabrics[FABRICS];
	unsigned n;
};

static void *net_new(const struct net_config *cfg, const struct net_watcher *watcher)
{
	struct sockets *net = calloc(1, sizeof(*net));

	(void)cfg, (void)watcher;
	if (!net || poll_loop_init(&net->loop) < 0)
		abort();
	return net;
}

/* All instances of the net are gone. */
static void net_free(void *arg)
{
	struct sockets *net = arg;

	poll_loop_fini(&net->loop);
	free(net);
}

static struct fabric *new_instance(void *arg, bool wild)
{
	struct sockets *net = arg;
	struct iwarp_config cfg;

	(void)wild;
	assert(net->n < FABRICS);
	iwarp_config_default(&cfg);
	net->fabrics[net->n] = iwarp_new(&cfg, &net->loop.loop);
	if (!net->fabrics[net->n])
		abort();
	return net->fabrics[net->n++];
}

static struct fabric_listener *listen_at(void *net, const struct fabric_addr *addr)
{
	int err;

	(void)net;
	return iwarp_listen(addr, &err);
}

static nsec_t now(void *net)
{
	(void)net;
	return poll_loop_now();
}

static int step(void *arg, nsec_t until)
{
	enum { LONGEST_MS = 1000 };
	struct sockets *net = arg;

	for (unsigned i = 0; i < net->n; i++)
		until = nsec_min(until, fabric_deadline(net->fabrics[i]));
	(void)poll_loop_step(&net->loop, poll_loop_timeout(until, LONGEST_MS));
	for (unsigned i = 0; i < net->n; i++)
		fabric_tick(net->fabrics[i], poll_loop_now());
	return 1;
}

static void pace(struct fabric_conn *conn, const struct net_pace *p)
{
	(void)conn, (void)p;
}

static uint64_t held(void *net)
{
	(void)net;
	return 0;
}

const struct net_ops net_sockets = {
	.name = "sockets",
	.new = net_new,
	.free = net_free,
	.fabric = new_instance,
	.listen = listen_at,
	.listener_free = iwarp_listener_free,
	.now = now,
	.step = step,
	.pace = pace,
	.held = held,
};
