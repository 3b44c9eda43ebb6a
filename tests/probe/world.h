/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PROBE_WORLD_H
#define TESTS_PROBE_WORLD_H

#include "fabric/mem/mem.h"
#include "tools/perf/client.h"
#include "tools/perf/server.h"
#include "tools/probe/listen.h"
#include "tools/probe/report.h"

/**
 * world - the probe and a peer made of rpcrdma-perf in one process, over fabric/mem in virtual
 * time. A meddler between the two may change messages: to the probe, the peer then has that defect.
 */

/** enum way - direction, seen from the probe. */
enum way { WAY_IN, WAY_OUT };

enum action {
	ACT_NONE,
	ACT_DROP,	/* IN: the message never arrives */
	ACT_SET,	/* word .at becomes .value */
	ACT_ADD,	/* word .at grows by .value */
	ACT_LENGTH,	/* the message has .value octets; new ones are zero */
	ACT_INVALIDATE, /* IN: the message reports that handle .value was invalidated */
	ACT_FLIP,	/* octet .at of the memory exposed last is changed */
	ACT_ERROR,	/* OUT: the answer is an error .value about its XID */
	ACT_REPLY,	/* OUT: the answer is .value NULL replies to its XID */
	ACT_GRANT,	/* OUT: the answer is .value GRANTs */
	ACT_CLOSE,	/* OUT: the connection is lost */
	ACT_TWICE,	/* IN: the message arrives twice */
};

enum { ANY = 0x7fffffff };

/** struct rule - a change to messages of .type (ANY) and .version (0: any). */
struct rule {
	enum way way;
	uint32_t version, type;
	enum action action;
	uint32_t at, value;
	unsigned skip;	  /* number of matching messages that are left unchanged first */
	bool once;	  /* only one message is changed */
	bool only_result; /* IN: only RPC replies with more than a status, so no NULL replies */
};

struct meddler {
	const struct fabric_ops *inner;
	struct fabric_ops ops; /* operations of the probe's fabric */
	struct rule rules[2];
	unsigned nrules, seen[2];
	bool is_on;
	uint8_t *stock[48]; /* Receives kept for messages that the peer did not send */
	unsigned nstock;
	struct fabric_event forged[48];
	unsigned nforged, next_forged;
	uint8_t *exposed;      /* memory exposed last */
	uint32_t *pdata_flags; /* if set: new flags of the private data */
	size_t pdata_len;      /* if not 0: new length of the private data */
	uint8_t pdata[64];
};

struct world {
	struct memnet *net;
	uint32_t bulk; /* octets of a second piece of the Receives of world_server(); set before */
	struct fabric *probe_fabric, *peer_fabric;
	struct buf_arena arena;
	struct fabric_listener *listener;
	struct perf_server *server;
	struct perf_server_config scfg;
	struct perf_client *client;
	struct perf_client_config ccfg;
	uint32_t sizes[1];
	struct perf_env peer_env;
	struct probe_env env;
	struct probe_options o;
	struct meddler meddler;
	const struct leg_auth *client_auth; /* for world_client() */
};

/** world_init - make a world without peers. */
void world_init(struct world *w, uint64_t seed);

/** world_server - add a perf server of @versions (leg_version bits) for the probe. */
void world_server(struct world *w, unsigned versions);

/** world_client - add a perf client of @version that makes @count NULL calls, for @l to grade. */
void world_client(struct world *w, unsigned version, uint64_t count, struct listener *l);

/** world_meddle - apply @rules from now on (NULL: none). */
void world_meddle(struct world *w, const struct rule *rules, unsigned n);

void world_fini(struct world *w);

#endif
