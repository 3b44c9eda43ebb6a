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
 * leg - one RDMA connection with one protocol version on it
 *
 * Here a transport (v1, v2, v2early) meets a fabric connection. A leg posts Receives, detects the
 * version, drives negotiation and fall-back, queues Sends until there are credits, and reassembles
 * continued messages. It knows nothing of relaying RPCs: both the gateway's sessions and
 * rpcrdma-perf use it.
 *
 * The connection's fabric events go into leg_input(). Each result is one struct leg_out. There are
 * no callbacks.
 */

/* Exposures that a connection allows for each operation that its user may have outstanding. */
enum { LEG_EXPOSURES_PER_OP = 4 };

enum leg_version { /* bit mask */
		   LEG_V1 = 1,
		   LEG_V2 = 2,
		   /* The early draft of version 2; an initiator with it speaks no other version. */
		   LEG_V2_EARLY = 4,
		   LEG_V1_OR_V2 = LEG_V1 | LEG_V2,
};

/* The number of versions a leg may speak: leg_spoken(). */
enum { LEG_VERSIONS = 3 };

/** struct leg_config - immutable, shared by many legs; sizes in octets. */
struct leg_config {
	/* Bit mask; acceptor: versions accepted; initiator: versions tried, 2 before 1. */
	unsigned versions;
	/* Size of Receives, and largest Send: 1024 .. 65536, a multiple of 1024. */
	uint32_t inline_bytes;
	/* Length of the second piece of each Receive, for data that come with a call (v2); 0:
	 * none. */
	uint32_t bulk_bytes;
	/* Length of the second piece of the peer's Receives, if the peer's version cannot announce
	 * it. */
	uint32_t peer_bulk_bytes;
	uint32_t credits;     /* calls (v1) or messages (v2) the peer may have outstanding */
	uint32_t rev_credits; /* v1: calls the peer may have outstanding in the reverse direction */
	/* v2: rdma_credit of the peer is read literally (protocol decision 1). */
	bool literal_credits;
	uint32_t max_message;		       /* longest continued message reassembled */
	uint32_t segment_bytes, segment_count; /* v2 properties 3 and 4 */
	enum rpc_reverse reverse;	       /* v2 property 5 */
	/* A call to this peer is abandoned after this time, ns; 0: never. The leg's user does
	 * that; the leg only keeps Receives for late replies. */
	nsec_t reply_timeout;
	struct fabric_tuning tuning; /* of the connection */
	/* Regions that the leg's user exposes at once; 0: LEG_EXPOSURES_PER_OP for each
	 * operation. */
	uint32_t exposures;
	uint32_t domain; /* protection domain: see .domain of fabric_conn_params */
	/* Host authentication, version 2 only; borrowed; NULL: off. If it is required, .versions
	 * has no version without it. */
	const struct leg_auth *auth;
	/* In ns. Initiator: from the connection to READY; acceptor: to the first message. */
	nsec_t setup_timeout;
};

enum leg_state {
	LEG_IDLE,
	LEG_CONNECTING, /* fabric connection under way, either role */
	/* Initiator v2: properties are being exchanged; acceptor: the first message is awaited. */
	LEG_NEGOTIATING,
	LEG_OPEN,
	LEG_CLOSED, /* DISCONNECTED was reported, or the connection was never made */
};

struct leg_rbuf;  /* one Receive buffer; private */
struct recv_pool; /* recv_pool.h */

/** struct leg_held - memory that the views of a received message point into; give it back with
 * leg_put(). */
struct leg_held {
	struct leg_rbuf *rbuf;
	void *reasm; /* block of the arena: the body of a continued message */
};

/** struct leg_summed - CRCs (struct fabric_sums) of a part of a message: of .len octets in one
 * piece at .octets. The first of these octets is number .at of .sums. */
struct leg_summed {
	struct fabric_sums *sums; /* borrowed; NULL: none */
	const uint8_t *octets;
	uint32_t len, at;
};

/** struct leg_tx - one message to send, embedded in its owner. Private fields are set by leg_send()
 * and leg_report(). */
