/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * A Call with its data, toward an end whose Receives have a placement-targetable segment:
 *
 *     header | Transmit Request | payload stream | zeros | item
 *     '----------- first segment of the Receive ---------''-- the targetable one --
 *
 * Receives here are of two segments, of which the second is placement-targetable, and a group is one
 * transmission: so one item fits, of any length up to that segment's. What peers have may be
 * otherwise; whatever rtr_lay_out() finds room for in one transmission, without a gap within an item,
 * is sent. All else goes in the forms of the base protocol: nothing of the extension is obligatory.
 */
#include "rtrext/call.h"

enum { ALIGN = 4096, WORD = 4, MOST_PIECES = 64, MOST_VIEWS = 3 };

/* --- in --- */

void rtr_call_own(const struct rpc_params *own, struct rtr_structure *s)
{
	*s = (struct rtr_structure){
		.bytes = own->recv_bytes + own->bulk_bytes,
		.targets = 1,
		.groups = {{.count = 1, .length = own->recv_bytes, .align = 1},
			   {.count = 1,
			    .length = own->bulk_bytes,
			    .align = ALIGN,
			    .flags = RTR_TARGETABLE}},
		.ngroups = 2,
	};
}

static int other_error(struct rpc_error *e, enum rpc_error_code code, uint32_t a)
{
	*e = (struct rpc_error){.code = code, .a = a};
	return code == RPC_ERROR_BAD_XDR ? ERR_XDR : ERR_TOOBIG;
}

/* An item that is to be read: as a Read chunk, of its length and no more. */
static int add_read(const struct rtr_msg *r, const struct rtr_item *item, struct rpc_msg *m,
		    struct rpc_chunk *c)
{
	uint32_t left = item->length;
	int err = 0;

	for (unsigned i = 0; i < item->place.count && left && !err; i++) {
		struct segment s = r->segs[item->place.first + i];

		if (s.length > left)
			s.length = left;
		left -= s.length;
		err = rpc_msg_add_segment(m, c, &s);
	}
	return err;
}

/* rtr_check_items() has seen that it fills the targetable segment from its offset on. */
static int add_placed(const struct rtr_item *item, struct view behind, struct rpc_msg *m,
		      struct rpc_chunk *c)
{
	if (m->nplaced == RPC_MAX_PLACED)
		return ERR_TOOBIG;
	c->first = (uint16_t)m->nplaced;
	c->length = item->length;
	m->placed[m->nplaced++] = behind.data + item->place.bytes;
	return 0;
}

static int add_items(const struct rpc_params *own, const struct rtr_msg *r, struct view behind,
		     struct rpc_msg *m, struct rpc_error *e)
{
	for (unsigned i = 0; i < r->nitems; i++) {
		const struct rtr_item *item = &r->items[i];
		struct rpc_chunk *c = &m->reads[m->nreads++];
		int err;

		/* The RPC header begins there. */
		if (item->position == 0)
			return other_error(e, RPC_ERROR_BAD_XDR, 0);
		*c = (struct rpc_chunk){.position = item->position};
		err = item->place.type == RTR_TBSN ? add_placed(item, behind, m, c)
						   : add_read(r, item, m, c);
		if (err || m->nsegs > own->segment_count)
			return other_error(e, RPC_ERROR_SEGMENTS, own->segment_count);
	}
	return 0;
}

/* Profile section 5: a payload stream may not reach into a segment that is targetable here. */
static int take_stream(const struct rtr_call_in *c, struct rpc_msg *m, struct rtr_fault *fault,
		       struct rpc_error *e)
{
	int err = rtr_check_payload(c->r, (uint32_t)c->payload.len, fault);

	if (err)
		return err;
	m->body[0] = view_of(c->payload.data, c->r->payload);
	m->nbody = 1;
	if (c->r->payload < WORD || xdr_peek_u32(m->body[0].data) != m->xid)
		return other_error(e, RPC_ERROR_BAD_XDR, 0);
	return 0;
}

