/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/qp_internal.h"

#include <string.h>

#include "base/min.h"
#include "fabric/iwarp/fpdu.h"
#include "fabric/iwarp/qp_complete.h"
#include "fabric/iwarp/qp_rx.h"
#include "fabric/iwarp/wire.h"

/*
 * Operation
 *
 * This file parses the stream; qp_rx_io.c decides where the stream's octets are read to. The stage
 * is a read-ahead buffer.
 * - An FPDU that is small and complete in the stage is processed there, after its CRC was checked.
 *   One system call reads many such FPDUs.
 * - The payload of any other FPDU is placed as it arrives. The part in the stage is copied, the
 *   rest is read straight to its place. The CRC is computed piece by piece while octets are in the
 *   cache.
 *
 * 	HEAD --whole FPDU in the stage--> HEAD
 * 	HEAD --header in the stage, checked--> PLACE --payload all there--> TAIL --CRC--> HEAD
 *
 * A Send that finds no shared Receive stays in the stage. A Write to a stream without room stays
 * there, too. When there may be a Receive, or room, qp_rx_resume() tries again. Until then nothing
 * is read.
 *
 * All fields of a header are checked before the first octet is placed. The CRC of a placed segment
 * is checked afterwards, as with any adapter that places directly. If the CRC is wrong, the stream
 * ends, and no completion reports the octets.
 */

/* Saves the header of the segment at fault for the Terminate message. */
static void fail_segment(struct qp *qp, int err, struct ddp_term term)
{
	uint32_t have = qp_staged_bytes(qp);

	have = have > FPDU_LEN_BYTES ? have - FPDU_LEN_BYTES : 0;
	if (have > qp->rx.ulpdu_len)
		have = qp->rx.ulpdu_len;
	if (have > sizeof(qp->term_about))
		have = sizeof(qp->term_about);
	memcpy(qp->term_about, qp_staged(qp) + FPDU_LEN_BYTES, have);
	qp->term_have = have;
	qp->term_ulpdu_len = qp->rx.ulpdu_len;
	qp_fail(qp, err, term);
}

/* Sets .dst to the place of the segment in @r, which has room for the segment. */
static void find_piece(struct qp *qp, const struct qp_recv *r)
{
	struct qp_rx *rx = &qp->rx;
	uint32_t at = rx->send_done;

	if (!qp->pieces) {
		rx->dst = r->buf + at;
		return;
	}
	rx->piece = &qp->pieces[(size_t)(r - qp->recvs) * qp->depths.pieces];
	while (at >= rx->piece->len)
		at -= (rx->piece++)->len;
	rx->dst = (uint8_t *)rx->piece->addr + at;
	rx->room = rx->piece->len - at;
}

/* Records sums of the payload, of which no octet is placed yet: it begins at octet @at of @sums. */
static void keep_sums(struct qp *qp, struct sums *sums, uint32_t at)
{
	if (!sums || !qp->crc || !sums_begin(sums, at))
		return;
	qp->rx.sums = sums;
	qp->rx.sums_at = at;
}

/* A part of a message begins. Sums go with the message, unless it may go on as a short Send, which
 * is copied. */
static __attribute__((noinline)) void sum_message(struct qp *qp, struct qp_recv *r)
{
	const struct qp_rx *rx = &qp->rx;

	if (!qp->crc || qp->pieces)
		return;
	if (!rx->send_done && !r->sums) /* its first segments may be empty */
		r->sums = sums_of_message(&qp->store->sums, qp->host,
					  rx->h.last ? rx->payload_len : r->len, rx->payload_len);
	keep_sums(qp, r->sums, rx->send_done);
}

