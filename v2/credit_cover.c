/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * 	covered --------------------------------------> begins
 * 	not: the message has another form ------------> given back
 * 	no other form, and credits are to come back --> waits
 * 	... all credits that can be open are open ----> begins all the same
 *
 * A good peer refreshes credits before half of them are used (section 4.2.1.1), and need not do so
 * sooner. So half of what it advertises comes back by itself, and all of it once half is used. A
 * longer message that has no other form begins with that, because section 6.6.4 wants it continued;
 * the peer has to refresh the rest of its credits. A peer that counts credits the literal way does
 * not, so with that peer such messages are given back.
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

/* Whether more credits are sure to be open without anything else being sent. */
static bool are_to_come(const struct v2_credit *credit, uint32_t need)
{
	uint32_t open = v2_credit_open(credit), half = (credit->window + 1) / 2;
	uint32_t used = credit->window - open; /* no more can be open than were open at most */

	return open < half || (need <= credit->window && used >= half);
}

int v2_credit_cover_check(struct v2_conn *c, const struct rpc_tx *tx, uint32_t need)
{
	c->waits = false;
	if (need == 1 || tx->cover == RPC_COVER_NONE || need <= v2_credit_open(&c->credit))
		return 0;
	if (tx->cover == RPC_COVER_NOW || c->credit.literal_peer)
		return ERR_TOOBIG;
	c->waits = are_to_come(&c->credit, need);
	return c->waits ? ERR_AGAIN : 0;
}
