/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: cut-through of a large result. may_store() and txn_waits_for_speed() say when.
 *
 * If the responder's fabric can do that, the Write chunk is exposed as a stream (fabric_stream()):
 * a handle of full length, with a window of memory behind it, which is all the memory that the
 * transaction takes for it. What the responder writes is written to the same place of the
 * requester's chunk at once, piece by piece, and the window is used again and again.
 *
 *   CALL, WAIT:  PLACED --> .pieces --Writes--> completed --> back to the window
 *   FENCE:       the reply is here: the remaining pieces, all written before it, are posted
 *   PUSH:        then the other chunks; the reply behind all of it
 *
 * State:  the requester takes no Writes, so the window is full, and all further input of the
 *         responder's connection waits.
 * Danger: the responder would be blamed for answers that lie unread, and the calls abandoned.
 * Rule:   the requester owes the Writes, and session_debts.c ends its session if it does not take
 *         them in time. Meanwhile the responder owes nothing, and no call with an answer that may
 *         lie unread is abandoned (leg_sink_is_blocked()).
 * Pinned: tests/session/test_passed.c:a_client_that_takes_nothing, :not_let_go_while_full, decision
 *         129.
 *
 * What the requester may see early is safe:
 * - No length is reported to the requester before all is fenced. The reply is then the same as
 *   without cut-through: its lengths are compared with what was written.
 * - Octets beyond the length reported, or in the chunk of a call that fails, are what the
 *   requester's own server wrote for it, in memory granted for this very call: "unused bytes in
 *   write chunk segments, are not returned as results [...] the RPC layer MUST NOT assume that the
 *   buffers have not been modified" (rfc5666bis-01 4.4.5.1).
 * - Only octets that the responder wrote through this exposure are passed on, never older ones.
 *   What it never writes is never sent, and stays the requester's own memory. What it writes twice
 *   is sent twice, in that order, as without a gateway.
 *
 * A result that is stored may be a stream as well, with memory for all of it (may_send_early()).
 * The octets that no PLACED event reported are sent when all of it has arrived (txn_ops.c).
 *
 * One chunk of a call is cut through, the first large one, and only if its requester asked for
 * nothing of the round-trip extension. The chunk is chosen before the call has memory, and the
 * choice does not change. A call that is formed again drops the pieces that are not posted and
 * waits for Writes under way, because the window is exposed again.
 */
#include "proxy/txn_cut_through.h"
#include "proxy/internal.h"
#include "proxy/session_debts.h"
#include "proxy/session_end.h"
#include "proxy/session_flow.h"
#include "proxy/txn_device_busy.h"

#include <assert.h>

/* The index of the first Write chunk that is as long as the window, or longer; .nwrites: none. */
static unsigned first_large(const struct txn *t)
{
	unsigned i = 0;

	while (i < t->in.nwrites && t->in.writes[i].length < t->s->proxy->cfg.cut_through_bytes)
		i++;
	return i;
}

static bool may_stream(const struct txn *t)
{
	return first_large(t) < t->in.nwrites && t->s->proxy->cfg.cut_through_bytes > 0 &&
	       !t->reverse && !t->in.nwishes && t->rsp->conn && t->rsp->conn->fabric->streams;
}

/* Whether the result is stored. Memory of other sessions does not matter here.
 * - If no other call of the queue holds memory, the result is cut through: the requester receives
 *   its first octets while the responder still sends the others. But it is stored if the
 *   requester's fabric has no streams. There a Write completes only after a round trip, and the
 *   window would limit the rate to its length in each round trip.
 * - Beside other calls it is stored, while all of them together, @t included, hold at most
 *   .cut_through_from octets, and no more than one RPC may. Storing is then faster where processors
 *   are few, because the responder does not wait for the requester. */
static bool may_store(const struct txn *t)
{
	const struct proxy *p = t->s->proxy;
	uint64_t most = (p->arena.bytes - p->arena.reserve) / BUDGET_SHARES;
	uint64_t bytes = session_queue(t->s, t->reverse)->taken_bytes;

	if (bytes == 0 && t->req->conn && t->req->conn->fabric->streams)
		return false;
	for (unsigned i = 0; i < t->in.nwrites; i++)
		bytes += t->in.writes[i].length;
	return bytes <= (p->cfg.cut_through_from < most ? p->cfg.cut_through_from : most);
}

