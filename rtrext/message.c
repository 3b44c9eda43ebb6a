/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: each message is a few words and lists; each list is a count and its entries. Before
 * entries are read, the count is bounded by the table for them. Each entry is bounded by the octets
 * that are left. So a list with a false count costs no more time than its octets.
 *
 *   REQUEST    items, sets of wishes, count, reserved, payload
 *   RESPONSE   items, count, payload
 *   CONTINUE   number, began, payload
 *   REPORT     bad, lead or none, code, words of the code
 */
#include "rtrext/message.h"

#include <assert.h>

enum { WORD = 4, SEGMENT_BYTES = 16 };

void rtr_msg_reset(struct rtr_msg *m, enum rtr_op op)
{
	m->op = op;
	m->payload = 0;
	m->count = 1;
	m->nitems = 0;
	m->reserved = 1;
	m->nsets = m->nwishes = 0;
	m->number = m->began = 0;
	m->bad = m->lead = (struct rtr_id){0};
	m->has_lead = false;
	m->fault = (struct rtr_fault){.code = RTR_BAD_CONT};
	m->nnumbers = m->nsegs = 0;
}

int rtr_add_segment(struct rtr_msg *m, struct rtr_place *p, const struct segment *s)
{
	if (m->nsegs == RTR_MAX_SEGMENTS)
		return ERR_TOOBIG;
	if (p->count == 0)
		p->first = (uint16_t)m->nsegs;
	assert(p->first + p->count == m->nsegs);
	m->segs[m->nsegs++] = *s;
	p->count++;
	return 0;
}

int rtr_add_number(struct rtr_msg *m, struct rtr_place *p, uint32_t number)
{
	if (m->nnumbers == RTR_MAX_NUMBERS)
		return ERR_TOOBIG;
	if (p->count == 0)
		p->first = (uint16_t)m->nnumbers;
	assert(p->first + p->count == m->nnumbers);
	m->numbers[m->nnumbers++] = number;
	p->count++;
	return 0;
}

/* --- in --- */

static int get_segments(struct xdr_in *x, struct rtr_msg *m, struct rtr_place *p)
{
	uint32_t count = xdr_get_u32(x);
	struct segment s;
	int rc;

	if (count == 0 || count > xdr_in_left(x) / SEGMENT_BYTES)
		return ERR_XDR;
	for (uint32_t i = 0; i < count; i++) {
		s = xdr_get_segment(x);
		rc = rtr_add_segment(m, p, &s);
		if (rc)
			return rc;
	}
	return 0;
}

static int get_numbers(struct xdr_in *x, struct rtr_msg *m, struct rtr_place *p)
{
	uint32_t count;
	int rc;

	p->bytes = xdr_get_u32(x);
	count = xdr_get_u32(x);
	if (count == 0 || count > xdr_in_left(x) / WORD)
		return ERR_XDR;
	for (uint32_t i = 0; i < count; i++) {
		rc = rtr_add_number(m, p, xdr_get_u32(x));
		if (rc)
			return rc;
	}
	return 0;
}

/* xmdp_loc. Table 1: TOOSHORT and NOITEM are results; a request does not have them. */
static int get_place(struct xdr_in *x, struct rtr_msg *m, struct rtr_place *p)
{
	uint32_t type = xdr_get_u32(x);

	*p = (struct rtr_place){.type = (enum rtr_type)type};
	switch (type) {
	case RTR_EXRW:
		return get_segments(x, m, p);
	case RTR_TBSN:
		return get_numbers(x, m, p);
	case RTR_TOOSHORT:
	case RTR_NOITEM:
		return m->op == RTR_RESPONSE ? 0 : ERR_XDR;
	default:
		return ERR_XDR;
	}
}

/* xmdp_rsdloc */
static int get_direction(struct xdr_in *x, struct rtr_msg *m, struct rtr_place *p)
{
	uint32_t type = xdr_get_u32(x);

	*p = (struct rtr_place){.type = (enum rtr_type)type};
	switch (type) {
	case RTR_BYSIZE:
		p->bytes = xdr_get_u32(x);
		return get_segments(x, m, p);
	case RTR_EXRW:
	case RTR_CHOICE:
		return get_segments(x, m, p);
	case RTR_TBSN:
		return 0;
	default:
		return ERR_XDR;
	}
}

/* xmdp_grpinfo */
static int get_items(struct xdr_in *x, struct rtr_msg *m)
{
	uint32_t count = xdr_get_u32(x);
	int rc = 0;

	if (count > xdr_in_left(x) / (3 * WORD))
		return ERR_XDR;
	if (count > RTR_MAX_ITEMS)
		return ERR_TOOBIG;
	for (m->nitems = 0; m->nitems < count && !rc; m->nitems++) {
		struct rtr_item *item = &m->items[m->nitems];

		item->position = xdr_get_u32(x);
		item->length = xdr_get_u32(x);
		rc = get_place(x, m, &item->place);
	}
	return rc;
}

