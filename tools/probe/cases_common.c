/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/probe/cases.h"
#include "v1/header.h"
#include "v2early/header.h"

enum verdict v1_refused(struct run *r, uint32_t xid)
{
	struct wire_msg m;
	enum verdict v = msg_next(r, &m);
	struct v1_header h;
	struct rpc_verdict rpc;
	bool dir_known;

	if (v)
		return v;
	if (v1_header_decode(&h, &r->reply.msg, &dir_known, m.octets) < 0 || h.xid != xid)
		return failed(r, "ERR_CHUNK is due; instead %s", msg_words(r, m.octets));
	if (h.proc == V1_ERROR)
		return h.err == V1_ERR_CHUNK ? passed(r, "ERR_CHUNK")
					     : failed(r, "error %u instead of ERR_CHUNK", h.err);
	if (h.proc != V1_MSG || rpc_verdict_read(&rpc, r->reply.msg.body[0]) < 0)
		return failed(r, "ERR_CHUNK is due; instead %s", msg_words(r, m.octets));
	if (rpc.accepted && rpc.stat == 0)
		return failed(r, "the call was executed");
	return passed(r, "an RPC reply: %s", rpc_verdict_name(&rpc));
}

enum verdict early_refused(struct run *r, uint32_t xid)
{
	struct wire_msg m;
	enum verdict v = msg_next(r, &m);
	enum rpc_dir dir = RPC_REPLY;
	struct early_header h;
	struct rpc_verdict rpc;

	if (v)
		return v;
	if (early_header_decode(&h, &r->reply.msg, &dir, m.octets) < 0 || h.xid != xid)
		return failed(r, "BAD_HEADER is due; instead %s", msg_words(r, m.octets));
	if (h.proc == EARLY_ERROR)
		return h.err == EARLY_ERR_BAD_HEADER
			       ? passed(r, "BAD_HEADER")
			       : failed(r, "error %u instead of BAD_HEADER", h.err);
	if (h.proc != EARLY_MSG || rpc_verdict_read(&rpc, r->reply.msg.body[0]) < 0)
		return failed(r, "BAD_HEADER is due; instead %s", msg_words(r, m.octets));
	if (rpc.accepted && rpc.stat == 0)
		return failed(r, "the call was executed");
	return passed(r, "an RPC reply: %s", rpc_verdict_name(&rpc));
}

enum verdict v2_peer_rejections(struct run *r, uint32_t err)
{
	uint32_t xid = r->xid;

	return msg_send(r) ?: expect_v2_error(r, xid, 2, err) ?: fence(r);
}

enum verdict writes_returned(struct run *r, unsigned n)
{
	if (r->reply.msg.nwrites == n)
		return PASS;
	return failed(r, "%u Write chunks came back of %u", r->reply.msg.nwrites, n);
}

enum verdict returned_as_offered(struct run *r, const struct rpc_chunk *got,
				 const struct rpc_chunk *offered, uint64_t length)
{
	const struct rpc_msg *reply = &r->reply.msg;
	bool is_full = true;

	if (got->count != offered->count)
		return failed(r, "%u segments came back of %u", got->count, offered->count);
	for (unsigned i = 0; i < got->count; i++) {
		const struct segment *a = &reply->segs[got->first + i];
		const struct segment *b = &r->call.segs[offered->first + i];

		if (a->handle != b->handle || a->offset != b->offset)
			return failed(r, "segment %u came back changed", i + 1);
		if (a->length > b->length)
			return failed(r, "segment %u came back with %u octets, %u were offered",
				      i + 1, a->length, b->length);
		if (a->length > 0 && !is_full)
			return failed(r, "segment %u was begun before the one before it was full",
				      i + 1);
		is_full = a->length == b->length;
	}
	if (got->length != length)
		return failed(r, "the chunk came back with %llu octets instead of %llu",
			      (unsigned long long)got->length, (unsigned long long)length);
	return PASS;
}

enum verdict reply_chunk_fair(struct run *r)
{
	const struct rpc_msg *m = &r->reply.msg;

	if (m->has_body_chunk)
		return returned_as_offered(r, &m->body_chunk, &r->call.reply, m->body_chunk.length)
			       ?: passed(r, "through the Reply chunk, %llu octets",
					 (unsigned long long)m->body_chunk.length);
	return passed(r, "inline");
}
