/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * The listener serves the messages of a connection one after the other. It pauses before the first
 * answer, and shortly before each of the next: a client that does not wait for a version or for
 * credits shows it then. grade_observe() judges messages on arrival; this file only answers them.
 *
 *   version not spoken    ERR_VERS, once; the next message should fit
 *   v2 CONNPROP           our properties in answer to the first, with an unknown one
 *   ... with a ClientHello   the handshake of listen_auth.c, if the listener has an identity
 *   a call, a Transmit Request   NULL: success; else: procedure unavailable
 *   others                nothing
 */
#include "tools/probe/listen.h"

#include <string.h>

#include "v1/header.h"
#include "v2/error.h"
#include "v2/message.h"
#include "v2early/header.h"
#include "xdr/rpchdr.h"

enum {
	FIRST_PAUSE_MS = 100,
	PAUSE_MS = 3,
	PAUSES = 40,
	PROVOKE_AT = 2, /* number of replies before the provocation */
	UNKNOWN_HTYPE = 99,
	UNKNOWN_ERROR = 0x7ffffffe,
	UNKNOWN_OPTION = 0x7e57,
	EARLY_REPLY = 1, /* direction */
	PROC_UNAVAIL = 3,
	HEADER_MAX = 4096,
};

int listener_init(struct listener *l, const struct probe_options *o, const struct probe_env *env)
{
	*l = (struct listener){.o = o, .env = env};
	return wire_init(&l->w, env);
}

void listener_fini(struct listener *l)
{
	listen_auth_reset(l);
	wire_fini(&l->w);
}

/* --- sending --- */

static bool may_send(const struct listener *l)
{
	return l->version != 2 || (int32_t)(l->limit - l->sent) > 0;
}

static void send_words(struct listener *l, const uint32_t *words, size_t n)
{
	uint8_t buf[256];
	struct xdr_out x;

	xdr_out_init(&x, buf, sizeof(buf));
	for (size_t i = 0; i < n; i++)
		xdr_put_u32(&x, words[i]);
	listener_send(l, &x);
}

