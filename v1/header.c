/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: decode() takes the four fixed words, then by type the three chunk
 * lists into the message's chunk tables, and only then looks at the RPC message
 * behind them: its direction decides what the lists mean.
 *
 *   RDMA_MSG, RDMA_MSGP   msg_type of the inline RPC header    -> call or reply
 *   RDMA_NOMSG            Position-Zero Read chunk present     -> call, that is its body
 *                         none, but a Reply chunk              -> reply, that is its body
 *
 * Every count is bounded by the octets left and by the tables before it is used,
 * so a lying list costs no more time than its octets. Lengths are summed in 64 bits.
 */
#include "v1/header.h"

#include "xdr/cursor.h"
#include "xdr/rpchdr.h"

enum {
	SEGMENT_BYTES = 16,
	CALL_PEEK_BYTES = 24, /* what rpchdr_peek() wants of a call, and of a reply */
	REPLY_PEEK_BYTES = 8,
	/* The smallest RPC call header, RFC 5531 section 9: six words, credential
	 * and verifier without a body. No data item begins in it. */
	MIN_POSITION = 40,
};

/* Chunks by rising Position: the sender SHOULD sort them (rfc5666bis-01 section 5.2.1), but
 * need not. A Position that comes back after another one would split a data item. */
static int add_read_chunk(struct rpc_msg *m, const struct rpc_chunk *c)
{
	unsigned at;

	if (c->position == 0) {
		if (m->has_body_chunk)
			return ERR_XDR;
		m->has_body_chunk = true;
		m->body_chunk = *c;
		return 0;
	}
	if (m->nreads == RPC_MAX_CHUNKS)
		return ERR_TOOBIG;
	for (at = m->nreads; at > 0 && m->reads[at - 1].position >= c->position; at--) {
		if (m->reads[at - 1].position == c->position)
			return ERR_XDR;
		m->reads[at] = m->reads[at - 1];
	}
	m->reads[at] = *c;
	m->nreads++;
	return 0;
}

/* One optional entry after the other: "1 PHLOO 1 PHLOO 0"; equal Positions are one chunk. */
static int get_read_list(struct xdr_in *x, struct rpc_msg *m)
{
	struct rpc_chunk c = {.count = 0};
	struct segment s;
	uint32_t position;
	int rc;

	while (xdr_get_bool(x)) {
		position = xdr_get_u32(x);
		s = xdr_get_segment(x);
		/* MUST be a multiple of four: rfc5666bis-01 section 4.4.4.1. */
		if (x->failed || position & 3)
			return ERR_XDR;
		if (c.count && position != c.position) {
			rc = add_read_chunk(m, &c);
			if (rc)
				return rc;
			c.count = 0;
		}
		c.position = position;
		rc = rpc_msg_add_segment(m, &c, &s);
		if (rc)
			return rc;
	}
	if (x->failed)
		return ERR_XDR;
	return c.count ? add_read_chunk(m, &c) : 0;
}

/* A counted array of segments. None is legal: RFC 8267 lets a client say so that it wants
 * no direct placement of one item. */
static int get_write_chunk(struct xdr_in *x, struct rpc_msg *m, struct rpc_chunk *c)
{
	uint32_t count = xdr_get_u32(x);
	struct segment s;
	int rc;

	if (x->failed || count > xdr_in_left(x) / SEGMENT_BYTES)
		return ERR_XDR;
	*c = (struct rpc_chunk){.first = (uint16_t)m->nsegs};
	for (uint32_t i = 0; i < count; i++) {
		s = xdr_get_segment(x);
		rc = rpc_msg_add_segment(m, c, &s);
		if (rc)
			return rc;
	}
	return 0;
}

static int get_chunk_lists(struct xdr_in *x, struct rpc_msg *m)
{
	int rc = get_read_list(x, m);

	while (!rc && xdr_get_bool(x)) {
		if (m->nwrites == RPC_MAX_CHUNKS)
			return ERR_TOOBIG;
		rc = get_write_chunk(x, m, &m->writes[m->nwrites]);
		m->nwrites++;
	}
	if (!rc && xdr_get_bool(x)) {
		m->has_reply = true;
		rc = get_write_chunk(x, m, &m->reply);
	}
	if (!rc && x->failed)
		rc = ERR_XDR;
	return rc;
}

