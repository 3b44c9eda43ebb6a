/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: memory that a responder may write to is blanked first
 *
 * State:  the responder's fabric cannot tell what was written to an exposure. The memory holds
 *         older octets, perhaps of other clients.
 * Danger: a responder claims to have returned more than it wrote, and the requester reads another
 *         client's data.
 * Rule:   the memory is blanked before it is exposed. Toward version 1 a Reply chunk beside Write
 *         chunks is filled with a mark instead, which shows where the reply ends
 *         (txn_check_results()). If a procedure returns nothing in Write chunks, its Write chunks
 *         are not blanked, and results in them are not used.
 * Pinned: tests/session/test_hostile_server.c:what_was_not_written_is_not_passed_on, decision 67.
 *
 * State:  blanking takes time by the size of the chunks, which the requester chooses.
 * Danger: a few small calls ask for gigabytes a second, and no other session of the worker is
 *         served.
 * Rule:   a turn of the worker blanks TXN_BLANK_TURN octets at most; transactions take turns at it.
 * Pinned: tests/session/test_blank.c:no_turn_blanks_more_than_it_has_time_for,
 *         :others_go_on_meanwhile
 */
#include <string.h>

#include "proxy/txn_zero_sink.h"
#include "proxy/internal.h"

enum {
	BLANK_STEP = 1 << 18, /* octets of one transaction before the next one's turn */
	BLANK_LEAST = 8,      /* octets of the mark: a step is a multiple, so marks stay aligned */
};

static void blank_fill(const struct txn *t, struct txn_region *r, uint32_t n)
{
	uint32_t end = r->blank + n;

	if (r != &t->reply || !t->mark) {
		memset(r->addr + r->blank, 0, n);
		r->blank = end;
	}
	for (; r->blank < end; r->blank += (uint32_t)sizeof(t->mark)) {
		uint32_t left = end - r->blank;

		memcpy(r->addr + r->blank, &t->mark,
		       left < sizeof(t->mark) ? left : sizeof(t->mark));
	}
	r->blank = end;
}

/* Return: whether all of @r is blank; *@left says how much more may be done. */
static bool blank_region(struct txn *t, struct txn_region *r, uint32_t *left)
{
	uint32_t n = r->cap - r->blank;

	if (n > *left)
		n = *left - *left % BLANK_LEAST;
	if (n > 0) /* a region of no octets has no address */
		blank_fill(t, r, n);
	*left -= n;
	return r->blank == r->cap;
}

static bool returns_chunks(const struct txn *t)
{
	return t->hdr_err < 0 || nfs_returns_chunks(&t->hdr);
}

static bool blank_some(struct txn *t, uint32_t *left)
{
	bool chunks = t->in.nwrites && returns_chunks(t);

	if (t->in.nwrites && t->rsp->t->ops->traits->unsure_lengths && !t->mark)
		t->mark = session_random(t->s->proxy) | 1;
	for (unsigned i = 0; chunks && i < t->in.nwrites; i++)
		if (!blank_region(t, &t->writes[i], left))
			return false;
	return blank_region(t, &t->reply, left);
}

bool txn_blank(struct txn *t)
{
	struct proxy *p = t->s->proxy;

	if (t->rsp->conn->fabric->reports_written ||
	    (list_is_empty(&p->blanking) && blank_some(t, &p->blank_left)))
		return true;
	list_add_tail(&p->blanking, &t->wait_link);
	return false;
}

struct txn *txn_blank_next(struct proxy *p)
{
	while (p->blank_left >= BLANK_LEAST && !list_is_empty(&p->blanking)) {
		struct txn *t = list_first(&p->blanking, struct txn, wait_link);
		uint32_t step = p->blank_left < BLANK_STEP ? p->blank_left : BLANK_STEP;
		uint32_t left = step;
		bool done = blank_some(t, &left);

		list_del(&t->wait_link);
		p->blank_left -= step - left;
		if (!done)
			list_add_tail(&p->blanking, &t->wait_link);
		else if (t->s->state == SESSION_OPEN)
			return t;
	}
	return NULL;
}
