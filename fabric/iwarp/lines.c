/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a connection stands whose message finds no shared Receive: in line for the next, or, if its user keeps too many
 * for what is left (fabric_may_keep()), on `sated`, which costs nothing, until he gave one back, or a press finds
 * that there are enough for it.
 */
#include "fabric/iwarp/iwarp_internal.h"

static void add_sated(struct iwarp *iw, struct iwarp_conn *c)
{
	if (list_is_empty(&iw->sated) || qp_keeps(&c->qp) < iw->sated_least)
		iw->sated_least = qp_keeps(&c->qp);
	list_add_tail(&iw->sated, &c->starved);
}

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
	add_sated(iw, c);
	c->tell_sated = true;
	iwarp_conn_activate(c);
}

void lines_try(struct iwarp_conn *c)
{
	c->base.waits = false;
	list_del(&c->starved);
	list_add_tail(&c->iw->starved, &c->starved);
}

void lines_gave_back(struct fabric_conn *fc)
{
	struct iwarp_conn *c = container_of(fc, struct iwarp_conn, base);

	if (c->state == IWARP_OPEN)
		lines_try(c);
}

/* Each takes one at least, so no more of them than there are. */
void lines_look(struct iwarp *iw)
{
	uint64_t most = recvq_left(&iw->recvq);
	struct list *last = iw->sated.prev, *item = NULL;

	if (!fabric_may_keep(iw->sated_least, most) && most <= iw->recvq.most / FABRIC_SPARE)
		return;
	while (item != last && (item = list_pop(&iw->sated))) {
		struct iwarp_conn *c = container_of(item, struct iwarp_conn, starved);

		if (most == 0 || !qp_may_keep(&c->qp)) {
			add_sated(iw, c);
			continue;
		}
		lines_try(c);
		most--;
	}
}
