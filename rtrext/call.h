/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RTREXT_CALL_H
#define RTREXT_CALL_H

#include "rpc/msg.h"
#include "rpc/transport.h"
#include "rtrext/group.h"

/**
 * Calls and Replies whose data travel in their Sends, to and from struct rpc_msg, whatever carries them:
 * Transmit Requests and Responses, and what continues them (docs/rtrext-profile.md, sections 3 to 8).
 */

enum { RTR_CONTINUE_BYTES = 12 }; /* of a CONTINUE, whatever is in it */

/** rtr_call_own - how the Receives of an end with @own parameters are built. */
void rtr_call_own(const struct rpc_params *own, struct rtr_structure *s);

/** struct rtr_call_in - a Request or Response that was received. */
struct rtr_call_in {
	const struct rtr_msg *r;
	uint32_t type;	/* as CONTINUEs have to name it */
	uint32_t fixed; /* octets of header before its body, and before that of each CONTINUE */
	struct view payload;		/* what follows its body in its first piece */
	const struct rpc_octets *sends; /* it, and the CONTINUEs that have come */
	unsigned nsends;
	uint32_t most_back; /* of a Request: transmissions that this end may answer it with */
	/* Memory for what is not in the first of these, or, if that was filled before, what is there; else empty: the
	 * message is told, but for where that is. */
	uint8_t *block;
	uint32_t from, to; /* ... of which so much is filled now */
	struct view gathered;
};

/**
 * rtr_call_take - into @m, which is reset: payload stream, items and directions
 * @peer: the Receives of who sent it, for what is to come back by Send
 * @group: set; where it is open more is to come, and @m not to be used
 *
 * Return: 0; ERR_CONT with @fault; or another error with @e, as far as the carrier has words for it.
 */
int rtr_call_take(const struct rpc_params *own, const struct rtr_structure *peer,
		  const struct rtr_call_in *c, struct rpc_msg *m, struct rtr_group *group,
		  struct rtr_fault *fault, struct rpc_error *e) WARN_UNUSED;

/**
 * rtr_reply_take - into @m, which is reset: payload stream, and what became of the directions
 *
 * Return: 0; ERR_CONT with @fault; or another error.
 */
int rtr_reply_take(const struct rpc_params *own, const struct rtr_call_in *c, struct rpc_msg *m,
		   struct rtr_group *group, struct rtr_fault *fault) WARN_UNUSED;

/**
 * rtr_take_more - a CONTINUE, @more, came as @id in a Send of @octets
 * @first: what it continues, if .is_open; else it is not looked at
 * @fixed: octets of header before the body
 *
 * Return: 0: if .is_open more is to come; ERR_CONT with @fault: the group is over.
 */
int rtr_take_more(const struct rpc_params *own, struct rtr_group *group,
		  const struct rtr_msg *first, const struct rtr_msg *more, const struct rtr_id *id,
		  const struct rpc_octets *octets, uint32_t fixed,
		  struct rtr_fault *fault) WARN_UNUSED;

/** rtr_answers - whether @reply, that rtr_reply_take() gave, makes of the directions of @call what may be
 * made of them: Table 2 of the draft, and section 6. */
bool rtr_answers(const struct rpc_msg *call, const struct rpc_msg *reply);

/** struct rtr_path - how messages of the extension go to a peer. */
struct rtr_path {
	const struct rtr_structure *to; /* its Receives */
	uint32_t most;			/* transmissions of a group */
	uint32_t type;			/* as CONTINUEs have to name the first one */
	uint32_t fixed;			/* octets of header before a body */
	uint32_t reserved;		/* Receives kept for the transmissions of a response */
	uint32_t
		room; /* for the header and, behind it, zeros: what of these it does not hold at once takes pieces more */
};

/** struct rtr_send - one transmission. */
struct rtr_send {
	uint32_t count;			     /* ... of so many */
	size_t from, length;		     /* octets of the payload stream in it */
	struct rpc_run data[RPC_MAX_PLACED]; /* what follows them */
	unsigned ndata;
};

/**
 * rtr_form - transmission @number of the Transmit Request or Response for @m
 *
 * The same arguments give the same group, so it is laid out anew for each. Return: 0, or ERR_TOOBIG: it does not go so.
 */
int rtr_form(const struct rtr_path *path, const struct rpc_msg *m, uint32_t number,
	     struct rtr_msg *r, struct rtr_send *send) WARN_UNUSED;

#endif
