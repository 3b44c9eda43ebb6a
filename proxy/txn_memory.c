/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory of a transaction: one contiguous region for each chunk. It is filled from one leg
 * and exposed to, or sent on, the other leg, so payload is never copied. */
#include <string.h>

#include "proxy/txn_memory.h"
#include "proxy/deadlines.h"
#include "proxy/internal.h"
#include "proxy/plan/segments.h"
#include "proxy/txn_admit.h"
#include "proxy/txn_cut_through.h"

static size_t need_of(uint64_t len, unsigned *exposures)
{
	if (len == 0)
		return 0;
	(*exposures)++;
	return buf_round((size_t)len);
}

size_t txn_need(const struct txn *t, unsigned *exposures)
{
	size_t bytes = 0;

	/* The body may have to be exposed, unless the call has no chunks and fits a Send. */
	*exposures = !txn_is_plain(&t->in) || t->plan.form != PLAN_INLINE;
	for (unsigned i = 0; i < t->in.nreads; i++)
		if (rpc_msg_placed(&t->in, &t->in.reads[i])) /* the data are in the Receive */
			(*exposures)++;
		else
			bytes += need_of(t->in.reads[i].length, exposures);
	for (unsigned i = 0; i < t->in.nwrites; i++)
		bytes += need_of(txn_write_memory(t, i), exposures);
	if (t->in.has_body_chunk)
		bytes += buf_round((size_t)t->in.body_chunk.length);
	return bytes + need_of(t->reply_bytes, exposures);
}

bool txn_is_large(const struct txn *t)
{
	bool large = t->reply_bytes > SESSION_LARGE;

	for (unsigned i = 0; i < t->in.nreads; i++)
		large |= t->in.reads[i].length > SESSION_LARGE &&
			 !rpc_msg_placed(&t->in, &t->in.reads[i]);
	for (unsigned i = 0; i < t->in.nwrites; i++)
		large |= txn_write_memory(t, i) > SESSION_LARGE;
	return large || (t->in.has_body_chunk && t->in.body_chunk.length > SESSION_LARGE);
}

/* Octets after which the next RDMA Write to the segments of @c begins: the length of one segment,
 * or OP_PIECE if the segment is longer. */
static uint32_t write_period(const struct txn *t, const struct rpc_chunk *c)
{
	uint32_t first = c->count ? t->in.segs[c->first].length : 0;

	return first && first < OP_PIECE ? first : OP_PIECE;
}

/* Take CRCs (struct fabric_sums) for @memory octets of @r, which come on @from and go on on @to.
 * For small items CRCs cost more time than they save. */
static void take_sums(struct txn_region *r, uint64_t memory, const struct leg *from,
		      const struct leg *to, uint32_t period)
{
	if (memory >= TXN_LEAST_SUMMED)
		r->sums = fabric_sums_take(from->conn, to->conn, (uint32_t)memory, period);
}

static int region_take(struct txn *t, struct txn_region *r, uint64_t len)
{
	*r = (struct txn_region){0};
	if (len == 0)
		return 0;
	r->addr = quota_take(&session_queue(t->s, t->reverse)->quota, (size_t)len);
	if (!r->addr)
		return ERR_AGAIN;
	r->cap = (uint32_t)len;
	r->owned = true;
	return 0;
}

struct txn_region txn_region_in(const struct leg_held *held, const uint8_t *octets, uint32_t len)
{
	struct leg_summed s = leg_summed(held, octets);

	return (struct txn_region){
		.addr = (uint8_t *)(uintptr_t)octets, .cap = len, .sums = s.sums, .sums_at = s.at};
}

static struct leg_summed summed_region(const struct txn_region *r)
{
	return (struct leg_summed){r->sums, r->addr, r->len, r->sums_at};
}

void txn_find_sums(struct leg_tx *tx, const struct leg_held *held, struct view body,
		   const struct txn_region *whole, const struct txn_region *items, unsigned n)
{
	uint32_t most = TXN_LEAST_SUMMED - 1;

	if (body.len >= TXN_LEAST_SUMMED)
		tx->summed[0] = body.data == whole->addr ? summed_region(whole)
							 : leg_summed(held, body.data);
	for (unsigned i = 0; i < n; i++) {
		if (items[i].len <= most || items[i].window)
			continue;
		most = items[i].len;
		tx->summed[1] = summed_region(&items[i]);
	}
}

/* Data that came with the call stay in its Receive, which is kept until they are read. */
static int read_take(struct txn *t, unsigned i)
{
	const struct rpc_chunk *c = &t->in.reads[i];
	const uint8_t *placed = rpc_msg_placed(&t->in, c);

	if (!placed) {
		int err = region_take(t, &t->reads[i], c->length);

		if (err == 0)
			take_sums(&t->reads[i], c->length, t->req, t->rsp,
				  t->rsp->t->peer.segment_bytes);
		return err;
	}
	t->reads[i] = txn_region_in(&t->call_held, placed, (uint32_t)c->length);
	return 0;
}

