/* SPDX-License-Identifier: BSD-2-Clause */
#include "rpc/account.h"

#include "base/min.h"

uint32_t rpc_account_requests(const struct rpc_params *own)
{
	return own->role == RPC_INITIATOR ? own->credits : own->rev_credits;
}

/* MUST NOT be 0: rfc5666bis-01 section 8.2.1. */
uint32_t rpc_account_grants(const struct rpc_params *own)
{
	uint32_t n = own->role == RPC_INITIATOR ? own->rev_credits : own->credits;

	return n ? n : 1;
}

uint32_t rpc_account_limit(const struct rpc_account *a, const struct rpc_params *own)
{
	return min_u32(rpc_account_requests(own), a->granted);
}

void rpc_account_call(struct rpc_account *a, struct rpc_transport *t, uint32_t xid)
{
	a->in_flight++;
	rpc_late_again(&t->late, xid);
}

void rpc_account_grant(struct rpc_account *a, uint32_t credit)
{
	a->granted = credit ? min_u32(credit, RPC_MAX_CREDITS) : 1;
}

bool rpc_account_answer(struct rpc_account *a, struct rpc_transport *t, uint32_t xid)
{
	if (a->in_flight == 0) {
		t->count.dropped++;
		return false;
	}
	a->in_flight--;
	if (!rpc_late_take(&t->late, xid))
		return true;
	t->count.late++;
	return false;
}

void rpc_account_answer_late(struct rpc_account *a, struct rpc_transport *t, uint32_t xid)
{
	if (a->in_flight == 0) {
		t->count.dropped++;
		return;
	}
	a->in_flight--;
	(void)rpc_late_take_first(&t->late, xid);
	t->count.late++;
}

/* "A Requester MUST NOT send unacknowledged requests in excess of this granted limit" (RFC 8166
 * section 3.3.1): the responder still has a call that the requester has abandoned. */
void rpc_account_forget(const struct rpc_account *a, struct rpc_transport *t, uint32_t xid)
{
	if (a->in_flight > 0)
		rpc_late_add(&t->late, xid);
}

bool rpc_account_cut(const struct rpc_account *a, const struct rpc_transport *t, uint32_t xid,
		     struct rpc_rx *rx)
{
	if (a->in_flight == 0)
		return false;
	if (rpc_late_has(&t->late, xid))
		return true;
	rx->kind = RPC_RX_ERROR;
	rx->cut = true;
	rx->xid = xid;
	rx->error_dir = RPC_REPLY;
	rx->error = (struct rpc_error){.code = RPC_ERROR_BAD_XDR};
	return false;
}
