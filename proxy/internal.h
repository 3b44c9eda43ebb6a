/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_INTERNAL_H
#define PROXY_INTERNAL_H

#include "base/pause.h"
#include "base/random.h"
#include "base/timer.h"
#include "fabric/preauth_queue.h"
#include "proxy/session_limits.h"
#include "proxy/handshake_limit.h"
#include "proxy/leg/recv_pool.h"
#include "proxy/proxy.h"
#include "proxy/session.h"
#include "proxy/shares.h"
#include "proxy/trace_ring.h"
#include "proxy/txn.h"

/** State that the files of proxy/ share: one worker's relay and its routes. */

/** struct route_state - one worker's view of a route. */
struct route_state {
	struct proxy *proxy;
	const struct proxy_route *route;
	unsigned slot; /* index into proxy.routes */
	/* Sessions that arrived at its listener or chose it; a session that did both counts
	 * twice. */
	unsigned holds;
	/* A reload removed it: no new session uses it, and it is freed at .holds 0. */
	bool is_retired;
	bool locks_logged; /* the line of session_note_version_3() is logged */
	/* During one pass of session_debts.c: a session of the route has waited too long for
	 * memory. */
	bool waits_too_long;
	/* The route whose listener this route shares; NULL: it has its own. */
	struct route_state *leader;
	/* Number of routes that share the listener of this route. They are freed before this
	 * route. */
	unsigned sharers;
	size_t handshake_limits_bytes; /* memory kept free for handshakes of host authentication */
	struct leg_config server_v1;   /* settings of a server leg that speaks version 1 only */
	struct servers *servers;       /* route->servers, or its own if that is NULL */
	bool owns_servers;
	/* struct session_upstream of sessions that chose this route, and wait for no address */
	struct list upstreams;
	/* struct session_upstream of sessions that wait for the address of their server */
	struct list waiting;
	uint64_t moves;	      /* servers_moves() at the last look for moved clients */
	struct list probes;   /* probes under way: probe.c */
	struct timer probing; /* when the next probes are due; armed if this relay makes them */
	struct leg_config probe_leg, probe_leg_v1;
	/* Until then servers' calls carry no directions of the round-trip extension:
	 * txn_retry_form.c. */
	nsec_t no_reverse_wish_until;
	struct quota_group groups[QUOTA_PURPOSES];
	struct shares by_client;
	/* One account for each of SERVERS_MOST servers; NULL if the route has one server at
	 * most. */
	struct share *by_server;
	/* Sums over the route's sessions during one pass of session_recv_reclaim.c:
	 * - .stuck: Receives that have been held since the last pass,
	 * - .stuck_awaiting: the part of .stuck in sessions that await their server,
	 * - .holders: sessions with Receives in .stuck,
	 * - .starving: sessions that cannot continue without more Receives. */
	uint32_t stuck, stuck_awaiting, holders, starving;
	/* The account of the servers' calls of all sessions, which count as those of one client. */
	struct share servers_calls;
	/* Limits of handshakes of host authentication under way. */
	struct handshake_limit handshakes[PROXY_SIDES];
	/* Armed while a leg waits in one of .handshakes. */
	struct timer slot_timer;
	struct proxy_counters count;
};

/* A worker that refused a session for lack of memory accepts no session for this time, in ns. So
 * other workers accept the next sessions. */
#define PROXY_NO_ROOM NSEC_PER_SEC