static int get_wishes(struct xdr_in *x, struct rtr_msg *m, struct rtr_set *set)
{
	uint32_t count = xdr_get_u32(x);
	int rc = 0;

	*set = (struct rtr_set){set->begin, set->end, .first = (uint16_t)m->nwishes};
	if (count > xdr_in_left(x) / (2 * WORD))
		return ERR_XDR;
	if (count > RTR_MAX_ITEMS - m->nwishes)
		return ERR_TOOBIG;
	for (; set->count < count && !rc; set->count++) {
		struct rtr_wish *wish = &m->wishes[m->nwishes++];

		wish->least = xdr_get_u32(x);
		rc = get_direction(x, m, &wish->place);
	}
	return rc;
}

/* xmdp_rsdgroup. Section 7.4: ranges "must be disjoint and in strictly increasing order". */
static int get_sets(struct xdr_in *x, struct rtr_msg *m)
{
	uint32_t count = xdr_get_u32(x), end = 0;
	int rc = 0;

	if (count > xdr_in_left(x) / (3 * WORD))
		return ERR_XDR;
	if (count > RTR_MAX_SETS)
		return ERR_TOOBIG;
	for (m->nsets = 0; m->nsets < count && !rc; m->nsets++) {
		struct rtr_set *set = &m->sets[m->nsets];

		set->begin = xdr_get_u32(x);
		set->end = xdr_get_u32(x);
		if (x->failed || set->begin < end || set->end <= set->begin)
			return ERR_XDR;
		end = set->end;
		rc = get_wishes(x, m, set);
	}
	return rc;
}

static int get_transmit(struct xdr_in *x, struct rtr_msg *m)
{
	int rc = get_items(x, m);

	if (!rc && m->op == RTR_REQUEST)
		rc = get_sets(x, m);
	if (rc)
		return rc;
	m->count = xdr_get_u32(x);
	if (m->op == RTR_REQUEST)
		m->reserved = xdr_get_u32(x);
	m->payload = xdr_get_u32(x);
	return m->count == 0 ? ERR_XDR : 0;
}

static int get_continue(struct xdr_in *x, struct rtr_msg *m)
{
	m->number = xdr_get_u32(x);
	m->began = xdr_get_u32(x);
	m->payload = xdr_get_u32(x);
	return 0;
}

static void get_id(struct xdr_in *x, struct rtr_id *id)
{
	id->xid = xdr_get_u32(x);
	id->is_reply = xdr_get_bool(x); /* msg_type: CALL 0, REPLY 1 */
	id->number = xdr_get_u32(x);
}

static int get_fault(struct xdr_in *x, struct rtr_fault *f)
{
	uint32_t code = xdr_get_u32(x);

	*f = (struct rtr_fault){.code = (enum rtr_code)code};
	switch (code) {
	case RTR_BAD_TYPE:
	case RTR_BAD_OPTION:
	case RTR_BAD_NUMBER:
	case RTR_BAD_XID:
		f->min = f->max = xdr_get_u32(x);
		f->value = xdr_get_u32(x);
		return 0;
	case RTR_BAD_CONT:
		return 0;
	case RTR_BAD_OFFSET:
	case RTR_BAD_TARGET:
	case RTR_BAD_PAYLOAD:
		f->value = xdr_get_u32(x);
		f->min = xdr_get_u32(x);
		f->max = xdr_get_u32(x);
		return 0;
	default:
		return ERR_XDR;
	}
}

static int get_report(struct xdr_in *x, struct rtr_msg *m)
{
	get_id(x, &m->bad);
	m->has_lead = xdr_get_bool(x);
	if (m->has_lead)
		get_id(x, &m->lead);
	return get_fault(x, &m->fault);
}

int rtr_decode(struct rtr_msg *m, enum rtr_op op, struct xdr_in *x)
{
	int rc = ERR_XDR;

	rtr_msg_reset(m, op);
	switch (op) {
	case RTR_REQUEST:
	case RTR_RESPONSE:
		rc = get_transmit(x, m);
		break;
	case RTR_CONTINUE:
		rc = get_continue(x, m);
		break;
	case RTR_REPORT:
		rc = get_report(x, m);
		break;
	}
	return !rc && x->failed ? ERR_XDR : rc;
}

/* --- out --- */

static void put_segments(struct xdr_out *x, const struct rtr_msg *m, const struct rtr_place *p)
{
	xdr_put_u32(x, p->count);
	for (unsigned i = 0; i < p->count; i++)
		xdr_put_segment(x, &m->segs[p->first + i]);
}