#define words(l, ...)                                                                              \
	send_words(l, (const uint32_t[]){__VA_ARGS__},                                             \
		   sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void send_err_vers(struct listener *l, uint32_t xid, uint32_t version)
{
	uint32_t low = l->o->versions & 1 << 1 ? 1 : 2;
	/* If the client sent the draft of version 2 that the listener does not speak, the number 2
	 * is not offered. */
	uint32_t high = l->o->versions & ~(1u << 1) && !(low == 1 && version == 2) ? 2 : 1;

	words(l, xid, version, LISTEN_CREDITS, V2_ERROR, V2_ERR_VERS, low, high);
	l->refused = true;
}

static void send_properties(struct listener *l)
{
	/* words of properties */
	words(l, LISTEN_PROPS_XID, 2, listener_credit(l), V2_CONNPROP_FINAL, 8,
	      LISTEN_UNKNOWN_PROPERTY, 4, 0x3f3f3f3f, V2_PROP_SBSIZ, 4, RUN_INLINE, V2_PROP_RBSIZ,
	      4, RUN_INLINE, V2_PROP_RCSIZ, 4, RUN_SEGMENTS, RTR_PROP_SUPPORT, 4,
	      RTR_TAKES_REQUEST | RTR_TAKES_CONTINUE, RTR_PROP_REQUEST_LIMIT, 4, LISTEN_RTR_MOST,
	      RTR_PROP_RESPONSE_LIMIT, 4, 0, RTR_PROP_STRUCTURE, 40, RUN_INLINE + LISTEN_RTR_BULK,
	      2, 1, RUN_INLINE, 1, 0, 1, LISTEN_RTR_BULK, 1, RTR_TARGETABLE);
}

/* Version 2: send a GRANT before half the window is used, if no other message carries the
 * credit. */
static void refresh(struct listener *l)
{
	if (l->version == 2 && l->answered && l->granted - l->arrived <= LISTEN_CREDITS / 2 &&
	    may_send(l))
		words(l, 0, 2, listener_credit(l), V2_GRANT);
}

/* --- calls --- */

static void reply_header(struct listener *l, struct xdr_out *x, const struct rpc_msg *call)
{
	struct rpc_msg *m = &l->reply;
	struct v2_hdr h = {.xid = call->xid, .vers = V2_VERSION, .htype = V2_REPLY_INLINE};
	size_t len = 0;
	int n;

	rpc_msg_reset(m, call->xid, RPC_REPLY);
	for (unsigned i = 0; i < call->nwrites; i++) {
		struct rpc_chunk *c = &m->writes[m->nwrites++];

		/* An unused Write chunk: the same segments, with lengths of zero. */
		*c = (struct rpc_chunk){.first = (uint16_t)m->nsegs};
		for (unsigned k = 0; k < call->writes[i].count; k++) {
			struct segment s = call->segs[call->writes[i].first + k];

			s.length = 0;
			(void)!rpc_msg_add_segment(m, c, &s);
		}
	}
	if (l->version == RUN_EARLY) {
		(void)!early_header_encode(m, listener_credit(l), x->start, HEADER_MAX, &len);
	} else if (l->version == 1) {
		(void)!v1_header_encode(m, listener_credit(l), x->start, HEADER_MAX, &len);
	} else {
		h.credit = listener_credit(l);
		n = v2_encode(&h, m, x->start, HEADER_MAX);
		len = n > 0 ? (size_t)n : 0;
	}
	x->pos += len;
}

static void reply_to(struct listener *l, const struct rpc_msg *call, struct view stream)
{
	uint8_t buf[HEADER_MAX + 64];
	struct rpchdr rpc;
	struct xdr_out x;

	if (rpchdr_peek(&rpc, stream) < 0 || rpc.mtype != 0)
		return;
	l->calls++;
	if (rpc.xid == call->xid)
		grade_ok(l, GRADE_XID);
	else
		grade_breach(l, GRADE_XID, "XID 0x%08x in the call, 0x%08x in its header", rpc.xid,
			     call->xid);
	if (!may_send(l))
		return;
	xdr_out_init(&x, buf, sizeof(buf));
	reply_header(l, &x, call);
	xdr_put_u32(&x, rpc.xid);
	xdr_put_u32(&x, 1);
	for (int i = 0; i < 3; i++)
		xdr_put_u32(&x, 0);
	xdr_put_u32(&x, rpc.proc == 0 ? 0 : PROC_UNAVAIL);
	listener_send(l, &x);
	if (l->outstanding > 0)
		l->outstanding--;
	l->replies++;
}

/* The call is in the client's memory: read it. */
static void pull(struct listener *l, const struct rpc_msg *call)
{
	struct segment seg = call->segs[call->body_chunk.first];
	uint8_t *at;

	/* Only the RPC header is needed, and it is in the first segment. */
	if (wire_read(&l->w, &seg, probe_now(l->env) + l->o->timeout, &at) == 0)
		reply_to(l, call, view_of(at, seg.length));
}

/* Send messages that a client must discard, and one that it must refuse. */
static void provoke(struct listener *l)
{
	if (!l->o->provoke || l->replies != PROVOKE_AT || l->provoked)
		return;
	l->provoked = LISTEN_PROVOKE_XID;
	if (l->version == 1) {
		words(l, LISTEN_PROVOKE_XID, 1, LISTEN_CREDITS, V1_DONE);
		words(l, LISTEN_PROVOKE_XID, 1);
		return;
	}
	if (l->version == RUN_EARLY) {
		words(l, LISTEN_PROVOKE_XID, 2, LISTEN_CREDITS, EARLY_OPTIONAL, EARLY_REPLY,
		      UNKNOWN_OPTION, 0);
		words(l, LISTEN_PROVOKE_XID + 1, 2, LISTEN_CREDITS, EARLY_ERROR,
		      EARLY_ERR_INVAL_OPTION);
		words(l, LISTEN_PROVOKE_XID + 2, 2);
		return;
	}
	if (may_send(l))
		words(l, LISTEN_PROVOKE_XID, 2, listener_credit(l), UNKNOWN_HTYPE);
	else
		l->provoked = 0;
	if (may_send(l))
		words(l, LISTEN_PROVOKE_XID + 1, 2, listener_credit(l), V2_ERROR, UNKNOWN_ERROR);
	if (may_send(l))
		words(l, LISTEN_PROVOKE_XID + 2, 2);
}

static void serve_v1(struct listener *l, struct view in)
{
	struct v1_header h;
	bool dir_known;

	if (v1_header_decode(&h, &l->msg, &dir_known, in) < 0 || h.proc == V1_ERROR ||
	    h.proc == V1_DONE || l->msg.dir != RPC_CALL)
		return;
	if (l->msg.has_body_chunk)
		pull(l, &l->msg);
	else
		reply_to(l, &l->msg, l->msg.body[0]);
}

/* Keep the beginning of a call's stream, from the part @part. */
static void keep_head(struct listener *l, struct view part)
{
	size_t room = sizeof(l->head) - l->head_len, n = part.len < room ? part.len : room;

	memcpy(l->head + l->head_len, part.data, n);
	l->head_len += n;
}

static void serve_rtr(struct listener *l, struct view in)
{
	struct view part = view_of(NULL, 0);
	uint32_t count = listen_rtr_take(l, in, &part);

	if (part.len)
		keep_head(l, part);
	if (!count)
		return;
	/* Profile section 1: over the early draft each transmission took a credit. */
	if (l->version == RUN_EARLY)
		l->outstanding -= count - 1 < l->outstanding ? count - 1 : l->outstanding;
	reply_to(l, &l->msg, view_of(l->head, l->head_len));
	l->head_len = 0;
}

static void serve_early(struct listener *l, struct view in)
{
	enum rpc_dir dir = RPC_CALL;
	struct early_header h;

	if (listen_rtr_op(RUN_EARLY, in)) {
		serve_rtr(l, in);
		return;
	}
	if (early_header_decode(&h, &l->msg, &dir, in) < 0 || dir != RPC_CALL ||
	    (h.proc != EARLY_MSG && h.proc != EARLY_NOMSG))
		return;
	if (l->msg.has_body_chunk)
		pull(l, &l->msg);
	else
		reply_to(l, &l->msg, l->msg.body[0]);
}

static void serve_v2(struct listener *l, struct view in)
{
	struct rpc_error fault;
	struct v2_hdr h;

	if (listen_rtr_op(2, in)) {
		serve_rtr(l, in);
		return;
	}
	if (v2_decode(&h, &l->msg, in, RPC_MAX_SEGMENTS, &fault) < 0)
		return;
	switch (h.htype) {
	case V2_CONNPROP_MIDDLE:
	case V2_CONNPROP_FINAL:
		if (!l->answered || l->sent == 1) {
			if (l->refused || !l->answered)
				send_properties(l);
		}
		break;
	case V2_CALL_MIDDLE:
		keep_head(l, l->msg.body[0]);
		break;
	case V2_CALL_INLINE:
		keep_head(l, l->msg.body[0]);
		reply_to(l, &l->msg, view_of(l->head, l->head_len));
		l->head_len = 0;
		break;
	case V2_CALL_EXTERNAL:
		pull(l, &l->msg);
		break;
	default:
		break;
	}
}

/* --- connections --- */

static void pause_before(struct listener *l)
{
	nsec_t ms = !l->answered ? FIRST_PAUSE_MS : l->replies < PAUSES ? PAUSE_MS : 0;

	if (!ms)
		return;
	wire_pause(&l->w, probe_now(l->env) + ms * NSEC_PER_MS);
	l->auth.paused += ms * NSEC_PER_MS;
}

static void serve(struct listener *l, struct view in)
{
	uint32_t version = in.len >= V2_PREFIX_BYTES ? xdr_peek_u32(in.data + 4) : 0;

	if (in.len < V2_PREFIX_BYTES)
		return;
	pause_before(l);
	/* Errors of versions 1 and 2 look alike, and are not answered. */
	if (xdr_peek_u32(in.data + 12) == V2_ERROR)
		return;
	if (l->version == 0)
		l->version = listener_version_of(l, in);
	if (l->version == 0) {
		send_err_vers(l, xdr_peek_u32(in.data), version);
		return;
	}
	if (version != (l->version == 1 ? 1 : 2)) {
		words(l, xdr_peek_u32(in.data), version, LISTEN_CREDITS, V2_ERROR,
		      V2_ERR_VERS_MISMATCH);
		return;
	}
	if (version == 1)
		serve_v1(l, in);
	else if (listen_auth_is_going(l))
		l->is_done = !listen_auth_serve(l, in);
	else if (l->version == RUN_EARLY)
		serve_early(l, in);
	else
		serve_v2(l, in);
	provoke(l);
	refresh(l);
}

static void reset(struct listener *l)
{
	l->version = 0;
	l->refused = l->answered = l->final = l->provoked_answered = l->is_done = false;
	l->arrived = l->outstanding = l->sent = l->provoked = 0;
	l->granted = l->limit = 1;
	l->head_len = 0;
	l->replies = 0;
	l->rtr.group.is_open = false;
	l->rtr.due = 0;
	listen_auth_reset(l);
}

static void judge_connection(struct listener *l, nsec_t end)
{
	bool is_early = l->version == RUN_EARLY;

	/* Only if the connection did not end because the listener's time is over. */
	if (probe_now(l->env) < end && !probe_stopped(l->env))
		listen_auth_end(l, l->w.state == WIRE_OPEN && !l->is_done);
	if (l->version == 1 || !l->provoked)
		return;
	if (l->provoked_answered)
		grade_ok(l, is_early ? GRADE_EARLY_OPTION : GRADE_V2_HTYPE);
	else if (is_early)
		grade_breach(l, GRADE_EARLY_OPTION, "no answer to option %u", UNKNOWN_OPTION);
	else
		grade_breach(l, GRADE_V2_HTYPE, "no answer to a message of type %u", UNKNOWN_HTYPE);
}

/* Time until which the client may be silent. */
static nsec_t timeout(const struct listener *l, nsec_t end)
{
	return listen_auth_waits(l) ? nsec_min(end, probe_now(l->env) + l->o->timeout) : end;
}

static void serve_connection(struct listener *l, nsec_t end)
{
	uint8_t pdata[V1_PDATA_BYTES];
	struct wire_msg m;

	reset(l);
	run_pdata(pdata, true);
	l->w.observe = grade_observe;
	l->w.trace_arg = l;
	if (wire_accept(&l->w, view_of(pdata, sizeof(pdata)), probe_now(l->env) + l->o->timeout) <
	    0)
		return;
	l->connections++;
	if (l->connections == 1) {
		l->facts.pdata_len = l->w.pdata_len;
		memcpy(l->facts.pdata, l->w.pdata, l->w.pdata_len);
		v1_pdata_parse(&l->facts.said, view_of(l->w.pdata, l->w.pdata_len));
	}
	if (l->w.pdata_len >= V1_PDATA_BYTES && l->facts.said.present) {
		if (l->w.pdata_len == V1_PDATA_BYTES && l->w.pdata[5] & ~1)
			grade_breach(l, GRADE_PDATA, "flags 0x%02x", l->w.pdata[5]);
		else
			grade_ok(l, GRADE_PDATA);
	}
	while (!l->is_done && wire_await(&l->w, timeout(l, end), &m) == 0)
		serve(l, m.octets);
	judge_connection(l, end);
	wire_close(&l->w);
}

void listener_run(struct listener *l)
{
	nsec_t end = probe_now(l->env) + l->o->total;

	while (l->connections < l->o->connections && wire_offer(&l->w, end) == 0)
		serve_connection(l, end);
}
