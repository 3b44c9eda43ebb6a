/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_TXN_REMOTE_INVAL_H
#define PROXY_TXN_REMOTE_INVAL_H

#include "proxy/txn.h"

/** txn_remote_inval - handles of the requester that a reply may invalidate */

/** txn_count_handles, txn_uncount_handles - count the handles that the call of @t names, when the
 * call arrives; uncount them, when @t is released. */
void txn_count_handles(struct txn *t);
void txn_uncount_handles(struct txn *t);

/** txn_remote_inval_handle - a handle of the call that the requester lets the reply invalidate, or
 * 0. */
uint32_t txn_remote_inval_handle(const struct txn *t);

#endif
