/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_LEG_LEG_H
#define PROXY_LEG_LEG_H

#include "fabric/fabric.h"
#include "proxy/leg/leg_auth.h"
#include "proxy/leg/via.h"
#include "proxy/memory/quota.h"
#include "rpc/transport.h"
#include "v1/conn.h"
#include "v2/conn.h"
#include "v2early/conn.h"

/**
 * leg - one RDMA connection with one protocol version on it: the place where a
 * transport (v1, v2) meets a fabric connection. It posts Receives, finds the
 * version, drives negotiation and fall-back, queues Sends against credits,
 * assembles continued messages. It knows nothing of RPC relaying: the gateway's
 * sessions and rpcrdma-perf both stand on it.
 *
 * Fabric events of the connection go into leg_input(); what comes out is one
 * struct leg_out. Nothing is called back.
 */

/* A connection allows this many exposures for each of its user's operations at once. */
enum { LEG_EXPOSURES_PER_OP = 4 };

enum leg_version { /* bit mask */
		   LEG_V1 = 1,
		   LEG_V2 = 2,
		   LEG_V2_EARLY =
			   4, /* the early draft of version 2; an initiator speaks it alone */
		   LEG_V1_OR_V2 = LEG_V1 | LEG_V2,
};

/* Versions that a leg may speak, as words: leg_spoken(). */
enum { LEG_VERSIONS = 3 };

/** struct leg_config - shared by many legs, immutable; sizes in octets. */
struct leg_config {
	unsigned versions; /* acceptor: accepted; initiator: tried, 2 first when both */
	uint32_t
		inline_bytes; /* size of Receives and largest Send: 1024 .. 65536, multiple of 1024 */
	uint32_t
		bulk_bytes; /* of a second piece of each Receive, for data that come with a call (v2);
			       * 0: none */
	uint32_t
		peer_bulk_bytes; /* the same of the peer's Receives, where its version has no word for it */
	uint32_t credits;     /* calls (v1) or messages (v2) the peer may have outstanding */
	uint32_t rev_credits; /* v1: the same for the reverse direction */
	bool literal_credits; /* v2: see rpc_params */
	uint32_t max_message; /* longest continued message assembled */
	uint32_t segment_bytes, segment_count; /* v2 properties 3 and 4 */
	enum rpc_reverse reverse;	       /* v2 property 5 */
	nsec_t reply_timeout; /* calls to this peer are let go then, 0 never: its user's affair, but
			       * for the Receives kept for late answers */
	struct fabric_tuning tuning; /* of the connection */
	uint32_t exposures;	     /* regions its user exposes at once; 0: LEG_EXPOSURES_PER_OP
				      * for each operation */
	uint32_t domain;	     /* whose handles it may share (fabric_conn_params) */
	const struct leg_auth
		*auth;	      /* borrowed; NULL: off. Of version 2: where it is required, .versions
				      * has no other */
	nsec_t setup_timeout; /* from connection to READY (initiator), to the first message (acceptor) */
};

enum leg_state {
	LEG_IDLE,
	LEG_CONNECTING,	 /* fabric connection under way, either role */
	LEG_NEGOTIATING, /* initiator v2: properties on their way; acceptor: first message awaited */
	LEG_OPEN,
	LEG_CLOSED, /* DISCONNECTED was seen, or never connected */
};

struct leg_rbuf; /* one Receive buffer; private */
struct recvs;	 /* recvs.h */

/** struct leg_held - what a received message's views point into; give back with leg_put(). */
struct leg_held {
	struct leg_rbuf *rbuf;
	void *assembly; /* block of the arena: the body of a continued message */
};

/** struct leg_tx - one message to send, embedded in its owner; zero-initialise the rest. */
struct leg_tx {
	struct list link; /* private */
	struct rpc_tx
		tx; /* .msg and .reverse set by the caller; message and body stay put until SENT */
	uint32_t inv_handle; /* peer's handle to invalidate with the last Send, or 0 */
	unsigned posted;     /* private: Sends outstanding */
	bool encoded;	     /* private: all Sends posted */
	bool over;	     /* private: that, or it failed: SENT when those posted are back */
	int status;	     /* first failure */
	void *owner;	     /* the caller's */
};