struct leg_tx {
	struct list link; /* private */
	/* .msg, .reverse and .cover are set by the caller; the message and its body must not change
	 * until LEG_OUT_SENT */
	struct rpc_tx tx;
	/* Set by the caller: peer's handle to invalidate with the last Send, or 0. */
	uint32_t inv_handle;
	/* Private: leg_report() with this error, about the call .tx.msg; NULL: a message. */
	const struct rpc_error *report;
	/* Set by the caller: CRCs of octets in a Receive, and of octets in a region. For each Send
	 * the fabric gets the CRCs of its largest piece. */
	struct leg_summed summed[2];
	unsigned posted; /* private: Sends outstanding */
	bool encoded;	 /* private: all Sends posted */
	/* Private: all Sends are posted, or the message failed; LEG_OUT_SENT follows when the
	 * posted Sends have completed. */
	bool over;
	int status;  /* first failure */
	void *owner; /* the caller's */
};

enum leg_out_kind {
	LEG_OUT_NONE,
	/* Initiator: negotiation is done, leg->t->version and limits are final; acceptor: the
	 * connection is accepted (the version is still unknown, leg->t is NULL). */
	LEG_OUT_READY,
	LEG_OUT_MSG,   /* a message: .msg with views into .held, which the receiver has to put */
	LEG_OUT_ERROR, /* the peer reports .error about our message .xid (.reverse) */
	/* .tx belongs to the caller again; .status: 0, ERR_FLUSHED or another error */
	LEG_OUT_SENT,
	/* An event of the caller's own fabric_read/write/withdraw/stream: .cookie, .status. */
	LEG_OUT_OP,
	/* leg_is_recv_limited() has become true or false. If it is true, the leg's messages hold so
	 * many shared Receives that further input waits: release what can be released. */
	LEG_OUT_RECV_LIMITED,
	/* The last event: .status, .why. Every leg_tx and operation was given back before. */
	LEG_OUT_CLOSED,
};

/** struct leg_out - behind .kind only the fields of that kind are set. */
struct leg_out {
	enum leg_out_kind kind;
	/* MSG: the caller may change it; valid until the next leg_input() or leg_resume() of any
	 * leg of the fabric */
	struct rpc_msg *msg;
	struct leg_held held;
	uint32_t invalidated; /* MSG: our handle that the peer invalidated, or 0 */
	uint32_t xid;
	/* ERROR: the report is about the reverse direction; MSG: the message travels in it */
	bool reverse;
	struct rpc_error error;
	/* ERROR: the answer was cut short: if a call .xid is outstanding, leg_cut() is due */
	bool cut;
	/* ERROR: the report may be about a form of the call that was given up before */
	bool doubtful;
	struct leg_tx *tx;
	void *cookie;
	enum fabric_ev_type op;	  /* OP: READ, WRITE, WITHDRAWN or PLACED */
	uint32_t handle, written; /* OP, WITHDRAWN: as the event has them */
	const uint8_t *at;	  /* OP, PLACED: as the event has them, with the two fields below */
	uint32_t offset, len;
	int status;	 /* OP, CLOSED: 0 or enum err */
	const char *why; /* CLOSED: a text for the log, borrowed from the leg; NULL: none */
};

/** struct leg_trace - the tracer that gets each message of a leg when it is posted or received;
 * .see is NULL while nothing is traced. */
struct leg_trace {
	void (*see)(struct leg *leg, bool is_sent, const struct fabric_sge *sge, unsigned n);
};

enum leg_group_state {
	LEG_GROUP_INCOMPLETE, /* there is no group, or it is not complete or waits for memory */
	LEG_GROUP_COPYING,    /* it has memory and is being copied */
	LEG_GROUP_READY,      /* it is copied: leg_next() is due */
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
	struct rpc_msg *msg; /* the message received; legs that share Receives share one */
	/* Acceptor, before the version was known: ERR_VERS reports sent (.refused), and messages
	 * received (.early). */
	uint32_t refused, early;
	/* Acceptor: the first message has number 2, but is of the draft that is not spoken here. */
	bool is_other_draft;
	uint32_t first_xid; /* v2 initiator: random, from the caller */
	/* Shared Receives that the leg held at the pool's last look and holds still. */
	uint32_t stuck_recvs;
	nsec_t deadline;  /* when leg_tick() is due; NSEC_NEVER when open */
	nsec_t setup_end; /* when the time for set-up is over */
	bool remote_inv;  /* the fabric supports Remote Invalidation of our handles */
	/* Host authentication begins only after leg_admit(): leg_awaits_handshake_slot(). The user
	 * sets .gated after leg_init(). */
	bool gated;
	/* Messages of a peer that has proved its name wait for leg_go_on(): leg_holds_back(). The
	 * user sets .held after leg_init(). */
	bool held;
	/* The leg begins without the host authentication of its configuration; the user sets it
	 * after leg_init(). */
	bool bare;
	/* The last connection to this server was silent for half of the set-up time; the user sets
	 * it after leg_init(). */
	bool after_silence;
	bool ready_due; /* leg_tick() opened the leg: READY is due */
	/* Messages that the fabric copies are given back at once (LEG_OUT_SENT of leg_next()); the
	 * user sets it after leg_init(). */
	bool copies;
	int close_status; /* why this end closes; reported in LEG_OUT_CLOSED */
	const char *close_why;

