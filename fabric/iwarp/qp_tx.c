/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/qp_internal.h"

#include <assert.h>
#include <string.h>

#include "fabric/iwarp/fpdu.h"
#include "fabric/iwarp/qp_complete.h"
#include "fabric/iwarp/qp_tx.h"
#include "fabric/iwarp/wire.h"

/*
 * Operation
 *
 * FPDUs are gathered into a batch: an iovec that points into the memory of the operations and, for
 * headers and trailers, into ctl, where the trailer of one FPDU and the header of the next are one
 * piece. A short Send is copied there as a whole. The CRC is computed while gathering, so the batch
 * stays small enough for the cache. The rest of a batch that was taken only in part is sent later;
 * the next is built when it is gone.
 *
 * A short Send that no other operation has to precede is copied to ctl when it is posted, and no
 * record of it is kept (qp_send_short()).
 *
 * Each other FPDU of a batch has a record. When the kernel has taken the FPDU, the operation that
 * ends with it is complete, and the exposure that it reads from has one reference less. The
 * withdrawal of an exposure waits until it has no references.
 *
 * The send queue and the responses to the peer's Reads take turns:
 * - All turns have about the same number of octets, so small messages do not wait for a long
 *   response.
 * - A response is interrupted only at places that its receiver knows (qp_run()), so the receiver
 *   can read ahead up to the next one (qp_rx_io.c).
 * - Segments of one untagged and one tagged message may alternate, but segments of two tagged or
 *   two untagged messages may not: Linux siw demands that. So a Write waits for the last segment of
 *   a response, a Send for that of a Read Request, and the other way round.
 */

static struct qp_tx_fpdu *new_record(struct qp_tx *tx, enum qp_tx_kind kind, uint32_t ref,
				     bool last)
{
	struct qp_tx_fpdu *f = &tx->batch->fpdus[tx->fpdu_n++];

	*f = (struct qp_tx_fpdu){.kind = (uint8_t)kind, .ref = ref, .last = last};
	return f;
}

static inline void add_piece(struct qp_tx *tx, const void *data, uint32_t len)
{
	assert(tx->batch);
	tx->batch->iov[tx->iov_n++] = (struct iovec){(void *)(uintptr_t)data, len};
	tx->built += len;
}

/* Adds @len octets at @p, the end of ctl. Extends the last piece if that ends at @p. */
static inline void add_ctl(struct qp_tx *tx, const uint8_t *p, uint32_t len)
{
	struct iovec *prev = tx->iov_n ? &tx->batch->iov[tx->iov_n - 1] : NULL;

	if (!prev || (const uint8_t *)prev->iov_base + prev->iov_len != p) {
		add_piece(tx, p, len);
		return;
	}
	prev->iov_len += len;
	tx->built += len;
}

static void put_header(struct qp *qp, const struct ddp_header *h, uint32_t payload_len)
{
	struct qp_tx *tx = &qp->tx;
	uint8_t *p = tx->batch->ctl + tx->ctl_len;
	uint32_t len = FPDU_LEN_BYTES + ddp_header_encode(h, p + FPDU_LEN_BYTES);

	wire_put16(p, (uint16_t)(len - FPDU_LEN_BYTES + payload_len));
	tx->ctl_len += len;
	tx->crc = qp->crc ? fpdu_crc(FPDU_CRC_INIT, p, len) : 0;
	add_ctl(tx, p, len);
}

static void put_payload(struct qp *qp, const void *data, uint32_t len)
{
	if (qp->crc) {
		qp->tx.crc = fpdu_crc(qp->tx.crc, data, len);
		qp->counters->crc_computed += len;
	}
	add_piece(&qp->tx, data, len);
}

/* Adds octets that begin at octet @at of @sums, with the CRC that they arrived with. */
static void put_summed(struct qp *qp, const void *data, uint32_t len, struct sums *sums,
		       uint32_t at)
{
	enum sums_found found =
		qp->crc ? sums_find(sums, at, len, data, &qp->tx.crc) : SUMS_UNKNOWN;

	if (found == SUMS_UNKNOWN) {
		put_payload(qp, data, len);
		return;
	}
	if (found == SUMS_KNOWN)
		qp->counters->crc_carried += len;
	else
		qp->counters->crc_computed += len;
	add_piece(&qp->tx, data, len);
}

