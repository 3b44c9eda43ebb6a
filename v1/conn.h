/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V1_CONN_H
#define V1_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "rpc/account.h"
#include "rpc/msg.h"
#include "rpc/transport.h"
#include "v1/header.h"
#include "v1/pdata.h"

enum {
	V1_MAX_CREDITS = RPC_MAX_CREDITS,
	V1_SEGMENT_COUNT = 16, /* segments that Linux takes in one chunk list */
};

/**
 * struct v1_conn - one version 1 connection: a struct rpc_transport with its state
 *
 * RFC 8166, RFC 8167 (reverse direction). Rules for its user, beyond rpc/transport.h:
 * - Receives posted: an initiator params.credits + params.rev_credits; an acceptor params.credits,
 *   and params.rev_credits for the replies to its reverse calls.
 * - After set_credits() lowered a grant, the old number of Receives stays posted until the calls
 *   granted before have come in: the peer learns of the lower grant only from the next reply.
 * - Only a reply, or RPC_RX_ERROR, frees the credit of its call. A call abandoned with forget()
 *   keeps its credit, and a Receive, until its answer is dropped.
 * - A reply or error while no call is in flight is dropped and counted. An error with .cut frees
 *   nothing until cut() is called.
 * - The direction follows from role and message: rpc_tx.reverse is not looked at.
 * - A reply that cannot be parsed is reported as RPC_RX_ERROR with RPC_ERROR_BAD_XDR, so that the
 *   call fails instead of being sent again (rfc5666bis-01 section 5.5).
 */
struct v1_conn {
	struct rpc_transport t; /* must be the first field: the ops get a pointer to it */
	struct rpc_account calls;
	struct v1_header reports[RPC_REPORTS]; /* a ring */
	unsigned first_report;
};

/**
 * v1_conn_init - a connection just established; .ready at once
 * @own:  copied
 * @peer: from the peer's private data; NULL means the defaults
 *
 * Return: 0, or ERR_CONFIG when @own cannot work: no credits, messages of less than the 1024 octets
 *         every version 1 implementation MUST support, or a version range without 1.
 */
int v1_conn_init(struct v1_conn *c, const struct rpc_params *own,
		 const struct v1_pdata *peer) WARN_UNUSED;

#endif
