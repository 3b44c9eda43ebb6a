/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SNAPSHOT_H
#define PROXY_SNAPSHOT_H

#include "proxy/proxy.h"

/**
 * snapshot - what an operator sees of a running relay, and what the operator does to its sessions
 *
 * The worker copies data for another thread, and acts on sessions. The worker does this between two
 * turns, a bounded piece at a time, so no call waits for it. A snapshot changes no counter and
 * takes no memory.
 */

enum { SNAPSHOT_NAME = 256, SNAPSHOT_PIECE = 128 /* sessions looked at in one piece */ };

enum snapshot_kind {
	SNAPSHOT_MEMORY,   /* .memory */
	SNAPSHOT_COUNTERS, /* .counters of every route */
	SNAPSHOT_SESSIONS, /* .sessions that fit .want, those after number .after */
	SNAPSHOT_CALLS,	   /* the session with number .id, and its calls in flight */
	/* Sessions that fit .want end between two RPCs. If .want names neither a session nor a
	 * proved name, their clients choose servers anew. */
	SNAPSHOT_DRAIN,
	SNAPSHOT_KILL,	  /* sessions that fit .want end at once */
	SNAPSHOT_TRACE,	  /* start the tracer .ring: trace_ring.h */
	SNAPSHOT_UNTRACE, /* stop the tracer .ring */
};

/** struct snapshot_want - which sessions; empty fields do not matter. */
struct snapshot_want {
	uint64_t id;			 /* number of the session; 0: any */
	uint32_t route;			 /* slot, or SNAPSHOT_ANY_ROUTE */
	char route_name[PROXY_NAME_MAX]; /* the route's name, whatever slots its settings had */
	char client[FABRIC_ADDR_TEXT];	 /* address without port, as limits count clients */
	char name[SNAPSHOT_NAME];	 /* name that the client or the server proved */
};

enum { SNAPSHOT_ANY_ROUTE = UINT32_MAX };

/** struct snapshot_leg - one leg of a session; .version 0: not known yet. */
struct snapshot_leg {
	char peer[FABRIC_ADDR_TEXT]; /* empty: there is no connection */
	char name[SNAPSHOT_NAME];    /* name that the peer proved, or empty */
	unsigned version;
	const char *version_name;	   /* static storage */
	uint32_t inline_send, inline_recv; /* thresholds */
	uint32_t credits;		   /* calls that may be in flight */
	bool is_far;			   /* the peer is far: calls to it carry their data */
	/* As struct session_stat has them. .late: late replies, which were dropped. */
	uint64_t calls, replies, rcalls, rreplies, bytes_in, bytes_out, large, written, late;
};

struct snapshot_session {
	uint64_t id;
	nsec_t age;	   /* since the client connected, ns */
	const char *state; /* a word for the session's state; static storage */
	uint32_t route;	   /* slot */
	bool is_leaving;   /* the session begins no more calls, and ends after those in flight */
	bool is_old;	   /* the route has new settings since, or was removed */
	char client[FABRIC_ADDR_TEXT]; /* as limits count clients */
	struct snapshot_leg legs[PROXY_SIDES];
	unsigned in_flight; /* calls, both directions */
	unsigned waiting;   /* transactions that wait to start */
	/* Octets for the session's whole life; octets of its calls. */
	size_t fixed_bytes, call_bytes;
};

struct snapshot_call {
	uint32_t xid;
	bool is_reverse;
	const char *step; /* static storage */
	nsec_t age;	  /* since the call got its transaction block, ns */
	size_t bytes;	  /* octets of payload memory */
};

/** struct snapshot_memory - the worker's arena, octets; .waits is a count. */
struct snapshot_memory {
	uint64_t total, used, peak, reserve, reserve_used;
	uint64_t touched; /* octets that may be resident */
	uint64_t waits;
	uint64_t by_use[BUF_PURPOSES]; /* part of .used in common zones, by purpose */
	uint64_t own;		       /* part of .used in zones of single routes */
};

/** snapshot_use_name - a short word; static storage. */
const char *snapshot_use_name(enum buf_purpose purpose);

struct trace_ring;

/** struct snapshot - a request, with room for its result. The asker sets the fields that .kind
 * needs, and zeros all others. */
struct snapshot {
	enum snapshot_kind kind;
	struct snapshot_want want;
	uint64_t after; /* SNAPSHOT_SESSIONS: number of the last session copied; 0 at first */
	nsec_t timeout; /* SNAPSHOT_DRAIN: how long calls in flight may take, ns */
	/* Owned by the worker from SNAPSHOT_TRACE until SNAPSHOT_UNTRACE is answered. */
	struct trace_ring *ring;

	struct snapshot_memory memory;
	/* One element for each slot of routes; the asker's. Slots without a route are not
	 * written. */
	struct proxy_counters *counters;
	struct proxy_counters gone; /* counters of routes that were removed */
	struct snapshot_session *sessions;
	struct snapshot_call *calls;
	unsigned most;	    /* length of .sessions, or of .calls (SNAPSHOT_CALLS has one session) */
	unsigned nsessions; /* sessions copied; SNAPSHOT_DRAIN, SNAPSHOT_KILL: sessions concerned */
	unsigned ncalls;
	unsigned calls_left; /* SNAPSHOT_CALLS: calls for which there was no room */
	bool more;	     /* SNAPSHOT_SESSIONS: there may be more sessions after .after */

	bool begun; /* private */
	unsigned next_route;
};

/** proxy_snapshot - do the next piece of @l, at @now. Return: true if more pieces are left; call it
 * again after a turn. */
bool proxy_snapshot(struct proxy *p, struct snapshot *l, nsec_t now) WARN_UNUSED;

#endif
