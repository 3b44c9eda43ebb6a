/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/qp_internal.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "fabric/iwarp/fpdu.h"
#include "fabric/iwarp/qp_complete.h"
#include "fabric/iwarp/qp_rx.h"
#include "fabric/iwarp/qp_rx_io.h"

/*
 * Operation
 *
 * - While no large tagged message is expected, all input is read into the stage.
 * - While one is expected, only the header of the next FPDU is read ahead (16 octets for a tagged
 *   FPDU). Then every read ends where the next payload begins, and no octet of payload is copied.
 * - A large tagged message is expected while a Read of that size is outstanding, or a write
 *   exposure of that size is open.
 * - Exposures that are offered and seldom used (Reply chunks) would make each small message cost a
 *   system call. So after QP_SMALL_RUN small messages exposures do not count, until a large Write
 *   comes again. The part of that Write that is in the stage by then is copied.
 *
 * With these rules alone each FPDU would cost a system call. So behind a tagged segment that is not
 * the last of its message, more segments are expected. All have the same length, except the last,
 * which ends with the memory. Each is placed where the one before ended. One system call then reads
 * many:
 *
 * 	dst | trailer, header | dst + p | trailer, header | dst + 2p | ... | trailer, header
 *
 * The memory that is read to this way has no content that matters yet: the rest of a Read's sink,
 * the part of a write exposure (FABRIC_SCRATCH) behind all octets written so far, or the free part
 * of a stream's window. The peer may write to it for the message under way.
 *
 * Each header is then checked as always, and has to name the place where its payload already is. If
 * it names another place (the message was shorter, or another message came between), the octets
 * from there on are copied out and processed as if just read. Fewer FPDUs are expected next time.
 *
 * The Send of a call often comes within the response to a Read, and would move all octets that were
 * read ahead behind it. A sender with this code interrupts a response only at places that the
 * receiver knows (qp_run()); Linux siw does not interrupt it. So no FPDU is expected behind the
 * next such place.
 *
 * A connection has a stage only while octets are in the stage or are read to it. Otherwise the
 * stage is in the store.
 */

enum { NEXT_HEADER = FPDU_LEN_BYTES + DDP_TAGGED_BYTES };

/** struct qp_spill - octets that were read ahead and are set aside; .at is the first one not yet
 * processed. */
struct qp_spill {
	uint32_t len, at;
	bool is_scratch; /* the block of the store's .scratch, not one of the heap */
	uint8_t data[];
};

_Static_assert(sizeof(struct qp_spill) <= QP_SPILL_HEADER, "a block of .scratch");

/* Whether large tagged messages are expected, so that nothing may be read ahead of them. */
static bool is_exact(const struct qp_rx *rx)
{
	return rx->bulk_reads || (rx->bulk_writes && rx->small < QP_SMALL_RUN);
}

/* Octets between two payloads: the trailer of an FPDU and the header of the next. */
static uint32_t between(uint32_t payload_len)
{
	return fpdu_pad(DDP_TAGGED_BYTES + payload_len) + FPDU_CRC_BYTES + NEXT_HEADER;
}

/* Octets behind the current segment of a stream: what is left of the stream, or as many whole
 * segments as its window has room for. */
static uint32_t room_in_window(const struct qp_rx *rx)
{
	const struct exposure *e = rx->target;
	uint32_t left = e->len - (uint32_t)rx->h.offset - rx->payload_len;
	uint32_t room = fabric_window_behind(&e->window, &e->written, rx->payload_len);

	return left <= room ? left : room - room % rx->payload_len;
}

/* Octets behind the current segment of a Read response, up to where another message may come. */
static uint32_t room_in_run(const struct qp *qp)
{
	const struct qp_rx *rx = &qp->rx;
	uint32_t done = rx->read_done + rx->payload_len, run = qp_run(rx->payload_len);
	uint32_t left = qp_op(qp, qp->orq[qp->orq_head])->len - done;
	uint32_t end = rx->read_done - rx->read_done % run + run, room;

	if (end <= done)
		return 0;
	room = (end - done + rx->payload_len - 1) / rx->payload_len * rx->payload_len;
	return left < room ? left : room;
}

