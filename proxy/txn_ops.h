/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_TXN_OPS_H
#define PROXY_TXN_OPS_H

#include "proxy/txn.h"

/** txn_ops - the RDMA Reads and Writes of a transaction. */

/* Private: for txn_ops_begin(). */
bool txn_ops_queue(struct txn *t) WARN_UNUSED;

/** txn_ops_begin - queue @t for the Reads (TXN_PULL) or Writes (TXN_PUSH) that it needs. Return:
 * whether all are posted; else txn_ops_next() says when they are. */
static inline bool WARN_UNUSED txn_ops_begin(struct txn *t)
{
	return !rpc_msg_has_chunks(&t->in) || txn_ops_queue(t); /* most calls have no chunks */
}

/** txn_ops_next - post what fits on @leg for the transactions queued there, in order. Return: the
 * next transaction of which all is posted, or NULL. */
struct txn *txn_ops_next(struct session *s, struct leg *leg) WARN_UNUSED;

#endif
