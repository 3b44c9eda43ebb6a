/* SPDX-License-Identifier: BSD-2-Clause */
/* The messages of a transaction: its call in a form that the responder's leg takes, its reply in a
 * form that the requester's leg takes, and the results that an answer reports. Chunks of one leg
 * never appear on the other: each names memory of the gateway. */
#include <assert.h>
#include <string.h>

#include "proxy/txn_form.h"
#include "proxy/internal.h"
#include "proxy/plan/segments.h"
#include "proxy/txn_cut_through.h"
#include "proxy/txn_memory.h"
#include "proxy/txn_retry_form.h"
#include "proxy/txn_server_quirks.h"
#include "xdr/cursor.h"

static void end_of(const struct txn *t, const struct leg *leg, struct plan_end *e)
{
	const struct proxy_config *cfg = &t->s->proxy->cfg;
	const struct rpc_transport *transport = leg->t;

	e->traits = transport->ops->traits;
	e->limits = transport->peer;
	e->continued = e->continued_most = (struct plan_cover){0};
	e->no_reply_chunk = e->is_far = false;
	e->slack = 0;
	if (transport->ops->sends) {
		e->continued = (struct plan_cover){cfg->continue_max,
						   transport->ops->sends(transport, false)};
		e->continued_most = (struct plan_cover){cfg->max_payload,
							transport->ops->sends(transport, true)};
	}

	/* draft-07 5.2.5: the reverse-direction level of a connection is its client's. A level
	 * that a server announces does not describe the replies it gets. */
	if (leg->role == RPC_INITIATOR)
		e->limits.reverse = transport->own.reverse;
}

size_t txn_call_body_len(const struct txn *t)
{
	return t->in.has_body_chunk ? (size_t)t->in.body_chunk.length : t->call_body.len;
}

void txn_snapshot(struct txn *t)
{
	t->hdr_err = rpchdr_peek(&t->hdr, t->call_body);
}

/* The responder as the plan sees it, and the forms that it refused for this call. */
static void plan_to(const struct txn *t, struct plan_end *to)
{
	end_of(t, t->rsp, to);
	to->is_far = session_hop(t->s, t->rsp)->is_far;
	if (to->is_far) /* over a far hop a call is continued as far as credits allow */
		to->continued.bytes = t->s->proxy->cfg.max_payload;
	if (t->avoid & TXN_AVOID_CONTINUED)
		to->limits.continuation = false;
	if (t->avoid & TXN_AVOID_BODY_CHUNK || t->rsp->conn->issues_no_reads)
		to->limits.no_external = true;
	to->slack = txn_slack(t);
	to->no_reply_chunk = txn_avoids_reply_chunk(t) || (t->avoid & TXN_AVOID_REPLY_CHUNK);
}

/* Choose the segments of the call's chunks again when it is sent, because the responder may take
 * less by now. */
static void shape_call(struct txn *t)
{
	struct plan_end to;
	struct plan_in in = {.call = &t->in, .body_len = txn_call_body_len(t), .to = &to};

	plan_to(t, &to);
	plan_shape(&in);
	t->shape = in.shape;
}

/* The plan of a call that is not short. */
static void plan_long(struct txn *t)
{
	struct plan_end from, to;
	struct plan_in in = {.call = &t->in,
			     .body_len = txn_call_body_len(t),
			     .from = &from,
			     .to = &to,
			     .reverse = t->reverse};

	end_of(t, t->req, &from);
	plan_to(t, &to);
	if (t->hdr_err == 0)
		in.hdr = &t->hdr;
	plan_shape(&in);
	t->shape = in.shape;
	plan_call_form(&in, &t->plan);
}

void txn_plan(struct txn *t)
{
	const struct rpc_transport *to = t->rsp->t;

	if (t->hdr_err == 0 && !t->reverse && !rpc_msg_has_chunks(&t->in) &&
	    plan_is_short(&t->hdr, t->call_body, to->ops->traits, &to->peer))
		t->plan = (struct plan_call){.form = PLAN_INLINE};
	else
		plan_long(t);
}

/* Plan again, now that t->out has its chunks. With @joined the data item has no chunk, but is in
 * the body of t->out. Return: false if the item must not be in the body. */