/* Octets of memory behind the current segment to which the rest of its message may go. */
static uint32_t room_behind(const struct qp *qp)
{
	const struct qp_rx *rx = &qp->rx;
	uint32_t end;

	if (rx->h.opcode == RDMAP_READ_RESPONSE)
		return room_in_run(qp);
	if (!rx->target)
		return 0;
	if (rx->target->window.bytes)
		return room_in_window(rx);
	if (!(rx->target->access & FABRIC_SCRATCH))
		return 0;
	end = (uint32_t)rx->h.offset + rx->payload_len;
	return fabric_runs_reach(&rx->target->written) > end ? 0 : rx->target->len - end;
}

static bool has_scratch(struct qp_store *store)
{
	void *block;

	if (store->scratch.nunused > 0)
		return true;
	block = pool_get(&store->scratch);
	if (block)
		pool_put(&store->scratch, block);
	return block;
}

/*
 * Octets to read ahead.
 *
 * State:  octets read ahead may have to be set aside (set_aside()), until the user has Receives or
 *         room again.
 * Danger: while a server hangs, the user may have no Receives and no room for long. Without a limit
 *         each connection takes 320 KiB. With a fixed number of places, that number of slow
 *         connections keeps all others from reading ahead.
 * Rule:   a connection reads ahead at most 1/QP_SPILL_PART of the octets that may still be set
 *         aside. So the sum stays below QP_SPILL_BYTES, and each further connection reads ahead
 *         less. Octets set aside count as memory that their connection holds (fabric_shed()).
 * Pinned: tests/iwarp/test_iwarp_spills.c
 *
 * State:  octets read ahead are not where they belong (take_back()), and memory is short.
 * Danger: they cannot be moved or set aside, and the connection of an honest peer ends.
 * Rule:   no connection reads ahead unless the store has its scratch block. Without memory to set
 *         octets aside, they stay in that block. Until it comes back, all connections read without
 *         reading ahead.
 * Pinned: tests/iwarp/test_qp_shared.c:test_memory_is_short
 */
static uint32_t ahead_bytes(const struct qp *qp)
{
	size_t part = (QP_SPILL_BYTES - qp->store->spilled) / QP_SPILL_PART;

	if (!has_scratch(qp->store))
		return 0;
	return part < QP_AHEAD_BYTES ? (uint32_t)part : QP_AHEAD_BYTES;
}

/* How many FPDUs to expect behind the current one. */
static void expect(struct qp *qp)
{
	struct qp_rx *rx = &qp->rx;
	uint32_t len = rx->payload_len, room, most;

	rx->ahead = 0;
	if (!is_exact(rx) || !rx->h.tagged || rx->h.last)
		return;
	room = room_behind(qp);
	most = ahead_bytes(qp) / (len + between(len));
	if (most > rx->ahead_max)
		most = rx->ahead_max;
	rx->ahead_len = rx->ahead_last_len = len;
	rx->ahead = room / len;
	if (rx->ahead >= most) { /* 0 during feed() */
		rx->ahead = most;
	} else if (room % len) {
		rx->ahead_last_len = room % len;
		rx->ahead++;
	}
	rx->ahead_dst = rx->dst + rx->left;
}

static uint32_t expected_len(const struct qp_rx *rx, uint32_t i)
{
	return i + 1 == rx->ahead ? rx->ahead_last_len : rx->ahead_len;
}

/* Octets to read into the stage: as many as there is room for, or up to the next header. */
static uint32_t stage_want(const struct qp *qp, uint32_t room)
{
	const struct qp_rx *rx = &qp->rx;
	uint32_t have = qp_staged_bytes(qp), need;

	if (!is_exact(rx))
		return room;
	if (rx->state != QP_RX_HEAD)
		need = fpdu_pad(rx->ulpdu_len) + FPDU_CRC_BYTES + NEXT_HEADER - have;
	else if (have < NEXT_HEADER)
		need = NEXT_HEADER - have;
	else if (fpdu_bytes(rx->ulpdu_len) > QP_WHOLE_BYTES)
		need = FPDU_LEN_BYTES + DDP_UNTAGGED_BYTES - have;
	else
		need = fpdu_bytes(rx->ulpdu_len) + NEXT_HEADER - have;
	return need < room ? need : room;
}

static unsigned want_ahead(const struct qp *qp, struct iovec *iov, unsigned n)
{
	const struct qp_rx *rx = &qp->rx;
	uint8_t *stage = rx->stage + rx->tail, *dst = rx->ahead_dst;
	uint32_t len = rx->payload_len;

	for (uint32_t i = 0; i < rx->ahead; i++) {
		iov[n++] = (struct iovec){stage, between(len)};
		stage += between(len);
		len = expected_len(rx, i);
		iov[n++] = (struct iovec){dst, len};
		dst += len;
	}
	iov[n++] = (struct iovec){stage, between(len)};
	return n;
}

