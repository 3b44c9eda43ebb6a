/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_TXN_H
#define PROXY_TXN_H

#include "base/timer.h"
#include "proxy/latency.h"
#include "proxy/leg/leg.h"
#include "proxy/plan/nfsresult.h"
#include "proxy/plan/plan.h"
#include "proxy/tap.h"

/**
 * txn - one RPC in flight between the legs of a session, in either direction
 *
 * Inside of proxy/ only. txn_call.c and txn_reply.c carry it through its steps, txn_step.c from one to the
 * next (the first comment of txn.c has the diagram); the others serve it: txn_room.c finds it a place,
 * txn_admit.c says when it may start, txn_memory.c holds its regions, txn_blank.c makes them blank, txn_form.c
 * its messages, txn_ops.c its Reads and Writes, txn_pass.c Writes that go before the reply, txn_short.c waits for what
 * its fabric is short of, txn_told.c checks what its server tells, txn_late.c lets it go.
 */

enum txn_state {
	TXN_WAITING, /* for memory or exposures; holds none */
	TXN_PULL,    /* reading what the requester exposed */
	TXN_CALL,    /* call queued or on its way to the responder */
	TXN_WAIT,    /* for the reply */
	TXN_AGAIN, /* the call's form was refused: withdrawn, then the call is formed another way */
	TXN_BLANK, /* what the responder is to write to is being blanked */
	TXN_SHORT, /* the fabric has nothing to expose with: withdrawn, tried again soon */
	TXN_FENCE, /* exposures being withdrawn, before anybody uses their memory */
	TXN_PUSH,  /* writing what the responder returned */
	TXN_REPLY, /* reply queued or on its way to the requester */
	TXN_FAILED, /* error reported; waits for operations still posted */
};

/* Ways that a call does not go again, once one was refused: each is tried at most once. */
enum {
	TXN_AVOID_CONTINUED = 1,
	TXN_AVOID_BODY_CHUNK = 2,
	TXN_AVOID_REPLY_CHUNK = 4,
	TXN_AVOID_PLACED = 8,
};

/** struct txn_region - one chunk's memory between the legs. */
struct txn_region {
	uint8_t *addr;	  /* arena block, or borrowed memory when !owned */
	uint32_t cap;	  /* octets the chunk can hold */
	uint32_t len;	  /* octets in it */
	uint32_t handle;  /* exposed to the responder under, 0 not */
	uint32_t written; /* by the responder, from the start: known once it is fenced */
	bool owned;
	uint32_t blank; /* from the start: held nothing of anybody's when it was exposed */
	uint32_t
		window; /* of a Write chunk that goes on as it comes: octets of memory; 0: it does not */
	/* Of a Write chunk, where the responder speaks the round-trip extension. */
	const uint8_t *sent; /* what it returned came with its reply, in that's Receive */
	uint32_t position;   /* of that in the reply, 0 not told */
	uint32_t left_in;    /* octets that it returned in the payload stream instead, there */
};

/** struct txn_piece - octets of such a one that lie in its window. */
struct txn_piece {
	const uint8_t *at;
	uint32_t offset, len; /* in the chunk */
	uint32_t posted;      /* of them */
	unsigned writes;      /* under way */
};

struct proxy;
struct session;
struct session_queue;

/** struct txn - fields stand under the file that writes them. */
struct txn {
	/* txn.c: what it is, and which step it is at */
	struct txn *hash_next;
	struct list link; /* session's txns */
	struct session *s;
	bool reverse; /* from the server to the client */
	enum txn_state state;
	struct leg *req, *rsp;
	struct leg_held call_held, reply_held;
	struct leg_tx call_tx, reply_tx;
	nsec_t since;				 /* its call arrived, or found a place, then */
	nsec_t called, answered;		 /* its call was formed; its reply came */
	nsec_t admitted, sent, fenced, returned; /* other steps: enum tap_mark */
	enum tap_outcome outcome;
	enum rpc_error_code error;	  /* reported to its requester */
	bool call_pending, reply_pending; /* with a leg: sent and not given back */
	bool replied;			  /* the reply may come before the call's completion */
	bool plain;	      /* its reply goes in the base protocol's form: txn_return_again() */
	uint32_t reply_bytes; /* Reply chunk to offer the responder, 0 none */