static inline void put_crc(const struct qp *qp, uint8_t *p, uint32_t crc)
{
	if (qp->crc)
		fpdu_crc_put(p, crc);
	else
		wire_put32(p, 0);
}

static void put_trailer(struct qp *qp, struct qp_tx_fpdu *f, uint32_t ulpdu_len)
{
	struct qp_tx *tx = &qp->tx;
	uint8_t *p = tx->batch->ctl + tx->ctl_len;
	uint32_t pad = fpdu_pad(ulpdu_len);

	for (uint32_t i = 0; i < pad; i++)
		p[i] = 0;
	if (pad && qp->crc)
		tx->crc = fpdu_crc(tx->crc, p, pad);
	put_crc(qp, p + pad, tx->crc);
	tx->ctl_len += pad + FPDU_CRC_BYTES;
	add_ctl(tx, p, pad + FPDU_CRC_BYTES);
	f->end = tx->built;
	qp->counters->fpdus_out++;
}

/* Memory in ctl, behind the header, for a payload that is built here and not gathered. */
static uint8_t *own_payload(struct qp *qp)
{
	return qp->tx.batch->ctl + qp->tx.ctl_len;
}

static void put_own_payload(struct qp *qp, uint32_t len)
{
	uint8_t *p = own_payload(qp);

	if (qp->crc)
		qp->tx.crc = fpdu_crc(qp->tx.crc, p, len);
	qp->tx.ctl_len += len;
	add_ctl(&qp->tx, p, len);
}

/* Adds the next @len octets of @o's gather list. */
static void put_gathered(struct qp *qp, struct qp_op *o, uint32_t len)
{
	while (len) {
		const struct fabric_sge *s = &o->sge[o->at_sge];
		const uint8_t *data = (const uint8_t *)s->addr + o->at_off;
		uint32_t n = s->len - o->at_off < len ? s->len - o->at_off : len;

		if (o->sums && o->at_sge == o->sums_sge)
			put_summed(qp, data, n, o->sums, o->sums_at + o->at_off);
		else
			put_payload(qp, data, n);
		o->at_off += n;
		len -= n;
		if (o->at_off == s->len) {
			o->at_sge++;
			o->at_off = 0;
		}
	}
}

static inline bool is_short(const struct qp_tx *tx, uint32_t len)
{
	return len <= QP_TX_SHORT && len <= tx->max_untagged;
}

/* Builds a Send of @len octets as one FPDU and one piece. (Always inline: each small message is sent
 * so, by qp_send_short().) */
static inline __attribute__((always_inline)) void
put_short(struct qp *qp, const struct fabric_sge *sge, unsigned nsge, uint32_t len, uint32_t stag)
{
	struct qp_tx *tx = &qp->tx;
	struct ddp_header h = {.last = true,
			       .opcode = stag ? RDMAP_SEND_INV : RDMAP_SEND,
			       .stag = stag,
			       .queue = DDP_QUEUE_SEND,
			       .msn = tx->send_msn++};
	uint8_t *start = tx->batch->ctl + tx->ctl_len, *p = start + FPDU_LEN_BYTES;

	wire_put16(start, (uint16_t)(DDP_UNTAGGED_BYTES + len));
	p += ddp_header_encode(&h, p);
	for (unsigned i = 0; i < nsge; p += sge[i++].len)
		if (sge[i].len)
			memcpy(p, sge[i].addr, sge[i].len);
	memset(p, 0, fpdu_pad(DDP_UNTAGGED_BYTES + len));
	p += fpdu_pad(DDP_UNTAGGED_BYTES + len);
	put_crc(qp, p, qp->crc ? fpdu_crc(FPDU_CRC_INIT, start, (size_t)(p - start)) : 0);
	p += FPDU_CRC_BYTES;
	tx->ctl_len += (uint32_t)(p - start);
	add_ctl(tx, start, (uint32_t)(p - start));
	qp->counters->fpdus_out++;
}

