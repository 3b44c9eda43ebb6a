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
	return rpc_msg_place(m, c, view_of(behind.data + item->place.bytes, item->length));
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

/* The most that can come back by Send: what fills targetable segments without a gap, from the first on. */
static uint32_t room_of(const struct rtr_structure *s)
{
	uint32_t room = 0;

	for (unsigned i = 0; i < s->ngroups; i++) {
		const struct rtr_segments *g = &s->groups[i];

		if (g->flags & RTR_TARGETABLE)
			room += g->count * g->length;
		else if (room)
			break;
	}
	return room;
}

/* One direction: a Write chunk, with the segments that it offers. */
static int add_wish(const struct rpc_params *own, const struct rtr_structure *peer,
		    const struct rtr_msg *r, const struct rtr_set *set, const struct rtr_wish *wish,
		    struct rpc_msg *m)
{
	struct rpc_chunk *c = &m->writes[m->nwrites++];
	const struct rtr_place *p = &wish->place;
	uint32_t room = room_of(peer);
	int err = 0;

	m->wishes[m->nwishes++] = (struct rpc_wish){.way = (enum rpc_way)p->type,
						    .least = wish->least,
						    .most = p->bytes,
						    .begin = set->begin,
						    .end = set->end};
	*c = (struct rpc_chunk){.first = (uint16_t)m->nsegs};
	if (p->type == RTR_TBSN) {
		c->length = room < own->segment_bytes ? room : own->segment_bytes;
		return 0;
	}
	for (unsigned i = 0; i < p->count && !err; i++)
		err = rpc_msg_add_segment(m, c, &r->segs[p->first + i]);
	return err;
}