static void put_place(struct xdr_out *x, const struct rtr_msg *m, const struct rtr_place *p)
{
	xdr_put_u32(x, p->type);
	if (p->type == RTR_EXRW)
		put_segments(x, m, p);
	if (p->type != RTR_TBSN)
		return;
	xdr_put_u32(x, p->bytes);
	xdr_put_u32(x, p->count);
	for (unsigned i = 0; i < p->count; i++)
		xdr_put_u32(x, m->numbers[p->first + i]);
}

static void put_direction(struct xdr_out *x, const struct rtr_msg *m, const struct rtr_place *p)
{
	xdr_put_u32(x, p->type);
	if (p->type == RTR_BYSIZE)
		xdr_put_u32(x, p->bytes);
	if (p->type != RTR_TBSN)
		put_segments(x, m, p);
}

static void put_items(struct xdr_out *x, const struct rtr_msg *m)
{
	xdr_put_u32(x, m->nitems);
	for (unsigned i = 0; i < m->nitems; i++) {
		xdr_put_u32(x, m->items[i].position);
		xdr_put_u32(x, m->items[i].length);
		put_place(x, m, &m->items[i].place);
	}
}

static void put_sets(struct xdr_out *x, const struct rtr_msg *m)
{
	xdr_put_u32(x, m->nsets);
	for (unsigned i = 0; i < m->nsets; i++) {
		const struct rtr_set *set = &m->sets[i];

		xdr_put_u32(x, set->begin);
		xdr_put_u32(x, set->end);
		xdr_put_u32(x, set->count);
		for (unsigned k = 0; k < set->count; k++) {
			xdr_put_u32(x, m->wishes[set->first + k].least);
			put_direction(x, m, &m->wishes[set->first + k].place);
		}
	}
}

static void put_id(struct xdr_out *x, const struct rtr_id *id)
{
	xdr_put_u32(x, id->xid);
	xdr_put_u32(x, id->is_reply);
	xdr_put_u32(x, id->number);
}

static void put_fault(struct xdr_out *x, const struct rtr_fault *f)
{
	xdr_put_u32(x, f->code);
	if (f->code == RTR_BAD_CONT)
		return;
	if (f->code >= RTR_BAD_OFFSET) {
		xdr_put_u32(x, f->value);
		xdr_put_u32(x, f->min);
		xdr_put_u32(x, f->max);
		return;
	}
	xdr_put_u32(x, f->min);
	xdr_put_u32(x, f->value);
}

static void put_report(struct xdr_out *x, const struct rtr_msg *m)
{
	put_id(x, &m->bad);
	xdr_put_u32(x, m->has_lead);
	if (m->has_lead)
		put_id(x, &m->lead);
	put_fault(x, &m->fault);
}

void rtr_encode(const struct rtr_msg *m, struct xdr_out *x)
{
	if (m->op == RTR_REPORT) {
		put_report(x, m);
		return;
	}
	if (m->op == RTR_CONTINUE) {
		xdr_put_u32(x, m->number);
		xdr_put_u32(x, m->began);
		xdr_put_u32(x, m->payload);
		return;
	}
	put_items(x, m);
	if (m->op == RTR_REQUEST)
		put_sets(x, m);
	xdr_put_u32(x, m->count);
	if (m->op == RTR_REQUEST)
		xdr_put_u32(x, m->reserved);
	xdr_put_u32(x, m->payload);
}

static size_t place_len(const struct rtr_place *p)
{
	if (p->type == RTR_TBSN)
		return 3 * WORD + (size_t)p->count * WORD;
	return p->type == RTR_EXRW ? 2 * WORD + (size_t)p->count * SEGMENT_BYTES : WORD;
}

static size_t direction_len(const struct rtr_place *p)
{
	if (p->type == RTR_TBSN)
		return WORD;
	return (size_t)(p->type == RTR_BYSIZE ? 3 : 2) * WORD + (size_t)p->count * SEGMENT_BYTES;
}

static size_t report_len(const struct rtr_msg *m)
{
	size_t id = 3 * WORD, len = id + WORD + (m->has_lead ? id : 0) + WORD;

	if (m->fault.code == RTR_BAD_CONT)
		return len;
	return len + (size_t)(m->fault.code >= RTR_BAD_OFFSET ? 3 : 2) * WORD;
}

size_t rtr_len(const struct rtr_msg *m)
{
	size_t len = 3 * WORD;

	if (m->op == RTR_REPORT)
		return report_len(m);
	if (m->op == RTR_CONTINUE)
		return len;
	for (unsigned i = 0; i < m->nitems; i++)
		len += 2 * WORD + place_len(&m->items[i].place);
	if (m->op == RTR_RESPONSE)
		return len;
	len += 2 * WORD + (size_t)m->nsets * 3 * WORD;
	for (unsigned i = 0; i < m->nwishes; i++)
		len += WORD + direction_len(&m->wishes[i].place);
	return len;
}
