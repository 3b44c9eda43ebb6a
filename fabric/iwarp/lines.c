/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a connection stands whose message finds no shared Receive: in line for the next, or, if its user keeps too many
 * for what is left (fabric_may_keep()), on `sated`, which costs next to nothing, until he gave some back, or there are
 * enough for it.
 *
 * Answers to Reads may be behind the message that waits, and who keeps Receives may do so for want of these. Where that
 * is so with many connections none of them would ever go on, so one at a time is favoured: it may have of the last
 * Receives, which are more than one peer may send messages at once, until its Reads are answered and it keeps no more
 * than its part again, so that the next one finds as many. If it does not get on meanwhile, or not in the end, the next
 * one's turn comes. A user that waits with his Reads (.behind) is favoured when nobody's Reads are out.
 */
#include "fabric/iwarp/iwarp_internal.h"

enum {
	TURN_LOOKS = 8, /* at those that are sated, with each flush */
	FAVOUR_IDLE =
		4, /* looks at regular times that saw nothing move, until the next one's turn */
	FAVOUR_LOOKS = 40, /* ... in all */
};

void lines_await(struct iwarp_conn *c)
{
	struct iwarp *iw = c->iw;

	if (!list_is_empty(&c->starved))
		return;
	c->base.waits = !qp_may_keep(&c->qp);
	if (!c->base.waits) {
		list_add_tail(&iw->starved, &c->starved);
		return;
	}
	list_add_tail(&iw->sated, &c->starved);
	c->tell_sated = true;
	iwarp_conn_activate(c);
}

void lines_try(struct iwarp_conn *c)
{
	c->base.waits = c->base.behind = false;
	list_del(&c->starved);
	list_add_tail(&c->iw->starved, &c->starved);
}

static void try_if_enough(struct iwarp_conn *c)
{
	if (c->state == IWARP_OPEN && qp_may_keep(&c->qp))
		lines_try(c);
}

void lines_gave_back(struct fabric_conn *fc)
{
	try_if_enough(container_of(fc, struct iwarp_conn, base));
}

static void end_favour(struct iwarp *iw)
{
	if (iw->favoured)
		iw->favoured->qp.is_favoured = false;
	iw->favoured = NULL;
}

static void favour(struct iwarp_conn *c)
{
	c->iw->favoured = c;
	c->iw->favour.looks = c->iw->favour.idle = 0;
	c->iw->favour.reads = c->qp.reads_done + c->qp.reads;
	c->iw->favour.done = c->qp.reads_done;
	c->iw->favour.kept = qp_keeps(&c->qp);
	c->qp.is_favoured = true;
	try_if_enough(c);
}

/* Whether it is through with what waited. */
static bool is_through(const struct iwarp_conn *c)
{
	bool has_answers = (int32_t)(c->qp.reads_done - c->iw->favour.reads) >= 0;

	return c->state != IWARP_OPEN ||
	       (list_is_empty(&c->starved) && has_answers &&
		qp_keeps(&c->qp) <= recvq_left(c->qp.recvq) / FABRIC_SHARE);
}

/* Or has been favoured for too long. */
static bool is_slow(struct iwarp *iw)
{
	const struct qp *qp = &iw->favoured->qp;

	if (qp->reads_done != iw->favour.done || qp_keeps(qp) < iw->favour.kept)
		iw->favour.idle = 0;
	iw->favour.done = qp->reads_done;
	if (qp_keeps(qp) < iw->favour.kept)
		iw->favour.kept = qp_keeps(qp);
	/* Without Reads it waits for memory, which others may have, whose Reads are behind. */
	return ++iw->favour.idle >= (qp->reads ? FAVOUR_IDLE : 1) ||
	       ++iw->favour.looks >= FAVOUR_LOOKS;
}

/* The first @looks of them: who may goes on, and who is to be favoured is. Each takes one Receive at least, so no more of
 * them than there are. */
static void look_at_some(struct iwarp *iw, unsigned looks)
{
	uint64_t most = recvq_left(&iw->recvq);
	struct list *last = iw->sated.prev, *item = NULL;

	for (; looks > 0 && item != last && (item = list_pop(&iw->sated)); looks--) {
		struct iwarp_conn *c = container_of(item, struct iwarp_conn, starved);

		list_add_tail(&iw->sated, &c->starved);
		if (c->state != IWARP_OPEN || most == 0)
			continue;
		if (!iw->favoured && c->qp.reads)
			favour(c);
		else
			try_if_enough(c);
		most -= !c->base.waits;
	}
}

void lines_turn(struct iwarp *iw)
{
	if (iw->favoured && is_through(iw->favoured))
		end_favour(iw);
	look_at_some(iw, TURN_LOOKS);
}

void lines_look(struct iwarp *iw)
{
	bool few = recvq_left(&iw->recvq) <= iw->recvq.most / FABRIC_LAST, in_want = false;

	if (iw->favoured && is_slow(iw))
		end_favour(iw);
	look_at_some(iw, UINT32_MAX);
	list_for_each_safe(item, tmp, &iw->sated)
	{
		struct iwarp_conn *c = container_of(item, struct iwarp_conn, starved);

		if (c->state != IWARP_OPEN)
			continue;
		if (!iw->favoured && c->base.behind)
			favour(c);
		in_want |= few && (c->qp.reads || c->base.behind);
	}
	iw->base.in_want = in_want;
}