static bool plan_again(const struct txn *t, bool joined, struct plan_call *out)
{
	struct plan_end to;
	struct plan_in in = {.call = &t->in,
			     .body_len = joined ? rpc_msg_body_len(&t->out) : t->call_body.len,
			     .header_len = t->rsp->t->ops->header_len(t->rsp->t, &t->out),
			     .to = &to,
			     .reverse = t->reverse,
			     .shape = t->shape};

	plan_to(t, &to);
	if (joined)
		return plan_call_joined(&in, &t->plan, out);
	plan_call_again(&in, &t->plan, out);
	return true;
}

/* Find the real length of data items that the peer may have sent with their XDR pad. */
static void strip_pads(struct txn *t)
{
	uint64_t removed = 0;

	for (unsigned i = 0; i < t->in.nreads; i++) {
		struct rpc_chunk *c = &t->in.reads[i];

		t->reads[i].len = (uint32_t)c->length;
		if (t->req->t->ops->traits->padded_reads)
			t->reads[i].len = (uint32_t)plan_strip_pad(&t->call_body, 1, c, removed);
		removed += c->length + xdr_pad(c->length);
	}
}

static int add_reads(struct txn *t)
{
	struct rpc_msg *m = &t->out;

	for (unsigned i = 0; i < t->in.nreads; i++) {
		struct txn_region *r = &t->reads[i];
		struct rpc_chunk *c = &m->reads[m->nreads];
		int err;

		if (r->len == 0)
			continue;
		m->nreads++;
		err = txn_expose(t, r, r->len, FABRIC_REMOTE_READ, NULL, c);
		if (err < 0)
			return err;
		c->position = t->in.reads[i].position;
	}
	return 0;
}

/* Offer one Write chunk to the responder. */
static int add_write(struct txn *t, unsigned i)
{
	struct txn_region *r = &t->writes[i];

	return txn_expose(t, r, r->cap, FABRIC_REMOTE_WRITE, &t->in.writes[i], &t->out.writes[i]);
}

static int add_writes(struct txn *t)
{
	struct rpc_msg *m = &t->out;
	unsigned last = t->in.nwrites;

	/* Linux refuses Write chunks without segments. Empty Write chunks at the end mean nothing,
	 * so they are left out. */
	while (last > 0 && t->in.writes[last - 1].length == 0)
		last--;
	for (unsigned i = 0; i < last; i++) {
		struct txn_region *r = &t->writes[i];
		int err;

		m->writes[m->nwrites] = (struct rpc_chunk){.first = (uint16_t)m->nsegs};
		m->nwrites++;
		if (r->cap == 0)
			continue;
		err = add_write(t, i);
		if (err < 0)
			return err;
	}
	return 0;
}

static int add_reply(struct txn *t, const struct plan_call *p)
{
	if (t->reply.cap == 0 || p->reply_bytes == 0)
		return 0;
	if (p->reply_bytes < p->offer && p->reply_bytes < t->reply.cap) /* it was shortened */
		t->reply.cap = p->reply_bytes;
	t->out.has_reply = true;
	return txn_expose(t, &t->reply, t->reply.cap, FABRIC_REMOTE_WRITE, NULL, &t->out.reply);
}

static void add_view(struct rpc_msg *m, const uint8_t *octets, size_t len)
{
	if (len)
		m->body[m->nbody++] = view_of(octets, len);
}

static void put_body(struct txn *t)
{
	t->out.body[0] = t->call_body;
	t->out.nbody = 1;
}

/* Put the data item back into the payload stream, without moving octets. Its pad fits behind it,
 * because blocks consist of whole words. */
static void put_joined_body(struct txn *t)
{
	const struct txn_region *r = &t->reads[0];
	size_t pad = xdr_pad(r->len), position = t->in.reads[0].position;
	struct rpc_msg *m = &t->out;

	assert(!pad || r->len + pad <= buf_round(r->cap));
	if (pad)
		fabric_sums_end(r->sums);
	memset(r->addr + r->len, 0, pad);
	m->nbody = 0;
	add_view(m, t->call_body.data, position);
	add_view(m, r->addr, r->len + pad);
	add_view(m, t->call_body.data + position, t->call_body.len - position);
}

