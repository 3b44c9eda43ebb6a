/* SPDX-License-Identifier: BSD-2-Clause */
/* Version 2: header types and reports. */
#include <string.h>

#include "tools/probe/cases.h"
#include "v2/error.h"

static enum verdict simple(struct run *r)
{
	enum verdict v = v2_up(r) ?: null_call(r);

	if (v)
		return v;
	if (r->reply.htype != V2_REPLY_INLINE || r->reply.parts != 1)
		return failed(r, "a short reply in %u messages, type %u", r->reply.parts,
			      r->reply.htype);
	return passed(r, "%s", rpc_verdict_name(&r->reply.rpc));
}

static enum verdict unknown_type(struct run *r)
{
	enum verdict v = v2_up(r);

	if (v)
		return v;
	msg_begin(r, 2, 99);
	put_null(r);
	return v2_peer_rejections(r, V2_ERR_INVAL_HTYPE);
}

/* Types 0 and 1 are numbers of version 1, and of an early dialect of version 2. */
static enum verdict old_type(struct run *r)
{
	enum verdict v = v2_up(r);

	if (v)
		return v;
	msg_begin(r, 2, 0);
	put(r, 0, 0, 0);
	put_null(r);
	return v2_peer_rejections(r, V2_ERR_INVAL_HTYPE);
}

static enum verdict short_message(struct run *r, size_t len)
{
	enum verdict v = v2_up(r);

	if (v)
		return v;
	msg_begin(r, 2, V2_CALL_INLINE);
	r->x.pos = r->out + len;
	return msg_send(r) ?: fence(r);
}

static enum verdict short_4(struct run *r)
{
	return short_message(r, 4);
}

static enum verdict short_12(struct run *r)
{
	return short_message(r, 12);
}

/* A valid prefix, and a header that ends too early behind it. */
static enum verdict cut_off(struct run *r)
{
	enum verdict v = v2_up(r);

	if (v)
		return v;
	msg_begin(r, 2, V2_CALL_INLINE);
	put(r, 0, 0);
	return v2_peer_rejections(r, V2_ERR_BAD_XDR);
}

static enum verdict other_xid(struct run *r)
{
	enum verdict v = v2_up(r);
	uint32_t xid;

	if (v)
		return v;
	msg_begin(r, 2, V2_CALL_INLINE);
	put(r, 0, 0, 0, 0);
	xid = r->xid++;
	put_null(r);
	r->next_xid++;
	return msg_send(r) ?: expect_v2_error(r, xid, 2, V2_ERR_BAD_XDR) ?: fence(r);
}

static enum verdict grant(struct run *r, uint32_t xid, unsigned n)
{
	/* A call first: afterwards the window has its full width, so no GRANT is needed to widen
	 * it. */
	enum verdict v = v2_up(r) ?: null_call(r) ?: expect_quiet(r);
	uint32_t before = r->flow.grants_received, after;

	for (unsigned i = 0; !v && i < n; i++) {
		xdr_out_init(&r->x, r->out, sizeof(r->out));
		put(r, xid, 2, 0, V2_GRANT);
		v = msg_send(r);
	}
	v = v ?: expect_quiet(r);
	after = r->flow.grants_received - before;
	/* GRANTs that answer each GRANT would never end. */
	if (!v && n > 1 && after > n / 2)
		return failed(r, "%u GRANTs in answer to %u", after, n);
	return v ?: fence(r);
}

static enum verdict grant_plain(struct run *r)
{
	return grant(r, 0, 1);
}

static enum verdict grant_xid(struct run *r)
{
	return grant(r, 0xdeadbeef, 1);
}

static enum verdict grant_many(struct run *r)
{
	return grant(r, 0, 4);
}

static enum verdict error_sent(struct run *r, uint32_t code)
{
	enum verdict v = v2_up(r);

	if (v)
		return v;
	msg_begin(r, 2, V2_ERROR);
	put(r, code);
	return msg_send(r) ?: fence(r);
}

static enum verdict error_known(struct run *r)
{
	return error_sent(r, V2_ERR_SYSTEM);
}

static enum verdict error_unknown(struct run *r)
{
	return error_sent(r, 0x7ffffffe);
}

/* The document does not say whether the connection continues. */
static enum verdict reply_to_nothing(struct run *r)
{
	enum verdict v = v2_up(r);

	if (v)
		return v;
	msg_begin(r, 2, V2_REPLY_INLINE);
	put(r, 0);
	put(r, r->xid, 1, 0, 0, 0, 0);
	v = msg_send(r) ?: expect_quiet(r);
	if (v && r->w.state == WIRE_ENDED && r->w.count == 0)
		return reads(r, "unasked_reply", "ends the connection", "it was closed");
	return v ?: fence(r) ?: reads(r, "unasked_reply", "ignored", "a call afterwards is answered");
}

/* Send one call twice in a row: the second copy arrives while the first is served, or just
 * after. */
