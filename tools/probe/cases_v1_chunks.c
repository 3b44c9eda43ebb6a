/* SPDX-License-Identifier: BSD-2-Clause */
/* Chunks of version 1, which the early draft of version 2 has, too: sound ones (cases_chunks.c)
 * and, with --hostile, malformed ones. */
#include "tools/probe/cases.h"
#include "v1/header.h"
#include "v2early/header.h"

_Static_assert((int)EARLY_MSG == (int)V1_MSG && (int)EARLY_NOMSG == (int)V1_NOMSG,
	       "as in version 1");

enum { CALL = 0 }; /* direction of a message in the early draft */

/* Begin RDMA_MSG or RDMA_NOMSG (RDMA2_... in the early draft), up to its lists. */
static enum verdict up_to_lists(struct run *r, enum v1_proc proc)
{
	enum verdict v = case_up(r);

	msg_begin(r, 0, proc);
	if (r->wanted == RUN_EARLY)
		put(r, CALL);
	return v;
}

static enum verdict bad_begin(struct run *r)
{
	return up_to_lists(r, V1_MSG);
}

static enum verdict bad_end(struct run *r)
{
	uint32_t xid = r->xid;
	enum verdict v = msg_send(r);
	const char *what;

	if (!v)
		v = r->wanted == RUN_EARLY ? early_refused(r, xid) : v1_refused(r, xid);
	what = r->detail[0] == 'E'   ? "ERR_CHUNK"
	       : r->detail[0] == 'B' ? "BAD_HEADER"
				     : "an RPC error";
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
	enum verdict v = up_to_lists(r, V1_NOMSG);

	put(r, 0, 0, 0);
	return v ?: bad_end(r);
}

/* A handle that exposes nothing: the connection may end, but the server must not. */
static enum verdict dead_handle(struct run *r)
{
	const struct segment dead = {.handle = 0x01020304, .length = RPC_NULL_BYTES, .offset = 0};
	enum verdict v = up_to_lists(r, V1_NOMSG);
	struct wire_msg m;

	put(r, 1, 0);
	put_segment(r, &dead);
	put(r, 0, 0, 0);
	v = v ?: msg_send(r);
	if (v)
		return v;
	(void)msg_next(r, &m);
	return case_up(r) ?: passed(r, "a new connection is served");
}

static const struct probe_case cases[] = {
	{"v1.nomsg", "v1 5.3.3", "MUST",
	 "a call in a Position-Zero Read chunk is pulled and served", case_long_call, 1, false},
	{"v1.nomsg.pieces", "v1 4.4.4", "MUST",
	 "segments of one Position are put together, whatever their lengths", case_long_call_pieces,
	 1, false},
	{"v1.reply-chunk", "v1 5.3.4, 4.4.5", "MUST",
	 "a reply through the Reply chunk: segments kept, lengths those written", case_reply_chunk,
	 1, false},
	{"v1.write.unused", "v1 4.4.5.1", "MUST",
	 "an unused Write chunk comes back with its segments and zero lengths", case_unused_write,
	 1, false},
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

static const struct probe_case early_cases[] = {
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

CASE_TABLE(cases_early_chunks, early_cases);
