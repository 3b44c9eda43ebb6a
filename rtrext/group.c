/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: a group is a REQUEST or RESPONSE and the CONTINUEs that its count promises, in order,
 * without other messages between them:
 *
 *              REQUEST, RESPONSE (count > 1)        CONTINUE, the last
 *   closed  ---------------------------------> open ----------------> closed
 *                                                 \---> closed, with a fault: anything else
 *
 * Placement-targetable segments are numbered through all Receives that the transmissions of a group
 * fill, used or not: segment k of transmission t, of n in each Receive, has the number t * n + k.
 */
#include "rtrext/group.h"

static int blame(struct rtr_fault *f, enum rtr_code code, uint32_t value, uint32_t min,
		 uint32_t max)
{
	*f = (struct rtr_fault){code, value, min, max};
	return ERR_CONT;
}

int rtr_group_begin(struct rtr_group *g, const struct rtr_msg *m, const struct rtr_id *id,
		    uint32_t type, uint32_t most, struct rtr_fault *fault)
{
	*g = (struct rtr_group){.lead = *id, .began = type, .count = m->count, .next = 1};
	if (m->count > most)
		return blame(fault, RTR_BAD_NUMBER, m->count, most, most);
	g->is_open = m->count > 1;
	return 0;
}

int rtr_group_continue(struct rtr_group *g, const struct rtr_msg *m, const struct rtr_id *id,
		       struct rtr_fault *fault)
{
	bool was_open = g->is_open;

	g->is_open = false;
	if (!was_open)
		return blame(fault, RTR_BAD_CONT, 0, 0, 0);
	if (id->xid != g->lead.xid || id->is_reply != g->lead.is_reply)
		return blame(fault, RTR_BAD_XID, id->xid, g->lead.xid, g->lead.xid);
	if (m->number != g->next)
		return blame(fault, RTR_BAD_NUMBER, m->number, g->next, g->next);
	if (m->began != g->began)
		return blame(fault, RTR_BAD_OPTION, m->began, g->began, g->began);
	g->next++;
	g->is_open = g->next < g->count;
	return 0;
}

int rtr_group_interrupt(struct rtr_group *g, uint32_t type, bool is_option, uint32_t expected,
			struct rtr_fault *fault)
{
	if (!g->is_open)
		return 0;
	g->is_open = false;
	return blame(fault, is_option ? RTR_BAD_OPTION : RTR_BAD_TYPE, type, expected, expected);
}

int rtr_check_payload(const struct rtr_msg *m, bool has_next, uint32_t left,
		      struct rtr_fault *fault)
{
	if (m->payload > left || (has_next && m->payload % 4))
		return blame(fault, RTR_BAD_PAYLOAD, m->payload, 0, left);
	return 0;
}

/* Finds segment @number of the group: its transmission, and its place there. */
static bool find_target(const struct rtr_structure *s, uint32_t number, uint32_t *transmission,
			struct rtr_target *t)
{
	if (s->targets == 0)
		return false;
	*transmission = number / s->targets;
	return rtr_structure_target(s, number % s->targets, t);
}

static bool is_sent(const struct rtr_item *item)
{
	return item->place.type == RTR_TBSN;
}

static uint64_t room_in(const struct rtr_msg *m, const struct rtr_place *p)
{
	uint64_t room = 0;

	for (unsigned i = 0; i < p->count; i++)
		room += m->segs[p->first + i].length;
	return room;
}

/* Checks the @i-th segment number of @p; @lowest: the least that is valid. */
static int check_number(const struct rtr_msg *m, const struct rtr_structure *own, uint32_t number,
			uint64_t lowest, struct rtr_target *t, struct rtr_fault *fault)
{
	uint64_t all = (uint64_t)own->targets * m->count;
	uint32_t most = all ? (uint32_t)(all - 1 < UINT32_MAX ? all - 1 : UINT32_MAX) : 0;
	uint32_t transmission;

	if (number >= all || number < lowest || !find_target(own, number, &transmission, t))
		return blame(fault, RTR_BAD_TARGET, number, (uint32_t)lowest, most);
	return 0;
}

