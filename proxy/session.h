/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SESSION_H
#define PROXY_SESSION_H

#include "base/budget_queues.h"
#include "base/mem.h"
#include "base/timer.h"
#include "fabric/preauth_queue.h"
#include "proxy/deadlines.h"
#include "proxy/gss_order.h"
#include "proxy/handshake_limit.h"
#include "proxy/leg/leg.h"
#include "proxy/plan/hop.h"
#include "proxy/proxy.h"
#include "proxy/servers.h"

/**
 * session - one client leg paired with one server leg, for life
 *
 * Inside of proxy/ only. The files:
 * - session_open.c admits clients. session_route.c finds the route of clients that have to prove
 *   their name first. session_address.c has what a client's address decides.
 * - session.c pairs the legs and handles what the legs report. session_end.c ends sessions.
 * - session_server.c finds the server, session_version.c its version, session_hop.c the distance of
 *   both peers.
 * - session_handshakes.c and session_auth.c limit handshakes of host authentication.
 * - session_share.c names the accounts for the session's memory.
 * - session_debts.c ends sessions whose peers make no progress. session_recv_reclaim.c ends
 *   sessions whose messages hold too many shared Receives.
 * - session_log.c writes the log.
 */

struct route_state;
struct share;
struct txn;
struct txn_cached;

enum {
	SESSION_OP_DEPTH = BUDGET_OPS, /* Reads and Writes outstanding on one leg */
	SESSION_BUCKETS = 64,	       /* transactions by XID */
	SESSION_HANDLES_BITS = 9,
	SESSION_HANDLES = 1 << SESSION_HANDLES_BITS, /* counters of handles, by hash */
};

/** struct session_reports - error reports of both peers: those logged, and those suppressed since
 * the last log line. */
struct session_reports {
	unsigned logged; /* reports with a line of their own */
	nsec_t last;	 /* when the last report was logged */
	uint64_t suppressed;
};

/** enum session_state - the first comment of session.c describes the states. */
enum session_state {
	SESSION_CONNECT,
	SESSION_ACCEPT,
	SESSION_PROVE,
	SESSION_JOIN,
	SESSION_OPEN,
	SESSION_CLOSING,
	SESSION_DEAD
};

/** struct session_stat - counters of one leg. */
struct session_stat {
	/* RPCs relayed: forward calls and replies, reverse calls and replies. Both legs count
	 * each. */
	uint64_t calls, replies, rcalls, rreplies;
	/* Octets of bodies and chunks that came on this leg, and that were sent on this leg. */
	uint64_t bytes_in, bytes_out;
	uint64_t large; /* calls that arrived on this leg and took a block above SESSION_LARGE */
	/* Replies received or sent of which all or a part travelled by RDMA Write. */
	uint64_t written;
};

enum { SESSION_LARGE = 16 << 10 }; /* octets */

/* The debts that a peer may have, and the two budgets of time for it: session_debts.c. */
enum debt_of_leg { DEBT_OUTPUT, DEBT_READS, DEBT_MESSAGE, DEBTS };
enum debt_budget { DEBT_COMMON, DEBT_WHILE_PRESSED, DEBT_BUDGETS };
enum { DEBT_STEPS = 2 }; /* kinds of steps of one debt */

/** struct debt - one thing that a peer owes, as of the last look. */
struct debt {
	/* Time left in each budget, ns; the session ends when either is used up. */
	nsec_t left[DEBT_BUDGETS];
	uint64_t moved; /* octets that had moved so far */
	/* Steps (messages or operations) that must be done until the budgets are full again. */
	uint64_t due[DEBT_STEPS];
	bool is_owed; /* the peer owed something at the last look; the fields above are valid */
};

/** struct session_flow - the Reads, or the Writes, of one leg. */
struct session_flow {
	unsigned posted; /* operations posted and not completed */
	uint64_t octets; /* octets of the operations in .posted */
	uint64_t done;	 /* operations completed so far */
	uint64_t moved;	 /* octets of the operations completed */
	/* session_flow_window(): the window that the peer has earned (0: none yet); the operation
	 * whose time is measured (.done when it has completed; 0: none), since when, and .octets
	 * when it was posted. */
	uint64_t window, timed, timed_octets;
	nsec_t timed_at;
	/* session_flow_is_fast(): octets of the sample that is measured now, the time in which
	 * operations of the sample were outstanding until .busy_since, and whether the peer was
	 * fast in the last sample */
	uint64_t sample_octets;
	nsec_t sample_time, busy_since;
	bool was_fast;
};

