/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * Each end counts the messages that it sent and those that it received. Every message carries
 * rdma_credit = received + advertised: the count up to which the end that receives it may send. So
 * the window counts messages, not calls. An end that only listens opens the window of its peer as
 * well as an end that sends.
 *
 * State:  a window is about to close, and this end has no other message that could carry a new
 *         rdma_credit. An RDMA2_GRANT carries it, and takes a Receive itself.
 * Danger: two ends answer each GRANT with a GRANT, for ever.
 * Rule:   a GRANT that arrives makes a GRANT due only if it completes the use of at least two
 *         credits. Each end has a number of received messages for which it has not yet sent new
 *         credits. A GRANT reduces this number of its sender by at least two, and raises that of
 *         its receiver by one, so the sum falls. With one advertised credit at both ends the sum
 *         need not fall: v2_conn_init() refuses one credit, and set_credits() to 1 is for times in
 *         which Receives are short.
 * Pinned: tests/v2/test_v2_pair.c:idle_is_silent,
 *         tests/v2/test_v2_credit.c:grant_before_half_is_exceeded
 *
 * State:  both windows are closed.
 * Danger: neither end may send, for ever.
 * Rule:   a GRANT may exceed the limit by one: the one Receive more than advertised (section
 *         4.2.1.1) is for it. The GRANT opens the other end's window, and the next message of that
 *         end carries a new value. A GRANT is sent only if its value is past every value sent
 *         before, so this one Receive is never used in vain. An end that lowered its advertisement
 *         has first to receive the messages that it had granted before.
 * Pinned: tests/v2/test_v2_conn.c:grants, decision 3
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
	 * such peers could not even send each other a GRANT. An end that advertises less sends a
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
	/* One such answer may come while a limit does not rise for another reason; two do not. */
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

	/* A later, lower value does not affect messages that the peer has already sent. */
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

/* The peer's window is what it advertises less what it had not received when it wrote the value.
 * Under load the window is near zero, whatever is advertised, so the largest window ever seen is
 * the estimate. */
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
	/* Advertised credits that the peer does not have: it has used them, or they are newly
	 * advertised. */
	int64_t used = (int64_t)v2_credit_past(c->received, c->granted_received) + c->advertised -
		       c->granted_advertised;
	/* a GRANT is due before more than half is used: 4.2.1.1 */
	int64_t least = ((int64_t)c->advertised + 1) / 2;

	if (least < 2 && !c->heard_payload)
		least = c->advertised == 1 ? 1 : 2;
	if (least < 1)
		least = 1;
	return used >= least && v2_credit_has_more(c);
}