/*
 * State:  calls of a session hold payload memory, most of it stored results. Their requester takes
 *         Writes slowly, or its rate is not known yet. Further results would be cut through.
 * Danger: the requester is busy with the stored results, so the responder's connection is hardly
 *         read, and its TCP window closes. A responder that ends connections whose peer takes
 *         nothing, as another gateway does, would end the session of a client that keeps to the
 *         least rate.
 * Rule:   beside other calls that hold memory, a result is cut through only if the requester was
 *         seen to take Writes fast (session_flow_is_fast()). Otherwise its call waits. It is tried
 *         again each time that a call of the session ends. It is stored as soon as there is room
 *         for it, and cut through if no other call holds memory any more.
 * Pinned: tests/session/test_large.c:further_ones_wait_for_a_slow_client
 */
bool txn_waits_for_speed(const struct txn *t)
{
	return t->way != TXN_CUT_THROUGH && may_stream(t) && !may_store(t) &&
	       session_queue(t->s, t->reverse)->taken_bytes > 0 &&
	       !session_flow_is_fast(&session_ops(t->s, t->req)->writes, t->s->proxy->now);
}

/*
 * Whether a stored result is sent to the requester while it arrives from the responder
 *
 * - The worker sends octets while they are in the processor's cache. So the result costs less
 *   processor time than one that is sent when all of it has arrived.
 * - The stream has memory for all of the result. So the responder does not wait for the requester,
 *   as it does where a result is cut through. If it writes out of order, the octets from the first
 *   gap on are sent when all of the result has arrived. Only octets that it writes twice may wait.
 * - A requester that is slow, or not known yet, gets the result when all of it has arrived
 *   (txn_ops.c).
 * - A version 2 responder may be asked for results by Send (the round-trip extension), and then
 *   writes nothing.
 */
static bool may_send_early(const struct txn *t)
{
	return !t->rsp->t->ops->places && t->req->conn && t->req->conn->fabric->streams &&
	       session_flow_is_fast(&session_ops(t->s, t->req)->writes, t->s->proxy->now);
}

/* A result that was to be cut through stays so, even if its call waits for memory. */
void txn_choose_cut_through(struct txn *t)
{
	if (t->way == TXN_CUT_THROUGH)
		return;
	t->way = TXN_STORED;
	if (may_stream(t) && !may_store(t))
		t->way = TXN_CUT_THROUGH;
	else if (may_stream(t) && may_send_early(t))
		t->way = TXN_SENT_EARLY;
}

bool txn_is_streamed(const struct txn *t, unsigned i)
{
	return t->way != TXN_STORED && i == first_large(t);
}

uint64_t txn_write_memory(const struct txn *t, unsigned i)
{
	return t->way == TXN_CUT_THROUGH && i == first_large(t) ? t->s->proxy->cfg.cut_through_bytes
								: t->in.writes[i].length;
}

bool txn_has_window(const struct txn *t)
{
	for (unsigned i = 0; i < t->in.nwrites; i++)
		if (t->writes[i].window)
			return true;
	return false;
}

int txn_stream(struct txn *t, struct txn_region *r, struct segment *seg)
{
	const struct fabric_piece window = {r->addr, r->window};

	t->stream = r;
	t->passed_on = 0;
	return fabric_stream(t->rsp->conn, &window, r->cap, t, seg);
}

uint32_t txn_passed_on(const struct txn *t, unsigned i)
{
	const struct txn_region *r = &t->writes[i];

	return !r->window ? 0 : r->window < r->cap ? r->cap : t->passed_on;
}

static struct txn_piece *piece_at(struct txn *t, unsigned k)
{
	return &t->pieces[(t->first_piece + k) % FABRIC_STREAM_PIECES];
}

/* The segment of the requester's chunk for its @at-th octet and those behind it. */
static struct segment place_of(const struct txn *t, uint32_t at)
{
	const struct rpc_chunk *c = &t->in.writes[t->stream - t->writes];
	const struct segment *seg = &t->in.segs[c->first];

	for (; at >= seg->length; seg++)
		at -= seg->length;
	return (struct segment){
		.handle = seg->handle, .length = seg->length - at, .offset = seg->offset + at};
}

/* Results that are sent early pass no others: is_held_back() in txn_ops.c has the rule. */
static bool is_held_back(const struct txn *t)
{
	return t->way == TXN_SENT_EARLY &&
	       session_flow_is_full(&session_ops(t->s, t->req)->writes, t->s->proxy->now);
}

