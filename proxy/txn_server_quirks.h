/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_TXN_SERVER_QUIRKS_H
#define PROXY_TXN_SERVER_QUIRKS_H

#include "proxy/txn.h"

/** txn_server_quirks - what a version 1 server reports about its reply */

/** txn_reply_room - how large a Reply chunk to offer if the plan wants @planned octets. Sets
 * .detects_cut. */
uint32_t txn_reply_room(struct txn *t, uint32_t planned);

/** txn_avoids_reply_chunk - the call has Write chunks, which its server is known to ignore beside
 * a Reply chunk. */
bool txn_avoids_reply_chunk(const struct txn *t);

/** txn_note_call - the call's payload stream is complete: note what its reply will look like. */
void txn_note_call(struct txn *t);

/** txn_note_reply - note which chunks @reply returns. */
void txn_note_reply(struct txn *t, const struct rpc_msg *reply);

/** txn_slack - octets by which replies of its server may exceed what is expected. */
uint32_t txn_slack(const struct txn *t);

/**
 * txn_outgrew - the server could not send its reply to @t
 *
 * Return: whether the reply was longer than expected, and the requester could have taken it. Later
 * calls then offer more, and this one has to be sent again.
 */
bool txn_outgrew(struct txn *t) WARN_UNUSED;

/**
 * txn_check_reported - after txn_check_results(): whether the reply is whole, and its data lie
 * where it says
 *
 * Lengths of Write chunks that are a little too long are corrected. Return: 0, or an error with @e
 * for the requester.
 */
int txn_check_reported(struct txn *t, struct rpc_error *e) WARN_UNUSED;

#endif
