/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_TXN_ZERO_SINK_H
#define PROXY_TXN_ZERO_SINK_H

#include "proxy/txn.h"

/** txn_zero_sink - memory that held other clients' octets */

/* Octets blanked in a turn of the worker at most: about 0.1 ms. */
enum { TXN_BLANK_TURN = 1 << 20 };

/** txn_blank - blank what the responder of @t may write to, if its fabric cannot tell what was
 * written. Return: whether it is done; else txn_blank_next() continues. */
bool txn_blank(struct txn *t) WARN_UNUSED;

/** txn_blank_next - continue for all transactions, up to the limit of a turn. Return: the next
 * transaction that is done, or NULL. */
struct txn *txn_blank_next(struct proxy *p) WARN_UNUSED;

#endif
