/* SPDX-License-Identifier: BSD-2-Clause */
/* Version 2: Message Continuation. The message that is continued is a NULL call of 40 octets. */
#include "tools/probe/cases.h"
#include "v2/error.h"

/* Write the octets of the NULL call with r->xid. */
static void null_octets(struct run *r, uint8_t to[RPC_NULL_BYTES])
{
	struct xdr_out saved = r->x;

	xdr_out_init(&r->x, to, RPC_NULL_BYTES);
	put_null(r);
	r->x = saved;
}

/* Send octets @from to @to of the call in a MIDDLE with @remaining, or the last octets in an
 * INLINE. */
static enum verdict part(struct run *r, uint32_t xid, uint32_t from, uint32_t to,
			 uint32_t remaining)
{
	uint8_t octets[RPC_NULL_BYTES];

	xdr_out_init(&r->x, r->out, sizeof(r->out));
	r->xid = xid;
	null_octets(r, octets);
	put(r, xid, 2, 0, to < RPC_NULL_BYTES || remaining ? V2_CALL_MIDDLE : V2_CALL_INLINE);
	if (to < RPC_NULL_BYTES || remaining)
		put(r, remaining);
	else
		put(r, 0, 0, 0, 0);
	put_octets(r, view_of(octets + from, to - from));
	return msg_send(r);
}

static enum verdict two_parts(struct run *r)
{
	enum verdict v = v2_up(r);
	uint32_t xid = r->next_xid++;

	return v ?: part(r, xid, 0, 24, 16) ?: part(r, xid, 24, 40, 0) ?: expect_reply(r, xid)
	       ?: fence(r);
}

static enum verdict word_by_word(struct run *r)
{
	enum verdict v = v2_up(r);
	uint32_t xid = r->next_xid++;

	for (uint32_t at = 0; !v && at < 40; at += 4)
		v = part(r, xid, at, at + 4, 36 - at);
	return v ?: expect_reply(r, xid) ?: fence(r);
}

/* 6.6.2 allows any boundary, but each message begins with a whole word (6.3.6). */
static enum verdict odd_boundary(struct run *r)
{
	enum verdict v = v2_up(r);
	uint32_t xid = r->next_xid++;

	return v ?: part(r, xid, 0, 21, 19) ?: part(r, xid, 21, 40, 0) ?: expect_reply(r, xid)
	       ?: fence(r);
}

/* Send a first part, the same in all cases below. */
static enum verdict first_part(struct run *r, uint32_t *xid)
{
	enum verdict v = v2_up(r);

	*xid = r->next_xid++;
	return v ?: part(r, *xid, 0, 24, 16);
}

/* Expect INVAL_CONT about @xid; a report about the message in progress is accepted, too. */
static enum verdict inval_cont(struct run *r, uint32_t xid, uint32_t other)
{
	struct wire_msg m;
	enum verdict v;
	bool seen = false;

	while (!seen) {
		v = msg_next(r, &m);
		if (v)
			return v;
		if (m.octets.len < 20 || xdr_peek_u32(m.octets.data + 12) != V2_ERROR ||
		    xdr_peek_u32(m.octets.data + 16) != V2_ERR_INVAL_CONT)
			return failed(r, "INVAL_CONT is due; instead %s", msg_words(r, m.octets));
		seen = xdr_peek_u32(m.octets.data) == xid;
		if (!seen && xdr_peek_u32(m.octets.data) != other)
			return failed(r, "INVAL_CONT about nothing that was sent: %s",
				      msg_words(r, m.octets));
	}
	return PASS;
}

/* The connection still works; a second report about the message in progress may still arrive. */
static enum verdict after(struct run *r, uint32_t other)
{
	nsec_t deadline = probe_now(r->env) + QUIET_MS * NSEC_PER_MS;
	struct wire_msg m;

	while (wire_await(&r->w, deadline, &m) == 0) {
		if (!is_grant(r, &m) &&
		    (m.octets.len < 20 || xdr_peek_u32(m.octets.data + 12) != V2_ERROR ||
		     xdr_peek_u32(m.octets.data) != other))
			return failed(r, "not due: %s", msg_words(r, m.octets));
	}
	return fence(r);
}

static enum verdict another_call(struct run *r)
{
	uint32_t xid, other;
	enum verdict v = first_part(r, &xid);

