/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps that wait: they parse what arrives, and name what was not due. */
#include <stdio.h>
#include <string.h>

#include "tools/probe/run.h"
#include "v1/header.h"
#include "v2early/header.h"

static uint32_t word(struct view in, unsigned i)
{
	return (size_t)i * 4 + 4 <= in.len ? xdr_peek_u32(in.data + (size_t)i * 4) : 0;
}

static const char *v1_proc_name(uint32_t proc)
{
	static const char *const names[] = {"RDMA_MSG", "RDMA_NOMSG", "RDMA_MSGP", "RDMA_DONE",
					    "RDMA_ERROR"};

	return proc <= V1_ERROR ? names[proc] : "unknown type";
}

static const char *early_proc_name(uint32_t proc)
{
	static const char *const names[] = {[EARLY_MSG] = "RDMA2_MSG",
					    [EARLY_NOMSG] = "RDMA2_NOMSG",
					    [EARLY_OPTIONAL] = "RDMA2_OPTIONAL"};

	return proc <= EARLY_OPTIONAL && names[proc] ? names[proc] : "unknown type";
}

const char *msg_words(const struct run *r, struct view in)
{
	static char text[96];
	uint32_t version = word(in, 1), type = word(in, 3);
	const struct v2_type *t = v2_type_find(type);

	if (in.len < V2_PREFIX_BYTES)
		snprintf(text, sizeof(text), "a message of %zu octets", in.len);
	else if (type == V2_ERROR)
		snprintf(text, sizeof(text), "error %u about xid 0x%08x (version %u)", word(in, 4),
			 word(in, 0), version);
	else if (version == 1)
		snprintf(text, sizeof(text), "%s, xid 0x%08x, version 1", v1_proc_name(type),
			 word(in, 0));
	else if (r->version == RUN_EARLY && version == EARLY_VERSION)
		snprintf(text, sizeof(text), "%s, xid 0x%08x, version 2-early",
			 early_proc_name(type), word(in, 0));
	else
		snprintf(text, sizeof(text), "%s, type %u, xid 0x%08x, version %u",
			 t ? t->name : "unknown", type, word(in, 0), version);
	return text;
}

bool is_grant(const struct run *r, const struct wire_msg *m)
{
	return r->flow.is_on && m->octets.len >= V2_PREFIX_BYTES && word(m->octets, 1) == 2 &&
	       word(m->octets, 3) == V2_GRANT;
}

enum verdict msg_next(struct run *r, struct wire_msg *m)
{
	nsec_t deadline = run_deadline(r);
	int err;

	do {
		err = wire_await(&r->w, deadline, m);
	} while (err == 0 && (is_grant(r, m) || take_properties(r, m)));
	if (err == ERR_TIMEOUT)
		return failed(r, "no answer within %.3g s",
			      (double)r->o->timeout / (double)NSEC_PER_SEC);
	return err < 0 ? failed(r, "the peer closed the connection: %s", r->w.why) : PASS;
}

int msg_peek(struct run *r, unsigned ms)
{
	nsec_t deadline = probe_now(r->env) + (nsec_t)ms * NSEC_PER_MS;
	struct wire_msg m;
	int err;

	do {
		err = wire_await(&r->w, deadline, &m);
	} while (err == 0 && is_grant(r, &m));
	if (err == 0)
		wire_unget(&r->w);
	return err;
}

static enum verdict check_stream(struct run *r)
{
	struct reply *rep = &r->reply;
	uint32_t xid = rep->msg.xid;

	if (rpc_verdict_read(&rep->rpc, rep->stream) < 0)
		return failed(r, "the reply's payload is no RPC reply (%zu octets)",
			      rep->stream.len);
	if (rep->rpc.xid != xid)
		return failed(r, "XID 0x%08x in the RPC reply, 0x%08x in the transport header",
			      rep->rpc.xid, xid);
	return PASS;
}

/* The stream of a reply in the Reply chunk: as many octets as the header says were written. */
static enum verdict take_reply_chunk(struct run *r)
{
	const struct rpc_chunk *c = &r->reply.msg.body_chunk;

	if (!r->reply_chunk || !r->call.has_reply)
		return failed(r, "a Reply chunk was returned and none offered");
	if (c->length > r->call.reply.length)
		return failed(r, "the Reply chunk came back with %llu octets, %llu were offered",
			      (unsigned long long)c->length,
			      (unsigned long long)r->call.reply.length);
	r->reply.stream = view_of(r->reply_chunk, (size_t)c->length);
	return PASS;
}

static enum verdict v1_reply(struct run *r, uint32_t xid, const struct wire_msg *m)
{
	struct reply *rep = &r->reply;
	struct v1_header h;
	bool dir_known;
	int err = v1_header_decode(&h, &rep->msg, &dir_known, m->octets);

	if (err < 0 || (xid && h.xid != xid) || (h.proc != V1_MSG && h.proc != V1_NOMSG) ||
	    rep->msg.dir != RPC_REPLY)
		return failed(r, "instead of the reply: %s%s", msg_words(r, m->octets),
			      err < 0 ? ", malformed" : "");
	rep->htype = h.proc;
	rep->credit = h.credit;
	rep->invalidated = m->invalidated;
	rep->parts = 1;
	if (m->octets.len > RUN_INLINE)
		return failed(r, "a reply of %zu octets, 4096 were announced", m->octets.len);
	if (h.proc == V1_NOMSG)
		return take_reply_chunk(r) ?: check_stream(r);
	rep->stream = rep->msg.body[0];
	return check_stream(r);
}

static enum verdict early_reply(struct run *r, uint32_t xid, const struct wire_msg *m)
{
	struct reply *rep = &r->reply;
	struct early_header h;
	enum rpc_dir dir = RPC_REPLY;
	int err = early_header_decode(&h, &rep->msg, &dir, m->octets);

