/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_TXN_RETRY_FORM_H
#define PROXY_TXN_RETRY_FORM_H

#include "proxy/txn.h"

/** txn_retry_form - forms that a responder of version 2 refuses */

/** txn_keep_stream - the call was sent: keep its payload stream as long as its form may be
 * refused. */
void txn_keep_stream(struct txn *t);

/** txn_give_back_stream - other connections need Receives: stop keeping the payload stream if it
 * lies in one. */
void txn_give_back_stream(struct txn *t);

/**
 * txn_avoid - the form of @t was refused with @code (INVAL_CONT also if credits do not cover it)
 *
 * Return: whether there is another form; @t then avoids the refused one.
 */
bool txn_avoid(struct txn *t, enum rpc_error_code code) WARN_UNUSED;

/**
 * txn_had_no_way - whether @e says that the reply had no way, because of directions that the
 * gateway chose
 *
 * The responder has carried out the call then. Calls to that server (for servers' calls: all of the
 * route) carry no directions for a while, and the requester has to send the RPC again.
 */
bool txn_had_no_way(struct txn *t, const struct rpc_error *e) WARN_UNUSED;

/**
 * txn_was_unheeded - whether the requester cannot take the reply to @t, because the responder
 * ignored the gateway's directions
 *
 * Data that were to come in the Send or by Write are in the payload stream then. Calls to that
 * server (for servers' calls: all of the route) carry no directions for a while, and the requester
 * has to send the RPC again.
 */
bool txn_was_unheeded(struct txn *t) WARN_UNUSED;

/** txn_may_ask - whether @t may carry directions for the data of its reply. */
bool txn_may_ask(const struct txn *t);

/** txn_is_stale - whether a report with @code is about a form that @t has given up before. */
bool txn_is_stale(const struct txn *t, enum rpc_error_code code);

/** txn_proved - @t was answered: the responder is known to take its form. */
void txn_proved(const struct txn *t);

#endif