enum leg_out_kind {
	LEG_OUT_NONE,
	LEG_OUT_READY, /* initiator: negotiation done, leg->t->version and limits are final;
			 * acceptor: connection accepted (version still unknown, leg->t NULL) */
	LEG_OUT_MSG,   /* .msg with views into .held: the receiver's to put */
	LEG_OUT_ERROR, /* the peer reports .error about message .xid of ours (.reverse) */
	LEG_OUT_SENT,  /* .tx is the caller's again; .status 0 or ERR_FLUSHED ... */
	LEG_OUT_OP, /* completion of the caller's own fabric_read/write/withdraw: .cookie, .status; or what came of a stream */
	LEG_OUT_SATED, /* it keeps so many shared Receives that what comes next waits: give back what can be; or no more */
	LEG_OUT_CLOSED, /* the last one: .status, .why. Every tx and op was given back before */
};

/** struct leg_out - of the fields behind .kind only those of that kind are set. */
struct leg_out {
	enum leg_out_kind kind;
	struct rpc_msg *msg; /* MSG: may be changed; valid until the next leg_input()/leg_resume()
			      * of any leg of the fabric */
	struct leg_held held;
	uint32_t invalidated; /* MSG: handle of ours the peer invalidated, or 0 */
	uint32_t xid;
	bool reverse; /* ERROR: about the reverse direction; MSG: travels in it */
	struct rpc_error error;
	bool cut;      /* ERROR: of an answer that ends early: leg_cut(), if a call of .xid waits */
	bool doubtful; /* ERROR: about that call, or a form of it that was given up before */
	struct leg_tx *tx;
	void *cookie;
	enum fabric_ev_type op;	  /* OP: READ, WRITE, WITHDRAWN or PLACED */
	uint32_t handle, written; /* ... WITHDRAWN: as the event has them */
	const uint8_t *at;	  /* ... PLACED: likewise, and the next */
	uint32_t offset, len;
	int status;
	const char *why;
};

/** struct leg_tap - who sees each message of a leg as it is posted, or received; .see NULL: nobody now. */
struct leg_tap {
	void (*see)(struct leg *leg, bool is_sent, const struct fabric_sge *sge, unsigned n);
};

struct leg {
	const struct leg_config *cfg;
	struct buf_arena *arena;
	enum rpc_role role;
	enum leg_state state;
	struct fabric_conn *conn;
	struct rpc_transport *t; /* NULL until the version is known */
	union {
		struct v1_conn v1;
		struct v2_conn v2;
		struct early_conn early;
	} u;
	struct rpc_msg *msg;	 /* received; those whose Receives are shared have one together */
	uint32_t refused, early; /* acceptor: messages sent, received before that */
	uint32_t first_xid;	 /* v2 initiator: random, from the caller */
	uint32_t sits_on; /* shared Receives held that it held at the pool's last look, too */
	nsec_t deadline;  /* leg_tick() is due then; NSEC_NEVER when open */
	nsec_t setup_end; /* when set-up has taken too long */
	bool remote_inv;  /* handles of ours may be invalidated by messages: the fabric's word */
	bool gated;	  /* see leg_is_at_door(); set after leg_init() */
	bool held;	  /* see leg_holds_back(); likewise */
	bool bare; /* begins without the host authentication of its configuration; likewise */
	bool behind_silence; /* the last connection to this server was silent for half of the set-up time; likewise */
	bool settled; /* became open by leg_tick(): READY is due */
	bool copies; /* messages that the fabric copies are SENT at once, as leg_next() tells; likewise */
	int close_status; /* why this end closes, told in LEG_OUT_CLOSED */
	const char *close_why;