static int check_sent(const struct rtr_msg *m, const struct rtr_item *item,
		      const struct rtr_structure *own, uint64_t *lowest, struct rtr_fault *fault)
{
	const struct rtr_place *p = &item->place;
	uint32_t left = item->length, skip = p->bytes, here;
	struct rtr_target t;

	if (p->count == 0)
		return ERR_XDR;
	for (unsigned i = 0; i < p->count; i++, skip = 0) {
		uint32_t number = m->numbers[p->first + i];
		int rc = check_number(m, own, number, *lowest, &t, fault);

		if (rc)
			return rc;
		if (skip >= t.length || skip % 4)
			return blame(fault, RTR_BAD_OFFSET, skip, 0, (t.length - 1) & ~3u);
		/* A segment without octets of the item is superfluous. */
		if (left == 0)
			return blame(fault, RTR_BAD_TARGET, number, 0, number ? number - 1 : 0);
		here = t.length - skip < left ? t.length - skip : left;
		left -= here;
		*lowest = (uint64_t)number + 1;
	}
	/* The segments end before the item does. */
	return left ? blame(fault, RTR_BAD_TARGET, m->numbers[p->first + p->count - 1],
			    (uint32_t)*lowest, UINT32_MAX)
		    : 0;
}

/* Profile section 6: the sender of a response may not know the Position of an item. */
static bool is_position_known(const struct rtr_msg *m, const struct rtr_item *item)
{
	return item->place.type != RTR_NOITEM && (m->op == RTR_REQUEST || item->position);
}

int rtr_check_items(const struct rtr_msg *m, const struct rtr_structure *own,
		    struct rtr_fault *fault)
{
	uint64_t end = 0, lowest = 0;
	int rc;

	for (unsigned i = 0; i < m->nitems; i++) {
		const struct rtr_item *item = &m->items[i];

		if (is_position_known(m, item)) {
			if (item->position < end || item->position % 4)
				return ERR_XDR;
			end = (uint64_t)item->position + item->length;
		}
		if (item->place.type == RTR_EXRW && room_in(m, &item->place) < item->length)
			return ERR_XDR;
		rc = is_sent(item) ? check_sent(m, item, own, &lowest, fault) : 0;
		if (rc)
			return rc;
	}
	return 0;
}

/* Octets of @item in segment @i of its segments: the first one begins at the item's offset. */
static uint32_t end_of(const struct rtr_item *item, unsigned i, uint32_t left,
		       const struct rtr_target *t)
{
	uint32_t skip = i == 0 ? item->place.bytes : 0;

	return t->offset + skip + (t->length - skip < left ? t->length - skip : left);
}

/* struct arrived - a transmission: its number, the length of its header and payload stream, and its
 * whole length, in octets. */
struct arrived {
	uint32_t number, taken, bytes;
};

static int check_item_taken(const struct rtr_msg *m, const struct rtr_item *item,
			    const struct rtr_structure *own, const struct arrived *here,
			    struct rtr_fault *fault)
{
	const struct rtr_place *p = &item->place;
	uint32_t left = item->length;

	for (unsigned i = 0; i < p->count; i++) {
		uint32_t number = m->numbers[p->first + i], transmission, end;
		struct rtr_target t;

		if (!find_target(own, number, &transmission, &t))
			return blame(fault, RTR_BAD_TARGET, number, 0, 0);
		end = end_of(item, i, left, &t);
		left -= end - t.offset - (i == 0 ? p->bytes : 0);
		if (transmission != here->number)
			continue;
		if (t.offset < here->taken || end > here->bytes)
			return blame(fault, RTR_BAD_TARGET, number,
				     transmission * own->targets +
					     rtr_structure_free(own, here->taken),
				     transmission * own->targets + own->targets - 1);
	}
	return 0;
}