/* The body is in t->out already if it is sent inline or continued. */
static int add_body(struct txn *t, enum plan_form form)
{
	struct rpc_msg *m = &t->out;

	if (form != PLAN_BODY_CHUNK)
		return 0;
	m->nbody = 0;
	if (!t->body.owned)
		t->body =
			txn_region_in(&t->call_held, t->call_body.data, (uint32_t)t->call_body.len);
	m->has_body_chunk = true;
	return txn_expose(t, &t->body, (uint32_t)t->call_body.len, FABRIC_REMOTE_READ, NULL,
			  &m->body_chunk);
}

/* Whether the call is consistent, now that its whole payload stream is here; otherwise it is not
 * sent to the responder. A Position lies behind the RPC header, within the stream known so far
 * (draft-07 4.5.1, 4.5.1.1). */
static bool is_call_consistent(const struct txn *t)
{
	uint64_t end = RPCHDR_LEAST_CALL, moved = 0;

	if (t->hdr_err == ERR_SHORT || t->hdr.mtype != 0 || t->hdr.xid != t->in.xid)
		return false;
	for (unsigned i = 0; i < t->in.nreads; i++) {
		const struct rpc_chunk *c = &t->in.reads[i];

		if (c->position < end || c->position - moved > t->call_body.len)
			return false;
		end = c->position + c->length;
		moved += c->length + xdr_pad(c->length);
	}
	return true;
}

/* Whether @t may be sent with the round-trip extension, and how the data of its reply are asked
 * for. */
static bool plan_extended(const struct txn *t, enum plan_ask *ask)
{
	const struct plan_receives own = {t->rsp->cfg->inline_bytes, t->rsp->cfg->bulk_bytes};
	struct plan_end to;
	const struct plan_in in = {.call = &t->in,
				   .hdr = t->hdr_err == 0 ? &t->hdr : NULL,
				   .to = &to,
				   .reverse = t->reverse,
				   .shape = t->shape};

	plan_to(t, &to);
	return plan_extends(&in, &t->plan, &own, ask);
}

/* The direction for the @i-th result: the requester's own if it speaks the extension as well,
 * else the same for all results. */
static struct rpc_wish wish_for(const struct txn *t, unsigned i, enum plan_ask ask)
{
	struct rpc_wish wish = {.end = UINT32_MAX};

	if (t->in.nwishes)
		wish = t->in.wishes[i];
	wish.way = ask == PLAN_ASK_SENT ? RPC_BY_SEND : RPC_BY_EITHER;
	wish.most = 0;
	return wish;
}

/* Put Write chunks, with as many segments as they will have but no handles yet, and their
 * directions into t->out. Return: 0, or as txn_cut(). */
static int sketch_writes(struct txn *t, enum plan_ask ask)
{
	struct rpc_msg *m = &t->out;
	int err = 0;

	for (unsigned i = 0; i < t->in.nwrites && t->writes[i].cap && !err; i++) {
		const struct segment any = {.length = t->writes[i].cap};
		struct rpc_chunk *c = &m->writes[m->nwrites++];

		*c = (struct rpc_chunk){.first = (uint16_t)m->nsegs};
		m->wishes[m->nwishes++] = wish_for(t, i, ask);
		if (ask == PLAN_ASK_EITHER)
			err = txn_cut(t, &any, &t->in.writes[i], c);
	}
	return err;
}

/* Whether @t may be sent with its data in the Send, or with directions for the data of the reply.
 * If so, t->out is complete except for its exposures. */
static bool form_extended(struct txn *t, enum plan_ask *ask)
{
	const struct rpc_transport *to = t->rsp->t;
	struct rpc_msg *m = &t->out;

	if (!to->ops->places || t->in.nreads > RPC_MAX_PLACED || t->avoid & TXN_AVOID_PLACED ||
	    (t->in.nwrites && !txn_may_ask(t)) || txn_has_window(t) || !plan_extended(t, ask))
		return false;
	for (unsigned i = 0; i < t->in.nreads; i++) {
		const struct txn_region *r = &t->reads[i];
		struct rpc_chunk *c = &m->reads[m->nreads++];

		*c = (struct rpc_chunk){.position = t->in.reads[i].position};
		if (r->len == 0 || rpc_msg_place(m, c, view_of(r->addr, r->len)) < 0)
			return false;
	}
	put_body(t);
	if (*ask != PLAN_ASK_NOTHING && sketch_writes(t, *ask) < 0)
		return false;
	return m->nsegs <= to->peer.segment_count && to->ops->places(to, m);
}

