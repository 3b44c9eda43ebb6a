/* SPDX-License-Identifier: BSD-2-Clause */
#include "v2/chunks.h"

static int bad_xdr(struct v2_parse *p)
{
	return v2_parse_fail(p, ERR_XDR, RPC_ERROR_BAD_XDR, 0);
}

static int add_segment(struct v2_parse *p, struct rpc_msg *m, struct rpc_chunk *c,
		       const struct segment *s)
{
	uint32_t max = RPC_MAX_SEGMENTS;

	/* A Reply returns the segments that our own Call offered; only a Call is held to our
	 * limit. */
	if (m->dir == RPC_CALL && p->max_segments < max)
		max = p->max_segments;
	if (m->nsegs >= max)
		return v2_parse_fail(p, ERR_TOOBIG, RPC_ERROR_SEGMENTS, max);
	return rpc_msg_add_segment(m, c, s);
}

/* Reads one entry of a Read list; its discriminator was read and is 1. */
static int get_read_segment(struct v2_parse *p, uint32_t *position, struct segment *s)
{
	*position = xdr_get_u32(&p->x);
	*s = xdr_get_segment(&p->x);
	return p->x.failed ? bad_xdr(p) : 0;
}

int v2_get_call_chunk(struct v2_parse *p, struct rpc_msg *m)
{
	struct segment s;
	uint32_t position;
	int err;

	m->body_chunk = (struct rpc_chunk){0};
	while (xdr_get_bool(&p->x)) {
		err = get_read_segment(p, &position, &s);
		if (err)
			return err;
		/* Section 6.6.3: every segment of this chunk MUST be at Position zero. */
		if (position != 0)
			return bad_xdr(p);
		err = add_segment(p, m, &m->body_chunk, &s);
		if (err)
			return err;
	}
	/* Section 6.3.5: one or more Read segments. */
	if (p->x.failed || m->body_chunk.count == 0)
		return bad_xdr(p);
	m->has_body_chunk = true;
	return 0;
}

/* The chunk a segment at @position belongs to: @last, or a new one. */
static int read_chunk_at(struct v2_parse *p, struct rpc_msg *m, uint32_t position,
			 struct rpc_chunk **last)
{
	/* Section 4.5.1: a multiple of four. Section 6.3.7: no Position zero here.
	 * Section 4.5.1.1: in monotonically increasing order. */
	if (position == 0 || position % 4 != 0 || (*last && position < (*last)->position))
		return bad_xdr(p);
	if (*last && position == (*last)->position)
		return 0;
	if (m->nreads == RPC_MAX_CHUNKS)
		return v2_parse_fail(p, ERR_TOOBIG, RPC_ERROR_READ_CHUNKS, RPC_MAX_CHUNKS);
	*last = &m->reads[m->nreads++];
	**last = (struct rpc_chunk){.position = position};
	return 0;
}

int v2_get_reads(struct v2_parse *p, struct rpc_msg *m)
{
	struct rpc_chunk *chunk = NULL;
	struct segment s;
	uint32_t position;
	int err;

	while (xdr_get_bool(&p->x)) {
		err = get_read_segment(p, &position, &s);
		if (!err)
			err = read_chunk_at(p, m, position, &chunk);
		if (!err)
			err = add_segment(p, m, chunk, &s);
		if (err)
			return err;
	}
	return p->x.failed ? bad_xdr(p) : 0;
}

/* A counted array of segments; the count is bounded by the octets there are. */
static int get_segments(struct v2_parse *p, struct rpc_msg *m, struct rpc_chunk *c)
{
	uint32_t count = xdr_get_u32(&p->x);
	int err;

	*c = (struct rpc_chunk){.first = (uint16_t)m->nsegs};
	if (count > xdr_in_left(&p->x) / V2_SEGMENT_BYTES)
		return bad_xdr(p);
	for (uint32_t i = 0; i < count; i++) {
		struct segment s = xdr_get_segment(&p->x);

		err = add_segment(p, m, c, &s);
		if (err)
			return err;
	}
	return p->x.failed ? bad_xdr(p) : 0;
}

int v2_get_writes(struct v2_parse *p, struct rpc_msg *m)
{
	int err;

	while (xdr_get_bool(&p->x)) {
		if (m->nwrites == RPC_MAX_CHUNKS)
			return v2_parse_fail(p, ERR_TOOBIG, RPC_ERROR_WRITE_CHUNKS, RPC_MAX_CHUNKS);
		err = get_segments(p, m, &m->writes[m->nwrites]);
		if (err)
			return err;
		m->nwrites++;
	}
	return p->x.failed ? bad_xdr(p) : 0;
}

int v2_get_write_chunk(struct v2_parse *p, struct rpc_msg *m, struct rpc_chunk *c, bool *present)
{
	*present = xdr_get_bool(&p->x);
	if (p->x.failed)
		return bad_xdr(p);
	return *present ? get_segments(p, m, c) : 0;
}

bool v2_has_handle(const struct rpc_msg *m, uint32_t handle)
{
	for (unsigned i = 0; i < m->nsegs; i++) {
		if (m->segs[i].handle == handle)
			return true;
	}
	return false;
}

static void put_read_segments(struct xdr_out *x, const struct rpc_msg *m, const struct rpc_chunk *c)
{
	for (unsigned i = 0; i < c->count; i++) {
		xdr_put_u32(x, 1);
		xdr_put_u32(x, c->position);
		xdr_put_segment(x, &m->segs[c->first + i]);
	}
}

void v2_put_read_chunk(struct xdr_out *x, const struct rpc_msg *m, const struct rpc_chunk *c)
{
	put_read_segments(x, m, c);
	xdr_put_u32(x, 0);
}

void v2_put_reads(struct xdr_out *x, const struct rpc_msg *m)
{
	for (unsigned i = 0; i < m->nreads; i++)
		put_read_segments(x, m, &m->reads[i]);
	xdr_put_u32(x, 0);
}

static void put_segments(struct xdr_out *x, const struct rpc_msg *m, const struct rpc_chunk *c)
{
	xdr_put_u32(x, c->count);
	for (unsigned i = 0; i < c->count; i++)
		xdr_put_segment(x, &m->segs[c->first + i]);
}

void v2_put_writes(struct xdr_out *x, const struct rpc_msg *m)
{
	for (unsigned i = 0; i < m->nwrites; i++) {
		xdr_put_u32(x, 1);
		put_segments(x, m, &m->writes[i]);
	}
	xdr_put_u32(x, 0);
}

void v2_put_write_chunk(struct xdr_out *x, const struct rpc_msg *m, const struct rpc_chunk *c)
{
	xdr_put_u32(x, c ? 1 : 0);
	if (c)
		put_segments(x, m, c);
}

size_t v2_reads_len(const struct rpc_msg *m)
{
	size_t len = V2_WORD;

	for (unsigned i = 0; i < m->nreads; i++)
		len += (size_t)m->reads[i].count * V2_READ_SEGMENT_BYTES;
	return len;
}

size_t v2_writes_len(const struct rpc_msg *m)
{
	size_t len = V2_WORD;

	for (unsigned i = 0; i < m->nwrites; i++)
		len += (size_t)2 * V2_WORD + (size_t)m->writes[i].count * V2_SEGMENT_BYTES;
	return len;
}