	struct v1_pdata peer_pdata;
	struct via via;		 /* initiator: the gateways that its connection request names */
	struct leg_proof *proof; /* host authentication of the peer; NULL: off */
	/* Threads that compute host authentication, borrowed; set after leg_init(); NULL: the
	 * worker computes. */
	struct jobs_port *jobs;
	const struct leg_trace *trace; /* borrowed; set after leg_init() by users that trace */
	struct recv_pool *recvs;       /* the shared Receives, or NULL: the leg has its own */
	struct leg_rbuf *rbufs;	       /* the leg's own Receives; their octets are arena blocks */
	uint8_t **bulks; /* second pieces of its own Receives, arena blocks; NULL: none */
	/* Receives of the leg: its own, or, if Receives are shared, the number that it may promise
	 * the peer */
	uint32_t nrbufs;
	uint32_t posted; /* of .nrbufs: not held by received messages */
	uint32_t grant;	 /* credits that leg_set_grant() allows the peer */
	/* Our calls without a reply: Receives are reserved for the replies. */
	uint32_t awaiting;
	struct list rxq; /* messages received that wait (leg_next()), in order */
	/* Receives of a group (one message of the round-trip extension in several Sends) that
	 * have come, in order */
	struct list group;
	uint8_t ngroup; /* Receives in .group */
	enum leg_group_state group_state;
	/* The user's list of legs that copy groups, for leg_copy_group(); borrowed; set after
	 * leg_init(). NULL: each leg copies its group at once, however long that takes. */
	struct list *group_copiers;
	struct list copier_link; /* in .group_copiers; self-linked when not */
	/* A Receive whose message is a part of a continued message or group, which waits for
	 * memory. */
	struct leg_rbuf *stalled;
	struct view stalled_part;
	/* With leg_set_quotas(): the member of the purpose waits while the leg is stalled. */
	struct quota_member quotas[QUOTA_PURPOSES];

	uint8_t *reasm; /* the continued message or group in progress */
	/* Octets of the message that are in .reasm; octets of the block; octets of the whole
	 * message. */
	uint32_t reasm_len, reasm_cap, reasm_total;
	enum buf_purpose reasm_purpose;
	uint32_t reasm_xid; /* of the message in .reasm */
	/* Continued messages begun, plus the times that one resumed after a stall. */
	uint32_t reasm_count;
	uint64_t reasm_bytes; /* octets received of continued messages and groups, in all */
	/* Our handle that parts of the message in progress invalidated, or 0. */
	uint32_t invalidated;
	/* A second call of ours that the same message failed: its ERROR is due. */
	uint32_t also_xid;
	bool also_failed; /* .also_xid is valid */

	/* BUDGET_SENDS buffers for the header octets of Sends; arena blocks. */
	struct leg_slot *slots, *free_slots;
	/* Slots without a buffer, which borrow one for a Send. */
	struct leg_slot *bare_slots;
	uint32_t sending;	    /* Sends outstanding */
	struct list replies, calls; /* leg_tx that wait for credits or slots */
	/* A continued message being sent: no other message may come between its parts. */
	struct leg_tx *active;
	uint64_t sent; /* octets of completed Sends, messages of the transport's own excepted */
	/* Replies whose last Send was posted, and calls of which the transport has the report. */
	uint64_t replied;
	struct list dead; /* leg_tx to be given back before anything else */
	bool closing, closed_reported;
	bool discarding; /* the continued message in progress was refused: its parts are dropped */
	bool is_probe;	 /* set by the user: the leg belongs to a probe, not to a session */
};