	/* txn_admit.c */
	struct list wait_link; /* session's admission queue; self-linked when not in it */
	unsigned exposures;    /* regions it may expose to the responder: its share, once started */
	bool started;	       /* admitted: runs, holds memory */
	bool aside;	       /* its call holds no Receive, though it waits */
	bool passes;	       /* a large result is not stored: txn_choose_way() */
	size_t taken;	       /* octets of blocks */

	/* txn_short.c: when the fabric was short first, 0 not; .wait_link is on the session's list then */
	nsec_t short_since;

	/* txn_late.c */
	struct timer late; /* let go then; armed until the answer, from: */
	nsec_t pulled;	   /* when all that its requester exposed was here; 0 not yet */
	nsec_t behind;	   /* session_behind() of its responder, when last looked at */
	bool doubted;	   /* a report may have been about this form of it, or an older one */

	/* txn_memory.c */
	struct txn_region *reads, *writes; /* as many as .in has; behind it */
	struct txn_region body, reply;
	unsigned exposed; /* regions exposed to the responder now */
	uint64_t mark;	  /* in a Reply chunk until it is written, or 0: txn_check_results() */

	/* txn_again.c */
	unsigned avoid; /* TXN_AVOID_... */
	bool refused;	/* its form, before all of it was sent */
	bool kept;	/* its payload stream is here yet */

	/* txn_form.c */
	struct plan_call plan; /* when it came */
	struct plan_shape shape;
	enum plan_form form; /* of the call, as it was sent */
	bool unheeded; /* directions were told, and the reply is in the base protocol's form */
	bool joined;   /* its data item is in the payload stream, not in a Read chunk */
	struct view call_body; /* the call's payload stream, once complete */
	struct rpchdr hdr;     /* what begins it: txn_look() */
	int hdr_err;
	struct view reply_body; /* the reply's: in its Receive, or in the Reply chunk's region */

	/* txn_told.c */
	enum nfs_reads nfs_reads; /* of its reply */
	enum latency_kind kind;	  /* of RPC */
	uint32_t expected;	  /* octets that its reply can have: struct plan_call */
	bool to_filer;		  /* a server of a version with such habits */
	bool unlisted; /* the reply is in the Reply chunk, and Write chunks are not mentioned */

	/* txn_inv.c */
	bool named; /* its handles are counted in the session's */

	/* txn_ops.c: progress through the segments to Read or Write, and what is posted of them */
	struct list op_link; /* requester leg's queue for operation slots; self-linked when not */
	unsigned op_chunk, op_seg;
	uint32_t op_offset, op_moved; /* of the chunk; of its segment */
	unsigned ops;

	/* txn_pass.c: a result that goes on as it comes */
	struct list
		pass_link; /* requester leg's queue for what came and is not posted; self-linked when not */
	struct txn_region *stream; /* once it is exposed */
	unsigned npieces, first_piece;
	unsigned passing; /* Writes under way */

	/* Last and large: not cleared, but written whole. */
	struct txn_piece pieces
		[FABRIC_STREAM_PIECES]; /* told, and not given back; in order, from .first_piece on */

	struct rpc_msg out; /* the message for the other leg: first the call, then the reply */
	struct rpc_msg
		in; /* the requester's call as it came: its chunks, for the way back. There is
			     * room for as many segments as it has, and then for its regions. */
};

/* Why a session ends where a reply has to be asked for again. */
#define TXN_OUTGREW "a reply was longer than expected: its requester is to send the call again"

#define TXN_NO_WAY "a reply had no way for its data: its requester is to send the call again"

/* txn.c: the life of one RPC */

/** txn_init - @t is a place for @out, a call that arrived on @req; takes @out->held. */
void txn_init(struct txn *t, struct session *s, struct leg *req, struct leg_out *out);

/** txn_find - the one with @xid that is not answered yet, or NULL: that XID is free. */
struct txn *txn_find(struct session *s, uint32_t xid, bool reverse);

/** txn_let_go - @t is not waited for any longer; nobody is told. May release it. Without a
 * reply_timeout an answer that comes yet ends the session. Return: false, and nothing happened, while
 * its call is being sent. */
bool txn_let_go(struct txn *t) WARN_UNUSED;