int rtr_call_take(const struct rpc_params *own, const struct rtr_call_in *c, struct rpc_msg *m,
		  struct rtr_fault *fault, struct rpc_error *e)
{
	const struct rtr_id id = {.xid = m->xid};
	uint32_t taken, bytes = (uint32_t)(c->in.len + c->behind.len);
	struct rtr_structure s;
	struct rtr_group group;
	int err = rtr_group_begin(&group, c->r, &id, c->type, 1, fault);

	if (!err)
		err = take_stream(c, m, fault, e);
	if (err)
		return err;
	if (c->r->nwishes)
		return other_error(e, RPC_ERROR_WRITE_CHUNKS, 0);
	rtr_call_own(own, &s);
	taken = (uint32_t)(m->body[0].data + m->body[0].len - c->in.data);
	err = rtr_check_items(c->r, &s, fault);
	if (!err)
		err = rtr_check_taken(c->r, &s, 0, taken, bytes, fault);
	if (err)
		return err == ERR_CONT ? err : other_error(e, RPC_ERROR_BAD_XDR, 0);
	return add_items(own, c->r, c->behind, m, e);
}

/* --- out --- */

/* Where the items of @m lie: numbers into @r, gaps. @taken: octets of header and payload stream. */
static int lay_out(const struct rtr_structure *to, const struct rpc_msg *m, uint32_t taken,
		   struct rtr_msg *r, uint32_t gap[RPC_MAX_PLACED])
{
	struct rtr_piece pieces[MOST_PIECES];
	uint32_t lengths[RPC_MAX_PLACED], transmissions, end = taken;
	int n;

	for (unsigned i = 0; i < m->nplaced; i++)
		lengths[i] = (uint32_t)m->reads[i].length;
	n = rtr_lay_out(to, taken, taken, lengths, m->nplaced, pieces, MOST_PIECES, &transmissions);
	if (n < 0 || transmissions > 1)
		return ERR_TOOBIG;
	r->nnumbers = 0;
	for (unsigned i = 0; i < m->nplaced; i++)
		r->items[i].place.count = 0;
	for (int k = 0; k < n; k++) {
		const struct rtr_piece *p = &pieces[k];

		if (p->from == 0)
			gap[p->item] = p->at - end;
		else if (p->at != end)
			return ERR_TOOBIG;
		end = p->at + p->length;
		if (rtr_add_number(r, &r->items[p->item].place, p->number))
			return ERR_TOOBIG;
	}
	return 0;
}

static bool can_be(const struct rtr_structure *to, const struct rpc_msg *m)
{
	if (!to->targets || m->nplaced != m->nreads || m->nwrites || m->has_reply ||
	    m->has_body_chunk || m->nbody > MOST_VIEWS)
		return false;
	for (unsigned i = 0; i < m->nplaced; i++)
		if (m->reads[i].length == 0 || m->reads[i].length > UINT32_MAX)
			return false;
	return true;
}

int rtr_call_form(const struct rtr_structure *to, const struct rpc_msg *m, uint32_t fixed,
		  uint32_t room, struct rtr_msg *r, uint32_t gap[RPC_MAX_PLACED])
{
	size_t body = rpc_msg_body_len(m), len = 0;
	int err = can_be(to, m) && body < to->bytes ? 0 : ERR_TOOBIG;

	rtr_msg_reset(r, RTR_REQUEST);
	r->payload = (uint32_t)body;
	for (unsigned i = 0; i < m->nplaced; i++) {
		gap[i] = 0;
		r->items[r->nitems++] = (struct rtr_item){.position = m->reads[i].position,
							  .length = (uint32_t)m->reads[i].length,
							  .place = {.type = RTR_TBSN}};
	}
	/* The header grows with what is laid out, and moves it: at most into the next segment, each time. */
	for (unsigned i = 0; i < MOST_PIECES && !err && len != rtr_len(r); i++) {
		len = rtr_len(r);
		err = lay_out(to, m, fixed + (uint32_t)(len + body), r, gap);
	}
	/* Room for zeros is where the header is written, behind it. */
	for (unsigned i = 0; i < m->nplaced && !err; i++)
		if (fixed + len + gap[i] > room)
			err = ERR_TOOBIG;
	return err || len != rtr_len(r) ? ERR_TOOBIG : 0;
}
