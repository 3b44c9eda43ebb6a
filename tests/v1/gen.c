/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/v1/gen.h"

#include "tests/cmocka_all.h"

#include <string.h>

#include "v1/header.h"

size_t gen_rpc(uint8_t *out, uint32_t xid, enum rpc_dir dir)
{
	struct xdr_out x;

	xdr_out_init(&x, out, 40);
	if (dir == RPC_CALL)
		GEN_WORDS(&x, xid, 0, 2, 100003, 3, 0, 0, 0, 0, 0);
	else
		GEN_WORDS(&x, xid, 1, 0, 0, 0, 0);
	return xdr_out_len(&x);
}

void gen_simple(struct rpc_msg *m, uint8_t *body, uint32_t xid, enum rpc_dir dir)
{
	rpc_msg_reset(m, xid, dir);
	m->body[0] = view_of(body, gen_rpc(body, xid, dir));
	m->nbody = 1;
}

static void gen_chunk(struct rng *r, struct rpc_msg *m, struct rpc_chunk *c, unsigned min_segments)
{
	unsigned n = min_segments + rng_below(r, 5);

	*c = (struct rpc_chunk){.first = (uint16_t)m->nsegs};
	for (unsigned i = 0; i < n; i++) {
		struct segment s = {(uint32_t)rng_next(r), rng_below(r, 100000), rng_next(r)};

		if (rpc_msg_add_segment(m, c, &s))
			break;
	}
}

/* Data items at rising Positions, each behind the one before, the last not behind the stream. */
static void gen_reads(struct rng *r, struct rpc_msg *m, uint64_t stream)
{
	unsigned n = rng_below(r, 3) ? rng_below(r, 3) : rng_below(r, 12);
	uint64_t reduced = 40, moved = 0;

	for (unsigned i = 0; i < n && reduced <= stream; i++) {
		struct rpc_chunk *c = &m->reads[m->nreads++];

		gen_chunk(r, m, c, 1);
		if (c->length == 0) /* two items at one Position would be one chunk */
			m->segs[c->first].length = (uint32_t)(c->length = 1);
		c->position = (uint32_t)(reduced + moved);
		moved += c->length + xdr_pad(c->length);
		reduced += 4 * rng_below(r, 20);
	}
}

static void gen_body(struct rng *r, struct rpc_msg *m, uint8_t *body)
{
	size_t len = gen_rpc(body, m->xid, m->dir);
	size_t more = 4 * rng_below(r, (uint32_t)(GEN_BODY_MAX - len) / 4);

	for (size_t i = len; i < len + more; i++)
		body[i] = (uint8_t)rng_next(r);
	m->body[0] = view_of(body, len + more);
	m->nbody = 1;
}

void gen_msg(struct rng *r, struct rpc_msg *m, uint8_t *body)
{
	unsigned nwrites = rng_below(r, 3) ? rng_below(r, 3) : rng_below(r, 12);

	rpc_msg_reset(m, (uint32_t)rng_next(r), rng_below(r, 2) ? RPC_CALL : RPC_REPLY);
	m->has_body_chunk = rng_below(r, 3) == 0;
	if (m->has_body_chunk) {
		gen_chunk(r, m, &m->body_chunk, 1);
		if (m->body_chunk.length < 1000) {
			m->body_chunk.length += 1000;
			m->segs[m->body_chunk.first].length += 1000;
		}
	} else {
		gen_body(r, m, body);
	}
	if (m->dir == RPC_CALL)
		gen_reads(r, m, m->has_body_chunk ? m->body_chunk.length : m->body[0].len);
	for (m->nwrites = 0; m->nwrites < nwrites; m->nwrites++)
		gen_chunk(r, m, &m->writes[m->nwrites], 0);
	m->has_reply = rng_below(r, 2) && !(m->has_body_chunk && m->dir == RPC_REPLY);
	if (!m->has_reply)
		return;
	gen_chunk(r, m, &m->reply, 0);
	/* Beside an inline reply it comes back unused. */
	for (unsigned i = 0; m->dir == RPC_REPLY && i < m->reply.count; i++)
		m->segs[m->reply.first + i].length = 0;
	if (m->dir == RPC_REPLY)
		m->reply.length = 0;
}

