/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages without chunks in the early draft of version 2
 * (draft-cel-nfsv4-rpcrdma-version-two-01). */
#include "tools/probe/cases.h"
#include "v2early/conn.h"

/* Values that no document defines. */
enum { OPTTYPE = 0x7e57, CALL = 0, REPLY = 1 };

static enum verdict reply(struct run *r)
{
	enum verdict v = early_up(r);

	if (!v && r->reply.htype != EARLY_MSG)
		return failed(r, "a NULL's reply in an RDMA2_NOMSG");
	return v ?: passed(r, "%s", rpc_verdict_name(&r->reply.rpc));
}

static enum verdict credit_given(struct run *r)
{
	enum verdict v = early_up(r);

	if (v)
		return v;
	return r->reply.credit ? passed(r, "%u", r->reply.credit) : failed(r, "a grant of 0");
}

enum { BURST_MAX = 16 };

/* Send as many calls at once as were granted, up to a limit. */
static enum verdict credit_kept(struct run *r)
{
	enum verdict v = early_up(r);
	uint32_t n = r->reply.credit < BURST_MAX ? r->reply.credit : BURST_MAX, first = r->next_xid;
	uint32_t seen = 0;

	for (uint32_t i = 0; !v && i < n; i++) {
		null_begin(r);
		v = msg_send(r);
	}
	for (uint32_t i = 0; !v && i < n; i++) {
		uint32_t which;

		v = expect_reply(r, 0);
		which = r->reply.msg.xid - first;
		if (!v && (which >= n || seen & (uint32_t)1 << which))
			return failed(r, "a second reply, or one to nothing: xid 0x%08x",
				      r->reply.msg.xid);
		if (!v)
			seen |= (uint32_t)1 << which;
	}
	return v ?: fence(r) ?: passed(r, "%u calls at once", n);
}

/* Fill a message up with octets behind the end of the call. */
static enum verdict sized(struct run *r, uint32_t size)
{
	null_begin(r);
	while (xdr_out_len(&r->x) < size)
		put(r, 0);
	return msg_send(r) ?: expect_reply(r, r->xid)
	       ?: passed(r, "%s", rpc_verdict_name(&r->reply.rpc));
}

static enum verdict first_size(struct run *r)
{
	enum verdict v = raw_up(r);

	r->version = RUN_EARLY;
	return v ?: sized(r, EARLY_FIRST_BYTES);
}

static enum verdict full_size(struct run *r)
{
	return early_up(r) ?: sized(r, EARLY_INLINE_BYTES);
}

/* --- options --- */

static void option_begin(struct run *r, uint32_t direction, uint32_t octets)
{
	msg_begin(r, 0, EARLY_OPTIONAL);
	put(r, direction, OPTTYPE, octets);
	for (uint32_t at = 0; at < octets; at += 4)
		put(r, 0);
}

static enum verdict option_refused(struct run *r)
{
	uint32_t xid = r->xid;

	return msg_send(r) ?: expect_v2_error(r, xid, EARLY_VERSION, EARLY_ERR_INVAL_OPTION);
}

static enum verdict option(struct run *r)
{
	enum verdict v = early_up(r);

	option_begin(r, CALL, 0);
	return v ?: option_refused(r) ?: fence(r);
}

static enum verdict option_reply(struct run *r)
{
	enum verdict v = early_up(r);

	option_begin(r, REPLY, 0);
	return v ?: option_refused(r) ?: fence(r);
}

static enum verdict option_info(struct run *r)
{
	enum verdict v = early_up(r);

	option_begin(r, CALL, 3000);
	return v ?: option_refused(r) ?: fence(r);
}

/* Everything behind the header belongs to the option, and must not be taken for a call. */
static enum verdict option_payload(struct run *r)
{
	enum verdict v = early_up(r);

	option_begin(r, CALL, 8);
	put_null(r);
	return v ?: option_refused(r) ?: expect_quiet(r) ?: fence(r);
}

static enum verdict option_first(struct run *r)
{
	enum verdict v = raw_up(r);

	r->version = RUN_EARLY;
	option_begin(r, CALL, 0);
	return v ?: option_refused(r) ?: fence(r);
}

static enum verdict option_many(struct run *r)
{
	enum verdict v = early_up(r);

	for (uint32_t i = 0; !v && i < 40; i++) {
		option_begin(r, CALL, i);
		v = option_refused(r);
	}
	return v ?: fence(r);
}

/* --- messages that must be dropped --- */

static enum verdict dropped(struct run *r)
{
	return msg_send(r) ?: fence(r);
}

static enum verdict error_bad_header(struct run *r)
{
	enum verdict v = early_up(r);

