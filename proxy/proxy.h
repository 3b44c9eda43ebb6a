/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_PROXY_H
#define PROXY_PROXY_H

#include <stdatomic.h>

#include "base/jobs.h"
#include "fabric/fabric.h"
#include "proxy/latency.h"
#include "proxy/leg/leg.h"
#include "proxy/plan/hop.h"
#include "proxy/servers.h"

/**
 * proxy - the relay of one worker: its sessions, transactions and memory. It is
 * driven: the worker's loop calls proxy_turn() after events and at deadlines.
 */

enum { PROXY_NAME_MAX = 64 };

/* Numbers of sessions that each worker has for its own. */
enum { PROXY_IDS = 1000000000 };

/** struct proxy_source - the address that servers see of clients on .clients, or everywhere, if they proved
 * .name: fabric_net_move(). */
struct proxy_source {
	struct fabric_net clients, addresses;
	const char *name; /* NULL: whoever they are; borrowed */
	bool everywhere;
};

/** struct proxy_route - immutable, shared by all workers. */
struct proxy_route {
	char name[PROXY_NAME_MAX];
	struct leg_config client, server; /* listen and upstream side */
	enum hop client_hop, server_hop;  /* whether their peers are far */
	/* Of clients on .unneeded, which need not prove who they are; other sizes than .client's it may
	 * not have. */
	struct leg_config client_unneeded;
	const struct fabric_net *unneeded; /* borrowed */
	unsigned nunneeded;
	const struct fabric_net *clients; /* who may connect at all; borrowed */
	unsigned nclients;		  /* 0: everybody */
	/* Several routes may share the listener of one of them, the others' .shares. There, and where
	 * a route has .names, the name that a client has proved chooses its route. Borrowed. */
	const struct proxy_route *shares; /* NULL: none */
	/* The listener's number to other gateways (leg/via.h): random; 0: none is told. */
	uint32_t id;
	const char *const *names; /* of clients; none: all that no other route names */
	unsigned nnames;
	struct servers *servers;     /* where its clients are connected to; borrowed. NULL: */
	bool several;		     /* there may be more than one of these */
	struct fabric_addr upstream; /* ... to this address */
	nsec_t probe_interval;	     /* servers are asked whether they answer; 0: never */
	/* How long calls in flight may take at a server that their client has left, seconds; it may change at
	 * any time, unlike all else here. Borrowed. NULL: no time. */
	const atomic_uint *move_patience_s;
	const struct proxy_source *sources; /* the first that has the client counts; borrowed */
	unsigned nsources;		    /* 0: servers see the address that the system chooses */
	unsigned upstream_fabric; /* index into proxy_config.fabrics of the upstream leg */
	unsigned
		max_handshakes; /* of host authentication on either side, at once in each worker; 0: as
				   * memory has room for */
	nsec_t version_memory; /* how long "speaks only version 1" is remembered */
	/* Counts relays that have this route; without any nobody looks at it. NULL: nobody wants to know. */
	atomic_uint *users;
	/* Whether it was told once, by any relay, that version 3's locks cannot be told apart. NULL: each tells. */
	atomic_bool *told_locks;
};

struct crowd;

struct proxy_config {
	const struct proxy_route *routes; /* .nslots of them, or .nroutes: proxy/routes.h */
	unsigned nroutes;
	unsigned nslots;	 /* room for routes that come later; less than .nroutes: none */
	struct fabric **fabrics; /* this worker's instances, borrowed */
	unsigned nfabrics;
	size_t memory_bytes;   /* this worker's share of memory_limit */
	uint32_t max_sessions; /* 0: as many as there is memory for */
	struct crowd *crowd;   /* who may have a session: shared by those who share the limits,
				* borrowed; NULL: .max_sessions of this relay's own */
	uint32_t max_setups;   /* that have not said a word, before they make room for others; 0:
				* .max_sessions */
	uint32_t max_payload;  /* largest chunk or message body, octets */
	uint32_t continue_max; /* longest message continued where there is another way for it */
	uint32_t
		pass_bytes; /* of memory, for a result of twice as many or more, which is written on to its requester as
			      * it comes: txn_pass.c; 0: none are */
	uint64_t
		pass_from; /* ... where all that its session's calls have would else be more than so many octets */
	struct jobs_port
		*jobs;	  /* for what takes long, borrowed; NULL: done here. Outlives the relay */
	unsigned worker;  /* for session numbers in logs */
	unsigned workers; /* that share .servers of routes, and the probes; 0: one */
	struct servers_bell *bell; /* of those servers, borrowed; NULL: nobody rings */
	uint64_t seed;		   /* for XIDs of the gateway's own messages */
};

/** Why a client was not served; sessions_refused counts all. */
enum proxy_refusal {
	PROXY_REFUSED_RATE,	/* max_setups_per_second */
	PROXY_REFUSED_CLIENT,	/* max_sessions_per_client */
	PROXY_REFUSED_SESSIONS, /* max_sessions */
	PROXY_REFUSED_MEMORY,	/* memory_limit, or the heap */
	PROXY_REFUSED_ADDRESS,	/* it is not on the listener's .clients */
	PROXY_REFUSED_NAME,	/* no route of its listener is for those without one */
	PROXY_REFUSED_SOURCE,	/* none of its route's .sources is for it */
	PROXY_REFUSED_LOOP, /* it came through the same listener before, or through too many gateways */
	PROXY_REFUSED_DRAINING,
	PROXY_REFUSED_MACHINE,	/* this machine is out of ports, descriptors or buffers */
	PROXY_REFUSED_KILLED,	/* by the operator, before its server was connected */
	PROXY_REFUSED_UPSTREAM, /* its server could not be connected, or not in time */
	PROXY_REFUSALS
};

