/* SPDX-License-Identifier: BSD-2-Clause */
/* Version 2: chunks: sound ones (see also cases_chunks.c) and, with --hostile, malformed ones. */
#include "tools/probe/cases.h"
#include "v2/error.h"
#include "v2/message.h"

/* Two Write chunks come back as two, in their order. */
static enum verdict two_writes(struct run *r)
{
	struct segment seg;
	uint8_t *at;
	enum verdict v = v2_up(r);

	if (v)
		return v;
	call_begin(r);
	v = call_write_chunk(r, 64, &seg, &at) ?: call_write_chunk(r, 32, &seg, &at)
	    ?: call_send(r, NULL) ?: expect_reply(r, r->xid);
	if (v)
		return v;
	return writes_returned(r, 2) ?: returned_as_offered(r, &r->reply.msg.writes[0], &r->call.writes[0], 0)
		       ?: returned_as_offered(r, &r->reply.msg.writes[1], &r->call.writes[1], 0);
}

/* One call with a Reply chunk; @solicit: the reply may invalidate its handle. */
static enum verdict invalidation(struct run *r, bool solicit)
{
	struct segment write, reply;
	uint8_t *at;
	enum verdict v = v2_up(r);

	if (v)
		return v;
	call_begin(r);
	v = call_write_chunk(r, 64, &write, &at) ?: call_reply_chunk(r, 1024, &reply);
	if (v)
		return v;
	r->call.inv_handle = solicit ? reply.handle : 0;
	v = call_send(r, NULL) ?: expect_reply(r, r->xid);
	if (v || !r->reply.invalidated)
		return v ?: passed(r, "none was invalidated");
	if (!solicit || r->reply.invalidated != reply.handle)
		return failed(r, "handle 0x%08x was invalidated", r->reply.invalidated);
	return passed(r, "used");
}

static enum verdict inv_zero(struct run *r)
{
	return invalidation(r, false);
}

static enum verdict inv_handle(struct run *r)
{
	return invalidation(r, true);
}

enum { SEGMENTS_MAX = 200 };

/* More segments than property 4 allows, all of them sound. */
static enum verdict segments(struct run *r)
{
	struct segment seg;
	uint8_t *at;
	enum verdict v = v2_up(r);
	uint32_t max = v2_props_get(&r->props, V2_PROP_RCSIZ), xid;

	if (v)
		return v;
	if (max > SEGMENTS_MAX)
		return skipped(r, "%u segments do not fit one message", max);
	v = chunk(r, max + 1, FABRIC_REMOTE_WRITE, &seg, &at);
	if (v)
		return v;
	msg_begin(r, 2, V2_CALL_INLINE);
	put(r, 0, 0, 1, max + 1);
	seg.length = 1;
	for (uint32_t i = 0; i <= max; i++, seg.offset++)
		put_segment(r, &seg);
	put(r, 0, 0);
	put_null(r);
	xid = r->xid;
	v = msg_send(r) ?: expect_v2_error(r, xid, 2, V2_ERR_SEGMENTS);
	if (!v && r->error[1] != max)
		return failed(r, "at most %u in the report, property 4 says %u", r->error[1], max);
	return v ?: fence(r) ?: passed(r, "at most %u", max);
}

/* Two Write chunks, each with fewer segments than property 4 allows, and together with more. */
static enum verdict segments_of_two(struct run *r)
{
	struct segment seg;
	uint8_t *at;
	enum verdict v = v2_up(r);
	uint32_t max = v2_props_get(&r->props, V2_PROP_RCSIZ), each = max / 2 + 1, xid;

	if (v)
		return v;
	if (max > SEGMENTS_MAX || max < 2)
		return skipped(r, "at most %u segments", max);
	v = chunk(r, 2 * each, FABRIC_REMOTE_WRITE, &seg, &at);
	if (v)
		return v;
	msg_begin(r, 2, V2_CALL_INLINE);
	put(r, 0, 0);
	seg.length = 1;
	for (uint32_t i = 0; i < 2 * each; i++, seg.offset++) {
		if (i % each == 0)
			put(r, 1, each);
		put_segment(r, &seg);
	}
	put(r, 0, 0);
	put_null(r);
	xid = r->xid;
	return msg_send(r)
		       ?: expect_reading(r, xid, V2_ERR_SEGMENTS, "segments", "of a chunk",
					 "of a header");
}

/* --- hostile --- */

static enum verdict bad_begin(struct run *r, uint32_t type)
{
	enum verdict v = v2_up(r);

	msg_begin(r, 2, type);
	put(r, 0); /* rdma_inv_handle */
	return v;
}

static enum verdict bad_end(struct run *r)
{
	return v2_peer_rejections(r, V2_ERR_BAD_XDR);
}

/* A Read list of segments at these Positions, in a CALL_INLINE. */
static enum verdict bad_positions(struct run *r, const uint32_t *positions, unsigned n)
{
	struct segment seg;
	uint8_t *at;
	enum verdict v =
		bad_begin(r, V2_CALL_INLINE) ?: chunk(r, 64, FABRIC_REMOTE_READ, &seg, &at);

	if (v)
		return v;
	seg.length = 4;
	for (unsigned i = 0; i < n; i++) {
		put(r, 1, positions[i]);
		put_segment(r, &seg);
		seg.offset += 4;
	}
	put(r, 0, 0, 0);
	put_null(r);
	return bad_end(r);
}

static enum verdict position_zero(struct run *r)
{
	static const uint32_t positions[] = {0};