/* Post the next part of @p. Return: 0, or an error; ERR_AGAIN: it has to wait. */
static int write_piece(struct txn *t, struct txn_piece *p)
{
	struct session_ops *ops = session_ops(t->s, t->req);
	struct segment to = place_of(t, p->offset + p->posted);
	struct fabric_sge from = {p->at + p->posted, p->len - p->posted};
	int err;

	if (session_ops_posted(ops) == SESSION_OP_DEPTH || is_held_back(t))
		return ERR_AGAIN;
	if (from.len > to.length)
		from.len = to.length;
	if (from.len > OP_PIECE)
		from.len = OP_PIECE;
	err = fabric_write(t->req->conn, &from, 1, &to, t);
	if (err == ERR_AGAIN)
		return txn_device_busy_wait(t) ? ERR_AGAIN : ERR_NOMEM;
	if (err < 0)
		return err;
	fabric_sum_posted(t->req->conn, 0, t->stream->sums, p->offset + p->posted);
	t->busy_since = 0;
	p->posted += from.len;
	p->writes++;
	t->cut_through_writes++;
	session_posted(&ops->writes, from.len, t->s->proxy->now);
	if (t->way == TXN_CUT_THROUGH)
		t->s->route->count.passed_bytes += from.len;
	return 0;
}

static int post_pieces(struct txn *t)
{
	int err = 0;

	for (unsigned k = 0; k < t->npieces && err == 0; k++) {
		struct txn_piece *p = piece_at(t, k);

		while (p->posted < p->len && err == 0)
			err = write_piece(t, p);
	}
	return err;
}

void txn_cut_through_write(struct txn *t)
{
	int err = post_pieces(t);

	list_del(&t->cut_through_link);
	if (err < 0)
		list_add_tail(&session_ops(t->s, t->req)->cut_through_txns, &t->cut_through_link);
	if (err < 0 && err != ERR_AGAIN &&
	    err != ERR_CLOSED) /* on ERR_CLOSED, DISCONNECTED follows */
		session_close_for(t->s, t->req, err, "a Write could not be posted");
}

void txn_placed(struct txn *t, const struct leg_out *out)
{
	assert(t->stream && t->stream->handle == out->handle);
	if (t->passed_on < out->offset + out->len)
		t->passed_on = out->offset + out->len;
	if (t->npieces < FABRIC_STREAM_PIECES)
		*piece_at(t, t->npieces++) =
			(struct txn_piece){.at = out->at, .offset = out->offset, .len = out->len};
	else
		piece_at(t, t->npieces - 1)->len += out->len;
	if (list_is_empty(&t->cut_through_link))
		txn_cut_through_write(t);
}

/* The oldest piece was written: its memory goes back to the window. */
static void piece_done(struct txn *t)
{
	uint32_t len = piece_at(t, 0)->len;

	t->first_piece = (t->first_piece + 1) % FABRIC_STREAM_PIECES;
	t->npieces--;
	if (t->stream->handle)
		fabric_went_on(t->rsp->conn, t->stream->handle, len);
}

void txn_cut_through_written(struct txn *t)
{
	struct txn_piece *p = piece_at(t, 0);

	assert(t->npieces > 0 && p->writes > 0);
	t->cut_through_writes--;
	p->writes--;
	if (p->writes == 0 && p->posted == p->len)
		piece_done(t);
}

bool txn_cut_through_waits(const struct txn *t)
{
	if (t->state == TXN_AGAIN)
		return t->cut_through_writes > 0;
	return t->state == TXN_FENCE && !list_is_empty(&t->cut_through_link);
}

/* Pieces without a Write under way are dropped. Pieces with a Write stay until it completes,
 * without the octets not posted. No memory goes back to the window, because the window is
 * withdrawn. */
void txn_cut_through_stop(struct txn *t)
{
	list_del(&t->cut_through_link);
	while (t->npieces > 0 && piece_at(t, t->npieces - 1)->writes == 0)
		t->npieces--;
	for (unsigned k = 0; k < t->npieces; k++)
		piece_at(t, k)->len = piece_at(t, k)->posted;
}

struct txn *txn_cut_through_next(struct session *s, struct leg *leg)
{
	list_for_each_safe(it, tmp, &session_ops(s, leg)->cut_through_txns)
	{
		struct txn *t = container_of(it, struct txn, cut_through_link);

		if (is_held_back(t))
			continue;
		txn_cut_through_write(t);
		return list_is_empty(&t->cut_through_link) ? t : NULL;
	}
	return NULL;
}
