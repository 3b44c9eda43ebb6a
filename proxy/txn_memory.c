/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of a transaction: one contiguous region for each chunk, filled from
 * one leg and exposed to, or sent on, the other, so that payload is never copied.
 */
#include <string.h>

#include "proxy/session.h"

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

	/* A body that came inline may have to be exposed, too. */
	*exposures = 1;
	for (unsigned i = 0; i < t->in.nreads; i++)
		bytes += need_of(t->in.reads[i].length, exposures);
	for (unsigned i = 0; i < t->in.nwrites; i++)
		bytes += need_of(t->in.writes[i].length, exposures);
	if (t->in.has_body_chunk)
		bytes += buf_round((size_t)t->in.body_chunk.length);
	return bytes + need_of(t->reply_bytes, exposures);
}

static int take(struct txn *t, struct txn_region *r, uint64_t len)
{
	*r = (struct txn_region){0};
	if (len == 0)
		return 0;
	r->addr = buf_alloc(&t->s->proxy->arena, (size_t)len, BUF_TRANSACTION);
	if (!r->addr)
		return ERR_AGAIN;
	r->cap = (uint32_t)len;
	r->owned = true;
	return 0;
}

static int take_all(struct txn *t)
{
	int err = take(t, &t->body, t->in.has_body_chunk ? t->in.body_chunk.length : 0);

	for (unsigned i = 0; i < t->in.nreads && err == 0; i++)
		err = take(t, &t->reads[i], t->in.reads[i].length);
	for (unsigned i = 0; i < t->in.nwrites && err == 0; i++)
		err = take(t, &t->writes[i], t->in.writes[i].length);
	return err == 0 ? take(t, &t->reply, t->reply_bytes) : err;
}

int txn_take(struct txn *t)
{
	int err = take_all(t);

	if (err < 0)
		txn_give(t);
	return err;
}

/* Memory of others is not for the responder's peer: a fabric that cannot tell what was written
 * gets it blank. */
static void blank(struct txn *t, const struct txn_region *r, uint32_t len)
{
	if (t->rsp->conn->fabric->tells_written)
		return;
	if (r != &t->reply || !t->in.nwrites) {
		memset(r->addr, 0, len);
		return;
	}
	t->mark = session_random(t->s->proxy) | 1;
	for (uint32_t at = 0; at < len; at += (uint32_t)sizeof(t->mark))
		memcpy(r->addr + at, &t->mark,
		       len - at < sizeof(t->mark) ? len - at : sizeof(t->mark));
}

/* Whether the XDR word that ends at @end of the Reply chunk is as it was before. */
static bool is_marked(const struct txn *t, uint32_t end)
{
	const uint8_t *mark = (const uint8_t *)&t->mark;

	return memcmp(t->reply.addr + end - 4, mark + (end - 4) % sizeof(t->mark), 4) == 0;
}

/*
 * Linux adds the lengths in the Write chunks, padded, to that of the Reply chunk, and cuts the
 * sum to what the chunk holds. So many octets of mark at the end, no more and no fewer but for
 * the cut, are not the reply's.
 */
static uint32_t marked_end(const struct txn *t, uint32_t reported, const struct rpc_msg *reply)
{
	uint64_t added = 0;
	uint32_t end = reported, least;

	for (unsigned i = 0; i < reply->nwrites; i++)
		added += (reply->writes[i].length + 3) & ~UINT64_C(3);
	least = added < reported ? reported - (uint32_t)added : 0;
	if (!t->mark || reported % 4)
		return reported;
	while (end > least && is_marked(t, end))
		end -= 4;
	return end == least || reported == t->reply.cap ? end : reported;
}

uint32_t txn_written(const struct txn *t, const struct txn_region *r, uint64_t reported,
		     const struct leg_out *out)
{
	uint32_t written = r->handle == out->invalidated ? out->invalidated_written
							 : fabric_written(t->rsp->conn, r->handle);

	if (written == FABRIC_WRITTEN_UNKNOWN && r == &t->reply)
		return marked_end(t, (uint32_t)reported, out->msg);
	return reported < written ? (uint32_t)reported : written;
}

static void give(struct txn *t, struct txn_region *r)
{
	if (r->owned)
		buf_free(&t->s->proxy->arena, r->addr);
	*r = (struct txn_region){0};
}

void txn_give(struct txn *t)
{
	for (unsigned i = 0; i < t->in.nreads; i++)
		give(t, &t->reads[i]);
	for (unsigned i = 0; i < t->in.nwrites; i++)
		give(t, &t->writes[i]);
	give(t, &t->body);
	give(t, &t->reply);
}

int txn_expose(struct txn *t, struct txn_region *r, uint32_t len, unsigned access,
	       uint32_t position, struct rpc_chunk *chunk)
{
	struct segment whole, cut[RPC_MAX_SEGMENTS];
	int n, err;

	if (access & FABRIC_REMOTE_WRITE)
		blank(t, r, len);
	err = fabric_expose(t->rsp->conn, r->addr, len, access, &whole);
	if (err < 0)
		return err;
	r->handle = whole.handle;
	t->exposed++;
	*chunk = (struct rpc_chunk){.position = position};
	n = plan_split(&whole, t->rsp->t->peer.segment_bytes, cut, RPC_MAX_SEGMENTS);
	for (int i = 0; i < n; i++) {
		err = rpc_msg_add_segment(&t->out, chunk, &cut[i]);
		if (err < 0)
			return err;
	}
	return n < 0 ? n : 0;
}

static void fence(struct txn *t, struct txn_region *r)
{
	if (r->handle == 0)
		return;
	if (fabric_withdraw(t->rsp->conn, r->handle, t) == 0)
		t->ops++;
	r->handle = 0;
	t->exposed--;
}

bool txn_fence(struct txn *t)
{
	unsigned before = t->ops;

	for (unsigned i = 0; i < t->in.nreads && t->exposed; i++)
		fence(t, &t->reads[i]);
	for (unsigned i = 0; i < t->in.nwrites && t->exposed; i++)
		fence(t, &t->writes[i]);
	fence(t, &t->body);
	fence(t, &t->reply);
	return t->ops == before;
}
