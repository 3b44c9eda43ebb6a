/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/session/peer.h"

#include <assert.h>
#include <string.h>

#include "tests/isolation/mark.h"
#include "tests/session/pattern.h"
#include "xdr/cursor.h"

/*
 * A call's payload stream: the RPC call header (24 octets), then what to return:
 * reply length, number of results, their lengths; the number of items; then filler. Items are taken
 * out at 64, 72, ... with their count word in front. One that is alone may come in its place.
 */
enum { ITEMS = 48, FIXED = PEER_FIXED, OPS = 64, PROGRAM = 0x0e000103 };

enum { CALL_BODY = 1, REPLY_BODY = 2, READ_ITEM = 16, WRITE_ITEM = 32 };

/* Without memory for a leg there is none. */
static void give_up_early(struct peer *p)
{
	leg_fini(&p->leg);
	p->closed = true;
	p->status = ERR_NOMEM;
}

void peer_connect(struct peer *p, const struct fabric_addr *to)
{
	const struct leg_target target = {
		.fabric = p->fabric, .from = p->from.len ? &p->from : NULL, .to = to};

	leg_init(&p->leg, RPC_INITIATOR);
	p->writing = 0;
	p->leg.first_xid = 0x77000000;
	p->has_leg = true;
	p->open = p->closed = false;
	if (leg_connect(&p->leg, &p->cfg, &p->arena, &target, OPS, p->now(p->clock)) < 0)
		give_up_early(p);
}

static void region_new(struct peer *p, struct peer_region *r, uint32_t cap)
{
	*r = (struct peer_region){.cap = cap};
	if (cap == 0)
		return;
	r->addr = buf_alloc(&p->arena, cap, BUF_TRANSACTION);
	assert(r->addr);
}

static void region_free(struct peer *p, struct peer_region *r)
{
	if (!r->lent)
		buf_free(&p->arena, r->addr);
	*r = (struct peer_region){0};
}

/* A fabric that refuses a post has broken its promise: nothing sensible can follow. */
static void give_up(struct peer *p)
{
	leg_close(&p->leg, ERR_IO, "a post failed");
}

/* Expose @len octets of @r in @segs segments as chunk @c of @m. */
static bool region_expose(struct peer *p, struct peer_region *r, uint32_t len, unsigned segs,
			  unsigned access, uint32_t position, struct rpc_msg *m,
			  struct rpc_chunk *c)
{
	uint32_t at = 0;

	*c = (struct rpc_chunk){.position = position, .first = (uint16_t)m->nsegs};
	for (unsigned i = 0; i < segs; i++) {
		uint32_t n = i + 1 == segs ? len - at : len / segs;
		struct segment s;

		if (n == 0)
			continue;
		if (fabric_expose(p->leg.conn, r->addr + at, n, access, &s) < 0)
			return false;
		r->handles[r->nhandles++] = s.handle;
		assert(rpc_msg_add_segment(m, c, &s) == 0);
		at += n;
	}
	return true;
}

static void region_fence(struct peer *p, struct peer_region *r, struct peer_call *c)
{
	for (unsigned i = 0; i < r->nhandles; i++)
		if (fabric_withdraw(p->leg.conn, r->handles[i], c, NULL) == 0)
			c->fences++;
	r->nhandles = 0;
}

static void call_end(struct peer_call *c)
{
	struct peer *p = c->peer;

	if (!c->sent || !c->answered || c->fences)
		return;
	region_free(p, &c->body);
	region_free(p, &c->reply);
	for (unsigned i = 0; i < PEER_CHUNKS; i++) {
		region_free(p, &c->reads[i]);
		region_free(p, &c->writes[i]);
	}
	c->busy = false;
}

static void call_fence(struct peer_call *c)
{
	struct peer *p = c->peer;

	c->answered = true;
	region_fence(p, &c->body, c);
	region_fence(p, &c->reply, c);
	for (unsigned i = 0; i < PEER_CHUNKS; i++) {
		region_fence(p, &c->reads[i], c);
		region_fence(p, &c->writes[i], c);
	}
	call_end(c);
}