/* Finds the place of a Send's segment (RFC 5041 section 5.3 and 7.1, RFC 5040 section 5.3). */
static inline void begin_send(struct qp *qp)
{
	struct qp_rx *rx = &qp->rx;
	const struct ddp_header *h = &rx->h;
	struct qp_recv *r = NULL;

	rx->swallow = false;
	if (h->msn != rx->send_msn) {
		fail_segment(qp, ERR_PROTO, TERM_DDP_MSN);
	} else if (!qp->first_done && qp->rtr == MPA_RTR_SEND && !rx->payload_len && h->last) {
		/* RFC 6581 section 6.1: part of the set-up, not a message for the user */
		rx->swallow = true;
	} else if (h->offset != rx->send_done) {
		fail_segment(qp, ERR_PROTO, TERM_DDP_MO);
	} else if (!(r = qp_receive(qp))) {
		rx->starved = qp->recvq && qp->recv_owed < qp->depths.max_recvs;
		if (!rx->starved)
			fail_segment(qp, ERR_PROTO, TERM_DDP_NO_BUFFER);
	} else if (rx->send_done && h->opcode != rx->send_opcode) {
		fail_segment(qp, ERR_PROTO, TERM_RDMA_OPCODE);
	} else if (rx->payload_len > r->len - rx->send_done) {
		fail_segment(qp, ERR_TOOBIG, TERM_DDP_TOO_LONG);
	} else {
		rx->send_opcode = h->opcode;
		if (rx->payload_len)
			find_piece(qp, r);
		if (rx->payload_len > QP_TX_SHORT || !h->last || r->sums)
			sum_message(qp, r);
	}
}

static void begin_write(struct qp *qp)
{
	struct qp_rx *rx = &qp->rx;
	struct exposure *e;
	struct ddp_term term;

	if (!rx->payload_len) /* RFC 5040 section 5.1: a zero-length Write's STag is not checked */
		return;
	if (stag_check(&qp->stags, rx->h.stag, rx->h.offset, rx->payload_len, FABRIC_REMOTE_WRITE,
		       &e, &term)) {
		fail_segment(qp, ERR_ACCESS, term);
		return;
	}
	rx->dst = e->window.bytes
			  ? fabric_window_place(&e->window, (uint32_t)rx->h.offset, rx->payload_len)
			  : e->addr + rx->h.offset;
	rx->sink_blocked = !rx->dst;
	if (rx->sink_blocked)
		return;
	rx->target = e;
	keep_sums(qp, e->sums, (uint32_t)rx->h.offset);
	if (!rx->h.last || qp_is_bulk(rx->payload_len))
		rx->small = 0;
}

static void begin_response(struct qp *qp)
{
	struct qp_rx *rx = &qp->rx;
	const struct qp_op *o;

	if (!qp->orq_count) {
		fail_segment(qp, ERR_PROTO, TERM_RDMA_OPCODE);
		return;
	}
	o = qp_op(qp, qp->orq[qp->orq_head]);
	if (rx->payload_len && rx->h.stag != o->sink_stag)
		fail_segment(qp, ERR_ACCESS, TERM_DDP_INVALID_STAG);
	else if (rx->payload_len &&
		 (rx->h.offset != rx->read_done || rx->payload_len > o->len - rx->read_done))
		fail_segment(qp, ERR_ACCESS, TERM_DDP_BOUNDS);
	else if (rx->h.last != (rx->read_done + rx->payload_len == o->len))
		fail_segment(qp, ERR_PROTO, TERM_RDMA_STREAM);
	else if (rx->payload_len) {
		rx->dst = o->to + rx->read_done;
		keep_sums(qp, o->sums, o->sums_at + rx->read_done);
	}
}

static void begin_read_request(struct qp *qp)
{
	const struct ddp_header *h = &qp->rx.h;

	if (h->msn != qp->rx.read_msn)
		fail_segment(qp, ERR_PROTO, TERM_DDP_MSN);
	else if (h->offset)
		fail_segment(qp, ERR_PROTO, TERM_DDP_MO);
	else if (qp->rx.payload_len != RDMAP_READ_BYTES || !h->last)
		fail_segment(qp, ERR_PROTO, TERM_DDP_TOO_LONG);
	else if (qp->irq_count == qp->depths.ird) /* more Reads at once than was agreed */
		fail_segment(qp, ERR_PROTO, TERM_DDP_NO_BUFFER);
}

static inline bool is_send(const struct qp_rx *rx)
{
	return rx->h.opcode >= RDMAP_SEND && rx->h.opcode <= RDMAP_SEND_SE_INV;
}

static __attribute__((noinline)) void begin_other(struct qp *qp)
{
	switch ((enum ddp_opcode)qp->rx.h.opcode) {
	case RDMAP_SEND:
	case RDMAP_SEND_INV:
	case RDMAP_SEND_SE:
	case RDMAP_SEND_SE_INV:
		break;
	case RDMAP_WRITE:
		begin_write(qp);
		break;
	case RDMAP_READ_RESPONSE:
		begin_response(qp);
		break;
	case RDMAP_READ_REQUEST:
		begin_read_request(qp);
		break;
	case RDMAP_TERMINATE:
		break;
	}
}

