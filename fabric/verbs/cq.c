/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/verbs/cq.h"
#include "fabric/verbs/share_types.h"
#include "fabric/verbs/types.h"
#include "fabric/verbs/wakeup.h"

/* Creation and end of a completion queue; drain.c reads completions. */

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

void cq_failed(struct vcq *q)
{
	if (!q->conn) {
		atomic_store(&q->share->failed, true);
		return;
	}
	q->conn->broken = true;
	wake_conn(q->conn);
}

int cq_poll(struct vcq *q, struct ibv_wc *wc, int most)
{
	int n = q->cq ? ibv_poll_cq(q->cq, most, wc) : 0;

	q->v->counters.polls++;
	if (n < 0)
		cq_failed(q); /* completions in it may be lost */
	if (n <= 0)
		return 0;
	q->v->counters.completions += (uint64_t)n;
	return n;
}

void cq_arm(struct vcq *q)
{
	acknowledge(q);
	if (ibv_req_notify_cq(q->cq, 0))
		cq_failed(q);
}
