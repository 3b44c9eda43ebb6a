/* SPDX-License-Identifier: BSD-2-Clause */
#include "v1/header.h"

#include "xdr/cursor.h"

enum { WORD = 4, SEGMENT_BYTES = 16, READ_SEGMENT_BYTES = 2 * WORD + SEGMENT_BYTES };

static bool is_long_call(const struct rpc_msg *m)
{
	return m->has_body_chunk && m->dir == RPC_CALL;
}

/* The Reply chunk as this message has it on the wire: provisional, or the body of a reply. */
static const struct rpc_chunk *v1_header_reply_chunk(const struct rpc_msg *m)
{
	if (m->has_body_chunk && m->dir == RPC_REPLY)
		return &m->body_chunk;
	return m->has_reply ? &m->reply : NULL;
}

static size_t write_chunk_len(const struct rpc_chunk *c)
{
	return 2 * WORD + (size_t)c->count * SEGMENT_BYTES;
}

size_t v1_header_len(const struct rpc_msg *m)
{
	const struct rpc_chunk *reply = v1_header_reply_chunk(m);
	size_t len = V1_FIXED_BYTES + 2 * WORD; /* and the ends of the two lists */

	if (is_long_call(m))
		len += (size_t)m->body_chunk.count * READ_SEGMENT_BYTES;
	for (unsigned i = 0; i < m->nreads; i++)
		len += (size_t)m->reads[i].count * READ_SEGMENT_BYTES;
	for (unsigned i = 0; i < m->nwrites; i++)
		len += write_chunk_len(&m->writes[i]);
	return len + (reply ? write_chunk_len(reply) : WORD);
}

static void put_read_chunk(struct xdr_out *x, const struct rpc_msg *m, const struct rpc_chunk *c,
			   uint32_t position)
{
	for (unsigned i = 0; i < c->count; i++) {
		xdr_put_u32(x, 1);
		xdr_put_u32(x, position);
		xdr_put_segment(x, &m->segs[c->first + i]);
	}
}

static void put_write_chunk(struct xdr_out *x, const struct rpc_msg *m, const struct rpc_chunk *c)
{
	xdr_put_u32(x, 1);
	xdr_put_u32(x, c->count);
	for (unsigned i = 0; i < c->count; i++)
		xdr_put_segment(x, &m->segs[c->first + i]);
}

int v1_header_encode(const struct rpc_msg *m, uint32_t credit, uint8_t *buf, size_t cap,
		     size_t *len)
{
	const struct rpc_chunk *reply = v1_header_reply_chunk(m);
	struct xdr_out x;

	xdr_out_init(&x, buf, cap);
	xdr_put_u32(&x, m->xid);
	xdr_put_u32(&x, V1_VERSION);
	xdr_put_u32(&x, credit);
	xdr_put_u32(&x, m->has_body_chunk ? V1_NOMSG : V1_MSG);
	if (is_long_call(m))
		put_read_chunk(&x, m, &m->body_chunk, 0);
	for (unsigned i = 0; i < m->nreads; i++)
		put_read_chunk(&x, m, &m->reads[i], m->reads[i].position);
	xdr_put_u32(&x, 0);
	for (unsigned i = 0; i < m->nwrites; i++)
		put_write_chunk(&x, m, &m->writes[i]);
	xdr_put_u32(&x, 0);
	if (reply)
		put_write_chunk(&x, m, reply);
	else
		xdr_put_u32(&x, 0);
	if (x.failed)
		return ERR_NOSPACE;
	*len = xdr_out_len(&x);
	return 0;
}

int v1_error_encode(const struct v1_header *h, uint8_t *buf, size_t cap)
{
	struct xdr_out x;

	xdr_out_init(&x, buf, cap);
	xdr_put_u32(&x, h->xid);
	xdr_put_u32(&x, h->vers);
	xdr_put_u32(&x, h->credit);
	xdr_put_u32(&x, V1_ERROR);
	xdr_put_u32(&x, h->err);
	if (h->err == V1_ERR_VERS) {
		xdr_put_u32(&x, h->low);
		xdr_put_u32(&x, h->high);
	}
	return x.failed ? ERR_NOSPACE : (int)xdr_out_len(&x);
}
