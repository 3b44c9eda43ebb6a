/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where protocol versions meet: which of them a leg speaks, what it says of itself in each, and its
 * transport once the version is known. All else goes through rpc/transport.h.
 */
#include "proxy/leg/internal.h"

bool leg_speaks(const struct leg *leg, unsigned version)
{
	return version >= 1 && version <= 2 && (leg->cfg->versions & (1u << (version - 1)));
}

struct rpc_params leg_own_params(const struct leg *leg)
{
	const struct leg_config *cfg = leg->cfg;

	return (struct rpc_params){
		.role = leg->role,
		.recv_bytes = cfg->inline_bytes,
		.send_bytes = cfg->inline_bytes,
		.segment_bytes = cfg->segment_bytes,
		.segment_count = cfg->segment_count,
		.credits = leg->grant,
		.rev_credits = cfg->rev_credits,
		.literal_credits = cfg->literal_credits,
		.reverse = cfg->reverse,
		.remote_inv = leg->remote_inv,
		.vers_low = leg_speaks(leg, 1) ? 1 : 2,
		.vers_high = leg_speaks(leg, 2) ? 2 : 1,
		.first_xid = leg->first_xid,
		.msg = leg->msg,
	};
}

void leg_set_grant(struct leg *leg, uint32_t credits)
{
	leg->grant = credits < leg->cfg->credits ? credits : leg->cfg->credits;
	if (leg->t && leg->t->ops->traits->counts_calls)
		leg->t->ops->set_credits(leg->t, leg->grant);
}

int leg_set_version(struct leg *leg, unsigned version)
{
	const struct rpc_params p = leg_own_params(leg);
	int err;

	if (version == 1) {
		leg_auth_lacks(leg);
		err = v1_conn_init(&leg->u.v1, &p, &leg->peer_pdata);
		leg->t = &leg->u.v1.t;
	} else {
		err = v2_conn_init(&leg->u.v2, &p);
		leg->u.v2.cont.max_bytes = leg->cfg->max_message;
		/* draft-07 4.2.1: every message on the connection counts. */
		v2_credit_set_counters(&leg->u.v2.credit, leg->refused, leg->early);
		leg->u.v2.auth = leg->proof ? &leg->proof->auth : NULL;
		leg->t = &leg->u.v2.t;
	}
	if (err < 0)
		leg->t = NULL;
	return err;
}
