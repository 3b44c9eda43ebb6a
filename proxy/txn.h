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
 * - txn_form.c forms messages; txn_ops.c posts Reads and Writes; txn_cut_through.c cuts results through;
 *   txn_remote_inval.c picks handles to invalidate
 * - txn_retry_form.c forms a refused call in another way; txn_device_busy.c waits for resources of a device
 * - txn_server_quirks.c checks what a version 1 server reports; txn_reply_timeout.c abandons calls without an answer
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
	TXN_FENCE,  /* exposures are being withdrawn before their memory is used */
	TXN_PUSH,   /* RDMA Writes of the responder's results to the requester are under way */
	TXN_REPLY,  /* the reply is queued or being sent to the requester */
	TXN_FAILED, /* an error was reported; operations still posted are awaited */
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
	bool owned;
	uint32_t blank; /* octets, from the start, that were blanked before it was exposed */
	/* A Write chunk that is cut through: octets of its window; 0: it is not cut through. */
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
	unsigned writes;      /* RDMA Writes of them under way */
};

struct proxy;
struct session;
struct session_queue;

/** struct txn - each field stands under the file that writes it. */
struct txn {
	/* txn.c: identity and state */
	struct txn *hash_next;
	struct list link; /* in session.txns */
	struct session *s;
	bool reverse; /* the call travels from the server to the client */
	enum txn_state state;
	struct leg *req, *rsp;
	struct leg_held call_held, reply_held;
	struct leg_tx call_tx, reply_tx;
	/* Times of its steps, 0: not reached. TAP_ARRIVED: its call came, or got a transaction
	 * block. */
	nsec_t at[TAP_MARKS];
	enum trace_outcome outcome;
	enum rpc_error_code error;	  /* error reported to the requester */
	bool call_pending, reply_pending; /* the message is with its leg: sent and not given back */
	/* The reply has come, perhaps before the call's completion. */
	bool replied;
	/* The reply is sent in the base protocol's form: txn_return_again(). */
	bool plain;
	uint32_t reply_bytes; /* Reply chunk to offer the responder, 0 none */

	/* txn_admit.c */
	/* In the admission queue, or a list of txn_zero_sink.c or txn_device_busy.c; self-linked when in
	 * none. */
	struct list wait_link;
	unsigned exposures; /* regions it may expose to the responder; counted while it runs */
	bool started;	    /* the transaction was admitted: it runs and holds memory */
	bool aside;	    /* the call was copied out of its Receive */
	bool passes;	    /* a large result is cut through: txn_choose_way() */
	size_t taken;	    /* octets of payload blocks it holds */

	/* txn_device_busy.c: since when the device is short of resources for it; 0: it is not */
	nsec_t short_since;

	/* txn_reply_timeout.c */
	struct timer late; /* armed from .pulled until the answer: when the call is abandoned */
	nsec_t pulled;	   /* when everything the requester exposed had been read; 0: not yet */
	nsec_t behind;	   /* session_behind() of its responder at the last look */
	/* An error report may have been about this form of the call or an older one. */
	bool is_suspected;

	/* txn_memory.c */
	struct txn_region *reads, *writes; /* as many as .in has; they lie behind it */
	struct txn_region body, reply;
	unsigned exposed; /* number of regions exposed to the responder now */
	/* Fills a Reply chunk before it is written: txn_check_results(); 0: not used. */
	uint64_t mark;

	/* txn_retry_form.c */
	unsigned avoid; /* bit mask of TXN_AVOID_... */
	bool refused;	/* the call's form was refused before all of it was sent */
	bool kept;	/* the call's payload stream is still here */

	/* txn_form.c */
	struct plan_call plan; /* the plan made when the call came */
	struct plan_shape shape;
	enum plan_form form; /* the form in which the call was sent */
	/* The call asked for data in the Send of the reply, and the reply came in the base
	 * protocol's form. */
	bool unheeded;
	bool joined; /* the data item was sent in the payload stream, not in a Read chunk */
	struct view call_body; /* the call's payload stream, once complete */
	struct rpchdr hdr;     /* the RPC header at its beginning: txn_snapshot() */
	int hdr_err;
	/* The reply's payload stream: in its Receive, or in the region of the Reply chunk. */
	struct view reply_body;