	struct v1_pdata peer_pdata;
	struct via via;		 /* initiator: what its request says of the gateways before */
	struct leg_proof *proof; /* who the peer is; NULL: nobody asks */
	/* Who works on that, borrowed; set after leg_init(); NULL: the leg itself. */
	struct jobs_port *jobs;
	const struct leg_tap
		*tap;		/* borrowed; set after leg_init(), unless there is never anybody */
	struct recvs *recvs;	/* where Receives are shared, else NULL */
	struct leg_rbuf *rbufs; /* Receives of its own; their octets are arena blocks */
	uint8_t **bulks;	/* their second pieces, blocks as well; NULL: they have none */
	uint32_t nrbufs;	/* Receives in all: posted, or, shared, promised */
	uint32_t posted;	/* of these not held by messages received */
	uint32_t grant;		/* what leg_set_grant() allows the peer */
	uint32_t awaiting;	/* calls of ours without a reply yet: Receives kept back for them */
	struct list rxq;	/* received while stalled, in order */
	struct list
		group; /* of a message of the round-trip extension: Sends that have come, in order */
	uint32_t group_bytes, group_at; /* all have: memory that it takes; octets gathered there */
	uint32_t group_xid;
	uint8_t ngroup;
	bool group_is_reply;
	bool group_gathers,
		group_ready; /* it has its memory; all is there, and leg_next() is due */
	/* Where legs stand that gather, for their user to leg_gather_some(): borrowed; set after leg_init(). NULL: each does so at
	 * once, however long that takes. */
	struct list *gatherers;
	struct list gathers;	  /* among these */
	struct leg_rbuf *stalled; /* its part of a message of several Sends waits for memory */
	struct view stalled_part;
	struct buf_waiter waiter; /* queued on the arena when stalled, unless it shares that: */
	struct quota_member quotas[QUOTA_PURPOSES]; /* ... one of these is in line instead */

	uint8_t *assembly;				     /* continued message in progress */
	uint32_t assembly_len, assembly_cap, assembly_total; /* cap: of the block so far */
	enum buf_purpose assembly_purpose;
	uint32_t assembly_xid;
	uint32_t begun; /* continued messages so far, and times that one went on after a stall */
	uint64_t parts; /* octets of them, taken so far */
	uint32_t invalidated; /* by parts of the one in progress */
	uint32_t also_xid;    /* a call of ours whose ERROR is due, too */
	bool also_failed;

	struct leg_slot *slots, *free_slots; /* header octets of Sends; arena blocks */
	struct leg_slot *bare_slots;	     /* those that have to borrow them */
	uint32_t nslots;
	uint32_t sending;	    /* Sends outstanding */
	struct list replies, calls; /* leg_tx waiting */
	struct leg_tx *active;	    /* a continued message under way: nothing may come between */
	uint64_t sent;	  /* octets of completed Sends, without the transport's own messages */
	uint64_t replied; /* replies of which the last Send was posted */
	struct list dead; /* tx to be given back before anything else */
	bool closing, closed_told;
	bool discarding; /* a continued message in progress was refused */
	bool is_probe;	 /* its user's: of whom it is, where he has several kinds */
};

/** struct leg_way - how a server is reached; all borrowed for the call. */
struct leg_way {
	struct fabric *fabric;
	const struct fabric_addr *from; /* an address of this machine's; NULL: any */
	const struct fabric_addr *to;
	bool resets; /* as struct fabric_conn_params has it */
	/* The gateways that the client came through, this one last; NULL: none. */
	const struct via *via;
};

/**
 * leg_connect - open an initiator leg
 * @op_depth: fabric operations (Reads, Writes) the user posts itself at once
 *
 * Takes its fixed memory from @arena here (ERR_AGAIN when short).
 * Return: 0, then CONNECTING; or an error, and leg_fini() is still due.
 */
int leg_connect(struct leg *leg, const struct leg_config *cfg, struct buf_arena *arena,
		const struct leg_way *way, uint32_t op_depth, nsec_t now) WARN_UNUSED;

/** leg_accept - answer a FABRIC_EV_REQUEST: as leg_connect, for an acceptor leg. @request is its
 * private data; posts the Receives, then accepts. Takes @conn, also on error. */
int leg_accept(struct leg *leg, const struct leg_config *cfg, struct buf_arena *arena,
	       struct fabric_conn *conn, struct view request, uint32_t op_depth,
	       nsec_t now) WARN_UNUSED;

/** leg_fixed_bytes - memory a leg of @cfg on @fabric takes for as long as it lives, of its arena, of
 * the heap and for its connection's queues, struct leg itself excepted. */
size_t leg_fixed_bytes(const struct leg_config *cfg, const struct fabric *fabric,
		       uint32_t op_depth);

