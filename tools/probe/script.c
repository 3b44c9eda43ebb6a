/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps that send: messages composed word by word, or made by the codecs. */
#include <string.h>

#include "tools/probe/run.h"
#include "v1/header.h"
#include "v2/message.h"
#include "v2early/header.h"

enum { CREDIT_AT = 8 };

static void msg_start(struct run *r)
{
	xdr_out_init(&r->x, r->out, sizeof(r->out));
	r->keep_credit = false;
}

void msg_begin(struct run *r, unsigned version, uint32_t type)
{
	if (!version)
		version = r->version == RUN_EARLY ? EARLY_VERSION : r->version;
	msg_start(r);
	r->xid = r->next_xid++;
	put(r, r->xid, version, RUN_CREDITS, type);
}

void put_words(struct run *r, const uint32_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		xdr_put_u32(&r->x, words[i]);
}

void put_segment(struct run *r, const struct segment *s)
{
	xdr_put_segment(&r->x, s);
}

void put_octets(struct run *r, struct view v)
{
	if (v.len > (size_t)(r->x.end - r->x.pos)) {
		r->x.failed = true;
		return;
	}
	memcpy(r->x.pos, v.data, v.len);
	r->x.pos += v.len;
}

void put_prop(struct run *r, uint32_t id, uint32_t value)
{
	put(r, id, 4, value);
}

void put_five_props(struct run *r)
{
	put_prop(r, V2_PROP_SBSIZ, RUN_INLINE);
	put_prop(r, V2_PROP_RBSIZ, RUN_INLINE);
	put_prop(r, V2_PROP_RSSIZ, RUN_SEGMENT_BYTES);
	put_prop(r, V2_PROP_RCSIZ, RUN_SEGMENTS);
	put_prop(r, V2_PROP_BRS, RPC_REV_NONE);
}

void put_props(struct run *r)
{
	put(r, 5);
	put_five_props(r);
}

void put_null(struct run *r)
{
	/* RFC 5531 section 9: a call, RPC version 2, AUTH_NONE twice, no arguments. */
	put(r, r->xid, 0, 2, r->program.number, r->program.version, 0, 0, 0, 0, 0);
}

void null_begin(struct run *r)
{
	if (r->version == 1) {
		msg_begin(r, 1, V1_MSG);
		put(r, 0, 0, 0);
	} else if (r->version == RUN_EARLY) {
		msg_begin(r, 0, EARLY_MSG);
		put(r, 0, 0, 0, 0); /* CALL, and three empty lists */
	} else {
		msg_begin(r, 2, V2_CALL_INLINE);
		put(r, 0, 0, 0, 0);
	}
	put_null(r);
}

/* Version 2: wait for a credit, and set the credit field. */
static enum verdict take_credit(struct run *r)
{
	nsec_t deadline = run_deadline(r);
	struct flow *f = &r->flow;

	wire_turn(&r->w);
	while ((int32_t)(f->limit - f->sent) <= 0 && r->w.state == WIRE_OPEN &&
	       probe_now(r->env) < deadline && !probe_stopped(r->env)) {
		r->env->wait(r->env->arg, deadline);
		wire_turn(&r->w);
	}
	if ((int32_t)(f->limit - f->sent) <= 0 && r->w.state == WIRE_OPEN)
		return failed(r, "no credit: %u messages sent, %u granted", f->sent, f->limit);
	return PASS;
}

static void put_credit(struct run *r)
{
	struct flow *f = &r->flow;
	uint32_t value = f->received + f->advertise;
	struct xdr_out credit;

	if (r->version != 2 || r->keep_credit || xdr_out_len(&r->x) < V2_PREFIX_BYTES)
		return;
	xdr_out_init(&credit, r->out + CREDIT_AT, 4);
	xdr_put_u32(&credit, value);
	if ((int32_t)(value - f->granted) > 0)
		f->granted = value;
}

enum verdict msg_send(struct run *r)
{
	enum verdict v = r->version == 2 ? take_credit(r) : PASS;
	int err;