/* Builds the short Send at the head of the send queue. */
static __attribute__((noinline)) void build_short(struct qp *qp, const struct qp_op *o)
{
	struct qp_tx_fpdu *f = new_record(&qp->tx, QP_TX_OP, qp->tx.sq.head, true);

	put_short(qp, o->sge, o->nsge, o->len, o->stag);
	f->end = qp->tx.built;
	qp_fifo_pop(qp, &qp->tx.sq);
}

/* Builds one FPDU of the Send or Write at the head of the send queue. */
static void build_gathered(struct qp *qp, struct qp_op *o)
{
	struct qp_tx *tx = &qp->tx;
	bool tagged = o->type == FABRIC_EV_WRITE;
	uint32_t max = tagged ? tx->max_tagged : tx->max_untagged;
	uint32_t left = o->len - o->done, most = left < max ? left : max;
	/* A Write of one piece ends its FPDUs at points. A Send does not: a point may be a few
	 * octets behind its header. */
	bool fits = tagged && o->sums && o->nsge == 1;
	uint32_t len = fits ? sums_fit(o->sums, o->sums_at + o->done, most) : most;
	struct ddp_header h = {.tagged = tagged,
			       .last = o->done + len == o->len,
			       .opcode = o->opcode,
			       .stag = o->stag,
			       .queue = DDP_QUEUE_SEND,
			       .msn = tx->send_msn,
			       .offset = tagged ? o->offset + o->done : o->done};
	struct qp_tx_fpdu *f = new_record(tx, QP_TX_OP, tx->sq.head, h.last);

	put_header(qp, &h, len);
	put_gathered(qp, o, len);
	put_trailer(qp, f, (tagged ? DDP_TAGGED_BYTES : DDP_UNTAGGED_BYTES) + len);
	o->done += len;
	if (!h.last)
		return;
	qp_fifo_pop(qp, &tx->sq);
	if (!tagged)
		tx->send_msn++;
}

static void build_read_request(struct qp *qp, uint32_t op)
{
	struct qp_tx *tx = &qp->tx;
	const struct qp_op *o = qp_op(qp, op);
	struct ddp_header h = {.last = true,
			       .opcode = RDMAP_READ_REQUEST,
			       .queue = DDP_QUEUE_READ,
			       .msn = tx->read_msn++};
	struct ddp_read read = {.sink_stag = o->sink_stag,
				.length = o->len,
				.source_stag = o->stag,
				.source_offset = o->offset};
	struct qp_tx_fpdu *f = new_record(tx, QP_TX_PLAIN, op, true);
	uint32_t at = qp->orq_head + qp->orq_count++;

	qp->orq[at >= qp->depths.ord ? at - qp->depths.ord : at] = op;
	put_header(qp, &h, RDMAP_READ_BYTES);
	ddp_read_encode(&read, own_payload(qp));
	put_own_payload(qp, RDMAP_READ_BYTES);
	put_trailer(qp, f, DDP_UNTAGGED_BYTES + RDMAP_READ_BYTES);
}

static void put_exposed(struct qp *qp, const struct exposure *e, uint32_t from, uint32_t len)
{
	if (e->sums)
		put_summed(qp, e->addr + from, len, e->sums, e->sums_at + from);
	else
		put_payload(qp, e->addr + from, len);
}

/* Builds one FPDU of the response to the peer's oldest Read. It ends at a point of the sums,
 * because a peer may read from between two points on. */