/** leg_exposures - regions that the user of a leg of @cfg may expose at once. */
static inline uint32_t leg_exposures(const struct leg_config *cfg, uint32_t op_depth)
{
	return cfg->exposures ? cfg->exposures : LEG_EXPOSURES_PER_OP * op_depth;
}

/** leg_holds - shared Receives that messages of this leg hold; 0 where they are its own. */
static inline uint32_t leg_holds(const struct leg *leg)
{
	return leg->recvs ? leg->nrbufs - leg->posted : 0;
}

/** leg_is_sated - it keeps so many shared Receives that what its peer said next waits (fabric_may_keep()). */
static inline bool leg_is_sated(const struct leg *leg)
{
	return leg->conn && leg->conn->waits;
}

/** leg_has_group - all of one has come, and has its memory: what comes behind it waits until it is told. */
static inline bool leg_has_group(const struct leg *leg)
{
	return leg->group_gathers || leg->group_ready;
}

/** leg_is_full - what its peer said next waits for the other peer of its user's to take what came before (fabric_stream()). */
static inline bool leg_is_full(const struct leg *leg)
{
	return leg->conn && leg->conn->is_full;
}

/** enum leg_block - what of the gateway keeps the peer of a leg from going on; bits of leg_blocked_by(). */
enum leg_block {
	LEG_BLOCK_MEMORY = 1, /* a part of a message of several Sends waits for memory */
	LEG_BLOCK_GATHER =
		2, /* a message of several Sends is being put together, some of it each turn */
	LEG_BLOCK_SHARE = 4, /* the leg keeps too many of the shared Receives (leg_is_sated()) */
	LEG_BLOCK_TURN = 8,  /* the same, and it did not let its last turn pass unused (.idles) */
	LEG_BLOCK_RECEIVE = 16, /* no shared Receive is left for any leg */
	LEG_BLOCK_SINK = 32,   /* the peer of the user's other leg does not take what came before */
	LEG_BLOCK_CREDIT = 64, /* the peer has no credit of ours for its next message */
	/* What the peer sent already may be here and not be read yet. */
	LEG_BLOCK_INPUT = LEG_BLOCK_MEMORY | LEG_BLOCK_GATHER | LEG_BLOCK_SHARE |
			  LEG_BLOCK_RECEIVE | LEG_BLOCK_SINK,
};

/** leg_blocked_by - why @leg cannot go on for reasons of ours: bits of enum leg_block. The only place that knows. */
unsigned leg_blocked_by(const struct leg *leg);

/** leg_is_behind - what the peer sent may be here and wait. */
static inline bool leg_is_behind(const struct leg *leg)
{
	return leg_blocked_by(leg) & LEG_BLOCK_INPUT;
}

/** leg_takes_reply - a reply of several Sends has begun to come, and goes on. */
static inline bool leg_takes_reply(const struct leg *leg)
{
	return leg->ngroup ? leg->group_is_reply
			   : leg->assembly && leg->assembly_purpose == BUF_ASSEMBLY;
}

/** leg_hears - ... to call @xid. */
static inline bool leg_hears(const struct leg *leg, uint32_t xid)
{
	return leg_takes_reply(leg) && (leg->ngroup ? leg->group_xid : leg->assembly_xid) == xid;
}

/** leg_data_are_behind - it is sated, and what would be read for @call, which came that way, comes behind that. If so
 * @call is not to begin, or it has memory that others need for getting on; the fabric is told that it waits (.behind). */
bool leg_data_are_behind(struct leg *leg, const struct rpc_msg *call);

/** leg_keeps_many - half as many as that, or few are left for all: what can do without its Receive should. */
bool leg_keeps_many(const struct leg *leg);

/** leg_ended - nothing more will come of it: closed, or never connected. */
static inline bool leg_ended(const struct leg *leg)
{
	return leg->state == LEG_CLOSED || !leg->conn;
}

/** leg_is_at_door - a leg with .gated waits for leg_admit() before anything that takes memory or time
 * is done for its peer: an acceptor's first message, an initiator's own. */
static inline bool leg_is_at_door(const struct leg *leg)
{
	return leg->proof && leg->proof->at_door && !leg->closing && leg->state != LEG_CLOSED;
}

