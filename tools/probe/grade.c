/* SPDX-License-Identifier: BSD-2-Clause */
/* What a client must and must not do, judged message by message at arrival. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/probe/cases.h"
#include "tools/probe/listen.h"
#include "v1/header.h"
#include "v2/error.h"
#include "v2early/header.h"

#define GRADE(i, s, l, w)                                                                          \
	{                                                                                          \
		.id = (i), .section = (s), .level = (l), .what = (w)                               \
	}

static const struct probe_case table[GRADES] = {
	[GRADE_PDATA] = GRADE("client.pdata", "RFC 8797 4", "MUST",
			      "reserved bits of the private data are zero"),
	[GRADE_FIRST_SIZE] = GRADE("client.first.size", "v2 4.3, v1 4.3.1, early 5", "MUST",
				   "the first message has at most 1024 octets"),
	[GRADE_FIRST_ALONE] = GRADE("client.first.alone", "v2 4.3, v1 4.3.1, early 5", "MUST",
				    "nothing follows it before an answer"),
	[GRADE_VERSION_KEPT] = GRADE("client.version.kept", "v2 4.3.3", "MUST",
				     "the version does not change on a connection"),
	[GRADE_VERSION_RANGE] = GRADE("client.version.range", "v2 7.1.1", "MUST",
				      "after ERR_VERS only versions of its range are sent"),
	[GRADE_PARSE] =
		GRADE("client.parse", "v2 7.2, v1 5.5", "MUST", "every message can be parsed"),
	[GRADE_XID] = GRADE("client.xid", "v2 7.2, v1 5.1.1", "MUST",
			    "the XID of a call is that of its header"),
	[GRADE_SIZE] = GRADE("client.size", "v2 5.2.2, RFC 8797 4.2, profile 3.4", "MUST",
			     "no message is larger than announced Receives"),
	[GRADE_REPORTS] = GRADE("client.reports", "v2 7, v1 5.5", "MUST",
				"sound messages draw no error report"),
	[GRADE_V1_CREDITS] = GRADE("client.1.credits", "v1 4.3", "MUST",
				   "never more calls unanswered than were granted"),
	[GRADE_V1_DEPRECATED] = GRADE("client.1.deprecated", "v1 5.7", "SHOULD",
				      "neither RDMA_MSGP nor RDMA_DONE is sent"),
	[GRADE_V2_PROPS] = GRADE("client.2.prop.values", "v2 5.2", "MUST",
				 "property values are possible ones"),
	[GRADE_V2_FINAL] = GRADE("client.2.prop.final", "v2 6.3.4", "MUST",
				 "no properties after RDMA2_CONNPROP_FINAL"),
	[GRADE_V2_CREDITS] = GRADE("client.2.credits", "v2 4.2.1", "MUST",
				   "never more messages than were granted"),
	[GRADE_V2_GRANT_XID] =
		GRADE("client.2.grant-xid", "v2 6.3.2", "MUST", "the XID of every GRANT is zero"),
	[GRADE_V2_UNKNOWN_PROP] = GRADE("client.2.prop.unknown", "v2 5.1", "MUST",
					"an unknown property is passed over in silence"),
	[GRADE_V2_HTYPE] = GRADE("client.2.type.unknown", "v2 6.1, 7.1.3", "MUST",
				 "an unknown header type draws INVAL_HTYPE"),
	[GRADE_EARLY_CREDITS] =
		GRADE("client.early.credits", "early 5, v1 4.3", "MUST",
		      "one call until a reply tells the grant, never more than that"),
	[GRADE_EARLY_DIRECTION] = GRADE("client.early.direction", "early 4.2.2", "MUST",
					"the direction is that of the RPC message"),
	[GRADE_EARLY_OPTION] = GRADE("client.early.option", "early 3.1", "MUST",
				     "an unknown option draws INVAL_OPTION with its XID"),
	[GRADE_RTR_GROUP] = GRADE("client.rtr.group", "rtr 4.2, 8.4, 9.4", "MUST",
				  "requests have no more transmissions than are taken, in order, "
				  "and nothing between"),
	[GRADE_RTR_ITEMS] = GRADE("client.rtr.items", "rtr 6.2, 7.3, profile 5", "MUST",
				  "payload stream and items lie where they may"),
	[GRADE_RTR_PADDING] =
		GRADE("client.rtr.padding", "profile 5", "MUST", "what lies between is zero"),
	[GRADE_SILENCE] = GRADE("client.silence", "v2 7, v1 5.7.2, 8.3.3", "MUST",
				"short messages, unknown error codes and RDMA_DONE draw nothing"),
	[GRADE_AUTH_FIRST] =
		GRADE("client.auth.first", "profile 3.1, 3.3", "MUST",
		      "host authentication begins with a ClientHello, beside properties 1 to 5"),
	[GRADE_AUTH_HELLO] =
		GRADE("client.auth.hello", "profile 4.1 to 4.3", "MUST",
		      "the ClientHello offers what the profile wants, and nothing it forbids"),
	[GRADE_AUTH_TURN] = GRADE("client.auth.turn", "profile 3.2", "MUST",
				  "each message is answered by one, and none is sent unasked"),
	[GRADE_AUTH_VALUE] = GRADE("client.auth.value", "profile 2, 3.2, 8", "MUST",
				   "each value is the one that is due"),
	[GRADE_AUTH_SAME] = GRADE("client.auth.same", "profile 3.3", "MUST NOT",
				  "properties 1 to 5 change until the end"),
	[GRADE_AUTH_FINAL] = GRADE("client.auth.final", "profile 3.3", "SHOULD",
				   "they are repeated in the RDMA2_CONNPROP_FINAL"),
	[GRADE_AUTH_CREDIT] =
		GRADE("client.auth.credit", "profile 3.2", "MUST", "each message grants one more"),
	[GRADE_AUTH_EARLY] = GRADE("client.auth.early", "profile 3.5", "MUST NOT",
				   "anything else is sent before it is over"),
	[GRADE_AUTH_PROVED] = GRADE("client.auth.proved", "profile 4.2, 4.4, 4.5", "MUST",
				    "the client proves who it is"),
	[GRADE_AUTH_BINDING] = GRADE("client.auth.binding", "profile 5", "MUST",
				     "its binding value is that of all that was said"),
	[GRADE_AUTH_FAIL] = GRADE("client.auth.fail", "profile 6", "MUST",
				  "a client that does not go on says FAIL, and closes"),
	[GRADE_AUTH_BELIEF] = GRADE("client.auth.belief", "profile 5, 6", "MUST",
				    "a last word that is wrong ends the connection"),
};

void grade_ok(struct listener *l, enum grade g)
{
	l->grades[g].looked++;
}

void grade_breach(struct listener *l, enum grade g, const char *fmt, ...)
{
	struct grade_state *s = &l->grades[g];
	va_list args;

	s->looked++;
	if (s->breaches++ > 0)
		return;
	va_start(args, fmt);
	vsnprintf(s->first, sizeof(s->first), fmt, args);
	va_end(args);
}

static uint32_t word(const struct wire_msg *m, unsigned i)
{
	return (size_t)i * 4 + 4 <= m->octets.len ? xdr_peek_u32(m->octets.data + (size_t)i * 4)
						  : 0;
}

static void tap_first(struct listener *l, const struct wire_msg *m)
{
	struct client_facts *f = &l->facts;

	judge(l, GRADE_FIRST_SIZE, m->octets.len <= V1_PDATA_MIN_SIZE, "%zu octets", m->octets.len);
	if (f->first_bytes) /* of an earlier connection: not each need come so far */
		return;
	f->first_version = word(m, 1);
	f->is_early = early_is_first(m->octets);
	f->credits = word(m, 2);
	f->first_type = word(m, 3);
	f->first_bytes = (uint32_t)m->octets.len;
}

