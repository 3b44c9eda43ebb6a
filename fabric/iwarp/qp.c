/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/qp_internal.h"

#include <assert.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/random.h"
#include "fabric/iwarp/fpdu.h"
#include "fabric/iwarp/qp_complete.h"
#include "fabric/iwarp/qp_rx_io.h"
#include "fabric/iwarp/qp_tx.h"

/*
 * Operation
 *
 * This file has the queues and the states. qp_rx.c parses the stream, qp_rx_io.c decides where its
 * octets are read to, qp_tx.c builds the outgoing stream, qp_complete.c completes operations and
 * streams for all of them.
 *
 * 	INIT --start--> OPEN --disconnect--> DRAINING --stop--> DEAD
 * 	                  |---breach by peer--> TERMINATING --stop--^
 * 	                  |---Terminate or end of stream received---^
 *
 * Each posted Send, Write or Read takes a slot:
 * - The operation waits in `sq` in the order posted. At the head of `sq` it is divided into FPDUs.
 * - Then the records of the batch (Send, Write) or `orq` (Read) name the slot until the completion
 *   is queued.
 * - A Read that exceeds the read depth moves to `reads`, which is served before `sq`. Later Sends
 *   and Writes may overtake the Read, which RFC 5040 section 5.5 allows. The Read overtakes nothing
 *   that was posted before it.
 * - The slot is free again when the owner has polled the completion.
 *
 * A completion is a struct qp_event inside the object that completes, so none has to be allocated.
 *
 * The store has the memory that is held only while it is in use: slots of operations and exposures
 * in chunks (table.h), the read-ahead (qp_rx_io.c), the batch (qp_tx.c), and shared Receives.
 */

static bool depths_are_sane(const struct qp_depths *d)
{
	return d->max_recvs <= QP_DEPTH_MAX && d->max_sends <= QP_DEPTH_MAX &&
	       d->max_exposures <= QP_DEPTH_MAX && d->pieces <= FABRIC_MAX_PIECES;
}

/* Number of pieces to store for each Receive; 0: each Receive is one piece. */
static uint32_t pieces_of(const struct qp_depths *d)
{
	return d->pieces > 1 ? d->pieces : 0;
}

size_t qp_idle_bytes(const struct qp_depths *d)
{
	return ((d->max_sends + d->max_exposures) / TABLE_CHUNK + 2) * sizeof(struct table_chunk) +
	       d->max_recvs *
		       (sizeof(struct qp_recv) + pieces_of(d) * sizeof(struct fabric_piece)) +
	       d->ord * sizeof(uint32_t) + d->ird * sizeof(struct qp_response);
}

/* Return: whether all allocations succeeded. */
static bool allocate(struct qp *qp, const struct qp_depths *d, const uint64_t seed[5])
{
	bool ok = table_init(&qp->ops, d->max_sends, &qp->store->ops, sizeof(struct qp_op)) == 0;

	ok &= stag_init(&qp->stags, d->max_exposures, &qp->store->exposures, seed) == 0;
	if (!qp->recvq) {
		qp->recvs = mem_zalloc(d->max_recvs * sizeof(*qp->recvs));
		ok &= qp->recvs != NULL;
	}
	if (pieces_of(d)) {
		qp->pieces = mem_zalloc(d->max_recvs * pieces_of(d) * sizeof(*qp->pieces));
		ok &= qp->pieces != NULL;
	}
	qp->orq = mem_zalloc(d->ord * sizeof(*qp->orq));
	qp->irq = mem_zalloc(d->ird * sizeof(*qp->irq));
	return ok && qp->orq && qp->irq;
}

int qp_init(struct qp *qp, const struct qp_depths *depths, const uint64_t seed[5],
	    struct qp_store *store)
{
	if (!depths_are_sane(depths))
		return ERR_TOOBIG;
	*qp = (struct qp){
		.state = QP_INIT, .depths = *depths, .store = store, .counters = store->counters};
	qp->tx.sq = qp->tx.reads = (struct qp_fifo){QP_NONE, QP_NONE};
	qp->tx.hold = true;
	qp->ev_end = &qp->ev_first;
	qp->sink_state = seed[4];
	qp->recvq = pieces_of(depths) ? NULL : store->recvq;
	if (qp->recvq)
		recvq_promise(qp->recvq, depths->max_recvs);
	if (allocate(qp, depths, seed))
		return 0;
	qp_fini(qp);
	return ERR_NOMEM;
}

/* Gives back shared Receives that will not be delivered: the one being filled, and those with
 * messages not polled. */
