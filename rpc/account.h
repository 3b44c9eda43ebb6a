/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPC_ACCOUNT_H
#define RPC_ACCOUNT_H

#include "rpc/transport.h"

/**
 * struct rpc_account - the calls that this end sends: forward ones of an initiator, reverse ones of
 * an acceptor. Version 1 and the early draft of version 2 count credits in this way.
 *
 * Calls in flight <= min(requested, granted); granted is 1 until the first reply (RFC 8166 section
 * 3.3). There is one such account: the calls of an initiator are all forward, those of an acceptor
 * all reverse. The Receives posted for the peer bound what the peer sends.
 *
 *              forward calls                     reverse calls (rfc5666bis-01 section 8)
 *   initiator  requests own.credits              grants own.rev_credits
 *   acceptor   grants own.credits                requests own.rev_credits
 */
struct rpc_account {
	/* calls granted by the last reply; 1 before the first: RFC 8166 section 3.3.3 */
	uint32_t granted;
	uint32_t in_flight;
};

enum { RPC_MAX_CREDITS = 16384 }; /* a larger grant counts as this many */

/** rpc_takes_reverse_calls - whether this end accepts calls in reverse direction. */
static inline bool rpc_takes_reverse_calls(const struct rpc_params *own)
{
	return own->reverse != RPC_REV_NONE && own->rev_credits > 0;
}

/** rpc_is_reverse - whether a message of @dir that this end sends, or receives, travels in reverse
 * direction: calls of the acceptor, and replies to them. */
static inline bool rpc_is_reverse(const struct rpc_params *own, enum rpc_dir dir, bool sent_by_us)
{
	bool by_initiator = (own->role == RPC_INITIATOR) == sent_by_us;

	return by_initiator == (dir == RPC_REPLY);
}

/** rpc_account_requests - rdma_credit of a call: number of calls that this end wants to have in
 * flight. */
uint32_t rpc_account_requests(const struct rpc_params *own);

/** rpc_account_grants - rdma_credit of a reply: number of calls of the peer that this end accepts
 * at once; never 0. */
uint32_t rpc_account_grants(const struct rpc_params *own);

/** rpc_account_limit - calls that may be in flight. */
uint32_t rpc_account_limit(const struct rpc_account *a, const struct rpc_params *own);

/** rpc_account_call - a call with @xid is sent; there was credit for it. */
void rpc_account_call(struct rpc_account *a, struct rpc_transport *t, uint32_t xid);

/** rpc_account_grant - an answer grants @credit; 0 would be a deadlock and counts as 1. */
void rpc_account_grant(struct rpc_account *a, uint32_t credit);

/**
 * rpc_account_answer - an answer to @xid came, which frees the credit of its call
 *
 * Return: whether a call waits for the answer; if not, @t counts the answer as dropped or late.
 */
bool rpc_account_answer(struct rpc_account *a, struct rpc_transport *t, uint32_t xid);

/** rpc_account_answer_late - rpc_account_answer() for an answer that is known to belong to an
 * abandoned call. No call waits for this answer, even if a later call has the same XID. */
void rpc_account_answer_late(struct rpc_account *a, struct rpc_transport *t, uint32_t xid);

/** rpc_account_forget - the call @xid is abandoned. The call keeps its credit until it is
 * answered. */
void rpc_account_forget(const struct rpc_account *a, struct rpc_transport *t, uint32_t xid);

/**
 * rpc_account_cut - a reply or report that ends early names @xid; sets @rx
 *
 * State:  a message of 16 octets or more ends within its transport header, or within the RPC header
 *         after that.
 * Danger: if the message is dropped (rfc5666bis-01 8.3.3), the call that it names waits for ever.
 *         If all of it is believed, a report about no call frees the credit of another call.
 * Rule:   the message counts as a reply that cannot be parsed (rfc5666bis-01 5.5), if the user has
 *         a call of that XID: .cut asks the user. No other field of the message counts. The caller
 *         of this function drops a message that may be a call. To an acceptor, any message of
 *         unknown direction may be a call, except a report.
 * Pinned: tests/v1/test_conn_errors.c:answers_cut_short_fail_their_call
 *
 * Return: whether the call of @xid was abandoned before: its credit is free.
 */
bool rpc_account_cut(const struct rpc_account *a, const struct rpc_transport *t, uint32_t xid,
		     struct rpc_rx *rx) WARN_UNUSED;

#endif
