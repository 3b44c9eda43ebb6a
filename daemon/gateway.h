/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_GATEWAY_H
#define DAEMON_GATEWAY_H

#include "config/config.h"
#include "daemon/auth.h"
#include "fabric/provider/provider.h"
#include "proxy/crowd.h"
#include "proxy/proxy.h"

/**
 * gateway - what all workers share: the checked configuration turned into routes,
 * fabric settings and listening sockets. Immutable once the workers run, but for
 * gateway_unlisten().
 */

/** struct gateway_listen - the listening side of the route with the same index. */
struct gateway_listen {
	struct fabric_addr addr;
	unsigned fabric;			     /* index into gateway.fabrics */
	struct fabric_listener *listener;	     /* NULL: the route shares an earlier one's */
	struct fabric_net unneeded[CONFIG_NETS_MAX]; /* of the route: hostauth.unneeded_from */
	const char *names[CONFIG_NAMES_MAX];	     /* of the route: for */
};

struct gateway {
	const struct config *cfg; /* borrowed */
	unsigned nworkers;
	size_t worker_bytes; /* each worker's share of memory_limit */
	struct jobs *jobs;   /* threads for handshakes; NULL: no route has any */
	struct crowd *crowd; /* whoever accepts: limits of sessions are of the process */
	uint32_t max_sessions, max_setups; /* as the configuration has them, or by memory */
	unsigned nroutes, nfabrics;
	struct proxy_route *routes;
	struct gateway_listen *listens;
	struct fabric_use *uses;	 /* of fabric verbs: what fabrics[] point to */
	struct provider_config *fabrics; /* distinct ones; each worker has an instance of each */
};

/**
 * gateway_init - routes as @cfg has them
 * @file: where @cfg was read, for the log
 * @cpus: CPUs this process may use
 *
 * Interfaces that addresses name are looked up here, once; each that is not there is logged.
 *
 * Return: 0, ERR_NOMEM, ERR_CONFIG, or ERR_IO: an interface is not there.
 */
int gateway_init(struct gateway *gw, const struct config *cfg, const char *file,
		 unsigned cpus) WARN_UNUSED;

/** gateway_authenticate - by @auth, made of the same configuration; before workers are. Return: 0
 * or ERR_NOMEM. */
int gateway_authenticate(struct gateway *gw, const struct auth *auth) WARN_UNUSED;

/** gateway_listen - bind every route; each failure is logged, naming @file. Return: 0 or the first
 * error. */
int gateway_listen(struct gateway *gw, const char *file) WARN_UNUSED;

/** gateway_unlisten - close the listening sockets; every worker has detached. Idempotent. */
void gateway_unlisten(struct gateway *gw);

/** gateway_worker_setups - how many connections each worker keeps that have not said a word. */
unsigned gateway_worker_setups(const struct gateway *gw);

/** gateway_fini - after the workers are gone. */
void gateway_fini(struct gateway *gw);

#endif
