/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_TXN_H
#define PROXY_TXN_H

#include "base/timer.h"
#include "proxy/latency.h"
#include "proxy/leg/leg.h"
#include "proxy/plan/nfsresult.h"
#include "proxy/plan/plan.h"
#include "proxy/trace_ring.h"

/**
 * txn - one RPC in flight between the legs of a session, in either direction
 *
 * Inside of proxy/ only. txn.c begins and ends a transaction; its first comment has the state
 * diagram. The other files:
 * - txn_call.c and txn_reply.c do the steps of the call and of the answer; txn_step.c goes from one
 *   step to the next
 * - txn_alloc.c allocates transaction blocks; txn_admit.c decides when a call may start
 * - txn_memory.c holds payload regions; txn_zero_sink.c blanks them
 * - txn_form.c forms messages; txn_ops.c posts Reads and Writes; txn_cut_through.c cuts results
 *   through; txn_remote_inval.c picks handles to invalidate
 * - txn_retry_form.c forms a refused call in another way; txn_device_busy.c waits for resources of
 *   a device
 * - txn_server_quirks.c checks what a version 1 server reports; txn_reply_timeout.c abandons calls
 *   without an answer
 */

enum txn_state {
	TXN_WAITING, /* waits for memory or exposures, and holds none */
	TXN_PULL,    /* RDMA Reads of what the requester exposed are under way */
	TXN_CALL,    /* the call is queued or being sent to the responder */
	TXN_WAIT,    /* the reply is awaited */
	/* The call's form was refused: exposures are being withdrawn, then the call is formed
	 * another way. */
	TXN_AGAIN,
	TXN_BLANK, /* memory that the responder is to write to is being blanked */
	/* The device has no resources for an exposure: exposures are withdrawn, and tried again
	 * soon. */
	TXN_SHORT,
	TXN_FENCE, /* exposures are being withdrawn before their memory is used */
	TXN_PUSH,  /* RDMA Writes of the responder's results to the requester are under way */
	TXN_REPLY, /* the reply is queued or being sent to the requester */
	/* An error is reported; its report is queued, and operations still posted are awaited. */
	TXN_FAILED,
};

/* Forms in which a call is not sent again after a refusal; each form is given up at most once. */
enum {
	TXN_AVOID_CONTINUED = 1,
	TXN_AVOID_BODY_CHUNK = 2,
	TXN_AVOID_REPLY_CHUNK = 4,
	TXN_AVOID_PLACED = 8,
};

/** struct txn_region - the memory of one chunk between the legs. */
struct txn_region {
	uint8_t *addr;	 /* arena block, or borrowed memory when !owned */
	uint32_t cap;	 /* octets the chunk can hold */
	uint32_t len;	 /* octets that it holds */
	uint32_t handle; /* handle of its exposure to the responder; 0: not exposed */
	/* Octets that the responder wrote, from the start; known once it is fenced. */
	uint32_t written;
	bool owned; /* .addr is a block of this transaction */
	/* CRCs of the octets; the region's own if .owned, else the Receive's. NULL: none. */
	struct fabric_sums *sums;
	uint32_t sums_at; /* where its first octet is in .sums */
	uint32_t blank;	  /* octets, from the start, that were blanked before it was exposed */
	/* A Write chunk that is a stream: octets of its window; 0: it is none. */
	uint32_t window;
	/* For a Write chunk, if the responder speaks the round-trip extension: */
	const uint8_t *sent; /* the result came in the Receive of the reply, and lies here */
	uint32_t position;   /* Position of the result in the reply; 0: unknown */
	/* Octets of the result that the responder left in the payload stream. */
	uint32_t left_in;
};

/** struct txn_piece - octets of a cut-through result that lie in the window. */
struct txn_piece {
	const uint8_t *at;
	uint32_t offset, len; /* in the chunk */
	uint32_t posted;      /* octets already posted to the requester */
	unsigned writes;      /* RDMA Writes of these octets under way */
};

struct proxy;
struct session;
struct session_queue;

/** enum txn_way - how a large result goes on to its requester */
enum txn_way {
	TXN_STORED,	 /* when all of it has arrived */
	TXN_SENT_EARLY,	 /* it is stored, and sent while it arrives */
	TXN_CUT_THROUGH, /* it is never stored as a whole */
};

/** struct txn - each field stands under the file that writes it. */
struct txn {
	/* txn.c: identity and state */
	struct txn *hash_next;
	struct list link; /* in session.txns */
	struct session *s;
	bool reverse; /* the call travels from the server to the client */
	enum txn_state state;
	struct leg *req, *rsp;		       /* the requester's and the responder's leg */
	struct leg_held call_held, reply_held; /* what the call, and the reply, came in */
	/* When each point was reached; 0: not yet. */
	nsec_t at[TRACE_MARKS];
	enum trace_outcome outcome;
	struct rpc_error error; /* error reported to the requester */
	/* The message is with its leg: sent and not given back. .reply_pending: the reply, or the
	 * report of .error. */
	bool call_pending, reply_pending;
	/* The reply has come, perhaps before the call's completion. */
	bool replied;
	/* The reply is sent without the round-trip extension: txn_return_again(). */
	bool plain;
	uint32_t reply_bytes; /* Reply chunk to offer the responder, 0 none */

	/* txn_admit.c */
	/* In the admission queue, or a list of txn_zero_sink.c or txn_device_busy.c; self-linked
	 * when in none. */
	struct list wait_link;
	uint32_t turn;	    /* place in the order in which txns of its queue began to wait */
	unsigned exposures; /* regions it may expose to the responder; counted while it runs */
	enum txn_way way;   /* of a large result: txn_choose_cut_through() */
	bool is_beyond;	    /* it runs beyond the limit of its queue */
	bool started;	    /* the transaction was admitted: it runs and holds memory */
	size_t taken;	    /* octets of payload blocks it holds */