static int add_wishes(const struct rpc_params *own, const struct rtr_structure *peer,
		      const struct rtr_msg *r, struct rpc_msg *m, struct rpc_error *e)
{
	if (r->nwishes > RPC_MAX_WISHES)
		return other_error(e, RPC_ERROR_WRITE_CHUNKS, RPC_MAX_WISHES);
	for (unsigned i = 0; i < r->nsets; i++) {
		const struct rtr_set *set = &r->sets[i];

		for (unsigned k = 0; k < set->count; k++)
			if (add_wish(own, peer, r, set, &r->wishes[set->first + k], m) ||
			    m->nsegs > own->segment_count)
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

/* What Requests and Responses have in common: the group, the payload stream, where items lie. */
static int take_transmission(const struct rpc_params *own, const struct rtr_call_in *c,
			     struct rpc_msg *m, struct rtr_fault *fault, struct rpc_error *e)
{
	const struct rtr_id id = {.xid = m->xid, .is_reply = m->dir == RPC_REPLY};
	uint32_t taken, bytes = (uint32_t)(c->in.len + c->behind.len);
	struct rtr_structure s;
	struct rtr_group group;
	int err = rtr_group_begin(&group, c->r, &id, c->type, 1, fault);

	if (!err)
		err = take_stream(c, m, fault, e);
	if (err)
		return err;
	rtr_call_own(own, &s);
	taken = (uint32_t)(m->body[0].data + m->body[0].len - c->in.data);
	err = rtr_check_items(c->r, &s, fault);
	if (!err)
		err = rtr_check_taken(c->r, &s, 0, taken, bytes, fault);
	return err && err != ERR_CONT ? other_error(e, RPC_ERROR_BAD_XDR, 0) : err;
}

int rtr_call_take(const struct rpc_params *own, const struct rtr_structure *peer,
		  const struct rtr_call_in *c, struct rpc_msg *m, struct rtr_fault *fault,
		  struct rpc_error *e)
{
	int err = take_transmission(own, c, m, fault, e);

	if (!err)
		err = add_items(own, c->r, c->behind, m, e);
	return err ? err : add_wishes(own, peer, c->r, m, e);
}

/* What became of one direction: a Write chunk with the segments that were filled, or with what came along. */
static int add_result(const struct rtr_msg *r, const struct rtr_item *item, struct view behind,
		      struct rpc_msg *m)
{
	struct rpc_chunk *c = &m->writes[m->nwrites++];
	const struct rtr_place *p = &item->place;
	int err = 0;

	m->wishes[m->nwishes++] = (struct rpc_wish){
		.way = (enum rpc_way)p->type, .position = item->position, .length = item->length};
	*c = (struct rpc_chunk){.first = (uint16_t)m->nsegs};
	if (p->type == RTR_TBSN)
		return add_placed(item, behind, m, c);
	for (unsigned i = 0; p->type == RTR_EXRW && i < p->count && !err; i++)
		err = rpc_msg_add_segment(m, c, &r->segs[p->first + i]);
	return err;
}

int rtr_reply_take(const struct rpc_params *own, const struct rtr_call_in *c, struct rpc_msg *m,
		   struct rtr_fault *fault)
{
	struct rpc_error any; /* of a Reply nothing is said in the base protocol's words */
	int err = take_transmission(own, c, m, fault, &any);

	m->is_response = true;
	if (!err && c->r->nitems > RPC_MAX_WISHES)
		err = ERR_TOOBIG;
	for (unsigned i = 0; !err && i < c->r->nitems; i++)
		err = add_result(c->r, &c->r->items[i], c->behind, m);
	return err;
}

static bool is_answer(const struct rpc_msg *call, const struct rpc_msg *reply, unsigned i)
{
	const struct rpc_wish *wish = &call->wishes[i], *result = &reply->wishes[i];
	const struct rpc_chunk *offered = &call->writes[i], *used = &reply->writes[i];

	if (!rtr_may_become((enum rtr_type)wish->way, (enum rtr_type)result->way))
		return false;
	if (result->way == RPC_NO_ITEM)
		return result->length == 0;
	if (result->way == RPC_TOO_SHORT)
		return result->length < wish->least;
	if (result->length == 0 || (result->length < wish->least && result->position))
		return false;
	if (result->way == RPC_BY_SEND)
		return wish->way != RPC_BY_SIZE || result->length <= wish->most;
	return rtr_is_within(&call->segs[offered->first], offered->count, &reply->segs[used->first],
			     used->count, result->length);
}

bool rtr_answers(const struct rpc_msg *call, const struct rpc_msg *reply)
{
	if (reply->nwishes != call->nwishes || (call->nplaced == 0 && call->nwishes == 0))
		return false;
	for (unsigned i = 0; i < reply->nwishes; i++)
		if (!is_answer(call, reply, i))
			return false;
	return true;
}

/* --- out --- */

/* Where the items of @m lie that go along: numbers into @r, gaps. @taken: octets of header and payload stream. */
static int lay_out(const struct rtr_structure *to, const struct rpc_msg *m, uint32_t taken,
		   const uint8_t *which, struct rtr_msg *r, uint32_t gap[RPC_MAX_PLACED])
{
	struct rtr_piece pieces[MOST_PIECES];
	uint32_t lengths[RPC_MAX_PLACED], transmissions, end = taken;
	int n;

	for (unsigned i = 0; i < m->nplaced; i++)
		lengths[i] = (uint32_t)m->placed[i].len;
	n = rtr_lay_out(to, taken, taken, lengths, m->nplaced, pieces, MOST_PIECES, &transmissions);
	if (n < 0 || transmissions > 1)
		return ERR_TOOBIG;
	r->nnumbers = 0;
	for (unsigned i = 0; i < m->nplaced; i++)
		r->items[which[i]].place.count = 0;
	for (int k = 0; k < n; k++) {
		const struct rtr_piece *p = &pieces[k];

		if (p->from == 0)
			gap[p->item] = p->at - end;
		else if (p->at != end)
			return ERR_TOOBIG;
		end = p->at + p->length;
		if (rtr_add_number(r, &r->items[which[p->item]].place, p->number))
			return ERR_TOOBIG;
	}
	return 0;
}

/* Octets of a Receive before its first targetable segment; 0: all of it, or none. */
static uint32_t before_targets(const struct rtr_structure *s)
{
	struct rtr_target t;

	return rtr_structure_target(s, 0, &t) ? t.offset : 0;
}

static bool can_be(const struct rtr_structure *to, const struct rpc_msg *m)
{
	if (m->has_reply || m->has_body_chunk || m->nbody > MOST_VIEWS ||
	    (m->nwrites && !m->nwishes) || (m->nplaced && !to->targets))
		return false;
	for (unsigned i = 0; i < m->nplaced; i++)
		if (m->placed[i].len == 0 || m->placed[i].len > UINT32_MAX)
			return false;
	return rpc_msg_body_len(m) < to->bytes;
}

static int put_segments(const struct rpc_msg *m, const struct rpc_chunk *c, struct rtr_msg *r,
			struct rtr_place *p)
{
	int err = 0;

	p->first = (uint16_t)r->nsegs;
	for (unsigned i = 0; i < c->count && !err; i++)
		if (m->dir == RPC_CALL || m->segs[c->first + i].length)
			err = rtr_add_segment(r, p, &m->segs[c->first + i]);
	return err;
}

/* Of a chunk with data: where these are. @which: filled for those that go along. */
static int put_item(const struct rpc_msg *m, const struct rpc_chunk *c, uint32_t position,
		    struct rtr_msg *r, uint8_t *which)
{
	struct rtr_item *item = &r->items[r->nitems++];

	*item = (struct rtr_item){.position = position, .length = (uint32_t)c->length};
	if (rpc_msg_placed(m, c)) {
		item->place = (struct rtr_place){.type = RTR_TBSN};
		which[c->first] = (uint8_t)(r->nitems - 1);
		return 0;
	}
	item->place = (struct rtr_place){.type = RTR_EXRW};
	return put_segments(m, c, r, &item->place);
}

static int put_result(const struct rpc_msg *m, unsigned i, struct rtr_msg *r, uint8_t *which)
{
	const struct rpc_wish *wish = &m->wishes[i];

	if (m->writes[i].length)
		return put_item(m, &m->writes[i], wish->position, r, which);
	r->items[r->nitems++] = (struct rtr_item){.place = {.type = RTR_NOITEM}};
	if (wish->way == RPC_TOO_SHORT)
		r->items[r->nitems - 1] = (struct rtr_item){.position = wish->position,
							    .length = wish->length,
							    .place = {.type = RTR_TOOSHORT}};
	return 0;
}

/* Wishes for one range make a set. */
static int put_wish(const struct rpc_msg *m, unsigned i, struct rtr_msg *r)
{
	const struct rpc_wish *wish = &m->wishes[i];
	struct rtr_wish *to = &r->wishes[r->nwishes++];

	if (i == 0 || wish->begin != m->wishes[i - 1].begin)
		r->sets[r->nsets++] = (struct rtr_set){
			.begin = wish->begin, .end = wish->end, .first = (uint16_t)i};
	r->sets[r->nsets - 1].count++;
	*to = (struct rtr_wish){.least = wish->least,
				.place = {.type = (enum rtr_type)wish->way, .bytes = wish->most}};
	return wish->way == RPC_BY_SEND ? 0 : put_segments(m, &m->writes[i], r, &to->place);
}

static int put_message(const struct rpc_msg *m, struct rtr_msg *r, uint8_t *which)
{
	bool is_call = m->dir == RPC_CALL;
	int err = 0;

	rtr_msg_reset(r, is_call ? RTR_REQUEST : RTR_RESPONSE);
	r->payload = (uint32_t)rpc_msg_body_len(m);
	for (unsigned i = 0; is_call && i < m->nreads && !err; i++)
		err = put_item(m, &m->reads[i], m->reads[i].position, r, which);
	for (unsigned i = 0; i < m->nwishes && !err; i++)
		err = is_call ? put_wish(m, i, r) : put_result(m, i, r, which);
	return err;
}

/* Pieces of memory that go out. Zeros lie behind the header, where it was written: @room for so many at once. */
static unsigned pieces_of(const struct rpc_msg *m, const uint32_t gap[RPC_MAX_PLACED],
			  uint32_t room)
{
	unsigned n = 1 + m->nbody + m->nplaced;

	for (unsigned i = 0; i < m->nplaced; i++)
		n += gap[i] / room + (gap[i] % room > 0);
	return n;
}

int rtr_form(const struct rtr_structure *to, const struct rpc_msg *m, uint32_t fixed, uint32_t room,
	     struct rtr_msg *r, uint32_t gap[RPC_MAX_PLACED])
{
	uint8_t which[RPC_MAX_PLACED] = {0};
	int err = can_be(to, m) ? put_message(m, r, which) : ERR_TOOBIG;
	size_t len = 0, body = rpc_msg_body_len(m);
	uint32_t before = before_targets(to);

	for (unsigned i = 0; i < m->nplaced; i++)
		gap[i] = 0;
	/* The header grows with what is laid out, and moves it: at most into the next segment, each time. */
	for (unsigned i = 0; i < MOST_PIECES && !err && len != rtr_len(r); i++) {
		len = rtr_len(r);
		err = lay_out(to, m, fixed + (uint32_t)(len + body), which, r, gap);
	}
	if (err || len != rtr_len(r) || fixed + len >= room || fixed + len + body > to->bytes ||
	    pieces_of(m, gap, room - fixed - (uint32_t)len) > RPC_MAX_PIECES)
		return ERR_TOOBIG;
	/* Profile section 5: what reaches further a peer need not take, and a Reply is not sent again. */
	if (m->nplaced && m->dir == RPC_CALL)
		return 0;
	return before && fixed + len + body > before ? ERR_TOOBIG : 0;
}
