/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rogue servers: each waiting call is answered sooner or later: as asked, differently, or in pieces
 * that do not belong together.
 */
#include <stddef.h>
#include <string.h>

#include "tests/isolation/rogue.h"
#include "v2/header.h"

enum { LATE_OCTETS = 1200 }; /* less than an FPDU */

static struct rogue_call *any_call(struct rogue *r, unsigned *at)
{
	*at = rng_below(r->rng, ROGUE_CALLS);
	return r->calls[*at].used ? &r->calls[*at] : NULL;
}

static void call_over(struct rogue *r, struct rogue_call *c)
{
	rogue_outdated(r, &c->m);
	c->used = false;
}

/* Octets of the first @len of chunk @c of a call, segment by segment. */
static void write_chunk(struct rogue *r, const struct rpc_msg *m, const struct rpc_chunk *c,
			uint32_t len)
{
	bool backwards = (r->knows & MISDEED_ANY_ORDER) && rogue_draw(r, 2);

	for (unsigned i = 0; i < c->count && len; i++) {
		const struct segment *s = &m->segs[c->first + i];
		uint32_t n = s->length < len ? s->length : len;
		uint32_t half = backwards ? n / 2 : 0;

		rogue_write(r, s, half, n - half);
		rogue_write(r, s, 0, half);
		len -= n;
	}
}

/* Chunk @c of the call as returned, with @len octets in it. */
static void return_chunk(const struct rpc_msg *call, const struct rpc_chunk *c, uint64_t len,
			 struct rpc_msg *m, struct rpc_chunk *to)
{
	*to = (struct rpc_chunk){.first = (uint16_t)m->nsegs};
	for (unsigned i = 0; i < c->count; i++) {
		struct segment s = call->segs[c->first + i];
		bool last = i + 1 == c->count;

		/* A lie goes into the last of them. */
		s.length = len < s.length || last ? (uint32_t)len : s.length;
		(void)!rpc_msg_add_segment(m, to, &s);
		len -= s.length;
	}
}

/* How much of @c it says it returned. */
static uint64_t some_length(struct rogue *r, const struct rpc_chunk *c)
{
	switch (rng_below(r->rng, 4)) {
	case 0:
		return 0;
	case 1:
		return c->length ? rng_below(r->rng, (uint32_t)c->length) : 0;
	case 2:
		return c->length + (rogue_draw(r, 10) ? 4 : 0);
	default:
		return c->length;
	}
}

static void return_writes(struct rogue *r, const struct rogue_call *c, bool lie, struct rpc_msg *m)
{
	unsigned n = c->m.nwrites;

	if (lie && rogue_draw(r, 10))
		n = rng_below(r->rng, n + 1);
	for (unsigned i = 0; i < n; i++) {
		const struct rpc_chunk *w = &c->m.writes[i];
		uint64_t len = some_length(r, w);

		if (!lie) {
			len = len < w->length ? len : w->length;
			write_chunk(r, &c->m, w, (uint32_t)len);
		}
		return_chunk(&c->m, w, len, m, &m->writes[m->nwrites++]);
	}
}

/* Into the Reply chunk: first or last comes what makes it a reply. */
static void write_body(struct rogue *r, struct rogue_call *c, unsigned at, uint32_t len)
{
	const struct segment *s = &c->m.segs[c->m.reply.first];
	uint32_t head = s->length < 64 ? s->length : 64;
	const struct fabric_sge sge = {rogue_body_room(r, at), head};
	bool last = rogue_draw(r, 2);

	rogue_body(r, rogue_body_room(r, at), 64, c->m.xid, false);
	if (last)
		write_chunk(r, &c->m, &c->m.reply, len);
	if (r->connected && fabric_write(r->conn, &sge, 1, s, c) == 0)
		c->writing++;
	if (!last && head == 64 && len > 64)
		rogue_write(r, s, 64, (s->length < len ? s->length : len) - 64);
}

static uint32_t handle_of(struct rogue *r, const struct rpc_msg *m)
{
	struct segment s;

	if (rogue_will(r, MISDEED_INVALIDATE) && rogue_any_segment(r, &s))
		return s.handle;
	if (r->reads_out || rogue_draw(r, 2))
		return 0;
	if (r->version == 2)
		return m->inv_handle;
	return m->nsegs ? m->segs[rng_below(r->rng, m->nsegs)].handle : 0;
}

static void answer_by_chunk(struct rogue *r, struct rogue_call *c, unsigned at, bool lie,
			    struct rpc_msg *m)
{
	uint64_t len = c->m.reply.length;

	if (rogue_draw(r, 2))
		len = 64 + rng_below(r->rng, (uint32_t)len);
	if (!lie || rogue_draw(r, 2))
		write_body(r, c, at, (uint32_t)(len < c->m.reply.length ? len : c->m.reply.length));
	m->has_body_chunk = true;
	return_chunk(&c->m, &c->m.reply,
		     lie		       ? len
		     : len < c->m.reply.length ? len
					       : c->m.reply.length,
		     m, &m->body_chunk);
}