/* The reduced payload stream: FIXED octets, then filler; item i's count word lies right
 * before its place at FIXED + 8 i. */
static void write_body(struct peer_call *c)
{
	const struct peer_spec *s = &c->spec;
	struct xdr_out x;

	fill(c->body.addr, 0, s->body, c->xid, CALL_BODY);
	xdr_out_init(&x, c->body.addr, s->body);
	xdr_put_u32(&x, c->xid);
	for (unsigned i = 0; i < s->nwords; i++)
		xdr_put_u32(&x, s->words[i]);
	if (s->words)
		return;
	xdr_put_u32(&x, 0);
	xdr_put_u32(&x, 2);
	xdr_put_u32(&x, PROGRAM);
	xdr_put_u32(&x, 1);
	xdr_put_u32(&x, 1);
	xdr_put_u32(&x, s->reply);
	xdr_put_u32(&x, s->nwrites);
	for (unsigned i = 0; i < PEER_CHUNKS; i++)
		xdr_put_u32(&x, i < s->nwrites ? s->writes[i] : 0);
	xdr_put_u32(&x, s->nreads);
	for (unsigned i = 0; i < s->nreads; i++) {
		xdr_out_init(&x, c->body.addr + FIXED + 8 * i - 4, 4);
		xdr_put_u32(&x, s->reads[i]);
	}
}

/* Whether the data go in the call's Send; else nothing was done. */
static bool add_placed(struct peer_call *c)
{
	const struct peer_spec *s = &c->spec;
	const struct rpc_transport *t = c->peer->leg.t;
	struct rpc_msg *m = &c->msg;
	uint32_t removed = 0;

	if (!c->peer->places || !t || !t->ops->places || !s->nreads || s->nreads > RPC_MAX_PLACED ||
	    s->nwrites || s->reply_cap || s->by_chunk || peer_has_rival(c))
		return false;
	for (unsigned i = 0; i < s->nreads; i++) {
		m->reads[i] = (struct rpc_chunk){.position = FIXED + 8 * i + removed};
		assert(rpc_msg_place(m, &m->reads[i], view_of(c->reads[i].addr, s->reads[i])) == 0);
		removed += s->reads[i] + xdr_pad(s->reads[i]);
	}
	m->nreads = s->nreads;
	if (!t->ops->places(t, m))
		m->nreads = m->nplaced = 0;
	c->peer->placed_out += m->nplaced > 0;
	return m->nplaced > 0;
}

/* One of the four ways, by the call's number: a chunk that is exposed already is by Send alone where that is asked
 * for, and there is room. */
static void add_wish(struct peer_call *c, unsigned i)
{
	const struct peer *p = c->peer;
	struct rpc_msg *m = &c->msg;
	struct rpc_wish *wish = &m->wishes[m->nwishes++];

	*wish = (struct rpc_wish){.way = (enum rpc_way)(1 + (c->xid + i) % 4), .end = UINT32_MAX};
	if (wish->way == RPC_BY_SIZE)
		wish->most = c->spec.write_caps[i] / 2;
	/* Two by Send alone do not go into one Receive. */
	if (wish->way != RPC_BY_SEND)
		return;
	if (m->nwrites > 1 || c->spec.write_caps[i] > p->cfg.bulk_bytes ||
	    c->spec.reply + 128 > p->cfg.inline_bytes ||
	    p->cfg.inline_bytes > p->leg.t->peer.recv_bytes) {
		wish->way = RPC_BY_EITHER;
		return;
	}
	m->writes[i] = (struct rpc_chunk){.length = c->spec.write_caps[i]};
	m->nsegs = 0;
}

/* Whether the call tells how it wants the data of its reply; else nothing was done. */
static bool add_wishes(struct peer_call *c)
{
	const struct peer_spec *s = &c->spec;
	const struct rpc_transport *t = c->peer->leg.t;
	struct rpc_msg *m = &c->msg, plain = *m;

	if (!c->peer->asks || !t || !t->ops->places || s->nreads || !s->nwrites || s->reply_cap ||
	    s->by_chunk || s->nwrites > RPC_MAX_WISHES || peer_has_rival(c))
		return false;
	for (unsigned i = 0; i < s->nwrites; i++)
		if (s->write_caps[i] == 0)
			return false;
	for (unsigned i = 0; i < s->nwrites; i++)
		add_wish(c, i);
	if (!t->ops->places(t, m)) {
		*m = plain;
		return false;
	}
	c->peer->asked++;
	return true;
}

