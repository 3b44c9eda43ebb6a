/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SESSION_H
#define PROXY_SESSION_H

#include "base/pool.h"
#include "proxy/leg.h"
#include "proxy/plan.h"
#include "proxy/proxy.h"
#include "proxy/recvs.h"

/**
 * session - one client leg paired with one server leg, for life; and
 * txn - one RPC in flight between them, in either direction.
 *
 * Inside of proxy/ only. session.c pairs the legs and routes what comes out of
 * them; txn.c carries one RPC through its steps.
 */

enum {
	SESSION_OP_DEPTH = 64, /* Reads and Writes outstanding on one leg */
	SESSION_EXPOSURES = SESSION_OP_DEPTH * LEG_EXPOSURES_PER_OP,
	SESSION_BUCKETS = 128, /* transactions by XID */
	SESSION_ASIDE = 256,   /* calls of the server set aside */
	TXN_REPLY_BESIDE_WRITES =
		64 * 1024, /* what results leave of a reply when they are reduced */
};

enum txn_state {
	TXN_WAITING, /* for memory or exposures; holds none */
	TXN_PULL,    /* reading what the requester exposed */
	TXN_CALL,    /* call queued or on its way to the responder */
	TXN_WAIT,    /* for the reply */
	TXN_FENCE,   /* exposures being withdrawn, before anybody uses their memory */
	TXN_PUSH,    /* writing what the responder returned */
	TXN_REPLY,   /* reply queued or on its way to the requester */
	TXN_FAILED,  /* error reported; waits for operations still posted */
};

/** struct txn_region - one chunk's memory between the legs. */
struct txn_region {
	uint8_t *addr;	 /* arena block, or borrowed memory when !owned */
	uint32_t cap;	 /* octets the chunk can hold */
	uint32_t len;	 /* octets in it */
	uint32_t handle; /* exposed to the responder under, 0 not */
	bool owned;
};

struct session;

struct txn {
	struct txn *hash_next;
	struct list link; /* session's txns */
	struct list
		op_link; /* requester leg's queue for operation slots; self-linked when not in it */
	struct list wait_link; /* session's admission queue, likewise */
	struct list late_link; /* route's unanswered calls, likewise */
	nsec_t answer_by;      /* when in that list: let go then */
	struct session *s;
	bool reverse; /* from the server to the client */
	enum txn_state state;
	struct leg *req, *rsp;

	struct leg_held call_held, reply_held;
	struct leg_tx call_tx, reply_tx;
	bool call_pending, reply_pending; /* with a leg: sent and not given back */
	bool replied;			  /* the reply may come before the call's completion */

	struct txn_region reads[RPC_MAX_CHUNKS], writes[RPC_MAX_CHUNKS], body, reply;
	uint32_t reply_bytes;  /* Reply chunk to offer the responder, 0 none */
	unsigned exposures;    /* regions it may expose to the responder: its share, once started */
	unsigned exposed;      /* regions exposed to the responder now */
	bool started;	       /* admitted: runs, holds memory */
	bool aside;	       /* its call holds no Receive, though it waits */
	size_t taken;	       /* octets of blocks */
	struct view call_body; /* the call's payload stream, once complete */
	uint64_t mark;	       /* in a Reply chunk until it is written, or 0: txn_written() */
	struct view reply_body; /* the reply's: in its Receive, or in the Reply chunk's region */

	/* Progress through the segments to Read or Write, and what is posted of them. */
	unsigned op_chunk, op_seg;
	uint32_t op_offset;
	unsigned ops;

	struct rpc_msg in; /* the requester's call as it came: its chunks, for the way back */
	struct rpc_msg
		out; /* the message formed for the other leg: first the call, then the reply */
};

/** struct session_reports - of errors by its peers: those in the log, and those not. */
struct session_reports {
	unsigned told;
	nsec_t last; /* when */
	uint64_t untold;
};