static void build_response(struct qp *qp)
{
	struct qp_tx *tx = &qp->tx;
	struct qp_response *r = &qp->irq[qp->irq_head];
	uint32_t left = r->read.length - r->done, from = (uint32_t)r->read.source_offset + r->done;
	uint32_t most = left < tx->max_tagged ? left : tx->max_tagged;
	struct exposure *e = r->read.length ? stag_find(&qp->stags, r->read.source_stag) : NULL;
	uint32_t len = e && e->sums ? sums_fit(e->sums, e->sums_at + from, most) : most;
	struct ddp_header h = {.tagged = true,
			       .last = len == left,
			       .opcode = RDMAP_READ_RESPONSE,
			       .stag = r->read.sink_stag,
			       .offset = r->read.sink_offset + r->done};
	struct qp_tx_fpdu *f;

	if (r->read.length && !e) { /* withdrawn since the Read Request was checked */
		qp_fail(qp, ERR_ACCESS, TERM_RDMA_INVALID_STAG);
		return;
	}
	f = new_record(tx, e ? QP_TX_RESPONSE : QP_TX_PLAIN, e ? e->place : 0, h.last);
	put_header(qp, &h, len);
	if (e) {
		e->tx_refs++;
		put_exposed(qp, e, from, len);
	}
	put_trailer(qp, f, DDP_TAGGED_BYTES + len);
	r->done += len;
	if (h.last) {
		qp->irq_head = qp->irq_head + 1 == qp->depths.ird ? 0 : qp->irq_head + 1;
		qp->irq_count--;
	}
}

static void build_nudge(struct qp *qp)
{
	struct ddp_header h = {
		.tagged = true, .last = true, .opcode = RDMAP_WRITE, .stag = RDMAP_STAG_OF_NOTHING};
	struct qp_tx_fpdu *f = new_record(&qp->tx, QP_TX_PLAIN, 0, true);

	qp->tx.nudge = false;
	put_header(qp, &h, 0);
	put_trailer(qp, f, DDP_TAGGED_BYTES);
}

void qp_nudge(struct qp *qp)
{
	qp->tx.nudge = qp->state == QP_OPEN;
}

static void build_terminate(struct qp *qp)
{
	struct ddp_header h = {
		.last = true, .opcode = RDMAP_TERMINATE, .queue = DDP_QUEUE_TERMINATE, .msn = 1};
	uint8_t payload[RDMAP_TERM_MAX];
	uint32_t len = ddp_term_encode(qp->term, qp->term_have ? qp->term_about : NULL,
				       qp->term_ulpdu_len, qp->term_have, payload);
	struct qp_tx_fpdu *f = new_record(&qp->tx, QP_TX_PLAIN, 0, true);

	put_header(qp, &h, len);
	for (uint32_t i = 0; i < len; i++)
		own_payload(qp)[i] = payload[i];
	put_own_payload(qp, len);
	put_trailer(qp, f, DDP_UNTAGGED_BYTES + len);
	qp->tx.term_built = true;
	qp->counters->terminates_sent++;
}

/* The head of the send queue, or NULL. */
static struct qp_op *first_op(const struct qp *qp)
{
	uint32_t op = qp->tx.sq.head;

	return op == QP_NONE ? NULL : qp_op(qp, op);
}

/* The Read to request now. Reads at the head of the send queue that exceed the read depth move to
 * `reads`. Return: QP_NONE: none. */
static uint32_t next_read(struct qp *qp)
{
	struct qp_tx *tx = &qp->tx;
	bool open = qp->state == QP_OPEN && qp->orq_count < qp->ord;
	const struct qp_op *o = first_op(qp);

	/* Two untagged messages do not alternate either. */
	if (o && o->type == FABRIC_EV_SEND && o->done)
		return QP_NONE;
	if (open && !qp_fifo_is_empty(&tx->reads))
		return qp_fifo_pop(qp, &tx->reads);
	if (!o || o->type != FABRIC_EV_READ)
		return QP_NONE;
	while (!qp_fifo_is_empty(&tx->sq) && qp_op(qp, tx->sq.head)->type == FABRIC_EV_READ) {
		uint32_t op = qp_fifo_pop(qp, &tx->sq);

		if (open)
			return op;
		qp_fifo_push(qp, &tx->reads, op);
	}
	return QP_NONE;
}

/*
 * State:  the response to a Read has begun, and other messages wait.
 * Danger: a message at a place that the receiver does not expect makes the receiver copy all octets
 *         that it has read ahead. Or a small message waits for the end of a long response.
 * Rule:   other messages are sent only at the places of qp_run(). So they wait for QP_RUN_BYTES
 *         or QP_AHEAD segments at most. Return: whether the response is between such places.
 * Pinned: tests/iwarp/test_qp_ahead.c:test_sends_within_a_response.
 */
