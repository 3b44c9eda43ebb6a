/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Reads and Writes of a transaction, both on the requester's leg
 *
 * A leg has a bounded number of them outstanding, so transactions queue for slots, and the first of
 * the queue posts as many as there are. Each moves at most OP_PIECE octets, so that a slow peer's
 * progress on a large segment shows (deadlines.h).
 */
#include "base/min.h"
#include "proxy/txn_ops.h"
#include "proxy/internal.h"
#include "proxy/session_debts.h"
#include "proxy/session_end.h"
#include "proxy/session_flow.h"
#include "proxy/txn_cut_through.h"
#include "proxy/txn_device_busy.h"
#include "proxy/txn_memory.h"

/* The @i-th chunk to move: @chunk, whose segments are in @msg, and the memory for it in this
 * process, @here. Return: false past the last chunk. */
static bool chunk_at(struct txn *t, unsigned i, const struct rpc_msg **msg,
		     const struct rpc_chunk **chunk, struct txn_region *here)
{
	bool pull = t->state == TXN_PULL;
	const struct rpc_msg *m = pull ? &t->in : &t->out;
	unsigned n = pull ? m->nreads : m->nwrites;

	*msg = m;
	if (i < n) {
		*chunk = pull ? &m->reads[i] : &m->writes[i];
		*here = pull ? t->reads[i] : t->writes[i];
		return true;
	}
	if (i > n || !m->has_body_chunk)
		return false;
	*chunk = &m->body_chunk;
	if (pull)
		*here = t->body;
	else if (t->reply_body.data == t->reply.addr)
		*here = t->reply;
	else
		*here = txn_region_in(&t->reply_held, t->reply_body.data,
				      (uint32_t)t->reply_body.len);
	return true;
}

static int post_one(struct txn *t, uint8_t *at, const struct segment *seg)
{
	struct fabric_sge sge = {at, seg->length};

	if (t->state == TXN_PULL)
		return fabric_read(t->req->conn, at, seg, t);
	return fabric_write(t->req->conn, &sge, 1, seg, t);
}

/* The next piece of @seg, at most @most octets; its length is 0 when all of @seg is posted. */
static struct segment next_piece(const struct txn *t, const struct segment *seg, uint32_t most)
{
	uint32_t left = seg->length - t->op_moved;

	return (struct segment){.handle = seg->handle,
				.length = left < most ? left : most,
				.offset = seg->offset + t->op_moved};
}

/* Octets of chunk @i that were posted before: it is a Write chunk of a reply, and they were passed
 * on as they came. */
static uint32_t posted_before(const struct txn *t, unsigned i)
{
	return t->state == TXN_PUSH && i < t->out.nwrites ? txn_passed_on(t, i) : 0;
}

static void skip_posted(struct txn *t, const struct segment *seg)
{
	uint32_t before = posted_before(t, t->op_chunk), n;

	if (before <= t->op_offset)
		return;
	n = min_u32(before - t->op_offset, seg->length - t->op_moved);
	t->op_offset += n;
	t->op_moved += n;
}

/*
 * State:  results are stored, and the requester takes Writes slowly.
 * Danger: if all Writes of stored results were posted, replies without chunks and results that are
 *         cut through would wait behind them. The responder's connection is not read while a result
 *         that is cut through waits. A server that ends connections whose peer takes nothing, as
 *         another gateway does, would end the session of a client that is slow, but keeps to the
 *         least rate.
 * Rule:   Writes of stored results are held back while the requester has as many octets to take as
 *         it takes within two seconds (session_flow_window()). Reads, replies without chunks,
 *         Writes of results that are cut through, and the replies of these pass them.
 * Pinned: tests/isolation/test_same_route.c, "READs of one slow client";
 *         tests/session/test_large.c:stored_ones_are_held_back, :a_far_client_is_not_slowed_down,
 *         :held_back_ones_are_owed, :replies_of_cut_through_ones_pass_stored_ones
 */
static bool is_held_back(const struct txn *t, const struct session_ops *ops)
{
	return t->state == TXN_PUSH && session_flow_is_full(&ops->writes, t->s->proxy->now);
}

