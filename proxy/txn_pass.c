/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: a large result is not stored, once its session has much memory. Where the responder's fabric can do that its
 * Write chunk is a stream (fabric_stream()): a handle of full length, and behind it a window of memory, which is all that the
 * transaction has for it. What the responder writes is written on to the same place of the requester's chunk at once, piece by
 * piece, and the window is used over and over.
 *
 *	CALL, WAIT:  PLACED --> .pieces --Writes--> completed --> the window's again     (nobody is told yet)
 *	FENCE:       the reply is here: what came before it is posted to the last piece,
 *	PUSH:        then the other chunks; the reply behind all of it
 *
 * While the requester takes nothing the window is full, and all that the responder says on this connection waits: it is
 * the requester's own session, who owes his Writes (session_debts.c) and ends for that; the responder is not blamed meanwhile,
 * nor are calls let go whose answers may be among that (leg_is_full()).
 *
 * Nothing is said of these octets before all is fenced, and what is said then is what it would have been without
 * this: the lengths of the reply are held against what was written, as ever. What lies in the chunk beyond the length told there,
 * or beside an error, is what the requester's own server wrote for it, in memory granted for this very call: "unused bytes in write
 * chunk segments, are not returned as results [...] the RPC layer MUST NOT assume that the buffers have not been
 * modified" (rfc5666bis-01 4.4.5.1).
 *
 * They are octets that the responder was seen to write through this exposure, never older ones; what it never writes is
 * never sent, and stays the requester's own memory. What it writes twice goes twice, in that order, as it would without a gateway.
 *
 * One chunk of a call goes so, the first that is large; and of those alone whose requester wished for nothing else
 * (the round-trip extension): that is known before there is memory for the call, and does not change. A call that is formed
 * again gives up what came and did not go, and waits for what is under way, as the window is exposed anew.
 */
#include "proxy/internal.h"

#include <assert.h>

enum { PASS_WINDOWS = 2 }; /* a chunk that goes so is so many windows long at least */

static bool may_stream(const struct txn *t)
{
	return t->s->proxy->cfg.pass_bytes > 0 && !t->reverse && !t->in.nwishes && t->rsp->conn &&
	       t->rsp->conn->fabric->streams;
}

/* To store is faster where processors are few, for so a responder does not wait for the requester: while that takes little
 * memory, and no more than one RPC may have. What others have is no matter: nobody's results go another way for them. */
static bool may_store(const struct txn *t)
{
	const struct proxy *p = t->s->proxy;
	uint64_t most = (p->arena.bytes - p->arena.reserve) / BUDGET_SHARES;
	uint64_t bytes = session_queue(t->s, t->reverse)->taken_bytes;

	for (unsigned i = 0; i < t->in.nwrites; i++)
		bytes += t->in.writes[i].length;
	return bytes <= (p->cfg.pass_from < most ? p->cfg.pass_from : most);
}

/* One that was to go on as it comes does so, though it may have waited since. */
void txn_choose_way(struct txn *t)
{
	t->passes |= may_stream(t) && !may_store(t);
}

/* Which one; .nwrites: none. */
static unsigned chunk_of(const struct txn *t)
{
	uint64_t least = (uint64_t)PASS_WINDOWS * t->s->proxy->cfg.pass_bytes;
	unsigned i = 0;

	if (!t->passes)
		return t->in.nwrites;
	while (i < t->in.nwrites && t->in.writes[i].length < least)
		i++;
	return i;
}

uint64_t txn_write_memory(const struct txn *t, unsigned i)
{
	return i == chunk_of(t) ? t->s->proxy->cfg.pass_bytes : t->in.writes[i].length;
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
	return fabric_stream(t->rsp->conn, &window, r->cap, t, seg);
}

static struct txn_piece *piece_at(struct txn *t, unsigned k)
{
	return &t->pieces[(t->first_piece + k) % FABRIC_STREAM_PIECES];
}

/* Where the @at-th octet of the chunk belongs, and those behind it. */
static struct segment place_of(const struct txn *t, uint32_t at)
{
	const struct rpc_chunk *c = &t->in.writes[t->stream - t->writes];
	const struct segment *seg = &t->in.segs[c->first];