static __attribute__((noinline)) bool response_is_inside_run(const struct qp *qp)
{
	uint32_t most = qp->tx.max_tagged, run = qp_run(most);
	uint32_t done = qp->irq[qp->irq_head].done;

	return done && done / run == (done > most ? done - most : 0) / run;
}

static inline bool is_inside_run(const struct qp *qp)
{
	return qp->irq_count && response_is_inside_run(qp);
}

/* Whether the response to the peer's oldest Read goes before @o, the head of the send queue or
 * NULL. */
static bool is_response_next(const struct qp *qp, const struct qp_op *o)
{
	bool begun = qp->irq[qp->irq_head].done;

	if (qp->state != QP_OPEN && !begun)
		return false;
	if (!o)
		return true;
	if (o->type == FABRIC_EV_WRITE && (o->done || begun))
		return !o->done;
	return qp->tx.response_turn;
}

/* Return: whether an FPDU was built. */
static bool build_next(struct qp *qp)
{
	struct qp_tx *tx = &qp->tx;
	bool inside = is_inside_run(qp), response;
	uint32_t read = inside ? QP_NONE : next_read(qp);
	struct qp_op *o = first_op(qp);

	if (read != QP_NONE) {
		build_read_request(qp, read);
		return true;
	}
	response = inside || (qp->irq_count && is_response_next(qp, o));
	if (!response && !o) {
		if (!tx->nudge)
			return false;
		build_nudge(qp);
		return true;
	}
	if (response) {
		build_response(qp);
		tx->response_turn = false;
		tx->turn_from = tx->built;
		return qp->state != QP_TERMINATING;
	}
	if (o->type == FABRIC_EV_SEND && is_short(tx, o->len))
		build_short(qp, o);
	else
		build_gathered(qp, o);
	tx->response_turn = tx->built - tx->turn_from >= qp_run(tx->max_tagged);
	return true;
}

_Static_assert((int)RDMAP_TERM_MAX <= (int)QP_TX_SHORT, "has_room()");

static bool has_room(const struct qp_tx *tx)
{
	enum { ONE = FPDU_LEN_BYTES + DDP_UNTAGGED_BYTES + QP_TX_SHORT + FPDU_TRAILER_MAX };

	return tx->iov_n + FABRIC_MAX_SGE + 2 <= QP_TX_IOV && tx->fpdu_n < QP_TX_FPDUS &&
	       tx->ctl_len + ONE <= QP_TX_CTL && tx->built - tx->taken < QP_TX_BATCH;
}

/* Return: whether there is a batch; it is emptied if all of the last was taken. */
static bool open_batch(struct qp *qp)
{
	struct qp_tx *tx = &qp->tx;

	if (!tx->batch)
		tx->batch = pool_get(&qp->store->batches);
	qp->lacks_memory |= !tx->batch;
	if (tx->iov_at == tx->iov_n)
		tx->iov_n = tx->iov_at = tx->fpdu_n = tx->fpdu_at = tx->ctl_len = 0;
	return tx->batch;
}

static void end_early(struct qp *qp)
{
	if (qp->tx.early)
		qp->store->early--;
	qp->tx.early = false;
}

/* Begins a batch before the flush. At most QP_EARLY batches may be, because such a batch holds
 * memory, and is no longer in the cache at the flush. */
static bool open_early(struct qp *qp)
{
	struct qp_tx *tx = &qp->tx;

	if (tx->iov_at < tx->iov_n)
		return true;
	if (qp->store->early == QP_EARLY || !open_batch(qp))
		return false;
	tx->early = true;
	qp->store->early++;
	return true;
}

bool qp_send_short(struct qp *qp, const struct fabric_sge *sge, unsigned nsge, uint32_t inv_handle)
{
	struct qp_tx *tx = &qp->tx;
	uint64_t len = 0;

	for (unsigned i = 0; i < nsge; i++)
		len += sge[i].len;
	if (len > QP_TX_SHORT || !is_short(tx, (uint32_t)len) || qp->state != QP_OPEN || tx->hold ||
	    !qp_fifo_is_empty(&tx->sq) || is_inside_run(qp) || !open_early(qp) || !has_room(tx))
		return false;
	put_short(qp, sge, nsge, (uint32_t)len, inv_handle);
	return true;
}

