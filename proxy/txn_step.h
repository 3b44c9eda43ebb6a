/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_TXN_STEP_H
#define PROXY_TXN_STEP_H

#include "proxy/txn.h"

/** txn_step - a transaction goes from one step to the next. */

/** txn_sent - @tx, a message of @t, was sent or flushed. */
void txn_sent(struct txn *t, const struct leg_tx *tx);

/** txn_op - a Read, Write or withdrawal of @t completed, or a piece of a cut-through result
 * came. */
void txn_op(struct txn *t, const struct leg_out *out);

/** txn_device_busy_init, txn_device_busy_end - begin and end the retries of a session after a
 * shortage. */
void txn_device_busy_init(struct session *s);
void txn_device_busy_end(struct session *s);

#endif
