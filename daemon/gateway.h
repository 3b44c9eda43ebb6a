/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_GATEWAY_H
#define DAEMON_GATEWAY_H

#include <stdatomic.h>

#include "config/config.h"
#include "daemon/auth.h"
#include "daemon/inherit.h"
#include "fabric/provider/provider.h"
#include "proxy/crowd.h"
#include "proxy/proxy.h"

/**
 * gateway - what all workers share: the checked configuration turned into routes, fabric settings and
 * listening sockets
 *
 * Routes lie in slots. One that sessions may take is never written to: a reload (daemon/change.h) puts routes that
 * are new, or have new settings, into slots that are free, and a slot is free again when no worker knows of
 * what was there. All but that, and gateway_unlisten(), is immutable once the workers run.
 */

enum gateway_state {
	GATEWAY_FREE,
	GATEWAY_NEW, /* of a reload under way */
	GATEWAY_CURRENT,
	GATEWAY_RETIRED, /* sessions have it yet */
};

enum { GATEWAY_NONE = UINT32_MAX };

/** struct gateway_listen - what is known of the route with the same index beside what proxies go by. */
struct gateway_listen {
	enum gateway_state state;
	struct config_route *from; /* owned */
	struct fabric_addr addr;
	unsigned fabric;  /* index into gateway.fabrics, of the listening side */
	unsigned door;	  /* by which its clients come in */
	unsigned leader;  /* the route that listens: itself, or the one it shares that with */
	unsigned part;	  /* whose range of memory is its own: proxy_route_add() */
	unsigned told_as; /* where its figures are added to: the route of that name */
	struct servers *servers; /* held; those of a route's name, whatever its settings */
	atomic_uint users;	 /* workers that know of it */
	atomic_bool told_locks;
	struct fabric_net unneeded[CONFIG_NETS_MAX];  /* hostauth.unneeded_from */
	struct fabric_net clients[CONFIG_NETS_MAX];   /* of its listener */
	struct proxy_source sources[CONFIG_NETS_MAX]; /* upstream.source */
	const char *names[CONFIG_NAMES_MAX];	      /* for */
};

/** struct gateway_door - a listening socket, at one kind of fabric instance. */
struct gateway_door {
	struct fabric_listener *listener; /* NULL: free */
	unsigned fabric;
	bool is_borrowed; /* another door closes it */
};

struct gateway {
	const struct config *cfg; /* borrowed: the current one */
	struct inherit *inherit;  /* borrowed; NULL: nothing was passed */
	unsigned nworkers;
	size_t worker_bytes;	   /* each worker's share of memory_limit */
	struct jobs *jobs;	   /* handshakes for other threads; NULL: no route has any */
	struct servers_bell *bell; /* of all servers; owned */
	struct crowd *crowd;	   /* whoever accepts: limits of sessions are of the process */
	uint32_t max_sessions,
		max_setups;   /* as the configuration has them, by memory, or by descriptors */
	uint32_t inline_most; /* octets: what shared Receives have room for */
	atomic_uint drain_s;  /* drain_timeout */
	unsigned nroutes;     /* current ones */
	unsigned nslots, nfabrics, nuses;
	unsigned nparts; /* ranges of memory that are one route's */
	bool is_settled; /* no kind of fabric instance is made any more */
	struct proxy_route *routes;
	struct gateway_listen *listens;
	struct gateway_door *doors;
	struct fabric_use *uses;	 /* of fabric verbs: what fabrics[] point to */
	struct provider_config *fabrics; /* distinct ones; each worker has an instance of each */
};

/**
 * gateway_init - routes as @cfg has them
 * @file: where @cfg was read, for the log
 * @cpus: CPUs this process may use
 * @descriptors: that it may have; 0: any number
 *
 * Interfaces that addresses name are looked up here, once; each that is not there is logged.
 *
 * Return: 0, ERR_NOMEM, ERR_CONFIG, ERR_IO: an interface is not there, or ERR_LOCAL: too few descriptors for a session.
 */