	/* txn_device_busy.c: since when the device is short of resources for it; 0: it is not */
	nsec_t busy_since;

	/* txn_reply_timeout.c */
	nsec_t pulled;	   /* when everything the requester exposed had been read; 0: not yet */
	nsec_t sink_ns;	   /* .sink_blocked_ns of its responder at that time */
	nsec_t blocked_ns; /* session_blocked_ns() of its responder at the last look */
	/* An error report may have been about this form of the call or an older one. */
	bool is_suspected;

	/* txn_memory.c */
	/* one for each Read and Write chunk of .in; in the block, behind .in */
	struct txn_region *reads, *writes;
	struct txn_region body, reply;
	unsigned exposed; /* number of regions exposed to the responder now */
	/* Value with which a Reply chunk is filled before the responder writes to it:
	 * txn_check_results(); 0: none. */
	uint64_t mark;

	/* txn_retry_form.c */
	unsigned avoid;	  /* bit mask of TXN_AVOID_... */
	bool refused;	  /* the call's form was refused before all of it was sent */
	bool stream_kept; /* the call's payload stream is still here */

	/* txn_form.c */
	struct plan_call plan; /* the plan made when the call came */
	struct plan_shape shape;
	enum plan_form form; /* the form in which the call was sent */
	/* The call asked for data in the Send of the reply, and the reply came without the
	 * round-trip extension. */
	bool unheeded;
	bool joined; /* the data item was sent in the payload stream, not in a Read chunk */
	struct view call_body; /* the call's payload stream, once complete */
	struct rpchdr hdr;     /* the RPC header at its beginning: txn_snapshot() */
	int hdr_err;	       /* 0: .hdr is valid; else why it is not */
	/* The reply's payload stream: in its Receive, or in the region of the Reply chunk. */
	struct view reply_body;

	/* txn_server_quirks.c */
	enum nfs_reads nfs_reads; /* layout of READ data in its reply */
	enum latency_kind kind;	  /* kind of RPC, for statistics */
	uint32_t expected;	  /* .expected of struct plan_call */
	bool detects_cut;	  /* a reply that fills the Reply chunk was cut by its server */
	/* The reply came in the Reply chunk and does not mention the Write chunks offered. */
	bool unlisted;

	/* txn_remote_inval.c */
	bool handles_counted; /* the call's handles are counted in session.handle_uses */

	/* txn_ops.c: how far its Reads or Writes are posted */
	/* In the requester leg's queue for operation slots; self-linked when not. */
	struct list op_link;
	unsigned op_chunk, op_seg;    /* index of the next chunk to post, and of its next segment */
	uint32_t op_offset, op_moved; /* octets posted of the chunk, and of its segment */
	unsigned ops;		      /* Reads, Writes and withdrawals under way */

	/* txn_cut_through.c: a result that is cut through */
	/* In the requester leg's queue for octets that came and are not posted; self-linked when
	 * not. */
	struct list cut_through_link;
	struct txn_region *stream; /* the region that is a stream, once exposed */
	uint32_t passed_on;	   /* where the octets that PLACED events reported end in it */
	unsigned npieces, first_piece;
	unsigned cut_through_writes; /* RDMA Writes under way */

	/* The large fields come last: txn_init() does not clear them. */
	/* Armed from .pulled until the answer comes; the call is abandoned when it expires. */
	struct timer late;
	/* valid once they are sent; of .call_tx what tells whether a part was sent is always valid */
	struct leg_tx call_tx, reply_tx;
	/* Pieces reported by the fabric and not given back, in order from .first_piece. */
	struct txn_piece pieces[FABRIC_STREAM_PIECES];

	struct rpc_msg out; /* the message for the other leg: the call, later the reply */
	/* The requester's call as it came; its chunks are needed for the reply. The block has
	 * room for as many segments as the call has, and behind these for its regions. */
	struct rpc_msg in;
};

/* Why a session ends so that a call is sent again over a new connection. */
#define TXN_OUTGREW "a reply was longer than expected: its requester is to send the call again"

#define TXN_NO_WAY "a reply had no way for its data: its requester is to send the call again"

/* txn.c: the life of one RPC */

/** txn_init - @t, a free block, becomes the transaction of @out, a call that arrived on @req;
 * takes @out->held. */
void txn_init(struct txn *t, struct session *s, struct leg *req, struct leg_out *out);

/** txn_find - the transaction with @xid whose responder has not answered yet, or NULL. */
struct txn *txn_find(struct session *s, uint32_t xid, bool reverse);

/** txn_xid_is_free - whether a new call may have @xid: its requester cannot wait for the answer to
 * an older one. A reply or report that waits for credits has not answered its call. */
bool txn_xid_is_free(struct session *s, uint32_t xid, bool reverse);

/**
 * txn_let_go - abandon @t; the requester is not notified
 *
 * It may release @t. Without a reply_timeout, a late answer ends the session. Return: false while
 * the call is being sent; then nothing happened.
 */
bool txn_let_go(struct txn *t) WARN_UNUSED;

/** txn_fail, txn_fail_with - report an error to the requester and end @t; may release @t. @code, @a
 * and @b are .code, .a and .b of struct rpc_error. */
void txn_fail(struct txn *t, enum rpc_error_code code, uint32_t a, uint32_t b);
void txn_fail_with(struct txn *t, const struct rpc_error *e);

/** txn_finish_if_idle - @t is over: release it, unless operations or messages of it are under
 * way. */
void txn_finish_if_idle(struct txn *t);

/** txn_release - give back everything @t holds; its legs use none of it any more. */
void txn_release(struct txn *t);

#endif