static void return_shared(struct qp *qp)
{
	qp_return_receive(qp);
	for (struct qp_event *e = qp->ev_first; e; e = e->next)
		if (e->type == FABRIC_EV_RECV)
			recvq_return(qp->recvq, container_of(e, struct qp_recv, done));
	recvq_release_promise(qp->recvq, qp->depths.max_recvs);
}

/* Gives back the sums of messages in own Receives that were not polled. */
static void drop_sums(struct qp *qp)
{
	for (uint32_t i = 0; qp->recvs && i < qp->depths.max_recvs; i++)
		sums_give(qp->recvs[i].sums);
}

void qp_fini(struct qp *qp)
{
	if (qp->recvq)
		return_shared(qp);
	drop_sums(qp);
	qp_rx_drop(qp);
	qp_tx_drop(qp);
	table_fini(&qp->ops);
	stag_fini(&qp->stags);
	mem_free(qp->recvs);
	mem_free(qp->pieces);
	mem_free(qp->orq);
	mem_free(qp->irq);
	*qp = (struct qp){.state = QP_DEAD};
	qp->tx.sq = qp->tx.reads = (struct qp_fifo){QP_NONE, QP_NONE};
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

/* Frees the object that @e, which was polled, is part of. */
static void event_reported(struct qp *qp, struct qp_event *e)
{
	if (e->type == FABRIC_EV_WITHDRAWN) {
		stag_release(&qp->stags, stag_slot(&qp->stags, e->ref));
	} else if (e->type == FABRIC_EV_PLACED) {
		stag_slot(&qp->stags, e->ref)->reporting = false;
	} else if (e->type != FABRIC_EV_RECV) {
		table_put(&qp->ops, e->ref);
	} else {
		qp->recv_owed--;
		if (qp->recvq)
			recvq_forget(qp->recvq, container_of(e, struct qp_recv, done));
	}
}

static void report_written(const struct exposure *e, struct fabric_event *ev)
{
	ev->handle = e->stag;
	ev->written = fabric_runs_start(&e->written);
}

static void report_placed(struct exposure *e, struct fabric_event *ev)
{
	ev->handle = e->stag;
	fabric_window_report(&e->window, &e->written, ev);
}

/* Moves the sums of the message in @r to @ev. A flushed Receive has no message: its sums are given
 * back. */
static __attribute__((noinline)) void take_sums(struct qp_recv *r, struct fabric_event *ev)
{
	if (ev->status == 0)
		ev->sums = &r->sums->base;
	else
		sums_give(r->sums);
	r->sums = NULL;
}

static inline void take_message(struct qp_recv *r, struct fabric_event *ev)
{
	ev->invalidated = r->done.invalidated;
	if (r->sums)
		take_sums(r, ev);
}

int qp_next_event(struct qp *qp, struct fabric_event *ev)
{
	struct qp_event *e = qp->ev_first;

	if (!e)
		return 0;
	*ev = (struct fabric_event){
		.type = (enum fabric_ev_type)e->type,
		.cookie = e->cookie,
		.status = e->status,
		.len = e->len,
	};
	if (ev->type == FABRIC_EV_RECV)
		take_message(container_of(e, struct qp_recv, done), ev);
	else if (ev->type == FABRIC_EV_WITHDRAWN)
		report_written(stag_slot(&qp->stags, e->ref), ev);
	else if (ev->type == FABRIC_EV_PLACED)
		report_placed(stag_slot(&qp->stags, e->ref), ev);
	qp->ev_first = e->next;
	if (!qp->ev_first)
		qp->ev_end = &qp->ev_first;
	qp->ev_count--;
	event_reported(qp, e);
	return 1;
}

static int check_open(const struct qp *qp)
{
	return qp->state == QP_INIT || qp->state == QP_OPEN ? 0 : ERR_CLOSED;
}

int qp_post_recv(struct qp *qp, void *buf, uint32_t len, void *cookie)
{
	uint32_t at = qp->recv_head + qp->recv_count;

	assert(!qp->recvq);
	if (check_open(qp))
		return ERR_CLOSED;
	if (qp->recv_owed == qp->depths.max_recvs)
		return ERR_AGAIN;
	if (at >= qp->depths.max_recvs)
		at -= qp->depths.max_recvs;
	qp->recvs[at] = (struct qp_recv){.buf = buf, .len = len, .done.cookie = cookie};
	if (qp->pieces)
		qp->pieces[at * qp->depths.pieces] = (struct fabric_piece){buf, len};
	qp->recv_count++;
	qp->recv_owed++;
	return 0;
}

int qp_post_pieces(struct qp *qp, const struct fabric_piece *pieces, unsigned n, void *cookie)
{
	uint64_t bytes = fabric_pieces_bytes(pieces, n);
	uint32_t at = qp->recv_head + qp->recv_count;
	int rc;

	if (n > pieces_of(&qp->depths) || bytes > UINT32_MAX)
		return ERR_TOOBIG;
	rc = qp_post_recv(qp, n ? pieces[0].addr : NULL, (uint32_t)bytes, cookie);
	if (rc)
		return rc;
	if (at >= qp->depths.max_recvs)
		at -= qp->depths.max_recvs;
	if (n)
		memcpy(&qp->pieces[at * qp->depths.pieces], pieces, n * sizeof(pieces[0]));
	return 0;
}

/* Takes a slot for an operation. Return: 0, ERR_CLOSED or ERR_AGAIN. */
static int new_op(struct qp *qp, enum fabric_ev_type type, void *cookie, uint32_t *op)
{
	struct qp_op *o;

	if (check_open(qp))
		return ERR_CLOSED;
	o = table_take_lowest(&qp->ops, op);
	if (!o)
		return ERR_AGAIN;
	o->type = type;
	o->end.cookie = cookie;
	o->nsge = o->at_sge = 0;
	o->sums = NULL;
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
	unsigned kept = 0;
	struct qp_op *o;
	int rc = gather_len(sge, nsge, &len);

	if (rc)
		return rc;
	rc = new_op(qp, type, cookie, op);
	if (rc)
		return rc;
	o = qp_op(qp, *op);
	o->len = len;
	for (unsigned i = 0; i < nsge; i++) {
		o->sge[kept] = sge[i];
		kept += sge[i].len > 0;
	}
	o->nsge = (uint8_t)kept;
	return 0;
}

int qp_send(struct qp *qp, const struct fabric_sge *sge, unsigned nsge, uint32_t inv_handle,
	    void *cookie)
{
	uint32_t op;
	struct qp_op *o;
	int rc = post_gather(qp, FABRIC_EV_SEND, sge, nsge, cookie, &op);

	if (rc)
		return rc;
	o = qp_op(qp, op);
	o->opcode = inv_handle ? RDMAP_SEND_INV : RDMAP_SEND;
	o->stag = inv_handle;
	qp_fifo_push(qp, &qp->tx.sq, op);
	return 0;
}

static uint32_t stag_of(const struct segment *remote)
{
	return remote->handle || remote->length ? remote->handle : RDMAP_STAG_OF_NOTHING;
}

int qp_write(struct qp *qp, const struct fabric_sge *sge, unsigned nsge,
	     const struct segment *remote, void *cookie)
{
	uint32_t op;
	int rc = post_gather(qp, FABRIC_EV_WRITE, sge, nsge, cookie, &op);

	if (rc)
		return rc;
	qp_op(qp, op)->opcode = RDMAP_WRITE;
	qp_op(qp, op)->stag = stag_of(remote);
	qp_op(qp, op)->offset = remote->offset;
	qp_fifo_push(qp, &qp->tx.sq, op);
	return 0;
}

/* The sink STag is not in the table of exposures: only a Read Response that answers this Read may
 * name it. */
static uint32_t sink_stag(struct qp *qp)
{
	uint32_t stag = (uint32_t)(random_next(&qp->sink_state) >> 32);

	return stag ? stag : RDMAP_STAG_OF_NOTHING;
}

int qp_read(struct qp *qp, void *to, const struct segment *remote, void *cookie)
{
	uint32_t op;
	int rc;

	if (remote->length > QP_MESSAGE_MAX)
		return ERR_TOOBIG;
	if (qp->state == QP_OPEN && !qp->ord) /* without read depth the Read would wait for ever */
		return ERR_PROTO;
	rc = new_op(qp, FABRIC_EV_READ, cookie, &op);
	if (rc)
		return rc;
	qp_op(qp, op)->opcode = RDMAP_READ_REQUEST;
	qp_op(qp, op)->to = to;
	qp_op(qp, op)->len = remote->length;
	qp_op(qp, op)->stag = stag_of(remote);
	qp_op(qp, op)->offset = remote->offset;
	qp_op(qp, op)->sink_stag = sink_stag(qp);
	qp->reads++;
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

int qp_stream(struct qp *qp, const struct fabric_piece *window, uint32_t len, void *cookie,
	      struct segment *seg)
{
	int rc = qp_expose(qp, NULL, len, FABRIC_REMOTE_WRITE, seg);
	struct exposure *e = rc ? NULL : stag_owned(&qp->stags, seg->handle);

	if (!e)
		return rc;
	fabric_window_init(&e->window, window->addr, window->len, len);
	e->placed.cookie = cookie;
	return 0;
}

void qp_sum_exposure(struct qp *qp, uint32_t handle, struct sums *sums, uint32_t at)
{
	struct exposure *e = stag_owned(&qp->stags, handle);

	if (!e)
		return;
	assert(at == 0 || !(e->access & FABRIC_REMOTE_WRITE));
	e->sums = sums;
	e->sums_at = at;
	if (e->access & FABRIC_REMOTE_WRITE)
		sums_restart(sums, e->window.bytes > 0);
}

void qp_sum_posted(struct qp *qp, unsigned piece, struct sums *sums, uint32_t at)
{
	struct qp_op *o = qp_op(qp, qp->tx.sq.tail);

	assert(piece == 0 || piece < o->nsge);
	o->sums = sums;
	o->sums_at = at;
	o->sums_sge = (uint8_t)piece;
}

void qp_went_on(struct qp *qp, uint32_t handle, uint32_t len)
{
	struct exposure *e = stag_owned(&qp->stags, handle);

	if (e)
		fabric_window_back(&e->window, len);
}

/* Stops a Write that is being placed in @e. Its octets do not count, because their CRC was not
 * checked; the slot may belong to another exposure by then. */
static void forget_target(struct qp *qp, const struct exposure *e)
{
	if (qp->rx.target != e)
		return;
	if (qp->rx.state == QP_RX_PLACE && qp->state == QP_OPEN)
		qp_fail(qp, ERR_ACCESS, TERM_DDP_INVALID_STAG);
	qp->rx.target = NULL;
	qp->rx.sums = NULL;
}

/* Withdraws @e after the stream has ended. Drops output that points into the memory of @e, because
 * the caller may use this memory at once. */
static void withdraw_late(struct qp *qp, struct exposure *e)
{
	uint32_t refs = e->tx_refs;

	e->tx_refs = 0;
	stag_release(&qp->stags, e);
	if (refs)
		qp_stop(qp, ERR_CLOSED, "memory was withdrawn while its octets went out");
}

int qp_withdraw(struct qp *qp, uint32_t handle, void *cookie, uint32_t *written)
{
	struct exposure *e = stag_owned(&qp->stags, handle);
	int closed = check_open(qp);

	*written = e ? fabric_runs_start(&e->written) : 0;
	if (!e)
		return closed ? ERR_CLOSED : 1;
	e->owned = false;
	qp_cancel_events(qp, e);
	if (e->access)
		qp_revoke(qp, e);
	forget_target(qp, e);
	if (closed) {
		withdraw_late(qp, e);
		return ERR_CLOSED;
	}
	if (e->tx_refs) { /* completes when the kernel has taken the last of its octets */
		e->end.cookie = cookie;
		e->leaving = true;
		return 0;
	}
	stag_release(&qp->stags, e);
	return 1;
}

void qp_disconnect(struct qp *qp)
{
	if (qp->state != QP_OPEN)
		return;
	qp->state = QP_DRAINING;
	qp_return_receive(qp);
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

	for (; tx->fpdu_at < tx->fpdu_n; tx->fpdu_at++) {
		const struct qp_tx_fpdu *f = &tx->batch->fpdus[tx->fpdu_at];

		if (f->kind == QP_TX_OP && f->last)
			qp_complete_op(qp, f->ref, ERR_FLUSHED);
	}
	qp_tx_drop(qp);
}

static void flush_exposures(struct qp *qp)
{
	for (uint32_t i = 0; i < qp->stags.slots.max; i++) {
		struct exposure *e = stag_slot(&qp->stags, i);

		if (e && e->access)
			e->tx_refs = 0, qp_revoke(qp, e);
		else if (e && e->leaving && e->tx_refs)
			e->tx_refs = 0, qp_complete_withdrawn(qp, e, ERR_FLUSHED);
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
		qp_complete(qp, &qp->recvs[qp->recv_head].done, FABRIC_EV_RECV, ERR_FLUSHED, 0);
		qp->recv_head = qp->recv_head + 1 == qp->depths.max_recvs ? 0 : qp->recv_head + 1;
	}
	qp_return_receive(qp);
	qp_rx_drop(qp);
	flush_exposures(qp);
	qp->irq_count = 0;
}
