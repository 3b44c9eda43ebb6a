/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/verbs/internal.h"
#include "fabric/verbs/share_internal.h"

/*
 * Operation
 *
 * A completion queue is hot, busy or cold. A hot one is looked into batch by batch; once
 * empty it is armed, looked into once more, and is cold until the channel tells of it.
 * With a budget for it, one that had something stays busy instead: it is looked into once
 * a flush, unarmed, until the budget is used up.
 *
 * What a batch brings ends no connection and destroys nothing: the queue may be one that
 * many connections share, and the rest of the batch is yet to come.
 */

enum { BATCH = 16 };

void cq_init(struct vcq *q, struct verbs *v, struct verbs_conn *conn, struct vshare *share)
{
	*q = (struct vcq){.v = v, .conn = conn, .share = share};
	list_init(&q->hot);
}

static int vector_of(const struct verbs_dev *dev)
{
	int n = dev->context->num_comp_vectors;

	return n > 1 ? (int)(dev->v->number % (unsigned)n) : 0;
}

int cq_make(struct vcq *q, struct verbs_dev *dev, uint32_t depth)
{
	q->cq = ibv_create_cq(dev->context, (int)depth, q, dev->channel, vector_of(dev));
	return q->cq ? 0 : ERR_NOMEM;
}

static void acknowledge(struct vcq *q)
{
	if (q->events)
		ibv_ack_cq_events(q->cq, q->events);
	q->events = 0;
}

void cq_destroy(struct vcq *q)
{
	list_del(&q->hot);
	if (!q->cq)
		return;
	acknowledge(q);
	(void)ibv_destroy_cq(q->cq);
	q->cq = NULL;
}

static int take_batch(struct vcq *q)
{
	struct ibv_wc wc[BATCH];
	int n = q->cq ? ibv_poll_cq(q->cq, BATCH, wc) : 0;

	q->v->counters.polls++;
	if (n < 0)
		cq_failed(q); /* and what it had may be lost */
	if (n <= 0)
		return 0;
	q->v->counters.completions += (uint64_t)n;
	if (q->conn)
		complete_own(q->conn, wc, n);
	else
		share_completed(q->share, wc, n);
	return n;
}

/* Return: whether it is to stay as it is, unarmed. */
static bool is_busy(const struct vcq *q)
{
	return q->busy_until && wake_now() < q->busy_until;
}

static void cq_arm(struct vcq *q)
{
	acknowledge(q);
	if (ibv_req_notify_cq(q->cq, 0))
		cq_failed(q);
}

void cq_look(struct vcq *q)
{
	if (take_batch(q)) {
		if (q->busy_poll_us)
			q->busy_until = wake_now() + q->busy_poll_us * (nsec_t)1000;
		list_add_tail(&q->v->hot, &q->hot);
	} else if (q->cq && is_busy(q)) {
		list_add_tail(&q->v->busy, &q->hot);
	} else if (q->cq) {
		cq_arm(q);
		/* What came between the look and the arming would never be told. */
		if (take_batch(q))
			list_add_tail(&q->v->hot, &q->hot);
	}
}

void cq_drain(struct vcq *q)
{
	while (take_batch(q))
		;
}

void cq_failed(struct vcq *q)
{
	if (!q->conn) {
		atomic_store(&q->share->failed, true);
		return;
	}
	q->conn->broken = true;
	wake_conn(q->conn);
}