	if (err < 0 || (xid && h.xid != xid) || (h.proc != EARLY_MSG && h.proc != EARLY_NOMSG) ||
	    dir != RPC_REPLY)
		return failed(r, "instead of the reply: %s%s", msg_words(r, m->octets),
			      err < 0 ? ", malformed" : "");
	rep->htype = h.proc;
	rep->credit = h.credit;
	rep->invalidated = m->invalidated;
	rep->parts = 1;
	if (m->octets.len > RUN_INLINE)
		return failed(r, "a reply of %zu octets, and 4096 are the most (2.3)",
			      m->octets.len);
	if (h.proc == EARLY_NOMSG)
		return take_reply_chunk(r) ?: check_stream(r);
	rep->stream = rep->msg.body[0];
	return check_stream(r);
}

/* Take a message that is, or belongs to, the reply @xid; *@more: more messages of it follow. */
static enum verdict v2_part(struct run *r, uint32_t xid, const struct wire_msg *m, bool *more)
{
	struct reply *rep = &r->reply;
	struct rpc_error fault;
	struct v2_hdr h;
	const struct v2_type *type;
	int err = v2_decode(&h, &rep->msg, m->octets, RPC_MAX_SEGMENTS, &fault);

	type = err < 0 ? NULL : v2_type_find(h.htype);
	if (err < 0 || (xid && h.xid != xid) || !(type->flags & V2_IS_REPLY))
		return failed(r, "instead of the reply: %s%s", msg_words(r, m->octets),
			      err < 0 ? ", malformed" : "");
	rep->htype = h.htype;
	rep->credit = h.credit;
	rep->invalidated = m->invalidated;
	rep->parts++;
	*more = (type->flags & V2_IS_MIDDLE) != 0;
	if (h.htype == V2_REPLY_EXTERNAL)
		return rep->parts == 1 ? take_reply_chunk(r) : failed(r, "EXTERNAL after MIDDLE");
	if (rep->stream.len + rep->msg.body[0].len > RUN_REPLY_MAX)
		return failed(r, "a reply of more than %d octets", RUN_REPLY_MAX);
	memcpy(r->assembly + rep->stream.len, rep->msg.body[0].data, rep->msg.body[0].len);
	rep->stream = view_of(r->assembly, rep->stream.len + rep->msg.body[0].len);
	return PASS;
}

enum verdict expect_reply(struct run *r, uint32_t xid)
{
	struct wire_msg m;
	enum verdict v;
	bool more = true;

	r->reply.stream = view_of(NULL, 0);
	r->reply.parts = 0;
	if (r->version == 1)
		return msg_next(r, &m) ?: v1_reply(r, xid, &m);
	if (r->version == RUN_EARLY)
		return msg_next(r, &m) ?: early_reply(r, xid, &m);
	while (more) {
		v = msg_next(r, &m) ?: v2_part(r, xid, &m, &more);
		if (v)
			return v;
	}
	return check_stream(r);
}

/* The five words that the versions have in common, and two more. */
static enum verdict expect_error(struct run *r, uint32_t xid, uint32_t version, bool any_version,
				 uint32_t err)
{
	struct wire_msg m;
	enum verdict v = msg_next(r, &m);

	if (v)
		return v;
	for (unsigned i = 0; i < 3; i++)
		r->error[i] = word(m.octets, 4 + i);
	if (m.octets.len < 20 || word(m.octets, 3) != V2_ERROR || (err && word(m.octets, 4) != err))
		return failed(r, "error %u is due; instead %s", err, msg_words(r, m.octets));
	if (word(m.octets, 0) != xid)
		return failed(r, "error %u about xid 0x%08x instead of 0x%08x", err,
			      word(m.octets, 0), xid);
	if (!any_version && word(m.octets, 1) != version)
		return failed(r, "error %u with version %u instead of %u", err, word(m.octets, 1),
			      version);
	return PASS;
}

enum verdict expect_reading(struct run *r, uint32_t xid, uint32_t err, const char *of,
			    const char *served, const char *refused)
{
	struct wire_msg m;
	enum verdict v = msg_next(r, &m);

	if (v)
		return v;
	wire_unget(&r->w);
	if (word(m.octets, 3) != V2_ERROR)
		return expect_reply(r, xid) ?: reads(r, of, served, "the call is answered");
	return expect_v2_error(r, xid, 2, err) ?: reads(r, of, refused, "error %u", err);
}

enum verdict expect_v1_error(struct run *r, uint32_t xid, uint32_t err)
{
	return expect_error(r, xid, 1, false, err);
}

enum verdict expect_v2_error(struct run *r, uint32_t xid, uint32_t version, uint32_t err)
{
	return expect_error(r, xid, version, version == 0, err);
}

enum verdict expect_quiet(struct run *r)
{
	nsec_t deadline = probe_now(r->env) + QUIET_MS * NSEC_PER_MS;
	struct wire_msg m;
	int err;

	do {
		err = wire_await(&r->w, deadline, &m);
	} while (err == 0 && is_grant(r, &m));
	if (err == ERR_TIMEOUT)
		return PASS;
	if (err < 0)
		return failed(r, "the peer closed the connection: %s", r->w.why);
	return failed(r, "silence is due; instead %s", msg_words(r, m.octets));
}

enum verdict null_call(struct run *r)
{
	null_begin(r);
	return msg_send(r) ?: expect_reply(r, r->xid);
}

enum verdict fence(struct run *r)
{
	enum verdict v = null_call(r) ?: expect_quiet(r);
	char cause[RUN_DETAIL];

	if (!v)
		return PASS;
	snprintf(cause, sizeof(cause), "%s", r->detail);
	return failed(r, "a call afterwards: %.180s", cause);
}