/** struct session_proof - forms of calls that a peer has accepted: txn_retry_form.c. */
struct session_proof {
	uint32_t continued; /* longest continued call, octets */
	uint32_t segments;  /* most segments in one call */
	bool body_chunk;
	bool placed; /* a call with its data in the Send was accepted */
	bool wishes; /* a call that asked for the reply's data in its Send was accepted */
};

/** struct session_ops - operations and exposures of one leg. */
struct session_ops {
	struct list queue; /* txns with Reads or Writes to post */
	struct session_flow reads, writes;
	/* txns with Writes of cut-through results to post: txn_cut_through.c */
	struct list cut_through_txns;
	bool pieces_first; /* .cut_through_txns have the next turn, not .queue: txn_step.c */
	unsigned exposed;  /* exposures reserved for running transactions */
	struct debt debts[DEBTS];
	/* Number of looks at debts at which a continued message waited for credits (leg_waits()) and
	 * leg_limit() was .credits; 0: no message waits. */
	uint32_t credits_looks, credits;
	/* Total time in which the peer's input was blocked here, and since when it is blocked
	 * now; NSEC_NEVER: it is not. */
	nsec_t blocked_ns, blocked_since;
	/* Sum of the times between two looks, for each look that found that the peer's input waits
	 * for the other leg's peer (leg_sink_is_blocked()). */
	nsec_t sink_blocked_ns;
};

/** struct session_hop - how far the peer of a leg is: session_hop.c. */
struct session_hop {
	enum hop hop; /* as the route configures it */
	struct hop_times times;
	/* When the properties of the peer were requested; 0: they were not, or they have come. */
	nsec_t requested_at;
	bool is_far;	 /* as configured, or as measured so far */
	bool is_settled; /* no measurement can change .is_far any more */
};

/**
 * struct session_queue - admission of the calls of one direction, forward or reverse
 *
 * The two queues do not wait for each other, because a server may need the answer to a callback
 * before it continues.
 */
struct session_queue {
	struct session *s;
	/* Calls that wait for a transaction block, in order: txn_alloc.c. */
	struct list deferred;
	struct gss_order gss_order;	 /* which calls may pass those that wait */
	struct quota_member block_quota; /* waits for a block for the first of .deferred */
	struct txn_cached *cached;	 /* cached transaction blocks, charged to .block_quota */
	struct list cached_link;   /* in proxy.caching_queues; self-linked if .cached is empty */
	struct list waiting;	   /* txns not admitted yet, in order */
	struct list passing;	   /* txns that lack only a place, and pass .waiting; in order */
	struct quota_member quota; /* quota of payload memory; waits for the first of .waiting */
	size_t taken_bytes;	   /* octets of payload memory that admitted txns hold */
	/* Txns admitted, and the limit of that number, whatever the peers' credits allow. */
	unsigned running, limit;
	unsigned beyond;	 /* txns of .running that run beyond .limit */
	uint32_t next_turn;	 /* number for the next txn in .waiting or .passing */
	uint64_t ended;		 /* txns released */
	struct debt answers_due; /* the debt of answers without which no other call can proceed */
};

/** struct session_upstream - the session's choice of a server, of those that its route has:
 * session_server.c. */
struct session_upstream {
	struct list link; /* route_state.upstreams */
	struct session *s;
	struct servers_user user;
	unsigned looks; /* at a look-up that the session waits for: base/pause.h */
	/* The client was assigned another server: the server leg is closed for that reason. */
	bool has_moved;
	struct via via; /* the gateways that the client came through, then this one */
};

/* Octets of the heap that a session's choice of a server takes, its share of proxy/servers.c
 * included. */
enum { SESSION_UPSTREAM_BYTES = sizeof(struct session_upstream) + 64 };

