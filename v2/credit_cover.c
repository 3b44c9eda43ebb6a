/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * 	covered --------------------------------------> begins
 * 	not: the message has another form ------------> given back
 * 	no other form, and credits are to come back --> waits
 * 	... all credits that can be open are open ----> begins all the same
 *
 * A peer that follows section 4.2.1.1 refreshes credits before half of them are used, and need not
 * do so sooner.
 * - So half of what the peer advertises returns by itself, and all of it once half is used. A
 *   message waits for these credits.
 * - A message that needs more, and has no other form, begins with these credits, because section
 *   6.6.4 wants the message continued. The peer then has to refresh credits while the message is
 *   sent.
 * - A peer that counts credits the literal way does not refresh them, so messages to that peer are
 *   given back.
 */
#include "v2/credit_cover.h"

#include "v2/message.h"

uint32_t v2_credit_cover_sends(const struct v2_conn *c, const struct rpc_msg *m, size_t octets)
{
	size_t send = c->t.peer.send_bytes, room = (send - V2_MIDDLE_BYTES) & ~(size_t)3;

	if (m->has_body_chunk || octets <= send)
		return 1;
	return (uint32_t)(1 + (octets - send + room - 1) / room);
}

/* Whether the peer is certain to open more credits although this end sends nothing. */
static bool are_to_come(const struct v2_credit *credit, uint32_t need)
{
	uint32_t open = v2_credit_open(credit), half = (credit->window + 1) / 2;
	/* .window is the largest number of credits that ever was open */
	uint32_t used = credit->window - open;

	return open < half || (need <= credit->window && used >= half);
}

int v2_credit_cover_several(struct v2_conn *c, const struct rpc_tx *tx, uint32_t need)
{
	if (tx->cover == RPC_COVER_NONE || need <= v2_credit_open(&c->credit))
		return 0;
	if (tx->cover == RPC_COVER_NOW || c->credit.literal_peer)
		return ERR_TOOBIG;
	c->waits = are_to_come(&c->credit, need);
	return c->waits ? ERR_AGAIN : 0;
}
