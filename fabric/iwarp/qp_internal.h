/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_QP_INTERNAL_H
#define FABRIC_IWARP_QP_INTERNAL_H

#include "fabric/iwarp/qp.h"

/** qp_internal - for the qp*.c only. Each of them uses only those before it: qp_complete.c, qp_tx.c
 * and qp_rx.c, qp_rx_io.c, qp.c. */

#define QP_NONE UINT32_MAX

/** qp_rx_next_piece - moves .dst to the next piece of the Receive that is not empty. Call it only
 * if more payload follows. */
static inline void qp_rx_next_piece(struct qp_rx *rx)
{
	do
		rx->piece++;
	while (!rx->piece->len);
	rx->dst = rx->piece->addr;
	rx->room = rx->piece->len;
}

/** qp_rx_waits - the segment at the start of the stage cannot be taken yet. */
static inline bool qp_rx_waits(const struct qp_rx *rx)
{
	return rx->starved || rx->sink_blocked;
}

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

/**
 * qp_run - the least distance, in octets, of two places at which this code's sender interrupts a
 * Read response with other messages
 * @segment: octets of each segment of the response
 *
 * The places are before the first segment at or beyond each multiple of the returned number.
 */
static inline uint32_t qp_run(uint32_t segment)
{
	return segment < QP_RUN_BYTES / QP_AHEAD ? segment * QP_AHEAD : QP_RUN_BYTES;
}

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

#endif