/** txn_fail, txn_fail_with - the requester is told that, and @t ends; may release it. */
void txn_fail(struct txn *t, enum rpc_error_code code, uint32_t a, uint32_t b);
void txn_fail_with(struct txn *t, const struct rpc_error *e);

/** txn_finish_if_idle - @t is over: released, unless something of it is under way. */
void txn_finish_if_idle(struct txn *t);

/** txn_release - give back everything @t holds; its legs no longer use any of it. */
void txn_release(struct txn *t);

/* txn_call.c: its call */

/** txn_call - a call arrived on @req; takes @out->held. */
void txn_call(struct session *s, struct leg *req, struct leg_out *out);

/** txn_resume - there may be room for the first calls kept in @q. */
void txn_resume(struct session_queue *q);

/** txn_run - start those that wait in @q, in order, as memory and exposures allow. */
void txn_run(struct session_queue *q);

/** txn_send_call - all that the requester exposed is here: on to the responder. */
void txn_send_call(struct txn *t);

/** txn_blanked - all of @t that the responder is to write to is blank: its call goes on. */
void txn_blanked(struct txn *t);

/** txn_go_again - its form was refused: it goes another way, once that one is withdrawn. */
void txn_go_again(struct txn *t);

/** txn_form_again - @t, whose exposures are withdrawn, is sent anew. */
void txn_form_again(struct txn *t);

/* txn_reply.c: its answer */

/** txn_reply - a reply arrived on @rsp; takes @out->held. */
void txn_reply(struct session *s, struct leg *rsp, struct leg_out *out);

/** txn_error - the responder on @rsp reports an error about a call. */
void txn_error(struct session *s, struct leg *rsp, const struct leg_out *out);

/** txn_fence_then_reply - its reply is here, and its call was sent. */
void txn_fence_then_reply(struct txn *t);

/** txn_send_reply - nothing exposed for it can be reached any more: on to the requester. */
void txn_send_reply(struct txn *t);

/** txn_return_again - its reply cannot go as it was formed. Return: false, and nothing happened: there is no other way
 * for it. */
bool txn_return_again(struct txn *t) WARN_UNUSED;

/** txn_return - every Write of its answer is posted: the reply goes behind them. */
void txn_return(struct txn *t);

/* txn_step.c: from one step to the next */

/** txn_sent - @tx, one of a transaction's messages, left, or was flushed. */
void txn_sent(struct txn *t, const struct leg_tx *tx);

/** txn_op - one of its Reads, Writes or withdrawals completed. */
void txn_op(struct txn *t, const struct leg_out *out);

/** txn_short_init, txn_short_end - of a session's life: what was short is tried again. */
void txn_short_init(struct session *s);
void txn_short_end(struct session *s);

/* txn_room.c: where they lie */

/** txn_take_room - a place for a transaction of @call, undefined. Return: NULL when @q has to wait, or
 * waits, for one. */
struct txn *txn_take_room(struct session_queue *q, const struct rpc_msg *call) WARN_UNUSED;

/** txn_set_room - @t->in is written: where its regions lie, blank. */
void txn_set_room(struct txn *t);

/** txn_give_room - takes @t, which is nothing but a place by now. */
void txn_give_room(struct session_queue *q, struct txn *t);

/** txn_give_spares - those that @q keeps for its next calls. */
void txn_give_spares(struct session_queue *q);

/** txn_keep - @out, a call, is the last of those that wait for a place in @q; takes @out->held. */
void txn_keep(struct session_queue *q, const struct leg_out *out);

/** txn_move_kept - all of those, out of their Receives. */
void txn_move_kept(struct session_queue *q);

/** txn_take_kept - the first of those again, with a place, @t. @aside: it holds no Receive. Return: false,
 * and nothing happened, when there is none. */
bool txn_take_kept(struct session_queue *q, struct leg_out *out, struct txn **t,
		   bool *aside) WARN_UNUSED;

/** txn_drop_kept - the session ends. */
void txn_drop_kept(struct session_queue *q);

/* txn_admit.c: which may run */

enum txn_verdict {
	TXN_WAITS,
	TXN_STARTS,	/* it holds all it needs */
	TXN_IMPOSSIBLE, /* there will never be so much */
};

