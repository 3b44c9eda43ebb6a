/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * A Call with its data, toward an end whose Receives have a placement-targetable segment:
 *
 * 	header | Transmit Request | payload stream | zeros | item
 * 	'----------- first segment of the Receive ---------''-- the targetable one --
 *
 * 	header | Transmit Continue | ... more of the stream, if long | zeros | ... more of the item
 *
 * Receives of this end have two segments, of which the second is placement-targetable.
 * - An item that fits the second segment of one transmission stays in its Receive.
 * - An item that takes several transmissions is gathered in one piece of memory once all of them
 *   have come. The items that are not in the first transmission are there one after the other. The
 *   payload stream follows, if not all of it is in the first transmission.
 * - Peers may have other structures. All items that rtr_lay_out() finds room for are sent.
 *
 * All other messages use the forms of the base protocol: nothing of the extension is obligatory.
 */
#include "rtrext/call.h"

#include <string.h>

enum { ALIGN = 4096, WORD = 4, MOST_PIECES = 64, MOST_VIEWS = 3, GATHER_ALIGN = 8 };

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

/* Adds a Read chunk for an item to be read, of exactly its length. */
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

/* The gathered octets from @at on; NULL until memory for them is known. */
static const uint8_t *gathered_at(const struct rtr_call_in *c, uint32_t at)
{
	const uint8_t *base = c->block ? c->block : c->gathered.data;

	return base ? base + at : NULL;
}

/* Copies @octets to offset @at of the block, as far as they are in the range that is to be filled
 * now. */
static void copy_part(const struct rtr_call_in *c, uint32_t at, struct view octets)
{
	uint32_t end = at + (uint32_t)octets.len, from = at < c->from ? c->from : at;

	if (end > c->to)
		end = c->to;
	if (c->block && from < end)
		memcpy(c->block + from, octets.data + (from - at), end - from);
}

/* Copies the octets of @item. Each Receive has one targetable segment, so a segment's number is
 * that of its transmission. */
static void copy_item(const struct rtr_call_in *c, const struct rtr_item *item, uint32_t at)
{
	uint32_t left = item->length, skip = item->place.bytes;

	for (unsigned i = 0; i < item->place.count; i++, skip = 0) {
		struct view from = c->sends[c->r->numbers[item->place.first + i]].bulk;
		uint32_t here = (uint32_t)from.len - skip < left ? (uint32_t)from.len - skip : left;

		copy_part(c, at, view_of(from.data + skip, here));
		at += here;
		left -= here;
	}
}

/* rtr_check_items() has checked that the item fills targetable segments from its offset on.
 * rtr_check_taken() has checked that these segments have come. */
static int add_placed(const struct rtr_call_in *c, const struct rtr_item *item, struct rpc_msg *m,
		      struct rpc_chunk *to)
{
	const struct rtr_place *p = &item->place;
	uint32_t at = m->gathered;

	if (p->count == 1 && c->r->numbers[p->first] == 0)
		return rpc_msg_place(m, to,
				     view_of(c->sends[0].bulk.data + p->bytes, item->length));
	m->gathered += (item->length + GATHER_ALIGN - 1) & ~(uint32_t)(GATHER_ALIGN - 1);
	if (c->block)
		copy_item(c, item, at);
	return rpc_msg_place(m, to, view_of(gathered_at(c, at), item->length));
}

static int add_items(const struct rpc_params *own, const struct rtr_call_in *in, struct rpc_msg *m,
		     struct rpc_error *e)
{
	const struct rtr_msg *r = in->r;

	for (unsigned i = 0; i < r->nitems; i++) {
		const struct rtr_item *item = &r->items[i];
		struct rpc_chunk *c = &m->reads[m->nreads++];
		int err;

		/* The RPC header begins at Position 0. */
		if (item->position == 0)
			return other_error(e, RPC_ERROR_BAD_XDR, 0);
		*c = (struct rpc_chunk){.position = item->position};
		err = item->place.type == RTR_TBSN ? add_placed(in, item, m, c)
						   : add_read(r, item, m, c);
		if (err || m->nsegs > own->segment_count)
			return other_error(e, RPC_ERROR_SEGMENTS, own->segment_count);
	}
	return 0;
}

