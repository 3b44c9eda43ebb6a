/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_GATEWAY_H
#define DAEMON_GATEWAY_H

#include <stdatomic.h>

#include "config/config.h"
#include "daemon/auth.h"
#include "daemon/inherit.h"
#include "fabric/provider/provider.h"
#include "proxy/session_limits.h"
#include "proxy/proxy.h"

/**
 * gateway - the state that all workers share: routes, fabric settings and listening sockets
 *
 * Routes are in slots. A slot that sessions may use is never written to. A reload (daemon/change.h)
 * puts new or changed routes into free slots. A slot is free again when no worker uses it. All
 * other state is immutable once the workers run, except through gateway_unlisten().
 */

enum gateway_state {
	GATEWAY_FREE,
	GATEWAY_NEW, /* a reload that is under way has put the route there */
	GATEWAY_CURRENT,
	GATEWAY_RETIRED, /* replaced or removed, but sessions still use it */
};

enum { GATEWAY_NONE = UINT32_MAX };

/** struct gateway_listen - data of the route in the slot with the same index, as far as the relay
 * does not need them. */
struct gateway_listen {
	enum gateway_state state;
	struct config_route *from; /* owned */
	struct fabric_addr addr;
	unsigned fabric;  /* of the listening side: index into gateway.fabrics */
	unsigned sock;	  /* its listening socket: index into gateway.socks */
	const char *lost; /* why no client reaches it (lost.h); NULL: clients do */
	/* the slot of the route that listens: this route, or the one whose listener it shares */
	unsigned leader;
	/* number of the range of memory that the route has for itself: proxy_route_add() */
	unsigned part;
	/* slot under which the counters of this slot are reported; the same for all slots of one
	 * route name */
	unsigned reported_as;
	/* a reference is held; shared by all slots with the same route name */
	struct servers *servers;
	atomic_uint users; /* number of workers that use the slot */
	atomic_bool locks_logged;
	/* key hostauth.unneeded_from: peers that need not authenticate */
	struct fabric_net unneeded[CONFIG_NETS_MAX];
	struct fabric_net clients[CONFIG_NETS_MAX]; /* listen.clients of its listener */
	/* key upstream.source: addresses to connect from */
	struct proxy_source sources[CONFIG_NETS_MAX];
	const char *names[CONFIG_NAMES_MAX]; /* "for": names of clients */
};

/** struct gateway_sock - a listening socket, on one fabric instance configuration. */
struct gateway_sock {
	struct fabric_listener *listener; /* NULL: free */
	unsigned fabric;
	bool is_borrowed; /* another entry owns the socket and closes it */
};

struct gateway {
	const struct config *cfg; /* borrowed: the current configuration */
	struct inherit *inherit;  /* borrowed; NULL: no sockets were passed to this process */
	unsigned nworkers;
	size_t worker_bytes; /* part of memory_limit for each worker, octets */
	struct jobs *jobs;   /* threads for handshakes; NULL: no route has host authentication */
	/* wakes the main thread when servers of any route change; owned */
	struct servers_changes *changes;
	struct session_limits *session_limits; /* limits on sessions of the whole process */
	/* Limits from the configuration, lowered to what memory and descriptors allow. */
	uint32_t max_sessions, max_setups;
	uint32_t inline_most; /* octets of a shared Receive */
	atomic_uint drain_s;  /* key drain_timeout, seconds */
	unsigned nroutes;     /* number of current routes */
	unsigned nslots, nfabrics, nuses;
	unsigned nparts; /* number of memory ranges that belong to one route each */
	bool is_settled; /* all fabric instance configurations exist: a reload adds none */
	struct proxy_route *routes;
	struct gateway_listen *listens;
	struct gateway_sock *socks;
	struct fabric_use *uses; /* addresses on fabric verbs; .fabrics points to them */
	/* distinct configurations; each worker has one instance of each */
	struct provider_config *fabrics;
};

/**
 * gateway_init - set up the routes of @cfg
 * @file: where @cfg was read, for the log
 * @cpus: CPUs this process may use
 * @descriptors: limit of open files; 0: no limit
 *
 * Interface names in addresses are resolved here, once. Each missing interface is logged.
 *
 * Return: 0; ERR_NOMEM; ERR_CONFIG; ERR_IO: an interface is missing; ERR_LOCAL: not enough
 * descriptors for one session.
 */
