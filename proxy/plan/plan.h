/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_PLAN_PLAN_H
#define PROXY_PLAN_PLAN_H

#include "base/err.h"
#include "rpc/msg.h"
#include "rpc/traits.h"
#include "rpc/transport.h"
#include "xdr/rpchdr.h"

/**
 * plan - re-chunking as pure functions: they decide the form in which a message travels, from the
 * message, its sizes and what the target leg can take. No I/O, no state. docs/rechunking.md has the
 * table of forms; each of its cells is one unit test.
 */

enum plan_form {
	PLAN_INLINE,	 /* one Send */
	PLAN_CONTINUED,	 /* version 2: several Sends */
	PLAN_BODY_CHUNK, /* a call to be pulled, or a reply pushed into the Reply chunk */
	PLAN_REFUSED,	 /* the message cannot travel: .error is the report for the requester */
};

enum {
	/* Octets by which a Reply chunk that the gateway chose for a version 1 server is longer
	 * than the plan says, so that a reply which fills it was cut. One word, because XDR
	 * consists of words. */
	REPLY_TELLTALE = 4,
	/* Octets by which plan_reply_max() may exceed the count of a requester that knows how long
	 * its verifier is: the longest verifier, and the end of a list of entries. */
	REPLY_UNSURE = 400 + 8,
};

/** struct plan_call - how a call goes to the responder. */
struct plan_call {
	enum plan_form form;
	struct rpc_error error; /* REFUSED: the error for the requester */
	uint32_t reply_bytes;	/* Reply chunk to offer the responder; 0 none */
	/* As .reply_bytes, before the form of the call was considered. */
	uint32_t offer;
	/* The longest reply that the responder can return, without .slack of struct plan_end, if
	 * the requester could take a longer one. 0: the responder can return all that the requester
	 * takes. */
	uint32_t expected;
	bool only_way; /* CONTINUED: the call has no other form, so it may wait for credits */
};

/** struct plan_cover - how much may be continued to a peer. */
struct plan_cover {
	uint32_t bytes; /* octets of payload stream */
	uint32_t sends;
};

/** struct plan_end - one leg as the plan sees it. */
struct plan_end {
	const struct rpc_traits *traits;
	struct rpc_limits limits; /* limits of this peer */
	/* Cover if there is another form, and if there is none. */
	struct plan_cover continued, continued_most;
	bool no_reply_chunk; /* the peer must not be offered a Reply chunk */
	bool is_far;	     /* a round trip to it costs more than a copy (hop.h) */
	/* Octets by which replies of this peer may be longer than expected, because one reply
	 * was. */
	uint32_t slack;
};

/**
 * struct plan_shape - in which segments chunks are offered to the responder
 *
 * Some servers crash on segments that no client of theirs offers: longer than 1 MiB, or longer than
 * what a READ asks for (decision 130). So a Write chunk is offered in the segments of its
 * requester. Chunks that are one region of this gateway instead are cut (struct rpc_traits,
 * .joined_bytes).
 */
struct plan_shape {
	/* Write chunks have their requester's segments. If false they have few segments: those for
	 * the data, and one for the pad, unless .joins_pads. */
	bool as_offered, joins_pads;
	uint32_t most; /* longest other segment, octets; 0: as the responder takes */
};

/** struct plan_in - a message that is to travel. */
struct plan_in {
	/* The message as the requester sent it, with its chunks. Of a call's body plan_reply_max()
	 * reads only the first view; without a body nothing is known of the reply. */
	const struct rpc_msg *call;
	/* For a call: its RPC header, from rpchdr_peek(); NULL when unknown. */
	const struct rpchdr *hdr;
	size_t body_len; /* octets of the message's payload stream */
	/* Octets of the inline form's header with the chunks it will carry, but without a call's
	 * Reply chunk: the plan adds the one it chooses. */
	size_t header_len;
	const struct plan_end *from; /* for a call: the requester's leg, which gets the reply */
	const struct plan_end *to;   /* the leg to which the message goes */
	bool reverse;		     /* the call travels in the reverse direction */
	struct plan_shape shape;     /* set by plan_shape() if the call has chunks */
};

/**
 * plan_shape - set @in->shape, from @in's .call, .body_len and .to
 *
 * A call has to stay within what the responder takes. If the requester's segments are too many, or
 * leave less than half of a message for what is not header, they are joined.
 */
void plan_shape(struct plan_in *in);

