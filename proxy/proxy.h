/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_PROXY_H
#define PROXY_PROXY_H

#include <stdatomic.h>

#include "base/jobs.h"
#include "fabric/fabric.h"
#include "proxy/counters.h"
#include "proxy/latency.h"
#include "proxy/leg/leg.h"
#include "proxy/plan/hop.h"
#include "proxy/servers.h"

/**
 * proxy - the relay of one worker: its sessions, transactions and memory
 *
 * The worker's loop drives it: the loop calls proxy_turn() after fabric events and at deadlines.
 */

enum { PROXY_NAME_MAX = 64 };

/** proxy_worker_of - the worker of a session, by its number (1 or more), if there are @workers:
 * each of them has every @workers-th number. */
static inline unsigned proxy_worker_of(uint64_t session, unsigned workers)
{
	return (unsigned)((session - 1) % workers);
}

/**
 * struct proxy_source - the local address from which the gateway connects to servers for some
 * clients
 *
 * It applies to clients with an address in .clients (or any address, with .everywhere) that proved
 * the name .name. fabric_net_move() computes the local address from .addresses.
 */
struct proxy_source {
	struct fabric_net clients, addresses;
	const char *name; /* borrowed; NULL: any client, with or without a name */
	bool everywhere;
};

/** struct proxy_route - immutable, shared by all workers. */
struct proxy_route {
	char name[PROXY_NAME_MAX];
	struct leg_config client, server; /* listen and upstream side */
	enum hop client_hop, server_hop;  /* as configured: is the peer near or far */
	/* The client leg's settings for clients with an address in .unneeded. These clients need
	 * not prove a name. The sizes in .client_unneeded are those of .client. */
	struct leg_config client_unneeded;
	const struct fabric_net *unneeded; /* networks whose clients need prove no name; borrowed */
	unsigned nunneeded;
	const struct fabric_net *clients; /* networks whose clients may connect; borrowed */
	unsigned nclients;		  /* 0: every client may */
	/* The route whose listener this route shares; borrowed; NULL: this route has its own
	 * listener. If several routes share a listener, or a route has .names, the name that a
	 * client has proved chooses its route. */
	const struct proxy_route *shares;
	/* The number that identifies this listener to other gateways (leg/via.h): random; 0: no
	 * number is sent. */
	uint32_t id;
	/* The route is for clients that proved one of these names; borrowed. Without names it is
	 * for all clients that no other route of the listener names. */
	const char *const *names;
	unsigned nnames;
	/* The servers to which its clients are connected; borrowed. NULL: .upstream alone. */
	struct servers *servers;
	bool several;		     /* .servers may hold more than one server */
	struct fabric_addr upstream; /* the only server if .servers is NULL */
	nsec_t probe_interval;	     /* time between two probes of a server, ns; 0: no probes */
	/* How long the sessions of a client that moves to another server may take to finish their
	 * calls in flight, in seconds. The value may change at any time; all other fields are
	 * constant. Borrowed. NULL: 0. */
	const atomic_uint *move_timeout_s;
	/* Local addresses for connections to servers: the first entry that matches the client
	 * applies. Borrowed. */
	const struct proxy_source *sources;
	unsigned nsources;	  /* 0: the system chooses the local address */
	unsigned upstream_fabric; /* index into proxy_config.fabrics of the upstream leg */
	/* Limit of the handshakes of host authentication under way at once, for each side and each
	 * worker; 0: as many as memory allows. */
	unsigned max_handshakes;
	/* How long a verdict about a server is kept, such as "it speaks only version 1"; ns. */
	nsec_t version_memory;
	/* The number of relays that use this route; borrowed. At 0 no relay reads the route any
	 * more. NULL: relays are not counted. */
	atomic_uint *users;
	/* True: a relay has logged that locks of NFS version 3 cannot be distinguished, so no other
	 * relay logs that. Borrowed. NULL: each relay logs that once. */
	atomic_bool *locks_logged;
};

struct session_limits;

