/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_TXN_ADMIT_H
#define PROXY_TXN_ADMIT_H

#include "proxy/txn.h"

/** txn_admit - admission: which calls may start. */

enum txn_verdict {
	TXN_WAITS,
	TXN_STARTS,	/* the call holds everything it needs */
	TXN_IMPOSSIBLE, /* the call needs more than there will ever be */
};

/** txn_is_plain - neither @call nor its answer has chunks. Such calls are NULL, SEQUENCE, RENEW and
 * most GETATTRs. */
static inline bool txn_is_plain(const struct rpc_msg *call)
{
	return call->nreads == 0 && call->nwrites == 0 && !call->has_reply && !call->has_body_chunk;
}

/** txn_has_turn - whether @call, which came in @q, may have a transaction block now: no call
 * waits before it, or it may pass the calls that do. */
bool txn_has_turn(struct session_queue *q, const struct leg_out *call);

/** txn_queue_has_place - whether another call of @q may run within the limit. */
bool txn_queue_has_place(const struct session_queue *q);

/** txn_queue - append @t to the calls that wait for admission, or to those that pass them. Return:
 * that list, .waiting or .passing of its queue. */
struct list *txn_queue(struct txn *t);

/** txn_admit_at_once - start @t, which just came in @q, if no call waits there and it lacks nothing.
 * True for most calls. Return: whether it started; otherwise txn_queue() is due. */
bool txn_admit_at_once(struct session_queue *q, struct txn *t) WARN_UNUSED;

/** txn_admit_passing - start the first of the calls that pass others, if there is a place for it.
 * @in_turn: only within the limit, and only if the call came before the first of .waiting. Return:
 * the call, or NULL. */
struct txn *txn_admit_passing(struct session_queue *q, bool in_turn);

/** txn_admit - try to admit the first call that waits in @q. Return: the verdict, about @t unless
 * TXN_WAITS. */
enum txn_verdict txn_admit(struct session_queue *q, struct txn **t) WARN_UNUSED;

/** txn_first_waits_for_others - the first call that waits in @q waits until running calls end: they
 * may need so many exposures that none are left for it, or it waits for speed
 * (txn_cut_through.h). */
bool txn_first_waits_for_others(const struct session_queue *q);

/** txn_put_by - @t has to wait: copy its call out of its Receive if that is needed. Return: 0, or
 * ERR_AGAIN: @t cannot wait. */
int txn_put_by(struct txn *t) WARN_UNUSED;

/** txn_move_call - @t has to wait, before its call is formed: copy its call out of its Receive if
 * leg_should_copy_out() and there is memory. */
void txn_move_call(struct txn *t);

/** txn_move_all - @leg has its full share of shared Receives: copy all calls of @s that came over
 * it out of their Receives. */
void txn_move_all(struct session *s, const struct leg *leg);

/** txn_move_reply - the requester does not take the reply of @t yet, which is not formed: copy the
 * reply out of its Receive, if leg_should_copy_out() and there is memory. */
void txn_move_reply(struct txn *t);

/** txn_unqueue - @t ends: give back its place among running transactions, its exposures and its
 * count of memory. */
void txn_unqueue(struct txn *t);

#endif