/* Add the exposures to t->out. */
static int finish_extended(struct txn *t, enum plan_ask ask)
{
	struct proxy_counters *count = &t->s->route->count;
	struct rpc_msg *m = &t->out;
	int err = 0;

	m->nsegs = 0;
	for (unsigned i = 0; ask == PLAN_ASK_EITHER && i < m->nwrites && !err; i++)
		err = add_write(t, i);
	if (err)
		return err;
	t->form = PLAN_INLINE;
	t->joined = false;
	t->expected = t->plan.expected;
	t->call_tx.tx.cover = RPC_COVER_NOW;
	count->placed += m->nplaced > 0;
	count->asked += m->nwishes > 0;
	return 0;
}

/* Whether the data item may travel within the payload stream, if the plan agrees. A data item in
 * a Receive may have no room behind it for its pad. */
static bool may_join(const struct txn *t)
{
	const struct txn_region *r = t->reads;

	return session_hop(t->s, t->rsp)->is_far && t->in.nreads == 1 && r->len > 0 &&
	       (r->owned || xdr_pad(r->len) == 0);
}

/* Fill in all chunks but the Reply chunk, and the body; @p: the plan of their form. */
static int form_parts(struct txn *t, struct plan_call *p)
{
	bool joins = may_join(t);
	int err = joins ? 0 : add_reads(t);

	if (err == 0)
		err = add_writes(t);
	if (err < 0)
		return err;
	if (joins)
		put_joined_body(t);
	t->joined = joins && plan_again(t, true, p);
	if (t->joined)
		return 0;
	if (joins)
		err = add_reads(t);
	put_body(t);
	(void)plan_again(t, false, p);
	return err;
}

/* Whether the plan has decided all: the call has no chunks, needs none and fits one Send. True for
 * most calls. */
static bool is_settled(const struct txn *t)
{
	const struct rpc_transport *to = t->rsp->t;

	return !rpc_msg_has_chunks(&t->in) && t->plan.form == PLAN_INLINE && !t->plan.offer &&
	       !t->reverse &&
	       to->ops->traits->call_header + t->call_body.len <= to->peer.send_bytes;
}

static void form_settled(struct txn *t)
{
	rpc_msg_reset(&t->out, t->in.xid, RPC_CALL);
	put_body(t);
	t->form = PLAN_INLINE;
	t->joined = false;
	t->expected = t->plan.expected;
	t->call_tx.tx.cover = RPC_COVER_NOW;
}

static int form_call(struct txn *t, struct rpc_error *e)
{
	struct rpc_msg *m = &t->out;
	enum plan_ask ask;
	struct plan_call p;
	int err;

	*e = (struct rpc_error){.code = RPC_ERROR_SYSTEM};
	if (t->in.nsegs || !t->shape.most) /* 0: a short plan has no shape */
		shape_call(t);
	rpc_msg_reset(m, t->in.xid, RPC_CALL);
	if (form_extended(t, &ask))
		return finish_extended(t, ask);
	rpc_msg_reset(m, t->in.xid, RPC_CALL);
	err = form_parts(t, &p);
	if (err < 0)
		return err;
	if (p.form == PLAN_REFUSED) {
		*e = p.error;
		return ERR_TOOBIG;
	}
	err = add_reply(t, &p);
	if (err == 0)
		err = add_body(t, p.form);
	if (err < 0)
		return err;
	t->form = p.form;
	t->expected = p.expected;
	t->call_tx.tx.cover = p.only_way ? RPC_COVER_WAIT : RPC_COVER_NOW;
	if (m->nsegs > t->rsp->t->peer.segment_count) {
		*e = (struct rpc_error){RPC_ERROR_SEGMENTS, t->rsp->t->peer.segment_count, 0};
		return ERR_TOOBIG;
	}
	/* draft-07 6.5: every handle here belongs to this transaction alone, so any may be
	 * invalidated. */
	if (t->rsp->conn->remote_inv && m->nsegs > 0)
		m->inv_handle = m->segs[m->nsegs - 1].handle;
	return 0;
}

void txn_complete_call(struct txn *t)
{
	if (!t->in.has_body_chunk)
		return;
	t->body.len = (uint32_t)t->in.body_chunk.length;
	t->call_body = view_of(t->body.addr, t->body.len);
	txn_snapshot(t);
}