/* The most that can be returned by Send: all targetable segments of all Receives that a response
 * may fill (profile section 6). */
static uint64_t room_of(const struct rtr_structure *s, const struct rtr_call_in *in)
{
	uint32_t kept = rtr_limit(in->r->reserved);
	uint64_t room = 0;

	for (unsigned i = 0; i < s->ngroups; i++)
		if (s->groups[i].flags & RTR_TARGETABLE)
			room += (uint64_t)s->groups[i].count * s->groups[i].length;
	return room * (kept < in->most_back ? kept : in->most_back);
}

/* Adds one direction: a Write chunk with the segments that it offers. */
static int add_wish(const struct rpc_params *own, uint64_t room, const struct rtr_msg *r,
		    const struct rtr_set *set, const struct rtr_wish *wish, struct rpc_msg *m)
{
	struct rpc_chunk *c = &m->writes[m->nwrites++];
	const struct rtr_place *p = &wish->place;
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
		      const struct rtr_call_in *in, struct rpc_msg *m, struct rpc_error *e)
{
	const struct rtr_msg *r = in->r;
	uint64_t room = room_of(peer, in);

	if (r->nwishes > RPC_MAX_WISHES)
		return other_error(e, RPC_ERROR_WRITE_CHUNKS, RPC_MAX_WISHES);
	for (unsigned i = 0; i < r->nsets; i++) {
		const struct rtr_set *set = &r->sets[i];

		for (unsigned k = 0; k < set->count; k++)
			if (add_wish(own, room, r, set, &r->wishes[set->first + k], m) ||
			    m->nsegs > own->segment_count)
				return other_error(e, RPC_ERROR_SEGMENTS, own->segment_count);
	}
	return 0;
}

/* Profile section 3: a payload stream that does not begin with the XID makes the message malformed.
 * Section 5: a payload stream may not extend into a segment that is targetable here. */
static int take_stream(const struct rtr_call_in *c, struct rpc_msg *m, struct rtr_fault *fault,
		       struct rpc_error *e)
{
	int err;

	if (c->r->payload < WORD)
		return other_error(e, RPC_ERROR_BAD_XDR, 0);
	err = rtr_check_payload(c->r, c->r->count > 1, (uint32_t)c->payload.len, fault);
	if (err)
		return err;
	m->body[0] = view_of(c->payload.data, c->r->payload);
	m->nbody = 1;
	if (xdr_peek_u32(m->body[0].data) != m->xid)
		return other_error(e, RPC_ERROR_BAD_XDR, 0);
	return 0;
}

static uint32_t bytes_of(const struct rpc_octets *o)
{
	return (uint32_t)(o->here.len + o->bulk.len);
}

/* The common part of Requests and Responses: the group, the payload stream, the places of items. */
static int take_transmission(const struct rpc_params *own, const struct rtr_call_in *c,
			     struct rpc_msg *m, struct rtr_group *group, struct rtr_fault *fault,
			     struct rpc_error *e)
{
	const struct rtr_id id = {.xid = m->xid, .is_reply = m->dir == RPC_REPLY};
	struct rtr_structure s;
	uint32_t taken;
	int err = rtr_group_begin(group, c->r, &id, c->type, rtr_limit(own->transmissions), fault);

	if (!err)
		err = take_stream(c, m, fault, e);
	if (err)
		return err;
	rtr_call_own(own, &s);
	taken = (uint32_t)(m->body[0].data + m->body[0].len - c->sends[0].here.data);
	err = rtr_check_items(c->r, &s, fault);
	if (!err)
		err = rtr_check_taken(c->r, &s, 0, taken, bytes_of(&c->sends[0]), fault);
	return err && err != ERR_CONT ? other_error(e, RPC_ERROR_BAD_XDR, 0) : err;
}