enum session_state { SESSION_CONNECT, SESSION_ACCEPT, SESSION_OPEN, SESSION_CLOSING, SESSION_DEAD };

/** struct session_stat - what is counted of one leg. */
struct session_stat {
	uint64_t calls, replies, rcalls, rreplies;
	uint64_t bytes_in, bytes_out; /* payload octets: bodies and chunks */
};

/** struct session_watch - one kind of progress a peer may fail to make. */
struct session_watch {
	uint64_t mark;
	unsigned times; /* it was found unchanged */
};

/* How often sessions are looked at, and how often one may be found without progress. */
#define SESSION_WATCH (10 * NSEC_PER_SEC)
enum { SESSION_PATIENCE = 6 };

/** struct session_ops - operations and exposures of one leg. */
struct session_ops {
	struct list queue; /* txns with Reads or Writes to post */
	unsigned posted;
	unsigned exposed; /* promised to transactions that run */
	uint64_t done;	  /* Reads and Writes completed */
	struct session_watch sends, message, moves;
};

/** struct session_queue - admission of the calls of one direction: forward, reverse. They do not
 * wait for each other, for a server may need a callback's answer before it goes on. */
struct session_queue {
	struct session *s;
	struct list waiting;	  /* txns not admitted yet, in order */
	struct buf_waiter waiter; /* for the first of them */
	unsigned running, limit;  /* txns admitted: a bound on their number, whatever peers send */
	unsigned aside;		  /* txns whose calls were set aside */
	size_t taken;		  /* octets, by those admitted */
};

/** struct route_state - one worker's view of a route. */
struct route_state {
	struct proxy *proxy;
	const struct proxy_route *route;
	struct leg_config server_v1; /* the server leg's, when the upstream speaks only 1 */
	nsec_t v1_until;	     /* that is believed until then */
	struct list unanswered[2];   /* txns, forward and reverse, the longest waiting first */
};

struct session {
	struct list link;   /* proxy's sessions */
	struct list dirty;  /* proxy's sessions to pump; self-linked when not */
	struct list timed;  /* proxy's sessions with a deadline; likewise */
	struct list modest; /* proxy's sessions that leave memory to others; likewise */
	size_t fixed_bytes; /* Receives and headers of both legs */
	struct proxy *proxy;
	struct route_state *route;
	uint64_t id;
	enum session_state state;
	struct leg client, server;
	struct session_stat cstat, sstat;
	struct session_reports reports;
	struct session_watch crossed;
	bool retried_v1;      /* the server has not proved yet that it speaks that */
	uint8_t request[512]; /* the client's private data, until accept */
	size_t request_len;
	struct list txns;
	unsigned ntxns;
	struct session_queue forward, reverse;
	struct session_ops cops, sops;
	struct txn *buckets[SESSION_BUCKETS];
};

/** struct proxy - one worker's relay; shared by proxy.c, session.c and txn.c. */
struct proxy {
	struct proxy_config cfg;
	struct buf_arena arena;
	struct pool txns;
	struct list sessions;
	struct list dirty;
	struct list timed;
	struct list modest;
	size_t reverse_bytes; /* taken by transactions of the reverse direction */
	size_t fixed_bytes;   /* of all sessions: at most half of the memory */
	size_t fixed_limit;   /* ... less what shared Receives may take */
	struct recvs *recvs;  /* one a fabric, in use where it shares Receives */
	unsigned nsessions;
	atomic_uint own_sessions; /* what cfg.sessions points to unless shared */
	uint64_t next_session;
	uint64_t random; /* XIDs of the gateway's own messages */
	nsec_t now, drain_deadline;
	nsec_t watch_at; /* when sessions are looked at next; NSEC_NEVER without any */
	nsec_t late_at;	 /* when late_look() is next needed, at the earliest; likewise */
	bool draining;
	unsigned nregistered;
	struct proxy_counters count;
	struct route_state routes[];
};

/* session.c */

/** session_open - answer an incoming connection; takes @ev->conn. */
void session_open(struct route_state *rs, const struct fabric_event *ev);

