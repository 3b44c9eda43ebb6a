/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2_CREDIT_COVER_H
#define V2_CREDIT_COVER_H

#include "v2/conn.h"

/**
 * credit_cover - when a message of several Sends may begin: enum rpc_cover
 *
 * State:  a message takes several Sends, and this end has fewer credits.
 * Danger: a receiver may answer anything but a further part with RDMA2_ERR_INVAL_CONT (sections
 *         6.3.6 and 6.3.9), a GRANT as well, so nothing of ours comes between the parts. Two ends
 *         that both begin with too few credits wait for each other's GRANTs for ever.
 * Rule:   the message begins only when this end has the credits for all its Sends.
 * Pinned: tests/v2/test_v2_pair.c:both_continue_at_once
 */

/** v2_credit_cover_sends - number of Sends that @m takes; @octets: length of its header and payload
 * stream. */
uint32_t v2_credit_cover_sends(const struct v2_conn *c, const struct rpc_msg *m, size_t octets);

/* Private: for v2_credit_cover_check(). */
int v2_credit_cover_several(struct v2_conn *c, const struct rpc_tx *tx, uint32_t need) WARN_UNUSED;

/** v2_credit_cover_check - whether @tx, of which nothing was sent, may begin; @need: number of its
 * Sends. Return: 0; ERR_AGAIN: later; ERR_TOOBIG: never. */
static inline int WARN_UNUSED v2_credit_cover_check(struct v2_conn *c, const struct rpc_tx *tx,
						    uint32_t need)
{
	c->waits = false;
	return need == 1 ? 0 : v2_credit_cover_several(c, tx, need);
}

#endif
