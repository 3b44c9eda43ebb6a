/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_INTERNAL_H
#define PROXY_INTERNAL_H

#include "base/random.h"
#include "base/timer.h"
#include "fabric/lobby.h"
#include "proxy/crowd.h"
#include "proxy/door.h"
#include "proxy/leg/recvs.h"
#include "proxy/proxy.h"
#include "proxy/session.h"
#include "proxy/shares.h"
#include "proxy/tap.h"
#include "proxy/txn.h"

/** What the files of proxy/ share: one worker's relay and its routes. */

/** struct route_state - one worker's view of a route. */
struct route_state {
	struct proxy *proxy;
	const struct proxy_route *route;
	unsigned slot;	 /* of proxy.routes */
	unsigned holds;	 /* sessions that came in by it, and those that took it: once each */
	bool is_retired; /* nobody new takes it; it goes with the last of those */
	bool told_locks; /* session_note_version_3() */
	struct route_state *leader;  /* the one that listens, where it shares that one's listener */
	unsigned sharers;	     /* routes it is that for: it stays as long as they do */
	size_t doors_bytes;	     /* kept free for handshakes */
	struct leg_config server_v1; /* the server leg's, when the upstream speaks only 1 */
	struct servers *servers;     /* of .route, or its own: */
	bool owns_servers;
	struct list ways;     /* of sessions that took it: struct session_way, */
	struct list waiting;  /* ... and of those among them that wait for an address */
	uint64_t moves;	      /* of clients, that sessions have heard of */
	struct list probes;   /* under way: probe.c */
	struct timer probing; /* the next are due; armed where this relay makes them */
	struct leg_config probe_leg, probe_leg_v1;
	nsec_t one_kind_until; /* no Reply chunk beside Write chunks: txn_told.c */
	nsec_t longer_until;   /* its replies are longer than expected: txn_told.c */
	nsec_t unasked_until;  /* calls tell no directions: txn_again.c */
	struct quota_group groups[QUOTA_PURPOSES];
	struct shares by_client;
	struct share *by_server; /* of each of SERVERS_MOST, where it may have several; else NULL */
	uint32_t sat, asked, sitters,
		wants;	      /* Receives, sessions: session_recvs.c, while it looks */
	size_t reverse_bytes; /* taken by transactions of the reverse direction */
	struct door client_door, server_door; /* handshakes of host authentication */
	struct timer doors;		      /* while somebody waits there */
	struct proxy_counters count;
};

/* For so long a worker without memory for one more session leaves those that come to others. */
#define PROXY_NO_ROOM NSEC_PER_SEC

/** struct proxy - one worker's relay; shared by proxy.c, session.c and txn.c. */
struct proxy {
	struct proxy_config cfg;
	struct buf_arena arena;
	struct list sessions;
	struct list dirty;
	struct list dead;	   /* to be freed, a few in a turn */
	struct quota quota;	   /* who of them gets what of the arena */
	struct timer_queue timers; /* every wait of every session and transaction */
	struct list spare_queues;  /* of sessions, with places for txns that are not in use */
	size_t reverse_bytes;	   /* taken by transactions of the reverse direction */
	size_t fixed_bytes;	   /* of all sessions: at most half of the memory */
	size_t silent_bytes;	   /* ... of those in the lobby */
	size_t fixed_limit;	   /* ... less what shared Receives may take */
	struct recvs *recvs;	   /* one a fabric, in use where it shares Receives */
	unsigned nspares;	   /* of .spare_queues, together */
	unsigned nsessions, most_sessions;
	unsigned told_sessions;		 /* to the crowd, */
	nsec_t no_room_until;		 /* memory for one more session was not there */
	unsigned seen_changes;		 /* ... and what was heard of all workers' */
	bool fuller;			 /* than other workers: they are to accept */
	struct crowd *crowd, *own_crowd; /* the second only where none is shared */
	struct lobby lobby;		 /* sessions whose clients have not said a word yet */
	uint64_t next_session;
	struct list *log_next; /* of sessions: where proxy_log_legs() goes on */
	uint64_t log_end;      /* the first session it does not tell about */
	uint64_t random;       /* XIDs of the gateway's own messages */
	nsec_t now;
	struct timer trim;   /* shared Receives are looked at; armed while there are sessions */
	unsigned trims_left; /* after the last session */
	struct timer debts;  /* sessions of .owing are looked at; armed while there are any */
	struct list owing;   /* sessions with something in flight */
	struct list
		round_end; /* among these: those before it are due in this round; self-linked between rounds */
	nsec_t round_at;	 /* when the next round begins */
	uint64_t debt_looks;	 /* at sessions, since ever */
	struct timer drain;	 /* all sessions are closed then */
	struct list *drain_next; /* of sessions: where closing what is idle, or all, goes on */
	nsec_t drain_deadline;
	bool draining, drain_over;
	bool settled;	      /* draining: PROXY_SETTLE is over */
	bool yields;	      /* proxy_yield() */
	unsigned goes_on;     /* of the fabrics: fabric_flush_all() */
	struct list blanking; /* txns whose memory is being blanked: txn_blank.c */
	uint32_t blank_left;  /* octets, in this turn */
	struct list
		gatherers; /* legs that put a message of several Sends together: leg_gather_some() */
	nsec_t release_at; /* when buf_release() has something to do; NSEC_NEVER: nothing */
	bool pinned; /* a fabric's device holds the arena's pages: none go back to the system */
	unsigned nregistered;
	struct proxy_counters count;   /* those of all routes: proxy_counters() */
	struct list *look_next;	       /* of sessions: where proxy_look() goes on */
	uint64_t look_after, look_end; /* ... behind that number, before this */
	unsigned nslots;
	struct route_state **routes;	/* by slot; NULL: free */
	struct route_state **listeners; /* whose clients come in there; NULL: nobody's */
	unsigned nroutes;		/* not retired */
	bool sweep;			/* one that is retired may be over */
	struct proxy_counters gone;	/* of routes that are over, and have no successor */
	struct list taps[TAP_KINDS];	/* who listens in: tap.h */
	struct leg_tap leg_tap;		/* of all legs: TAP_MESSAGES */
	unsigned news;			/* of proxy_config.bell that were looked at */
};