_Static_assert((QP_AHEAD + 1) * (3 + FPDU_CRC_BYTES + NEXT_HEADER) <= QP_STAGE_BYTES, "stage");

/* Return: whether the connection has a stage now. */
static bool has_stage(struct qp *qp)
{
	if (!qp->rx.stage)
		qp->rx.stage = pool_get(&qp->store->stages);
	qp->lacks_memory |= !qp->rx.stage;
	return qp->rx.stage;
}

void qp_rx_pause(struct qp *qp)
{
	struct qp_rx *rx = &qp->rx;

	if (!rx->stage || rx->head != rx->tail)
		return;
	rx->head = rx->tail = 0;
	pool_put(&qp->store->stages, rx->stage);
	rx->stage = NULL;
}

size_t qp_spill_bytes(const struct qp *qp)
{
	return qp->rx.spill ? sizeof(*qp->rx.spill) + qp->rx.spill->len : 0;
}

static void drop_spill(struct qp *qp)
{
	struct qp_spill *s = qp->rx.spill;

	if (!s)
		return;
	if (s->is_scratch) {
		pool_put(&qp->store->scratch, s);
	} else {
		qp->store->spilled -= qp_spill_bytes(qp);
		mem_free(s);
	}
	qp->rx.spill = NULL;
}

void qp_rx_drop(struct qp *qp)
{
	qp->rx.head = qp->rx.tail = 0;
	qp_rx_pause(qp);
	drop_spill(qp);
}

unsigned qp_rx_want(struct qp *qp, struct iovec iov[QP_RX_IOV])
{
	struct qp_rx *rx = &qp->rx;
	unsigned n = 0;

	rx->direct = rx->ahead = 0;
	if (qp->state != QP_OPEN || qp_rx_waits(rx) || !has_stage(qp))
		return 0;
	if (rx->head == rx->tail) {
		rx->head = rx->tail = 0;
	} else if (rx->head) { /* less than an FPDU is left, and usually nothing */
		memmove(rx->stage, qp_staged(qp), qp_staged_bytes(qp));
		rx->tail -= rx->head;
		rx->head = 0;
	}
	if (rx->state == QP_RX_PLACE && rx->room < rx->left) {
		rx->direct = rx->room; /* the next read fills the next piece */
		iov[n++] = (struct iovec){rx->dst, rx->room};
		iov[n++] = (struct iovec){rx->stage + rx->tail, 0};
		return n;
	}
	if (rx->state == QP_RX_PLACE) {
		rx->direct = rx->left;
		iov[n++] = (struct iovec){rx->dst, rx->left};
		expect(qp);
		if (rx->ahead)
			return want_ahead(qp, iov, n);
	}
	iov[n++] = (struct iovec){rx->stage + rx->tail, stage_want(qp, QP_STAGE_BYTES - rx->tail)};
	return n;
}

/* The owner has read @n octets of payload to .dst: adds them to the CRC and moves .dst on. */
static void placed(struct qp *qp, uint32_t n)
{
	struct qp_rx *rx = &qp->rx;

	if (!n)
		return;
	qp_rx_sum(qp, rx->dst, n);
	rx->dst += n;
	rx->left -= n;
	rx->room -= n;
	if (!rx->left)
		rx->state = QP_RX_TAIL;
	else if (!rx->room)
		qp_rx_next_piece(rx);
}

static uint32_t rx_io_take(size_t *n, uint32_t most)
{
	uint32_t taken = *n < most ? (uint32_t)*n : most;

	*n -= taken;
	return taken;
}

/* Processes @data through the stage, as if just read. Return: how many octets were processed. */
static size_t feed(struct qp *qp, const uint8_t *data, size_t len)
{
	struct qp_rx *rx = &qp->rx;
	struct iovec iov[QP_RX_IOV];
	size_t all = len;
	unsigned pieces;

	while (len && (pieces = qp_rx_want(qp, iov)) > 0) {
		uint32_t direct = rx_io_take(&len, rx->direct), staged;

		if (direct) {
			memcpy(rx->dst, data, direct);
			if (rx->h.tagged)
				qp->counters->copied_bytes += direct;
			placed(qp, direct);
			data += direct;
		}
		staged = rx_io_take(&len, (uint32_t)iov[pieces - 1].iov_len);
		if (staged)
			memcpy(rx->stage + rx->tail, data, staged);
		rx->tail += staged;
		data += staged;
		qp_rx_steps(qp);
	}
	return all - len;
}