int gateway_init(struct gateway *gw, const struct config *cfg, const char *file, unsigned cpus,
		 uint32_t descriptors) WARN_UNUSED;

/** gateway_authenticate - set the credentials of all routes from @auth, which was made from the
 * same configuration. Call before the workers are made. gateway_start_jobs() starts the threads for
 * handshakes. Return: 0 or ERR_NOMEM. */
int gateway_authenticate(struct gateway *gw, const struct auth *auth) WARN_UNUSED;

/** gateway_listen - bind all listeners; each failure is logged, with @file. Return: 0 or the first
 * error. */
int gateway_listen(struct gateway *gw, const char *file) WARN_UNUSED;

/** gateway_unlisten - close the listening sockets, after every worker has detached. Idempotent. */
void gateway_unlisten(struct gateway *gw);

/** gateway_worker_setups - limit, in each worker, of connections that have sent no message yet. */
unsigned gateway_worker_setups(const struct gateway *gw);

/** gateway_has - whether counters are reported under @slot: there is one such slot for each route
 * name. A route that a reload removed has a slot as long as a worker uses any of its slots. */
bool gateway_has(const struct gateway *gw, unsigned slot);

/** gateway_named - the slot under which the counters of route @name are reported, or
 * GATEWAY_NONE. */
unsigned gateway_named(const struct gateway *gw, const char *name);

/** gateway_fini - free everything, after the workers have ended. */
void gateway_fini(struct gateway *gw);

/* Functions for daemon/change.c, which adds routes later. */

/** gateway_map - set up route @from in @slot, which is free. @leader: slot of the route that
 * listens. The caller sets .sock and the address. Return: 0, ERR_NOMEM, ERR_CONFIG or ERR_IO
 * (logged, with @file). */
int gateway_map(struct gateway *gw, unsigned slot, const struct config_route *from, unsigned leader,
		const char *file) WARN_UNUSED;

/** gateway_bind - listen on @addr, on a socket that was passed to this process if there is one.
 * Return: a listener for gateway_unbind(); or NULL with *@err and errno. */
struct fabric_listener *gateway_bind(struct gateway *gw, unsigned fabric,
				     const struct fabric_addr *addr, int *err);

/** gateway_unbind - takes @l. If its socket was lent, it can be bound again later. */
void gateway_unbind(struct gateway *gw, unsigned fabric, struct fabric_listener *l);

/** gateway_fabric - the fabric instance configuration that @end needs. */
struct provider_config gateway_fabric(const struct gateway *gw, const struct config_end *end);

/** gateway_configure_servers - give the settings of the route in @slot to its struct servers, which
 * may be shared with older slots. Return: 0, or an error: the servers are unchanged. */
int gateway_configure_servers(struct gateway *gw, unsigned slot) WARN_UNUSED;

/** gateway_upstream_text - the configured servers of the route in @slot, as text in @text of
 * GATEWAY_UPSTREAM_TEXT. */
enum { GATEWAY_UPSTREAM_TEXT = 512 };
const char *gateway_upstream_text(const struct gateway *gw, unsigned slot, char *text);

/** gateway_prove - set the credentials of the route in @slot. Return: whether the route has any. */
bool gateway_prove(struct gateway *gw, unsigned slot, const struct auth *auth);

/** gateway_log_route - log a line about the route in slot @i. */
void gateway_log_route(const struct gateway *gw, unsigned i);

/** gateway_name_slots - compute .reported_as of all slots, after routes were added or removed. */
void gateway_name_slots(struct gateway *gw);

/** gateway_free_slot - free what is in @slot. */
void gateway_free_slot(struct gateway *gw, unsigned slot);

/** gateway_start_jobs - start the threads for handshakes, unless they run. Return: 0 or
 * ERR_NOMEM. */
int gateway_start_jobs(struct gateway *gw) WARN_UNUSED;

/** gateway_remedy - advice for the operator when listen fails with @error. */
const char *gateway_remedy(int error);

#endif
