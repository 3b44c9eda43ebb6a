/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The round-trip extension (docs/rtrext-profile.md) as rogues use it: calls with data behind them
 * and directions for the data of replies, replies with data of any length, asked for or not, and
 * invalid words.
 */
#include <string.h>

#include "rtrext/message.h"
#include "tests/isolation/rogue.h"
#include "v2/header.h"
#include "xdr/cursor.h"

enum { FIRST = 2048, BULK = ROGUE_BUFFER - FIRST, GATEWAYS_FIRST = 4096, MOST_DATA = 1 << 15 };

void rogue_properties(struct rogue *r, uint32_t xid)
{
	const uint32_t props[] = {
		xid, 2, rogue_credit(r), V2_CONNPROP_FINAL, 2,
		/* The rogue announces requests, responses, continues; structure: FIRST, then BULK
		 * for data. */
		0x52540003, 4, 7, 0x52540004, 40, ROGUE_BUFFER, 2, 1, FIRST, 1, 0, 1, BULK, 1, 1};
	const uint32_t none[] = {xid, 2, rogue_credit(r), V2_CONNPROP_FINAL, 0};

	if (r->knows & MISDEED_EXTENDED)
		rogue_send_words(r, props, sizeof(props) / 4, 0);
	else
		rogue_send_words(r, none, 5, 0);
}

bool rogue_asked(struct view in, struct rpc_msg *m)
{
	static struct rtr_msg x;
	struct xdr_in at;

	if (xdr_peek_u32(in.data + 12) != V2_RTR_REQUEST)
		return false;
	xdr_in_init(&at, in);
	xdr_skip(&at, V2_PREFIX_BYTES);
	if (rtr_decode(&x, RTR_REQUEST, &at))
		return false;
	for (unsigned i = 0; i < x.nwishes && i < RPC_MAX_CHUNKS; i++) {
		const struct rtr_place *p = &x.wishes[i].place;
		struct rpc_chunk *c = &m->writes[m->nwrites++];

		*c = (struct rpc_chunk){.first = (uint16_t)m->nsegs};
		for (unsigned k = 0; p->type != RTR_TBSN && k < p->count; k++)
			(void)!rpc_msg_add_segment(m, c, &x.segs[p->first + k]);
	}
	return true;
}

static int put_segments(struct rtr_msg *x, struct rtr_place *p, const struct rpc_msg *m,
			const struct rpc_chunk *c)
{
	int err = 0;

	p->first = (uint16_t)x->nsegs;
	for (unsigned i = 0; i < c->count && !err; i++)
		err = rtr_add_segment(x, p, &m->segs[c->first + i]);
	return err;
}

/* By Send, @len octets, in the first transmission or the second. */
static int put_data(struct rtr_msg *x, struct rtr_item *item, uint32_t len)
{
	item->length = len;
	item->place = (struct rtr_place){.type = RTR_TBSN};
	return rtr_add_number(x, &item->place, x->count > 1 && len % 2);
}

/* Send the continues of @x: correctly, incorrectly, or not to the end. @data: octets in the first
 * of them. */
static void send_continues(struct rogue *r, const struct rtr_msg *x, uint32_t xid, uint32_t data)
{
	for (uint32_t k = 1; k < x->count && k < 6 && !rogue_draw(r, 8); k++, data = 0) {
		bool wrong = rogue_draw(r, 6);
		uint32_t words[] = {xid,
				    V2_VERSION,
				    rogue_credit(r),
				    V2_RTR_CONTINUE,
				    k,
				    x->op + RTR_HEADER_TYPES,
				    0};

		if (wrong)
			words[rogue_draw(r, 3) ? 0 : 4 + rng_below(r->rng, 3)] ^=
				(uint32_t)1 << rng_below(r->rng, 8);
		if (wrong && rogue_draw(r, 3))
			data /= 2;
		rogue_send_behind(r, words, 7, data ? GATEWAYS_FIRST : sizeof(words), data);
	}
}

/* One item for a Read chunk, or a returned Write chunk. @data: octets that go along, at most once. */
static int put_item(struct rogue *r, struct rtr_msg *x, const struct rpc_msg *m,
		    const struct rpc_chunk *c, uint32_t *data)
{
	struct rtr_item *item = &x->items[x->nitems++];

	*item = (struct rtr_item){.position = c->position, .length = (uint32_t)c->length};
	if (!*data && rogue_draw(r, 2)) {
		*data = 1 + rng_below(r->rng, rogue_draw(r, 3) ? MOST_DATA : 3000);
		return put_data(x, item, *data);
	}
	item->place = (struct rtr_place){.type = c->length ? RTR_EXRW : RTR_NOITEM};
	return c->length ? put_segments(x, &item->place, m, c) : 0;
}

