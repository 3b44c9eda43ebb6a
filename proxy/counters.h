/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_COUNTERS_H
#define PROXY_COUNTERS_H

#include <stdint.h>

#include "proxy/latency.h"
#include "proxy/leg/leg.h"

/** counters - what a relay counts */

enum proxy_side { PROXY_CLIENT, PROXY_SERVER, PROXY_SIDES };

/** Why a client was refused. sessions_refused is the sum over all reasons. */
enum proxy_refusal {
	PROXY_REFUSED_RATE,	/* max_setups_per_second */
	PROXY_REFUSED_CLIENT,	/* max_sessions_per_client */
	PROXY_REFUSED_SESSIONS, /* max_sessions */
	PROXY_REFUSED_MEMORY,	/* memory_limit, or the heap */
	PROXY_REFUSED_ADDRESS,	/* the client's address is not on the listener's .clients */
	/* The client has no name, and each route of its listener wants one. */
	PROXY_REFUSED_NAME,
	/* The client, or the server after the client was accepted, failed host authentication; or
	 * no route is for the client's name. */
	PROXY_REFUSED_HOSTAUTH,
	PROXY_REFUSED_SOURCE, /* no entry of the route's .sources matches the client */
	/* The client's connection came through this listener before, or through too many
	 * gateways. */
	PROXY_REFUSED_LOOP,
	PROXY_REFUSED_DRAINING,
	PROXY_REFUSED_MACHINE,	/* this machine has no port, descriptor or buffer left */
	PROXY_REFUSED_KILLED,	/* an operator ended the session before its server was connected */
	PROXY_REFUSED_UPSTREAM, /* no server could be connected, or not in time */
	PROXY_REFUSALS
};

/** proxy_refusal_name - a short word; static storage. */
const char *proxy_refusal_name(enum proxy_refusal refusal);

/**
 * struct proxy_counters - of one route, or of all routes together; nothing but uint64_t
 *
 * All count since start, except .sessions and .speaking, which are states and can fall.
 */
struct proxy_counters {
	uint64_t sessions;			      /* sessions alive */
	uint64_t speaking[PROXY_SIDES][LEG_VERSIONS]; /* peers of sessions alive, by version */
	/* Counted at the listener where clients arrive; routes that share a listener count at the
	 * route that owns it. */
	uint64_t sessions_opened, sessions_closed, sessions_refused;
	/* Sessions closed before their first message, to admit another client; .sessions_closed
	 * counts them, too. */
	uint64_t sessions_displaced;
	uint64_t calls, replies, rcalls, rreplies; /* RPCs relayed, forward and reverse */
	uint64_t bytes_to_server, bytes_to_client; /* payload octets, inline and in chunks */
	/* Error reports sent to requesters, and received from responders. */
	uint64_t errors_to_requester, errors_from_responder;
	/* Calls encoded again in another form, because the responder refused the first one or had
	 * no credits for it. */
	uint64_t formed_again;
	uint64_t placed; /* calls whose data travelled in their Send to the responder */
	/* Calls that asked the responder to return data in the Send of the reply, or let the
	 * responder choose. */
	uint64_t asked;
	uint64_t replies_placed; /* replies whose data travelled in their Send to the requester */
	uint64_t let_go;	 /* calls abandoned without an answer (reply_timeout) */
	/* Version 2 calls dropped, because a call with the same XID was in flight. */
	uint64_t duplicates;
	uint64_t large;		  /* calls that took a block larger than 16 KiB */
	uint64_t written;	  /* replies of which all or a part came by RDMA Write */
	uint64_t joined;	  /* calls whose data were put back into their payload stream */
	uint64_t joined_bytes;	  /* octets of the data counted in .joined */
	uint64_t passed_bytes;	  /* octets of results that were cut through */
	uint64_t assembled_bytes; /* octets of continued messages; each octet was copied once */
	uint64_t peer_faults;	  /* sessions closed for a breach of protocol */
	/* Sessions closed because the ends of a leg speak no version in common. */
	uint64_t version_faults;
	/* Calls that waited for memory when they arrived, and calls that waited for a place among
	 * those that run. Each call counts once. */
	uint64_t budget_waits, place_waits;
	/* Times a Read, Write or exposure had to wait for resources of an RDMA device. */
	uint64_t shortages;
	uint64_t refused[PROXY_REFUSALS];
	/* errors_to_requester and errors_from_responder by error code, and by the side that got
	 * or sent the report. */
	uint64_t errors_to[PROXY_SIDES][RPC_ERROR_CODES];
	uint64_t errors_from[PROXY_SIDES][RPC_ERROR_CODES];
	struct latency latency[LATENCY_KINDS][LATENCY_STEPS]; /* RPCs that a reply ended */
};

/** proxy_counters_add - add @more to @sum. */
void proxy_counters_add(struct proxy_counters *sum, const struct proxy_counters *more);

#endif
