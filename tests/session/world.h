/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SESSION_WORLD_H
#define TESTS_SESSION_WORLD_H

#include "proxy/session_limits.h"
#include "proxy/proxy.h"
#include "tests/session/peer.h"
#include "tests/session/raw.h"

/**
 * world - one gateway on a network in virtual time, and up to WORLD_PAIRS clients, each with a
 * route and a server of its own, all through one proxy. So a test can check that an event in one
 * session does not affect another.
 */

enum { WORLD_PAIRS = 3 };

/** struct setup - choices of a test; start from setup_defaults(). */
struct setup {
	unsigned client_version, server_version;     /* versions that the peers speak, bit masks */
	unsigned listen_versions, upstream_versions; /* versions in the gateway's configuration */
	uint32_t client_inline, gw_inline, server_inline;
	uint32_t gw_bulk, server_bulk; /* receive_structure of the gateway's listener, of servers */
	/* receive_structure of clients, of the gateway's upstream */
	uint32_t client_bulk, gw_up_bulk;
	uint32_t client_knows,
		gw_knows;   /* early draft: what each side knows of the other's Receives */
	bool client_places; /* clients send data of calls in their Sends */
	bool client_asks;   /* calls of clients say how the data of their replies may come */
	uint32_t credits, rev_credits;
	uint32_t exposures; /* of the gateway's leg to the server at once; 0: the default */
	uint32_t max_payload, max_message, continue_max;
	uint32_t
		cut_through_bytes; /* octets; memory window for cut-through of large results; 0: off */
	uint64_t cut_through_from; /* octets of memory in use from which cut-through applies */
	uint32_t max_sessions;
	/* 0: default of struct session_limits_config */
	uint32_t max_per_client, max_setups, setups_per_second;
	nsec_t reply_timeout;	 /* of both legs of the gateway */
	enum hop hop;		 /* of both legs of the gateway */
	struct servers *servers; /* servers of the first pair's route; NULL: only its own */
	nsec_t probes;		 /* interval of probes of the first pair's server; 0: none */
	size_t memory, peer_memory;
	unsigned pairs;
	/* Host authentication in the first pair: of client and server, and of the gateway's ends
	 * toward them. */
	const struct leg_auth *client_auth, *listen_auth, *upstream_auth, *server_auth;
	bool raw; /* there is a raw peer, too: at the first pair's listener unless raw_client */
	bool raw_client;
	nsec_t (*clock)(void); /* as in struct proxy_config */
	bool two_fabrics;      /* the gateway has one fabric for clients and one for servers */
	struct memnet_config net;
};

struct world_pair {
	struct fabric_addr gw_addr, server_addr;
	struct fabric_listener *gw_listener, *server_listener;
	unsigned made, rmade; /* number of calls begun by world_load() */
	struct peer client, server;
};

struct world {
	struct setup s;
	struct memnet *net;
	struct fabric *gw_fabrics[2]; /* of the gateway; with two, the second is for servers */
	struct proxy_route routes[WORLD_PAIRS];
	struct proxy *proxy;
	struct session_limits
		*session_limits; /* limits for all workers; this gateway is one worker */
	struct raw raw;
	bool servers_sleep;		      /* servers handle no events */
	struct world_pair pairs[WORLD_PAIRS]; /* last member, because it is large; see peer.h */
};

/** setup_defaults - peers that speak @client and @server, with ordinary sizes. */
struct setup setup_defaults(unsigned client, unsigned server, uint64_t seed);

/** world_new - set everything up; no client is connected. */
void world_new(struct world *w, const struct setup *s);

/** world_connect - connect every client, and run until all are open (asserted). */
void world_connect(struct world *w);

/** world_connect_pair - connect one client; nothing runs yet. */
void world_connect_pair(struct world *w, unsigned i);

/** world_turn - give every party one turn. */
void world_turn(struct world *w);

/** world_run - run until nothing happens any more, or @limit of virtual time has passed. */
void world_run(struct world *w, nsec_t limit);

/** struct load - calls that world_load() makes in every pair. */
struct load {
	struct rng *rng;
	unsigned calls, rcalls; /* number of calls of each client, of each server */
	unsigned depth, rdepth; /* in flight at once */
	struct peer_spec (*spec)(struct rng *r, const struct world *w, const struct peer *client);
};

/**
 * world_load - make calls in both directions in every session until all are done
 *
 * A pair with a closed end is left out. Return: false if nothing moves any more although calls are
 * still due.
 */
bool world_load(struct world *w, const struct load *load);

/** world_quit - every peer disconnects in order; the gateway must end every session and hold
 * nothing. */
void world_quit(struct world *w);

/** world_free - free everything; asserts that every octet and handle was returned. */
void world_free(struct world *w);

/** world_arena - the gateway's payload memory. */
const struct buf_arena *world_arena(const struct world *w);

/** world_used - octets of it in use, without Receives that connections share. */
size_t world_used(const struct world *w);

/** spec_small - a call of any kind that moves at most a few KiB. */
struct peer_spec spec_small(struct rng *r, const struct world *w, const struct peer *client);

/** spec_any - a call of any size up to some hundred KiB. */
struct peer_spec spec_any(struct rng *r, const struct world *w, const struct peer *client);

#endif
