/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules for a client, checked on each message at arrival. */
#include <string.h>

#include "tools/probe/listen.h"
#include "v1/header.h"
#include "v2/error.h"
#include "v2early/header.h"

static uint32_t word(const struct wire_msg *m, unsigned i)
{
	return (size_t)i * 4 + 4 <= m->octets.len ? xdr_peek_u32(m->octets.data + (size_t)i * 4)
						  : 0;
}

static void trace_first(struct listener *l, const struct wire_msg *m)
{
	struct client_facts *f = &l->facts;

	judge(l, GRADE_FIRST_SIZE, m->octets.len <= V1_PDATA_MIN_SIZE, "%zu octets", m->octets.len);
	/* an earlier connection has set it; not every connection comes so far */
	if (f->first_bytes)
		return;
	f->first_version = word(m, 1);
	f->is_early = early_is_first(m->octets);
	f->credits = word(m, 2);
	f->first_type = word(m, 3);
	f->first_bytes = (uint32_t)m->octets.len;
}

static void trace_v1(struct listener *l, const struct wire_msg *m)
{
	struct v1_header h;
	bool dir_known;
	int err = v1_header_decode(&h, &l->scratch, &dir_known, m->octets);
	bool is_call = !err && h.proc < V1_DONE && l->scratch.dir == RPC_CALL;

	judge(l, GRADE_PARSE, !err, "message %u: %s", l->arrived, err_name(err));
	judge(l, GRADE_V1_DEPRECATED, h.proc != V1_MSGP && h.proc != V1_DONE, "message type %u",
	      h.proc);
	if (!is_call)
		return;
	l->outstanding++;
	judge(l, GRADE_V1_CREDITS, l->outstanding <= l->granted, "%u unanswered, %u granted",
	      l->outstanding, l->granted);
}

/* Whether the message would parse with the other direction. */
static bool is_other_direction(struct listener *l, const struct wire_msg *m)
{
	uint8_t copy[RUN_INLINE];
	enum rpc_dir dir = RPC_CALL;
	struct early_header h;

	if (m->octets.len < EARLY_FIXED_BYTES + 4 || m->octets.len > sizeof(copy))
		return false;
	memcpy(copy, m->octets.data, m->octets.len);
	copy[EARLY_FIXED_BYTES + 3] ^= 1;
	return early_header_decode(&h, &l->scratch, &dir, view_of(copy, m->octets.len)) == 0;
}

static void count_call(struct listener *l)
{
	l->outstanding++;
	judge(l, GRADE_EARLY_CREDITS, l->outstanding <= l->granted, "%u unanswered, %u granted",
	      l->outstanding, l->granted);
}

static void trace_early(struct listener *l, const struct wire_msg *m)
{
	enum rpc_dir dir = RPC_REPLY;
	struct early_header h;
	int err = early_header_decode(&h, &l->scratch, &dir, m->octets);
	bool has_chunks = h.proc == EARLY_MSG || h.proc == EARLY_NOMSG;
	enum rtr_op op = listen_rtr_op(RUN_EARLY, m->octets);

	if (!err && op) {
		grade_rtr(l, RUN_EARLY, m->octets);
		if (op == RTR_REQUEST || op == RTR_CONTINUE)
			count_call(l);
		return;
	}
	grade_rtr_between(l, "another message");
	if (err && has_chunks && is_other_direction(l, m)) {
		grade_breach(l, GRADE_EARLY_DIRECTION, "message %u: direction %u", l->arrived,
			     word(m, 4));
		return;
	}
	judge(l, GRADE_PARSE, !err, "message %u: %s", l->arrived, err_name(err));
	if (err || !has_chunks)
		return;
	grade_ok(l, GRADE_EARLY_DIRECTION);
	if (dir != RPC_CALL)
		return;
	count_call(l);
}

static void trace_props(struct listener *l, const struct v2_hdr *h)
{
	judge(l, GRADE_V2_FINAL, !l->final, "%s after FINAL", v2_type_find(h->htype)->name);
	judge(l, GRADE_V2_PROPS,
	      v2_props_get(&h->props, V2_PROP_BRS) <= RPC_REV_GENL &&
		      v2_props_get(&h->props, V2_PROP_RBSIZ) >= V2_FIRST_MESSAGE_BYTES,
	      "Receives of %u, reverse direction %u", v2_props_get(&h->props, V2_PROP_RBSIZ),
	      v2_props_get(&h->props, V2_PROP_BRS));
	l->final = h->htype == V2_CONNPROP_FINAL;
	if (l->connections > 1)
		return;
	l->facts.has_props = true;
	v2_props_merge(&l->facts.props, &h->props);
	l->facts.props.hostauth = view_of(NULL, 0);
}

