/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_TXN_REPLY_TIMEOUT_H
#define PROXY_TXN_REPLY_TIMEOUT_H

#include "proxy/txn.h"

/** txn_reply_timeout - calls without an answer */

/** txn_reply_timeout_init - no answer to @t is awaited yet. */
void txn_reply_timeout_init(struct txn *t);

/**
 * txn_queue_is_blocked - calls of @q can proceed only when others are answered
 *
 * True in four cases: the unanswered calls have all places; they have exposures or memory that the
 * first call in line needs; they have all credits of a version 1 responder; or the requester has no
 * credit left and only a reply would bring it one. If the unanswered calls are Call-only, the calls
 * of @q stay blocked for ever.
 *
 * False while the requester has Reads to answer or Writes to take: then it owes these (DEBT_READS,
 * DEBT_OUTPUT), and its calls wait for it.
 */
bool txn_queue_is_blocked(const struct session_queue *q);

/**
 * txn_abandon_call_only - no call of @q was answered for DEBT_TIMEOUT: abandon those that can be
 * Call-only
 *
 * Return: NULL; or why the session has to end: the responder's credits are lost.
 */
const char *txn_abandon_call_only(struct session_queue *q) WARN_UNUSED;

/**
 * txn_suspect_report - an error report came that may be about the present form of @t or about one
 * given up before
 *
 * If no answer follows it was about the present form.
 */
void txn_suspect_report(struct txn *t);

/** txn_pulled - everything that the requester of @t exposed has been read: from the first time on
 * its answer is awaited. */
void txn_pulled(struct txn *t);

#endif