/** struct proxy - one worker's relay. */
struct proxy {
	struct proxy_config cfg;
	struct buf_arena arena;
	struct list sessions;
	struct list dirty;
	struct quota quota;	   /* divides the arena's memory among sessions */
	struct timer_queue timers; /* all timers of sessions and transactions */
	/* struct session_queue with cached transaction blocks: txn_alloc.c */
	struct list caching_queues;
	size_t fixed_bytes; /* octets of connections' memory held by all sessions */
	/* Part of .fixed_bytes: of sessions whose client has sent no message yet. */
	size_t silent_bytes;
	/* Octets that .fixed_bytes may reach: the connections' part of the arena less the share
	 * of shared Receives and of handshakes. */
	size_t fixed_limit;
	/* Array, one element a fabric; in use if the fabric shares Receives. */
	struct recv_pool *recvs;
	unsigned nsessions, most_sessions;
	/* Until then this worker accepts no session: it had no memory for one. */
	nsec_t no_room_until;
	/* Session count last published to other workers: session_limits_publish(). */
	unsigned published_load;
	unsigned seen_changes; /* session_limits_changes() when .is_fullest was last computed */
	/* Session limits; .own_limits: set if none is shared with other relays. */
	struct session_limits *session_limits, *own_limits;
	struct preauth_queue preauth_queue; /* sessions whose client has sent no message yet */
	uint64_t next_session;
	struct list *log_next; /* next session for proxy_log_legs() */
	uint64_t log_end;      /* first session id that proxy_log_legs() does not log */
	uint64_t random;       /* state of the generator for XIDs of the gateway's own messages */
	nsec_t now;
	struct timer trim; /* next look at shared Receives; armed while there are sessions */
	/* Looks at shared Receives still to come after the last session ended. */
	unsigned trims_left;
	struct timer debts; /* next look at sessions of .owing; armed while there are any */
	struct list owing;  /* sessions with anything in flight */
	/* Mark in .owing: the sessions before it are still to be looked at in this round;
	 * self-linked between rounds. */
	struct list round_end;
	nsec_t round_at; /* when the next round of looks at .owing begins */
	/* When the last RECLAIM_ROUNDS rounds began; .nrounds: index of the latest. */
	nsec_t rounds[RECLAIM_ROUNDS];
	unsigned nrounds;
	nsec_t paused_until;	 /* when the process last went on after a pause (base/pause.h) */
	uint64_t debt_looks;	 /* looks at single sessions, since start */
	struct timer settle;	 /* after proxy_drain(): the end of PROXY_SETTLE */
	struct list *drain_next; /* next session that the drain looks at */
	nsec_t drain_deadline;
	/* This worker has more sessions than other workers and does not accept. */
	bool is_fullest;
	bool draining;	      /* proxy_drain() was called */
	bool settled;	      /* PROXY_SETTLE has passed since the drain began */
	bool yields;	      /* proxy_yield() was called */
	unsigned goes_on;     /* index of the fabric that is next in fabric_go_on() */
	nsec_t events_until;  /* when the turn handles no further event beyond TURN_EVENTS */
	unsigned touched;     /* sessions that events of this turn touched, or began */
	uint32_t blank_left;  /* octets that may still be blanked in this turn */
	nsec_t flush_takes;   /* moving average of the time of fabric_flush_posts() */
	struct list blanking; /* txns whose memory is being blanked: txn_zero_sink.c */
	/* Legs that copy a message of several Sends into one block: leg_copy_group(). */
	struct list group_copiers;
	nsec_t release_at; /* when buf_release() is due; NSEC_NEVER: not */
	bool pinned; /* a fabric's device pins the arena: no pages are returned to the system */
	unsigned nregistered;	     /* fabrics with which the arena is registered */
	struct proxy_counters count; /* result of proxy_counters() */
	struct list *snapshot_next;  /* next session for proxy_snapshot() */
	/* Session ids that proxy_snapshot() copies: above .snapshot_after, below .snapshot_end. */
	uint64_t snapshot_after, snapshot_end;
	unsigned nslots;	     /* elements of .routes and of .listeners */
	struct route_state **routes; /* by slot; NULL: free */
	/* By listener: the route for clients that arrive there; NULL: the listener has none. */
	struct route_state **listeners;
	unsigned nroutes; /* routes in use */
	/* A retired route may have lost its last session: routes_sweep() is due. */
	bool sweep;
	/* Counters of routes that were removed and have no successor. */
	struct proxy_counters gone;
	struct list traces[TRACE_KINDS]; /* operators that trace: trace_ring.h */
	struct leg_trace leg_trace;	 /* tracer of all legs' messages: TRACE_MESSAGES */
	unsigned server_changes; /* value of proxy_config.changes->number at the last look */
};

/** session_touch - have session_pump() called for @s at the end of this turn. */
static inline void session_touch(struct session *s)
{
	if (!list_is_empty(&s->dirty))
		return;
	list_add_tail(&s->proxy->dirty, &s->dirty);
	s->proxy->touched++;
}

/** session_is_leaving - @s begins no call any more and ends when its calls in flight are over. */
static inline bool session_is_leaving(const struct session *s)
{
	return s->proxy->draining || timer_is_armed(&s->leave);
}

/** session_random - a number for XIDs and marks. It differs from earlier ones, but is not secret:
 * never use it for a secret. */
static inline uint64_t session_random(struct proxy *p)
{
	return random_next(&p->random);
}

/* routes.c */

/** routes_open - add the routes of the initial configuration. Return: 0 or ERR_NOMEM;
 * routes_close() is due. */
