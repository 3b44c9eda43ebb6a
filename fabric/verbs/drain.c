/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/verbs/drain.h"
#include "fabric/verbs/complete.h"
#include "fabric/verbs/cq.h"
#include "fabric/verbs/share_conn.h"
#include "fabric/verbs/share_types.h"
#include "fabric/verbs/srq.h"
#include "fabric/verbs/types.h"
#include "fabric/verbs/wakeup.h"

/*
 * Operation
 *
 * The states of a completion queue:
 * - hot: polled batch by batch until it is empty. Then it is armed, polled once more, and is cold.
 * - cold: not polled until the channel reports a completion.
 * - busy: with a polling budget (.busy_poll_us) a queue that had completions becomes busy instead
 *   of cold. It is polled once in each flush, unarmed, until the budget is used up.
 *
 * Processing a batch ends no connection and destroys nothing, because many connections may share
 * the queue, and the batch may have further completions. A completion of a shared queue names a
 * queue pair, whose connection share_conn.c finds. If a message is delivered to no connection, its
 * Receive is posted again.
 *
 * A queue pair that fails flushes no shared Receives, so no completion of a Receive reports the
 * failure. The device's events (if it has them), the connection manager, failed Sends and alive.c
 * report it.
 */

enum { BATCH = 16 };

/* Return: number of completions. */
static int take_own(struct verbs_conn *c)
{
	struct ibv_wc wc[BATCH];
	int n = cq_poll(&c->cq, wc, BATCH);

	if (n)
		complete_own(c, wc, n);
	return n;
}

static void drain_own(struct verbs_conn *c)
{
	while (take_own(c))
		;
}

static void completed(struct vshare *s, const struct ibv_wc *wc)
{
	struct verbs_conn *c = share_find(s, wc->qp_num);
	uint32_t slot = (uint32_t)wc->wr_id;

	if (wc->wr_id >= s->size || s->slots[slot].state != VSLOT_POSTED) {
		atomic_store(&s->failed, true); /* a completion of no Receive: a driver bug */
		return;
	}
	s->slots[slot].state = VSLOT_HELD;
	s->nheld++;
	s->v->counters.receives_out += --s->nposted == 0;
	s->v->counters.receives_posted--;
	if (c && wc->status == IBV_WC_SUCCESS &&
	    complete_shared(c, wc, slot, s->slots[slot].cookie))
		return;
	srq_put_back(s, slot);
	if (!c)
		return;
	if (wc->status != IBV_WC_SUCCESS) {
		drain_own(c); /* completions of its Sends may tell why */
		complete_failed(c, wc, true);
	}
	wake_conn(c);
}

static int take_shared(struct vshare *s)
{
	struct ibv_wc wc[BATCH];
	int n = cq_poll(&s->cq, wc, BATCH);

	for (int i = 0; i < n; i++)
		completed(s, &wc[i]);
	return n;
}

static int take(struct vcq *q)
{
	return q->conn ? take_own(q->conn) : take_shared(q->share);
}

/* Return: whether @q stays busy, unarmed. */
static bool is_busy(const struct vcq *q)
{
	return q->busy_until && wake_now() < q->busy_until;
}

void drain_look(struct vcq *q)
{
	if (take(q)) {
		if (q->busy_poll_us)
			q->busy_until = wake_now() + q->busy_poll_us * (nsec_t)1000;
		list_add_tail(&q->v->hot, &q->hot);
	} else if (q->cq && is_busy(q)) {
		list_add_tail(&q->v->busy, &q->hot);
	} else if (q->cq) {
		cq_arm(q);
		/* A completion between the last poll and the arming would never be reported. */
		if (take(q))
			list_add_tail(&q->v->hot, &q->hot);
	}
}

void drain_shared(struct vshare *s)
{
	while (take_shared(s))
		;
}

void drain_conn(struct verbs_conn *c)
{
	if (c->share)
		drain_shared(c->share);
	drain_own(c);
}
