/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ISOLATION_TOWN_H
#define TESTS_ISOLATION_TOWN_H

#include "proxy/proxy.h"
#include "tests/isolation/net.h"
#include "tests/isolation/rogue.h"
#include "tests/isolation/taint.h"
#include "tests/session/peer.h"

/**
 * town - a world with one gateway: pairs of a well-behaved client and server, each on a route of
 * its own, and rogue clients and servers on other routes. There are three oracles:
 *
 *   taint       all that leaves the gateway belongs to the session (taint.h)
 *   liveness    each call of a well-behaved client is answered correctly within TOWN_BOUND
 *   accounting  at the end all memory, handles and sessions have been returned
 *
 * All randomness comes from one seed. A defect fails the test and prints how to repeat it.
 */

enum {
	TOWN_PAIRS = 4,
	TOWN_QUARTERS = 3, /* routes of rogues */
	TOWN_CLIENTS = 8,  /* rogue clients, each on one of these routes */
	TOWN_SERVERS = 12,
};

#define TOWN_BOUND (100 * NSEC_PER_SEC)

/** struct town_quarter - a route of rogues. */
struct town_quarter {
	struct town *town;
	struct fabric_addr gw_addr, server_addr;
	struct fabric_listener *gw_listener, *server_listener;
};

struct town_pair {
	struct fabric_addr gw_addr, server_addr;
	struct fabric_listener *gw_listener, *server_listener;
	unsigned mark, depth;
	unsigned speaks[2]; /* enum leg_version of client and server */
	/* octets behind the inline part of Receives on each leg (receive_structure); 0: none */
	uint32_t bulk[2];
	bool asleep; /* makes no calls for a while */
	struct peer client, server;
};

struct town {
	uint64_t seed;
	unsigned misdeeds;
	struct rng rng;
	const struct net_ops *on;
	void *net;
	struct net_watcher watcher;
	struct rogue_heard heard;
	struct fabric *gw_fabrics[2], *rogue_fabric;
	struct proxy_route routes[TOWN_PAIRS + TOWN_QUARTERS];
	struct proxy *proxy;
	unsigned npairs, nquarters, nclients;
	unsigned rarely; /* pairs call in one turn of this many */
	struct town_quarter quarters[TOWN_QUARTERS];
	struct rogue clients[TOWN_CLIENTS], servers[TOWN_SERVERS];
	uint8_t *rogue_memory;
	/* .ops: messages and RDMA operations; .answered: calls of well-behaved clients */
	uint64_t ops, answered;
	uint64_t extended; /* calls and replies whose data travelled in the same Send */
	struct town_pair pairs[TOWN_PAIRS]; /* last member, because it is large; see peer.h */
};

/** town_clock - virtual time. */
static inline nsec_t town_clock(const struct town *t)
{
	return t->on->now(t->net);
}

/** town_new - make a town @on fabric/mem or streams, all of it drawn from @seed. Rogues know at
 * most @misdeeds. */
void town_new(struct town *t, const struct net_ops *on, uint64_t seed, unsigned misdeeds);

/** town_live - run until @ops more messages and RDMA operations were seen, or @limit has passed. */
void town_live(struct town *t, uint64_t ops, nsec_t limit);

/** town_end - end all connections; everything must have been returned. */
void town_end(struct town *t);

#endif