/** txn_is_plain - neither @call nor its answer has chunks: NULL, SEQUENCE, RENEW, most of GETATTR. */
static inline bool txn_is_plain(const struct rpc_msg *call)
{
	return call->nreads == 0 && call->nwrites == 0 && !call->has_reply && !call->has_body_chunk;
}

/** txn_has_turn - whether @call, which came in @q, may have a place for a transaction now, if there is one: no call waits before
 * it, or it may pass these. */
bool txn_has_turn(const struct session_queue *q, const struct leg_out *call);

/** txn_passes - whether @t runs from now on without waiting behind others of its queue: it needs nothing that these wait for. */
bool txn_passes(struct txn *t);

/** txn_queue - @t is the last of those that wait for their turn. */
void txn_queue(struct txn *t);

/** txn_admit - whether the first that waits in @q may run now: @t, unless TXN_WAITS. */
enum txn_verdict txn_admit(struct session_queue *q, struct txn **t) WARN_UNUSED;

/** txn_put_by - @t has to wait: where its octets may stay. Return: 0, or ERR_AGAIN: it cannot. */
int txn_put_by(struct txn *t) WARN_UNUSED;

/** txn_move_call - @t has to wait: its call is moved out of its Receive, where its leg keeps many or few
 * are left, and there is memory for it. Before its call is formed. */
void txn_move_call(struct txn *t);

/** txn_move_all - likewise of all of @s that came over @leg: it is sated. */
void txn_move_all(struct session *s, const struct leg *leg);

/** txn_move_reply - likewise its reply: the requester does not take it yet. Before it is formed. */
void txn_move_reply(struct txn *t);

/** txn_unqueue - @t ends: its place, its exposures and its share of memory are others'. */
void txn_unqueue(struct txn *t);

/* txn_memory.c: its regions */

/** txn_need - octets of blocks and number of exposures the regions of @t take. */
size_t txn_need(const struct txn *t, unsigned *exposures);

/** txn_is_large - whether one of them takes a block above SESSION_LARGE. */
bool txn_is_large(const struct txn *t);

/** txn_take - all regions at once, or none. Return: 0 or ERR_AGAIN. */
int txn_take(struct txn *t) WARN_UNUSED;

/** txn_give - regions back to the arena. */
void txn_give(struct txn *t);

/** txn_adopt_sent - all is fenced: what came with the reply takes the place of memory that waited for it. */
void txn_adopt_sent(struct txn *t);

/** txn_cut - the segments of @whole, added to the open @chunk of t->out; @like as below. Return: 0 or ERR_TOOBIG. */
int txn_cut(struct txn *t, const struct segment *whole, const struct rpc_chunk *like,
	    struct rpc_chunk *chunk) WARN_UNUSED;

/** txn_expose - one region to the responder, as a chunk of t->out without Position, cut to what it takes; @like: the
 * Write chunk of t->in that it stands for, or NULL. */
int txn_expose(struct txn *t, struct txn_region *r, uint32_t len, unsigned access,
	       const struct rpc_chunk *like, struct rpc_chunk *chunk) WARN_UNUSED;

/** txn_fence - withdraw every exposure, and learn what was written there. Return: whether all are
 * fenced now; else FABRIC_EV_WITHDRAWN completions follow, counted in t->ops. */
bool txn_fence(struct txn *t);

/** txn_forget_handles - all is fenced, and what was written counts for nothing: it can be exposed anew. */
void txn_forget_handles(struct txn *t);

/** txn_fenced - one of these came: @handle is fenced, @written as fabric_withdraw() has it. */
void txn_fenced(struct txn *t, uint32_t handle, uint32_t written);

/**
 * txn_check_results - once all is fenced: hold the lengths the responder reported against what it
 * wrote, in whatever order
 *
 * What it did not write is older memory of the gateway, and not the requester's to see: such a
 * reply is believed in nothing. A fabric that cannot tell gets memory blanked before.
 *
 * One habit is known: with Write chunks in the same call Linux (6.1), version 1, reports a
 * Reply chunk longer than what it wrote there by just their lengths. There t->reply_body is cut to
 * what was written; where the fabric cannot tell, a mark in the Reply chunk shows its end.
 * Return: 0 or ERR_PROTO.
 */
int txn_check_results(struct txn *t) WARN_UNUSED;

/* txn_blank.c: memory that held others' octets */