int txn_form_call(struct txn *t, struct rpc_error *e)
{
	strip_pads(t);
	if (!is_call_consistent(t)) {
		*e = (struct rpc_error){.code = RPC_ERROR_BAD_XDR};
		return ERR_XDR;
	}
	txn_note_call(t);
	if (!is_settled(t))
		return form_call(t, e);
	form_settled(t);
	return 0;
}

static int copy_chunk(struct txn *t, const struct rpc_chunk *from, uint32_t len,
		      struct rpc_chunk *to)
{
	struct segment segs[RPC_MAX_SEGMENTS];

	*to = (struct rpc_chunk){.first = (uint16_t)t->out.nsegs};
	if (plan_spread(&t->in.segs[from->first], from->count, len, segs) < 0)
		return ERR_TOOBIG;
	for (unsigned i = 0; i < from->count; i++)
		if (rpc_msg_add_segment(&t->out, to, &segs[i]) < 0)
			return ERR_TOOBIG;
	return 0;
}

/* Put the @i-th result into a reply of the extension. Return: 0, or an error: there is no way for
 * it. */
static int put_result(struct txn *t, unsigned i, bool may_send)
{
	const struct rpc_chunk *offered = &t->in.writes[i];
	const struct txn_region *r = &t->writes[i];
	struct rpc_msg *m = &t->out;
	struct rpc_chunk *c = &m->writes[m->nwrites++];
	struct rpc_wish *result = &m->wishes[m->nwishes++];

	*c = (struct rpc_chunk){.first = (uint16_t)m->nsegs};
	*result = (struct rpc_wish){.way = r->left_in ? RPC_TOO_SHORT : RPC_NO_ITEM,
				    .position = r->position,
				    .length = r->left_in};
	switch (plan_item(&t->in.wishes[i], r->len, offered->count ? offered->length : 0,
			  may_send)) {
	case PLAN_ITEM_SENT:
		result->way = t->in.wishes[i].way; /* this may be the only way */
		return rpc_msg_place(m, c, view_of(r->addr, r->len));
	case PLAN_ITEM_WRITTEN:
		return copy_chunk(t, offered, r->len, c);
	case PLAN_ITEM_NONE:
		return 0;
	case PLAN_ITEM_REFUSED:
		break;
	}
	return ERR_TOOBIG;
}

/* Form a reply of the extension, with the data of its first chunks in its Send, as many as
 * possible. Return: whether there is such a form. */
static bool form_response(struct txn *t)
{
	const struct rpc_transport *to = t->req->t;
	struct rpc_msg *m = &t->out;

	for (unsigned sent = RPC_MAX_PLACED + 1; sent-- > 0;) {
		int err = 0;

		rpc_msg_reset(m, t->in.xid, RPC_REPLY);
		m->reserved = t->in.reserved;
		for (unsigned i = 0; i < t->in.nwishes && !err; i++)
			err = put_result(t, i, m->nplaced < sent);
		m->body[0] = t->reply_body;
		m->nbody = 1;
		if (!err && to->ops->places(to, m)) {
			t->s->route->count.replies_placed += m->nplaced > 0;
			return true;
		}
	}
	return false;
}

/* Whether a result has no Write chunk in the base protocol's form: its direction was Send alone,
 * or its chunk is too short. */
static bool is_unoffered(const struct txn *t, struct rpc_error *e)
{
	for (unsigned i = 0; i < t->in.nwishes; i++) {
		*e = (struct rpc_error){RPC_ERROR_WRITE_RESOURCE, i + 1, t->writes[i].len};
		if (t->writes[i].len &&
		    (t->in.writes[i].count == 0 || t->in.writes[i].length < t->writes[i].len))
			return true;
	}
	return false;
}

/* Form a reply that does not fit one Send with its body. @header_len: octets of the header in
 * t->out. */
static int form_long_reply(struct txn *t, size_t header_len, bool written, struct rpc_error *e)
{
	struct rpc_msg *m = &t->out;
	struct plan_end to;
	const struct plan_in in = {.call = &t->in,
				   .body_len = t->reply_body.len,
				   .header_len = header_len,
				   .to = &to,
				   .reverse = t->reverse};
	struct plan_reply p;

	end_of(t, t->req, &to);
	plan_reply_form(&in, &p);
	if (p.form == PLAN_REFUSED) {
		*e = p.error;
		return ERR_TOOBIG;
	}
	session_stat(t->s, t->req)->written += written || p.form == PLAN_BODY_CHUNK;
	if (p.form != PLAN_BODY_CHUNK)
		return 0;
	m->nbody = 0;
	m->has_body_chunk = true;
	return copy_chunk(t, &t->in.reply, (uint32_t)in.body_len, &m->body_chunk);
}