/** struct leg_target - how to reach a server; everything is borrowed for the call. */
struct leg_target {
	struct fabric *fabric;
	const struct fabric_addr *from; /* local address; NULL: any */
	const struct fabric_addr *to;
	bool resets; /* see .resets of struct fabric_conn_params */
	/* The gateways that the client came through, this one last; NULL: none. */
	const struct via *via;
};

/**
 * leg_connect - open an initiator leg
 * @op_depth: fabric operations (Reads, Writes) that the user itself has outstanding at most
 *
 * Takes the leg's fixed memory from @arena (ERR_AGAIN if it is short).
 *
 * Return: 0, and the state is CONNECTING; or an error, and leg_fini() is still due.
 */
int leg_connect(struct leg *leg, const struct leg_config *cfg, struct buf_arena *arena,
		const struct leg_target *target, uint32_t op_depth, nsec_t now) WARN_UNUSED;

/**
 * leg_accept - answer a FABRIC_EV_REQUEST: as leg_connect(), for an acceptor leg
 *
 * @request is the peer's private data. Receives are posted before the connection is accepted. Takes
 * @conn, also on error.
 */
int leg_accept(struct leg *leg, const struct leg_config *cfg, struct buf_arena *arena,
	       struct fabric_conn *conn, struct view request, uint32_t op_depth,
	       nsec_t now) WARN_UNUSED;

/** leg_fixed_bytes - octets that a leg of @cfg on @fabric takes for its whole life, of the arena,
 * of the heap and for its connection's queues; struct leg itself is not counted. */
size_t leg_fixed_bytes(const struct leg_config *cfg, const struct fabric *fabric,
		       uint32_t op_depth);

/** leg_exposures - regions that the user of a leg with @cfg may expose at once. */
static inline uint32_t leg_exposures(const struct leg_config *cfg, uint32_t op_depth)
{
	return cfg->exposures ? cfg->exposures : LEG_EXPOSURES_PER_OP * op_depth;
}

/** leg_holds - shared Receives that messages of @leg hold; 0 if its Receives are its own. */
static inline uint32_t leg_holds(const struct leg *leg)
{
	return leg->recvs ? leg->nrbufs - leg->posted : 0;
}

/** leg_is_recv_limited - the messages of @leg hold its full share of the shared Receives
 * (fabric_may_hold()), so the peer's next message waits. */
static inline bool leg_is_recv_limited(const struct leg *leg)
{
	return leg->conn && leg->conn->recv_limited;
}

/** leg_has_group - a group is complete and has its memory: later input waits until the group has
 * been reported. */
static inline bool leg_has_group(const struct leg *leg)
{
	return leg->group_state != LEG_GROUP_INCOMPLETE;
}

/** leg_sink_is_blocked - the peer's input waits because the peer of the user's other leg does not
 * take what came before (fabric_stream()). */
static inline bool leg_sink_is_blocked(const struct leg *leg)
{
	return leg->conn && leg->conn->sink_blocked;
}

/** enum leg_block - reasons of the gateway's own that keep a leg's peer from continuing; bits of
 * leg_blocked_by(). */
enum leg_block {
	LEG_BLOCK_MEMORY = 1, /* a part of a continued message or group waits for memory */
	LEG_BLOCK_COPY = 2,   /* a group is being copied, a part each turn */
	/* The leg holds its full share of the shared Receives (leg_is_recv_limited()). */
	LEG_BLOCK_SHARE = 4,
	/* As LEG_BLOCK_SHARE, unless the leg left its last read turn unused: then Receives are not
	 * what it lacks (.read_turn_unused of the connection). */
	LEG_BLOCK_TURN = 8,
	LEG_BLOCK_RECEIVE = 16, /* no shared Receive is left for any leg */
	LEG_BLOCK_SINK = 32,   /* the peer of the user's other leg does not take what came before */
	LEG_BLOCK_CREDIT = 64, /* the peer has no credit for its next message */
	/* Reasons for which octets that the peer has sent may lie here unread. */
	LEG_BLOCK_INPUT = LEG_BLOCK_MEMORY | LEG_BLOCK_COPY | LEG_BLOCK_SHARE | LEG_BLOCK_RECEIVE |
			  LEG_BLOCK_SINK,
};