	if (v)
		return v;
	null_begin(r);
	other = r->xid;
	return msg_send(r) ?: inval_cont(r, other, xid) ?: after(r, xid);
}

static enum verdict another_type(struct run *r)
{
	uint32_t xid, other;
	enum verdict v = first_part(r, &xid);

	if (v)
		return v;
	msg_begin(r, 2, V2_CONNPROP_FINAL);
	put_props(r);
	other = r->xid;
	return msg_send(r) ?: inval_cont(r, other, xid) ?: after(r, xid);
}

static enum verdict external(struct run *r)
{
	struct segment seg;
	uint32_t xid, other;
	enum verdict v = first_part(r, &xid);

	if (v)
		return v;
	call_begin(r);
	other = r->xid;
	v = null_chunk(r, &seg);
	if (v)
		return v;
	call_body_chunk(r, &seg);
	return call_send(r, NULL) ?: inval_cont(r, other, xid) ?: after(r, xid);
}

static enum verdict too_little(struct run *r)
{
	enum verdict v = v2_up(r);
	uint32_t xid = r->next_xid++;

	return v ?: part(r, xid, 0, 24, 100) ?: part(r, xid, 24, 40, 0) ?: inval_cont(r, xid, xid)
	       ?: after(r, xid);
}

static enum verdict too_much(struct run *r)
{
	enum verdict v = v2_up(r);
	uint32_t xid = r->next_xid++;

	return v ?: part(r, xid, 0, 24, 8) ?: part(r, xid, 24, 40, 0) ?: inval_cont(r, xid, xid)
	       ?: after(r, xid);
}

/* 7.1.4: all messages with that XID are discarded, without reassembly. */
static enum verdict rest_discarded(struct run *r)
{
	enum verdict v = v2_up(r);
	uint32_t xid = r->next_xid++;

	return v ?: part(r, xid, 0, 8, 32) ?: part(r, xid, 8, 16, 4000)
	       ?: inval_cont(r, xid, xid) ?: part(r, xid, 16, 24, 16) ?: part(r, xid, 24, 40, 0)
	       ?: after(r, xid);
}

/* Send a GRANT, or a report about nothing, between two parts. */
static enum verdict between(struct run *r, uint32_t type, const char *of)
{
	struct wire_msg m;
	uint32_t xid, about;
	enum verdict v = first_part(r, &xid);

	if (v)
		return v;
	xdr_out_init(&r->x, r->out, sizeof(r->out));
	put(r, 0, 2, 0, type);
	if (type == V2_ERROR)
		put(r, 0x7ffffffe);
	v = msg_send(r) ?: part(r, xid, 24, 40, 0) ?: msg_next(r, &m);
	if (v)
		return v;
	wire_unget(&r->w);
	if (m.octets.len < 20 || xdr_peek_u32(m.octets.data + 12) != V2_ERROR)
		return expect_reply(r, xid) ?: reads(r, of, "tolerant", "the call is answered");
	/* The report may be about the message that breaks the sequence, about the broken sequence,
	 * or there may be both. */
	about = xdr_peek_u32(m.octets.data);
	return expect_v2_error(r, about ? xid : 0, 2, V2_ERR_INVAL_CONT)
		       ?: after(r, about ? 0 : xid) ?: reads(r, of, "strict", "INVAL_CONT");
}

static enum verdict grant_between(struct run *r)
{
	return between(r, V2_GRANT, "grant_between");
}

static enum verdict error_between(struct run *r)
{
	return between(r, V2_ERROR, "error_between");
}

/* A part too short for its header: 7.1.4 and 7.2.1 have different codes for it. */
static enum verdict malformed_part(struct run *r)
{
	uint32_t xid;
	enum verdict v = first_part(r, &xid);

	if (v)
		return v;
	xdr_out_init(&r->x, r->out, sizeof(r->out));
	put(r, xid, 2, 0, V2_CALL_MIDDLE);
	v = msg_send(r) ?: expect_v2_error(r, xid, 2, 0);
	if (v)
		return v;
	if (r->error[0] != V2_ERR_INVAL_CONT && r->error[0] != V2_ERR_BAD_XDR)
		return failed(r, "error %u", r->error[0]);
	return reads(r, "malformed_part", r->error[0] == V2_ERR_BAD_XDR ? "BAD_XDR" : "INVAL_CONT",
		     "error %u", r->error[0]);
}