/* Checks all of the header in rx->h, and finds the place of the payload. */
static inline void begin_segment(struct qp *qp)
{
	qp->rx.dst = NULL;
	qp->rx.room = UINT32_MAX;
	qp->rx.target = NULL;
	qp->rx.sums = NULL;
	if (is_send(&qp->rx))
		begin_send(qp);
	else
		begin_other(qp);
}

/* Ends the exposure @stag for a Send with Invalidate. Return: false: that is not permitted, and the
 * stream fails. */
static bool qp_rx_invalidate(struct qp *qp, uint32_t stag)
{
	struct exposure *e = stag_find(&qp->stags, stag);

	/* An exposure cannot end while its octets are sent in a Read response. The peer broke RFC
	 * 5040 section 5.3: its Reads of the exposure have to be complete before. */
	if (!e || e->tx_refs) {
		qp_fail(qp, ERR_ACCESS, TERM_RDMA_INVALIDATE);
		return false;
	}
	qp_revoke(qp, e);
	return true;
}

static inline void finish_send(struct qp *qp)
{
	struct qp_rx *rx = &qp->rx;
	bool inv = rx->h.opcode == RDMAP_SEND_INV || rx->h.opcode == RDMAP_SEND_SE_INV;

	if (rx->swallow) {
		rx->send_msn++;
		return;
	}
	rx->send_done += rx->payload_len;
	if (!rx->h.last)
		return;
	if (inv && !qp_rx_invalidate(qp, rx->h.stag))
		return;
	qp_complete_recv(qp, rx->send_done, inv ? rx->h.stag : 0);
	rx->send_done = 0;
	rx->send_msn++;
	rx->small++;
}

static void finish_response(struct qp *qp)
{
	uint32_t op = qp->orq[qp->orq_head];

	qp->rx.read_done += qp->rx.payload_len;
	if (!qp->rx.h.last)
		return;
	qp->rx.read_done = 0;
	qp->orq_head = qp->orq_head + 1 == qp->depths.ord ? 0 : qp->orq_head + 1;
	qp->orq_count--;
	qp_complete_op(qp, op, 0);
}

/* A segment of a stream that is reported counts as written when its PLACED event is polled
 * (qp.c). */
static void finish_streamed(struct qp *qp, struct exposure *e)
{
	if (!fabric_window_placed(&e->window, &e->written, (uint32_t)qp->rx.h.offset,
				  qp->rx.payload_len))
		return;
	e->reporting = true;
	e->placed.ref = e->place;
	qp_complete(qp, &e->placed, FABRIC_EV_PLACED, 0, 0);
}

/*
 * A gap that is filled with zeros lies before the last octet of a checked FPDU. Octets that were
 * read ahead lie behind that octet (qp_rx_io.c). So the zeros overwrite no octet of the peer.
 */
static void finish_write(struct qp *qp)
{
	struct exposure *e = qp->rx.target;
	struct fabric_run gap;

	qp->rx.target = NULL;
	if (!e)
		return;
	if (e->window.bytes)
		finish_streamed(qp, e);
	else if (fabric_runs_add(&e->written, (uint32_t)qp->rx.h.offset, qp->rx.payload_len, &gap))
		memset(e->addr + gap.from, 0, gap.end - gap.from);
}

static void finish_read_request(struct qp *qp, const uint8_t *payload)
{
	uint32_t at = qp->irq_head + qp->irq_count;
	struct exposure *e;
	struct ddp_term term;
	struct ddp_read read;

	ddp_read_decode(payload, &read);
	if (read.length && stag_check(&qp->stags, read.source_stag, read.source_offset, read.length,
				      FABRIC_REMOTE_READ, &e, &term)) {
		fail_segment(qp, ERR_ACCESS, term);
		return;
	}
	if (at >= qp->depths.ird)
		at -= qp->depths.ird;
	qp->irq[at] = (struct qp_response){.read = read};
	qp->irq_count++;
	qp->rx.read_msn++;
}

