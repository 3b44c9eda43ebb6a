/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Reads and Writes of a transaction, both on the requester's leg
 *
 * A leg has a bounded number of them outstanding, so transactions queue for slots, and the first of
 * the queue posts as many as there are. Each moves at most OP_PIECE octets, so that a slow peer's
 * progress on a large segment shows (deadlines.h).
 */
#include "proxy/txn_ops.h"
#include "proxy/internal.h"
#include "proxy/session_debts.h"
#include "proxy/session_end.h"
#include "proxy/session_flow.h"
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

/* The next piece of @seg; its length is 0 when all of @seg is posted. */
static struct segment next_piece(const struct txn *t, const struct segment *seg)
{
	uint32_t left = seg->length - t->op_moved;

	return (struct segment){.handle = seg->handle,
				.length = left < OP_PIECE ? left : OP_PIECE,
				.offset = seg->offset + t->op_moved};
}

/* Whether the chunk was cut through: the requester has it, or it is on its way. */
static bool is_cut_through(const struct txn *t)
{
	return t->state == TXN_PUSH && t->op_chunk < t->out.nwrites &&
	       t->writes[t->op_chunk].window;
}

/* Return: 1: all posted; 0: no slot is free, or the device has no room; or an error. */
static int post_ops(struct txn *t, struct session_ops *ops)
{
	const struct rpc_chunk *chunk;
	const struct rpc_msg *msg;
	struct txn_region here;

	while (chunk_at(t, t->op_chunk, &msg, &chunk, &here)) {
		while (t->op_seg < chunk->count && !is_cut_through(t)) {
			struct segment piece = next_piece(t, &msg->segs[chunk->first + t->op_seg]);
			int err;

			if (piece.length == 0) {
				t->op_seg++;
				t->op_moved = 0;
				continue;
			}
			if (session_ops_posted(ops) == SESSION_OP_DEPTH)
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
				       piece.length);
		}
		t->op_chunk++;
		t->op_seg = 0;
		t->op_offset = 0;
	}
	return 1;
}

/* Post operations of @t, the first in @ops. Return: whether all are posted. */
static bool try_first(struct session *s, struct session_ops *ops, struct txn *t)
{
	int rc = post_ops(t, ops);

	if (rc == 0)
		return false;
	list_del(&t->op_link);
	if (rc < 0 && rc != ERR_CLOSED) /* on ERR_CLOSED, DISCONNECTED follows */
		session_close_for(s, t->req, rc, "a Read or Write could not be posted");
	return rc > 0;
}

static bool has_ops(const struct txn *t)
{
	return t->state == TXN_PULL ? t->in.nreads || t->in.has_body_chunk
				    : t->out.nwrites || t->out.has_body_chunk;
}

bool txn_ops_begin(struct txn *t)
{
	struct session_ops *ops = session_ops(t->s, t->req);
	bool is_first = list_is_empty(&ops->queue);

	if (is_first && !has_ops(t))
		return true;
	t->op_chunk = t->op_seg = 0;
	t->op_offset = t->op_moved = 0;
	list_add_tail(&ops->queue, &t->op_link);
	/* Transactions before it wait for completions, or for a shortage to end: txn_ops_next()
	 * continues. */
	return is_first && try_first(t->s, ops, t);
}

struct txn *txn_ops_next(struct session *s, struct leg *leg)
{
	struct session_ops *ops = session_ops(s, leg);

	while (!list_is_empty(&ops->queue)) {
		struct txn *t = list_first(&ops->queue, struct txn, op_link);

		if (try_first(s, ops, t))
			return t;
		if (!list_is_empty(&t->op_link))
			return NULL;
	}
	return NULL;
}