int rtr_take_more(const struct rpc_params *own, struct rtr_group *group,
		  const struct rtr_msg *first, const struct rtr_msg *more, const struct rtr_id *id,
		  const struct rpc_octets *octets, uint32_t fixed, struct rtr_fault *fault)
{
	uint32_t header = fixed + RTR_CONTINUE_BYTES, left = (uint32_t)octets->here.len - header;
	struct rtr_structure s;
	int err = rtr_group_continue(group, more, id, fault);

	if (err)
		return err;
	rtr_call_own(own, &s);
	err = rtr_check_payload(more, group->is_open, left, fault);
	if (!err)
		err = rtr_check_taken(first, &s, more->number, header + more->payload,
				      bytes_of(octets), fault);
	if (err)
		group->is_open = false;
	return err;
}

/* The payload stream of CONTINUE @i, which was checked when it came. */
static struct view stream_of(const struct rtr_call_in *c, unsigned i)
{
	const uint8_t *body = c->sends[i].here.data + c->fixed;

	/* The length of the stream is the last of the three words. */
	return view_of(body + RTR_CONTINUE_BYTES, xdr_peek_u32(body + RTR_CONTINUE_BYTES - WORD));
}

/* Makes the payload stream one piece: in the first transmission, or gathered behind the items. */
static void join_stream(const struct rtr_call_in *c, struct rpc_msg *m)
{
	uint32_t at = m->gathered, more = 0;
	size_t len = m->body[0].len;

	for (unsigned i = 1; i < c->nsends; i++)
		more += (uint32_t)stream_of(c, i).len;
	if (c->gathered.len > at)
		more = (uint32_t)(c->gathered.len - at - len);
	if (more == 0)
		return;
	copy_part(c, at, m->body[0]);
	for (unsigned i = 1, to = at + (uint32_t)len; c->block && i < c->nsends; i++) {
		struct view part = stream_of(c, i);

		copy_part(c, to, part);
		to += (uint32_t)part.len;
	}
	m->body[0] = view_of(gathered_at(c, at), len + more);
	m->gathered += (uint32_t)len + more;
}

int rtr_call_take(const struct rpc_params *own, const struct rtr_structure *peer,
		  const struct rtr_call_in *c, struct rpc_msg *m, struct rtr_group *group,
		  struct rtr_fault *fault, struct rpc_error *e)
{
	int err = take_transmission(own, c, m, group, fault, e);

	if (!err)
		err = add_items(own, c, m, e);
	if (!err)
		err = add_wishes(own, peer, c, m, e);
	if (!err && c->r->count > 1)
		join_stream(c, m);
	m->reserved = c->r->reserved;
	return err;
}

/* Adds the result of one direction: a Write chunk with the segments that were filled, or with the
 * data in the message. */
static int add_result(const struct rtr_call_in *in, const struct rtr_item *item, struct rpc_msg *m)
{
	struct rpc_chunk *c = &m->writes[m->nwrites++];
	const struct rtr_msg *r = in->r;
	const struct rtr_place *p = &item->place;
	int err = 0;

	m->wishes[m->nwishes++] = (struct rpc_wish){
		.way = (enum rpc_way)p->type, .position = item->position, .length = item->length};
	*c = (struct rpc_chunk){.first = (uint16_t)m->nsegs};
	if (p->type == RTR_TBSN)
		return add_placed(in, item, m, c);
	for (unsigned i = 0; p->type == RTR_EXRW && i < p->count && !err; i++)
		err = rpc_msg_add_segment(m, c, &r->segs[p->first + i]);
	return err;
}

int rtr_reply_take(const struct rpc_params *own, const struct rtr_call_in *c, struct rpc_msg *m,
		   struct rtr_group *group, struct rtr_fault *fault)
{
	struct rpc_error any; /* no report about a Reply exists in the base protocol */
	int err = take_transmission(own, c, m, group, fault, &any);