	msg_begin(r, 0, EARLY_ERROR);
	put(r, EARLY_ERR_BAD_HEADER);
	return v ?: dropped(r);
}

static enum verdict error_vers(struct run *r)
{
	enum verdict v = early_up(r);

	msg_begin(r, 0, EARLY_ERROR);
	put(r, EARLY_ERR_VERS, 1, 1);
	return v ?: dropped(r);
}

static enum verdict error_option(struct run *r)
{
	enum verdict v = early_up(r);

	msg_begin(r, 0, EARLY_ERROR);
	put(r, EARLY_ERR_INVAL_OPTION);
	return v ?: dropped(r);
}

static enum verdict unasked(struct run *r)
{
	enum verdict v = early_up(r);

	msg_begin(r, 0, EARLY_MSG);
	put(r, REPLY, 0, 0, 0);
	put(r, r->xid, 1, 0, 0, 0, 0);
	return v ?: dropped(r);
}

static enum verdict short_prefix(struct run *r)
{
	enum verdict v = early_up(r);

	msg_begin(r, 0, EARLY_MSG);
	r->x.pos = r->out + 12;
	return v ?: dropped(r);
}

static enum verdict short_rpc(struct run *r)
{
	enum verdict v = early_up(r);

	msg_begin(r, 0, EARLY_MSG);
	put(r, CALL, 0, 0, 0, r->xid);
	return v ?: dropped(r);
}

/* --- messages that must be refused --- */

static enum verdict bad_header(struct run *r)
{
	uint32_t xid = r->xid;

	return msg_send(r) ?: expect_v2_error(r, xid, EARLY_VERSION, EARLY_ERR_BAD_HEADER) ?: fence(r);
}

static enum verdict type(struct run *r, uint32_t which)
{
	enum verdict v = early_up(r);

	msg_begin(r, 0, which);
	put(r, CALL, 0, 0, 0);
	put_null(r);
	return v ?: bad_header(r);
}

static enum verdict type_unknown(struct run *r)
{
	return type(r, 99);
}

/* RDMA_MSGP of version 1 is reserved here. */
static enum verdict type_msgp(struct run *r)
{
	return type(r, 2);
}

static enum verdict direction(struct run *r, uint32_t which, uint32_t mtype)
{
	enum verdict v = early_up(r);

	msg_begin(r, 0, EARLY_MSG);
	put(r, which, 0, 0, 0);
	put(r, r->xid, mtype, 2, r->program.number, r->program.version, 0, 0, 0, 0, 0);
	return v ?: bad_header(r);
}

static enum verdict direction_value(struct run *r)
{
	return direction(r, 2, CALL);
}

static enum verdict direction_differs(struct run *r)
{
	return direction(r, CALL, REPLY);
}

static enum verdict other_xid(struct run *r)
{
	enum verdict v = early_up(r);
	uint32_t xid;

	msg_begin(r, 0, EARLY_MSG);
	put(r, CALL, 0, 0, 0);
	xid = r->xid++;
	put_null(r);
	return v ?: msg_send(r) ?: early_refused(r, xid) ?: fence(r);
}

/* The first message of draft -07, after the early draft has been spoken. */
static enum verdict other_draft(struct run *r)
{
	enum verdict v = early_up(r);

	msg_begin(r, 0, V2_CONNPROP_FINAL);
	put_props(r);
	return v ?: bad_header(r);
}

static enum verdict version(struct run *r, uint32_t number)
{
	enum verdict v = early_up(r);
	uint32_t xid;

	msg_begin(r, number, EARLY_MSG);
	put(r, 0, 0, 0);
	put_null(r);
	xid = r->xid;
	v = v ?: msg_send(r) ?: expect_v2_error(r, xid, 0, EARLY_ERR_VERS);
	if (v)
		return v;
	if (r->error[1] > r->error[2] || (r->error[1] <= number && number <= r->error[2]))
		return failed(r, "range %u to %u", r->error[1], r->error[2]);
	if (EARLY_VERSION < r->error[1] || EARLY_VERSION > r->error[2])
		return failed(r, "range %u to %u, and version 2 is spoken", r->error[1],
			      r->error[2]);
	return fence(r) ?: passed(r, "range %u to %u", r->error[1], r->error[2]);
}

static enum verdict version_1(struct run *r)
{
	return version(r, 1);
}

static enum verdict version_3(struct run *r)
{
	return version(r, 3);
}

/* RFC 5531: a denied reply, MSG_DENIED/RPC_MISMATCH, is a reply. */
static enum verdict rpc_version(struct run *r)
{
	enum verdict v = early_up(r);

