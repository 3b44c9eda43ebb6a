/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion of operations, Receives and exposures, and of a stream whose peer broke the
 * protocol. */
#include "base/list.h"
#include "fabric/iwarp/qp_internal.h"
#include "fabric/iwarp/qp_complete.h"

void qp_complete(struct qp *qp, struct qp_event *e, enum fabric_ev_type type, int status,
		 uint32_t len)
{
	e->next = NULL;
	e->type = (uint8_t)type;
	e->status = status;
	e->len = len;
	*qp->ev_end = e;
	qp->ev_end = &e->next;
	qp->ev_count++;
}

uint32_t qp_recvs_held(const struct qp *qp)
{
	return qp->recvs_held ? *qp->recvs_held + qp->recv_owed : 0;
}

bool qp_may_hold(const struct qp *qp)
{
	uint64_t left = recvq_left(qp->recvq);
	uint32_t most = qp->recvq->most, keeps = qp_recvs_held(qp);

	return (fabric_may_hold(keeps, left, most) &&
		(keeps == 0 || left > recvq_spare(qp->recvq))) ||
	       (qp->reads && left > most / FABRIC_RECV_READER_DIV) ||
	       (qp->has_read_turn && left > most / FABRIC_RECV_RESERVE_DIV);
}

struct qp_recv *qp_receive(struct qp *qp)
{
	if (!qp->recvq)
		return qp->recv_count ? &qp->recvs[qp->recv_head] : NULL;
	if (!qp->shared && qp->recv_owed < qp->depths.max_recvs && qp_may_hold(qp))
		qp->shared = recvq_take(qp->recvq);
	return qp->shared;
}

void qp_return_receive(struct qp *qp)
{
	if (!qp->shared)
		return;
	if (qp->rx.sums == qp->shared->sums)
		qp->rx.sums = NULL;
	recvq_return(qp->recvq, qp->shared);
	qp->shared = NULL;
}

void qp_complete_recv(struct qp *qp, uint32_t len, uint32_t invalidated)
{
	struct qp_recv *r = qp->recvq ? qp->shared : &qp->recvs[qp->recv_head];

	r->done.invalidated = invalidated;
	qp_complete(qp, &r->done, FABRIC_EV_RECV, 0, len);
	if (qp->shared) {
		qp->shared = NULL;
		qp->recv_owed++;
		return;
	}
	qp->recv_head = qp->recv_head + 1 == qp->depths.max_recvs ? 0 : qp->recv_head + 1;
	qp->recv_count--;
}

void qp_complete_withdrawn(struct qp *qp, struct exposure *e, int status)
{
	e->end.ref = e->place;
	qp_complete(qp, &e->end, FABRIC_EV_WITHDRAWN, status, 0);
}

/* Searches the queue. That is seldom needed: usually PLACED was polled before the withdrawal,
 * because a reply comes behind its data. */
void qp_cancel_events(struct qp *qp, struct exposure *e)
{
	struct qp_event **p = &qp->ev_first;

	if (!e->reporting)
		return;
	while (*p != &e->placed)
		p = &(*p)->next;
	*p = e->placed.next;
	if (!*p)
		qp->ev_end = p;
	qp->ev_count--;
	e->reporting = false;
}

void qp_complete_op(struct qp *qp, uint32_t op, int status)
{
	struct qp_op *o = qp_op(qp, op);

	qp->reads -= o->type == FABRIC_EV_READ;
	qp->reads_done += o->type == FABRIC_EV_READ;
	if (o->type == FABRIC_EV_READ && qp_is_bulk(o->len))
		qp->rx.bulk_reads--;
	o->end.ref = op;
	qp_complete(qp, &o->end, o->type, status, status ? 0 : o->len);
}

void qp_revoke(struct qp *qp, struct exposure *e)
{
	if ((e->access & FABRIC_REMOTE_WRITE) && qp_is_bulk(e->len))
		qp->rx.bulk_writes--;
	stag_revoke(&qp->stags, e);
}

void qp_fail(struct qp *qp, int err, struct ddp_term term)
{
	if (qp->state != QP_OPEN && qp->state != QP_DRAINING)
		return;
	qp->state = QP_TERMINATING;
	qp_return_receive(qp);
	qp->status = err;
	qp->why = ddp_term_words(term);
	qp->term = term;
}
