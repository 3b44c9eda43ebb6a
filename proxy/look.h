/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_LOOK_H
#define PROXY_LOOK_H

#include "proxy/proxy.h"

/**
 * look - what an operator sees of a relay that runs, and what he does to its sessions
 *
 * The worker makes copies for somebody else's thread, and acts, between two turns and a bounded
 * piece at a time, so that no call waits for it. A look counts nothing and takes no memory.
 */

enum { LOOK_NAME = 256, LOOK_PIECE = 128 /* sessions looked at in one piece */ };

enum look_kind {
	LOOK_MEMORY,   /* .memory */
	LOOK_COUNTERS, /* .counters of every route */
	LOOK_SESSIONS, /* .sessions that fit .want, those after number .after */
	LOOK_CALLS,    /* the session with number .id, and its calls in flight */
	LOOK_DRAIN, /* those that fit .want are to end between two RPCs; whole clients choose their servers anew */
	LOOK_KILL,  /* ... at once */
	LOOK_TAP,   /* .tap listens from now on: tap.h */
	LOOK_UNTAP, /* ... and no longer */
};

/** struct look_want - which sessions; what is left empty does not matter. */
struct look_want {
	uint64_t id;			 /* 0: any */
	uint32_t route;			 /* slot; LOOK_ANY_ROUTE */
	char route_name[PROXY_NAME_MAX]; /* the same, whatever slots its settings had */
	char client[FABRIC_ADDR_TEXT];	 /* address without port, as sessions are counted */
	char name[LOOK_NAME];		 /* that client or server proved */
};

enum { LOOK_ANY_ROUTE = UINT32_MAX };

/** struct look_leg - one of a session's; .version 0: none yet. */
struct look_leg {
	char peer[FABRIC_ADDR_TEXT]; /* empty: there is no connection */
	char name[LOOK_NAME];	     /* proved; or empty */
	unsigned version;
	const char *version_name;	   /* static storage */
	uint32_t inline_send, inline_recv; /* thresholds */
	uint32_t credits;		   /* calls that may be in flight */
	bool is_far;			   /* calls to it take their data along */
	uint64_t calls, replies, rcalls, rreplies, bytes_in, bytes_out, large, written, late;
};

struct look_session {
	uint64_t id;
	nsec_t age;
	const char *state; /* static storage */
	uint32_t route;	   /* slot */
	bool is_leaving;
	bool is_old;		       /* its route has other settings by now, or is gone */
	char client[FABRIC_ADDR_TEXT]; /* as it is counted */
	struct look_leg legs[PROXY_SIDES];
	unsigned in_flight;		/* calls, both directions */
	unsigned waiting;		/* others, not begun: of those that hold their place */
	size_t fixed_bytes, call_bytes; /* memory for as long as it lives; of calls in flight */
};

struct look_call {
	uint32_t xid;
	bool is_reverse;
	const char *step; /* static storage */
	nsec_t age;
	size_t bytes; /* memory */
};

/** struct look_memory - of the worker's arena, octets. */
struct look_memory {
	uint64_t total, used, peak, reserve, reserve_used;
	uint64_t touched; /* at most so much of it is resident */
	uint64_t waits;
	uint64_t by_use[BUF_PURPOSES]; /* of .used, in common zones */
	uint64_t own;		       /* ... and in those of single routes */
};

/** look_use_name - a short word; static storage. */
const char *look_use_name(enum buf_purpose purpose);

struct tap;

/** struct look - a question with room for its answer. Zero-initialise what is not asked. */
struct look {
	enum look_kind kind;
	struct look_want want;
	uint64_t after;
	nsec_t patience; /* LOOK_DRAIN: how long calls in flight may take */
	struct tap *tap; /* the worker's from LOOK_TAP until LOOK_UNTAP is answered */

	struct look_memory memory;
	struct proxy_counters *
		counters; /* as many as there are slots of routes; those without one stay as they are */
	struct proxy_counters gone; /* ... and of routes that are gone */
	struct look_session *sessions;
	struct look_call *calls;
	unsigned most;	    /* of .sessions, or of .calls: LOOK_CALLS has one session */
	unsigned nsessions; /* found; LOOK_DRAIN, LOOK_KILL: meant by it */
	unsigned ncalls;
	unsigned calls_left; /* LOOK_CALLS: more than there is room for */
	bool more;	     /* LOOK_SESSIONS: there may be others, after .after */

	bool begun; /* private */
	unsigned next_route;
};

/** proxy_look - a piece of @l's answer, at @now. Return: whether there is more to do, after a turn. */
bool proxy_look(struct proxy *p, struct look *l, nsec_t now) WARN_UNUSED;

#endif