	msg_begin(r, 0, EARLY_MSG);
	put(r, CALL, 0, 0, 0);
	put(r, r->xid, 0, 3, r->program.number, r->program.version, 0, 0, 0, 0, 0);
	v = v ?: msg_send(r) ?: expect_reply(r, r->xid);
	if (!v && r->reply.rpc.accepted)
		return failed(r, "RPC version 3 was accepted");
	return v;
}

static const struct probe_case cases[] = {
	{"early.reply", "early 4.2.1, 4.2.2, 5.1", "MUST",
	 "a call is answered: direction REPLY, a payload stream, its XID in both headers", reply,
	 RUN_EARLY, false},
	{"early.first.1024", "early 5", "MUST", "a first message of 1024 octets is taken",
	 first_size, RUN_EARLY, false},
	{"early.size.4096", "early 2.3", "MUST", "a message of 4096 octets is taken", full_size,
	 RUN_EARLY, false},
	{"early.credit.given", "early 5, v1 4.3", "MUST", "the grant is not zero", credit_given,
	 RUN_EARLY, false},
	{"early.credit.kept", "v1 4.3", "MUST",
	 "as many calls at once as were granted are answered", credit_kept, RUN_EARLY, false},
	{"early.option", "early 3.1", "MUST",
	 "an unknown option draws INVAL_OPTION with its XID, and the connection lives", option,
	 RUN_EARLY, false},
	{"early.option.reply", "early 3.1", "MUST", "likewise of direction REPLY", option_reply,
	 RUN_EARLY, false},
	{"early.option.info", "early 3.1", "MUST", "likewise with 3000 octets of information",
	 option_info, RUN_EARLY, false},
	{"early.option.payload", "early 3.1", "MUST",
	 "likewise with a call behind it, which is not executed", option_payload, RUN_EARLY, false},
	{"early.option.first", "early 3.1", "MUST", "likewise as the first message", option_first,
	 RUN_EARLY, false},
	{"early.option.many", "early 3.1", "MUST", "likewise again and again", option_many,
	 RUN_EARLY, false},
	{"early.error.bad-header", "v1 5.5", "MUST", "RDMA2_ERROR/BAD_HEADER is not answered",
	 error_bad_header, RUN_EARLY, false},
	{"early.error.vers", "v1 5.5", "MUST", "RDMA2_ERROR/VERS is not answered", error_vers,
	 RUN_EARLY, false},
	{"early.error.option", "v1 5.5", "MUST", "RDMA2_ERROR/INVAL_OPTION is not answered",
	 error_option, RUN_EARLY, false},
	{"early.reply.unasked", "v1 5.5", "MUST", "a reply to nothing is not answered", unasked,
	 RUN_EARLY, false},
	{"early.short.header", "v1 8.3.3", "MUST", "a message of 12 octets is dropped",
	 short_prefix, RUN_EARLY, false},
	{"early.short.rpc", "v1 8.3.3", "MUST",
	 "a message that ends within the RPC header is dropped", short_rpc, RUN_EARLY, false},
	{"early.type.unknown", "early 4.2.3, v1 5.5", "MUST",
	 "an unknown message type draws BAD_HEADER", type_unknown, RUN_EARLY, false},
	{"early.type.2", "early 4.2.3, v1 5.5", "MUST", "RDMA_MSGP of version 1 draws BAD_HEADER",
	 type_msgp, RUN_EARLY, false},
	{"early.type.other-draft", "early 4.2.3, v1 5.5", "MUST",
	 "properties of draft -07 draw BAD_HEADER", other_draft, RUN_EARLY, false},
	{"early.direction.value", "early 4.2, v1 5.5", "MUST", "a direction of 2 draws BAD_HEADER",
	 direction_value, RUN_EARLY, false},
	{"early.direction.differs", "early 4.2.2, v1 5.5", "MUST",
	 "a direction that is not that of the RPC message draws BAD_HEADER", direction_differs,
	 RUN_EARLY, false},
	{"early.xid.differs", "v1 5.1.1, 5.5", "MUST",
	 "a call with another XID than its header is refused", other_xid, RUN_EARLY, false},
	{"early.version.1", "early 5.2, 5.3", "MUST",
	 "version 1 afterwards draws ERR_VERS with a range that has 2 and lacks 1", version_1,
	 RUN_EARLY, false},
	{"early.version.3", "early 5.2", "MUST",
	 "version 3 afterwards draws ERR_VERS with a range that has 2 and lacks 3", version_3,
	 RUN_EARLY, false},
	{"early.rpc-version", "RFC 5531 9", "MUST", "RPC version 3 draws a denied reply",
	 rpc_version, RUN_EARLY, false},
};

CASE_TABLE(cases_early, cases);