	m->is_response = true;
	if (!err && c->r->nitems > RPC_MAX_WISHES)
		err = ERR_TOOBIG;
	for (unsigned i = 0; !err && i < c->r->nitems; i++)
		err = add_result(c, &c->r->items[i], m);
	if (!err && c->r->count > 1)
		join_stream(c, m);
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

/* struct layout - the layout of a group. */
struct layout {
	struct rtr_piece pieces[MOST_PIECES];
	unsigned npieces;
	uint32_t header;    /* octets of header of the first transmission */
	uint32_t continues; /* octets of header of each further transmission */
	/* octets of payload stream in the first, and in each further transmission */
	uint32_t first, others;
	uint32_t streams, count; /* transmissions with payload stream; all transmissions */
};

/* Octets of a Receive before its first targetable segment; 0: all of the Receive, or none. */
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
	return rpc_msg_body_len(m) <= UINT32_MAX && to->bytes;
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

/* Adds an item for a chunk with data. @which: filled for items that are in the message. */
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

/* Adds a direction. Directions for the same range form a set. */
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
	for (unsigned i = 0; is_call && i < m->nreads && !err; i++)
		err = put_item(m, &m->reads[i], m->reads[i].position, r, which);
	for (unsigned i = 0; i < m->nwishes && !err; i++)
		err = is_call ? put_wish(m, i, r) : put_result(m, i, r, which);
	return err;
}

/* Splits the payload stream: if the peer takes continuations, the stream ends at the first
 * targetable segment. */
static void split_stream(const struct rtr_path *path, uint32_t body, struct layout *l)
{
	uint32_t before = before_targets(path->to), limit = before ? before : path->to->bytes;

	l->first = body;
	l->streams = 1;
	if (path->most == 1 || (uint64_t)l->header + body <= limit || limit < l->header + WORD ||
	    limit < l->continues + WORD)
		return;
	l->first = (limit - l->header) & ~(uint32_t)(WORD - 1);
	l->others = (limit - l->continues) & ~(uint32_t)(WORD - 1);
	l->streams = 1 + (body - l->first + l->others - 1) / l->others;
}

/* Lays out the items of @m that are in the message: segment numbers into @r. */
static int lay_out(const struct rtr_path *path, const struct rpc_msg *m, const uint8_t *which,
		   struct rtr_msg *r, struct layout *l)
{
	uint32_t lengths[RPC_MAX_PLACED], later = l->continues;
	int n;

	split_stream(path, (uint32_t)rpc_msg_body_len(m), l);
	if (l->streams > 1)
		later += l->others;
	for (unsigned i = 0; i < m->nplaced; i++)
		lengths[i] = (uint32_t)m->placed[i].len;
	n = rtr_lay_out(path->to, l->header + l->first, later, lengths, m->nplaced, l->pieces,
			MOST_PIECES, &l->count);
	if (l->count < l->streams)
		l->count = l->streams;
	if (n < 0 || l->count > path->most)
		return ERR_TOOBIG;
	l->npieces = (unsigned)n;
	r->count = l->count;
	r->nnumbers = 0;
	for (unsigned i = 0; i < m->nplaced; i++)
		r->items[which[i]].place.count = 0;
	for (unsigned k = 0; k < l->npieces; k++) {
		const struct rtr_piece *p = &l->pieces[k];

		if (rtr_add_number(r, &r->items[which[p->item]].place, p->number))
			return ERR_TOOBIG;
	}
	return 0;
}

/* Payload stream of transmission @number. */
static void put_stream(const struct layout *l, size_t body, uint32_t number, struct rtr_send *send)
{
	send->from = number ? l->first + (size_t)(number - 1) * l->others : 0;
	if (number >= l->streams)
		send->from = body;
	send->length = number ? l->others : l->first;
	if (send->length > body - send->from)
		send->length = body - send->from;
}

/* Pieces of memory for @gap zeros, @room in each. A peer's Receives may have any number of octets
 * below 2^32 before a targetable segment: the number is capped at the pieces that a Send can
 * have. */