/** session_input - one fabric event of one of its legs. */
void session_input(struct session *s, struct leg *leg, const struct fabric_event *ev);

/** session_pump - after a batch: queued messages, admission, Sends. */
void session_pump(struct session *s);

/** session_resume - memory came free for the first transaction waiting in @q. */
void session_resume(struct session_queue *q);

/** session_deadline, session_tick - set-up time-outs. */
nsec_t session_deadline(const struct session *s);
void session_tick(struct session *s, nsec_t now);

/** session_look - every SESSION_WATCH: end @s if one of its peers does not move. */
void session_look(struct session *s);

/** session_close - orderly end of both legs. */
void session_close(struct session *s, int status, const char *why);

/** session_free - takes @s, in any state; gives back everything. */
void session_free(struct session *s);

/* session_version.c: which version the server speaks */

/** session_connect_server - open the server leg. Return: as leg_connect(). */
int session_connect_server(struct session *s) WARN_UNUSED;

/** session_retry_as_v1 - the server leg ended with @status. Return: whether another is under way. */
bool session_retry_as_v1(struct session *s, int status);

/** session_remember_v1, session_forget_v1 - the verdict "speaks only version 1": it was proved; the
 * server leg ended with @status, which may be against it. */
void session_remember_v1(struct session *s);
void session_forget_v1(struct session *s, int status);

/* session_log.c */

/** session_log_legs - one line event=leg for each leg. */
void session_log_legs(const struct session *s);

/** session_log_report - the peer of @leg reports an error; a line, unless there were many. */
void session_log_report(struct session *s, const struct leg *leg, const struct leg_out *out);

/** session_log_untold - at the end: how many had none since the last. */
void session_log_untold(const struct session *s);

/** session_random - for XIDs and marks. */
uint64_t session_random(struct proxy *p);

/** session_touch - have session_pump() called at the end of this turn. */
void session_touch(struct session *s);

static inline struct session *session_of(struct leg *leg)
{
	return leg->role == RPC_ACCEPTOR ? container_of(leg, struct session, client)
					 : container_of(leg, struct session, server);
}

static inline struct session_ops *session_ops(struct session *s, const struct leg *leg)
{
	return leg == &s->client ? &s->cops : &s->sops;
}

static inline struct session_queue *session_queue(struct session *s, bool reverse)
{
	return reverse ? &s->reverse : &s->forward;
}

static inline struct session_stat *session_stat(struct session *s, const struct leg *leg)
{
	return leg == &s->client ? &s->cstat : &s->sstat;
}

/* txn.c: the life of one RPC */

/** txn_call - a call arrived on @req; takes @out->held. */
void txn_call(struct session *s, struct leg *req, struct leg_out *out);

/** txn_reply - a reply arrived on @rsp; takes @out->held. */
void txn_reply(struct session *s, struct leg *rsp, struct leg_out *out);

/** txn_error - the responder on @rsp reports an error about a call. */
void txn_error(struct session *s, struct leg *rsp, const struct leg_out *out);

/** txn_sent - one of a transaction's messages left, or was flushed. */
void txn_sent(struct txn *t, const struct leg_out *out);

/** txn_op - one of its Reads, Writes or withdrawals completed. */
void txn_op(struct txn *t, const struct leg_out *out);

/** txn_let_go - @t is not waited for any longer; nobody is told. */
void txn_let_go(struct txn *t);

/** txn_ops_done - every Read or Write of @t is posted; called by txn_ops.c. */
void txn_ops_done(struct txn *t);

/** txn_fail - the requester is told that, and @t ends; may release it. */
void txn_fail(struct txn *t, enum rpc_error_code code, uint32_t a, uint32_t b);

/** txn_release - give back everything @t holds; its legs no longer use any of it. */
void txn_release(struct txn *t);

/* txn_admit.c: which may run */

/** txn_queue - @t waits for its turn, which may be now; may release it. */
void txn_queue(struct txn *t);