/* Take the memory of a Write chunk: as much as the chunk can hold, or a window. */
static int write_take(struct txn *t, unsigned i)
{
	uint64_t len = t->in.writes[i].length, memory = txn_write_memory(t, i);
	int err = region_take(t, &t->writes[i], memory);

	if (err == 0 && txn_is_streamed(t, i)) {
		t->writes[i].window = (uint32_t)memory;
		t->writes[i].cap = (uint32_t)len;
	}
	if (err == 0)
		take_sums(&t->writes[i], memory, t->rsp, t->req, write_period(t, &t->in.writes[i]));
	return err;
}

/* A call that comes by Read chunk at position zero. */
static int body_take(struct txn *t)
{
	int err;

	if (!t->in.has_body_chunk)
		return region_take(t, &t->body, 0);
	err = region_take(t, &t->body, t->in.body_chunk.length);
	if (err == 0)
		take_sums(&t->body, t->body.cap, t->req, t->rsp, t->rsp->t->peer.segment_bytes);
	return err;
}

/* A reply that comes by Reply chunk, and leaves by the requester's. */
static int reply_take(struct txn *t)
{
	int err = region_take(t, &t->reply, t->reply_bytes);

	if (err == 0 && t->in.has_reply)
		take_sums(&t->reply, t->reply.cap, t->rsp, t->req, write_period(t, &t->in.reply));
	return err;
}

static int take_all(struct txn *t)
{
	int err = body_take(t);

	for (unsigned i = 0; i < t->in.nreads && err == 0; i++)
		err = read_take(t, i);
	for (unsigned i = 0; i < t->in.nwrites && err == 0; i++)
		err = write_take(t, i);
	return err == 0 ? reply_take(t) : err;
}

typedef void give_fn(struct quota_member *m, void *block);

static void region_give(struct txn *t, struct txn_region *r, give_fn *back)
{
	if (!r->owned)
		return;
	fabric_sums_give(r->sums);
	back(&session_queue(t->s, t->reverse)->quota, r->addr);
	*r = (struct txn_region){0};
}

static void give_all(struct txn *t, give_fn *back)
{
	for (unsigned i = 0; i < t->in.nreads; i++)
		region_give(t, &t->reads[i], back);
	for (unsigned i = 0; i < t->in.nwrites; i++)
		region_give(t, &t->writes[i], back);
	region_give(t, &t->body, back);
	region_give(t, &t->reply, back);
}

int txn_take(struct txn *t)
{
	int err = take_all(t);

	if (err < 0)
		give_all(t, quota_undo);
	return err;
}

/* Whether the XDR word that ends at @end of the Reply chunk still holds the mark. */
static bool is_marked(const struct txn *t, uint32_t end)
{
	const uint8_t *mark = (const uint8_t *)&t->mark;

	return memcmp(t->reply.addr + end - 4, mark + (end - 4) % sizeof(t->mark), 4) == 0;
}

/* Whether the octets of the reported length behind its last whole word still hold the mark. Of a
 * server that leaves out the pad of a reply's last item (decision 91), one octet is the same in one
 * of 256 cases: then the session ends, and its requester sends the call again. */
static bool tail_is_marked(const struct txn *t)
{
	const uint8_t *mark = (const uint8_t *)&t->mark;
	uint32_t tail = t->reply.len % 4, at = t->reply.len - tail;

	return tail && memcmp(t->reply.addr + at, mark + at % sizeof(t->mark), tail) == 0;
}

/* Linux adds the padded lengths of the Write chunks to that of the Reply chunk, and limits the
 * sum to the chunk's length. Return: how much it adds. */
static uint64_t linux_adds(const struct txn *t)
{
	uint64_t added = 0;

	for (unsigned i = 0; i < t->in.nwrites; i++)
		added += (t->writes[i].len + UINT64_C(3)) & ~UINT64_C(3);
	return t->rsp->t->ops->traits->unsure_lengths ? added : 0;
}

/* Return: where the mark begins in the Reply chunk, between @from and @end, two ends of words. The
 * mark is behind what was written, so a binary search finds it. */
static uint32_t mark_begins(const struct txn *t, uint32_t from, uint32_t end)
{
	while (from < end) {
		uint32_t middle = from + (end - from) / 8 * 4;

		if (is_marked(t, middle + 4))
			end = middle;
		else
			from = middle + 4;
	}
	return end;
}

/*
 * The end of the reply in a Reply chunk that was filled with the mark; 0: the reported length is
 * false
 *
 * A reply whose last word, or part of a word, is the mark was not written to its end. If the last
 * word is whole, the reply is cut where the mark begins in two cases: the server reported the
 * length of the chunk; or the octets of mark are exactly those that Linux adds. Of a word that was
 * written in part, up to three octets of mark are not noticed.
 */
static uint32_t marked_end(const struct txn *t)
{
	uint64_t added = linux_adds(t);
	uint32_t len = t->reply.len, whole = len - len % 4, least;

	if (!t->mark)
		return len;
	if (!whole || !is_marked(t, whole))
		return tail_is_marked(t) ? 0 : len;
	if (len == t->reply.cap)
		return mark_begins(t, 0, whole);
	if (len != whole || added >= len)
		return 0;
	least = len - (uint32_t)added;
	return !is_marked(t, least) && mark_begins(t, least, len) == least ? least : 0;
}