static enum verdict twice(struct run *r)
{
	enum verdict v = v2_up(r) ?: null_call(r);
	uint32_t xid;
	int err;

	if (v)
		return v;
	null_begin(r);
	xid = r->xid;
	v = msg_send(r) ?: msg_send(r) ?: expect_reply(r, xid);
	err = v ? ERR_CLOSED : msg_peek(r, QUIET_MS);
	if (err == ERR_TIMEOUT)
		return fence(r) ?: reads(r, "same_xid", "dropped", "one reply came");
	if (err < 0 && r->w.state == WIRE_ENDED)
		return reads(r, "same_xid", "ends the connection", "it was closed");
	return v ?: expect_reply(r, xid) ?: fence(r)
		       ?: reads(r, "same_xid", "answered", "two replies came");
}

/* A handle to invalidate that is in none of the call's chunks. */
static enum verdict foreign_handle(struct run *r)
{
	enum verdict v = v2_up(r);
	uint32_t xid;

	if (v)
		return v;
	msg_begin(r, 2, V2_CALL_INLINE);
	put(r, 0x01020304, 0, 0, 0);
	put_null(r);
	xid = r->xid;
	v = msg_send(r)
		    ?: expect_reading(r, xid, V2_ERR_BAD_XDR, "foreign_handle", "ignored",
				      "BAD_XDR");
	if (!v && !strcmp(r->reading, "ignored") && r->reply.invalidated)
		return failed(r, "handle 0x%08x was invalidated", r->reply.invalidated);
	return v;
}

/* Octets behind the end of the call fill the message up. */
static enum verdict agreed_size(struct run *r)
{
	enum verdict v = v2_up(r);
	uint32_t size = v2_props_get(&r->props, V2_PROP_RBSIZ);

	if (v)
		return v;
	if (size > WIRE_SEND_BYTES)
		size = WIRE_SEND_BYTES;
	null_begin(r);
	while (xdr_out_len(&r->x) + 4 <= size)
		put(r, 0);
	return msg_send(r) ?: expect_reply(r, r->xid)
	       ?: passed(r, "%u octets: %s", size, rpc_verdict_name(&r->reply.rpc));
}

static enum verdict many(struct run *r)
{
	enum verdict v = v2_up(r);

	for (unsigned i = 0; !v && i < 100; i++)
		v = null_call(r);
	return v ?: fence(r);
}

static const struct probe_case cases[] = {
	{"v2.call", "v2 6.6.1, 6.3.10", "MUST",
	 "a short Call is answered by one RDMA2_REPLY_INLINE with its XID", simple, 2, false},
	{"v2.call.many", "v2 4.2", "MUST", "a hundred Calls, one after the other, are answered",
	 many, 2, false},
	{"v2.size.agreed", "v2 5.2.2, 4.2.2", "MUST", "a message of the announced size is taken",
	 agreed_size, 2, false},
	{"v2.type.unknown", "v2 6.1, 7.1.3", "MUST",
	 "an unknown header type draws INVAL_HTYPE, XID and version echoed", unknown_type, 2,
	 false},
	{"v2.type.0", "v2 6.1, 7.1.3", "MUST", "header type 0 draws INVAL_HTYPE", old_type, 2,
	 false},
	{"v2.short.4", "v2 7", "MUST", "a message of 4 octets is discarded in silence", short_4, 2,
	 false},
	{"v2.short.12", "v2 7", "MUST", "a message of 12 octets is discarded in silence", short_12,
	 2, false},
	{"v2.cut-off", "v2 7.2.1", "MUST", "a header that ends too early draws BAD_XDR", cut_off, 2,
	 false},
	{"v2.other-xid", "v2 7.2, 7.2.1", "MUST",
	 "an RPC XID other than the header's draws BAD_XDR with the header's", other_xid, 2, false},
	{"v2.grant", "v2 6.3.2", "MUST", "a GRANT is not answered", grant_plain, 2, false},
	{"v2.grant.xid", "v2 6.3.2", "MUST", "the XID of a GRANT is ignored", grant_xid, 2, false},
	{"v2.grant.many", "v2 4.2.1.1", "SHOULD", "GRANTs do not draw as many GRANTs", grant_many,
	 2, false},
	{"v2.error", "v2 7", "MUST", "an RDMA2_ERROR is not answered", error_known, 2, false},
	{"v2.error.unknown", "v2 7", "MUST", "an unknown error code is discarded in silence",
	 error_unknown, 2, false},
	{"v2.reply.unasked", "v2 7", "SHOULD", "a Reply to nothing is not answered",
	 reply_to_nothing, 2, false},
	{"v2.call.twice", "v2 3.1.3, 4.6.5", "open", "a Call sent again while it may be in flight",
	 twice, 2, false},
	{"v2.invalidate.foreign", "v2 6.5", "open", "rdma_inv_handle that no chunk has",
	 foreign_handle, 2, false},
};

CASE_TABLE(cases_v2, cases);
