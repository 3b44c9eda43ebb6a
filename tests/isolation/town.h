/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ISOLATION_TOWN_H
#define TESTS_ISOLATION_TOWN_H

#include "proxy/proxy.h"
#include "tests/isolation/net.h"
#include "tests/isolation/rogue.h"
#include "tests/isolation/taint.h"
#include "tests/session/peer.h"

/**
 * town - one gateway between well-behaved pairs of a client and a server, each with a
 * route of its own, and rogues of both kinds on other routes; with three oracles:
 *
 *   taint       all that leaves the gateway is the session's own (taint.h)
 *   liveness    each call of a well-behaved client is answered right, within TOWN_BOUND
 *   accounting  at the end all memory, handles and sessions are back
 *
 * Everything is drawn from one seed. A defect fails the test, with what repeats it.
 */

enum {
	TOWN_PAIRS = 4,
	TOWN_QUARTERS = 3, /* routes of rogues */
	TOWN_CLIENTS = 8,  /* of them, each on one of these routes */
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
	unsigned speaks[2]; /* of enum leg_version: client, server */
	uint32_t
		bulk[2]; /* what Receives on either leg have for data that come along; 0: nothing */
	bool asleep;	 /* makes no calls for a while */
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
	unsigned rarely; /* pairs call, one turn in so many */
	struct town_quarter quarters[TOWN_QUARTERS];
	struct rogue clients[TOWN_CLIENTS], servers[TOWN_SERVERS];
	uint8_t *rogue_memory;
	uint64_t ops, answered; /* messages and RDMA operations; calls of the well-behaved */
	uint64_t extended;	/* ... and their replies, whose data travelled in the same Send */
	struct town_pair pairs[TOWN_PAIRS]; /* the last: large, and of peers see peer.h */
};

/** town_clock - virtual time. */
static inline nsec_t town_clock(const struct town *t)
{
	return t->on->now(t->net);
}

/** town_new - @on fabric/mem or on streams; all of it drawn from @seed; rogues know @misdeeds at
 * most. */
void town_new(struct town *t, const struct net_ops *on, uint64_t seed, unsigned misdeeds);

/** town_live - until @ops more messages and RDMA operations were seen, or @limit has passed. */
void town_live(struct town *t, uint64_t ops, nsec_t limit);

/** town_end - everybody leaves; the books must balance. */
void town_end(struct town *t);

#endif
