/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/qp_internal.h"

#include <assert.h>

#include "base/mem.h"
#include "fabric/iwarp/fpdu.h"

/*
 * Operation
 *
 * This file holds the queues and the states; qp_rx.c takes the stream apart,
 * qp_rx_io.c says where its octets are read to, qp_tx.c puts it together.
 *
 *	INIT --start--> OPEN --disconnect--> DRAINING --stop--> DEAD
 *	                  |---breach by peer--> TERMINATING --stop--^
 *	                  |---Terminate or end of stream received---^
 *
 * An op (Send, Write, Read) is a slot taken from `free` when posted. It waits in
 * `sq` in the order posted, is cut into FPDUs at the head of `sq`, and is then
 * named by the records of the batch (Send, Write) or by `orq` (Read) until its
 * completion is queued. A Read that finds no read depth steps aside into
 * `reads`, which goes before `sq`: later Sends and Writes may overtake it, which
 * RFC 5040 section 5.5 allows, and it never overtakes what was posted before it.
 *
 * The slot is free again when the owner pulls the event, so the event ring,
 * sized as the sum of the queues, cannot overflow.
 */

static bool depths_are_sane(const struct qp_depths *d)
{
	return d->max_recvs <= QP_DEPTH_MAX && d->max_sends <= QP_DEPTH_MAX &&
	       d->max_exposures <= QP_DEPTH_MAX;
}

int qp_init(struct qp *qp, const struct qp_depths *depths, const uint64_t seed[5],
	    struct iwarp_counters *counters)
{
	uint32_t i;

	if (!depths_are_sane(depths))
		return ERR_TOOBIG;
	*qp = (struct qp){.state = QP_INIT, .depths = *depths, .counters = counters};
	qp->tx.sq = qp->tx.reads = qp->tx.free = (struct qp_fifo){QP_NONE, QP_NONE};
	qp->tx.hold = true;
	qp->ev_max = depths->max_recvs + depths->max_sends + depths->max_exposures;
	qp->sink_state = seed[4];
	qp->recvs = mem_zalloc(depths->max_recvs * sizeof(*qp->recvs));
	qp->ops = mem_zalloc(depths->max_sends * sizeof(*qp->ops));
	qp->orq = mem_zalloc(depths->ord * sizeof(*qp->orq));
	qp->irq = mem_zalloc(depths->ird * sizeof(*qp->irq));
	qp->events = mem_zalloc(qp->ev_max * sizeof(*qp->events));
	qp->rx.stage = mem_zalloc(QP_STAGE_BYTES);
	if (!qp->recvs || !qp->ops || !qp->orq || !qp->irq || !qp->events || !qp->rx.stage ||
	    stag_init(&qp->stags, depths->max_exposures, seed) != 0) {
		qp_fini(qp);
		return ERR_NOMEM;
	}
	for (i = 0; i < depths->max_sends; i++)
		qp_fifo_push(qp, &qp->tx.free, i);
	return 0;
}

void qp_fini(struct qp *qp)
{
	mem_free(qp->recvs);
	mem_free(qp->ops);
	mem_free(qp->orq);
	mem_free(qp->irq);
	mem_free(qp->events);
	mem_free(qp->rx.stage);
	stag_fini(&qp->stags);
	*qp = (struct qp){.state = QP_DEAD};
	qp->tx.sq = qp->tx.reads = qp->tx.free = (struct qp_fifo){QP_NONE, QP_NONE};
}

void qp_start(struct qp *qp, const struct qp_stream *s)
{
	assert(qp->state == QP_INIT);
	qp->state = QP_OPEN;
	qp->crc = s->crc;
	qp->rtr = s->rtr;
	qp->ord = s->ord < qp->depths.ord ? s->ord : qp->depths.ord;
	qp->hold_for_first = !s->initiator;
	qp->tx.hold = s->initiator ? s->hold : true;
	qp->tx.max_tagged = s->fpdu_max - FPDU_OVERHEAD - DDP_TAGGED_BYTES;
	qp->tx.max_untagged = s->fpdu_max - FPDU_OVERHEAD - DDP_UNTAGGED_BYTES;
	qp->tx.send_msn = qp->tx.read_msn = 1;
	qp->rx.send_msn = qp->rx.read_msn = 1;
	qp->rx.ahead_max = 4;
}