/**
 * leg_blocked_by - the reasons on this end for which @leg's peer cannot continue: bits of enum
 * leg_block
 */
unsigned leg_blocked_by(const struct leg *leg);

/** leg_input_is_blocked - input of the peer may have arrived here and wait unread. */
static inline bool leg_input_is_blocked(const struct leg *leg)
{
	return leg_blocked_by(leg) & LEG_BLOCK_INPUT;
}

/** leg_is_receiving_reply - a reply in several Sends has begun to arrive and is not complete. */
static inline bool leg_is_receiving_reply(const struct leg *leg)
{
	return (leg->ngroup || leg->reasm) && leg->reasm_purpose == BUF_REASM_REPLY;
}

/** leg_reply_is_in_progress - leg_is_receiving_reply(), and it is the reply to call @xid. */
static inline bool leg_reply_is_in_progress(const struct leg *leg, uint32_t xid)
{
	return leg_is_receiving_reply(leg) && leg->reasm_xid == xid;
}

/**
 * leg_reads_are_blocked - whether @call must not begin, because its data would arrive behind input
 * that waits
 *
 * State:  @leg has its full share of the shared Receives (leg_is_recv_limited()). @call, which came
 *         over @leg, has data to be fetched by RDMA Read.
 * Danger: the Read responses lie behind the message that waits for a Receive. The call would take
 *         memory that others need to finish, and could not finish itself.
 * Rule:   the call does not begin while the leg is in that state. The leg sets .reads_blocked of
 *         its connection, so the fabric gives the connection a read turn.
 * Pinned: tests/session/test_shared_short.c:a_call_whose_data_are_behind_a_message_takes_no_memory,
 *         tests/daemon/run.sh writers
 */
bool leg_reads_are_blocked(struct leg *leg, const struct rpc_msg *call);

/**
 * leg_should_copy_out - whether messages should be copied out of their Receives
 *
 * True if the leg holds half of its share of shared Receives, or if few are left for all legs.
 */
bool leg_should_copy_out(const struct leg *leg);

/** leg_ended - no more events will come: the leg is closed, or was never connected. */
static inline bool leg_ended(const struct leg *leg)
{
	return leg->state == LEG_CLOSED || !leg->conn;
}

/**
 * leg_awaits_handshake_slot - a leg with .gated waits for leg_admit()
 *
 * The wait comes before anything that takes memory or processor time for the peer's host
 * authentication: before an acceptor handles the first message, and before an initiator forms its
 * own.
 */
static inline bool leg_awaits_handshake_slot(const struct leg *leg)
{
	return leg->proof && leg->proof->awaits_slot && !leg->closing && leg->state != LEG_CLOSED;
}

/** leg_holds_back - the peer of a leg with .held has proved its name, and its messages wait for
 * leg_go_on(). */
static inline bool leg_holds_back(const struct leg *leg)
{
	return leg->held && leg->proof && leg->proof->auth.verdict == V2_AUTH_DONE;
}

/**
 * leg_reports_wait - so many error reports wait that the peer's next message waits as well
 *
 * State:  the peer's messages cause error reports, and the peer leaves no credits for these, or
 *         does not take what was sent.
 * Danger: without a limit the reports fill the memory. With an end of the connection at the limit,
 *         a peer that keeps to its credits loses its calls for a burst of errors.
 * Rule:   a message is given to the transport only if the reports that it may cause have room.
 *         Otherwise the message waits in its Receive, in order, and only GRANTs are processed. The
 *         report of a transaction waits in the transaction (leg_report()). A peer that takes no
 *         reports ends by DEBT_OUTPUT.
 * Pinned: tests/session/test_many_reports.c, decision 160.
 */
static inline bool leg_reports_wait(const struct leg *leg)
{
	return leg->t && !rpc_has_report_room(leg->t);
}

/** leg_init - make @leg safe for leg_fini(); call it before anything else. */
void leg_init(struct leg *leg, enum rpc_role role);