	/* txn_server_quirks.c */
	enum nfs_reads nfs_reads; /* layout of READ data in its reply */
	enum latency_kind kind;	  /* kind of RPC, for statistics */
	uint32_t expected;	  /* .expected of struct plan_call */
	bool tells_cut;		  /* a reply that fills the Reply chunk was cut by its server */
	/* The responder is a server of version 1, whose reported lengths are checked. */
	bool to_filer;
	/* The reply came in the Reply chunk and does not mention the Write chunks offered. */
	bool unlisted;

	/* txn_remote_inval.c */
	bool named; /* the call's handles are counted in session.named */

	/* txn_ops.c: how far its Reads or Writes are posted */
	/* In the requester leg's queue for operation slots; self-linked when not. */
	struct list op_link;
	unsigned op_chunk, op_seg;
	uint32_t op_offset, op_moved; /* octets posted of the chunk, and of its segment */
	unsigned ops;

	/* txn_cut_through.c: a result that is cut through */
	/* In the requester leg's queue for octets that came and are not posted; self-linked when
	 * not. */
	struct list pass_link;
	struct txn_region *stream; /* the region that is cut through, once exposed */
	unsigned npieces, first_piece;
	unsigned passing; /* RDMA Writes under way */

	/* The large fields come last: txn_init() does not clear them, they are written in whole. */
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

/** txn_find - the transaction with @xid that has no answer yet; NULL: the XID is free. */
struct txn *txn_find(struct session *s, uint32_t xid, bool reverse);

/**
 * txn_let_go - abandon @t; the requester is not notified
 *
 * It may release @t. Without a reply_timeout, a late answer ends the session. Return: false while
 * the call is being sent; then nothing happened.
 */
bool txn_let_go(struct txn *t) WARN_UNUSED;

/** txn_fail, txn_fail_with - report that error to the requester and end @t; may release it. */
void txn_fail(struct txn *t, enum rpc_error_code code, uint32_t a, uint32_t b);
void txn_fail_with(struct txn *t, const struct rpc_error *e);

/** txn_finish_if_idle - @t is over: release it, unless operations or messages of it are under
 * way. */
void txn_finish_if_idle(struct txn *t);

/** txn_release - give back everything @t holds; its legs use none of it any more. */
void txn_release(struct txn *t);

/* txn_call.c: its call */

/** txn_call - a call arrived on @req; takes @out->held. */
void txn_call(struct session *s, struct leg *req, struct leg_out *out);

/** txn_resume - a transaction block may be free for the first calls kept in @q. */
void txn_resume(struct session_queue *q);

/** txn_run - start the calls that wait in @q, in order, as memory and exposures allow. */
void txn_run(struct session_queue *q);

/** txn_send_call - everything the requester exposed has been read: send the call to the
 * responder. */
void txn_send_call(struct txn *t);

/** txn_blanked - all memory of @t that the responder may write to is blank: its call goes on. */
void txn_blanked(struct txn *t);

/** txn_go_again - the call's form was refused: withdraw its exposures, then send it in another
 * form. */
void txn_go_again(struct txn *t);

/** txn_form_again - all exposures of @t are withdrawn: form and send its call again. */
void txn_form_again(struct txn *t);

/* txn_reply.c: its answer */

/** txn_reply - a reply arrived on @rsp; takes @out->held. */
void txn_reply(struct session *s, struct leg *rsp, struct leg_out *out);

/** txn_error - the responder on @rsp reports an error about a call. */
void txn_error(struct session *s, struct leg *rsp, const struct leg_out *out);

/** txn_fence_then_reply - the reply has come and the call was sent: withdraw all exposures, then
 * reply. */
void txn_fence_then_reply(struct txn *t);

/** txn_send_reply - all exposures of @t are withdrawn: check the reply and pass it to the
 * requester. */
void txn_send_reply(struct txn *t);

/** txn_return_again - the reply cannot be sent as it was formed. Return: false, and nothing
 * happened, if there is no other form. */
bool txn_return_again(struct txn *t) WARN_UNUSED;

/** txn_return - all Writes of the answer are posted: send the reply behind them. */
void txn_return(struct txn *t);

/* txn_step.c: from one step to the next */

/** txn_sent - @tx, a message of @t, was sent or flushed. */
void txn_sent(struct txn *t, const struct leg_tx *tx);

/** txn_op - a Read, Write or withdrawal of @t completed, or a piece of a cut-through result came. */
void txn_op(struct txn *t, const struct leg_out *out);

/** txn_short_init, txn_short_end - begin and end the retries of a session after a shortage. */
void txn_short_init(struct session *s);
void txn_short_end(struct session *s);

/* txn_alloc.c: transaction blocks */

/** txn_take_room - a block for a transaction of @call; contents undefined. Return: NULL if @q has
 * to wait for one. */
struct txn *txn_take_room(struct session_queue *q, const struct rpc_msg *call) WARN_UNUSED;

/** txn_set_room - @t->in is written: set and clear the regions behind it. */
void txn_set_room(struct txn *t);

/** txn_give_room - takes @t, which is now only a block: cached for @q, or freed. */
void txn_give_room(struct session_queue *q, struct txn *t);

/** txn_give_spares - free the blocks that @q caches. */
void txn_give_spares(struct session_queue *q);

/** txn_keep - append @out, a call, to the calls of @q that wait for a block; takes @out->held. */
void txn_keep(struct session_queue *q, const struct leg_out *out);

/** txn_move_kept - copy all these calls out of their Receives. */
void txn_move_kept(struct session_queue *q);

/**
 * txn_take_kept - decode the first of these calls again, and give it a block, @t
 * @aside: set if the call holds no Receive
 *
 * Return: false, and nothing happened, if it cannot have a block.
 */
bool txn_take_kept(struct session_queue *q, struct leg_out *out, struct txn **t,
		   bool *aside) WARN_UNUSED;

/** txn_drop_kept - the session ends: drop these calls. */
void txn_drop_kept(struct session_queue *q);

/* txn_admit.c: which calls may run */

enum txn_verdict {
	TXN_WAITS,
	TXN_STARTS,	/* the call holds everything it needs */
	TXN_IMPOSSIBLE, /* the call needs more than there will ever be */
};

/** txn_is_plain - neither @call nor its answer has chunks: NULL, SEQUENCE, RENEW, most of
 * GETATTR. */
static inline bool txn_is_plain(const struct rpc_msg *call)
{
	return call->nreads == 0 && call->nwrites == 0 && !call->has_reply && !call->has_body_chunk;
}

/** txn_has_turn - whether @call, which came in @q, may have a transaction block now: no call
 * waits before it, or it may pass the calls that do. */
bool txn_has_turn(const struct session_queue *q, const struct leg_out *call);

/** txn_passes - start @t ahead of the calls that wait in its queue, if it needs nothing that they
 * wait for. Return: whether it was started. */
bool txn_passes(struct txn *t);

/** txn_queue - append @t to the calls that wait for admission. */
void txn_queue(struct txn *t);

/** txn_admit - try to admit the first call that waits in @q. Return: the verdict, about @t unless
 * TXN_WAITS. */
enum txn_verdict txn_admit(struct session_queue *q, struct txn **t) WARN_UNUSED;

/** txn_put_by - @t has to wait: copy its call out of its Receive if that is needed. Return: 0, or
 * ERR_AGAIN: @t cannot wait. */
int txn_put_by(struct txn *t) WARN_UNUSED;

/** txn_move_call - @t has to wait, before its call is formed: copy its call out of its Receive if
 * leg_keeps_many() and there is memory. */
void txn_move_call(struct txn *t);

/** txn_move_all - @leg has its full share of shared Receives: copy all calls of @s that came over
 * it out of their Receives. */
void txn_move_all(struct session *s, const struct leg *leg);

/** txn_move_reply - the requester does not take the reply of @t yet, which is not formed: copy it
 * out of its Receive likewise. */
void txn_move_reply(struct txn *t);

/** txn_unqueue - @t ends: give back its place among running transactions, its exposures and its
 * count of memory. */
void txn_unqueue(struct txn *t);

/* txn_memory.c: its regions */

/** txn_need - octets of blocks, and number of exposures, that the regions of @t need. */
size_t txn_need(const struct txn *t, unsigned *exposures);

/** txn_is_large - whether one of these regions needs a block above SESSION_LARGE. */
bool txn_is_large(const struct txn *t);

/** txn_take - take all regions, or none. Return: 0 or ERR_AGAIN. */
int txn_take(struct txn *t) WARN_UNUSED;

/** txn_give - give all regions back. */
void txn_give(struct txn *t);

/** txn_adopt_sent - all is fenced: results that came in the Receive of the reply replace the
 * memory reserved for them. */
void txn_adopt_sent(struct txn *t);

/** txn_cut - add the segments of @whole to the open @chunk of t->out; @like as below. Return: 0
 * or ERR_TOOBIG. */
int txn_cut(struct txn *t, const struct segment *whole, const struct rpc_chunk *like,
	    struct rpc_chunk *chunk) WARN_UNUSED;

/**
 * txn_expose - expose one region to the responder, as a chunk of t->out without Position, in
 * segments that the responder takes
 * @like: the Write chunk of t->in that it stands for, or NULL
 */
int txn_expose(struct txn *t, struct txn_region *r, uint32_t len, unsigned access,
	       const struct rpc_chunk *like, struct rpc_chunk *chunk) WARN_UNUSED;

/**
 * txn_fence - withdraw all exposures of @t, and learn what was written there
 *
 * Return: whether all are withdrawn now; else FABRIC_EV_WITHDRAWN events follow, counted in t->ops.
 */
bool txn_fence(struct txn *t);

/** txn_forget_handles - all is fenced, and what was written does not matter: the regions can be
 * exposed again. */
void txn_forget_handles(struct txn *t);

/** txn_fenced - a FABRIC_EV_WITHDRAWN came: @handle is withdrawn, @written as fabric_withdraw()
 * has it. */
void txn_fenced(struct txn *t, uint32_t handle, uint32_t written);

/**
 * txn_check_results - once all is fenced: compare the lengths that the responder reported with what
 * it wrote
 *
 * State:  a region holds older octets of the gateway, of other clients perhaps, wherever the
 *         responder did not write.
 * Danger: a responder reports more than it wrote, and the requester reads another client's data.
 * Rule:   a reply that reports more than was written is not used at all. If the fabric cannot tell
 *         what was written, the memory is blanked before (txn_zero_sink.c).
 * Pinned: tests/session/test_hostile_server.c:what_was_not_written_is_not_passed_on, decision 14.
 *
 * One habit is tolerated: Linux (6.1), version 1, reports a Reply chunk that is too long by exactly
 * the lengths of the Write chunks in the same call. t->reply_body is then cut to what was written;
 * if the fabric cannot tell, a mark in the Reply chunk shows its end.
 *
 * Return: 0 or ERR_PROTO.
 */
int txn_check_results(struct txn *t) WARN_UNUSED;

/* txn_zero_sink.c: memory that held other clients' octets */

/* Octets blanked in a turn of the worker at most: about 0.1 ms. */
enum { TXN_BLANK_TURN = 1 << 20 };

/** txn_blank - blank what the responder of @t may write to, if its fabric cannot tell what was
 * written. Return: whether it is done; else txn_blank_next() continues. */
bool txn_blank(struct txn *t) WARN_UNUSED;

/** txn_blank_next - continue for all transactions, up to the limit of a turn. Return: the next
 * transaction that is done, or NULL. */
struct txn *txn_blank_next(struct proxy *p) WARN_UNUSED;

/* txn_form.c: its messages */

/** txn_call_body_len - octets of the call's payload stream, whether it has been read yet or not. */
size_t txn_call_body_len(const struct txn *t);

/** txn_snapshot - the beginning of the call's payload stream is here: decode its RPC header. */
void txn_snapshot(struct txn *t);

/** txn_plan - plan the form of the call, as far as it is known when the call comes: t->plan. */
void txn_plan(struct txn *t);

/** txn_complete_call - everything was read: the payload stream is complete. */
void txn_complete_call(struct txn *t);

/**
 * txn_form_call - form t->out for the responder, once everything was read; exposes regions
 *
 * Return: 0; ERR_CLOSED if the responder is gone; else an error with @e for the requester.
 */
int txn_form_call(struct txn *t, struct rpc_error *e) WARN_UNUSED;

/**
 * txn_take_results - take lengths and body of the responder's reply, within what it was offered
 *
 * They are not to be used before txn_check_results(). Return: 0 or ERR_PROTO.
 */
int txn_take_results(struct txn *t, const struct leg_out *out) WARN_UNUSED;

/** txn_form_reply - form t->out for the requester, from t->reply_body and t->writes. Return: 0,
 * or an error with @e for the requester. */
int txn_form_reply(struct txn *t, struct rpc_error *e) WARN_UNUSED;

/* txn_retry_form.c: forms that a responder of version 2 refuses */

/** txn_keep_call - the call was sent: keep its payload stream as long as its form may be refused. */
void txn_keep_call(struct txn *t);

/** txn_keep_no_longer - other connections need Receives: stop keeping the payload stream if it
 * lies in one. */
void txn_keep_no_longer(struct txn *t);

/**
 * txn_avoid - the form of @t was refused with @code (INVAL_CONT also if credits do not cover it)
 *
 * Return: whether there is another form; @t then avoids the refused one.
 */
bool txn_avoid(struct txn *t, enum rpc_error_code code) WARN_UNUSED;

/**
 * txn_had_no_way - whether @e says that the reply had no way, because of directions that the
 * gateway chose
 *
 * The call was carried out then. The route's calls carry no directions for a while, and the RPC has
 * to be sent again.
 */
bool txn_had_no_way(struct txn *t, const struct rpc_error *e) WARN_UNUSED;

/**
 * txn_was_unheeded - whether the requester cannot take the reply to @t, because the responder
 * ignored the gateway's directions
 *
 * Data that were to come in the Send or by Write are in the payload stream then. The route's calls
 * carry no directions for a while, and the RPC has to be sent again.
 */
bool txn_was_unheeded(struct txn *t) WARN_UNUSED;

/** txn_may_ask - whether calls may carry directions for the data of their reply. */
bool txn_may_ask(const struct txn *t);

/** txn_is_stale - whether a report with @code is about a form that @t has given up before. */
bool txn_is_stale(const struct txn *t, enum rpc_error_code code);

/** txn_proved - @t was answered: the responder is known to take its form. */
void txn_proved(const struct txn *t);

/* txn_device_busy.c: temporary shortages of an RDMA device */

/**
 * txn_short - the fabric answered ERR_AGAIN to @t
 *
 * A timer then tries the session's operations, and the calls on its list, again. Return: whether to
 * wait; false: the shortage has lasted too long.
 */
bool txn_short(struct txn *t) WARN_UNUSED;

/** txn_short_call - likewise, and the call of @t is put on the list. */
bool txn_short_call(struct txn *t) WARN_UNUSED;

/* txn_remote_inval.c: handles of the requester that a reply may invalidate */

/** txn_name, txn_unname - the handles of @t begin, or cease, to count as named by a call in
 * flight: from the call's arrival until @t is released. */
void txn_name(struct txn *t);
void txn_unname(struct txn *t);

/** txn_inv_handle - a handle of the call that the requester lets the reply invalidate, or 0. */
uint32_t txn_inv_handle(const struct txn *t);

/* txn_server_quirks.c: what a version 1 server reports about its reply */

/** txn_reply_room - how large a Reply chunk to offer if the plan wants @planned octets. Sets .tells_cut. */
uint32_t txn_reply_room(struct txn *t, uint32_t planned);

/** txn_told_init - find out whether the reports of @t's responder are to be checked. */
void txn_told_init(struct txn *t);

/** txn_avoids_reply_chunk - the call has Write chunks, which its server is known to ignore beside
 * a Reply chunk. */
bool txn_avoids_reply_chunk(const struct txn *t);

/** txn_note_call - the call's payload stream is complete: note what its reply will look like. */
void txn_note_call(struct txn *t);

/** txn_note_reply - note which chunks @reply returns. */
void txn_note_reply(struct txn *t, const struct rpc_msg *reply);

/** txn_slack - octets by which replies of its server may exceed what is expected. */
uint32_t txn_slack(const struct txn *t);

/**
 * txn_outgrew - the server could not send its reply to @t
 *
 * Return: whether the reply was longer than expected, and the requester could have taken it. Later
 * calls then offer more, and this one has to be sent again.
 */
bool txn_outgrew(struct txn *t) WARN_UNUSED;

/**
 * txn_check_told - after txn_check_results(): whether the reply is whole, and its data lie where it
 * says
 *
 * Lengths of Write chunks that are a little too long are corrected. Return: 0, or an error with @e
 * for the requester.
 */
int txn_check_told(struct txn *t, struct rpc_error *e) WARN_UNUSED;

/* txn_reply_timeout.c: calls without an answer */

/** txn_late_init - no answer to @t is awaited yet. */
void txn_late_init(struct txn *t);

/**
 * txn_queue_is_blocked - calls of @q can proceed only when others are answered
 *
 * True in three cases: the unanswered calls have all places; they have all credits of a version 1
 * responder; or the requester has no credit left and only a reply would bring it one. If the
 * unanswered calls are Call-only that never ends.
 */
bool txn_queue_is_blocked(const struct session_queue *q);

/**
 * txn_abandon_call_only - no call of @q was answered for DEBT_PATIENCE: abandon those that can be Call-only
 *
 * Return: NULL; or why the session has to end: the responder's credits are lost.
 */
const char *txn_abandon_call_only(struct session_queue *q) WARN_UNUSED;

/**
 * txn_doubt - an error report came that may be about the present form of @t or about one given up
 * before
 *
 * If no answer follows it was about the present form.
 */
void txn_doubt(struct txn *t);

/** txn_pulled - everything that the requester of @t exposed has been read: from the first time on
 * its answer is awaited. */
void txn_pulled(struct txn *t);

/* txn_cut_through.c: cut-through of large results */

/** txn_choose_way - right before @t may start: decide whether a large result is stored or cut
 * through. */
void txn_choose_way(struct txn *t);

/** txn_write_memory - octets of memory for the @i-th Write chunk: its length, or that of a
 * window. */
uint64_t txn_write_memory(const struct txn *t, unsigned i);

/** txn_stream - expose @r, which has a window, to the responder. Return: as fabric_expose(). */
int txn_stream(struct txn *t, struct txn_region *r, struct segment *seg) WARN_UNUSED;

/** txn_has_window - whether one of the Write chunks of @t is cut through. */
bool txn_has_window(const struct txn *t);

/** txn_placed - the responder has written a piece of the cut-through result: pass it on. */
void txn_placed(struct txn *t, const struct leg_out *out);

/** txn_pass_on - post as many Writes as possible; the rest waits in .passers of the requester's
 * leg. */
void txn_pass_on(struct txn *t);

/** txn_passed - one of these Writes completed. */
void txn_passed(struct txn *t);

/** txn_pass_waits - the present step of @t has to wait: until all that came is posted, or until
 * Writes under way complete. */
bool txn_pass_waits(const struct txn *t);

/** txn_pass_no_more - the window is withdrawn: drop what is not posted. */
void txn_pass_no_more(struct txn *t);

/** txn_pass_next - post what fits on @leg for the transactions in its .passers, in order. Return:
 * the next transaction of which all is posted, or NULL. */
struct txn *txn_pass_next(struct session *s, struct leg *leg) WARN_UNUSED;

/* txn_ops.c: its Reads and Writes */

/** txn_ops_begin - queue @t for the Reads (TXN_PULL) or Writes (TXN_PUSH) that it needs. Return:
 * whether all are posted; else txn_ops_next() says when they are. */
bool txn_ops_begin(struct txn *t) WARN_UNUSED;

/** txn_ops_next - post what fits on @leg for the transactions queued there, in order. Return: the
 * next transaction of which all is posted, or NULL. */
struct txn *txn_ops_next(struct session *s, struct leg *leg) WARN_UNUSED;

#endif