static void finish_terminate(struct qp *qp, const uint8_t *payload)
{
	struct ddp_term term = {0xf, 0xf, 0xff};

	if (ddp_term_decode(payload, qp->rx.payload_len, &term))
		qp->why = "peer sent an empty Terminate";
	else
		qp->why = ddp_term_words(term);
	qp->counters->terminates_received++;
	qp->status = ERR_REMOTE;
	qp->state = QP_DEAD;
}

/* Whether the segment moves no octet of a message. A peer can send as many of these as it likes:
 * they are no progress. */
static bool moves_nothing(const struct qp_rx *rx, const uint8_t *payload)
{
	struct ddp_read read;

	if (rx->h.opcode != RDMAP_READ_REQUEST)
		return rx->h.tagged && !rx->payload_len;
	ddp_read_decode(payload, &read);
	return !read.length;
}

static __attribute__((noinline)) void finish_other(struct qp *qp, const uint8_t *payload)
{
	switch ((enum ddp_opcode)qp->rx.h.opcode) {
	case RDMAP_SEND:
	case RDMAP_SEND_INV:
	case RDMAP_SEND_SE:
	case RDMAP_SEND_SE_INV:
		break;
	case RDMAP_WRITE:
		finish_write(qp);
		break;
	case RDMAP_READ_RESPONSE:
		qp->rx.response_octets += qp->rx.payload_len;
		finish_response(qp);
		break;
	case RDMAP_READ_REQUEST:
		finish_read_request(qp, payload);
		break;
	case RDMAP_TERMINATE:
		finish_terminate(qp, payload);
		break;
	}
}

/* Processes a segment that is complete and has the right CRC. @payload is for the types that are
 * parsed. */
static inline void finish_segment(struct qp *qp, const uint8_t *payload)
{
	qp->counters->fpdus_in++;
	if (!moves_nothing(&qp->rx, payload)) {
		qp->rx.messages += qp->rx.h.last;
		qp->rx.payload_octets += qp->rx.payload_len;
	}
	if (is_send(&qp->rx))
		finish_send(qp);
	else
		finish_other(qp, payload);
	qp->first_done = true;
	if (qp->hold_for_first)
		qp->tx.hold = qp->hold_for_first = false;
}

static bool crc_is_wrong(struct qp *qp, uint32_t crc, const uint8_t *field)
{
	if (!qp->crc || crc == fpdu_crc_get(field))
		return false;
	qp->counters->crc_errors++;
	qp_fail(qp, ERR_CRC, TERM_MPA_CRC);
	return true;
}

/* Decodes and checks the header at the start of the stage. */
static inline bool open_segment(struct qp *qp, uint32_t header)
{
	struct ddp_term term;
	int rc = ddp_header_decode(qp_staged(qp) + FPDU_LEN_BYTES, &qp->rx.h, &term);

	qp->rx.payload_len = qp->rx.ulpdu_len - header;
	if (rc)
		fail_segment(qp, rc == ERR_VERS ? ERR_VERS : ERR_PROTO, term);
	else
		begin_segment(qp);
	return qp->state != QP_TERMINATING && !qp_rx_waits(&qp->rx);
}

static bool is_parsed(const struct qp *qp)
{
	return qp->rx.h.opcode == RDMAP_READ_REQUEST || qp->rx.h.opcode == RDMAP_TERMINATE;
}

void qp_rx_sum(struct qp *qp, const uint8_t *payload, uint32_t n)
{
	struct qp_rx *rx = &qp->rx;
	uint32_t part;

	while (rx->sums && (part = sums_next(rx->sums, rx->sums_at) - rx->sums_at) <= n) {
		rx->crc = fpdu_crc(rx->crc, payload, part);
		rx->sums_at += part;
		sums_mark(rx->sums, rx->sums_at, rx->crc);
		payload += part;
		n -= part;
	}
	if (n && qp->crc)
		rx->crc = fpdu_crc(rx->crc, payload, n);
	rx->sums_at += n;
}

/* Copies @n octets of payload from @from, more than the piece has room for, up to the last piece.
 * Return: how many. */
static __attribute__((noinline)) uint32_t fill_pieces(struct qp_rx *rx, const uint8_t *from,
						      uint32_t n)
{
	uint32_t done = 0;

	while (n - done > rx->room) {
		memcpy(rx->dst, from + done, rx->room);
		done += rx->room;
		qp_rx_next_piece(rx);
	}
	return done;
}