/* The most octets of the next operation of @t. Operations end at multiples of OP_PIECE, where the
 * CRCs of the octets begin anew (txn_memory.c). */
static uint32_t most_of(const struct txn *t, const struct session_ops *ops)
{
	uint64_t window = session_flow_window(&ops->writes, t->s->proxy->now);
	uint32_t piece = t->state == TXN_PULL || window >= OP_PIECE ? OP_PIECE : FLOW_WINDOW / 2;

	return piece - t->op_moved % piece;
}

/* Return: 1: all posted; 0: no slot is free, the device has no room, or @t is held back; or an
 * error. */
static int post_ops(struct txn *t, struct session_ops *ops)
{
	const struct rpc_chunk *chunk;
	const struct rpc_msg *msg;
	struct txn_region here;

	while (chunk_at(t, t->op_chunk, &msg, &chunk, &here)) {
		while (t->op_seg < chunk->count) {
			const struct segment *seg = &msg->segs[chunk->first + t->op_seg];
			struct segment piece;
			int err;

			skip_posted(t, seg);
			piece = next_piece(t, seg, most_of(t, ops));
			if (piece.length == 0) {
				t->op_seg++;
				t->op_moved = 0;
				continue;
			}
			if (session_ops_posted(ops) == SESSION_OP_DEPTH || is_held_back(t, ops))
				return 0;
			err = post_one(t, here.addr + t->op_offset, &piece);
			if (err == ERR_AGAIN && txn_device_busy_wait(t))
				return 0;
			if (err < 0)
				return err;
			fabric_sum_posted(t->req->conn, 0, here.sums, here.sums_at + t->op_offset);
			t->busy_since = 0;
			t->op_offset += piece.length;
			t->op_moved += piece.length;
			t->ops++;
			session_posted(t->state == TXN_PULL ? &ops->reads : &ops->writes,
				       piece.length, t->s->proxy->now);
		}
		t->op_chunk++;
		t->op_seg = 0;
		t->op_offset = 0;
	}
	return 1;
}

/* The first transaction that is not held back, or NULL. */
static struct txn *next_of(struct session_ops *ops)
{
	list_for_each_safe(it, tmp, &ops->queue)
	{
		struct txn *t = container_of(it, struct txn, op_link);

		if (!is_held_back(t, ops))
			return t;
	}
	return NULL;
}

/* Post operations of @t, the next in @ops. Return: whether all are posted. */
static bool try_next(struct session *s, struct session_ops *ops, struct txn *t)
{
	int rc = post_ops(t, ops);

	if (rc == 0)
		return false;
	list_del(&t->op_link);
	if (rc < 0 && rc != ERR_CLOSED) /* on ERR_CLOSED, DISCONNECTED follows */
		session_close_for(s, t->req, rc, "a Read or Write could not be posted");
	return rc > 0;
}

/* Whether octets of @t are to be read, or are to be written and were not passed on. */
static bool has_ops(const struct txn *t)
{
	const struct rpc_msg *m = &t->out;

	if (t->state == TXN_PULL)
		return t->in.nreads || t->in.has_body_chunk;
	for (unsigned i = 0; i < m->nwrites; i++)
		if (m->writes[i].count && m->writes[i].length > posted_before(t, i))
			return true;
	return m->has_body_chunk;
}

bool txn_ops_queue(struct txn *t)
{
	struct session_ops *ops = session_ops(t->s, t->req);

	if (!has_ops(t))
		return true;
	t->op_chunk = t->op_seg = 0;
	t->op_offset = t->op_moved = 0;
	list_add_tail(&ops->queue, &t->op_link);
	/* Transactions before it wait for completions, or for a shortage to end: txn_ops_next()
	 * continues. */
	return next_of(ops) == t && try_next(t->s, ops, t);
}

struct txn *txn_ops_next(struct session *s, struct leg *leg)
{
	struct session_ops *ops = session_ops(s, leg);
	struct txn *t;

	while ((t = next_of(ops))) {
		if (try_next(s, ops, t))
			return t;
		if (!list_is_empty(&t->op_link) && !is_held_back(t, ops))
			return NULL;
	}
	return NULL;
}
