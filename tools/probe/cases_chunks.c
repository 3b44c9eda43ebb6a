/* SPDX-License-Identifier: BSD-2-Clause */
/* Sound chunks: cases that each version has in its own table. */
#include "tools/probe/cases.h"

/* A long call: the NULL is in exposed memory, in @n pieces. */
static enum verdict long_call(struct run *r, const uint32_t *lengths, unsigned n)
{
	struct segment part;
	enum verdict v = case_up(r);

	if (v)
		return v;
	call_begin(r);
	v = null_chunk(r, &part);
	if (v)
		return v;
	for (unsigned i = 0; i < n; i++) {
		part.length = lengths[i];
		call_body_chunk(r, &part);
		part.offset += lengths[i];
	}
	return call_send(r, NULL) ?: expect_reply(r, r->xid) ?: fence(r);
}

enum verdict case_long_call(struct run *r)
{
	static const uint32_t whole[] = {RPC_NULL_BYTES};

	return long_call(r, whole, 1);
}

enum verdict case_long_call_pieces(struct run *r)
{
	static const uint32_t pieces[] = {5, 11, 24};

	return long_call(r, pieces, 3);
}

enum verdict case_reply_chunk(struct run *r)
{
	struct segment seg;
	enum verdict v = case_up(r);

	if (v)
		return v;
	call_begin(r);
	return call_reply_chunk(r, 1024, &seg) ?: call_send(r, NULL) ?: expect_reply(r, r->xid)
	       ?: reply_chunk_fair(r);
}

enum verdict case_unused_write(struct run *r)
{
	struct segment seg;
	uint8_t *at;
	enum verdict v = case_up(r);

	if (v)
		return v;
	call_begin(r);
	v = call_write_chunk(r, 300, &seg, &at);
	if (v)
		return v;
	call_split(r, &r->call.writes[0], 200);
	return call_send(r, NULL) ?: expect_reply(r, r->xid) ?: writes_returned(r, 1)
	       ?: returned_as_offered(r, &r->reply.msg.writes[0], &r->call.writes[0], 0);
}
