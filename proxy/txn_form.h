/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_TXN_FORM_H
#define PROXY_TXN_FORM_H

#include "proxy/txn.h"

/** txn_form - forming the messages of a transaction. */

/** txn_call_body_len - octets of the call's payload stream, whether it has been read yet or not. */
size_t txn_call_body_len(const struct txn *t);

/** txn_snapshot - the beginning of the call's payload stream is here: decode its RPC header. */
void txn_snapshot(struct txn *t);

/** txn_plan - plan the form of the call, as far as it is known when the call comes: t->plan. */
void txn_plan(struct txn *t);

/** txn_complete_call - everything was read: the payload stream is complete. */
void txn_complete_call(struct txn *t);

/**
 * txn_form_call - form t->out for the responder, once everything was read; exposes regions
 *
 * Return: 0; ERR_CLOSED if the responder is gone; else an error with @e for the requester.
 */
int txn_form_call(struct txn *t, struct rpc_error *e) WARN_UNUSED;

/**
 * txn_take_results - take lengths and body of the responder's reply, within what it was offered
 *
 * They are not to be used before txn_check_results(). Return: 0 or ERR_PROTO.
 */
int txn_take_results(struct txn *t, const struct leg_out *out) WARN_UNUSED;

/** txn_form_reply - form t->out for the requester, from t->reply_body and t->writes. Return: 0,
 * or an error with @e for the requester. */
int txn_form_reply(struct txn *t, struct rpc_error *e) WARN_UNUSED;

#endif