/* Sets aside the octets of @moved from .at on, which were read ahead behind a Send that found no
 * Receive, or a Write that found no room. ahead_bytes() has limited their number. Takes @moved, the
 * scratch block. */
static void set_aside(struct qp *qp, struct qp_spill *moved)
{
	uint32_t len = moved->len - moved->at;
	struct qp_spill *s = mem_zalloc(sizeof(*s) + len);

	if (!s) {
		qp->rx.spill = moved;
		return;
	}
	s->len = len;
	memcpy(s->data, moved->data + moved->at, len);
	pool_put(&qp->store->scratch, moved);
	qp->rx.spill = s;
	qp->store->spilled += qp_spill_bytes(qp);
}

void qp_rx_resume(struct qp *qp)
{
	struct qp_rx *rx = &qp->rx;
	struct qp_spill *s = rx->spill;

	rx->starved = rx->sink_blocked = false;
	qp_rx_steps(qp);
	if (!s || qp_rx_waits(rx))
		return;
	rx->ahead_max = 0; /* none during feed() */
	s->at += (uint32_t)feed(qp, s->data + s->at, s->len - s->at);
	rx->ahead_max = 1;
	if (s->at == s->len)
		drop_spill(qp);
}

/* FPDU number @i of those read ahead is not the expected one: processes the @n octets, at least
 * one, at its place and behind. Copies them first, because their right places may overlap these
 * places. */
static __attribute__((noinline)) void take_back(struct qp *qp, uint32_t i, size_t n)
{
	struct qp_rx *rx = &qp->rx;
	struct qp_spill *moved = pool_get(&qp->store->scratch);
	const uint8_t *dst = rx->ahead_dst + (size_t)i * rx->ahead_len,
		      *stage = rx->stage + rx->tail;
	uint32_t piece;

	assert(moved); /* ahead_bytes() */
	*moved = (struct qp_spill){.is_scratch = true};
	do {
		piece = rx_io_take(&n, expected_len(rx, i));
		memcpy(moved->data + moved->len, dst, piece);
		dst += piece;
		moved->len += piece;
		piece = rx_io_take(&n, between(expected_len(rx, i)));
		memcpy(moved->data + moved->len, stage, piece);
		stage += piece;
		moved->len += piece;
	} while (n && ++i < rx->ahead);
	rx->ahead_max = 0; /* none during feed() */
	moved->at = (uint32_t)feed(qp, moved->data, moved->len);
	rx->ahead_max = 1;
	if (moved->at < moved->len && qp_rx_waits(rx))
		set_aside(qp, moved);
	else
		pool_put(&qp->store->scratch, moved);
}

static bool is_as_expected(const struct qp_rx *rx, uint32_t i)
{
	return rx->state == QP_RX_PLACE && rx->left == expected_len(rx, i) &&
	       rx->dst == rx->ahead_dst + (size_t)i * rx->ahead_len;
}

static void got_ahead(struct qp *qp, size_t n)
{
	struct qp_rx *rx = &qp->rx;
	uint32_t len = rx->payload_len;

	for (uint32_t i = 0; n; i++) {
		rx->tail += rx_io_take(&n, between(len));
		qp_rx_steps(qp);
		if (!n || qp->state != QP_OPEN)
			break;
		if (!is_as_expected(rx, i)) {
			take_back(qp, i, n);
			return;
		}
		len = expected_len(rx, i);
		placed(qp, rx_io_take(&n, len));
		if (i + 1 == rx->ahead && n) {
			rx->ahead_max = rx->ahead_max * 2 < QP_AHEAD ? rx->ahead_max * 2 : QP_AHEAD;
			rx->tail += rx_io_take(&n, between(len));
			qp_rx_steps(qp);
			break;
		}
	}
}

void qp_rx_got(struct qp *qp, size_t n)
{
	struct qp_rx *rx = &qp->rx;

	qp->counters->bytes_in += n;
	rx->octets += n;
	if (rx->direct)
		placed(qp, rx_io_take(&n, rx->direct));
	if (rx->ahead) {
		got_ahead(qp, n);
		return;
	}
	rx->tail += (uint32_t)n;
	qp_rx_steps(qp);
}
