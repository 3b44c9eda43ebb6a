/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: first the lists are decoded into the message's chunk tables. Their meaning depends on
 * the direction of the RPC message:
 *
 *   inline      msg_type of the RPC header               -> call or reply
 *   external    Position-Zero Read chunk present         -> call, that is its body
 *               none, but a Reply chunk                  -> reply, that is its body
 *
 * Every count is bounded by the octets left and by the tables before it is used, so a list with a
 * false count costs no more time than its octets. Lengths are summed in 64 bits.
 */
#include "rpc/lists.h"

#include "xdr/rpchdr.h"

enum {
	WORD = 4,
	SEGMENT_BYTES = 16,
	READ_SEGMENT_BYTES = 2 * WORD + SEGMENT_BYTES,
	CALL_PEEK_BYTES = 24, /* octets that rpchdr_peek() needs of a call, and of a reply */
	REPLY_PEEK_BYTES = 8,
};

/* --- in --- */

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

/* Entries are optional: "1 PHLOO 1 PHLOO 0"; entries with equal Positions are one chunk. */
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

/* A counted array of segments. An empty one is legal: RFC 8267 lets a client request no direct
 * placement of an item in this way. */
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

int rpc_lists_get_chunks(struct xdr_in *x, struct rpc_msg *m)
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
 * Positions count octets of the RPC message with all its data items in place (rfc5666bis-01 section
 * 4.4.4). So no item begins in the RPC header, within the item before it, or behind the end of the
 * unreduced stream, which is @stream octets of reduced stream plus the earlier items.
 */
static int check_positions(const struct rpc_msg *m, uint64_t stream)
{
	uint64_t end = RPCHDR_LEAST_CALL; /* end of the previous item */
	uint64_t moved = 0;		  /* octets of all previous items, rounded up */

	for (unsigned i = 0; i < m->nreads; i++) {
		const struct rpc_chunk *c = &m->reads[i];

		if (c->position < end || c->position - moved > stream)
			return ERR_XDR;
		end = c->position + c->length;
		/* Positions are multiples of four: the next Position is not below RPCHDR_LEAST_CALL
		 * + moved. */
		moved += c->length + xdr_pad(c->length);
	}
	return 0;
}

int rpc_lists_inline(struct rpc_msg *m, struct view body, bool *dir_known)
{
	struct rpchdr rpc;
	/* An RPC version other than 2 is for the RPC server to reject, so only ERR_SHORT counts. */
	int rc = rpchdr_peek(&rpc, body);

	if (body.len < REPLY_PEEK_BYTES)
		return ERR_SHORT;
	if (rpc.mtype > 1)
		return ERR_XDR;
	m->dir = rpc.mtype == 0 ? RPC_CALL : RPC_REPLY;
	*dir_known = true;
	if (rc == ERR_SHORT)
		return ERR_SHORT;
	m->body[0] = body;
	m->nbody = 1;
	/* MUST be the same XID: rfc5666bis-01 section 5.1.1. A Position-Zero chunk is the whole
	 * message, so the message cannot be inline as well. Only a requester has Read chunks. */
	if (rpc.xid != m->xid || m->has_body_chunk || (m->dir == RPC_REPLY && m->nreads))
		return ERR_XDR;
	/* A Reply chunk with octets in it is the reply, or a part of it (section 5.2.3). Then an
	 * inline body cannot be complete. */
	if (m->dir == RPC_REPLY && m->has_reply && m->reply.length)
		return ERR_XDR;
	return check_positions(m, body.len);
}

int rpc_lists_external(struct rpc_msg *m, bool *dir_known)
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

/* --- out --- */

static bool is_long_call(const struct rpc_msg *m)
{
	return m->has_body_chunk && m->dir == RPC_CALL;
}

/* The Reply chunk as this message has it on the wire: provisional, or the body of a reply. */
static const struct rpc_chunk *reply_chunk_of(const struct rpc_msg *m)
{
	if (m->has_body_chunk && m->dir == RPC_REPLY)
		return &m->body_chunk;
	return m->has_reply ? &m->reply : NULL;
}

static size_t write_chunk_len(const struct rpc_chunk *c)
{
	return 2 * WORD + (size_t)c->count * SEGMENT_BYTES;
}

size_t rpc_lists_len_of_chunks(const struct rpc_msg *m)
{
	const struct rpc_chunk *reply = reply_chunk_of(m);
	size_t len = 2 * WORD; /* the zero words that end the two lists */

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

void rpc_lists_put_chunks(struct xdr_out *x, const struct rpc_msg *m)
{
	const struct rpc_chunk *reply = reply_chunk_of(m);

	if (is_long_call(m))
		put_read_chunk(x, m, &m->body_chunk, 0);
	for (unsigned i = 0; i < m->nreads; i++)
		put_read_chunk(x, m, &m->reads[i], m->reads[i].position);
	xdr_put_u32(x, 0);
	for (unsigned i = 0; i < m->nwrites; i++)
		put_write_chunk(x, m, &m->writes[i]);
	xdr_put_u32(x, 0);
	if (reply)
		put_write_chunk(x, m, reply);
	else
		xdr_put_u32(x, 0);
}
