/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PROBE_WORLD_H
#define TESTS_PROBE_WORLD_H

#include "fabric/mem/mem.h"
#include "tools/perf/client.h"
#include "tools/perf/server.h"
#include "tools/probe/listen.h"
#include "tools/probe/report.h"

/**
 * world - the probe and a peer out of rpcrdma-perf in one process, over fabric/mem
 * in virtual time; between the two, if asked for, somebody who meddles with what
 * they say: to the probe, the peer then is one with that defect.
 */

/** enum way - seen from the probe. */
enum way { WAY_IN, WAY_OUT };

enum action {
	ACT_NONE,
	ACT_DROP,	/* IN: the message never arrives */
	ACT_SET,	/* word .at becomes .value */
	ACT_ADD,	/* word .at grows by .value */
	ACT_LENGTH,	/* the message has .value octets; new ones are zero */
	ACT_INVALIDATE, /* IN: it says that handle .value was invalidated */
	ACT_FLIP,	/* octet .at of the memory exposed last changes */
	ACT_ERROR,	/* OUT: in answer, an error .value about its XID comes */
	ACT_REPLY,	/* OUT: in answer, .value NULL replies to its XID come */
	ACT_GRANT,	/* OUT: in answer, .value GRANTs come */
	ACT_CLOSE,	/* OUT: the connection is lost */
	ACT_TWICE,	/* IN: it comes once more */
};

enum { ANY = 0x7fffffff };

/** struct rule - what is done to messages of .type (ANY) and .version (0: any). */
struct rule {
	enum way way;
	uint32_t version, type;
	enum action action;
	uint32_t at, value;
	unsigned skip;	  /* messages that match and are spared, first */
	bool once;	  /* only the first one after these */
	bool only_result; /* IN: only an RPC reply with more than a status, so not a NULL's */
};

struct meddler {
	const struct fabric_ops *inner;
	struct fabric_ops ops; /* what the probe's fabric is given */
	struct rule rules[2];
	unsigned nrules, seen[2];
	bool is_on;
	uint8_t *stock[48]; /* Receives kept back, for messages that nobody sent */
	unsigned nstock;
	struct fabric_event forged[48];
	unsigned nforged, next_forged;
	uint8_t *exposed;      /* last */
	uint32_t *pdata_flags; /* if set: what the flags of private data become */
	size_t pdata_len;      /* if not 0: what its length becomes */
	uint8_t pdata[64];
};

struct world {
	struct memnet *net;
	uint32_t bulk; /* of world_server(): octets of a second piece of its Receives; set before */
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
	const struct leg_auth *client_auth; /* of world_client() */
};

/** world_init - with nobody in it yet. */
void world_init(struct world *w, uint64_t seed);

/** world_server - a perf server of @versions (leg_version bits) for the probe. */
void world_server(struct world *w, unsigned versions);

/** world_client - a perf client of @version that makes @count NULL calls, for @l to grade. */
void world_client(struct world *w, unsigned version, uint64_t count, struct listener *l);

/** world_meddle - from now on (NULL: no more). */
void world_meddle(struct world *w, const struct rule *rules, unsigned n);

void world_fini(struct world *w);

#endif
