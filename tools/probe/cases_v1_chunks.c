/* SPDX-License-Identifier: BSD-2-Clause */
/* Version 1: chunks, sound ones and, with --hostile, others. */
#include "tools/probe/cases.h"
#include "v1/header.h"

/* A long call: the NULL lies in memory, in @n pieces. */
static enum verdict long_call(struct run *r, const uint32_t *lengths, unsigned n)
{
	struct segment whole, part;
	enum verdict v = v1_up(r);

	if (v)
		return v;
	call_begin(r);
	v = null_chunk(r, &whole);
	if (v)
		return v;
	part = whole;
	r->call.has_body_chunk = true;
	r->call.body_chunk = (struct rpc_chunk){0};
	for (unsigned i = 0; i < n; i++) {
		part.length = lengths[i];
		call_segment(r, &r->call.body_chunk, &part);
		part.offset += lengths[i];
	}
	return call_send(r, NULL) ?: expect_reply(r, r->xid) ?: fence(r);
}

static enum verdict nomsg(struct run *r)
{
	static const uint32_t whole[] = {RPC_NULL_BYTES};

	return long_call(r, whole, 1);
}

static enum verdict nomsg_pieces(struct run *r)
{
	static const uint32_t pieces[] = {5, 11, 24};

	return long_call(r, pieces, 3);
}

static enum verdict reply_chunk(struct run *r)
{
	struct segment seg;
	enum verdict v = v1_up(r);

	if (v)
		return v;
	call_begin(r);
	return call_reply_chunk(r, 1024, &seg) ?: call_send(r, NULL) ?: expect_reply(r, r->xid)
	       ?: reply_chunk_fair(r);
}

static enum verdict unused_write(struct run *r)
{
	struct segment seg, second;
	uint8_t *at;
	enum verdict v = v1_up(r);

	if (v)
		return v;
	call_begin(r);
	v = call_write_chunk(r, 300, &seg, &at);
	if (v)
		return v;
	second = seg;
	second.offset += 200;
	second.length = 100;
	r->call.segs[0].length = 200;
	r->call.writes[0].length = 200;
	call_segment(r, &r->call.writes[0], &second);
	v = call_send(r, NULL) ?: expect_reply(r, r->xid);
	if (v)
		return v;
	if (r->reply.msg.nwrites != 1)
		return failed(r, "%u Write chunks came back of 1", r->reply.msg.nwrites);
	return returned_as_offered(r, &r->reply.msg.writes[0], &r->call.writes[0], 0);
}

/* --- hostile --- */

/* RDMA_MSG up to its lists. */
static enum verdict bad_begin(struct run *r)
{
	enum verdict v = v1_up(r);

	msg_begin(r, 1, V1_MSG);
	return v;
}

static enum verdict bad_end(struct run *r)
{
	uint32_t xid = r->xid;
	enum verdict v = msg_send(r) ?: v1_refused(r, xid);
	const char *what = r->detail[0] == 'E' ? "ERR_CHUNK" : "an RPC error";

	return v ?: fence(r) ?: passed(r, "%s", what);
}

static enum verdict bad_discriminator(struct run *r)
{
	enum verdict v = bad_begin(r);

	put(r, 7, 0, 0);
	put_null(r);
	return v ?: bad_end(r);
}

static enum verdict bad_count(struct run *r)
{
	enum verdict v = bad_begin(r);

	put(r, 0, 1, 0x10000000, 0, 0);
	put_null(r);
	return v ?: bad_end(r);
}

static enum verdict bad_reply_count(struct run *r)
{
	enum verdict v = bad_begin(r);

	put(r, 0, 0, 1, 0xffffffff);
	put_null(r);
	return v ?: bad_end(r);
}

static enum verdict bad_position(struct run *r)
{
	struct segment seg;
	uint8_t *at;
	enum verdict v = bad_begin(r) ?: chunk(r, 64, FABRIC_REMOTE_READ, &seg, &at);

	if (v)
		return v;
	put(r, 1, 41);
	put_segment(r, &seg);
	put(r, 0, 0, 0);
	put_null(r);
	return bad_end(r);
}

static enum verdict bad_nomsg(struct run *r)
{
	enum verdict v = v1_up(r);

	if (v)
		return v;
	msg_begin(r, 1, V1_NOMSG);
	put(r, 0, 0, 0);
	return bad_end(r);
}

/* A handle that exposes nothing: this connection may end, the server may not. */
static enum verdict dead_handle(struct run *r)
{
	const struct segment dead = {.handle = 0x01020304, .length = RPC_NULL_BYTES, .offset = 0};
	enum verdict v = v1_up(r);
	struct wire_msg m;

	if (v)
		return v;
	msg_begin(r, 1, V1_NOMSG);
	put(r, 1, 0);
	put_segment(r, &dead);
	put(r, 0, 0, 0);
	v = msg_send(r);
	if (v)
		return v;
	(void)msg_next(r, &m);
	return v1_up(r) ?: passed(r, "a new connection is served");
}

static const struct probe_case cases[] = {
	{"v1.nomsg", "v1 5.3.3", "MUST",
	 "a call in a Position-Zero Read chunk is pulled and served", nomsg, 1, false},
	{"v1.nomsg.pieces", "v1 4.4.4", "MUST",
	 "segments of one Position are put together, whatever their lengths", nomsg_pieces, 1,
	 false},
	{"v1.reply-chunk", "v1 5.3.4, 4.4.5", "MUST",
	 "a reply through the Reply chunk: segments kept, lengths those written", reply_chunk, 1,
	 false},
	{"v1.write.unused", "v1 4.4.5.1", "MUST",
	 "an unused Write chunk comes back with its segments and zero lengths", unused_write, 1,
	 false},
	{"v1.bad.discriminator", "v1 5.5", "MUST", "a list discriminator of 7 is refused",
	 bad_discriminator, 1, true},
	{"v1.bad.count", "v1 5.5", "MUST", "a Write chunk of 2^28 segments is refused", bad_count,
	 1, true},
	{"v1.bad.reply-count", "v1 5.5", "MUST", "a Reply chunk of 2^32 - 1 segments is refused",
	 bad_reply_count, 1, true},
	{"v1.bad.position", "v1 4.4.4.1, 5.5", "MUST",
	 "a Position that is no multiple of four is refused", bad_position, 1, true},
	{"v1.bad.nomsg", "v1 5.3.3, 5.5", "MUST", "RDMA_NOMSG without any chunk is refused",
	 bad_nomsg, 1, true},
	{"v1.bad.handle", "v1 10.1", "MUST", "a dead handle harms no other connection", dead_handle,
	 1, true},
};

CASE_TABLE(cases_v1_chunks, cases);