static bool same_chunk(const struct rpc_msg *a, const struct rpc_chunk *ca, const struct rpc_msg *b,
		       const struct rpc_chunk *cb)
{
	if (ca->position != cb->position || ca->count != cb->count || ca->length != cb->length)
		return false;
	for (unsigned i = 0; i < ca->count; i++) {
		const struct segment *s = &a->segs[ca->first + i], *t = &b->segs[cb->first + i];

		if (s->handle != t->handle || s->length != t->length || s->offset != t->offset)
			return false;
	}
	return true;
}

static bool same_body(const struct rpc_msg *a, const struct rpc_msg *b)
{
	if (a->has_body_chunk)
		return same_chunk(a, &a->body_chunk, b, &b->body_chunk);
	return a->nbody == 1 && b->nbody == 1 && a->body[0].len == b->body[0].len &&
	       memcmp(a->body[0].data, b->body[0].data, a->body[0].len) == 0;
}

bool gen_same(const struct rpc_msg *a, const struct rpc_msg *b)
{
	if (a->xid != b->xid || a->dir != b->dir || a->has_body_chunk != b->has_body_chunk ||
	    a->nreads != b->nreads || a->nwrites != b->nwrites || a->has_reply != b->has_reply)
		return false;
	for (unsigned i = 0; i < a->nreads; i++)
		if (!same_chunk(a, &a->reads[i], b, &b->reads[i]))
			return false;
	for (unsigned i = 0; i < a->nwrites; i++)
		if (!same_chunk(a, &a->writes[i], b, &b->writes[i]))
			return false;
	if (a->has_reply && !same_chunk(a, &a->reply, b, &b->reply))
		return false;
	return same_body(a, b);
}

size_t gen_wire(const struct rpc_msg *m, uint32_t credit, uint8_t *out, size_t cap)
{
	size_t len;

	assert_int_equal(v1_header_encode(m, credit, out, cap, &len), 0);
	for (unsigned i = 0; i < m->nbody; i++) {
		assert_true(len + m->body[i].len <= cap);
		memcpy(out + len, m->body[i].data, m->body[i].len);
		len += m->body[i].len;
	}
	return len;
}

uint8_t *gen_exact(const void *data, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, data, len);
	return copy;
}

size_t gen_load(const char *path, uint8_t *out, size_t cap)
{
	FILE *f = fopen(path, "rb");
	size_t len;

	if (!f)
		fail_msg("%s: cannot be opened", path);
	len = fread(out, 1, cap, f);
	assert_true(len > 0 && len < cap);
	fclose(f);
	return len;
}

void gen_header(struct xdr_out *x, uint32_t xid, uint32_t vers, uint32_t credit, uint32_t proc)
{
	GEN_WORDS(x, xid, vers, credit, proc);
}

void gen_words(struct xdr_out *x, unsigned n, const uint32_t *words)
{
	for (unsigned i = 0; i < n; i++)
		xdr_put_u32(x, words[i]);
	assert_false(x->failed);
}

struct rpc_params gen_params(enum rpc_role role)
{
	static struct rpc_msg received[2];

	return (struct rpc_params){
		.role = role,
		.recv_bytes = 4096,
		.send_bytes = 4096,
		.segment_bytes = UINT32_MAX,
		.segment_count = 16,
		.credits = 32,
		.rev_credits = 2,
		.reverse = RPC_REV_SIMPLE,
		.remote_inv = true,
		.vers_low = 1,
		.vers_high = 2,
		.msg = &received[role == RPC_ACCEPTOR],
	};
}
