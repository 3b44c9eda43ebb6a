/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RTREXT_CALL_H
#define RTREXT_CALL_H

#include "rpc/msg.h"
#include "rpc/transport.h"
#include "rtrext/group.h"

/**
 * Calls whose data travel in their Send, to and from struct rpc_msg, whatever carries them: a Transmit
 * Request of one transmission without directions (docs/rtrext-profile.md, sections 3 to 8).
 */

/** rtr_call_own - how the Receives of an end with @own parameters are built. */
void rtr_call_own(const struct rpc_params *own, struct rtr_structure *s);

/** struct rtr_call_in - one that was received. */
struct rtr_call_in {
	const struct rtr_msg *r;
	uint32_t type;	     /* as CONTINUEs have to name it */
	struct view in;	     /* what lies in the first piece of its Receive */
	struct view behind;  /* in the second */
	struct view payload; /* what follows its body in .in */
};

/**
 * rtr_call_take - into @m, which is reset: payload stream and items
 *
 * Return: 0; ERR_CONT with @fault; or another error with @e, as far as the carrier has words for it.
 */
int rtr_call_take(const struct rpc_params *own, const struct rtr_call_in *c, struct rpc_msg *m,
		  struct rtr_fault *fault, struct rpc_error *e) WARN_UNUSED;

/**
 * rtr_call_form - the Transmit Request for @m, whose data are all placed
 * @to:	   the Receives of the peer
 * @fixed: octets of header before its body
 * @room:  for zeros behind the header, together with it
 * @gap:   octets of zeros to send before each item
 *
 * Return: 0, or ERR_TOOBIG: it does not go so.
 */
int rtr_call_form(const struct rtr_structure *to, const struct rpc_msg *m, uint32_t fixed,
		  uint32_t room, struct rtr_msg *r, uint32_t gap[RPC_MAX_PLACED]) WARN_UNUSED;

#endif