/** proxy_refusal_name - a short word; static storage. */
const char *proxy_refusal_name(enum proxy_refusal refusal);

enum proxy_side { PROXY_CLIENT, PROXY_SERVER, PROXY_SIDES };

/** struct proxy_counters - totals since start, nothing but uint64_t: of a route, or of all. */
struct proxy_counters {
	uint64_t sessions; /* there are now: this, and what they speak, may fall */
	uint64_t speaking[PROXY_SIDES][LEG_VERSIONS];
	/* Where clients come in; on routes that share a listener, that of the listener. */
	uint64_t sessions_opened, sessions_closed, sessions_refused;
	uint64_t sessions_displaced; /* of those closed: in set-up, when others wanted in */
	uint64_t calls, replies, rcalls, rreplies; /* relayed, both directions */
	uint64_t bytes_to_server, bytes_to_client; /* payload, inline and chunks */
	uint64_t errors_to_requester, errors_from_responder;
	uint64_t formed_again; /* calls whose form the responder refused, or had no credits for */
	uint64_t placed;       /* calls whose data travelled in their Send to the responder */
	uint64_t
		asked; /* calls that asked for the data of their reply in its Send, or either way */
	uint64_t replies_placed;  /* replies whose data travelled in their Send to the requester */
	uint64_t let_go;	  /* calls not waited for any longer (reply_timeout) */
	uint64_t duplicates;	  /* calls of version 2 dropped: their XID was in flight already */
	uint64_t large;		  /* calls that took a block larger than 16 KiB */
	uint64_t written;	  /* replies that came by RDMA Write, all or in part */
	uint64_t joined;	  /* calls whose data were put back into their payload stream */
	uint64_t joined_bytes;	  /* ... octets of these data */
	uint64_t passed_bytes;	  /* of results: they went on as they came */
	uint64_t assembled_bytes; /* of continued messages: each was copied once */
	uint64_t peer_faults;	  /* sessions closed for a breach of protocol */
	uint64_t
		version_faults; /* sessions closed since no version is spoken by both ends of a leg */
	uint64_t budget_waits;
	uint64_t shortages; /* of a device: a Read, Write or exposure had to wait */
	uint64_t refused[PROXY_REFUSALS];
	/* Of errors_to_requester and errors_from_responder: to, and from, which side, by code. */
	uint64_t errors_to[PROXY_SIDES][RPC_ERROR_CODES];
	uint64_t errors_from[PROXY_SIDES][RPC_ERROR_CODES];
	struct latency latency[LATENCY_KINDS][LATENCY_STEPS]; /* of RPCs answered by a reply */
};

struct proxy;

/** proxy_new - registers its memory with every fabric. Returns owned, or NULL (logged). */
struct proxy *proxy_new(const struct proxy_config *cfg);

/** proxy_route_owner - the owner to give fabric_attach() for listener @i, which at first is that of route @i:
 * requests find their route by it. */
void *proxy_route_owner(struct proxy *p, unsigned i);

/**
 * proxy_turn - poll every fabric, do all that is due at @now, flush
 *
 * Bounded in work. Return: 1 when more is waiting already (call again soon), else 0.
 */
int proxy_turn(struct proxy *p, nsec_t now);

/** proxy_deadline - when proxy_turn() is next needed without a fabric's event. */
nsec_t proxy_deadline(const struct proxy *p);

/* Who is being let in has so long to say something, once the rest is about to go. */
#define PROXY_SETTLE (2 * NSEC_PER_SEC)

/** proxy_yield - nothing new is accepted, as far as fabrics can help it: what waits with the listeners is for another
 * process that has them, or goes with them. Who is on its way is let in; then proxy_drain() is due. */
void proxy_yield(struct proxy *p);

/** proxy_drain - right after a turn: refuse new sessions; those in set-up finish that, and who says nothing then is closed after
 * PROXY_SETTLE; close each as soon as no call is in flight, all by @deadline. */
void proxy_drain(struct proxy *p, nsec_t deadline);

/** proxy_arriving - whether somebody is on its way whom no session is for yet. */
bool proxy_arriving(const struct proxy *p);

/** proxy_sessions - sessions alive. */
unsigned proxy_sessions(const struct proxy *p);

/** proxy_log_begin - proxy_log_legs() is to begin with the first of the sessions there are now. */
void proxy_log_begin(struct proxy *p);

/** proxy_log_legs - one line event=leg for each leg of the next @most sessions. Return: whether there
 * are more; turns may come between. */
bool proxy_log_legs(struct proxy *p, unsigned most);

/** proxy_counters - of all routes together, those that are gone included; valid until the next call. */
const struct proxy_counters *proxy_counters(struct proxy *p);

/** proxy_counters_add - @more to @sum. */
void proxy_counters_add(struct proxy_counters *sum, const struct proxy_counters *more);

/** proxy_route_counters - of route @i alone. */
const struct proxy_counters *proxy_route_counters(const struct proxy *p, unsigned i);

/** proxy_free - takes @p; ends every session at once. Before the fabrics are freed. */
void proxy_free(struct proxy *p);

#endif
