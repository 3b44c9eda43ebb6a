/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2_COVER_H
#define V2_COVER_H

#include "v2/conn.h"

/**
 * cover - when a message of several Sends may begin: enum rpc_cover
 *
 * A receiver may answer anything but a further part with RDMA2_ERR_INVAL_CONT (sections 6.3.6 and
 * 6.3.9), a GRANT as well, so nothing of ours comes between the parts. Then whoever begins
 * with too few credits for all of them depends on GRANTs that the other, in the middle of a
 * message of its own, may not send either. So it begins only when they are there.
 */

/** v2_cover_sends - messages that @m takes; @octets: of its header and payload stream. */
uint32_t v2_cover_sends(const struct v2_conn *c, const struct rpc_msg *m, size_t octets);

/** v2_cover_check - whether @tx, of which nothing was sent, may begin; @need: messages that it takes. Return: 0;
 * ERR_AGAIN: later; ERR_TOOBIG: never. */
int v2_cover_check(struct v2_conn *c, const struct rpc_tx *tx, uint32_t need) WARN_UNUSED;

#endif