/**
 * leg_set_quotas - before the leg is opened: charge its memory, but for the fixed part, to @groups,
 * one for each purpose
 *
 * A leg without quotas takes whatever the arena has. While it finds too little (.stalled), its user
 * calls leg_resume() again and again.
 */
void leg_set_quotas(struct leg *leg, struct quota_group groups[QUOTA_PURPOSES]);

/** leg_spoken - the version that @leg speaks, below LEG_VERSIONS; it must be known. */
unsigned leg_spoken(const struct leg *leg);

/** leg_spoken_name - a short word for that version; static storage. */
const char *leg_spoken_name(unsigned spoken);

/**
 * leg_reasm_quota - the member to which memory of the continued message in progress is charged
 *
 * Return: NULL if there is no such memory, or the leg has no quotas.
 */
struct quota_member *leg_reasm_quota(struct leg *leg);

/** leg_of_quota - the leg of which @m is the member for @purpose. */
static inline struct leg *leg_of_quota(struct quota_member *m, enum buf_purpose purpose)
{
	return container_of(m - purpose, struct leg, quotas);
}

/** leg_fini - destroy the connection and free all memory, in any state. Messages still held must
 * be put before. */
void leg_fini(struct leg *leg);

/** leg_input - handle one fabric event of this leg's connection; at most one result. Before
 * LEG_OUT_CLOSED more results may be due: call leg_next() until LEG_OUT_NONE. */
void leg_input(struct leg *leg, const struct fabric_event *ev, struct leg_out *out);

/**
 * leg_next - the next result that is due without a new fabric event: messages queued while stalled,
 * leg_tx to give back
 *
 * Call it after leg_input() and leg_resume() until LEG_OUT_NONE.
 */
void leg_next(struct leg *leg, struct leg_out *out);

/** leg_has_next - whether leg_next() may have something; cheaper than leg_next(). */
static inline bool leg_has_next(const struct leg *leg)
{
	return !list_is_empty(&leg->dead) || !list_is_empty(&leg->rxq) || leg->ready_due ||
	       leg->also_failed || leg->group_state == LEG_GROUP_READY || leg->state == LEG_CLOSED;
}

/**
 * leg_next_sent - the next LEG_OUT_SENT that leg_next() would report, as its leg_tx with .status;
 * NULL: none
 *
 * SENT results come first in leg_next(), and most results are SENT.
 */
static inline struct leg_tx *leg_next_sent(struct leg *leg)
{
	struct list *item = list_pop(&leg->dead);

	return item ? container_of(item, struct leg_tx, link) : NULL;
}

/**
 * leg_copy_group - copy the next @most octets of the group of @leg, which is in leg->group_copiers
 *
 * Return: octets copied. If @leg has left the list, leg_next() is due.
 */
uint32_t leg_copy_group(struct leg *leg, uint32_t most);

/** leg_resume - try again to take the memory for which @leg waits. */
void leg_resume(struct leg *leg);

/** leg_forget - abandon the sent call @xid; a late answer is dropped. If credits count calls
 * (version 1), only with a reply_timeout in the configuration. */
void leg_forget(struct leg *leg, uint32_t xid);

/** leg_cut - after an ERROR with .cut: the outstanding call @xid counts as answered. */
void leg_cut(struct leg *leg, uint32_t xid);

/**
 * leg_give_up - abandon one sent call: no Receive is reserved for its answer any more
 *
 * A late answer counts as an answer to no call. In version 1 the call keeps its credit.
 */
void leg_give_up(struct leg *leg);

/** leg_unanswered - tell the transport that this end sends neither a reply nor an error report to
 * one call of the peer. */
void leg_unanswered(struct leg *leg);

/**
 * leg_alloc_nowait - @bytes of memory for a call that must not wait for memory
 *
 * State:  a client's calls, and replies behind these calls, may wait for memory; a server's calls
 *         arrive meanwhile.
 * Danger: if a server's call waited for memory as well, calls of both directions could wait for
 *         each other.
 * Rule:   a server's calls, and calls that are copied out of their shared Receives, take memory of
 *         a part for which no call waits (BUF_COPIED_CALL). If little of that part is left, these
 *         calls get no memory.
 * Pinned: tests/session/test_pressure.c:both_directions_complete
 *
 * Return: NULL if little is left. Give it back with leg_put().
 */
