/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_TXN_CALL_H
#define PROXY_TXN_CALL_H

#include "proxy/txn.h"

/** txn_call - steps of a transaction's call. */

/** txn_call - a call arrived; takes @out->held. */
void txn_call(struct session *s, struct leg_out *out);

/** txn_resume - a transaction block may be free for the first deferred calls of @q. */
void txn_resume(struct session_queue *q);

/** txn_run - start the calls that wait in @q, in order, as memory and exposures allow. */
void txn_run(struct session_queue *q);

/** txn_send_call - everything the requester exposed has been read: send the call to the
 * responder. */
void txn_send_call(struct txn *t);

/** txn_blanked - all memory of @t that the responder may write to is blank: its call goes on. */
void txn_blanked(struct txn *t);

/** txn_go_again - the call's form was refused: withdraw its exposures, then send it in another
 * form. */
void txn_go_again(struct txn *t);

/** txn_form_again - all exposures of @t are withdrawn: form and send its call again. */
void txn_form_again(struct txn *t);

#endif