/* A Call that was refused as a continued message is sent again in a Call chunk. */
static enum verdict dropping(struct run *r)
{
	struct segment seg;
	enum verdict v = v2_up(r);
	uint32_t xid = r->next_xid++;
	int err;

	v = v ?: part(r, xid, 0, 8, 32) ?: part(r, xid, 8, 16, 4000) ?: inval_cont(r, xid, xid);
	if (v)
		return v;
	call_begin(r);
	r->xid = r->call.xid = xid;
	v = null_chunk(r, &seg);
	if (v)
		return v;
	call_body_chunk(r, &seg);
	v = call_send(r, NULL);
	err = v ? 0 : msg_peek(r, 5 * QUIET_MS);
	if (err == ERR_TIMEOUT)
		return fence(r)
			       ?: reads(r, "dropping", "literal", "the Call chunk is dropped, too");
	return v ?: expect_reply(r, xid) ?: fence(r)
		       ?: reads(r, "dropping", "ends", "the call is answered");
}

/* Longest reassembly: a first part that promises the rest, each on its own connection. */
static enum verdict longest(struct run *r)
{
	static const struct {
		uint32_t octets;
		const char *name;
	} sizes[] = {
		{64 << 10, "64K"}, {1 << 20, "1M"},  {8 << 20, "8M"},
		{64 << 20, "64M"}, {1u << 30, "1G"},
	};
	const char *reading = "less than 64K";
	enum verdict v = PASS;

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t xid;

		v = v2_up(r);
		xid = r->next_xid++;
		v = v ?: part(r, xid, 0, 24, sizes[i].octets - 24);
		if (v)
			return v;
		if (msg_peek(r, QUIET_MS) == ERR_TIMEOUT) {
			reading = sizes[i].name;
			continue;
		}
		v = expect_v2_error(r, xid, 2, 0);
		if (!v && r->error[0] != V2_ERR_INVAL_CONT && r->error[0] != V2_ERR_INVAL_HTYPE)
			return failed(r, "error %u", r->error[0]);
		break;
	}
	return v
		       ?: reads(r, "continued", reading,
				"a Call of that length is begun without a report");
}

static const struct probe_case cases[] = {
	{"v2.cont", "v2 6.3.6, 6.6.2", "MUST", "a Call in MIDDLE and INLINE is put together",
	 two_parts, 2, false},
	{"v2.cont.words", "v2 6.6.2", "MUST", "a Call in ten messages of a word each", word_by_word,
	 2, false},
	{"v2.cont.boundary", "v2 6.6.2", "MUST", "a Call split at an odd octet", odd_boundary, 2,
	 false},
	{"v2.cont.other-call", "v2 6.3.6, 7.1.4", "MUST",
	 "another Call between the parts draws INVAL_CONT", another_call, 2, false},
	{"v2.cont.other-type", "v2 6.3.6, 7.1.4", "MUST",
	 "properties between the parts draw INVAL_CONT", another_type, 2, false},
	{"v2.cont.external", "v2 6.3.6, 7.1.4", "MUST",
	 "RDMA2_CALL_EXTERNAL between the parts draws INVAL_CONT", external, 2, false},
	{"v2.cont.too-little", "v2 6.3.6, 7.1.4", "MUST",
	 "a last part with less than remained draws INVAL_CONT", too_little, 2, false},
	{"v2.cont.too-much", "v2 6.3.6, 7.1.4", "MUST",
	 "a last part with more than remained draws INVAL_CONT", too_much, 2, false},
	{"v2.cont.grant", "v2 6.3.6, 4.2.1.1", "open", "a GRANT between two parts", grant_between,
	 2, false},
	{"v2.cont.error", "v2 6.3.6, 7", "open", "an RDMA2_ERROR between two parts", error_between,
	 2, false},
	{"v2.cont.malformed", "v2 7.1.4, 7.2.1", "open",
	 "a part that cannot be parsed has two codes", malformed_part, 2, false},
	{"v2.cont.again", "v2 7.1.4, 6.6.3", "open",
	 "a Call refused by INVAL_CONT, sent again in a Call chunk", dropping, 2, false},
	{"v2.cont.longest", "v2 5.2, 6.6.2", "open", "how long a Call is put together", longest, 2,
	 false},
	{"v2.cont.discarded", "v2 7.1.4", "MUST",
	 "after INVAL_CONT the rest of that message is discarded", rest_discarded, 2, false},
};

CASE_TABLE(cases_cont, cases);
