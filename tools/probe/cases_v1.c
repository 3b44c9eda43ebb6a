/* SPDX-License-Identifier: BSD-2-Clause */
/* Version 1: messages without chunks. */
#include "tools/probe/cases.h"
#include "v1/header.h"

static enum verdict reply(struct run *r)
{
	return v1_up(r) ?: passed(r, "%s", rpc_verdict_name(&r->reply.rpc));
}

static enum verdict credit_given(struct run *r)
{
	enum verdict v = v1_up(r);

	if (v)
		return v;
	return r->reply.credit ? passed(r, "%u", r->reply.credit) : failed(r, "a grant of 0");
}

enum { BURST_MAX = 16 };

/* Send as many calls at once as were granted, up to a limit. */
static enum verdict credit_kept(struct run *r)
{
	enum verdict v = v1_up(r);
	uint32_t n = r->reply.credit < BURST_MAX ? r->reply.credit : BURST_MAX, first = r->next_xid;
	uint32_t seen = 0, sent = 0;

	for (; !v && sent < n; sent++) {
		null_begin(r);
		v = msg_send(r);
	}
	for (uint32_t i = 0; !v && i < n; i++) {
		v = expect_reply(r, 0);
		if (!v && (r->reply.msg.xid - first >= n ||
			   seen & (uint32_t)1 << (r->reply.msg.xid - first)))
			return failed(r, "a second reply, or one to nothing: xid 0x%08x",
				      r->reply.msg.xid);
		if (!v)
			seen |= (uint32_t)1 << (r->reply.msg.xid - first);
	}
	return v ?: fence(r) ?: passed(r, "%u calls at once", n);
}

/* Send a message that must be dropped, and then a call that must be served. */
static enum verdict dropped(struct run *r)
{
	return msg_send(r) ?: fence(r);
}

static enum verdict done(struct run *r)
{
	enum verdict v = v1_up(r);

	if (v)
		return v;
	msg_begin(r, 1, V1_DONE);
	return dropped(r);
}

static enum verdict msgp(struct run *r)
{
	enum verdict v = v1_up(r);

	if (v)
		return v;
	msg_begin(r, 1, V1_MSGP);
	put(r, 0, 0); /* rdma_align, rdma_thresh */
	put(r, 0, 0, 0);
	put_null(r);
	return msg_send(r) ?: expect_reply(r, r->xid);
}

static enum verdict error_chunk(struct run *r)
{
	enum verdict v = v1_up(r);

	if (v)
		return v;
	msg_begin(r, 1, V1_ERROR);
	put(r, V1_ERR_CHUNK);
	return dropped(r);
}

static enum verdict error_vers(struct run *r)
{
	enum verdict v = v1_up(r);

	if (v)
		return v;
	msg_begin(r, 1, V1_ERROR);
	put(r, V1_ERR_VERS, 1, 1);
	return dropped(r);
}

static enum verdict unknown_type(struct run *r)
{
	enum verdict v = v1_up(r);
	uint32_t xid;

	if (v)
		return v;
	msg_begin(r, 1, 99);
	put(r, 0, 0, 0);
	put_null(r);
	xid = r->xid;
	return msg_send(r) ?: expect_v1_error(r, xid, V1_ERR_CHUNK) ?: fence(r);
}

static enum verdict short_prefix(struct run *r)
{
	enum verdict v = v1_up(r);

	if (v)
		return v;
	msg_begin(r, 1, V1_MSG);
	r->x.pos = r->out + 12;
	return dropped(r);
}

static enum verdict short_rpc(struct run *r)
{
	enum verdict v = v1_up(r);

	if (v)
		return v;
	msg_begin(r, 1, V1_MSG);
	put(r, 0, 0, 0, r->xid);
	return dropped(r);
}

/* RFC 5531: a denied reply, MSG_DENIED/RPC_MISMATCH, is a reply. */
static enum verdict rpc_version(struct run *r)
{
	enum verdict v = v1_up(r);

	if (v)
		return v;
	msg_begin(r, 1, V1_MSG);
	put(r, 0, 0, 0);
	put(r, r->xid, 0, 3, r->program.number, r->program.version, 0, 0, 0, 0, 0);
	v = msg_send(r) ?: expect_reply(r, r->xid);
	if (!v && r->reply.rpc.accepted)
		return failed(r, "RPC version 3 was accepted");
	return v;
}

/* The size that every version 1 responder accepts: octets behind the end of the call fill the
 * message up. */
static enum verdict full_kilobyte(struct run *r)
{
	enum verdict v = raw_up(r);

	if (v)
		return v;
	r->version = 1;
	null_begin(r);
	while (xdr_out_len(&r->x) < V1_PDATA_MIN_SIZE)
		put(r, 0);
	return msg_send(r) ?: expect_reply(r, r->xid)
	       ?: passed(r, "%s", rpc_verdict_name(&r->reply.rpc));
}

static enum verdict agreed_size(struct run *r)
{
	uint32_t size = r->facts->said.recv_bytes;
	enum verdict v = v1_up(r);

	if (size > RUN_INLINE)
		size = RUN_INLINE;
	if (v || size <= V1_PDATA_MIN_SIZE)
		return v ?: skipped(r, "the server announces no more than 1024 octets");
	null_begin(r);
	while (xdr_out_len(&r->x) < size)
		put(r, 0);
	return msg_send(r) ?: expect_reply(r, r->xid)
	       ?: passed(r, "%u octets: %s", size, rpc_verdict_name(&r->reply.rpc));
}

static const struct probe_case cases[] = {
	{"v1.reply", "v1 5.1.1, 5.1.2", "MUST",
	 "a call is answered: version 1, its XID in the transport and the RPC header", reply, 1,
	 false},
	{"v1.credit.given", "v1 4.3", "MUST", "the grant is not zero", credit_given, 1, false},
	{"v1.credit.kept", "v1 4.3", "MUST", "as many calls at once as were granted are answered",
	 credit_kept, 1, false},
	{"v1.size.1024", "v1 4.3.1", "MUST", "a first message of 1024 octets is taken",
	 full_kilobyte, 1, false},
	{"v1.size.agreed", "RFC 8797 4.2", "MUST", "a message of the announced size is taken",
	 agreed_size, 1, false},
	{"v1.done", "v1 5.7.2", "MUST", "RDMA_DONE is dropped", done, 1, false},
	{"v1.msgp", "v1 5.7.1", "MUST", "RDMA_MSGP is treated as RDMA_MSG", msgp, 1, false},
	{"v1.error.chunk", "v1 5.5", "MUST", "RDMA_ERROR/ERR_CHUNK is not answered", error_chunk, 1,
	 false},
	{"v1.error.vers", "v1 5.5", "MUST", "RDMA_ERROR/ERR_VERS is not answered", error_vers, 1,
	 false},
	{"v1.type.unknown", "v1 5.5", "MUST", "an unknown message type draws ERR_CHUNK",
	 unknown_type, 1, false},
	{"v1.short.header", "v1 8.3.3", "MUST", "a message of 12 octets is dropped", short_prefix,
	 1, false},
	{"v1.short.rpc", "v1 8.3.3", "MUST", "a message that ends within the RPC header is dropped",
	 short_rpc, 1, false},
	{"v1.rpc-version", "RFC 5531 9", "MUST", "RPC version 3 draws a denied reply", rpc_version,
	 1, false},
};

CASE_TABLE(cases_v1, cases);