static bool add_chunks(struct peer_call *c)
{
	const struct peer_spec *s = &c->spec;
	struct peer *p = c->peer;
	struct rpc_msg *m = &c->msg;
	uint32_t removed = 0;

	for (unsigned i = 0; i < s->nreads; i++) {
		region_new(p, &c->reads[i], s->reads[i]);
		fill(c->reads[i].addr, 0, s->reads[i], c->xid, READ_ITEM + i);
	}
	if (add_placed(c))
		return true;
	for (unsigned i = 0; i < s->nreads; i++) {
		if (!region_expose(p, &c->reads[i], s->reads[i], s->segs, FABRIC_REMOTE_READ,
				   FIXED + 8 * i + removed, m, &m->reads[m->nreads]))
			return false;
		m->nreads++;
		removed += s->reads[i] + xdr_pad(s->reads[i]);
	}
	for (unsigned i = 0; i < s->nwrites; i++) {
		region_new(p, &c->writes[i], s->write_caps[i]);
		if (!region_expose(p, &c->writes[i], s->write_caps[i], s->segs, FABRIC_REMOTE_WRITE,
				   0, m, &m->writes[m->nwrites]))
			return false;
		m->nwrites++;
	}
	if (!s->reply_cap) {
		(void)add_wishes(c);
		return true;
	}
	region_new(p, &c->reply, s->reply_cap);
	m->has_reply = true;
	return region_expose(p, &c->reply, s->reply_cap, s->segs, FABRIC_REMOTE_WRITE, 0, m,
			     &m->reply);
}

bool peer_call(struct peer *p, const struct peer_spec *spec)
{
	struct peer_call *c = p->calls;
	struct rpc_msg *m;

	while (c < p->calls + PEER_CALLS && c->busy)
		c++;
	if (c == p->calls + PEER_CALLS)
		return false;
	memset(c, 0, sizeof(*c));
	c->busy = true;
	c->peer = p;
	c->xid = p->next_xid;
	c->began = p->now(p->clock);
	p->next_xid = mark_next_xid(p->next_xid);
	c->spec = *spec;
	m = &c->msg;
	rpc_msg_reset(m, c->xid, RPC_CALL);
	region_new(p, &c->body, spec->body);
	write_body(c);
	if (spec->by_chunk) {
		m->has_body_chunk = true;
		if (!region_expose(p, &c->body, spec->body, spec->segs, FABRIC_REMOTE_READ, 0, m,
				   &m->body_chunk))
			goto fail;
	} else {
		m->body[0] = view_of(c->body.addr, spec->body);
		m->nbody = 1;
	}
	if (!add_chunks(c))
		goto fail;
	if (m->nsegs)
		m->inv_handle = m->segs[0].handle;
	c->tx.owner = NULL;
	c->tx.tx.msg = m;
	c->tx.tx.reverse = p->leg.role == RPC_ACCEPTOR;
	leg_send(&p->leg, &c->tx);
	return true;
fail:
	c->sent = true;
	call_fence(c);
	return true;
}

static void verify_reply(struct peer_call *c, const struct rpc_msg *m)
{
	const struct peer_spec *s = &c->spec;
	struct peer *p = c->peer;
	struct view body = m->nbody ? m->body[0] : view_of(NULL, 0);
	bool good = true;

	if (s->words && !s->exact)
		return;
	if (m->has_body_chunk)
		body = view_of(c->reply.addr, (size_t)m->body_chunk.length);
	if (body.len != s->reply || m->nwrites != s->nwrites)
		good = false;
	else
		good = check(body.data, 24, s->reply, c->xid, REPLY_BODY);
	if (m->nwishes && !p->leg.t->ops->answers(&c->msg, m))
		good = false;
	for (unsigned i = 0; good && i < s->nwrites; i++) {
		const uint8_t *sent = rpc_msg_placed(m, &m->writes[i]);

		p->returned_in += sent != NULL;
		good = m->writes[i].length == s->writes[i] &&
		       check(sent ? sent : c->writes[i].addr, 0, s->writes[i], c->xid,
			     WRITE_ITEM + i);
	}
	if (!good) {
		p->corrupt++;
		printf("corrupt reply: xid=%x body=%zu/%u writes=%u/%u\n", c->xid, body.len,
		       s->reply, m->nwrites, s->nwrites);
	}
}

