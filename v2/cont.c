/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 *           MIDDLE, first            MIDDLE, same XID
 *     idle ----------------> active ------------------> active
 *     idle <---------------- active   INLINE, same XID, exactly the rest
 *     idle <---------------- active   anything else: abandoned, later parts dropped
 *
 * rdma_remaining of the first part fixes the length of the whole message. In every later part,
 * rdma_remaining must be less by the octets of the part. The last part must have exactly the rest.
 */
#include "v2/cont.h"

static enum rpc_dir type_dir(const struct v2_type *type)
{
	return type->flags & V2_IS_REPLY ? RPC_REPLY : RPC_CALL;
}

/* Whether @payload is the beginning of an RPC message: XID, direction, and the RPC version of a
 * call or the status of a reply (RFC 5531 section 9). */
static bool begins_message(enum rpc_dir dir, uint32_t xid, struct view payload)
{
	uint32_t third;

	if (payload.len < 12 || xdr_peek_u32(payload.data) != xid ||
	    xdr_peek_u32(payload.data + 4) != (dir == RPC_REPLY))
		return false;
	third = xdr_peek_u32(payload.data + 8);
	return dir == RPC_CALL ? third == 2 : third <= 1;
}

bool v2_cont_is_dropped(struct v2_cont *c, const struct v2_type *type, uint32_t xid,
			struct view payload)
{
	bool is_part =
		type->flags & V2_HAS_PAYLOAD && !begins_message(type_dir(type), xid, payload);

	if (type->flags & V2_IS_CONTROL)
		return false;
	for (unsigned i = 0; i < V2_CONT_DROPS; i++) {
		struct v2_cont_drop *d = &c->drops[i];

		if (!d->on || d->xid != xid || d->dir != type_dir(type))
			continue;
		d->on = is_part && type->flags & V2_IS_MIDDLE;
		return is_part;
	}
	return false;
}

bool v2_cont_is_in_drops(const struct v2_cont *c, uint32_t xid)
{
	for (unsigned i = 0; i < V2_CONT_DROPS; i++) {
		if (c->drops[i].on && c->drops[i].xid == xid)
			return true;
	}
	return false;
}

bool v2_cont_is_next(const struct v2_cont *c, const struct v2_type *type, uint32_t xid)
{
	if (!c->active)
		return true;
	return type->flags & V2_HAS_PAYLOAD && xid == c->xid && type_dir(type) == c->dir;
}

bool v2_cont_is_misnamed(const struct v2_cont *c, const struct v2_type *type,
			 const struct rpc_msg *m)
{
	return !c->active && type->flags & V2_HAS_PAYLOAD && m->dir == RPC_CALL &&
	       begins_message(RPC_REPLY, m->xid, m->body[0]);
}

/* The payload stream begins here, so it must begin with the message's XID. */
static int begin(const struct v2_type *type, const struct v2_hdr *h, const struct rpc_msg *m)
{
	if (!(type->flags & V2_HAS_PAYLOAD))
		return 0;
	return xdr_peek_u32(m->body[0].data) == h->xid ? 0 : ERR_XDR;
}

static int take_middle(struct v2_cont *c, const struct v2_hdr *h, const struct rpc_msg *m)
{
	size_t len = m->body[0].len;

	if (h->remaining == 0)
		return ERR_CONT;
	if (c->active) {
		if (len >= c->remaining || h->remaining != c->remaining - len)
			return ERR_CONT;
	} else if ((uint64_t)h->remaining + len > c->max_bytes) {
		return ERR_CONT;
	}
	c->active = true;
	c->xid = h->xid;
	c->dir = m->dir;
	c->remaining = h->remaining;
	return 0;
}

int v2_cont_take(struct v2_cont *c, const struct v2_type *type, const struct v2_hdr *h,
		 const struct rpc_msg *m)
{
	int err = c->active ? 0 : begin(type, h, m);

	if (err || v2_cont_is_misnamed(c, type, m))
		return ERR_XDR;
	if (type->flags & V2_IS_MIDDLE)
		return take_middle(c, h, m);
	if (c->active && m->body[0].len != c->remaining)
		return ERR_CONT;
	c->active = false;
	return 0;
}

void v2_cont_give_up(struct v2_cont *c, uint32_t xid, enum rpc_dir dir)
{
	if (c->active && c->xid == xid && c->dir == dir)
		c->active = false;
	for (unsigned i = 0; i < V2_CONT_DROPS; i++) {
		if (c->drops[i].on && c->drops[i].xid == xid && c->drops[i].dir == dir)
			return;
	}
	c->has_drops = true;
	c->drops[c->next_drop] = (struct v2_cont_drop){.on = true, .xid = xid, .dir = dir};
	c->next_drop = (c->next_drop + 1) % V2_CONT_DROPS;
}