int gateway_init(struct gateway *gw, const struct config *cfg, const char *file, unsigned cpus,
		 uint32_t descriptors) WARN_UNUSED;

/** gateway_authenticate - by @auth, made of the same configuration; before workers are. Threads for handshakes
 * are not started: gateway_start_jobs(). Return: 0 or ERR_NOMEM. */
int gateway_authenticate(struct gateway *gw, const struct auth *auth) WARN_UNUSED;

/** gateway_listen - bind every route; each failure is logged, naming @file. Return: 0 or the first
 * error. */
int gateway_listen(struct gateway *gw, const char *file) WARN_UNUSED;

/** gateway_unlisten - close the listening sockets; every worker has detached. Idempotent. */
void gateway_unlisten(struct gateway *gw);

/** gateway_worker_setups - how many connections each worker keeps that have not said a word. */
unsigned gateway_worker_setups(const struct gateway *gw);

/** gateway_has - whether there is a route in @slot that figures are told of: one for each name. */
static inline bool gateway_has(const struct gateway *gw, unsigned slot)
{
	const struct gateway_listen *l = &gw->listens[slot];

	if (l->state == GATEWAY_RETIRED && atomic_load(&l->users) == 0)
		return false;
	return l->state >= GATEWAY_CURRENT && l->told_as == slot;
}

/** gateway_named - the slot of the route called @name that figures are told of, or GATEWAY_NONE. */
unsigned gateway_named(const struct gateway *gw, const char *name);

/** gateway_fini - after the workers are gone. */
void gateway_fini(struct gateway *gw);

/* For daemon/change.c, where routes come later. */

/** gateway_map - the route that @from tells of, into @slot, which is free; the listener's slot is @leader;
 * doors and addresses are the caller's to set. Return: 0, ERR_NOMEM, ERR_CONFIG or ERR_IO (logged, with @file). */
int gateway_map(struct gateway *gw, unsigned slot, const struct config_route *from, unsigned leader,
		const char *file) WARN_UNUSED;

/** gateway_bind - listen on @addr, by a socket that was passed if there is one. Return: gateway_unbind() is due; or NULL
 * with *@err, and errno. */
struct fabric_listener *gateway_bind(struct gateway *gw, unsigned fabric,
				     const struct fabric_addr *addr, int *err);

/** gateway_unbind - takes @l; the socket, if it is lent, may be had again. */
void gateway_unbind(struct gateway *gw, unsigned fabric, struct fabric_listener *l);

/** gateway_fabric - of what kind of instance an end wants to be. */
struct provider_config gateway_fabric(const struct gateway *gw, const struct config_end *end);

/** gateway_tell_servers - those of the route in @slot go by its settings from now on, whatever they were shared with.
 * Return: 0, or an error: they stay as they were. */
int gateway_tell_servers(struct gateway *gw, unsigned slot) WARN_UNUSED;

/** gateway_upstream_text - whom the route in @slot leads to, as configured, into @text of GATEWAY_UPSTREAM_TEXT. */
enum { GATEWAY_UPSTREAM_TEXT = 512 };
const char *gateway_upstream_text(const struct gateway *gw, unsigned slot, char *text);

/** gateway_prove - the credentials of the route in @slot. Return: whether it has any. */
bool gateway_prove(struct gateway *gw, unsigned slot, const struct auth *auth);

/** gateway_tell - a line of the log about the route in slot @i. */
void gateway_tell(const struct gateway *gw, unsigned i);

/** gateway_name_slots - .told_as of all, after routes came or went. */
void gateway_name_slots(struct gateway *gw);

/** gateway_free_slot - what is in @slot goes. */
void gateway_free_slot(struct gateway *gw, unsigned slot);

/** gateway_start_jobs - threads for handshakes, unless they run. Return: 0 or ERR_NOMEM. */
int gateway_start_jobs(struct gateway *gw) WARN_UNUSED;

/** gateway_remedy - what to do when an address cannot be listened on, for @error. */
const char *gateway_remedy(int error);

#endif