/* Copies @n octets of payload from @from to their place. */
static inline void place(struct qp_rx *rx, const uint8_t *from, uint32_t n)
{
	uint32_t done = n > rx->room ? fill_pieces(rx, from, n) : 0;

	memcpy(rx->dst, from + done, n - done);
	rx->dst += n - done;
	rx->room -= n - done;
}

/* Sums of the FPDU at the start of the stage; @head: octets before its payload, @crc: that of the
 * FPDU. Few FPDUs that need marks come this way: their CRC is computed once more. */
static __attribute__((noinline)) void sum_whole(struct qp *qp, uint32_t head, uint32_t crc)
{
	struct qp_rx *rx = &qp->rx;
	bool has_marks = sums_next(rx->sums, rx->sums_at) - rx->sums_at < rx->payload_len;
	bool end_will_do =
		!rx->h.tagged && rx->sums->keeps_ends && rx->payload_len <= 2 * SUMS_SLICE;

	rx->head_crc = fpdu_crc(FPDU_CRC_INIT, qp_staged(qp), head);
	if (has_marks && !end_will_do) {
		rx->crc = rx->head_crc;
		qp_rx_sum(qp, qp_staged(qp) + head, rx->payload_len);
	} else {
		rx->crc = fpdu_pad(rx->ulpdu_len)
				  ? fpdu_crc(rx->head_crc, qp_staged(qp) + head, rx->payload_len)
				  : crc;
		rx->sums_at += rx->payload_len;
	}
	sums_commit(rx->sums, rx->head_crc, rx->sums_at, rx->crc);
}

/* Processes the FPDU at the start of the stage, which is complete. */
static void take_whole(struct qp *qp, uint32_t header)
{
	struct qp_rx *rx = &qp->rx;
	const uint8_t *p = qp_staged(qp);
	uint32_t total = fpdu_bytes(rx->ulpdu_len);
	uint32_t covered = total - FPDU_CRC_BYTES, crc = 0;

	if (qp->crc)
		crc = fpdu_crc(FPDU_CRC_INIT, p, covered);
	if (crc_is_wrong(qp, crc, p + covered))
		return;
	if (!open_segment(qp, header))
		return;
	if (rx->sums)
		sum_whole(qp, FPDU_LEN_BYTES + header, crc);
	p += FPDU_LEN_BYTES + header;
	if (rx->dst) {
		place(rx, p, rx->payload_len);
		if (rx->h.tagged)
			qp->counters->copied_bytes += rx->payload_len;
	}
	finish_segment(qp, p);
	rx->head += total;
}

/* Begins to place an FPDU that is not complete, with the payload octets that the stage has. */
static __attribute__((noinline)) void take_part(struct qp *qp, uint32_t header)
{
	struct qp_rx *rx = &qp->rx;
	uint32_t have;

	if (!open_segment(qp, header))
		return;
	if (is_parsed(qp)) { /* no Read Request or Terminate is that long */
		fail_segment(qp, ERR_PROTO, TERM_DDP_TOO_LONG);
		return;
	}
	rx->crc = FPDU_CRC_INIT;
	if (qp->crc)
		rx->crc = fpdu_crc(rx->crc, qp_staged(qp), FPDU_LEN_BYTES + header);
	rx->head_crc = rx->crc;
	rx->head += FPDU_LEN_BYTES + header;
	have = qp_staged_bytes(qp);
	if (have > rx->payload_len)
		have = rx->payload_len;
	if (have) {
		place(rx, qp_staged(qp), have);
		qp_rx_sum(qp, qp_staged(qp), have);
		if (rx->h.tagged)
			qp->counters->copied_bytes += have;
		rx->head += have;
	}
	rx->left = rx->payload_len - have;
	if (rx->left && !rx->room)
		qp_rx_next_piece(rx);
	rx->state = rx->left ? QP_RX_PLACE : QP_RX_TAIL;
}

