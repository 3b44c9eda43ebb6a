/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SESSION_WORLD_H
#define TESTS_SESSION_WORLD_H

#include "proxy/crowd.h"
#include "proxy/proxy.h"
#include "tests/session/peer.h"
#include "tests/session/raw.h"

/**
 * world - one gateway on a network in virtual time, and up to WORLD_PAIRS
 * clients, each with a route and a server of its own, all through one proxy:
 * what happens to one session can be seen not to touch another.
 */

enum { WORLD_PAIRS = 3 };

/** struct setup - what a test may choose; start from setup_defaults(). */
struct setup {
	unsigned client_version, server_version;     /* what the peers speak, as bit masks */
	unsigned listen_versions, upstream_versions; /* what the gateway is configured for */
	uint32_t client_inline, gw_inline, server_inline;
	uint32_t gw_bulk, server_bulk; /* receive_structure of the gateway's listener, of servers */
	uint32_t client_bulk, gw_up_bulk; /* ... of clients, of the gateway's upstream */
	uint32_t client_knows,
		gw_knows;   /* early draft: what they were told of the other's Receives */
	bool client_places; /* data of calls go in their Sends */
	bool client_asks;   /* calls tell how the data of their replies may come */
	uint32_t credits, rev_credits;
	uint32_t max_payload, max_message, continue_max;
	uint32_t pass_bytes; /* large results go on as they come, through so much memory; 0: not */
	uint64_t pass_from;  /* ... once so much is taken */
	uint32_t max_sessions;
	uint32_t max_per_client, max_setups, setups_per_second; /* 0: as of struct crowd_config */
	nsec_t reply_timeout;					/* of both of the gateway's legs */
	enum hop hop;						/* likewise */
	struct servers *servers; /* of the first pair's route; NULL: its own alone */
	nsec_t probes; /* how often the first pair's server is asked whether it serves; 0: not */
	size_t memory, peer_memory;
	unsigned pairs;
	/* Host authentication: of the clients and servers, and of the gateway's ends toward them, in the
	 * first pair. */
	const struct leg_auth *client_auth, *listen_auth, *upstream_auth, *server_auth;
	bool raw; /* there is a raw peer as well: at the first pair's listener unless raw_client */
	bool raw_client;
	bool two_fabrics; /* of the gateway: one for its clients, one for its servers */
	struct memnet_config net;
};

struct world_pair {
	struct fabric_addr gw_addr, server_addr;
	struct fabric_listener *gw_listener, *server_listener;
	unsigned made, rmade; /* calls begun by world_load() */
	struct peer client, server;
};

struct world {
	struct setup s;
	struct memnet *net;
	struct fabric *gw_fabrics[2]; /* the gateway's; the second its servers', if there are two */
	struct proxy_route routes[WORLD_PAIRS];
	struct proxy *proxy;
	struct crowd *crowd; /* of all workers, of which this gateway is one */
	struct raw raw;
	bool servers_sleep;		      /* they look at nothing that comes */
	struct world_pair pairs[WORLD_PAIRS]; /* the last: large, and of peers see peer.h */
};

/** setup_defaults - peers that speak @client and @server, everything of common size. */
struct setup setup_defaults(unsigned client, unsigned server, uint64_t seed);

/** world_new - all of it up, nobody connected. */
void world_new(struct world *w, const struct setup *s);

/** world_connect - every client connects; runs until all are open (asserted). */
void world_connect(struct world *w);

/** world_connect_pair - one client connects; nothing runs yet. */
void world_connect_pair(struct world *w, unsigned i);

/** world_turn - everybody once. */
void world_turn(struct world *w);

/** world_run - until nothing happens any more, or @limit of virtual time has passed. */
void world_run(struct world *w, nsec_t limit);

/** struct load - what world_load() asks of every pair. */
struct load {
	struct rng *rng;
	unsigned calls, rcalls; /* of each client, of each server */
	unsigned depth, rdepth; /* in flight at once */
	struct peer_spec (*spec)(struct rng *r, const struct world *w, const struct peer *client);
};

/**
 * world_load - calls both ways through every session until each has done its own
 *
 * A pair of which an end closed is left alone. Return: false when nothing moves any more
 * although calls are still due.
 */
bool world_load(struct world *w, const struct load *load);

/** world_quit - every peer leaves in order; the gateway must end every session and hold nothing. */
void world_quit(struct world *w);

/** world_free - all down; asserts that every octet and handle came back. */
void world_free(struct world *w);

/** world_arena - the gateway's payload memory. */
const struct buf_arena *world_arena(const struct world *w);

/** world_used - octets of it in use, but for Receives that connections share. */
size_t world_used(const struct world *w);

/** spec_small - a call of any kind that moves a few KiB at most. */
struct peer_spec spec_small(struct rng *r, const struct world *w, const struct peer *client);

/** spec_any - any size up to some hundred KiB. */
struct peer_spec spec_any(struct rng *r, const struct world *w, const struct peer *client);

#endif
