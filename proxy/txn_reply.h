/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_TXN_REPLY_H
#define PROXY_TXN_REPLY_H

#include "proxy/txn.h"

/** txn_reply - steps of a transaction's answer. */

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

#endif
