/* SPDX-License-Identifier: BSD-2-Clause */
#include "v2/message.h"

#include "v2/chunks.h"

static __attribute__((noinline)) int call_lists_decode(struct v2_parse *p, struct rpc_msg *m)
{
	int err = v2_get_reads(p, m);

	if (!err)
		err = v2_get_writes(p, m);
	if (!err)
		err = v2_get_write_chunk(p, m, &m->reply, &m->has_reply);
	if (err)
		return err;
	/* Section 6.5: a value that matches one of the handles of this header, or zero. */
	if (m->inv_handle != 0 && !v2_has_handle(m, m->inv_handle))
		return v2_parse_fail(p, ERR_XDR, RPC_ERROR_BAD_XDR, 0);
	return 0;
}

/* Decodes the last fields of both Call types. */
static inline int call_chunks_decode(struct v2_parse *p, struct rpc_msg *m)
{
	if (m->inv_handle == 0 && xdr_get_empty_lists(&p->x))
		return 0;
	return call_lists_decode(p, m);
}

static void call_chunks_encode(struct xdr_out *x, const struct rpc_msg *m)
{
	if (m->nsegs == 0 && m->nwrites == 0 && !m->has_reply) {
		xdr_put_empty_lists(x);
		return;
	}
	v2_put_reads(x, m);
	v2_put_writes(x, m);
	v2_put_write_chunk(x, m, m->has_reply ? &m->reply : NULL);
}

int v2_call_external_decode(struct v2_parse *p, struct v2_hdr *h, struct rpc_msg *m)
{
	int err;

	(void)h;
	m->inv_handle = xdr_get_u32(&p->x);
	err = v2_get_call_chunk(p, m);
	return err ? err : call_chunks_decode(p, m);
}

void v2_call_external_encode(struct xdr_out *x, const struct v2_hdr *h, const struct rpc_msg *m)
{
	(void)h;
	xdr_put_u32(x, m->inv_handle);
	v2_put_read_chunk(x, m, &m->body_chunk);
	call_chunks_encode(x, m);
}

int v2_call_inline_decode(struct v2_parse *p, struct v2_hdr *h, struct rpc_msg *m)
{
	(void)h;
	m->inv_handle = xdr_get_u32(&p->x);
	return call_chunks_decode(p, m);
}

void v2_call_inline_encode(struct xdr_out *x, const struct v2_hdr *h, const struct rpc_msg *m)
{
	(void)h;
	xdr_put_u32(x, m->inv_handle);
	call_chunks_encode(x, m);
}

int v2_reply_external_decode(struct v2_parse *p, struct v2_hdr *h, struct rpc_msg *m)
{
	int err = v2_get_writes(p, m);

	(void)h;
	if (!err)
		err = v2_get_write_chunk(p, m, &m->body_chunk, &m->has_body_chunk);
	/* Section 6.3.8: MUST contain exactly one Reply chunk. */
	if (!err && !m->has_body_chunk)
		return v2_parse_fail(p, ERR_XDR, RPC_ERROR_BAD_XDR, 0);
	return err;
}

void v2_reply_external_encode(struct xdr_out *x, const struct v2_hdr *h, const struct rpc_msg *m)
{
	(void)h;
	v2_put_writes(x, m);
	v2_put_write_chunk(x, m, &m->body_chunk);
}

int v2_reply_inline_decode(struct v2_parse *p, struct v2_hdr *h, struct rpc_msg *m)
{
	(void)h;
	return v2_get_writes(p, m);
}

void v2_reply_inline_encode(struct xdr_out *x, const struct v2_hdr *h, const struct rpc_msg *m)
{
	(void)h;
	if (m->nwrites)
		v2_put_writes(x, m);
	else
		xdr_put_u32(x, 0);
}

int v2_middle_decode(struct v2_parse *p, struct v2_hdr *h, struct rpc_msg *m)
{
	(void)m;
	h->remaining = xdr_get_u32(&p->x);
	return 0;
}

void v2_middle_encode(struct xdr_out *x, const struct v2_hdr *h, const struct rpc_msg *m)
{
	(void)m;
	xdr_put_u32(x, h->remaining);
}

uint32_t v2_msg_htype(const struct rpc_msg *m)
{
	if (m->dir == RPC_CALL)
		return m->has_body_chunk ? V2_CALL_EXTERNAL : V2_CALL_INLINE;
	return m->has_body_chunk ? V2_REPLY_EXTERNAL : V2_REPLY_INLINE;
}

size_t v2_msg_header_len_of_chunks(const struct rpc_msg *m)
{
	size_t len = V2_PREFIX_BYTES + v2_writes_len(m);
	size_t body_segments = m->has_body_chunk ? m->body_chunk.count : 0;

	if (m->dir == RPC_REPLY) {
		if (m->has_body_chunk)
			len += (size_t)2 * V2_WORD + body_segments * V2_SEGMENT_BYTES;
		return len;
	}
	/* the handle to invalidate, the reads, whether there is a Reply chunk */
	len += V2_WORD + v2_reads_len(m) + V2_WORD;
	if (m->has_body_chunk)
		len += V2_WORD + body_segments * V2_READ_SEGMENT_BYTES;
	if (m->has_reply)
		len += V2_WORD + (size_t)m->reply.count * V2_SEGMENT_BYTES;
	return len;
}