void qp_release(struct qp *qp)
{
	qp->tx.hold = false;
}

void qp_fifo_push(struct qp *qp, struct qp_fifo *fifo, uint32_t op)
{
	qp->ops[op].next = QP_NONE;
	if (fifo->head == QP_NONE)
		fifo->head = op;
	else
		qp->ops[fifo->tail].next = op;
	fifo->tail = op;
}

uint32_t qp_fifo_pop(struct qp *qp, struct qp_fifo *fifo)
{
	uint32_t op = fifo->head;

	if (op != QP_NONE)
		fifo->head = qp->ops[op].next;
	return op;
}

void qp_complete(struct qp *qp, enum fabric_ev_type type, void *cookie, int status, uint32_t len,
		 uint32_t extra)
{
	uint32_t at = qp->ev_head + qp->ev_count;

	assert(qp->ev_count < qp->ev_max);
	qp->events[at >= qp->ev_max ? at - qp->ev_max : at] = (struct qp_event){
		.type = (uint8_t)type,
		.status = status,
		.len = len,
		.extra = extra,
		.cookie = cookie,
	};
	qp->ev_count++;
}

void qp_complete_recv(struct qp *qp, uint32_t len, uint32_t invalidated, uint32_t written)
{
	uint32_t at = qp->ev_head + qp->ev_count;

	qp_complete(qp, FABRIC_EV_RECV, qp->recvs[qp->recv_head].cookie, 0, len, invalidated);
	qp->events[at >= qp->ev_max ? at - qp->ev_max : at].written = written;
}

uint32_t qp_written(const struct qp *qp, uint32_t handle)
{
	const struct exposure *e = stag_find((struct stag_table *)&qp->stags, handle);

	return e ? e->written : FABRIC_WRITTEN_UNKNOWN;
}

void qp_complete_op(struct qp *qp, uint32_t op, int status)
{
	struct qp_op *o = &qp->ops[op];

	if (o->type == FABRIC_EV_READ && qp_is_bulk(o->len))
		qp->rx.bulk_reads--;
	qp_complete(qp, o->type, o->cookie, status, status ? 0 : o->len, 0);
	qp_fifo_push(qp, &qp->tx.free, op);
}

int qp_next_event(struct qp *qp, struct fabric_event *ev)
{
	const struct qp_event *e;

	if (!qp->ev_count)
		return 0;
	e = &qp->events[qp->ev_head];
	*ev = (struct fabric_event){
		.type = (enum fabric_ev_type)e->type,
		.cookie = e->cookie,
		.status = e->status,
		.len = e->len,
	};
	if (ev->type == FABRIC_EV_RECV) {
		ev->invalidated = e->extra;
		ev->invalidated_written = e->written;
		qp->recv_owed--;
	} else if (ev->type == FABRIC_EV_WITHDRAWN) {
		stag_release(&qp->stags, &qp->stags.slots[e->extra]);
	} else {
		qp->ops_owed--;
	}
	qp->ev_head = qp->ev_head + 1 == qp->ev_max ? 0 : qp->ev_head + 1;
	qp->ev_count--;
	return 1;
}

static int check_open(const struct qp *qp)
{
	return qp->state == QP_INIT || qp->state == QP_OPEN ? 0 : ERR_CLOSED;
}

int qp_post_recv(struct qp *qp, void *buf, uint32_t len, void *cookie)
{
	uint32_t at = qp->recv_head + qp->recv_count;

	if (check_open(qp))
		return ERR_CLOSED;
	if (qp->recv_owed == qp->depths.max_recvs)
		return ERR_AGAIN;
	if (at >= qp->depths.max_recvs)
		at -= qp->depths.max_recvs;
	qp->recvs[at] = (struct qp_recv){buf, len, cookie};
	qp->recv_count++;
	qp->recv_owed++;
	return 0;
}