/*
 * Positions count octets of the RPC message with all its data items in place (section 4.4.4).
 * So no item begins in the RPC header or within the item before it, and none behind the end of
 * what @stream octets of reduced stream and the earlier items make together.
 */
static int check_positions(const struct rpc_msg *m, uint64_t stream)
{
	uint64_t end = MIN_POSITION; /* of the previous item */
	uint64_t moved = 0;	     /* octets of all previous items, rounded up */

	for (unsigned i = 0; i < m->nreads; i++) {
		const struct rpc_chunk *c = &m->reads[i];

		if (c->position < end || c->position - moved > stream)
			return ERR_XDR;
		end = c->position + c->length;
		/* Positions are multiples of four: the next is not below MIN_POSITION + moved. */
		moved += c->length + xdr_pad(c->length);
	}
	return 0;
}

static int decode_inline(const struct v1_header *h, struct rpc_msg *m, bool *dir_known,
			 struct view body)
{
	struct rpchdr rpc;
	/* An RPC version other than 2 is the RPC server's to refuse, so only ERR_SHORT counts. */
	int rc = rpchdr_peek(&rpc, body);

	if (rc == ERR_SHORT)
		return ERR_SHORT;
	if (rpc.mtype > 1)
		return ERR_XDR;
	m->dir = rpc.mtype == 0 ? RPC_CALL : RPC_REPLY;
	*dir_known = true;
	m->body[0] = body;
	m->nbody = 1;
	/* MUST be the same XID: section 5.1.1. A Position-Zero chunk is the whole message, which
	 * then is not inline as well. Only a requester has Read chunks. */
	if (rpc.xid != h->xid || m->has_body_chunk || (m->dir == RPC_REPLY && m->nreads))
		return ERR_XDR;
	/* A Reply chunk with octets in it is the reply or a part of it (section 5.2.3): what is
	 * inline cannot be all. */
	if (m->dir == RPC_REPLY && m->has_reply && m->reply.length)
		return ERR_XDR;
	return check_positions(m, body.len);
}

/* Octets behind the lists are ignored: nothing of an RDMA_NOMSG message lives there. */
static int decode_external(struct rpc_msg *m, bool *dir_known)
{
	if (m->has_body_chunk) {
		m->dir = RPC_CALL;
		*dir_known = true;
		if (m->body_chunk.length < CALL_PEEK_BYTES)
			return ERR_XDR;
		return check_positions(m, m->body_chunk.length);
	}
	if (!m->has_reply || m->nreads)
		return ERR_XDR;
	m->dir = RPC_REPLY;
	*dir_known = true;
	m->has_body_chunk = true;
	m->body_chunk = m->reply;
	m->has_reply = false;
	return m->body_chunk.length < REPLY_PEEK_BYTES ? ERR_XDR : 0;
}

static int decode_error(struct v1_header *h, struct xdr_in *x)
{
	h->err = xdr_get_u32(x);
	if (h->err == V1_ERR_VERS) {
		h->low = xdr_get_u32(x);
		h->high = xdr_get_u32(x);
	}
	return x->failed ? ERR_SHORT : 0;
}

int v1_header_decode(struct v1_header *h, struct rpc_msg *m, bool *dir_known, struct view in)
{
	struct xdr_in x;
	int rc;

	*h = (struct v1_header){0};
	*dir_known = false;
	xdr_in_init(&x, in);
	h->xid = xdr_get_u32(&x);
	h->vers = xdr_get_u32(&x);
	h->credit = xdr_get_u32(&x);
	h->proc = xdr_get_u32(&x);
	if (x.failed)
		return ERR_SHORT;
	if (h->proc == V1_ERROR)
		return decode_error(h, &x);
	if (h->vers != V1_VERSION)
		return ERR_VERS;
	if (h->proc == V1_DONE)
		return 0;
	if (h->proc > V1_ERROR)
		return ERR_TYPE;
	rpc_msg_reset(m, h->xid, RPC_CALL);
	if (h->proc == V1_MSGP)
		xdr_skip(&x, 8); /* rdma_align, rdma_thresh */
	rc = get_chunk_lists(&x, m);
	if (rc)
		return rc;
	if (h->proc == V1_NOMSG)
		return decode_external(m, dir_known);
	return decode_inline(h, m, dir_known, xdr_in_rest(&x));
}
