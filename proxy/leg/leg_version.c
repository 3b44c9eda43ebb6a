/* SPDX-License-Identifier: BSD-2-Clause */
/* The only place that knows all protocol versions: which of them a leg speaks, how it describes
 * itself in each, and its transport once the version is known. All else goes through
 * rpc/transport.h. */
#include <string.h>

#include "proxy/leg/leg_version.h"
#include "proxy/leg/internal.h"
#include "proxy/leg/leg_defer.h"

bool leg_speaks(const struct leg *leg, enum leg_version version)
{
	return leg->cfg->versions & version;
}

/* Two drafts have the number 2, and the first message tells which it is (decision 12). If only one
 * of the two is spoken here, a message of the other draft is handled in the draft spoken here.
 * Exception: if version 1 is spoken as well, a client of draft -07 is refused so that it continues
 * in version 1. */
static enum leg_version dialect_of(const struct leg *leg, struct view in)
{
	if (leg_speaks(leg, LEG_V2_EARLY) &&
	    (early_is_first(in) || leg->cfg->versions == LEG_V2_EARLY))
		return LEG_V2_EARLY;
	return leg_speaks(leg, LEG_V2) ? LEG_V2 : 0;
}

enum leg_version leg_version_of(const struct leg *leg, uint32_t number, struct view in)
{
	if (number == 1)
		return leg_speaks(leg, LEG_V1) ? LEG_V1 : 0;
	return number == 2 ? dialect_of(leg, in) : 0;
}

bool leg_is_other_draft(enum leg_version version, struct view in)
{
	return version == LEG_V2 ? early_is_first(in)
				 : version == LEG_V2_EARLY && !early_is_first(in);
}

/* The number of Sends in one message of the round-trip extension: as many as credits and memory
 * certainly cover. */
static uint32_t transmissions_of(const struct leg *leg)
{
	const struct leg_config *cfg = leg->cfg;
	uint32_t most = cfg->max_message / (cfg->inline_bytes + cfg->bulk_bytes);

	if (most > RPC_MAX_TRANSMISSIONS)
		most = RPC_MAX_TRANSMISSIONS;
	if (most > leg->grant)
		most = leg->grant;
	return cfg->bulk_bytes && most ? most : 1;
}

struct rpc_params leg_own_params(const struct leg *leg)
{
	const struct leg_config *cfg = leg->cfg;

	return (struct rpc_params){
		.role = leg->role,
		.recv_bytes = cfg->inline_bytes,
		.bulk_bytes = cfg->bulk_bytes,
		.peer_bulk_bytes = cfg->peer_bulk_bytes,
		.transmissions = transmissions_of(leg),
		.send_bytes = cfg->inline_bytes,
		.segment_bytes = cfg->segment_bytes,
		.segment_count = cfg->segment_count,
		.credits = leg->grant,
		.rev_credits = cfg->rev_credits,
		.literal_credits = cfg->literal_credits,
		.reverse = cfg->reverse,
		.remote_inv = leg->remote_inv,
		.vers_low = leg_speaks(leg, LEG_V1) ? 1 : 2,
		.vers_high = leg->cfg->versions == LEG_V1 ? 1 : 2,
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

int leg_set_version(struct leg *leg, enum leg_version version)
{
	const struct rpc_params p = leg_own_params(leg);
	int err;

	if (version == LEG_V1) {
		leg_auth_lacks(leg);
		err = v1_conn_init(&leg->u.v1, &p, &leg->peer_pdata);
		leg->t = &leg->u.v1.t;
	} else if (version == LEG_V2_EARLY) {
		leg_auth_lacks(leg);
		err = early_conn_init(&leg->u.early, &p);
		leg->t = &leg->u.early.t;
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

static const char *const spoken_names[LEG_VERSIONS] = {"1", "2", "2-early"};

unsigned leg_spoken(const struct leg *leg)
{
	unsigned i = 0;

	while (i + 1 < LEG_VERSIONS && strcmp(leg->t->ops->name, spoken_names[i]) != 0)
		i++;
	return i;
}

const char *leg_spoken_name(unsigned spoken)
{
	return spoken_names[spoken];
}
