/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2_CREDIT_H
#define V2_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/**
 * struct v2_credit - flow control of one connection (section 4.2.1, and protocol decisions 1 to 3)
 *
 * All counts are serial numbers modulo 2^32. A GRANT counts as sent and as received, as any other
 * message.
 */
struct v2_credit {
	uint32_t sent;	     /* messages sent */
	uint32_t received;   /* messages received */
	uint32_t limit;	     /* "Received credits": .sent must not exceed it */
	uint32_t advertised; /* Receives posted for the peer */
	bool literal; /* rdma_credit = sent + advertised, as the draft reads literally (lab) */

	uint32_t granted; /* the highest rdma_credit the peer was ever sent */
	/* .received and .advertised when rdma_credit was last sent. */
	uint32_t granted_received, granted_advertised;
	/* a message other than a GRANT has come since .granted_received was set */
	bool heard_payload;

	uint32_t window; /* estimate of what the peer advertises */
	/* .limit minus .received; value of .sent when this difference last changed; number of
	 * continued messages answered since then. */
	uint32_t offset, offset_sent, offset_answers;
	/* the peer seems to count messages that it sent, not those that it received (4.2.1 read
	 * literally) */
	bool literal_peer;
};

/** v2_credit_init - both counters are zero, and the limits of both ends one. */
void v2_credit_init(struct v2_credit *c, uint32_t advertised, bool literal);

/** v2_credit_set_counters - set the counters of a connection in use; both ends must agree. */
void v2_credit_set_counters(struct v2_credit *c, uint32_t sent, uint32_t received);

/** v2_credit_value - the rdma_credit of the next message. */
uint32_t v2_credit_value(const struct v2_credit *c);

/** v2_credit_past - how far @a is past @b, in serial-number order. */
static inline int32_t v2_credit_past(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b);
}

/** v2_credit_can_send - whether a message may be posted (protocol decision 2). */
static inline bool v2_credit_can_send(const struct v2_credit *c)
{
	return v2_credit_past(c->limit, c->sent) > 0;
}

/** v2_credit_can_grant - whether a GRANT may be posted: a GRANT may exceed the limit by one. */
bool v2_credit_can_grant(const struct v2_credit *c);

/** v2_credit_open - how many messages may be posted now. */
static inline uint32_t v2_credit_open(const struct v2_credit *c)
{
	int32_t open = v2_credit_past(c->limit, c->sent);

	return open > 0 ? (uint32_t)open : 0;
}

/**
 * v2_credit_answered - a continued message of this end, of @parts Sends, was answered
 * @sent: value of .sent when its last part was sent
 *
 * A peer with the other reading of 4.2.1 counts the messages that it sends: its value rises by
 * exactly one with each. So each part but one permanently costs a credit, which only GRANTs can
 * restore. If the value does not rise, or rises in another way, the peer counts messages that it
 * receives, and now advertises less or has not yet posted all Receives that it advertises.
 */
void v2_credit_answered(struct v2_credit *c, uint32_t parts, uint32_t sent);

/** v2_credit_settled - the peer has received all messages that were sent, and sends no further
 * credits. So the window that is open now is what the peer advertises. */
void v2_credit_settled(struct v2_credit *c);

/** v2_credit_is_last - whether exactly one more message may be posted. */
bool v2_credit_is_last(const struct v2_credit *c);

/** v2_credit_has_more - whether the next message would raise the peer's limit. */
bool v2_credit_has_more(const struct v2_credit *c);

/** v2_credit_is_peer_short - whether the peer has at most one credit, and could be granted more. */
bool v2_credit_is_peer_short(const struct v2_credit *c);

/** v2_credit_promised - messages that the peer may still send; 0 if it is not known (.literal). */
uint32_t v2_credit_promised(const struct v2_credit *c);

/** v2_credit_is_peer_closed - whether the peer has used all credits it was granted. */
bool v2_credit_is_peer_closed(const struct v2_credit *c);

/** v2_credit_sent - a message with v2_credit_value() is being posted. */
void v2_credit_sent(struct v2_credit *c);

/**
 * v2_credit_received - a message arrived
 * @is_grant: it is an RDMA2_GRANT
 *
 * One message beyond the grant is accepted, whatever its type (protocol decision 83).
 * Return: 0, or ERR_CREDIT: the peer sent more.
 */
int v2_credit_received(struct v2_credit *c, bool is_grant) WARN_UNUSED;

/** v2_credit_limit - process the rdma_credit of a received message. */
void v2_credit_limit(struct v2_credit *c, uint32_t value);

/** v2_credit_grant_due - whether the peer needs a grant that no other message has carried. */
bool v2_credit_grant_due(const struct v2_credit *c);

#endif