static void build_batch(struct qp *qp)
{
	struct qp_tx *tx = &qp->tx;

	if (qp->state == QP_OPEN || qp->state == QP_DRAINING)
		while (!tx->hold && has_room(tx) && build_next(qp))
			;
	/* A breach was found while building: FPDUs built before are sent before the Terminate. */
	if (qp->state == QP_TERMINATING && !tx->term_built && has_room(tx))
		build_terminate(qp);
}

void qp_tx_drop(struct qp *qp)
{
	struct qp_tx *tx = &qp->tx;

	if (tx->batch)
		pool_put(&qp->store->batches, tx->batch);
	tx->batch = NULL;
	end_early(qp);
	tx->iov_n = tx->iov_at = tx->fpdu_n = tx->fpdu_at = 0;
}

/* Return: whether there is something in the batch. */
static bool refill(struct qp *qp)
{
	if (!open_batch(qp))
		return false;
	build_batch(qp);
	end_early(qp);
	if (qp->tx.iov_n == 0)
		qp_tx_drop(qp);
	return qp->tx.iov_n > 0;
}

unsigned qp_tx_want(struct qp *qp, struct iovec **iov)
{
	struct qp_tx *tx = &qp->tx;

	if (qp->state == QP_INIT || qp->state == QP_DEAD)
		return 0;
	if ((tx->iov_at == tx->iov_n || tx->early) && !refill(qp))
		return 0;
	*iov = &tx->batch->iov[tx->iov_at];
	return tx->iov_n - tx->iov_at;
}

/* Ends of FPDUs are those of records. Short Sends have no record. */
size_t qp_tx_whole(const struct qp *qp, size_t most)
{
	const struct qp_tx *tx = &qp->tx;
	uint64_t end = tx->built;

	if (tx->built - tx->taken <= most)
		return (size_t)(tx->built - tx->taken);
	for (uint32_t i = tx->fpdu_at; i < tx->fpdu_n; i++) {
		if (i > tx->fpdu_at && tx->batch->fpdus[i].end > tx->taken + most)
			break;
		end = tx->batch->fpdus[i].end;
	}
	return (size_t)(end - tx->taken);
}

/* Completes the operation of @f, or drops its reference: the kernel has taken the FPDU. */
static void record_taken(struct qp *qp, const struct qp_tx_fpdu *f)
{
	struct exposure *e;

	if (f->kind == QP_TX_OP && f->last) {
		qp_complete_op(qp, f->ref, 0);
	} else if (f->kind == QP_TX_RESPONSE) {
		e = stag_slot(&qp->stags, f->ref);
		if (--e->tx_refs == 0 && e->leaving)
			qp_complete_withdrawn(qp, e, 0);
	}
}

void qp_tx_took(struct qp *qp, size_t n)
{
	struct qp_tx *tx = &qp->tx;

	qp->counters->bytes_out += n;
	tx->taken += n;
	assert(tx->taken <= tx->built);
	if (tx->taken == tx->built) { /* the usual case: all of it */
		tx->iov_at = tx->iov_n;
		n = 0;
	}
	while (n) {
		struct iovec *v = &tx->batch->iov[tx->iov_at];

		if (n < v->iov_len) {
			v->iov_base = (uint8_t *)v->iov_base + n;
			v->iov_len -= n;
			break;
		}
		n -= v->iov_len;
		tx->iov_at++;
	}
	while (tx->fpdu_at < tx->fpdu_n && tx->batch->fpdus[tx->fpdu_at].end <= tx->taken)
		record_taken(qp, &tx->batch->fpdus[tx->fpdu_at++]);
}

bool qp_is_drained(const struct qp *qp)
{
	const struct qp_tx *tx = &qp->tx;

	if (tx->iov_at < tx->iov_n)
		return false;
	if (qp->state == QP_TERMINATING)
		return tx->term_built;
	return qp->state == QP_DEAD || qp_fifo_is_empty(&tx->sq);
}