static struct peer_call *find_call(struct peer *p, uint32_t xid)
{
	for (unsigned i = 0; i < PEER_CALLS; i++)
		if (p->calls[i].busy && !p->calls[i].answered && p->calls[i].xid == xid)
			return &p->calls[i];
	return NULL;
}

static void on_reply(struct peer *p, struct leg_out *out)
{
	struct peer_call *c = find_call(p, out->msg->xid);

	if (!c) {
		p->unexpected++;
	} else {
		verify_reply(c, out->msg);
		p->done++;
		call_fence(c);
	}
	leg_put(&p->leg, &out->held);
}

static void on_error(struct peer *p, const struct leg_out *out)
{
	struct peer_call *c = find_call(p, out->xid);

	p->errors++;
	p->last_error = out->error;
	if (c)
		call_fence(c);
}

static void serve_end(struct peer_serve *s)
{
	struct peer *p = s->peer;

	leg_put(&p->leg, &s->held);
	region_free(p, &s->body);
	region_free(p, &s->reply);
	for (unsigned i = 0; i < PEER_CHUNKS; i++) {
		region_free(p, &s->reads[i]);
		region_free(p, &s->writes[i]);
	}
	s->busy = false;
}

/* Write @len octets of @r to the requester's chunk @from; the returned chunk goes into s->out. */
static void write_piece(struct peer_serve *s, const struct peer_region *r, uint32_t at,
			struct segment to)
{
	struct fabric_sge sge = {.len = to.length};

	if (to.length == 0 || s->dry)
		return;
	sge.addr = r->addr + at;
	if (fabric_write(s->peer->leg.conn, &sge, 1, &to, s) == 0)
		s->ops++, s->peer->writing++;
	else
		give_up(s->peer);
}

/* Octets from @at on of the region to @to: at once, or piece by piece, every other one first. */
static void write_out(struct peer_serve *s, const struct peer_region *r, uint32_t at,
		      const struct segment *to, bool is_all)
{
	bool divides = s->peer->divides && s->peer->writing < OPS / 4;
	/* Scattered writes have as many pieces in one segment as in several; otherwise there are
	 * more than may be in flight. */
	uint32_t n = s->peer->scatters ? (is_all ? 13 : 5) : divides ? 3 : 1;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = s->peer->scatters ? n - 1 - i * 2 % n : i;
		uint32_t from = (uint32_t)((uint64_t)to->length * k / n);
		uint32_t end = (uint32_t)((uint64_t)to->length * (k + 1) / n);
		struct segment piece = {to->handle, end - from, to->offset + from};

		write_piece(s, r, at + from, piece);
	}
}

static void push(struct peer_serve *s, struct peer_region *r, uint32_t len,
		 const struct rpc_chunk *from, struct rpc_chunk *to)
{
	uint32_t at = 0;

	*to = (struct rpc_chunk){.first = (uint16_t)s->out.nsegs};
	for (unsigned i = 0; i < from->count; i++) {
		struct segment seg = s->in.segs[from->first + i];
		uint32_t n = seg.length < len - at ? seg.length : len - at;

		seg.length = n;
		assert(rpc_msg_add_segment(&s->out, to, &seg) == 0);
		write_out(s, r, at, &seg, from->count == 1);
		at += n;
	}
}

/* Whether the item of the call is in its place, with its pad. If so, @body becomes the rest without
 * it. */
