/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RTREXT_CALL_H
#define RTREXT_CALL_H

#include "rpc/msg.h"
#include "rpc/transport.h"
#include "rtrext/group.h"

/**
 * Calls and Replies whose data travel in their Sends, to and from struct rpc_msg, whatever carries them:
 * Transmit Requests and Responses of one transmission (docs/rtrext-profile.md, sections 3 to 8).
 */

/** rtr_call_own - how the Receives of an end with @own parameters are built. */
void rtr_call_own(const struct rpc_params *own, struct rtr_structure *s);

/** struct rtr_call_in - a Request or Response that was received. */
struct rtr_call_in {
	const struct rtr_msg *r;
	uint32_t type;	     /* as CONTINUEs have to name it */
	struct view in;	     /* what lies in the first piece of its Receive */
	struct view behind;  /* in the second */
	struct view payload; /* what follows its body in .in */
};

/**
 * rtr_call_take - into @m, which is reset: payload stream, items and directions
 * @peer: the Receives of who sent it, for what is to come back by Send
 *
 * Return: 0; ERR_CONT with @fault; or another error with @e, as far as the carrier has words for it.
 */
int rtr_call_take(const struct rpc_params *own, const struct rtr_structure *peer,
		  const struct rtr_call_in *c, struct rpc_msg *m, struct rtr_fault *fault,
		  struct rpc_error *e) WARN_UNUSED;

/**
 * rtr_reply_take - into @m, which is reset: payload stream, and what became of the directions
 *
 * Return: 0; ERR_CONT with @fault; or another error.
 */
int rtr_reply_take(const struct rpc_params *own, const struct rtr_call_in *c, struct rpc_msg *m,
		   struct rtr_fault *fault) WARN_UNUSED;

/** rtr_answers - whether @reply, that rtr_reply_take() gave, makes of the directions of @call what may be
 * made of them: Table 2 of the draft, and section 6. */
bool rtr_answers(const struct rpc_msg *call, const struct rpc_msg *reply);

/**
 * rtr_form - the Transmit Request or Response for @m
 * @to:	   the Receives of the peer
 * @fixed: octets of header before its body
 * @room:  for the header and, behind it, zeros: what of these it does not hold at once takes pieces more
 * @gap:   octets of zeros to send before each item that goes along
 *
 * Return: 0, or ERR_TOOBIG: it does not go so.
 */
int rtr_form(const struct rtr_structure *to, const struct rpc_msg *m, uint32_t fixed, uint32_t room,
	     struct rtr_msg *r, uint32_t gap[RPC_MAX_PLACED]) WARN_UNUSED;

#endif