int rtr_check_taken(const struct rtr_msg *m, const struct rtr_structure *own, uint32_t number,
		    uint32_t taken, uint32_t bytes, struct rtr_fault *fault)
{
	const struct arrived here = {number, taken, bytes};
	int rc = 0;

	for (unsigned i = 0; i < m->nitems && !rc; i++)
		if (is_sent(&m->items[i]))
			rc = check_item_taken(m, &m->items[i], own, &here, fault);
	return rc;
}

bool rtr_may_become(enum rtr_type wish, enum rtr_type result)
{
	if (result == RTR_TOOSHORT || result == RTR_NOITEM)
		return true;
	if (wish == RTR_EXRW || wish == RTR_TBSN)
		return result == wish;
	return result == RTR_EXRW || result == RTR_TBSN;
}

bool rtr_is_within(const struct segment *offered, unsigned noffered, const struct segment *used,
		   unsigned nused, uint64_t length)
{
	if (nused > noffered)
		return false;
	for (unsigned i = 0; i < nused; i++) {
		const struct segment *a = &offered[i], *b = &used[i];

		if (a->handle != b->handle || a->offset != b->offset || b->length > a->length ||
		    b->length > length || (b->length < a->length && i + 1u < nused))
			return false;
		length -= b->length;
	}
	return length == 0;
}

static bool is_answer(const struct rtr_msg *req, const struct rtr_wish *wish,
		      const struct rtr_msg *res, const struct rtr_item *item)
{
	const struct rtr_place *offered = &wish->place, *p = &item->place;

	if (!rtr_may_become(offered->type, p->type))
		return false;
	if (p->type == RTR_NOITEM)
		return item->length == 0;
	if (p->type == RTR_TOOSHORT)
		return item->length < wish->least;
	if (item->length == 0 || (item->length < wish->least && item->position))
		return false;
	if (p->type == RTR_TBSN)
		return offered->type != RTR_BYSIZE || item->length <= offered->bytes;
	return rtr_is_within(&req->segs[offered->first], offered->count, &res->segs[p->first],
			     p->count, item->length);
}

int rtr_check_response(const struct rtr_msg *req, const struct rtr_msg *res)
{
	if (res->nitems != req->nwishes)
		return ERR_XDR;
	for (unsigned i = 0; i < res->nitems; i++)
		if (!is_answer(req, &req->wishes[i], res, &res->items[i]))
			return ERR_XDR;
	return 0;
}

/*
 * Finds segment @number, or the first later segment into which neither header nor payload stream
 * extends. Header and payload stream take the first @skip octets of the first Receive, and the
 * first @skip_later octets of each further Receive.
 */
static bool next_free(const struct rtr_structure *to, uint32_t skip, uint32_t skip_later,
		      uint32_t *number)
{
	if (*number < skip)
		*number = skip;
	if (*number < to->targets)
		return true;
	if (skip_later >= to->targets)
		return false;
	if (*number % to->targets < skip_later)
		*number += skip_later - *number % to->targets;
	return true;
}

int rtr_lay_out(const struct rtr_structure *to, uint32_t taken, uint32_t later,
		const uint32_t *lengths, unsigned n, struct rtr_piece *pieces, unsigned cap,
		uint32_t *transmissions)
{
	uint32_t skip = rtr_structure_free(to, taken), skip_later = rtr_structure_free(to, later);
	uint32_t number = 0, transmission = 0;
	struct rtr_target t;
	unsigned count = 0;

	*transmissions = 1;
	for (unsigned i = 0; i < n; i++) {
		for (uint32_t from = 0; from < lengths[i]; from += pieces[count++].length) {
			uint32_t left = lengths[i] - from;

			if (count == cap)
				return ERR_TOOBIG;
			if (!next_free(to, skip, skip_later, &number) ||
			    !find_target(to, number, &transmission, &t))
				return ERR_NOSPACE;
			pieces[count] =
				(struct rtr_piece){.transmission = transmission,
						   .at = t.offset,
						   .number = number++,
						   .item = i,
						   .from = from,
						   .length = left < t.length ? left : t.length};
			*transmissions = transmission + 1;
		}
	}
	return (int)count;
}