/* Takes a slot for an op, or tells why not. */
static int new_op(struct qp *qp, enum fabric_ev_type type, void *cookie, uint32_t *op)
{
	struct qp_op *o;

	if (check_open(qp))
		return ERR_CLOSED;
	if (qp->ops_owed == qp->depths.max_sends)
		return ERR_AGAIN;
	*op = qp_fifo_pop(qp, &qp->tx.free);
	assert(*op != QP_NONE);
	qp->ops_owed++;
	o = &qp->ops[*op];
	o->type = type;
	o->cookie = cookie;
	o->nsge = o->at_sge = 0;
	o->at_off = o->len = o->done = 0;
	return 0;
}

static int gather_len(const struct fabric_sge *sge, unsigned nsge, uint32_t *len)
{
	uint64_t sum = 0;

	if (nsge > FABRIC_MAX_SGE)
		return ERR_TOOBIG;
	for (unsigned i = 0; i < nsge; i++)
		sum += sge[i].len;
	if (sum > QP_MESSAGE_MAX)
		return ERR_TOOBIG;
	*len = (uint32_t)sum;
	return 0;
}

static int post_gather(struct qp *qp, enum fabric_ev_type type, const struct fabric_sge *sge,
		       unsigned nsge, void *cookie, uint32_t *op)
{
	uint32_t len;
	struct qp_op *o;
	int rc = gather_len(sge, nsge, &len);

	if (rc)
		return rc;
	rc = new_op(qp, type, cookie, op);
	if (rc)
		return rc;
	o = &qp->ops[*op];
	o->len = len;
	for (unsigned i = 0; i < nsge; i++)
		if (sge[i].len)
			o->sge[o->nsge++] = sge[i];
	return 0;
}

int qp_send(struct qp *qp, const struct fabric_sge *sge, unsigned nsge, uint32_t inv_handle,
	    void *cookie)
{
	uint32_t op;
	int rc = post_gather(qp, FABRIC_EV_SEND, sge, nsge, cookie, &op);

	if (rc)
		return rc;
	qp->ops[op].opcode = inv_handle ? RDMAP_SEND_INV : RDMAP_SEND;
	qp->ops[op].stag = inv_handle;
	qp_fifo_push(qp, &qp->tx.sq, op);
	return 0;
}

int qp_write(struct qp *qp, const struct fabric_sge *sge, unsigned nsge,
	     const struct segment *remote, void *cookie)
{
	uint32_t op;
	int rc = post_gather(qp, FABRIC_EV_WRITE, sge, nsge, cookie, &op);

	if (rc)
		return rc;
	qp->ops[op].opcode = RDMAP_WRITE;
	qp->ops[op].stag = remote->handle;
	qp->ops[op].offset = remote->offset;
	qp_fifo_push(qp, &qp->tx.sq, op);
	return 0;
}