void *leg_alloc_nowait(struct leg *leg, size_t bytes);

/** leg_put - give back the memory that a message's views point into, if any; posts the Receive
 * again. */
void leg_put_held(struct leg *leg, struct leg_held *held);
static inline void leg_put(struct leg *leg, struct leg_held *held)
{
	if (held->rbuf || held->reasm)
		leg_put_held(leg, held);
}

/**
 * leg_move - give back the Receive of @held, and put @block in its place
 *
 * @block is a block of the arena with the octets that are still needed; @held takes it. @block is
 * NULL if no octets are needed, or if @held has a reassembled body already.
 */
void leg_move(struct leg *leg, struct leg_held *held, void *block);

/** leg_summed - the CRCs of the message of @held, from @octets on. Return: .sums is NULL if the
 * message has none, or @octets do not lie in its Receive. Borrowed from @held. */
struct leg_summed leg_summed(const struct leg_held *held, const uint8_t *octets);

/** leg_send - queue @tx; it is sent in order, as credits allow. */
void leg_send(struct leg *leg, struct leg_tx *tx);

/** leg_unsend - take @tx back if nothing of it was sent. Return: false if something was; then
 * LEG_OUT_SENT gives it back. */
bool leg_unsend(struct leg *leg, struct leg_tx *tx) WARN_UNUSED;

/**
 * leg_sends_unacked - there are replies that the peer has not taken, or Sends that have not
 * completed
 *
 * Calls that wait for credit do not count: they may wait as long as they have to.
 */
static inline bool leg_sends_unacked(const struct leg *leg)
{
	return leg->sending || leg->active || !list_is_empty(&leg->replies);
}

/**
 * leg_has_no_credit_ever - whether neither @call nor any other can be sent before an answer comes,
 * and no answer is awaited
 *
 * Abandoned calls then hold all credits, or all Receives. Never true if credits count messages.
 */
bool leg_has_no_credit_ever(const struct leg *leg, const struct leg_tx *call);

/** leg_would_wait - whether a call like @call, sent now, would wait. */
bool leg_would_wait(struct leg *leg, const struct rpc_msg *call);

/** leg_peer_has_no_credit - the peer has used all credits that this end granted. */
bool leg_peer_has_no_credit(const struct leg *leg);

/** leg_withholds_credit - leg_peer_has_no_credit(), and this end is the reason: the peer would
 * accept a grant. */
bool leg_withholds_credit(const struct leg *leg);

/** leg_waits - a continued message needs more credits than there are, and everything before it
 * was sent. */
bool leg_waits(const struct leg *leg);

/** leg_limit - the number of messages, since the connection began, up to which a version 2 peer
 * lets this end send. */
uint32_t leg_limit(const struct leg *leg);

/**
 * leg_credits_final - leg_waits() has been true for long and the peer has granted nothing: take its
 * credits as final
 *
 * The message is sent within them, or given back.
 */
void leg_credits_final(struct leg *leg);

/** leg_report - queue an error report, @e, about @call of the peer, in order with the replies. All
 * three are borrowed until LEG_OUT_SENT gives @tx back. */
void leg_report(struct leg *leg, struct leg_tx *tx, const struct rpc_msg *call,
		const struct rpc_error *e);

/** leg_reject - report an error about call @xid of the message that is being processed. */
void leg_reject(struct leg *leg, uint32_t xid, const struct rpc_error *e);

/** leg_pump - post what credits allow; call it once after a batch of inputs and sends. With
 * .copies, leg_next() may have something afterwards. */
void leg_pump(struct leg *leg);

/** leg_tick - if @now is past leg->deadline, look at the set-up: close the leg, open it, or set the
 * next deadline. Return: whether leg_next() may have something. */
bool leg_tick(struct leg *leg, nsec_t now);

/** leg_close - end the leg in order, for @status and @why; the fabric reports the end, as
 * LEG_OUT_CLOSED. */
void leg_close(struct leg *leg, int status, const char *why);

/** leg_stop_waiting - @leg no longer waits for memory. */
void leg_stop_waiting(struct leg *leg);

/** leg_set_grant - grant the peer @credits from now on, at most cfg->credits. */
void leg_set_grant(struct leg *leg, uint32_t credits);

#endif
