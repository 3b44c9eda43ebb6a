/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_QP_INTERNAL_H
#define FABRIC_IWARP_QP_INTERNAL_H

#include "fabric/iwarp/qp.h"

/** Shared by the qp*.c only. Each file uses only those before it: qp_complete.c, qp_tx.c and
 * qp_rx.c, qp_rx_io.c, qp.c. */

#define QP_NONE UINT32_MAX

/** qp_fail - the peer broke the protocol: a Terminate with @term is the last thing sent. */
void qp_fail(struct qp *qp, int err, struct ddp_term term);

/** qp_complete - queue the event @e; its .cookie and the fields that depend on the type are set. */
void qp_complete(struct qp *qp, struct qp_event *e, enum fabric_ev_type type, int status,
		 uint32_t len);

/** qp_receive - the Receive that the message under way goes into: the first one posted, or a
 * shared one. NULL: there is none. */
struct qp_recv *qp_receive(struct qp *qp);

/** qp_return_receive - no more octets come: gives back the shared Receive of a message that is
 * not complete. */
void qp_return_receive(struct qp *qp);

/** qp_rx_next_piece - moves dst to the next piece of the Receive; call only if more payload
 * follows. */
static inline void qp_rx_next_piece(struct qp_rx *rx)
{
	do
		rx->piece++;
	while (!rx->piece->len);
	rx->dst = rx->piece->addr;
	rx->room = rx->piece->len;
}

/** qp_complete_recv - the current Receive holds a whole message of @len octets. */
void qp_complete_recv(struct qp *qp, uint32_t len, uint32_t invalidated);

/** qp_complete_withdrawn - the withdrawal of @e is complete: no operation reaches its memory any
 * more. */
void qp_complete_withdrawn(struct qp *qp, struct exposure *e, int status);

/** qp_spill_bytes - octets of heap for input of @qp that was read ahead and set aside. */
size_t qp_spill_bytes(const struct qp *qp);

/** qp_rx_waits - the segment at the start of the stage cannot be taken yet. */
static inline bool qp_rx_waits(const struct qp_rx *rx)
{
	return rx->starved || rx->full;
}

/** qp_cancel_events - @e is withdrawn: removes its PLACED event from the queue. */
void qp_cancel_events(struct qp *qp, struct exposure *e);

/** qp_complete_op - qp_complete() for the operation @op. */
void qp_complete_op(struct qp *qp, uint32_t op, int status);

static inline void qp_fifo_push(struct qp *qp, struct qp_fifo *fifo, uint32_t op)
{
	qp_op(qp, op)->next = QP_NONE;
	if (fifo->head == QP_NONE)
		fifo->head = op;
	else
		qp_op(qp, fifo->tail)->next = op;
	fifo->tail = op;
}

static inline uint32_t qp_fifo_pop(struct qp *qp, struct qp_fifo *fifo)
{
	uint32_t op = fifo->head;

	if (op != QP_NONE)
		fifo->head = qp_op(qp, op)->next;
	return op;
}

static inline bool qp_fifo_is_empty(const struct qp_fifo *fifo)
{
	return fifo->head == QP_NONE;
}

/** qp_revoke - end an exposure: the peer can no longer reach it. Its owner has still to
 * withdraw it. */
void qp_revoke(struct qp *qp, struct exposure *e);

static inline bool qp_is_bulk(uint32_t len)
{
	return len >= QP_BULK_BYTES;
}

static inline const uint8_t *qp_staged(const struct qp *qp)
{
	return qp->rx.stage + qp->rx.head;
}

static inline uint32_t qp_staged_bytes(const struct qp *qp)
{
	return qp->rx.tail - qp->rx.head;
}

/** qp_rx_drop - discards input that was read and not processed. */
void qp_rx_drop(struct qp *qp);

/** qp_tx_drop - discards the batch. */
void qp_tx_drop(struct qp *qp);

/** qp_rx_steps - process the input in the stage as far as possible. */
void qp_rx_steps(struct qp *qp);

#endif