struct proxy_config {
	/* .nslots elements (proxy/routes.h), of which the first .nroutes are in use at start;
	 * borrowed */
	const struct proxy_route *routes;
	unsigned nroutes; /* routes in use at start */
	/* Slots for routes, including routes that a reload adds later; a value below .nroutes
	 * counts as .nroutes. */
	unsigned nslots;
	struct fabric **fabrics; /* this worker's instances, borrowed */
	unsigned nfabrics;
	size_t memory_bytes;   /* this worker's share of memory_limit */
	uint32_t max_sessions; /* 0: as many as there is memory for */
	/* Session limits, shared by all relays of the process, borrowed; NULL: the limit is
	 * .max_sessions of this relay alone. */
	struct session_limits *session_limits;
	/* Limit of silent sessions: their client has sent no message yet, or has to prove a name
	 * and has not. For one more, the oldest of the client address with most of them is closed.
	 * 0: .max_sessions. */
	uint32_t max_setups;
	/* Largest data item or continued message, octets. Calls and replies in chunks may be
	 * longer: budget_message(). */
	uint32_t max_payload;
	/* Longest message that is continued if it could travel in another form; octets. */
	uint32_t continue_max;
	/* Octets of the window through which a large result is cut through (txn_cut_through.c);
	 * only results of at least twice this length are cut through. 0: no result is cut
	 * through. */
	uint32_t cut_through_bytes;
	/* Cut-through begins when the payload memory of all calls of one direction of the session
	 * would otherwise exceed this, in octets. */
	uint64_t cut_through_from;
	/* Threads for long computations, borrowed, outlives the relay; NULL: the worker
	 * computes. */
	struct jobs_port *jobs;
	unsigned worker; /* number of this worker; see proxy_worker_of() */
	/* Workers that share the servers of routes and divide the probes; 0: one. */
	unsigned workers;
	/* Change counter of all servers, borrowed; NULL: no notification. */
	struct servers_changes *changes;
	/* A clock, in ns, by which the relay measures how long the parts of a turn take; NULL:
	 * every part counts as taking no time. */
	nsec_t (*clock)(void);
	/* For XIDs of the gateway's own messages, and for the hashes of tables of clients. */
	uint64_t seed;
};

struct proxy;

/** proxy_new - reserve the worker's memory and register it with every fabric. @cfg is copied; what
 * it points to is borrowed until proxy_free(). Return: owned, or NULL (logged). */
struct proxy *proxy_new(const struct proxy_config *cfg);

/**
 * proxy_route_owner - the owner for fabric_attach() of listener @i
 *
 * A connection request finds its route by this owner. At first listener @i belongs to route @i.
 */
void *proxy_route_owner(struct proxy *p, unsigned i);

/**
 * proxy_turn - poll every fabric, do all that is due at @now, and send what was posted meanwhile
 *
 * The work of one turn is bounded. Return: 1 if more work is ready (call again at once), else 0.
 */
int proxy_turn(struct proxy *p, nsec_t now);

/** proxy_deadline - when proxy_turn() is next needed without a fabric's event. */
nsec_t proxy_deadline(const struct proxy *p);

/* After proxy_drain() a client in set-up has this long to send its first message. */
#define PROXY_SETTLE (2 * NSEC_PER_SEC)

/**
 * proxy_yield - stop accepting connections, as far as the fabric can
 *
 * Connections that wait in the listening sockets are left to another process with the same sockets,
 * or end with the sockets. Connections in set-up are completed; when none is left, proxy_drain() is
 * due.
 */
void proxy_yield(struct proxy *p);

/**
 * proxy_drain - end all sessions in order; call it right after a turn
 *
 * - New sessions are refused.
 * - Sessions in set-up may complete it; a client that sends no message within PROXY_SETTLE is
 *   closed.
 * - Each session is closed as soon as it has no call in flight, and all of them at @deadline.
 */
void proxy_drain(struct proxy *p, nsec_t deadline);

/** proxy_arriving - whether a connection is in set-up that has no session yet. */
bool proxy_arriving(const struct proxy *p);

/** proxy_sessions - the number of sessions alive. */
unsigned proxy_sessions(const struct proxy *p);

/** proxy_log_begin - the next proxy_log_legs() begins with the first of the sessions alive now. */
void proxy_log_begin(struct proxy *p);

/** proxy_log_legs - log one line event=leg for each leg of the next @most sessions. Turns may
 * come between two calls. Return: whether sessions are left. */
bool proxy_log_legs(struct proxy *p, unsigned most);

/** proxy_counters - the sum over all routes, former routes included; valid until the next call. */
const struct proxy_counters *proxy_counters(struct proxy *p);

/** proxy_route_counters - the counters of the route in slot @i, which is in use. */
const struct proxy_counters *proxy_route_counters(const struct proxy *p, unsigned i);

/** proxy_free - takes @p; ends every session at once. Call it before the fabrics are freed. */
void proxy_free(struct proxy *p);

#endif