enum { TXN_BLANK_TURN = 1 << 20 }; /* octets in a turn of the worker: some 0.1 ms */

/** txn_blank - make blank what the responder is to write to, where its fabric does not tell what was
 * written. Return: whether all is; else txn_blank_next() goes on with it. */
bool txn_blank(struct txn *t) WARN_UNUSED;

/** txn_blank_next - as much of all as may be done in a turn, until one is blank: it, or NULL. */
struct txn *txn_blank_next(struct proxy *p) WARN_UNUSED;

/* txn_form.c: its messages */

/** txn_call_body_len - octets of the call's payload stream, whether it is here yet or not. */
size_t txn_call_body_len(const struct txn *t);

/** txn_look - the beginning of the call's payload stream is here: what rpchdr_peek() says of it. */
void txn_look(struct txn *t);

/** txn_plan - how the call goes to the responder, as far as is known when it comes: t->plan. */
void txn_plan(struct txn *t);

/** txn_complete_call - everything was pulled: the payload stream is whole. */
void txn_complete_call(struct txn *t);

/** txn_form_call - t->out for the responder, once everything was pulled; exposes regions.
 * Return: 0; ERR_CLOSED when the responder is gone; else an error with @e for the requester. */
int txn_form_call(struct txn *t, struct rpc_error *e) WARN_UNUSED;

/** txn_take_results - lengths and body of the responder's reply, within what it was offered; to be
 * believed once txn_check_results() has seen them. Return: 0 or ERR_PROTO. */
int txn_take_results(struct txn *t, const struct leg_out *out) WARN_UNUSED;

/** txn_form_reply - t->out for the requester, out of t->reply_body and t->writes. Return: 0, or
 * an error with @e for the requester. */
int txn_form_reply(struct txn *t, struct rpc_error *e) WARN_UNUSED;

/* txn_again.c: forms that a responder of version 2 refuses */

/** txn_keep_call - the call was sent: hold its payload stream as long as its form may be refused. */
void txn_keep_call(struct txn *t);

/** txn_keep_no_longer - ... unless it lies in a Receive: others are in want of that. */
void txn_keep_no_longer(struct txn *t);

/** txn_avoid - the form of @t was refused with @code (or not covered by credits: INVAL_CONT). Return:
 * whether there is another way yet: @t avoids the one that was refused. */
bool txn_avoid(struct txn *t, enum rpc_error_code code) WARN_UNUSED;

/** txn_had_no_way - whether @e says that the call was carried out, and its reply could not come by the directions that
 * were chosen here. None are told for a while; the call has to be made again. */
bool txn_had_no_way(struct txn *t, const struct rpc_error *e) WARN_UNUSED;

/** txn_was_unheeded - whether the reply to @t, which its requester cannot be given, is one that leaves in its payload stream
 * what the directions chosen here were for. None are told for a while; the call has to be made again. */
bool txn_was_unheeded(struct txn *t) WARN_UNUSED;

/** txn_may_ask - whether directions may be told for what the reply returns. */
bool txn_may_ask(const struct txn *t);

/** txn_is_stale - whether such a report is about a form that @t has given up before. */
bool txn_is_stale(const struct txn *t, enum rpc_error_code code);

/** txn_proved - @t was answered: its form is one that the responder takes. */
void txn_proved(const struct txn *t);

/* txn_short.c: what the fabric is short of for a while */

/** txn_short - the fabric answered ERR_AGAIN to @t: whether to wait; else it has been so for too long.
 * The timer tries the session's operations, and the calls on its list. */
bool txn_short(struct txn *t) WARN_UNUSED;

/** txn_short_call - likewise, and @t is on the list. */
bool txn_short_call(struct txn *t) WARN_UNUSED;

/* txn_inv.c: handles of the requester */

/** txn_name, txn_unname - from the call's arrival until @t is released: its handles are named by a
 * call in flight. */
void txn_name(struct txn *t);
void txn_unname(struct txn *t);

/** txn_inv_handle - a handle of the call that its sender lets the reply invalidate, or 0. */
uint32_t txn_inv_handle(const struct txn *t);

/* txn_told.c: what a version 1 server tells of its reply */

/** txn_reply_room - how large a Reply chunk to offer where the plan wants @planned octets. */
uint32_t txn_reply_room(const struct txn *t, uint32_t planned);

