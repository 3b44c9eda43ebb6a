/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RTREXT_CALL_H
#define RTREXT_CALL_H

#include "rpc/msg.h"
#include "rpc/transport.h"
#include "rtrext/group.h"

/**
 * Calls and Replies whose data travel in their Sends, to and from struct rpc_msg: Transmit Requests
 * and Responses, and their continuations (docs/rtrext-profile.md, sections 3 to 8). For any
 * carrier: draft -07, or the early draft.
 */

enum { RTR_CONTINUE_BYTES = 12 }; /* length of a CONTINUE */

/** rtr_call_own - the structure of the Receives of an end with @own parameters. */
void rtr_call_own(const struct rpc_params *own, struct rtr_structure *s);

/** struct rtr_call_in - a Request or Response that was received. */
struct rtr_call_in {
	const struct rtr_msg *r;
	uint32_t type;	/* type that CONTINUEs have to name */
	uint32_t fixed; /* octets of header before its body, and before the body of each CONTINUE */
	struct view payload;		/* octets behind its body in its first piece */
	const struct rpc_octets *sends; /* the message, and the CONTINUEs that have come */
	unsigned nsends;
	uint32_t most_back; /* Request: most transmissions that this end may use for the answer */
	/* Memory for the octets that are not in the first Send, or the octets gathered before. If
	 * both are empty, the message is returned without the place of those octets. */
	uint8_t *block;
	uint32_t from, to; /* range of .block to fill now */
	struct view gathered;
};

/**
 * rtr_call_take - put a Request into @m, which is reset: payload stream, items and directions
 * @peer: the structure of the sender's Receives, for data that return by Send
 * @group: set. If the group is open, more transmissions follow, and @m must not be used
 *
 * Return: 0; ERR_CONT with @fault; or another error with @e, as far as the carrier has a code for
 *         it.
 */
int rtr_call_take(const struct rpc_params *own, const struct rtr_structure *peer,
		  const struct rtr_call_in *c, struct rpc_msg *m, struct rtr_group *group,
		  struct rtr_fault *fault, struct rpc_error *e) WARN_UNUSED;

/**
 * rtr_reply_take - put a Response into @m, which is reset: payload stream, and the results of the
 * directions
 *
 * Return: 0; ERR_CONT with @fault; or another error.
 */
int rtr_reply_take(const struct rpc_params *own, const struct rtr_call_in *c, struct rpc_msg *m,
		   struct rtr_group *group, struct rtr_fault *fault) WARN_UNUSED;

/**
 * rtr_take_more - process a CONTINUE, @more, that came as @id in a Send of @octets
 * @first: the message it continues, if .is_open; otherwise not used
 * @fixed: octets of header before the body
 *
 * Return: 0: if .is_open, more transmissions follow; ERR_CONT with @fault: the group has ended.
 */
int rtr_take_more(const struct rpc_params *own, struct rtr_group *group,
		  const struct rtr_msg *first, const struct rtr_msg *more, const struct rtr_id *id,
		  const struct rpc_octets *octets, uint32_t fixed,
		  struct rtr_fault *fault) WARN_UNUSED;

/** rtr_answers - whether the results in @reply, from rtr_reply_take(), are allowed for the
 * directions of @call: Table 2 of the draft, and section 6. */
bool rtr_answers(const struct rpc_msg *call, const struct rpc_msg *reply);

/** struct rtr_path - parameters of messages of the extension to a peer. */
struct rtr_path {
	const struct rtr_structure *to; /* structure of its Receives */
	uint32_t most;			/* most transmissions of a group */
	uint32_t type;			/* type of the first one, which CONTINUEs have to name */
	uint32_t fixed;			/* octets of header before a body */
	uint32_t reserved;		/* Receives reserved for the transmissions of a response */
	/* Octets of the buffer for the header and, behind it, zeros. Zeros that do not fit take
	 * further pieces of memory. */
	uint32_t room;
};

/** struct rtr_send - one transmission. */
struct rtr_send {
	uint32_t count;			     /* number of transmissions of the group */
	size_t from, length;		     /* octets of the payload stream in this transmission */
	struct rpc_run data[RPC_MAX_PLACED]; /* data that follow the payload stream */
	unsigned ndata;
};

/**
 * rtr_form - build transmission @number of the Transmit Request or Response for @m
 *
 * The same arguments give the same group, so the layout is computed again for each. Return: 0, or
 * ERR_TOOBIG: the message cannot be sent in this form.
 */
int rtr_form(const struct rtr_path *path, const struct rpc_msg *m, uint32_t number,
	     struct rtr_msg *r, struct rtr_send *send) WARN_UNUSED;

#endif