/* A Reply chunk of any call, offered or not: one of a call that is over, or a Write chunk. */
static void false_reply_chunk(struct rogue *r, struct rpc_msg *m)
{
	struct segment s = {.handle = (uint32_t)rng_next(r->rng), .length = 1000};

	(void)rogue_any_segment(r, &s);
	m->has_body_chunk = true;
	m->body_chunk = (struct rpc_chunk){.first = (uint16_t)m->nsegs};
	(void)!rpc_msg_add_segment(m, &m->body_chunk, &s);
}

/* To @m, which is answered: the memory may be another's by now. */
static void do_behind(struct rogue *r, const struct rpc_msg *m)
{
	const uint32_t grant[] = {0, 2, rogue_credit(r), V2_GRANT};
	const struct rpc_chunk *w;
	const struct segment *s;

	if (m->nwrites == 0)
		return;
	w = &m->writes[rng_below(r->rng, m->nwrites)];
	if (w->count == 0)
		return;
	s = &m->segs[w->first + (rogue_draw(r, 3) ? rng_below(r->rng, w->count) : 0)];
	if (r->version == 2 && rogue_draw(r, 3))
		rogue_send_words(r, grant, 4, s->handle);
	else
		rogue_write(r, s, 0, rogue_draw(r, 2) ? s->length : s->length / 2);
}

/* Where a Write behind the answer to @c could go that is one FPDU; NULL: nowhere. */
static const struct segment *late_target(struct rogue *r, const struct rogue_call *c)
{
	const struct rpc_chunk *w = &c->m.writes[0];
	const struct segment *s = c->m.nwrites && w->count ? &c->m.segs[w->first] : NULL;

	if (!r->delay || !(r->knows & MISDEED_LATE) || rogue_draw(r, 2))
		return NULL;
	return s && s->length > 0 ? s : NULL;
}

/* A Write whose last octet comes after the memory was given back, and perhaps belongs to another
 * call. */
static void write_late(struct rogue *r, const struct segment *s)
{
	r->delay(r->conn);
	rogue_write(r, s, 0, s->length < LATE_OCTETS ? s->length : LATE_OCTETS);
}

static void answer(struct rogue *r, struct rogue_call *c, unsigned at)
{
	static struct rpc_msg m;
	uint8_t body[2048];
	uint32_t len = 64 + 4 * rng_below(r->rng, rogue_draw(r, 4) ? 480 : 40);
	bool lie = rogue_will(r, MISDEED_FALSE_LENGTH);
	const struct segment *late = late_target(r, c);

	if (!rogue_may_send(r) || c->writing)
		return;
	rpc_msg_reset(&m, c->m.xid, RPC_REPLY);
	if (rogue_will(r, MISDEED_WRONG_XID) && rogue_draw(r, 4))
		m.xid = r->next_xid = mark_next_xid(r->next_xid);
	rogue_body(r, body, len, rogue_will(r, MISDEED_WRONG_XID) ? r->next_xid : m.xid, false);
	return_writes(r, c, lie, &m);
	if (c->m.has_reply && c->m.reply.length >= 64 && rogue_draw(r, 2))
		answer_by_chunk(r, c, at, lie, &m);
	else if (rogue_will(r, MISDEED_REPLY_CHUNK))
		false_reply_chunk(r, &m);
	rogue_send_msg(r, &m, view_of(body, m.has_body_chunk ? 0 : len),
		       late ? 0 : handle_of(r, &c->m));
	if (late)
		write_late(r, late);
	else if (rogue_will(r, MISDEED_BEHIND))
		do_behind(r, &c->m);
	if (!(rogue_will(r, MISDEED_WRONG_XID) && rogue_draw(r, 8)))
		call_over(r, c);
}

static void begin_continued(struct rogue *r, struct rogue_call *c)
{
	uint32_t total = 4000 + rng_below(r->rng, 40000);

	if (!rogue_may_send(r))
		return;
	if (rogue_will(r, MISDEED_PARTS) && rogue_draw(r, 2))
		total = 1 + rng_below(r->rng, 8 << 20);
	rogue_begin_parts(r, c->m.xid, total & ~UINT32_C(3));
	rogue_send_part(r, 1000 + rng_below(r->rng, 3000));
	if (total > 100000)
		r->drip_at = r->now(r->clock);
	call_over(r, c);
}