/* The sink STag is never exposed: only a Read Response that answers the Read may name it. */
static uint32_t sink_stag(struct qp *qp)
{
	uint64_t z = (qp->sink_state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	return (uint32_t)(z >> 32);
}

int qp_read(struct qp *qp, void *to, const struct segment *remote, void *cookie)
{
	uint32_t op;
	int rc;

	if (remote->length > QP_MESSAGE_MAX)
		return ERR_TOOBIG;
	if (qp->state == QP_OPEN && !qp->ord) /* the peer serves none: it would wait for ever */
		return ERR_TOOBIG;
	rc = new_op(qp, FABRIC_EV_READ, cookie, &op);
	if (rc)
		return rc;
	qp->ops[op].opcode = RDMAP_READ_REQUEST;
	qp->ops[op].to = to;
	qp->ops[op].len = remote->length;
	qp->ops[op].stag = remote->handle;
	qp->ops[op].offset = remote->offset;
	qp->ops[op].sink_stag = sink_stag(qp);
	if (qp_is_bulk(remote->length))
		qp->rx.bulk_reads++;
	qp_fifo_push(qp, &qp->tx.sq, op);
	return 0;
}

int qp_expose(struct qp *qp, void *addr, uint32_t len, unsigned access, struct segment *seg)
{
	struct exposure *e;

	if (check_open(qp))
		return ERR_CLOSED;
	e = stag_add(&qp->stags, addr, len, access);
	if (!e)
		return ERR_AGAIN;
	if ((access & FABRIC_REMOTE_WRITE) && qp_is_bulk(len))
		qp->rx.bulk_writes++;
	*seg = (struct segment){.handle = e->stag, .length = len, .offset = 0};
	return 0;
}

void qp_revoke(struct qp *qp, struct exposure *e)
{
	if ((e->access & FABRIC_REMOTE_WRITE) && qp_is_bulk(e->len))
		qp->rx.bulk_writes--;
	stag_revoke(&qp->stags, e);
}

int qp_withdraw(struct qp *qp, uint32_t handle, void *cookie)
{
	struct exposure *e = stag_find(&qp->stags, handle);
	uint32_t refs;

	if (e)
		qp_revoke(qp, e);
	if (check_open(qp)) {
		refs = e ? e->tx_refs : 0;
		if (e)
			e->tx_refs = 0, stag_release(&qp->stags, e);
		/* The caller may use the memory at once: what still points into it must not go out. */
		if (refs)
			qp_stop(qp, ERR_CLOSED, "memory was withdrawn while its octets went out");
		return ERR_CLOSED;
	}
	if (!e)
		return 1;
	if (qp->rx.state == QP_RX_PLACE && qp->rx.target == e)
		qp_fail(qp, ERR_ACCESS, TERM_DDP_INVALID_STAG);
	if (e->tx_refs) { /* told when the kernel has taken the last octet of it */
		e->cookie = cookie;
		return 0;
	}
	stag_release(&qp->stags, e);
	return 1;
}

void qp_fail(struct qp *qp, int err, struct ddp_term term)
{
	if (qp->state != QP_OPEN && qp->state != QP_DRAINING)
		return;
	qp->state = QP_TERMINATING;
	qp->status = err;
	qp->why = ddp_term_words(term);
	qp->term = term;
}

void qp_disconnect(struct qp *qp)
{
	if (qp->state == QP_OPEN)
		qp->state = QP_DRAINING;
}

static void flush_fifo(struct qp *qp, struct qp_fifo *fifo)
{
	uint32_t op;

	while ((op = qp_fifo_pop(qp, fifo)) != QP_NONE)
		qp_complete_op(qp, op, ERR_FLUSHED);
}

static void flush_batch(struct qp *qp)
{
	struct qp_tx *tx = &qp->tx;

	for (; tx->fpdu_at < tx->fpdu_n; tx->fpdu_at++)
		if (tx->fpdus[tx->fpdu_at].kind == QP_TX_OP && tx->fpdus[tx->fpdu_at].last)
			qp_complete_op(qp, tx->fpdus[tx->fpdu_at].ref, ERR_FLUSHED);
	tx->iov_at = tx->iov_n;
}

static void flush_exposures(struct qp *qp)
{
	for (uint32_t i = 0; i < qp->stags.max; i++) {
		struct exposure *e = &qp->stags.slots[i];

		if (e->access)
			qp_revoke(qp, e), stag_release(&qp->stags, e);
		else if (e->leaving && e->tx_refs)
			qp_complete(qp, FABRIC_EV_WITHDRAWN, e->cookie, ERR_FLUSHED, 0, i);
		e->tx_refs = 0;
	}
}

void qp_stop(struct qp *qp, int status, const char *why)
{
	if (!qp->status && !qp->why) {
		qp->status = status;
		qp->why = why;
	}
	qp->state = QP_DEAD;
	flush_batch(qp);
	for (; qp->orq_count; qp->orq_count--) {
		qp_complete_op(qp, qp->orq[qp->orq_head], ERR_FLUSHED);
		qp->orq_head = qp->orq_head + 1 == qp->depths.ord ? 0 : qp->orq_head + 1;
	}
	flush_fifo(qp, &qp->tx.reads);
	flush_fifo(qp, &qp->tx.sq);
	for (; qp->recv_count; qp->recv_count--) {
		struct qp_recv *r = &qp->recvs[qp->recv_head];

		qp_complete(qp, FABRIC_EV_RECV, r->cookie, ERR_FLUSHED, 0, 0);
		qp->recv_head = qp->recv_head + 1 == qp->depths.max_recvs ? 0 : qp->recv_head + 1;
	}
	flush_exposures(qp);
	qp->irq_count = 0;
}