static bool take_joined(struct peer_serve *s, struct view *body)
{
	uint32_t want = xdr_peek_u32(body->data + FIXED - 4), pad = xdr_pad(want);
	bool good = body->len - FIXED >= (uint64_t)want + pad &&
		    check(body->data + FIXED, 0, want, s->in.xid, READ_ITEM);

	if (!good)
		return false;
	for (uint32_t i = 0; i < pad; i++)
		good &= body->data[FIXED + want + i] == 0;
	s->peer->joined++;
	/* From behind the item on it stands as if that were not there. */
	*body = view_of(body->data + want + pad, body->len - want - pad);
	return good;
}

static bool verify_call(struct peer_serve *s, struct view body)
{
	uint32_t xid = s->in.xid;
	bool good = body.len >= FIXED && xdr_peek_u32(body.data) == xid;

	if (good && s->in.nreads == 0 && xdr_peek_u32(body.data + ITEMS) == 1)
		good = take_joined(s, &body);
	good = good &&
	       check(body.data, FIXED + 8 * PEER_CHUNKS, (uint32_t)body.len, xid, CALL_BODY);
	for (unsigned i = 0; good && i < s->in.nreads; i++) {
		uint32_t want = xdr_peek_u32(body.data + FIXED + 8 * i - 4);

		good = s->reads[i].cap == want &&
		       check(s->reads[i].addr, 0, want, xid, READ_ITEM + i);
	}
	return good;
}

/* knfsd 6.1 adds what it wrote into Write chunks to the Reply chunk's length, and cuts the
 * sum to what was offered. */
static void inflate(struct peer_serve *s)
{
	uint64_t sum = s->out.body_chunk.length;

	for (unsigned i = 0; i < s->out.nwrites; i++)
		sum += s->out.writes[i].length + xdr_pad(s->out.writes[i].length);
	for (unsigned i = 0; i < s->out.body_chunk.count; i++) {
		uint32_t cap = s->in.segs[s->in.reply.first + i].length;
		uint32_t n = sum < cap ? (uint32_t)sum : cap;

		s->out.segs[s->out.body_chunk.first + i].length = n;
		sum -= n;
	}
}

/* The results as their requester wants them, the first @most of those that can go by Send so. @dry: nothing is
 * written. */
static void put_results(struct peer_serve *s, const uint32_t *lengths, unsigned most, bool dry)
{
	struct rpc_msg *m = &s->out;

	m->nwrites = m->nwishes = m->nplaced = m->nsegs = 0;
	s->dry = dry;
	for (unsigned i = 0; i < s->in.nwishes; i++) {
		const struct rpc_wish *wish = &s->in.wishes[i];
		struct rpc_chunk *c = &m->writes[m->nwrites++];
		bool can = wish->way == RPC_BY_SEND || wish->way == RPC_BY_EITHER ||
			   (wish->way == RPC_BY_SIZE && lengths[i] <= wish->most);

		m->wishes[m->nwishes++] = (struct rpc_wish){.way = RPC_NO_ITEM};
		*c = (struct rpc_chunk){.first = (uint16_t)m->nsegs};
		if (can && lengths[i] && m->nplaced < most)
			assert(rpc_msg_place(m, c, view_of(s->writes[i].addr, lengths[i])) == 0);
		else
			push(s, &s->writes[i], s->in.writes[i].count ? lengths[i] : 0,
			     &s->in.writes[i], c);
	}
	s->dry = false;
}

static void respond(struct peer_serve *s, const uint32_t *lengths)
{
	const struct rpc_transport *t = s->peer->leg.t;
	unsigned most = RPC_MAX_PLACED;

	s->out.reserved = s->in.reserved;
	for (;; most--) {
		put_results(s, lengths, most, true);
		if (t->ops->places(t, &s->out) || !most)
			break;
	}
	/* Results that do not fit this form are sent in the base protocol's form. */
	put_results(s, lengths, most, false);
	if (!t->ops->places(t, &s->out))
		s->out.nwishes = 0;
	s->peer->returned_out += s->out.nplaced;
}