/** leg_holds_back - whatever the peer says waits, since it has proved who it is, for leg_go_on(): see
 * .held of struct leg. */
static inline bool leg_holds_back(const struct leg *leg)
{
	return leg->held && leg->proof && leg->proof->auth.verdict == V2_AUTH_DONE;
}

/** leg_init - make @leg safe for leg_fini() before anything else; sets conn->owner users' own. */
void leg_init(struct leg *leg, enum rpc_role role);

/** leg_set_quotas - before it is opened: its memory but the fixed is of @groups, one for each purpose. A
 * leg that shares with nobody takes what the arena has. */
void leg_set_quotas(struct leg *leg, struct quota_group groups[QUOTA_PURPOSES]);

/** leg_spoken - which version @leg speaks, below LEG_VERSIONS; it is known. */
unsigned leg_spoken(const struct leg *leg);

/** leg_spoken_name - a short word for that; static storage. */
const char *leg_spoken_name(unsigned spoken);

/** leg_assembly_quota - which member the memory counts for that @leg holds of a continued message in progress;
 * NULL: it holds none, or shares with nobody. */
struct quota_member *leg_assembly_quota(struct leg *leg);

/** leg_of_quota - whose member for @purpose @m is: leg_resume() it. */
static inline struct leg *leg_of_quota(struct quota_member *m, enum buf_purpose purpose)
{
	return container_of(m - purpose, struct leg, quotas);
}

/** leg_fini - destroy connection and memory, whatever the state. Held messages must be put first. */
void leg_fini(struct leg *leg);

/** leg_input - one fabric event of this leg's connection in, at most one thing out.
 * For LEG_OUT_CLOSED more may be due first: call leg_next() until LEG_OUT_NONE. */
void leg_input(struct leg *leg, const struct fabric_event *ev, struct leg_out *out);

/** leg_next - what is due without a new fabric event: messages queued while stalled, txs to give
 * back. Call after leg_input() and leg_resume() until LEG_OUT_NONE. */
void leg_next(struct leg *leg, struct leg_out *out);

/** leg_has_next - whether leg_next() may have something: it costs less to ask. */
static inline bool leg_has_next(const struct leg *leg)
{
	return !list_is_empty(&leg->dead) || !list_is_empty(&leg->rxq) || leg->settled ||
	       leg->also_failed || leg->group_ready || leg->state == LEG_CLOSED;
}

/** leg_next_sent - of what leg_next() has the SENT ones alone, which come first and are most: the next, with its .status,
 * or NULL. */
static inline struct leg_tx *leg_next_sent(struct leg *leg)
{
	struct list *item = list_pop(&leg->dead);

	return item ? container_of(item, struct leg_tx, link) : NULL;
}

/** leg_gather_some - @leg, of leg->gatherers and still there, goes on with its group for @most octets. Return: how many these
 * were; if it is not there any more, leg_next() is due. */
uint32_t leg_gather_some(struct leg *leg, uint32_t most);

/** leg_resume - the arena has memory again for leg->waiter. */
void leg_resume(struct leg *leg);

/** leg_forget - the call @xid, sent, is let go without an answer. Only with a reply_timeout in the
 * configuration. */
void leg_forget(struct leg *leg, uint32_t xid);

/** leg_cut - after an error with .cut: the call @xid waits, and is answered by that. */
void leg_cut(struct leg *leg, uint32_t xid);

/** leg_give_up - a call that was sent is not waited for any longer; an answer would be one to no
 * call. In version 1 it keeps its credit. */
void leg_give_up(struct leg *leg);

/** leg_unanswered - a call of the peer's gets neither a reply nor a report. */
void leg_unanswered(struct leg *leg);

/**
 * leg_take_unwaited - @bytes of memory for a call made by a server
 *
 * What a client sends may wait for memory: its calls, and behind them its replies. A server's
 * calls may not, or each could wait for the other's. They get of a part for which nobody
 * waits (BUF_ASIDE); so do calls that leave their shared Receives to others. Return: NULL
 * when little is left of that. Goes back with leg_put().
 */
void *leg_take_unwaited(struct leg *leg, size_t bytes);