static int zeros_of(uint32_t gap, uint32_t room)
{
	return gap / room < RPC_MAX_PIECES ? (int)(gap / room + (gap % room != 0)) : RPC_MAX_PIECES;
}

/* Find the data of transmission @number. Return: pieces of memory that the Send has, or ERR_TOOBIG.
 * Zeros are sent from the rest of the buffer of the header: there is room for so many at once. */
static int put_data(const struct layout *l, const struct rpc_msg *m, uint32_t number, uint32_t room,
		    struct rtr_send *send)
{
	uint32_t header = number ? l->continues : l->header, end = header + (uint32_t)send->length;
	int n = 1 + (int)m->nbody;

	if (header >= room)
		return ERR_TOOBIG;
	room -= header;
	send->ndata = 0;
	for (unsigned k = 0; k < l->npieces; k++) {
		const struct rtr_piece *p = &l->pieces[k];
		struct rpc_run *run = send->data + send->ndata - 1;

		if (p->transmission != number)
			continue;
		if (send->ndata && run->item == p->item && p->at == end) {
			run->length += p->length;
		} else if (send->ndata == RPC_MAX_PLACED) {
			return ERR_TOOBIG;
		} else {
			send->data[send->ndata++] =
				(struct rpc_run){p->at - end, p->item, p->from, p->length};
			n += 1 + zeros_of(p->at - end, room);
		}
		end = p->at + p->length;
	}
	return n;
}

static int put_transmission(const struct layout *l, const struct rpc_msg *m, uint32_t number,
			    uint32_t room, struct rtr_send *send)
{
	int n;

	send->count = l->count;
	put_stream(l, rpc_msg_body_len(m), number, send);
	n = put_data(l, m, number, room, send);
	return n < 0 || n > RPC_MAX_PIECES ? ERR_TOOBIG : 0;
}

/* Lays out the group for @m; @r is its first transmission. */
static int form_group(const struct rtr_path *path, const struct rpc_msg *m, struct rtr_msg *r,
		      struct layout *l)
{
	uint8_t which[RPC_MAX_PLACED] = {0};
	int err = can_be(path->to, m) ? put_message(m, r, which) : ERR_TOOBIG;
	uint32_t before = before_targets(path->to);
	size_t len = 0;

	l->header = l->first = l->others = l->streams = l->count = 0;
	l->npieces = 0;
	l->continues = path->fixed + RTR_CONTINUE_BYTES;
	/* A layout with more segments makes the header longer, and a longer header moves the
	 * layout: by at most one segment each time. */
	for (unsigned i = 0; i < MOST_PIECES && !err && len != rtr_len(r); i++) {
		len = rtr_len(r);
		l->header = path->fixed + (uint32_t)len;
		err = lay_out(path, m, which, r, l);
	}
	if (err || len != rtr_len(r) || (uint64_t)l->header + l->first > path->to->bytes)
		return ERR_TOOBIG;
	r->payload = l->first;
	if (m->nwishes)
		r->reserved = path->reserved;
	/* Profile section 5: a peer need not accept more, and a Reply is not sent again. */
	if (m->nplaced && m->dir == RPC_CALL)
		return 0;
	return before && l->header + l->first > before ? ERR_TOOBIG : 0;
}

int rtr_form(const struct rtr_path *path, const struct rpc_msg *m, uint32_t number,
	     struct rtr_msg *r, struct rtr_send *send)
{
	struct layout l;
	int err = form_group(path, m, r, &l);

	/* All transmissions are formed before the first is sent, because none may fail after
	 * that. */
	for (uint32_t k = l.count; !err && number == 0 && k-- > 1;)
		err = put_transmission(&l, m, k, path->room, send);
	if (!err)
		err = put_transmission(&l, m, number, path->room, send);
	if (err || number == 0)
		return err;
	rtr_msg_reset(r, RTR_CONTINUE);
	r->number = number;
	r->began = path->type;
	r->payload = (uint32_t)send->length;
	return 0;
}