static void trace_v2(struct listener *l, const struct wire_msg *m)
{
	/* "Greater than" allows one more, and there may be one GRANT (4.2.1, 4.2.1.1). */
	int32_t over = (int32_t)(l->arrived - l->granted), slack = word(m, 3) == V2_GRANT ? 2 : 1;
	struct rpc_error fault;
	struct v2_hdr h;
	int err = v2_decode(&h, &l->scratch, m->octets, RPC_MAX_SEGMENTS, &fault);

	l->limit = word(m, 2);
	judge(l, GRADE_V2_CREDITS, over <= slack, "message %u, %u were granted", l->arrived,
	      l->granted);
	judge(l, GRADE_PARSE, !err, "message %u: %s", l->arrived, rpc_error_name(fault.code));
	if (err)
		return;
	grade_auth(l, &h);
	if (listen_rtr_op(2, m->octets))
		grade_rtr(l, 2, m->octets);
	else if (h.htype != V2_GRANT)
		grade_rtr_between(l, v2_type_find(h.htype)->name);
	if (h.htype == V2_GRANT)
		judge(l, GRADE_V2_GRANT_XID, h.xid == 0, "XID 0x%08x", h.xid);
	if (h.htype == V2_CONNPROP_MIDDLE || h.htype == V2_CONNPROP_FINAL)
		trace_props(l, &h);
	if (l->answered && h.htype != V2_ERROR)
		grade_ok(l, GRADE_V2_UNKNOWN_PROP);
}

static void trace_error(struct listener *l, const struct wire_msg *m)
{
	uint32_t xid = word(m, 0), code = word(m, 4);
	uint32_t due = l->version == RUN_EARLY ? (uint32_t)EARLY_ERR_INVAL_OPTION
					       : (uint32_t)V2_ERR_INVAL_HTYPE;

	if (l->version == 2)
		l->limit = word(m, 2);
	if (l->provoked && xid == l->provoked && code == due) {
		l->provoked_answered = true;
		return;
	}
	if (l->provoked && xid - LISTEN_PROVOKE_XID < LISTEN_PROVOKE_XIDS)
		grade_breach(l, GRADE_SILENCE, "error %u about xid 0x%08x", code, xid);
	else if (xid == LISTEN_PROPS_XID)
		grade_breach(l, GRADE_V2_UNKNOWN_PROP, "error %u", code);
	else
		grade_breach(l, GRADE_REPORTS, "error %u about xid 0x%08x", code, xid);
}

void grade_observe(void *arg, const struct wire_msg *m)
{
	struct listener *l = arg;
	uint32_t version = word(m, 1);
	unsigned spoken = l->version ? l->version : listener_version_of(l, m->octets);
	/* rtrext-profile section 2: messages of the extension fill the announced segment of a
	 * Receive, too. */
	uint32_t extra = spoken >= 2 && listen_rtr_op(spoken, m->octets) ? LISTEN_RTR_BULK : 0;

	l->arrived++;
	l->messages++;
	if (m->octets.len > l->facts.largest)
		l->facts.largest = (uint32_t)m->octets.len;
	if (l->arrived == 1)
		trace_first(l, m);
	else if (!l->answered)
		grade_breach(l, GRADE_FIRST_ALONE, "message %u", l->arrived);
	else
		grade_ok(l, GRADE_FIRST_ALONE);
	judge(l, GRADE_SIZE, m->octets.len <= (size_t)RUN_INLINE + extra, "%zu octets",
	      m->octets.len);
	judge(l, GRADE_PARSE, m->octets.len >= V2_PREFIX_BYTES, "%zu octets", m->octets.len);
	if (m->octets.len < V2_PREFIX_BYTES)
		return;
	if (l->version)
		judge(l, GRADE_VERSION_KEPT,
		      version == (l->version == 1 ? 1 : 2) || word(m, 3) == V2_ERROR,
		      "version %u after %s", version, run_version_name(l->version));
	else if (l->refused)
		judge(l, GRADE_VERSION_RANGE, spoken != 0, "version %u", version);
	if (word(m, 3) != V2_ERROR && l->answered)
		grade_ok(l, GRADE_REPORTS);
	if (word(m, 3) != V2_ERROR && l->provoked)
		grade_ok(l, GRADE_SILENCE);
	if (word(m, 3) == V2_ERROR)
		trace_error(l, m);
	else if (version == 1)
		trace_v1(l, m);
	else if (version == 2 && spoken == RUN_EARLY)
		trace_early(l, m);
	else if (version == 2)
		trace_v2(l, m);
}
