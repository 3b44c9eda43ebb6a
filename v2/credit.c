/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * Each end counts what it sent and what it received. Every message carries
 * rdma_credit = received + advertised: the count up to which its receiver may
 * send. So the window is a matter of messages, not of calls, and a peer that
 * only sends opens and closes its partner's window as well as one that only
 * listens.
 *
 * When a window would run dry because this end has nothing to send, an
 * RDMA2_GRANT refreshes it. As a GRANT takes a Receive itself, two ends could
 * go on granting each other for ever. They do not, because a GRANT that
 * arrives asks for an answer only when it completes the use of at least two
 * credits: each GRANT sent takes two or more off its sender's account of
 * unrefreshed messages and puts one on its receiver's, so the sum falls. (With
 * just one credit advertised by both ends there is no such sum; v2_conn_init()
 * refuses that, and set_credits() to 1 is meant for moments of shortage.)
 *
 * The other danger is that both windows are closed and neither end may speak.
 * The one Receive more than advertised (section 4.2.1.1) is for that: a GRANT
 * may pass the limit by one. It opens the other's window, the other's next
 * message carries a fresh value, and both go on. So that this one chance is
 * never spent for nothing, a GRANT is sent only when its value is past every
 * value sent before: an end that lowered its advertisement has to receive the
 * messages that it had already granted first.
 */
#include "v2/credit.h"

void v2_credit_init(struct v2_credit *c, uint32_t advertised, bool literal)
{
	*c = (struct v2_credit){.advertised = advertised, .literal = literal};
	v2_credit_set_counters(c, 0, 0);
}

void v2_credit_set_counters(struct v2_credit *c, uint32_t sent, uint32_t received)
{
	c->sent = sent;
	c->received = received;
	/* Section 4.2.1: Received credits are one when a connection is established. */
	c->limit = sent + 1;
	c->granted = received + 1;
	c->granted_received = received;
	c->granted_advertised = 1;
	c->heard_payload = false;
	c->window = 1;
	c->offset = c->limit - received;
	c->offset_sent = sent;
	c->offset_answers = 0;
	c->literal_peer = false;
}

uint32_t v2_credit_value(const struct v2_credit *c)
{
	uint32_t value = (c->literal ? c->sent : c->received) + c->advertised;

	/*
	 * A grant is never taken back: a lower value would leave the peer beyond its limit, and two
	 * such peers could not even send each other a GRANT. A smaller advertisement shows as a
	 * limit that does not rise for a while.
	 */
	return !c->literal && v2_credit_past(value, c->granted) < 0 ? c->granted : value;
}

bool v2_credit_can_grant(const struct v2_credit *c)
{
	return v2_credit_past(c->limit, c->sent) >= 0;
}

void v2_credit_answered(struct v2_credit *c, uint32_t parts, uint32_t sent)
{
	/* A single Send does not tell the two readings apart, and two parts only by one. */
	if (parts <= 2 || v2_credit_past(sent - parts, c->offset_sent) < 0)
		return;
	/* One such answer may coincide with the end of an earlier grant; two do not. */
	if (++c->offset_answers >= 2)
		c->literal_peer = true;
}

void v2_credit_settled(struct v2_credit *c)
{
	if (v2_credit_can_send(c))
		c->window = v2_credit_open(c);
}

bool v2_credit_is_last(const struct v2_credit *c)
{
	return v2_credit_past(c->limit, c->sent) == 1;
}

bool v2_credit_has_more(const struct v2_credit *c)
{
	return v2_credit_past(v2_credit_value(c), c->granted) > 0;
}

bool v2_credit_is_peer_short(const struct v2_credit *c)
{
	return v2_credit_past(c->granted, c->received) <= 1 && v2_credit_has_more(c);
}

uint32_t v2_credit_promised(const struct v2_credit *c)
{
	int32_t left = v2_credit_past(c->granted, c->received);

	return left > 0 && !c->literal ? (uint32_t)left : 0;
}

bool v2_credit_is_peer_closed(const struct v2_credit *c)
{
	return v2_credit_past(c->granted, c->received) <= 0;
}

void v2_credit_sent(struct v2_credit *c)
{
	uint32_t value = v2_credit_value(c);

	/* A later, lower value does not affect messages already under way. */
	if (v2_credit_past(value, c->granted) > 0)
		c->granted = value;
	c->granted_received = c->received;
	c->granted_advertised = c->advertised;
	c->heard_payload = false;
	c->sent++;
}

int v2_credit_received(struct v2_credit *c, bool is_grant)
{
	c->received++;
	if (!is_grant)
		c->heard_payload = true;
	/*
	 * 4.2.1 forbids a message only where "Sent message count" is greater than "Received
	 * credits": a peer that reads this literally sends one more than was granted. The Receive
	 * that 4.2.1.1 wants for a GRANT takes that message.
	 */
	return v2_credit_past(c->received, c->granted) > 1 ? ERR_CREDIT : 0;
}

/* A peer that counts messages it sent never changes this offset. */
static void note_offset(struct v2_credit *c, uint32_t offset)
{
	if (offset == c->offset)
		return;
	c->offset = offset;
	c->offset_sent = c->sent;
	c->offset_answers = 0;
	c->literal_peer = false;
}

/* The peer's window is what it advertises less what it had not received when it
 * wrote the value. Under load that difference is near zero, whatever is advertised,
 * so the largest ever seen is the estimate. */
void v2_credit_limit(struct v2_credit *c, uint32_t value)
{
	int32_t open = v2_credit_past(value, c->sent);
	uint32_t seen = open > 0 ? (uint32_t)open : 0;

	note_offset(c, value - c->received);
	if (seen >= c->window)
		c->literal_peer = false;
	c->limit = value;
	if (seen > c->window)
		c->window = seen;
}

bool v2_credit_grant_due(const struct v2_credit *c)
{
	/* Credits the peer lacks of what is advertised: used, or newly promised. */
	int64_t used = (int64_t)v2_credit_past(c->received, c->granted_received) + c->advertised -
		       c->granted_advertised;
	int64_t least = ((int64_t)c->advertised + 1) / 2; /* before half is exceeded: 4.2.1.1 */

	if (least < 2 && !c->heard_payload)
		least = c->advertised == 1 ? 1 : 2;
	if (least < 1)
		least = 1;
	return used >= least && v2_credit_has_more(c);
}