/** txn_told_init - who its responder is. */
void txn_told_init(struct txn *t);

/** txn_avoids_reply_chunk - the call has Write chunks, which its server ignores beside a Reply chunk. */
bool txn_avoids_reply_chunk(const struct txn *t);

/** txn_note_call - the call's payload stream is complete: what its reply will look like. */
void txn_note_call(struct txn *t);

/** txn_note_reply - which chunks @reply returns. */
void txn_note_reply(struct txn *t, const struct rpc_msg *reply);

/** txn_slack - how much longer replies of its server can be than what is expected. */
uint32_t txn_slack(const struct txn *t);

/** txn_outgrew - the server could not send its reply to @t: whether that was for want of a room that would
 * have been the requester's to give. From now on there is more; the call has to be made again. */
bool txn_outgrew(struct txn *t) WARN_UNUSED;

/** txn_check_told - whether the reply is whole, and its data where it says they are; lengths of Write
 * chunks that are a little too long are put right. After txn_check_results(). Return: 0, or an error
 * with @e for the requester. */
int txn_check_told(struct txn *t, struct rpc_error *e) WARN_UNUSED;

/* txn_late.c: calls without an answer */

/** txn_late_init - it is not waited for yet. */
void txn_late_init(struct txn *t);

/** txn_is_jammed - calls of @q can go on only when others are answered: those have all places, or
 * all credits of a responder of version 1; or their requester has no credit left, and what would
 * bring it some is a Reply. So it is for good where they are Call-only. */
bool txn_is_jammed(const struct session_queue *q);

/**
 * txn_unjam - none was answered for DEBT_PATIENCE: those that can be Call-only are let go
 *
 * Return: NULL, or why the session has to end: the responder's credits are lost.
 */
const char *txn_unjam(struct session_queue *q) WARN_UNUSED;

/** txn_doubt - a report that may be about a form of @t that was given up, or about the one that is
 * under way: if no answer follows, it was that. */
void txn_doubt(struct txn *t);

/** txn_pulled - all that the requester of @t exposed is here: its answer is waited for, from the first time on. */
void txn_pulled(struct txn *t);

/* txn_pass.c: results on their way while the rest is still coming */

/** txn_choose_way - right before it may begin: whether a large result is stored, or passed on as it comes. */
void txn_choose_way(struct txn *t);

/** txn_write_memory - octets of memory for the @i-th Write chunk: as many as it has, or a window. */
uint64_t txn_write_memory(const struct txn *t, unsigned i);

/** txn_stream - @r, which has a window, is exposed to the responder. Return: as fabric_expose(). */
int txn_stream(struct txn *t, struct txn_region *r, struct segment *seg) WARN_UNUSED;

/** txn_has_window - whether one of its Write chunks has. */
bool txn_has_window(const struct txn *t);

/** txn_placed - the responder has written some of what goes so: on with it. */
void txn_placed(struct txn *t, const struct leg_out *out);

/** txn_pass_on - as much as may be posted; the rest is on the requester's leg's .passers. */
void txn_pass_on(struct txn *t);

/** txn_passed - one of these Writes completed. */
void txn_passed(struct txn *t);

/** txn_pass_waits - the step that @t is at has to wait: for all that came to be posted, or for what is under way. */
bool txn_pass_waits(const struct txn *t);

/** txn_pass_no_more - what of it is not posted by now never is; the window is withdrawn. */
void txn_pass_no_more(struct txn *t);

/** txn_pass_next - post what fits on @leg of what waits there, in order. Return: the next transaction of which all is
 * posted, or NULL. */
struct txn *txn_pass_next(struct session *s, struct leg *leg) WARN_UNUSED;

/* txn_ops.c: its Reads and Writes */

/** txn_ops_begin - queue @t for the Reads (TXN_PULL) or Writes (TXN_PUSH) it needs. Return: whether all are
 * posted; else txn_ops_next() says so when they are. */
bool txn_ops_begin(struct txn *t) WARN_UNUSED;

/** txn_ops_next - post what fits on @leg, for the transactions queued there, in order. Return: the next of
 * them of which all is posted, or NULL. */
struct txn *txn_ops_next(struct session *s, struct leg *leg) WARN_UNUSED;

#endif