	if (v)
		return v;
	put_credit(r);
	err = r->x.failed ? ERR_NOSPACE : wire_send(&r->w, view_of(r->out, xdr_out_len(&r->x)), 0);
	r->flow.sent++;
	if (err == ERR_CLOSED)
		return failed(r, "the connection is gone: %s", r->w.why);
	return err < 0 ? failed(r, "cannot send: %s", err_name(err)) : PASS;
}

enum verdict chunk(struct run *r, uint32_t len, unsigned access, struct segment *seg, uint8_t **at)
{
	int err = wire_expose(&r->w, len, access, seg, at);

	if (err == ERR_CLOSED)
		return failed(r, "the connection is gone: %s", r->w.why);
	return err < 0 ? failed(r, "cannot expose memory: %s", err_name(err)) : PASS;
}

enum verdict null_chunk(struct run *r, struct segment *seg)
{
	uint8_t *at;
	enum verdict v = chunk(r, RPC_NULL_BYTES, FABRIC_REMOTE_READ, seg, &at);
	struct xdr_out saved = r->x;

	if (v)
		return v;
	xdr_out_init(&r->x, at, RPC_NULL_BYTES);
	put_null(r);
	r->x = saved;
	return PASS;
}

void call_begin(struct run *r)
{
	r->xid = r->next_xid++;
	r->reply_chunk = NULL;
	rpc_msg_reset(&r->call, r->xid, RPC_CALL);
}

void call_segment(struct run *r, struct rpc_chunk *c, const struct segment *seg)
{
	if (c->count == 0)
		c->first = (uint16_t)r->call.nsegs;
	/* Scripts use few segments, far below the limit of the table. */
	(void)!rpc_msg_add_segment(&r->call, c, seg);
}

void call_body_chunk(struct run *r, const struct segment *seg)
{
	if (!r->call.has_body_chunk)
		r->call.body_chunk = (struct rpc_chunk){0};
	r->call.has_body_chunk = true;
	call_segment(r, &r->call.body_chunk, seg);
}

void call_split(struct run *r, struct rpc_chunk *c, uint32_t at)
{
	struct segment *first = &r->call.segs[c->first], rest = *first;

	rest.offset += at;
	rest.length -= at;
	first->length = at;
	c->length = at;
	call_segment(r, c, &rest);
}

enum verdict call_write_chunk(struct run *r, uint32_t len, struct segment *seg, uint8_t **at)
{
	enum verdict v = chunk(r, len, FABRIC_REMOTE_WRITE, seg, at);
	struct rpc_chunk *c = &r->call.writes[r->call.nwrites];

	if (v)
		return v;
	*c = (struct rpc_chunk){0};
	r->call.nwrites++;
	call_segment(r, c, seg);
	return PASS;
}

enum verdict call_reply_chunk(struct run *r, uint32_t len, struct segment *seg)
{
	enum verdict v = chunk(r, len, FABRIC_REMOTE_WRITE, seg, &r->reply_chunk);

	if (v)
		return v;
	r->call.has_reply = true;
	r->call.reply = (struct rpc_chunk){0};
	call_segment(r, &r->call.reply, seg);
	return PASS;
}

enum verdict call_send(struct run *r, const struct view *body)
{
	struct v2_hdr h = {.xid = r->xid, .vers = V2_VERSION, .htype = v2_msg_htype(&r->call)};
	size_t len = 0;
	int err;

	msg_start(r);
	if (r->version == 1) {
		err = v1_header_encode(&r->call, RUN_CREDITS, r->out, sizeof(r->out), &len);
	} else if (r->version == RUN_EARLY) {
		err = early_header_encode(&r->call, RUN_CREDITS, r->out, sizeof(r->out), &len);
	} else {
		err = v2_encode(&h, &r->call, r->out, sizeof(r->out));
		len = err > 0 ? (size_t)err : 0;
	}
	if (err < 0)
		return failed(r, "cannot encode the call: %s", err_name(err));
	r->x.pos += len;
	if (body)
		put_octets(r, *body);
	else if (!r->call.has_body_chunk)
		put_null(r);
	return msg_send(r);
}
