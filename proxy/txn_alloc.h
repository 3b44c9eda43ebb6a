/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_TXN_ALLOC_H
#define PROXY_TXN_ALLOC_H

#include "proxy/txn.h"

/** txn_alloc - transaction blocks */

/** txn_alloc_block - a block for a transaction of @call; contents undefined. Return: NULL if @q has
 * to wait for one. */
struct txn *txn_alloc_block(struct session_queue *q, const struct rpc_msg *call) WARN_UNUSED;

/** txn_init_block - @t->in is written: set and clear the regions behind it. */
void txn_init_block(struct txn *t);

/** txn_free_block - takes @t, which is now only a block: cached for @q, or freed. */
void txn_free_block(struct session_queue *q, struct txn *t);

/** txn_free_cached - free the transaction blocks that @q caches. */
void txn_free_cached(struct session_queue *q);

/** txn_count_wait - a call of @q has to wait: count the wait, as one for memory if @q waits for
 * memory, else as one for a place. */
void txn_count_wait(struct session_queue *q);

/** txn_defer - append the call @out to the calls of @q that wait for a block; takes @out->held.
 * Return: 0; or ERR_AGAIN if @out is a server's call that cannot be copied out of its Receive. Then
 * nothing was done. */
int txn_defer(struct session_queue *q, const struct leg_out *out) WARN_UNUSED;

/** txn_copy_out_deferred - copy the calls of @q that wait for a block out of their Receives. */
void txn_copy_out_deferred(struct session_queue *q);

/**
 * txn_take_deferred - decode the first call of @q that waits for a block again, and give it a
 * block, @t
 *
 * Return: false, and nothing happened, if it cannot have a block.
 */
bool txn_take_deferred(struct session_queue *q, struct leg_out *out, struct txn **t) WARN_UNUSED;

/** txn_drop_deferred - the session ends: drop the calls of @q that wait for a block. */
void txn_drop_deferred(struct session_queue *q);

#endif