struct session {
	struct list link;   /* in proxy.sessions */
	struct list dirty;  /* in proxy.dirty (to be pumped, or freed if dead); self-linked: not */
	size_t fixed_bytes; /* octets of Receives and headers of both legs */
	struct proxy *proxy;
	struct route_state *route;
	/* The route at whose listener the client arrived: .route, or the one whose listener .route
	 * shares. */
	struct route_state *listener;
	struct session_upstream *upstream; /* owned */
	uint64_t id;
	char host[FABRIC_ADDR_TEXT]; /* the client's address, as limits count clients */
	struct host *place;	     /* the client's entry in the session limits */
	/* The client's account of this worker's memory; NULL: not counted. */
	struct share *share;
	/* In proxy.preauth_queue while the session is silent: until its client has sent a message
	 * and, if it has to, proved its name, or until the session ends. */
	struct preauth_queue_member silent;
	/* Places of both legs among the handshakes of host authentication. */
	struct handshake_slot slots[PROXY_SIDES];
	enum session_state state;
	struct leg client, server;
	struct session_stat stat[PROXY_SIDES];
	struct session_reports reports;
	bool speaks[PROXY_SIDES];    /* the route counts the version of that side's peer */
	uint8_t spoken[PROXY_SIDES]; /* the version of that peer: leg_spoken() */
	nsec_t begun;		     /* when the client connected */
	/* Armed: the session ends between two RPCs, and at this time in any case. */
	struct timer leave;
	struct timer setup; /* deadline of the legs' set-up */
	/* Next attempt after a device was short of resources: txn_device_busy.c. */
	struct timer busy_timer;
	struct list busy_calls; /* txns that wait for that attempt, without exposures */
	struct list owing;	/* in proxy.owing; self-linked when nothing is in flight */
	nsec_t looked;		/* when the debts of both peers were last looked at */
	bool owes;		/* something was in flight at .looked */
	/* The server leg speaks version 1 after version 2 failed, and no message has confirmed
	 * version 1 yet. */
	bool retried_v1;
	bool has_heard; /* the server has sent a message: session_hear() */
	/* The server was silent when host authentication was begun; the server leg does without. */
	bool retried_bare;
	/* A remembered verdict about host authentication proved wrong and was dropped. */
	bool retried_anew;
	bool has_version_3; /* the client has called version 3 of NFS */
	uint8_t *request;   /* the client's private data, kept until accept; owned, or NULL */
	size_t request_len;
	struct list txns;
	unsigned ntxns; /* transactions in .txns */
	struct session_queue forward, reverse;
	struct session_ops ops[PROXY_SIDES];
	/* Shared Receives that both legs have held since the last look; valid while
	 * session_recv_reclaim.c looks. */
	uint32_t stuck_recvs;
	struct session_proof proof[PROXY_SIDES];
	struct session_hop hop[PROXY_SIDES];
	struct txn *buckets[SESSION_BUCKETS];
	/* How many version 1 calls in flight name a handle, by hash: txn_remote_inval.c. */
	uint8_t handle_uses[SESSION_HANDLES];
};

static inline struct session *session_of(struct leg *leg)
{
	return leg->role == RPC_ACCEPTOR ? container_of(leg, struct session, client)
					 : container_of(leg, struct session, server);
}

static inline enum proxy_side session_side(const struct leg *leg)
{
	return leg->role == RPC_ACCEPTOR ? PROXY_CLIENT : PROXY_SERVER;
}

static inline struct session_ops *session_ops(struct session *s, const struct leg *leg)
{
	return &s->ops[session_side(leg)];
}

static inline struct session_proof *session_proof(struct session *s, const struct leg *leg)
{
	return &s->proof[session_side(leg)];
}

static inline struct session_queue *session_queue(struct session *s, bool reverse)
{
	return reverse ? &s->reverse : &s->forward;
}

/** session_requester, session_responder - the leg that the calls of @q come from, and the leg
 * that they go to. */
static inline struct leg *session_requester(const struct session_queue *q)
{
	return q == &q->s->forward ? &q->s->client : &q->s->server;
}

static inline struct leg *session_responder(const struct session_queue *q)
{
	return q == &q->s->forward ? &q->s->server : &q->s->client;
}

/** session_calls_wait - whether calls wait in @q, for a transaction block or for admission. */
static inline bool session_calls_wait(const struct session_queue *q)
{
	return !list_is_empty(&q->waiting) || !list_is_empty(&q->passing) ||
	       !list_is_empty(&q->deferred);
}

/** session_awaits_server - whether the server leg of @s is in set-up. */
static inline bool session_awaits_server(const struct session *s)
{
	return s->state == SESSION_CONNECT || s->state == SESSION_JOIN;
}

/** session_is_idle - whether no call of @s is in flight. */
static inline bool session_is_idle(const struct session *s)
{
	return s->ntxns == 0 && list_is_empty(&s->forward.deferred) &&
	       list_is_empty(&s->reverse.deferred);
}

static inline struct session_stat *session_stat(struct session *s, const struct leg *leg)
{
	return &s->stat[session_side(leg)];
}

static inline struct session_hop *session_hop(struct session *s, const struct leg *leg)
{
	return &s->hop[session_side(leg)];
}

/* session.c */

/** session_input - handle one fabric event of @leg. */
void session_input(struct session *s, struct leg *leg, const struct fabric_event *ev);

/** session_pump - after a batch of events: handle queued messages, start calls that wait, and post
 * Sends. */
void session_pump(struct session *s);

/** session_resume - memory came free for the first transaction that waits in @q. @has_block: a
 * transaction block came free instead, for the first of q->deferred. */
void session_resume(struct session_queue *q, bool has_block);

/** session_free - takes @s, in any state; gives back all it holds. */
void session_free(struct session *s);

#endif