static void reply(struct peer_serve *s)
{
	struct peer *p = s->peer;
	uint32_t lengths[PEER_CHUNKS] = {0};
	struct view body = s->in.nbody ? s->in.body[0] : view_of(s->body.addr, s->body.cap);
	uint32_t xid = s->in.xid, len, nwrites, limit;
	struct xdr_out x;

	p->served++;
	s->replying = true;
	if (!verify_call(s, body)) {
		p->corrupt++;
		printf("corrupt call: xid=%x body=%zu\n", xid, body.len);
	}
	len = xdr_peek_u32(body.data + 24);
	nwrites = xdr_peek_u32(body.data + 28);
	rpc_msg_reset(&s->out, xid, RPC_REPLY);
	for (unsigned i = 0; i < nwrites && i < s->in.nwrites; i++) {
		uint32_t n = xdr_peek_u32(body.data + 32 + 4 * i);

		region_new(p, &s->writes[i], n);
		fill(s->writes[i].addr, 0, n, xid, WRITE_ITEM + i);
		lengths[i] = n;
		if (s->in.nwishes)
			continue;
		push(s, &s->writes[i], n, &s->in.writes[i], &s->out.writes[s->out.nwrites]);
		s->out.nwrites++;
	}
	region_new(p, &s->reply, len);
	fill(s->reply.addr, 0, len, xid, REPLY_BODY);
	xdr_out_init(&x, s->reply.addr, len);
	xdr_put_u32(&x, xid);
	xdr_put_u32(&x, 1);
	for (int i = 0; i < 4; i++)
		xdr_put_u32(&x, 0);
	s->out.body[0] = view_of(s->reply.addr, len);
	s->out.nbody = 1;
	if (s->in.nwishes)
		respond(s, lengths);
	limit = p->leg.t->peer.send_bytes;
	if (s->in.has_reply && len <= s->in.reply.length &&
	    (len + p->leg.t->ops->header_len(p->leg.t, &s->out) > limit || (xid & 1))) {
		s->out.nbody = 0;
		s->out.has_body_chunk = true;
		push(s, &s->reply, len, &s->in.reply, &s->out.body_chunk);
	}
	if (p->linux_reply_len && s->out.has_body_chunk && s->out.nwrites)
		inflate(s);
	s->tx.tx.msg = &s->out;
	s->tx.tx.reverse = p->leg.role == RPC_INITIATOR;
	if (p->leg.t->version == 2 && (xid & 2))
		s->tx.inv_handle = s->in.inv_handle;
	leg_send(&p->leg, &s->tx);
}

static void pull(struct peer_serve *s, struct peer_region *r, const struct rpc_chunk *c)
{
	const uint8_t *placed = rpc_msg_placed(&s->in, c);
	uint32_t at = 0;

	if (placed) {
		*r = (struct peer_region){.addr = (uint8_t *)(uintptr_t)placed,
					  .cap = (uint32_t)c->length,
					  .lent = true};
		s->peer->placed_in++;
		return;
	}
	region_new(s->peer, r, (uint32_t)c->length);
	for (unsigned i = 0; i < c->count; i++) {
		const struct segment *seg = &s->in.segs[c->first + i];

		if (fabric_read(s->peer->leg.conn, r->addr + at, seg, s) == 0)
			s->ops++, s->peer->writing++;
		else
			give_up(s->peer);
		at += seg->length;
	}
}

/* The call is here whole. */
static void complete(struct peer_serve *s)
{
	if (s->peer->holds)
		s->held_back = true;
	else if (!s->peer->leg.closing)
		reply(s);
}

static void on_call(struct peer *p, struct leg_out *out)
{
	struct peer_serve *s = p->serves;

	while (s < p->serves + PEER_CALLS && s->busy)
		s++;
	assert(s < p->serves + PEER_CALLS);
	memset(s, 0, sizeof(*s));
	s->busy = true;
	s->peer = p;
	s->held = out->held;
	memcpy(&s->in, out->msg, sizeof(s->in));
	s->tx.owner = s;
	for (unsigned i = 0; i < s->in.nreads; i++)
		pull(s, &s->reads[i], &s->in.reads[i]);
	if (s->in.has_body_chunk)
		pull(s, &s->body, &s->in.body_chunk);
	if (s->ops == 0)
		complete(s);
}