	for (; at >= seg->length; seg++)
		at -= seg->length;
	return (struct segment){
		.handle = seg->handle, .length = seg->length - at, .offset = seg->offset + at};
}

/* What is next of @p. Return: 0, or an error: ERR_AGAIN, it has to wait. */
static int post_part(struct txn *t, struct txn_piece *p)
{
	struct session_ops *ops = session_ops(t->s, t->req);
	struct segment to = place_of(t, p->offset + p->posted);
	struct fabric_sge from = {p->at + p->posted, p->len - p->posted};
	int err;

	if (session_ops_posted(ops) == SESSION_OP_DEPTH)
		return ERR_AGAIN;
	if (from.len > to.length)
		from.len = to.length;
	if (from.len > OP_PIECE)
		from.len = OP_PIECE;
	err = fabric_write(t->req->conn, &from, 1, &to, t);
	if (err == ERR_AGAIN)
		return txn_short(t) ? ERR_AGAIN : ERR_NOMEM;
	if (err < 0)
		return err;
	t->short_since = 0;
	p->posted += from.len;
	p->writes++;
	t->passing++;
	session_posted(&ops->writes, from.len);
	t->s->route->count.passed_bytes += from.len;
	return 0;
}

static int post_pieces(struct txn *t)
{
	int err = 0;

	for (unsigned k = 0; k < t->npieces && err == 0; k++) {
		struct txn_piece *p = piece_at(t, k);

		while (p->posted < p->len && err == 0)
			err = post_part(t, p);
	}
	return err;
}

void txn_pass_on(struct txn *t)
{
	int err = post_pieces(t);

	list_del(&t->pass_link);
	if (err < 0)
		list_add_tail(&session_ops(t->s, t->req)->passers, &t->pass_link);
	if (err < 0 && err != ERR_AGAIN && err != ERR_CLOSED) /* else DISCONNECTED is on its way */
		session_close(t->s, err, "a Write could not be posted");
}

void txn_placed(struct txn *t, const struct leg_out *out)
{
	assert(t->stream && t->stream->handle == out->handle && t->npieces < FABRIC_STREAM_PIECES);
	*piece_at(t, t->npieces++) =
		(struct txn_piece){.at = out->at, .offset = out->offset, .len = out->len};
	if (list_is_empty(&t->pass_link))
		txn_pass_on(t);
}

/* The oldest piece is through. */
static void piece_done(struct txn *t)
{
	uint32_t len = piece_at(t, 0)->len;

	t->first_piece = (t->first_piece + 1) % FABRIC_STREAM_PIECES;
	t->npieces--;
	if (t->stream->handle)
		fabric_went_on(t->rsp->conn, t->stream->handle, len);
}

void txn_passed(struct txn *t)
{
	struct txn_piece *p = piece_at(t, 0);

	assert(t->npieces > 0 && p->writes > 0);
	t->passing--;
	p->writes--;
	if (p->writes == 0 && p->posted == p->len)
		piece_done(t);
}

bool txn_pass_waits(const struct txn *t)
{
	if (t->state == TXN_AGAIN)
		return t->passing > 0;
	return t->state == TXN_FENCE && !list_is_empty(&t->pass_link);
}

/* Nothing is exposed by then, so what is given back goes nowhere. */
void txn_pass_no_more(struct txn *t)
{
	list_del(&t->pass_link);
	while (t->npieces > 0 && piece_at(t, t->npieces - 1)->writes == 0)
		t->npieces--;
	for (unsigned k = 0; k < t->npieces; k++)
		piece_at(t, k)->len = piece_at(t, k)->posted;
}

struct txn *txn_pass_next(struct session *s, struct leg *leg)
{
	struct list *passers = &session_ops(s, leg)->passers;
	struct txn *t;

	if (list_is_empty(passers))
		return NULL;
	t = list_first(passers, struct txn, pass_link);
	txn_pass_on(t);
	return list_is_empty(&t->pass_link) ? t : NULL;
}