static int put_wish(struct rogue *r, struct rtr_msg *x, const struct rpc_msg *m,
		    const struct rpc_chunk *c)
{
	struct rtr_wish *wish = &x->wishes[x->nwishes++];

	*wish = (struct rtr_wish){.least = rogue_draw(r, 3) ? rng_below(r->rng, 100) : 0,
				  .place = {.type = (enum rtr_type)(1 + rng_below(r->rng, 4))}};
	if (wish->place.type == RTR_BYSIZE)
		wish->place.bytes = rng_below(r->rng, 4096);
	return wish->place.type == RTR_TBSN ? 0 : put_segments(x, &wish->place, m, c);
}

/* One word of it is another. */
static void lie(struct rogue *r, struct rtr_msg *x)
{
	uint32_t word = rogue_draw(r, 2) ? rng_below(r->rng, 5) : (uint32_t)rng_next(r->rng);
	struct rtr_item *item = x->nitems ? &x->items[rng_below(r->rng, x->nitems)] : NULL;

	switch (rng_below(r->rng, 6)) {
	case 0:
		x->count = word;
		break;
	case 1:
		x->payload = word;
		break;
	case 2:
		x->reserved = word;
		break;
	case 3:
		if (x->nnumbers)
			x->numbers[0] = word;
		break;
	case 4:
		if (item)
			item->length = word;
		break;
	default:
		if (item && item->place.type == RTR_TBSN)
			item->place.bytes = word;
		break;
	}
}

static int form(struct rogue *r, struct rtr_msg *x, const struct rpc_msg *m, uint32_t *data)
{
	bool is_call = m->dir == RPC_CALL;
	int err = 0;

	for (unsigned i = 0; is_call && i < m->nreads && !err; i++)
		err = put_item(r, x, m, &m->reads[i], data);
	if (is_call && m->nwrites) {
		x->sets[x->nsets++] = (struct rtr_set){.end = 1 + rng_below(r->rng, 5000),
						       .count = (uint16_t)m->nwrites};
		for (unsigned i = 0; i < m->nwrites && !err; i++)
			err = put_wish(r, x, m, &m->writes[i]);
	}
	for (unsigned i = 0; !is_call && i < m->nwrites && !err; i++)
		err = put_item(r, x, m, &m->writes[i], data);
	return err;
}

bool rogue_send_extended(struct rogue *r, const struct rpc_msg *m, struct view body, uint8_t *room)
{
	static struct rtr_msg x;
	enum rtr_op op = m->dir == RPC_CALL ? RTR_REQUEST : RTR_RESPONSE;
	struct fabric_sge sge[2] = {{room, 0}, {rogue_plain(r), 0}};
	struct xdr_out out;
	uint32_t data = 0;
	size_t len;

	if (m->has_body_chunk || m->has_reply)
		return false;
	rtr_msg_reset(&x, op);
	x.payload = (uint32_t)body.len;
	x.count = rogue_draw(r, 3) ? 2 + rng_below(r->rng, 4) : 1;
	if (form(r, &x, m, &data))
		return false;
	if (rogue_draw(r, 6))
		lie(r, &x);
	xdr_out_init(&out, room, ROGUE_BUFFER);
	xdr_put_u32(&out, m->xid);
	xdr_put_u32(&out, V2_VERSION);
	xdr_put_u32(&out, rogue_credit(r));
	xdr_put_u32(&out, RTR_HEADER_TYPES + op);
	rtr_encode(&x, &out);
	len = xdr_out_len(&out);
	if (out.failed || len + body.len > ROGUE_BUFFER)
		return false;
	memcpy(room + len, body.data, body.len);
	sge[0].len = (uint32_t)(len + body.len);
	/* In the transmission that its number says. */
	sge[1].len = rogue_draw(r, 30) ? data / 2 : data;
	if (x.nnumbers && x.numbers[0])
		sge[1].len = 0;
	if (sge[1].len) {
		memset(room + sge[0].len, 0, GATEWAYS_FIRST - sge[0].len);
		sge[0].len = GATEWAYS_FIRST;
	}
	rogue_send_off(r, sge, sge[1].len ? 2 : 1, 0);
	if (x.count > 1)
		send_continues(r, &x, m->xid, sge[1].len ? 0 : data);
	return true;
}