/**
 * plan_call_form - how a call goes to the responder, and which Reply chunk it offers
 *
 * A version 1 responder uses any Reply chunk that it is offered. So the gateway offers one only if
 * the reply may need it:
 * - If the requester offered none: a chunk as long as the longest reply that the requester takes
 *   and the procedure can return (plan_reply_max()), if the responder cannot send that inline. If
 *   nothing bounds the reply, the chunk has at most 1 MiB, with REPLY_TELLTALE, in NFS and its side
 *   protocols.
 * - If a version 1 requester offered one: a chunk of the same length, but none beside Write chunks
 *   if the rest of the reply certainly fits inline.
 * - If a version 2 requester offered one: a chunk if the reply may need one. It has the requester's
 *   length, unless plan_reply_max() exceeds that by more than REPLY_UNSURE.
 * - None in the reverse direction of version 1.
 *
 * To a version 2 responder it offers:
 * - The Reply chunk that the requester offered, if there is one.
 * - If a version 1 requester offered none, and replies of an NFS procedure may be longer than the
 *   requester takes inline: a chunk as long as the requester takes inline. A call in a chunk counts
 *   as one of NFS, because its program is not known. The chunk tells the responder the longest
 *   reply expected (draft-07 6.6.3), which nothing else in version 2 does.
 * - If the chunk has more segments than the responder takes, or the header has room for: a chunk of
 *   as many segments as are left. None if such a chunk is no longer than a Send.
 */
void plan_call_form(const struct plan_in *in, struct plan_call *out);

/**
 * plan_is_short - whether a forward call without chunks certainly needs none, and goes inline
 * @call: its payload stream; @hdr: the RPC header in it
 * @traits, @limits: of the responder
 *
 * True for most calls. If true, plan_call_form() would choose PLAN_INLINE without a Reply chunk,
 * whatever the requester takes. If false, plan_call_form() has to decide.
 */
bool plan_is_short(const struct rpchdr *hdr, struct view call, const struct rpc_traits *traits,
		   const struct rpc_limits *limits);

/** plan_call_again - plan_call_form() again, with the Reply chunk of the @earlier plan, which
 * depends on the call and its ends alone. */
void plan_call_again(const struct plan_in *in, const struct plan_call *earlier,
		     struct plan_call *out);

/** struct plan_receives - how this end's Receives toward a responder are built. */
struct plan_receives {
	uint32_t bytes; /* octets for header and payload stream */
	uint32_t data;	/* octets for data behind those; 0: none */
};

/** enum plan_ask - how the data of a reply are asked for, with the round-trip extension. */
enum plan_ask {
	PLAN_ASK_NOTHING, /* the reply has no data to be asked for */
	PLAN_ASK_SENT,	  /* in the reply's Send: nothing is exposed for them */
	PLAN_ASK_EITHER,  /* in the Send, or by RDMA Write */
};

/**
 * plan_extends - whether @in goes with the round-trip extension, to a responder that speaks it
 * @plan: of the call
 * @own: this end's Receives
 * @ask: set to how the data of the reply are asked for
 *
 * - The extension has no Reply chunk (docs/rtrext-profile.md, section 3). So a reply for which the
 *   requester offered one has to fit a Send, beside the longer header.
 * - It is not used in the reverse direction.
 * - Data of the call travel in its Send.
 * - Nothing is exposed for data of the reply if they certainly come by Send: one Write chunk, no
 *   longer than a Receive has room for, beside a payload stream whose length is known to fit. For
 *   other data the responder chooses.
 * - An empty Write chunk before one that is not empty cannot be expressed.
 */
bool plan_extends(const struct plan_in *in, const struct plan_call *plan,
		  const struct plan_receives *own, enum plan_ask *ask);

/** enum plan_item - how a data item of a reply goes to a requester that gave a direction for it. */
enum plan_item {
	PLAN_ITEM_NONE,	   /* the item has no octets */
	PLAN_ITEM_SENT,	   /* behind the reply, in its Send */
	PLAN_ITEM_WRITTEN, /* by RDMA Write */
	PLAN_ITEM_REFUSED, /* there is no way for the item */
};

/**
 * plan_item - how an item of @length octets goes to the requester
 * @offered:  octets that the requester offered for RDMA Write
 * @may_send: the item may go by Send, by sizes and credits
 */
enum plan_item plan_item(const struct rpc_wish *wish, uint64_t length, uint64_t offered,
			 bool may_send);

/**
 * plan_call_joined - plan_call_again() of a call whose data item is put back into its payload
 * stream
 * @in: .body_len includes the item and its pad; .header_len is without its Read chunk
 *
 * The Responder fetches a Read chunk after the call has come, one round trip later. Over a far hop
 * the data travel with the call instead, inline or continued, if credits and sizes cover that now.
 * There is room for one item between what is before it and what is behind it (RPC_MAX_VIEWS).
 *
 * Return: whether it is put back; if not, @out is undefined, and plan_call_again() is due.
 */
bool plan_call_joined(const struct plan_in *in, const struct plan_call *earlier,
		      struct plan_call *out) WARN_UNUSED;

/** struct plan_reply - how a reply goes back to the requester. */
struct plan_reply {
	enum plan_form form;
	struct rpc_error error; /* REFUSED: the error that the requester gets instead */
};

/**
 * plan_reply_form - how a reply goes back to the requester
 *
 * - A reply that fits inline goes inline.
 * - A longer reply goes to the Reply chunk, if one was offered: a MUST of draft-07 6.6.3.
 * - A reply for which the chunk is too short is continued, as far as the requester's credits can
 *   cover it (draft-07 6.6.4).
 * - Otherwise the requester gets RPC_ERROR_REPLY_RESOURCE with the length needed.
 */
void plan_reply_form(const struct plan_in *in, struct plan_reply *out);

#endif