/** txn_move_call - @t has to wait: its call is moved out of its Receive, where these are shared, few
 * are left, and there is memory for it. Before its call is formed. */
void txn_move_call(struct txn *t);

/** txn_move_reply - likewise its reply: the requester does not take it yet. Before it is formed. */
void txn_move_reply(struct txn *t);

/** txn_admit - start waiting transactions of @q, in order, as memory and exposures allow.
 * @turn: the arena says that it is this queue's turn. */
void txn_admit(struct session_queue *q, bool turn);

/** txn_unqueue - @t ends: its place, its exposures and its share of memory are others'. */
void txn_unqueue(struct txn *t);

/* txn_memory.c: its regions */

/** txn_need - octets of blocks and number of exposures the regions of @t take. */
size_t txn_need(const struct txn *t, unsigned *exposures);

/** txn_take - all regions at once, or none. Return: 0 or ERR_AGAIN. */
int txn_take(struct txn *t) WARN_UNUSED;

/**
 * txn_written - octets of @reported that the responder really wrote into @r
 *
 * What it did not write is older memory of the gateway, and not the requester's to see.
 * Linux (6.1) needs this as well: with Write chunks in the same call it reports a Reply
 * chunk longer than what it wrote there. On fabrics that cannot tell, what is exposed was
 * blanked before; the Reply chunk of a call with Write chunks with a mark, by which its end
 * is found.
 */
uint32_t txn_written(const struct txn *t, const struct txn_region *r, uint64_t reported,
		     const struct leg_out *out);

/** txn_give - regions back to the arena. */
void txn_give(struct txn *t);

/** txn_expose - one region to the responder, as a chunk of t->out cut to what it takes. */
int txn_expose(struct txn *t, struct txn_region *r, uint32_t len, unsigned access,
	       uint32_t position, struct rpc_chunk *chunk) WARN_UNUSED;

/** txn_fence - withdraw every exposure. Return: whether all are fenced now; else
 * FABRIC_EV_WITHDRAWN completions follow, counted in t->ops. */
bool txn_fence(struct txn *t);

/* txn_form.c: its messages */

/** txn_call_body_len - octets of the call's payload stream, whether it is here yet or not. */
size_t txn_call_body_len(const struct txn *t);

/** txn_plan - how the call goes to the responder; @header_len: of its inline form. */
void txn_plan(struct txn *t, size_t header_len, struct plan_call *out);

/** txn_form_call - t->out for the responder, once everything was pulled; exposes regions.
 * Return: 0; ERR_CLOSED when the responder is gone; else an error with @e for the requester. */
int txn_form_call(struct txn *t, struct rpc_error *e) WARN_UNUSED;

/** txn_take_results - lengths and body of the responder's reply, as far as they can be believed.
 * Return: 0 or ERR_PROTO. */
int txn_take_results(struct txn *t, const struct leg_out *out) WARN_UNUSED;

/** txn_form_reply - t->out for the requester, out of t->reply_body and t->writes. Return: 0, or
 * an error with @e for the requester. */
int txn_form_reply(struct txn *t, struct rpc_error *e) WARN_UNUSED;

/** txn_inv_handle - a handle of the call that its sender lets the reply invalidate, or 0. */
uint32_t txn_inv_handle(const struct txn *t);

/* txn_late.c: calls without an answer */

/** txn_await - the call was sent: its answer is waited for from now on. */
void txn_await(struct txn *t);

/** late_look - let go what has waited for too long; before p->late_at there is nothing. */
void late_look(struct proxy *p);

/* txn_ops.c: its Reads and Writes */

/** txn_ops_begin - queue @t for the Reads (TXN_PULL) or Writes (TXN_PUSH) it needs. */
void txn_ops_begin(struct txn *t);

/** txn_ops_run - post what fits on @leg, for the transactions queued there, in order. */
void txn_ops_run(struct session *s, struct leg *leg);

#endif