/** leg_put - give back what a message's views pointed into, if anything; reposts the Receive. */
void leg_put_held(struct leg *leg, struct leg_held *held);
static inline void leg_put(struct leg *leg, struct leg_held *held)
{
	if (held->rbuf || held->assembly)
		leg_put_held(leg, held);
}

/** leg_move - as leg_put() for the Receive alone: what of its octets is still needed lies in @block,
 * of the arena, which @held takes; NULL: nothing is, or it holds an assembly already. */
void leg_move(struct leg *leg, struct leg_held *held, void *block);

/* leg_keep.c: calls that nobody can take yet */

/**
 * leg_keep - @out, a call, is the last of @queue (of one direction), with all it holds
 * @aside: out of its Receive, where there is memory for a copy
 *
 * Return: whether it was set aside.
 */
bool leg_keep(struct leg *leg, const struct leg_out *out, struct list *queue, bool aside);

/** leg_keep_aside - all of @queue, out of their Receives. Return: how many were set aside. */
unsigned leg_keep_aside(struct leg *leg, struct list *queue);

/** leg_again - the first of @queue once more, as LEG_OUT_MSG; it stays there. Return: whether it was
 * set aside. */
bool leg_again(struct leg *leg, const struct list *queue, struct leg_out *out);

/** leg_unkeep - what leg_again() gave was taken, @held with it: no longer in @queue. */
void leg_unkeep(struct leg *leg, struct list *queue);

/** leg_drop_kept - nobody will take those in @queue: all they hold is given back. */
void leg_drop_kept(struct leg *leg, struct list *queue);

/** leg_send - queue @tx; it goes out when its turn and its credits come. */
void leg_send(struct leg *leg, struct leg_tx *tx);

/** leg_unsend - take @tx back, of which nothing was sent. Return: false when something was: it is
 * given back by LEG_OUT_SENT. */
bool leg_unsend(struct leg *leg, struct leg_tx *tx) WARN_UNUSED;

/** leg_owes_sends - there are replies that the peer has not taken, or Sends that the fabric has not
 * got rid of. Calls may wait for credit as long as they have to. */
static inline bool leg_owes_sends(const struct leg *leg)
{
	return leg->sending || leg->active || !list_is_empty(&leg->replies);
}

/** leg_is_spent - whether @call cannot be sent, nor any other, before an answer comes, and none is waited for: calls that were
 * let go have all credits, or Receives, that there are. Never, where credits are messages. */
bool leg_is_spent(const struct leg *leg, const struct leg_tx *call);

/** leg_would_wait - whether a call like @call, sent now, would not leave at once. */
bool leg_would_wait(struct leg *leg, const struct rpc_msg *call);

/** leg_is_closed - the peer has no credit of this end for its next message. */
bool leg_is_closed(const struct leg *leg);

/** leg_keeps_closed - and not because it lets nobody give it some. */
bool leg_keeps_closed(const struct leg *leg);

/** leg_waits - a message of several Sends waits for more credits than there are, and all before it
 * was sent. */
bool leg_waits(const struct leg *leg);

/** leg_limit - the count of messages up to which a peer of version 2 lets this end send. */
uint32_t leg_limit(const struct leg *leg);

/** leg_settle - leg_waits() has been so for long, without a word of the peer's credits: it has no more
 * of them. The message goes with these, or is given back. */
void leg_settle(struct leg *leg);

/** leg_report - queue an error report about the peer's message @xid. */
void leg_report(struct leg *leg, uint32_t xid, enum rpc_dir dir, const struct rpc_error *e);

/** leg_pump - post what credits allow; call once after a batch of inputs and sends. With .copies
 * leg_next() may have something then. */
void leg_pump(struct leg *leg);

/** leg_tick - @now is past leg->deadline: what was not said will not be said; closes the leg, or
 * opens it. Call leg_next() after it. */
void leg_tick(struct leg *leg, nsec_t now);

/** leg_close - orderly end with a cause; LEG_OUT_CLOSED follows from the fabric. */
void leg_close(struct leg *leg, int status, const char *why);

/** leg_stop_waiting - for memory. */
void leg_stop_waiting(struct leg *leg);

/** leg_set_grant - grant the peer @credits from now on (at most cfg->credits). */
void leg_set_grant(struct leg *leg, uint32_t credits);

#endif