int routes_open(struct proxy *p) WARN_UNUSED;
void routes_close(struct proxy *p);

/** route_hold, route_put - a session refers to @rs, or no longer does. */
void route_hold(struct route_state *rs);
void route_put(struct route_state *rs);

/** route_number - the number that @rs' listener has for other gateways; 0: none. */
static inline uint32_t route_number(const struct route_state *rs)
{
	return rs->route->shares ? rs->route->shares->id : rs->route->id;
}

/** route_pass - append the number of @rs' listener to @via, which has room. */
static inline void route_pass(const struct route_state *rs, struct via *via)
{
	if (route_number(rs))
		via_add(via, route_number(rs));
}

/** route_successor - the active route with the name of @rs, to which the counters of @rs are
 * added when @rs ends; NULL: none. */
struct route_state *route_successor(const struct proxy *p, const struct route_state *rs);

/** routes_sweep - free retired routes that no session holds. */
void routes_sweep(struct proxy *p);

/** session_may_leave - whether @s, which is to end, may end now: no call is in flight, and no
 * set-up is cut short. */
static inline bool session_may_leave(const struct session *s)
{
	const struct proxy *p = s->proxy;
	/* A version 2 client's set-up is complete when its first message was answered. */
	bool is_set_up = s->state >= SESSION_OPEN && !s->silent.host;
	/* PROXY_SETTLE is over and the client's first message is still awaited. */
	bool is_too_slow = p->settled && s->silent.host && s->state > SESSION_CONNECT;

	return session_is_idle(s) && (is_set_up || is_too_slow || !p->draining);
}

/**
 * session_is_of_server - whether the server is the reason that its leg ended with @status
 *
 * False for a shortage or a configuration fault of this machine.
 */
static inline bool session_is_of_server(int status)
{
	return err_class(status) != ERR_CLASS_LIMIT && err_class(status) != ERR_CLASS_CONFIG;
}

/**
 * session_may_be_v1 - whether a server whose leg @leg ended with @status may speak version 1
 * (decision 9)
 *
 * True if the leg ended on version 2's first message, before it was ready. A server that failed
 * host authentication is not tried in version 1.
 */
static inline bool session_may_be_v1(const struct leg *leg, int status)
{
	return leg->t && !leg->t->ready && leg->cfg->versions == LEG_V1_OR_V2 &&
	       session_is_of_server(status) && status != ERR_VERS && status != ERR_AUTH;
}

/**
 * session_may_be_bare - @leg, a server's, ended with @status: whether the server may serve without
 * host authentication
 *
 * State:  host authentication was begun and is not required. Half of its time is over, and the
 *         server has sent nothing.
 * Danger: a server without host authentication waits for CONNPROP_FINAL, which may not be sent
 *         before the server has sent a message (draft-07 4.3). Each connection that begins with
 *         host authentication times out, and clients never reach this server.
 * Rule:   profile section 7.1: the next connection begins without host authentication. A server
 *         that has sent any message is not tried again.
 * Pinned: tests/session/test_hostauth_silent.c:a_silent_server_is_asked_without
 */
static inline bool session_may_be_bare(const struct leg *leg, int status)
{
	return status == ERR_TIMEOUT && leg_is_silent(leg);
}

/** session_goes_bare - whether a connection to server @slot of @rs begins without host
 * authentication; @retried: the server was silent on the connection before. */
static inline bool session_goes_bare(const struct route_state *rs, unsigned slot, bool retried)
{
	const struct leg_auth *auth = rs->route->server.auth;

	return auth && !auth->required &&
	       (retried || rs->proxy->now < servers_bare_until(rs->servers, slot));
}

/** session_server_has_habit - whether the session's server is believed to have @habit now. */
static inline bool session_server_has_habit(const struct session *s, enum servers_habit habit)
{
	return s->proxy->now <
	       servers_habit_until(s->route->servers, s->upstream->user.server, habit);
}

/** session_remember_habit - the session's server has @habit: believe it for @memory. */
static inline void session_remember_habit(const struct session *s, enum servers_habit habit,
					  nsec_t memory)
{
	servers_remember_habit(s->route->servers, s->upstream->user.server, habit,
			       s->proxy->now + memory);
}

/** session_server_text - the address of the session's server, for the log. Return: @text, of
 * FABRIC_ADDR_TEXT octets. */
static inline const char *session_server_text(const struct session *s, char *text)
{
	struct fabric_addr addr;

	servers_addr(s->route->servers, s->upstream->user.server, &addr);
	return fabric_addr_format(&addr, text);
}

#endif