static void go_on(struct rogue *r)
{
	struct rpc_msg m;

	if (r->drip_at != NSEC_NEVER && !rogue_draw(r, 1000))
		return;
	if (r->part_left > 2000) {
		rogue_send_part(r, 1 + rng_below(r->rng, 4000));
		return;
	}
	if (!rogue_may_send(r))
		return;
	rpc_msg_reset(&m, r->part_xid, RPC_REPLY);
	rogue_send_msg(r, &m, view_of(rogue_plain(r), r->part_left), 0);
	r->part_left = 0;
}

static void own_call(struct rogue *r)
{
	uint8_t body[128];
	struct rpc_msg m;

	if (!rogue_may_send(r))
		return;
	r->next_xid = mark_next_xid(r->next_xid);
	rpc_msg_reset(&m, r->next_xid, RPC_CALL);
	rogue_body(r, body, sizeof(body), m.xid, true);
	rogue_send_msg(r, &m, view_of(body, sizeof(body)), 0);
}

static void control(struct rogue *r, uint32_t xid)
{
	const uint32_t grant[] = {0, 2, rogue_credit(r), V2_GRANT};
	const uint32_t error[] = {xid, r->version, rogue_credit(r), 4, r->version == 1 ? 2 : 100};
	struct segment s = {0};

	if (rogue_will(r, MISDEED_INVALIDATE))
		(void)rogue_any_segment(r, &s);
	if (r->version == 2 && rogue_draw(r, 2))
		rogue_send_words(r, grant, 4, s.handle);
	else
		rogue_send_words(r, error, 5, s.handle);
}

/* RDMA that has nothing to do with an answer, of handles that live or do not. */
static void rdma(struct rogue *r)
{
	struct segment s;
	uint32_t from, len;

	if (!rogue_any_segment(r, &s) || s.length == 0)
		return;
	from = rng_below(r->rng, s.length);
	len = 1 + rng_below(r->rng, s.length - from);
	if (rogue_will(r, MISDEED_OVERRUN) && rogue_draw(r, 20))
		len += 1000;
	if (rogue_draw(r, 2))
		rogue_write(r, &s, from, len);
	else
		rogue_read(r, &s, from, len);
}

/* A read or write of its own call, as it may be: a piece of it. */
static void move_some(struct rogue *r, const struct rogue_call *c)
{
	const struct rpc_msg *m = &c->m;
	const struct segment *s = m->nsegs ? &m->segs[rng_below(r->rng, m->nsegs)] : NULL;
	unsigned reads = m->has_body_chunk ? m->body_chunk.count : 0;
	uint32_t from;

	for (unsigned i = 0; i < m->nreads; i++)
		reads += m->reads[i].count;
	if (!s || s->length == 0)
		return;
	from = rng_below(r->rng, s->length);
	/* Segments of what is to be read come first. */
	if (s < &m->segs[reads])
		rogue_read(r, s, from, 1 + rng_below(r->rng, s->length - from));
	else if (rogue_will(r, MISDEED_PARTIAL_WRITE) && rogue_draw(r, 2))
		rogue_write(r, s, from, 1 + rng_below(r->rng, s->length - from));
	else if (rogue_will(r, MISDEED_PARTIAL_WRITE)) /* its end, which is not all */
		rogue_write(r, s, from, s->length - from);
}

void rogue_server_act(struct rogue *r)
{
	unsigned at;
	struct rogue_call *c = any_call(r, &at);

	if (r->knows & MISDEED_HANG)
		return;
	if (r->part_left && (r->patient || !rogue_will(r, MISDEED_PARTS) || !rogue_draw(r, 5)))
		go_on(r);
	else if (rogue_will(r, MISDEED_CONTROL) && rogue_draw(r, 4))
		control(r, c ? c->m.xid : r->next_xid);
	else if (rogue_will(r, MISDEED_AFTERWARDS) && rogue_draw(r, 10))
		rdma(r);
	else if ((r->knows & MISDEED_REVERSE) && rogue_draw(r, 8))
		own_call(r);
	else if (c && rogue_draw(r, 3))
		move_some(r, c);
	else if (c && r->version == 2 && !r->part_left && rogue_draw(r, 8))
		begin_continued(r, c);
	else if (c)
		answer(r, c, at);
}

void rogue_server_message(struct rogue *r, const struct rpc_msg *m)
{
	if (m->dir != RPC_CALL)
		return;
	if (r->mark == MARK_NONE)
		rogue_take_mark(r, mark_of_xid(m->xid));
	for (unsigned i = 0; i < ROGUE_CALLS; i++) {
		struct rogue_call *c = &r->calls[i];

		if (c->used)
			continue;
		memcpy(&c->m, m, offsetof(struct rpc_msg, segs));
		c->m.nsegs = m->nsegs;
		memcpy(c->m.segs, m->segs, m->nsegs * sizeof(m->segs[0]));
		for (unsigned k = 0; r->heard && k < m->nsegs && k < 4; k++)
			r->heard->segs[r->heard->n++ % 64] = m->segs[k];
		c->used = true;
		return;
	}
}