unsigned peer_release(struct peer *p, bool answer)
{
	unsigned n = 0;

	for (unsigned i = 0; i < PEER_CALLS; i++) {
		struct peer_serve *s = &p->serves[i];

		if (!s->busy || !s->held_back)
			continue;
		s->held_back = false;
		n++;
		if (answer)
			reply(s);
		else
			serve_end(s);
	}
	return n;
}

unsigned peer_forget(struct peer *p)
{
	unsigned n = 0;

	for (unsigned i = 0; i < PEER_CALLS; i++) {
		struct peer_call *c = &p->calls[i];

		if (!c->busy || !c->sent || c->answered)
			continue;
		leg_forget(&p->leg, c->xid);
		peer_count(p, (uint32_t)-1);
		call_fence(c);
		n++;
	}
	return n;
}

static struct peer_serve *as_serve(struct peer *p, void *cookie)
{
	struct peer_serve *s = cookie;

	return s >= p->serves && s < p->serves + PEER_CALLS ? s : NULL;
}

static void on_op(struct peer *p, const struct leg_out *out)
{
	struct peer_serve *s = as_serve(p, out->cookie);

	if (!s) {
		struct peer_call *c = out->cookie;

		c->fences--;
		call_end(c);
		return;
	}
	s->ops--;
	p->writing--;
	if (out->status == 0 && s->ops == 0 && !s->replying)
		complete(s);
	else if (s->ops == 0 && s->replying && s->tx.encoded && s->tx.posted == 0)
		serve_end(s);
}

static void on_sent(struct leg_out *out)
{
	struct peer_serve *s = out->tx->owner;

	if (!s) {
		struct peer_call *c = container_of(out->tx, struct peer_call, tx);

		c->sent = true;
		assert(out->status == 0 || err_class(out->status) == ERR_CLASS_IO);
		call_end(c);
		return;
	}
	s->tx.encoded = true;
	if (s->ops == 0)
		serve_end(s);
}

static void on_out(struct peer *p, struct leg_out *out)
{
	switch (out->kind) {
	case LEG_OUT_NONE:
	case LEG_OUT_RECV_LIMITED:
		break;
	case LEG_OUT_READY:
		p->open = true;
		break;
	case LEG_OUT_MSG:
		if (out->msg->dir == RPC_CALL)
			on_call(p, out);
		else
			on_reply(p, out);
		break;
	case LEG_OUT_ERROR:
		on_error(p, out);
		break;
	case LEG_OUT_SENT:
		on_sent(out);
		break;
	case LEG_OUT_OP:
		on_op(p, out);
		break;
	case LEG_OUT_CLOSED:
		p->closed = true;
		p->status = out->status;
		break;
	}
}

static void on_request(struct peer *p, struct fabric_event *ev)
{
	leg_init(&p->leg, RPC_ACCEPTOR);
	p->writing = 0;
	p->has_leg = true;
	if (leg_accept(&p->leg, &p->cfg, &p->arena, ev->conn, ev->private_data, OPS,
		       p->now(p->clock)) < 0)
		give_up_early(p);
}

void peer_turn(struct peer *p)
{
	struct fabric_event ev;
	struct leg_out out;

	while (fabric_poll(p->fabric, &ev)) {
		if (ev.type == FABRIC_EV_REQUEST) {
			if (p->has_leg)
				fabric_reject(ev.conn, view_of(NULL, 0));
			else
				on_request(p, &ev);
			continue;
		}
		leg_input(&p->leg, &ev, &out);
		on_out(p, &out);
		for (leg_next(&p->leg, &out); out.kind; leg_next(&p->leg, &out))
			on_out(p, &out);
		peer_count_late(p);
	}
	if (p->has_leg && p->leg.conn)
		leg_pump(&p->leg);
	fabric_flush(p->fabric);
}

void peer_end(struct peer *p)
{
	leg_fini(&p->leg);
	for (unsigned i = 0; i < PEER_CALLS; i++) {
		struct peer_call *c = &p->calls[i];

		if (c->busy) {
			c->sent = c->answered = true;
			c->fences = 0;
			call_end(c);
		}
		if (p->serves[i].busy)
			serve_end(&p->serves[i]);
	}
}
