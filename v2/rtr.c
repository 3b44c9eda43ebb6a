/* SPDX-License-Identifier: BSD-2-Clause */
/* The extension over version 2: header types and properties with numbers that draft -07 does not
 * have. rtrext/call.c has their meaning. */
#include "v2/rtr.h"

#include "v2/conn_rx.h"

/* --- rows --- */

static int scratch_decode(struct v2_parse *p, struct v2_hdr *h, enum rtr_op op)
{
	struct rtr_msg scratch;

	/* Too many items: profile section 3. */
	return rtr_decode(h->rtr ? h->rtr : &scratch, op, &p->x)
		       ? v2_parse_fail(p, ERR_XDR, RPC_ERROR_BAD_XDR, 0)
		       : 0;
}

int v2_rtr_transmit_decode(struct v2_parse *p, struct v2_hdr *h, struct rpc_msg *m)
{
	int err = scratch_decode(p, h, (enum rtr_op)(h->htype - RTR_HEADER_TYPES));

	if (err)
		return err;
	m->body[0] = xdr_in_rest(&p->x);
	m->nbody = 1;
	xdr_skip(&p->x, m->body[0].len);
	return 0;
}

/* Octets after a Report Error are ignored, as after an RDMA2_ERROR. */
int v2_rtr_control_decode(struct v2_parse *p, struct v2_hdr *h, struct rpc_msg *m)
{
	int err = scratch_decode(p, h, (enum rtr_op)(h->htype - RTR_HEADER_TYPES));

	(void)m;
	xdr_skip(&p->x, xdr_in_left(&p->x));
	return err;
}

void v2_rtr_encode(struct xdr_out *x, const struct v2_hdr *h, const struct rpc_msg *m)
{
	(void)m;
	rtr_encode(h->rtr, x);
}

/* Profile section 2: no message of the extension is accepted from, or sent to, an end that did not
 * announce it. */
bool v2_rtr_is_known(const struct v2_conn *c, uint32_t htype)
{
	switch (htype - RTR_HEADER_TYPES) {
	case RTR_REQUEST:
	case RTR_RESPONSE:
	case RTR_CONTINUE:
		return c->t.own.bulk_bytes > 0;
	case RTR_REPORT:
		return c->rtr.support & (RTR_TAKES_REQUEST | RTR_TAKES_RESPONSE);
	default:
		return false;
	}
}

/* Profile sections 2 and 4: most transmissions of a response of this end, apart from the limit in
 * its request. */
static uint32_t most_back(const struct v2_conn *c)
{
	return c->rtr.support & RTR_TAKES_CONTINUE ? rtr_limit(c->t.own.transmissions) : 1;
}

int v2_rtr_take(const struct v2_conn *c, const struct rtr_msg *r, const struct rpc_octets *sends,
		unsigned nsends, const struct v2_rtr_room *room, struct rpc_msg *m,
		struct rtr_group *group, struct rtr_fault *fault, struct rpc_error *e)
{
	const struct rtr_call_in got = {.r = r,
					.type = RTR_HEADER_TYPES + (uint32_t)r->op,
					.fixed = V2_PREFIX_BYTES,
					.payload = m->body[0],
					.sends = sends,
					.nsends = nsends,
					.most_back = most_back(c),
					.block = room ? room->block : NULL,
					.from = room ? room->from : 0,
					.to = room ? room->to : 0,
					.gathered = room ? room->gathered : view_of(NULL, 0)};
	int err;

	if (r->op == RTR_REQUEST)
		return rtr_call_take(&c->t.own, &c->rtr.structure, &got, m, group, fault, e);
	err = rtr_reply_take(&c->t.own, &got, m, group, fault);
	*e = (struct rpc_error){.code = RPC_ERROR_BAD_XDR};
	return err;
}

void v2_rtr_apply(struct v2_conn *c, const struct v2_props *props)
{
	struct v2_rtr_peer *peer = &c->rtr;

	if (!v2_rtr_is_used(c))
		return;
	if (props->present & V2_HAS_RTR_SUPPORT)
		peer->support = props->rtr_support;
	if (props->present & V2_HAS_RTR_REQUESTS)
		peer->requests = props->rtr_requests;
	if (props->present & V2_HAS_RTR_RESPONSES)
		c->lacks_rtr_responses = props->rtr_responses == 0;
	/* More groups than can be held here: no data are placed toward this peer (profile section
	 * 7). */
	if (props->present & V2_HAS_RTR_STRUCTURE &&
	    rtr_structure_decode(&peer->structure, props->rtr_structure))
		peer->structure = (struct rtr_structure){0};
}

/* Profile section 2: whether the peer announced that it takes this message. */
static bool may_go(const struct v2_conn *c, const struct rpc_msg *m)
{
	if (m->dir == RPC_REPLY)
		return c->rtr.support & RTR_TAKES_RESPONSE && !(c->lacks_rtr_data && m->nplaced);
	if (m->nwishes && (c->lacks_rtr_responses || !c->t.own.bulk_bytes))
		return false;
	return c->rtr.support & RTR_TAKES_REQUEST && !c->lacks_rtr;
}

/* Most transmissions of the group for @m: profile sections 2 and 4. */
static uint32_t most_of(const struct v2_conn *c, const struct rpc_msg *m)
{
	uint32_t kept = rtr_limit(m->reserved), most = most_back(c);

	if (m->dir == RPC_CALL)
		return c->rtr.support & RTR_TAKES_CONTINUE ? rtr_limit(c->rtr.requests) : 1;
	return kept < most ? kept : most;
}

int v2_rtr_form(const struct v2_conn *c, const struct rpc_msg *m, uint32_t number,
		struct rtr_msg *r, struct rtr_send *send)
{
	struct rtr_structure plain;
	struct rtr_path path = {
		.to = &c->rtr.structure,
		.most = most_of(c, m),
		.type = m->dir == RPC_CALL ? V2_RTR_REQUEST : V2_RTR_RESPONSE,
		.fixed = V2_PREFIX_BYTES,
		.reserved = rtr_limit(c->t.own.transmissions),
		.room = c->t.own.send_bytes,
	};

	if (number == 0 && !may_go(c, m))
		return ERR_TOOBIG;
	if (path.to->ngroups == 0) {
		rtr_structure_plain(&plain, c->t.peer.send_bytes);
		path.to = &plain;
	}
	return rtr_form(&path, m, number, r, send);
}

/* Whether the reply has an item that the request wants by Send alone. Then the reply has no other
 * form. */
static bool is_only_way(const struct rpc_msg *m)
{
	for (unsigned i = 0; m->dir == RPC_REPLY && i < m->nwishes; i++)
		if (m->wishes[i].way == RPC_BY_SEND)
			return true;
	return false;
}

bool v2_rtr_places(const struct rpc_transport *t, const struct rpc_msg *m)
{
	const struct v2_conn *c = v2_conn_of_const(t);
	struct rtr_send first;
	struct rtr_msg r;

	/* Profile section 4: a group begins when credits cover all of it. A group without another
	 * form waits for these credits. */
	return v2_rtr_form(c, m, 0, &r, &first) == 0 &&
	       (first.count == 1 || first.count <= v2_credit_open(&c->credit) || is_only_way(m));
}
