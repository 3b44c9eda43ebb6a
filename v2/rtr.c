/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * A Call with its data, toward an end whose Receives have a placement-targetable segment:
 *
 *     prefix | Transmit Request | payload stream | zeros | item
 *     '----------- first segment of the Receive ---------''-- the targetable one --
 *
 * Receives here are of two segments, of which the second is placement-targetable, and a group is one
 * transmission: so one item fits, of any length up to that segment's. What peers have may be
 * otherwise; whatever rtr_lay_out() finds room for in one transmission, without a gap within an item,
 * is sent. All else goes in the forms of draft -07: nothing of the extension is obligatory.
 */
#include "v2/rtr.h"

#include "v2/chunks.h"
#include "v2/conn_rx.h"

enum { ALIGN = 4096, MOST_PIECES = 64, MOST_VIEWS = 3 };

/* --- rows --- */

static int scratch_decode(struct v2_parse *p, struct v2_hdr *h, enum rtr_op op)
{
	struct rtr_msg scratch;

	/* Of too many items: profile section 3. */
	return rtr_decode(h->rtr ? h->rtr : &scratch, op, &p->x)
		       ? v2_parse_fail(p, ERR_XDR, RPC_ERROR_BAD_XDR, 0)
		       : 0;
}

int v2_rtr_request_decode(struct v2_parse *p, struct v2_hdr *h, struct rpc_msg *m)
{
	int err = scratch_decode(p, h, RTR_REQUEST);

	if (err)
		return err;
	m->body[0] = xdr_in_rest(&p->x);
	m->nbody = 1;
	xdr_skip(&p->x, m->body[0].len);
	return 0;
}

/* As of an RDMA2_ERROR, octets behind it mean nothing. */
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

/* Profile section 2: none of the messages comes from, or goes to, an end that was not told. */
bool v2_rtr_is_known(const struct v2_conn *c, uint32_t htype)
{
	switch (htype - RTR_HEADER_TYPES) {
	case RTR_REQUEST:
	case RTR_CONTINUE:
		return c->t.own.bulk_bytes > 0;
	case RTR_REPORT:
		return c->rtr.support & RTR_TAKES_REQUEST;
	default:
		return false;
	}
}

/* --- in --- */

void v2_rtr_own(const struct rpc_params *own, struct rtr_structure *s)
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
static int check_stream(const struct rtr_msg *r, struct rpc_msg *m, struct rtr_fault *fault,
			struct rpc_error *e)
{
	int err = rtr_check_payload(r, (uint32_t)m->body[0].len, fault);

	if (err)
		return err;
	m->body[0].len = r->payload;
	if (r->payload < V2_WORD || xdr_peek_u32(m->body[0].data) != m->xid)
		return other_error(e, RPC_ERROR_BAD_XDR, 0);
	return 0;
}

int v2_rtr_take(const struct rpc_params *own, const struct rtr_msg *r, struct view in,
		struct view behind, struct rpc_msg *m, struct rtr_fault *fault, struct rpc_error *e)
{
	const struct rtr_id id = {.xid = m->xid};
	uint32_t bytes = (uint32_t)(in.len + behind.len);
	struct rtr_structure s;
	struct rtr_group group;
	int err = rtr_group_begin(&group, r, &id, RTR_HEADER_TYPES + RTR_REQUEST, 1, fault);

	if (!err)
		err = check_stream(r, m, fault, e);
	if (err)
		return err;
	if (r->nwishes)
		return other_error(e, RPC_ERROR_WRITE_CHUNKS, 0);
	v2_rtr_own(own, &s);
	err = rtr_check_items(r, &s, fault);
	if (!err)
		err = rtr_check_taken(r, &s, 0,
				      (uint32_t)(m->body[0].data + m->body[0].len - in.data), bytes,
				      fault);
	if (err)
		return err == ERR_CONT ? err : other_error(e, RPC_ERROR_BAD_XDR, 0);
	return add_items(own, r, behind, m, e);
}

void v2_rtr_heed(struct v2_conn *c, const struct v2_props *props)
{
	struct v2_rtr_peer *peer = &c->rtr;

	if (props->present & V2_HAS_RTR_SUPPORT)
		peer->support = props->rtr_support;
	/* More than is held here: no data are placed toward it (profile section 7). */
	if (props->present & V2_HAS_RTR_STRUCTURE &&
	    rtr_structure_decode(&peer->structure, props->rtr_structure))
		peer->structure = (struct rtr_structure){0};
}

/* --- out --- */

/* Where the items of @m lie: numbers into @r, gaps. @taken: octets of header and payload stream. */
static int lay_out(const struct v2_conn *c, const struct rpc_msg *m, uint32_t taken,
		   struct rtr_msg *r, uint32_t gap[RPC_MAX_PLACED])
{
	struct rtr_piece pieces[MOST_PIECES];
	uint32_t lengths[RPC_MAX_PLACED], transmissions, end = taken;
	int n;

	for (unsigned i = 0; i < m->nplaced; i++)
		lengths[i] = (uint32_t)m->reads[i].length;
	n = rtr_lay_out(&c->rtr.structure, taken, taken, lengths, m->nplaced, pieces, MOST_PIECES,
			&transmissions);
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

int v2_rtr_form(const struct v2_conn *c, const struct rpc_msg *m, struct rtr_msg *r,
		uint32_t gap[RPC_MAX_PLACED])
{
	size_t body = rpc_msg_body_len(m), len = 0;
	int err = 0;

	rtr_msg_reset(r, RTR_REQUEST);
	r->payload = (uint32_t)body;
	for (unsigned i = 0; i < m->nplaced; i++)
		r->items[r->nitems++] = (struct rtr_item){.position = m->reads[i].position,
							  .length = (uint32_t)m->reads[i].length,
							  .place = {.type = RTR_TBSN}};
	/* The header grows with what is laid out, and moves it: at most into the next segment, each time. */
	for (unsigned i = 0; i < MOST_PIECES && !err && len != rtr_len(r); i++) {
		len = rtr_len(r);
		err = lay_out(c, m, (uint32_t)(V2_PREFIX_BYTES + len + body), r, gap);
	}
	return err || len != rtr_len(r) ? ERR_TOOBIG : 0;
}

/* Room for zeros is where the header is written, behind it. */
static bool has_room(const struct v2_conn *c, const struct rtr_msg *r,
		     const uint32_t gap[RPC_MAX_PLACED])
{
	size_t header = V2_PREFIX_BYTES + rtr_len(r);

	for (unsigned i = 0; i < r->nitems; i++)
		if (header + gap[i] > c->t.own.send_bytes)
			return false;
	return true;
}

bool v2_rtr_places(const struct rpc_transport *t, const struct rpc_msg *m)
{
	const struct v2_conn *c = v2_conn_of_const(t);
	uint32_t gap[RPC_MAX_PLACED];
	struct rtr_msg r;

	if (!(c->rtr.support & RTR_TAKES_REQUEST) || !c->rtr.structure.targets || c->lacks_rtr ||
	    m->nplaced != m->nreads || m->nwrites || m->has_reply || m->has_body_chunk ||
	    m->nbody > MOST_VIEWS)
		return false;
	return v2_rtr_form(c, m, &r, gap) == 0 && has_room(c, &r, gap);
}