static void tap_v1(struct listener *l, const struct wire_msg *m)
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

/* With the other direction it could be parsed. */
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

static void tap_early(struct listener *l, const struct wire_msg *m)
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

static void tap_props(struct listener *l, const struct v2_hdr *h)
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

static void tap_v2(struct listener *l, const struct wire_msg *m)
{
	/* One more is what "greater than" allows, and one GRANT (4.2.1, 4.2.1.1). */
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
		tap_props(l, &h);
	if (l->answered && h.htype != V2_ERROR)
		grade_ok(l, GRADE_V2_UNKNOWN_PROP);
}

static void tap_error(struct listener *l, const struct wire_msg *m)
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

void grade_tap(void *arg, const struct wire_msg *m)
{
	struct listener *l = arg;
	uint32_t version = word(m, 1);
	unsigned spoken = l->version ? l->version : listener_version_of(l, m->octets);
	/* Profile of that extension, section 2: its messages fill what is announced of a Receive. */
	uint32_t extra = spoken >= 2 && listen_rtr_op(spoken, m->octets) ? LISTEN_RTR_BULK : 0;

	l->arrived++;
	l->messages++;
	if (m->octets.len > l->facts.largest)
		l->facts.largest = (uint32_t)m->octets.len;
	if (l->arrived == 1)
		tap_first(l, m);
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
		tap_error(l, m);
	else if (version == 1)
		tap_v1(l, m);
	else if (version == 2 && spoken == RUN_EARLY)
		tap_early(l, m);
	else if (version == 2)
		tap_v2(l, m);
}

unsigned listener_failed(const struct listener *l)
{
	unsigned n = 0;

	for (unsigned g = 0; g < GRADES; g++)
		n += l->grades[g].breaches > 0;
	return n;
}

void listener_grades(const struct listener *l,
		     void (*told)(void *arg, const struct probe_case *c,
				  const struct case_result *res),
		     void *arg)
{
	for (unsigned g = 0; g < GRADES; g++) {
		const struct grade_state *s = &l->grades[g];
		struct case_result res = {
			.verdict = s->breaches ? FAIL
				   : s->looked ? PASS
					       : SKIP,
		};

		snprintf(res.detail, sizeof(res.detail), "%s", s->first);
		told(arg, &table[g], &res);
	}
}