/* Whether the responder wrote all that it reported in @r. */
static bool is_written(const struct txn_region *r)
{
	if (r->sent)
		return true;
	return r->len <= (r->written == FABRIC_WRITTEN_UNKNOWN ? r->blank : r->written);
}

/* Octets of the Reply chunk that are the reply; 0: its length is false. */
static uint32_t reply_end(const struct txn *t)
{
	const struct txn_region *r = &t->reply;
	uint64_t inflated = r->written + linux_adds(t);

	if (r->written == FABRIC_WRITTEN_UNKNOWN)
		return r->len <= r->blank ? marked_end(t) : 0;
	if (r->len <= r->written)
		return r->len;
	return r->len == (inflated < r->cap ? inflated : r->cap) ? r->written : 0;
}

int txn_check_results(struct txn *t)
{
	for (unsigned i = 0; i < t->in.nwrites; i++)
		if (t->writes[i].len && !is_written(&t->writes[i]))
			return ERR_PROTO;
	if (t->reply.len)
		t->reply_body.len = reply_end(t);
	return t->reply_body.len > 0 ? 0 : ERR_PROTO;
}

void txn_adopt_sent(struct txn *t)
{
	for (unsigned i = 0; i < t->in.nwrites; i++) {
		struct txn_region *r = &t->writes[i], was = *r;

		if (!r->sent)
			continue;
		region_give(t, r, quota_give);
		*r = txn_region_in(&t->reply_held, was.sent, was.cap);
		r->len = was.len;
		r->sent = was.sent;
		r->position = was.position;
	}
}

void txn_give(struct txn *t)
{
	give_all(t, quota_give);
}

int txn_cut(struct txn *t, const struct segment *whole, const struct rpc_chunk *like,
	    struct rpc_chunk *chunk)
{
	struct segment cut[RPC_MAX_SEGMENTS];
	uint32_t runs[RPC_MAX_SEGMENTS], most = t->shape.most;
	int n, err = 0;

	if (like && t->shape.as_offered)
		most = t->rsp->t->peer.segment_bytes;
	n = like ? plan_cut(whole, runs, plan_runs(&t->in, like, &t->shape, runs), most, cut,
			    RPC_MAX_SEGMENTS)
		 : plan_split(whole, most, cut, RPC_MAX_SEGMENTS);
	for (int i = 0; i < n && err == 0; i++)
		err = rpc_msg_add_segment(&t->out, chunk, &cut[i]);
	return n < 0 ? n : err;
}

int txn_expose(struct txn *t, struct txn_region *r, uint32_t len, unsigned access,
	       const struct rpc_chunk *like, struct rpc_chunk *chunk)
{
	struct segment whole;
	int err;

	/* Without .reports_written the memory is blank, and has to stay so (txn_zero_sink.c). */
	if (access == FABRIC_REMOTE_WRITE && t->rsp->conn->fabric->reports_written)
		access |= FABRIC_SCRATCH;
	err = r->window ? txn_stream(t, r, &whole)
			: fabric_expose(t->rsp->conn, r->addr, len, access, &whole);
	if (err < 0)
		return err;
	r->handle = whole.handle;
	r->written = 0;
	fabric_sum_exposure(t->rsp->conn, r->handle, r->sums, r->sums_at);
	t->exposed++;
	*chunk = (struct rpc_chunk){.count = 0};
	return txn_cut(t, &whole, like, chunk);
}

static void region_fence(struct txn *t, struct txn_region *r)
{
	if (r->handle == 0)
		return;
	if (fabric_withdraw(t->rsp->conn, r->handle, t, &r->written) == 0)
		t->ops++;
	else
		r->handle = 0;
	t->exposed--;
}

void txn_fenced(struct txn *t, uint32_t handle, uint32_t written)
{
	struct txn_region *r = &t->reply;

	for (unsigned i = 0; i < t->in.nwrites && r->handle != handle; i++)
		r = &t->writes[i];
	if (r->handle != handle)
		return; /* an exposure for reading */
	r->written = written;
	r->handle = 0;
}

void txn_forget_handles(struct txn *t)
{
	for (unsigned i = 0; i < t->in.nreads; i++)
		t->reads[i].handle = 0;
	for (unsigned i = 0; i < t->in.nwrites; i++)
		t->writes[i].handle = 0;
	t->body.handle = t->reply.handle = 0;
}

bool txn_fence(struct txn *t)
{
	unsigned before = t->ops;

	if (!t->exposed)
		return true;
	for (unsigned i = 0; i < t->in.nreads && t->exposed; i++)
		region_fence(t, &t->reads[i]);
	for (unsigned i = 0; i < t->in.nwrites && t->exposed; i++)
		region_fence(t, &t->writes[i]);
	region_fence(t, &t->body);
	region_fence(t, &t->reply);
	return t->ops == before;
}
