/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_TXN_DEVICE_BUSY_H
#define PROXY_TXN_DEVICE_BUSY_H

#include "proxy/txn.h"

/** txn_device_busy - temporary shortages of an RDMA device */

/**
 * txn_device_busy_wait - the fabric answered ERR_AGAIN to @t
 *
 * A timer then tries the session's operations, and the calls on its list, again. Return: whether to
 * wait; false: the shortage has lasted too long.
 */
bool txn_device_busy_wait(struct txn *t) WARN_UNUSED;

/** txn_device_busy_retry - the call of @t cannot be formed: the fabric answered ERR_AGAIN, or its
 * withdrawals have not ended. The call is put on the session's list. Return: as
 * txn_device_busy_wait(). */
bool txn_device_busy_retry(struct txn *t) WARN_UNUSED;

#endif