/** session_touch - have session_pump() called at the end of this turn. */
static inline void session_touch(struct session *s)
{
	if (list_is_empty(&s->dirty))
		list_add_tail(&s->proxy->dirty, &s->dirty);
}

/** session_is_leaving - no call is begun any more: it ends when those in flight are over. */
static inline bool session_is_leaving(const struct session *s)
{
	return s->proxy->draining || timer_is_armed(&s->leave);
}

/* look_want.c */

/** session_fits - it is one of @want. */
bool session_fits(const struct session *s, const struct look_want *want);

/* routes.c */

/** routes_open - those that the configuration begins with. Return: 0 or ERR_NOMEM; routes_close() is due. */
int routes_open(struct proxy *p) WARN_UNUSED;
void routes_close(struct proxy *p);

/** route_hold, route_put - by a session. */
void route_hold(struct route_state *rs);
void route_put(struct route_state *rs);

/** route_number - of @rs' listener, to other gateways; 0: none. */
static inline uint32_t route_number(const struct route_state *rs)
{
	return rs->route->shares ? rs->route->shares->id : rs->route->id;
}

/** route_pass - what goes on from here came through @rs' listener, too: @via has room. */
static inline void route_pass(const struct route_state *rs, struct via *via)
{
	if (route_number(rs))
		via_add(via, route_number(rs));
}

/** route_successor - the route of the same name that serves, and goes on counting where @rs ends; NULL: it is no more. */
struct route_state *route_successor(const struct proxy *p, const struct route_state *rs);

/** routes_sweep - those retired that nobody holds go. */
void routes_sweep(struct proxy *p);

/** session_may_leave - it is to, and now is the time: no call is in flight, and a client that was let in is not
 * refused because the process goes. */
static inline bool session_may_leave(const struct session *s)
{
	const struct proxy *p = s->proxy;
	/* In version 2 a client's set-up is over when its first message was answered. */
	bool is_set_up = s->state >= SESSION_OPEN && !s->silent.host;
	/* It is the client's turn, and it had time enough. */
	bool is_too_slow = p->settled && s->silent.host && s->state > SESSION_CONNECT;

	return session_is_idle(s) && (is_set_up || is_too_slow || !p->draining);
}

/** session_is_of_server - whether the server is why its leg ended with @status: our own want of memory, of places or of
 * a configuration is not its. */
static inline bool session_is_of_server(int status)
{
	return err_class(status) != ERR_CLASS_LIMIT && err_class(status) != ERR_CLASS_CONFIG;
}

/** session_may_be_v1 - @leg, a server's, ended with @status before it was ready: it hung up on version 2's first message,
 * and may still speak version 1 (decision 9). Who did not prove who it is gets no second way. */
static inline bool session_may_be_v1(const struct leg *leg, int status)
{
	return leg->t && !leg->t->ready && leg->cfg->versions == LEG_V1_OR_V2 &&
	       session_is_of_server(status) && status != ERR_VERS && status != ERR_AUTH;
}

/**
 * session_may_be_bare - @leg, a server's, ended with @status: it may serve without host authentication
 *
 * State:  host authentication was begun and is not required; half of its time is over without a word of the server's.
 * Danger: a server without it waits for a CONNPROP_FINAL, which may not be sent before it said a word (draft-07 4.3):
 *         each connection that begins so ends so, and the server is lost for good.
 * Rule:   profile section 7.1: another connection begins without. A server that said anything gets no second way.
 * Pinned: tests/session/test_hostauth_silent.c:a_silent_server_is_asked_without
 */
static inline bool session_may_be_bare(const struct leg *leg, int status)
{
	return status == ERR_TIMEOUT && leg_is_silent(leg);
}

/** session_goes_bare - whether a connection to server @slot of @rs is to begin without; @retried: for it was silent. */
static inline bool session_goes_bare(const struct route_state *rs, unsigned slot, bool retried)
{
	const struct leg_auth *auth = rs->route->server.auth;

	return auth && !auth->required &&
	       (retried || rs->proxy->now < servers_bare_until(rs->servers, slot));
}

/** session_server_text - the server that is chosen, for the log. Return: @text, of FABRIC_ADDR_TEXT octets. */
static inline const char *session_server_text(const struct session *s, char *text)
{
	struct fabric_addr addr;

	servers_addr(s->route->servers, s->way->guest.server, &addr);
	return fabric_addr_format(&addr, text);
}

/* probe.c */

/** probes_init - none; before probes_end(). */
void probes_init(struct route_state *rs);

/** probes_begin - from now on the servers of @rs are asked whether they answer, if that is for this relay to do. */
void probes_begin(struct route_state *rs);

/** probes_end - no more, and those under way are over. */
void probes_end(struct route_state *rs);

/** probe_input - one fabric event of the leg of a probe. */
void probe_input(struct leg *leg, const struct fabric_event *ev);

/** session_random - for XIDs and marks: these need to differ, not to be secret. Nothing that has to be may come of it. */
static inline uint64_t session_random(struct proxy *p)
{
	return random_next(&p->random);
}

#endif