	return bad_positions(r, positions, 1);
}

static enum verdict decreasing(struct run *r)
{
	static const uint32_t positions[] = {44, 40};

	return bad_positions(r, positions, 2);
}

static enum verdict unaligned(struct run *r)
{
	static const uint32_t positions[] = {41};

	return bad_positions(r, positions, 1);
}

static enum verdict call_chunk_position(struct run *r)
{
	struct segment seg;
	enum verdict v = bad_begin(r, V2_CALL_EXTERNAL) ?: null_chunk(r, &seg);

	if (v)
		return v;
	put(r, 1, 4);
	put_segment(r, &seg);
	put(r, 0, 0, 0, 0);
	return bad_end(r);
}

static enum verdict call_chunk_empty(struct run *r)
{
	enum verdict v = bad_begin(r, V2_CALL_EXTERNAL);

	put(r, 0, 0, 0, 0);
	return v ?: bad_end(r);
}

static enum verdict discriminator(struct run *r)
{
	enum verdict v = bad_begin(r, V2_CALL_INLINE);

	put(r, 2, 0, 0);
	put_null(r);
	return v ?: bad_end(r);
}

static enum verdict write_count(struct run *r)
{
	enum verdict v = bad_begin(r, V2_CALL_INLINE);

	put(r, 0, 1, 0x10000000, 0, 0);
	put_null(r);
	return v ?: bad_end(r);
}

static enum verdict cut_segment(struct run *r)
{
	enum verdict v = bad_begin(r, V2_CALL_INLINE);

	put(r, 1, 40, 0x01020304);
	return v ?: bad_end(r);
}

/* A handle that exposes nothing: the connection may end, but the server must not. */
static enum verdict dead_handle(struct run *r)
{
	const struct segment dead = {.handle = 0x01020304, .length = RPC_NULL_BYTES, .offset = 0};
	enum verdict v = bad_begin(r, V2_CALL_EXTERNAL);
	struct wire_msg m;

	if (v)
		return v;
	put(r, 1, 0);
	put_segment(r, &dead);
	put(r, 0, 0, 0, 0);
	v = msg_send(r);
	if (v)
		return v;
	(void)msg_next(r, &m);
	return v2_up(r) ?: fence(r) ?: passed(r, "a new connection is served");
}

static const struct probe_case cases[] = {
	{"v2.external", "v2 6.3.5, 6.6.3", "MUST", "a Call in a Call chunk is pulled and served",
	 case_long_call, 2, false},
	{"v2.external.pieces", "v2 4.5.1", "MUST",
	 "segments of one Position are put together, whatever their lengths", case_long_call_pieces,
	 2, false},
	{"v2.reply-chunk", "v2 6.3.8, 4.5.2.1", "MUST",
	 "a Reply through the Reply chunk: segments kept, lengths those written", case_reply_chunk,
	 2, false},
	{"v2.write.unused", "v2 4.5.2.1", "MUST",
	 "an unused Write chunk comes back with its segments and zero lengths", case_unused_write,
	 2, false},
	{"v2.write.two", "v2 4.5.2.1", "MUST", "two Write chunks come back in their order",
	 two_writes, 2, false},
	{"v2.invalidate.zero", "v2 6.5", "MUST", "rdma_inv_handle 0: nothing is invalidated",
	 inv_zero, 2, false},
	{"v2.invalidate", "v2 6.5", "MUST", "rdma_inv_handle set: that handle or none", inv_handle,
	 2, false},
	{"v2.segments", "v2 7.3.3, 5.2.4", "MUST",
	 "more segments than property 4 says draw ERR_SEGMENTS with that number", segments, 2,
	 false},
	{"v2.segments.two", "v2 5.2.4, 7.3.3", "open",
	 "two chunks with more segments together than property 4 says", segments_of_two, 2, false},
	{"v2.bad.position-zero", "v2 6.3.7, 7.2.1", "MUST",
	 "Position zero in the Read list of a CALL_INLINE draws BAD_XDR", position_zero, 2, true},
	{"v2.bad.decreasing", "v2 4.5.1.1", "MUST", "decreasing Positions draw BAD_XDR", decreasing,
	 2, true},
	{"v2.bad.unaligned", "v2 4.5.1, 7.2.1", "MUST",
	 "a Position that is no multiple of four draws BAD_XDR", unaligned, 2, true},
	{"v2.bad.call-position", "v2 6.6.3, 7.2.1", "MUST",
	 "a Call chunk at another Position than zero draws BAD_XDR", call_chunk_position, 2, true},
	{"v2.bad.call-empty", "v2 6.3.5, 7.2.1", "MUST",
	 "RDMA2_CALL_EXTERNAL without a Call chunk draws BAD_XDR", call_chunk_empty, 2, true},
	{"v2.bad.discriminator", "v2 7.2.1", "MUST", "a list discriminator of 2 draws BAD_XDR",
	 discriminator, 2, true},
	{"v2.bad.count", "v2 7.2.1", "MUST", "a Write chunk of 2^28 segments draws BAD_XDR",
	 write_count, 2, true},
	{"v2.bad.cut", "v2 7.2, 7.2.1", "MUST", "a list that ends within a segment draws BAD_XDR",
	 cut_segment, 2, true},
	{"v2.bad.handle", "v2 7.3", "MUST", "a dead handle harms no other connection", dead_handle,
	 2, true},
};

CASE_TABLE(cases_v2_chunks, cases);
