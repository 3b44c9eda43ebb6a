/* SPDX-License-Identifier: BSD-2-Clause */
/* The early draft of version 2: chunks, sound ones (cases_chunks.c) and, with --hostile, others. */
#include "tools/probe/cases.h"
#include "v2early/header.h"

enum { CALL = 0 };

/* RDMA2_MSG up to its lists. */
static enum verdict bad_begin(struct run *r)
{
	enum verdict v = early_up(r);

	msg_begin(r, 0, EARLY_MSG);
	put(r, CALL);
	return v;
}

static enum verdict bad_end(struct run *r)
{
	uint32_t xid = r->xid;
	enum verdict v = msg_send(r) ?: early_refused(r, xid);
	const char *what = r->detail[0] == 'B' ? "BAD_HEADER" : "an RPC error";

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
	enum verdict v = early_up(r);

	msg_begin(r, 0, EARLY_NOMSG);
	put(r, CALL, 0, 0, 0);
	return v ?: bad_end(r);
}

/* A handle that exposes nothing: this connection may end, the server may not. */
static enum verdict dead_handle(struct run *r)
{
	const struct segment dead = {.handle = 0x01020304, .length = RPC_NULL_BYTES, .offset = 0};
	enum verdict v = early_up(r);
	struct wire_msg m;

	msg_begin(r, 0, EARLY_NOMSG);
	put(r, CALL, 1, 0);
	put_segment(r, &dead);
	put(r, 0, 0, 0);
	v = v ?: msg_send(r);
	if (v)
		return v;
	(void)msg_next(r, &m);
	return early_up(r) ?: passed(r, "a new connection is served");
}

static const struct probe_case cases[] = {
	{"early.nomsg", "v1 5.3.3", "MUST",
	 "a call in a Position-Zero Read chunk is pulled and served", case_long_call, RUN_EARLY,
	 false},
	{"early.nomsg.pieces", "v1 4.4.4", "MUST",
	 "segments of one Position are put together, whatever their lengths", case_long_call_pieces,
	 RUN_EARLY, false},
	{"early.reply-chunk", "v1 5.3.4, 4.4.5", "MUST",
	 "a reply through the Reply chunk: segments kept, lengths those written", case_reply_chunk,
	 RUN_EARLY, false},
	{"early.write.unused", "v1 4.4.5.1", "MUST",
	 "an unused Write chunk comes back with its segments and zero lengths", case_unused_write,
	 RUN_EARLY, false},
	{"early.bad.discriminator", "v1 5.5", "MUST", "a list discriminator of 7 is refused",
	 bad_discriminator, RUN_EARLY, true},
	{"early.bad.count", "v1 5.5", "MUST", "a Write chunk of 2^28 segments is refused",
	 bad_count, RUN_EARLY, true},
	{"early.bad.reply-count", "v1 5.5", "MUST", "a Reply chunk of 2^32 - 1 segments is refused",
	 bad_reply_count, RUN_EARLY, true},
	{"early.bad.position", "v1 4.4.4.1, 5.5", "MUST",
	 "a Position that is no multiple of four is refused", bad_position, RUN_EARLY, true},
	{"early.bad.nomsg", "v1 5.3.3, 5.5", "MUST", "RDMA2_NOMSG without any chunk is refused",
	 bad_nomsg, RUN_EARLY, true},
	{"early.bad.handle", "v1 10.1", "MUST", "a dead handle harms no other connection",
	 dead_handle, RUN_EARLY, true},
};

CASE_TABLE(cases_early_chunks, cases);