/* Return: whether there was progress. */
static bool step_head(struct qp *qp)
{
	struct qp_rx *rx = &qp->rx;
	uint32_t have = qp_staged_bytes(qp), header, total;

	if (have < FPDU_LEN_BYTES + 1)
		return false;
	rx->ulpdu_len = wire_get16(qp_staged(qp));
	header = ddp_header_bytes(qp_staged(qp)[FPDU_LEN_BYTES]);
	if (rx->ulpdu_len < header) {
		qp_fail(qp, ERR_PROTO, TERM_MPA_LENGTH);
		return false;
	}
	total = fpdu_bytes(rx->ulpdu_len);
	if (have >= total)
		take_whole(qp, header);
	else if (header == DDP_UNTAGGED_BYTES && total <= QP_WHOLE_BYTES)
		return false;
	else if (have < FPDU_LEN_BYTES + header)
		return false;
	else
		take_part(qp, header);
	return true;
}

static __attribute__((noinline)) bool step_tail(struct qp *qp)
{
	struct qp_rx *rx = &qp->rx;
	uint32_t pad = fpdu_pad(rx->ulpdu_len);

	if (qp_staged_bytes(qp) < pad + FPDU_CRC_BYTES)
		return false;
	if (qp->crc && crc_is_wrong(qp, fpdu_crc(rx->crc, qp_staged(qp), pad), qp_staged(qp) + pad))
		return false;
	if (rx->sums)
		sums_commit(rx->sums, rx->head_crc, rx->sums_at, rx->crc);
	rx->head += pad + FPDU_CRC_BYTES;
	rx->state = QP_RX_HEAD;
	finish_segment(qp, NULL);
	return true;
}

void qp_rx_steps(struct qp *qp)
{
	struct qp_rx *rx = &qp->rx;

	while (qp->state == QP_OPEN && !qp_rx_waits(rx) &&
	       (rx->state == QP_RX_HEAD ? step_head(qp) : rx->state == QP_RX_TAIL && step_tail(qp)))
		;
}

bool qp_rx_is_inside_send(const struct qp *qp)
{
	return qp->shared || qp->rx.send_done;
}

bool qp_rx_is_inside(const struct qp *qp)
{
	const struct qp_rx *rx = &qp->rx;

	return qp->state == QP_OPEN && !qp_rx_waits(rx) &&
	       (rx->state != QP_RX_HEAD || qp_staged_bytes(qp) || qp_rx_is_inside_send(qp) ||
		rx->read_done);
}

/* Octets of the payload under way that are at their place. */
static uint32_t being_placed(const struct qp_rx *rx)
{
	return rx->state == QP_RX_HEAD ? 0 : rx->payload_len - rx->left;
}

/* Payload octets of a Send's segment that stays in the stage until it is complete. */
static uint32_t staged_payload(const struct qp *qp)
{
	enum { HEADER = FPDU_LEN_BYTES + DDP_UNTAGGED_BYTES };
	uint32_t have = qp_staged_bytes(qp);
	struct ddp_header h;
	struct ddp_term term;

	if (qp->rx.state != QP_RX_HEAD || have <= HEADER ||
	    ddp_header_decode(qp_staged(qp) + FPDU_LEN_BYTES, &h, &term) || h.tagged ||
	    h.opcode == RDMAP_READ_REQUEST || h.opcode == RDMAP_TERMINATE)
		return 0;
	have = min_u32(have, FPDU_LEN_BYTES + wire_get16(qp_staged(qp)));
	return have > HEADER ? have - HEADER : 0;
}

uint64_t qp_rx_payload(const struct qp *qp)
{
	return qp->rx.payload_octets + being_placed(&qp->rx) + staged_payload(qp);
}

struct qp_rx_mark qp_rx_mark(const struct qp *qp)
{
	const struct qp_rx *rx = &qp->rx;
	uint32_t placed = rx->h.tagged ? 0 : being_placed(rx);

	if (!qp_rx_is_inside_send(qp))
		return (struct qp_rx_mark){rx->messages | UINT64_C(1) << 63, qp_rx_payload(qp)};
	return (struct qp_rx_mark){rx->send_msn, rx->send_done + placed + staged_payload(qp)};
}

void qp_rx_end(struct qp *qp)
{
	const struct qp_rx *rx = &qp->rx;

	if (qp->state == QP_DEAD || qp->state == QP_TERMINATING)
		return;
	if (rx->state != QP_RX_HEAD || qp_staged_bytes(qp) || rx->spill ||
	    qp_rx_is_inside_send(qp) || rx->read_done) {
		qp->status = ERR_CLOSED;
		qp->why = "peer closed the connection inside a message";
	}
	qp->state = QP_DEAD;
}