int txn_form_reply(struct txn *t, struct rpc_error *e)
{
	const struct rpc_transport *to = t->req->t;
	struct rpc_msg *m = &t->out;
	size_t header_len = to->ops->traits->reply_header;
	bool written = false;

	if (t->in.nwishes && !t->plain && form_response(t))
		return 0;
	if (is_unoffered(t, e))
		return ERR_TOOBIG;
	*e = (struct rpc_error){.code = RPC_ERROR_SYSTEM};
	rpc_msg_reset(m, t->in.xid, RPC_REPLY);
	for (unsigned i = 0; i < t->in.nwrites; i++) {
		if (copy_chunk(t, &t->in.writes[i], t->writes[i].len, &m->writes[m->nwrites++]) < 0)
			return ERR_TOOBIG;
		written |= t->writes[i].len > 0;
	}
	m->body[0] = t->reply_body;
	m->nbody = 1;
	if (m->nwrites)
		header_len = to->ops->header_len(to, m);
	if (header_len + t->reply_body.len > to->peer.send_bytes) /* true for few replies */
		return form_long_reply(t, header_len, written, e);
	session_stat(t->s, t->req)->written += written;
	return 0;
}

/* Whether the responder may invalidate @handle, or none, with its reply to @t. */
static bool is_handle_of(const struct txn *t, uint32_t handle)
{
	if (handle == 0 || handle == t->out.inv_handle)
		return true;
	if (t->rsp->t->ops->traits->names_inv)
		return false; /* draft-07 6.5: MUST use the value in the Call */
	for (unsigned i = 0; i < t->out.nsegs; i++)
		if (t->out.segs[i].handle == handle)
			return true; /* RFC 8797 4.1: any that belongs to the XID */
	return false;
}

/* Octets of @r that the responder was offered: none if the call did not have the chunk, even if
 * memory is reserved. */
static uint32_t region_offered(const struct txn_region *r)
{
	return r->handle ? r->cap : 0;
}

/* Take what the responder returned for one Write chunk. A result that was asked for by Send alone
 * may be longer than the memory reserved for it, because no chunk had that length for the
 * responder: txn_send_reply(). */
static int take_result(struct txn *t, const struct rpc_msg *reply, unsigned i)
{
	const struct rpc_chunk *c = &reply->writes[i];
	struct txn_region *r = &t->writes[i];
	bool is_unbounded;

	r->sent = rpc_msg_placed(reply, c);
	is_unbounded = r->sent && i < t->out.nwishes && t->out.wishes[i].way == RPC_BY_SEND;
	if ((c->length > (r->sent ? r->cap : region_offered(r)) && !is_unbounded) ||
	    (r->sent && r->window))
		return ERR_PROTO;
	r->len = (uint32_t)c->length;
	if (reply->nwishes) {
		r->position = reply->wishes[i].position;
		r->left_in = reply->wishes[i].way == RPC_TOO_SHORT ? reply->wishes[i].length : 0;
	}
	return 0;
}

int txn_take_results(struct txn *t, const struct leg_out *out)
{
	const struct rpc_msg *reply = out->msg;
	uint64_t len = reply->has_body_chunk ? reply->body_chunk.length : 0;

	if (!is_handle_of(t, out->invalidated) || reply->nwrites > t->out.nwrites ||
	    len > region_offered(&t->reply))
		return ERR_PROTO;
	if (reply->is_response && !t->rsp->t->ops->answers(&t->out, reply))
		return ERR_PROTO;
	for (unsigned i = 0; i < reply->nwrites; i++)
		if (take_result(t, reply, i) < 0)
			return ERR_PROTO;
	txn_note_reply(t, reply);
	t->unheeded = t->out.nwishes && !reply->is_response;
	t->reply.len = (uint32_t)len;
	if (reply->has_body_chunk)
		t->reply_body = view_of(t->reply.addr, t->reply.len);
	else
		t->reply_body = reply->nbody ? reply->body[0] : view_of(NULL, 0);
	return t->reply_body.len > 0 ? 0 : ERR_PROTO;
}
