/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2_RTR_H
#define V2_RTR_H

#include "rtrext/call.h"
#include "v2/conn.h"

/**
 * rtr - the round-trip extension over version 2 (docs/rtrext-profile.md): Calls and Replies whose
 * data items travel in the same Send, behind the payload stream
 *
 * Handles Transmit Requests and Responses, their continuations, and Report Errors.
 */

/* Rows of the header type table. Bodies go to h->rtr. If h->rtr is NULL, they are checked and
 * discarded. */
int v2_rtr_transmit_decode(struct v2_parse *p, struct v2_hdr *h, struct rpc_msg *m);
int v2_rtr_control_decode(struct v2_parse *p, struct v2_hdr *h, struct rpc_msg *m);
void v2_rtr_encode(struct xdr_out *x, const struct v2_hdr *h, const struct rpc_msg *m);

/** v2_rtr_is_known - whether messages of @htype, a type of the extension, are accepted on this
 * connection. If not, the type counts as unknown. */
bool v2_rtr_is_known(const struct v2_conn *c, uint32_t htype);

/**
 * v2_rtr_is_used - whether this end speaks the extension; if not, its properties count as unknown
 * (profile section 2). An initiator always does: it sends requests to any peer that takes them.
 */
static inline bool v2_rtr_is_used(const struct v2_conn *c)
{
	return c->t.own.bulk_bytes > 0 || c->t.own.role == RPC_INITIATOR;
}

/** v2_rtr_octets - @in, the message that is being processed, with its octets in the second
 * piece. */
static inline struct rpc_octets v2_rtr_octets(const struct v2_conn *c, struct view in)
{
	return (struct rpc_octets){in, c->t.bulk};
}

/** struct v2_rtr_room - memory for gathered octets, or octets gathered before. */
struct v2_rtr_room {
	uint8_t *block;
	uint32_t from, to; /* octets of the block to fill now */
	struct view gathered;
};

/**
 * v2_rtr_take - put the items of a Transmit Request or Response, decoded into @m and @r, into @m
 * @sends: the message, and the transmissions of its group that have come
 * @room: NULL: nothing is gathered yet
 *
 * Return: 0: if @group is open, more transmissions follow; ERR_CONT with @fault; or another error
 *         with @e, the version 2 error.
 */
int v2_rtr_take(const struct v2_conn *c, const struct rtr_msg *r, const struct rpc_octets *sends,
		unsigned nsends, const struct v2_rtr_room *room, struct rpc_msg *m,
		struct rtr_group *group, struct rtr_fault *fault, struct rpc_error *e) WARN_UNUSED;

/** v2_rtr_apply - apply the peer's properties of the extension. */
void v2_rtr_apply(struct v2_conn *c, const struct v2_props *props);

/** v2_rtr_places - rpc_transport_ops.places. */
bool v2_rtr_places(const struct rpc_transport *t, const struct rpc_msg *m);

/** v2_rtr_is_extended - whether @m, which is to be sent, is a message of the extension. */
static inline bool v2_rtr_is_extended(const struct rpc_msg *m)
{
	return m->nplaced || m->nwishes;
}

/** v2_rtr_form - fill @r and @send with transmission @number of the Transmit Request or Response
 * for @m. Return: 0, or ERR_TOOBIG: the peer does not take this form. */
int v2_rtr_form(const struct v2_conn *c, const struct rpc_msg *m, uint32_t number,
		struct rtr_msg *r, struct rtr_send *send) WARN_UNUSED;

#endif
