/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a connection stands whose message finds no shared Receive: in line for the next, or, if its user keeps too many
 * for what is left (fabric_may_keep()), on `sated`, which costs nothing, until he gave one back, or a press finds
 * that twice as many are left.
 */
#include "fabric/iwarp/iwarp_internal.h"

static uint64_t left(const struct iwarp *iw)
{
	return (uint64_t)iw->recvq.left + iw->recvq.posted;
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
	if (list_is_empty(&iw->sated) || left(iw) < iw->sated_at)
		iw->sated_at = left(iw);
	list_add_tail(&iw->sated, &c->starved);
}

static void try_again(struct iwarp_conn *c)
{
	c->base.waits = false;
	list_del(&c->starved);
	list_add_tail(&c->iw->starved, &c->starved);
}

void lines_gave_back(struct fabric_conn *fc)
{
	struct iwarp_conn *c = container_of(fc, struct iwarp_conn, base);

	if (c->state == IWARP_OPEN)
		try_again(c);
}

/* Twice as many, or each that comes and goes would bring them all here. */
void lines_look(struct iwarp *iw)
{
	if (left(iw) < 2 * iw->sated_at)
		return;
	while (!list_is_empty(&iw->sated))
		try_again(list_first(&iw->sated, struct iwarp_conn, starved));
}
