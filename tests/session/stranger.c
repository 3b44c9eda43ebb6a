/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/session/stranger.h"

#include <stdlib.h>
#include <string.h>

enum {
	BUFFER = 16384,
	RECVS = 72,
	SENDS = 256,
	SENDS_AT = RECVS * BUFFER,
	SLOTS_AT = SENDS_AT + SENDS * BUFFER,
	SLOT = 1 << 20,
	SERVICES_AT = SLOTS_AT + TALKS * SLOT,
	HALF = SLOT / 2,
	ALL = SERVICES_AT + 2 * TALKS * SLOT,
	HEADER_1 = 16,
};

const char *stranger_story = "";

static bool chance(struct rng *r, unsigned of)
{
	return rng_below(r, of) == 0;
}

static uint32_t pad_of(uint32_t len)
{
	return -len & 3;
}

/* --- Sends --- */

static uint8_t *send_buffer(struct stranger *s, unsigned *n)
{
	while (s->busy_sends[s->next_send % SENDS])
		s->next_send++;
	*n = s->next_send++ % SENDS;
	s->busy_sends[*n] = true;
	return s->memory + SENDS_AT + (size_t)*n * BUFFER;
}

static void enqueue(struct stranger *s, uint8_t *at, size_t len, uint32_t inv_handle)
{
	must(s->nqueue < 512 && len <= BUFFER);
	s->queue[s->nqueue].at = at;
	s->queue[s->nqueue].len = (uint32_t)len;
	s->queue[s->nqueue++].inv_handle = inv_handle;
}

static void post(struct stranger *s, uint8_t *at, uint32_t len, uint32_t inv_handle)
{
	const struct fabric_sge sge = {at, len};
	uint32_t credit = s->h.credits;

	if (s->version == 2) {
		credit += s->received;
		s->told = s->received;
		s->sent++;
	} else if (s->is_server) { /* another one with each message */
		credit = 1 + rng_below(s->rng, s->h.credits);
		if (credit > s->most_granted)
			s->most_granted = credit;
	}
	xdr_poke_u32(at + 8, credit);
	if (s->conn && !s->closed)
		(void)!fabric_send(s->conn, &sge, 1, inv_handle, at);
}

static void flush(struct stranger *s)
{
	unsigned n = 0;

	while (n < s->nqueue && s->connected &&
	       (s->version != 2 || (int32_t)(s->limit - s->sent) > 0)) {
		post(s, s->queue[n].at, s->queue[n].len, s->queue[n].inv_handle);
		n++;
	}
	s->nqueue -= n;
	memmove(s->queue, s->queue + n, s->nqueue * sizeof(s->queue[0]));
	/* draft-07 4.2.1.1: before half is used up. */
	if (s->version == 2 && s->ready && s->received - s->told >= (s->h.credits + 1) / 2 &&
	    (int32_t)(s->limit - s->sent) >= 0) {
		unsigned i;
		uint8_t *at = send_buffer(s, &i);

		xdr_poke_u32(at, 0);
		xdr_poke_u32(at + 4, 2);
		xdr_poke_u32(at + 12, 5);
		post(s, at, 16, 0);
	}
}

static struct xdr_out begin(struct stranger *s, uint32_t xid, uint32_t type)
{
	struct xdr_out x;
	unsigned n;

	xdr_out_init(&x, send_buffer(s, &n), BUFFER);
	xdr_put_u32(&x, xid);
	xdr_put_u32(&x, s->version);
	xdr_put_u32(&x, 0);
	xdr_put_u32(&x, type);
	return x;
}

static void end(struct stranger *s, const struct xdr_out *x, uint32_t inv_handle)
{
	must(!x->failed);
	enqueue(s, x->start, xdr_out_len(x), inv_handle);
}

static void put_octets(struct xdr_out *x, const uint8_t *from, size_t len)
{
	must(xdr_has_room(x, len));
	memcpy(x->pos, from, len);
	x->pos += len;
}

/* @stream behind the header in @x, or first in parts of its own, cut anywhere. */
static void say(struct stranger *s, struct xdr_out *x, uint32_t xid, bool is_call,
		const uint8_t *stream, uint32_t len, uint32_t inv_handle)
{
	size_t header = xdr_out_len(x);
	uint32_t at = 0;

	while (header + len - at > s->peer_takes) {
		struct xdr_out part = begin(s, xid, is_call ? 9 : 12);
		uint32_t most = s->peer_takes - 20, n;

		must(s->version == 2);
		if (most > len - at - 4)
			most = len - at - 4;
		n = chance(s->rng, 3) ? most - rng_below(s->rng, most > 500 ? 500 : most - 3)
				      : most;
		xdr_put_u32(&part, len - at - n);
		put_octets(&part, stream + at, n);
		end(s, &part, 0);
		at += n;
	}
	put_octets(x, stream + at, len - at);
	end(s, x, inv_handle);
}

/* --- a call --- */

/* @len octets of memory in pieces, with gaps; some have no octets. */
static void lay(struct stranger *s, struct chunk *c, uint8_t **next, uint32_t len, unsigned access,
		bool may_be_empty)
{
	uint32_t left = len;

	c->n = 0;
	do {
		bool last = c->n + 1 == TALK_PIECES || chance(s->rng, 2);
		uint32_t here = last ? left : rng_below(s->rng, left + 1);

		if (!here && !may_be_empty && len)
			continue;
		c->at[c->n] = *next += rng_below(s->rng, 60);
		c->segs[c->n] = (struct segment){.handle = 0x5555, .offset = 77};
		if (here)
			must(fabric_expose(s->conn, *next, here, access, &c->segs[c->n]) == 0);
		c->n++;
		*next += here;
		left -= here;
	} while (left);
}

static void scatter(const struct chunk *c, const uint8_t *from, uint32_t len)
{
	for (unsigned i = 0; i < c->n && len; i++) {
		uint32_t n = c->segs[i].length < len ? c->segs[i].length : len;

		memcpy(c->at[i], from, n);
		from += n;
		len -= n;
	}
	must(len == 0);
}

static void put_reads(struct xdr_out *x, const struct chunk *c)
{
	for (unsigned i = 0; i < c->n; i++) {
		xdr_put_u32(x, 1);
		xdr_put_u32(x, c->position);
		xdr_put_segment(x, &c->segs[i]);
	}
}

static void put_array(struct xdr_out *x, const struct chunk *c)
{
	xdr_put_u32(x, c->n);
	for (unsigned i = 0; i < c->n; i++)
		xdr_put_segment(x, &c->segs[i]);
}

/* Octets that are left of the reply when what has a chunk is in it. */
static uint32_t reduced_reply(const struct talk *t)
{
	uint32_t len = t->reply_len;

	for (unsigned i = 0; i < t->nresults && i < t->nwrites; i++)
		if (t->caps[i])
			len -= t->results[i].len + pad_of(t->results[i].len);
	return len;
}

/* Which items and results go apart, and what is offered for the reply. */
static void choose(struct stranger *s, struct talk *t)
{
	struct rng *r = s->rng;
	uint32_t inline_room =
		s->h.inline_bytes < s->peer_takes ? s->h.inline_bytes : s->peer_takes;
	uint32_t left, header = 40;

	for (unsigned i = 0; i < t->nitems; i++)
		t->items[i].apart = t->items[i].len && !chance(r, 3);
	t->nwrites = rng_below(r, TALK_CHUNKS);
	for (unsigned i = 0; i < t->nwrites; i++) {
		t->caps[i] = i < t->nresults ? t->results[i].len : talk_length(r, true);
		t->caps[i] += chance(r, 2) ? 0 : rng_below(r, 3000);
		if (chance(r, 6))
			t->caps[i] = 0;
		header += 8 + 16 * TALK_PIECES;
	}
	left = reduced_reply(t);
	t->reply_cap = 0;
	if (s->version == 1 ? left + header > inline_room : chance(r, 2))
		t->reply_cap = left + (chance(r, 2) ? 0 : rng_below(r, 9000));
	else if (chance(r, 3))
		t->reply_cap = left + rng_below(r, 2000); /* the longest expected */
	t->is_long = chance(r, 6);
}

static uint32_t reduce_call(const struct stranger *s, struct talk *t, uint8_t *out)
{
	uint32_t at = 0, len = 0;

	(void)s;
	for (unsigned i = 0; i < t->nitems; i++) {
		const struct talk_item *item = &t->items[i];

		if (!item->apart)
			continue;
		memcpy(out + len, t->call + at, item->at - at);
		len += item->at - at;
		at = item->at + item->len + pad_of(item->len);
	}
	memcpy(out + len, t->call + at, t->call_len - at);
	return len + t->call_len - at;
}

static void expose_all(struct stranger *s, struct talk *t, const uint8_t *stream, uint32_t len)
{
	uint8_t *next = s->memory + SLOTS_AT + (size_t)(t - s->talks) * SLOT;

	memset(next, 0xe1, SLOT);
	t->body.n = 0;
	if (t->is_long) {
		lay(s, &t->body, &next, len, FABRIC_REMOTE_READ, true);
		t->body.position = 0;
		scatter(&t->body, stream, len);
	}
	for (unsigned i = 0; i < t->nitems; i++) {
		uint32_t n = t->items[i].len;

		t->reads[i].n = 0;
		if (!t->items[i].apart)
			continue;
		if (s->h.pads_reads)
			n += pad_of(n);
		lay(s, &t->reads[i], &next, n, FABRIC_REMOTE_READ, true);
		t->reads[i].position = t->items[i].at;
		scatter(&t->reads[i], t->call + t->items[i].at, n);
	}
	for (unsigned i = 0; i < t->nwrites; i++) {
		t->writes[i].n = 0;
		if (t->caps[i] || chance(s->rng, 2))
			lay(s, &t->writes[i], &next, t->caps[i], FABRIC_REMOTE_WRITE, true);
	}
	t->room.n = 0;
	if (t->reply_cap)
		lay(s, &t->room, &next, t->reply_cap, FABRIC_REMOTE_WRITE, true);
}

static void withdraw(struct stranger *s, struct talk *t, struct chunk *c)
{
	for (unsigned i = 0; i < c->n; i++)
		if (c->segs[i].length && fabric_withdraw(s->conn, c->segs[i].handle, t, NULL) == 0)
			t->fences++;
	c->n = 0;
}

static void withdraw_all(struct stranger *s, struct talk *t)
{
	for (unsigned i = 0; i < t->nitems; i++)
		withdraw(s, t, &t->reads[i]);
	for (unsigned i = 0; i < t->nwrites; i++)
		withdraw(s, t, &t->writes[i]);
	withdraw(s, t, &t->body);
	withdraw(s, t, &t->room);
}

static void put_lists(struct stranger *s, struct talk *t, struct xdr_out *x)
{
	bool upside_down = s->version == 1 && chance(s->rng, 4); /* 5.2.1: SHOULD be sorted */

	if (s->version == 2)
		xdr_put_u32(x, t->inv_handle);
	if (t->is_long && !upside_down)
		put_reads(x, &t->body);
	if (s->version == 2 && t->is_long)
		xdr_put_u32(x, 0);
	for (unsigned i = 0; i < t->nitems; i++)
		put_reads(x, &t->reads[upside_down ? t->nitems - 1 - i : i]);
	if (t->is_long && upside_down)
		put_reads(x, &t->body);
	xdr_put_u32(x, 0);
	for (unsigned i = 0; i < t->nwrites; i++) {
		xdr_put_u32(x, 1);
		put_array(x, &t->writes[i]);
	}
	xdr_put_u32(x, 0);
	xdr_put_u32(x, t->reply_cap ? 1 : 0);
	if (t->reply_cap)
		put_array(x, &t->room);
}

static uint32_t any_handle(const struct stranger *s, const struct talk *t)
{
	if (chance(s->rng, 3))
		return 0;
	if (t->nwrites && t->caps[0] && t->writes[0].segs[0].length)
		return t->writes[0].segs[0].handle;
	if (t->is_long && t->body.segs[0].length)
		return t->body.segs[0].handle;
	return t->reply_cap && t->room.segs[0].length ? t->room.segs[0].handle : 0;
}

static bool may_call(const struct stranger *s)
{
	if (!s->connected || !s->ready || s->closed || s->nqueue > 200)
		return false;
	return s->version == 2 || s->in_flight < (s->granted < 32 ? s->granted : 32);
}

static uint32_t next_xid(struct stranger *s, const struct talk *of, unsigned n)
{
	uint32_t xid = s->last_xid && chance(s->rng, 4) ? s->last_xid : (uint32_t)rng_next(s->rng);

	for (unsigned i = 0; i < n; i++)
		if (of[i].stage != TALK_IDLE && of[i].xid == xid)
			return next_xid(s, of, n);
	return xid;
}

static struct talk *idle(struct talk *of, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (of[i].stage == TALK_IDLE)
			return &of[i];
	return NULL;
}

bool stranger_call(struct stranger *s)
{
	struct talk *t = idle(s->talks, TALKS);
	static uint8_t stream[TALK_BYTES];
	struct xdr_out x;
	uint32_t len;
	bool again;

	if (!t || !may_call(s) || (s->version == 2 && s->in_flight == TALKS))
		return false;
	talk_make(t, s->rng, next_xid(s, s->talks, TALKS), false);
	choose(s, t);
	len = reduce_call(s, t, stream);
	do {
		expose_all(s, t, stream, len);
		t->inv_handle = s->version == 2 ? any_handle(s, t) : 0;
		x = begin(s, t->xid, s->version == 2 ? (t->is_long ? 8 : 10) : t->is_long);
		put_lists(s, t, &x);
		must(xdr_out_len(&x) < s->peer_takes);
		again = !t->is_long && xdr_out_len(&x) + len > s->peer_takes &&
			(s->version == 1 || chance(s->rng, 2));
		if (again) { /* nobody was told of that form */
			t->is_long = true;
			s->busy_sends[(size_t)(x.start - s->memory - SENDS_AT) / BUFFER] = false;
			withdraw_all(s, t);
		}
	} while (again);
	t->stage = TALK_SENT;
	if (t->is_long)
		end(s, &x, 0);
	else
		say(s, &x, t->xid, true, stream, len, 0);
	s->in_flight++;
	return true;
}

bool stranger_call_back(struct stranger *s)
{
	struct talk *t = idle(s->rtalks, 2);
	struct xdr_out x;

	if (!t || !s->connected || !s->ready || s->closed ||
	    (s->version == 1 && s->in_flight >= s->granted))
		return false;
	/* As often as not that of a call which goes the other way. */
	s->last_xid = s->talks[rng_below(s->rng, TALKS)].xid;
	if (s->version == 1 && chance(s->rng, 2))
		s->last_xid = 0;
	talk_make(t, s->rng, next_xid(s, s->rtalks, 2), true);
	t->stage = TALK_SENT;
	x = begin(s, t->xid, s->version == 2 ? 10 : 0);
	if (s->version == 2)
		xdr_put_u32(&x, 0);
	xdr_put_empty_lists(&x);
	say(s, &x, t->xid, true, t->call, t->call_len, 0);
	s->in_flight++;
	return true;
}

static struct talk *talk_of(struct stranger *s, uint32_t xid, bool reverse, enum talk_stage stage)
{
	struct talk *of = reverse ? s->rtalks : s->talks;

	for (unsigned i = 0; i < (reverse ? 2u : TALKS); i++)
		if (of[i].stage == stage && of[i].xid == xid)
			return &of[i];
	return NULL;
}

/* --- at the responder --- */

static void serve(struct stranger *s, const struct wire *w, const uint8_t *stream, uint32_t len)
{
	struct talk *t = talk_of(s, w->xid, !s->is_server, TALK_SENT);
	struct service *v = s->services;
	uint32_t at = 0;

	must(t);
	t->stage = TALK_HEARD;
	while (v->busy)
		v++;
	must(v < s->services + 2 * TALKS);
	*v = (struct service){.busy = true, .talk = t, .in = *w};
	v->memory = s->memory + SERVICES_AT + (size_t)(v - s->services) * SLOT;
	v->body = malloc(len + 1);
	v->body_len = len;
	if (len)
		memcpy(v->body, stream, len);
	for (unsigned i = 0; i < w->nreads; i++)
		for (unsigned k = 0; k < w->reads[i].n; k++) {
			unsigned n = w->reads[i].first + k;

			v->got[n] = at;
			must(w->segs[n].length); /* the gateway never has empty ones */
			must(at + w->segs[n].length <= HALF);
			must(fabric_read(s->conn, v->memory + at, &w->segs[n], v) == 0);
			v->ops++;
			at += w->segs[n].length;
		}
	v->due = memnet_now(s->net) + 1 + (chance(s->rng, 3) ? rng_below(s->rng, 3000000) : 0);
}

/* The whole call, with each item in its place, against what its caller meant. */
static void compare(const struct service *v)
{
	const struct talk *t = v->talk;
	static uint8_t whole[2 * TALK_BYTES];
	const uint8_t *stream = v->body;
	uint32_t stream_len = v->body_len, from = 0, len = 0;

	for (unsigned i = 0; i < v->in.nreads; i++) {
		const struct wire_chunk *c = &v->in.reads[i];

		if (c->position == 0) {
			stream = v->memory + v->got[c->first];
			stream_len = (uint32_t)c->len;
			continue;
		}
		must(c->position >= len && c->position - len <= stream_len - from);
		memcpy(whole + len, stream + from, c->position - len);
		from += c->position - len;
		len = c->position;
		memcpy(whole + len, v->memory + v->got[c->first], c->len);
		len += (uint32_t)c->len;
		while (len % 4)
			whole[len++] = 0;
	}
	memcpy(whole + len, stream + from, stream_len - from);
	len += stream_len - from;
	must(len == t->call_len);
	must(memcmp(whole, t->call, len) == 0);
}

/* RDMA Writes of @len octets there, in random pieces in a random order. */
static void push(struct stranger *s, struct service *v, uint32_t where, const uint8_t *octets,
		 uint32_t len, const struct wire_chunk *c, uint32_t lens[])
{
	uint8_t *at = v->memory + HALF + where;
	uint32_t done = 0;

	must(len <= c->len);
	for (unsigned i = 0; i < c->n; i++) {
		const struct segment *seg = &v->in.segs[c->first + i];
		uint32_t n = seg->length < len - done ? seg->length : len - done;
		unsigned parts = n > 100 && chance(s->rng, 3) ? 1 + rng_below(s->rng, 4) : 1;

		lens[i] = n;
		memcpy(at + done, octets + done, n);
		for (unsigned k = parts; n && k-- > 0;) {
			uint32_t a = n / parts * k, b = k + 1 == parts ? n : n / parts * (k + 1);
			struct segment to = {seg->handle, b - a, seg->offset + a};
			struct fabric_sge sge = {at + done + a, b - a};

			must(fabric_write(s->conn, &sge, 1, &to, v) == 0);
			v->ops++;
		}
		done += n;
	}
	must(done == len);
}

static void put_returned(struct xdr_out *x, const struct service *v, const struct wire_chunk *c,
			 const uint32_t lens[])
{
	xdr_put_u32(x, c->n);
	for (unsigned i = 0; i < c->n; i++) {
		struct segment seg = v->in.segs[c->first + i];

		seg.length = lens[i];
		xdr_put_segment(x, &seg);
	}
}

static void refuse(struct stranger *s, const struct service *v)
{
	struct xdr_out x = begin(s, v->in.xid, 4);

	/* ERR_CHUNK; RDMA2_ERR_SYSTEM */
	xdr_put_u32(&x, s->version == 1 ? 2 : 100);
	end(s, &x, 0);
}

/* A handle of the call's own, where it may be invalidated: RFC 8797 4.1, draft-07 6.5. */
static uint32_t invalidates(const struct stranger *s, const struct service *v)
{
	if (chance(s->rng, 2))
		return 0;
	if (s->version == 2)
		return v->in.inv_handle;
	return s->peer_r && v->in.nsegs ? v->in.segs[rng_below(s->rng, v->in.nsegs)].handle : 0;
}

static void print_no_way(const struct service *v, size_t header, uint32_t len)
{
	const struct talk *t = v->talk;

	printf("%s: xid %x header %zu reply %u room %d of %llu; caller's room %u\n", t->what,
	       t->xid, header, len, v->in.has_room, (unsigned long long)v->in.room.len,
	       t->reply_cap);
	for (unsigned i = 0; i < t->nwrites; i++)
		printf("result %u of %u, %u octets, chunk %u, here %llu\n", i, t->nresults,
		       t->results[i].len, t->caps[i],
		       i < v->in.nwrites ? (unsigned long long)v->in.writes[i].len : 0);
	must(!"no way for a reply");
}

static void answer(struct stranger *s, struct service *v)
{
	struct talk *t = v->talk;
	const struct wire *in = &v->in;
	static uint8_t stream[TALK_BYTES];
	uint32_t lens[WIRE_CHUNKS][WIRE_SEGS] = {{0}}, from = 0, len = 0, room[WIRE_SEGS] = {0};
	size_t header = s->version == 1 ? HEADER_1 + 12 : 20;
	unsigned told = in->nwrites;
	bool in_room;
	struct xdr_out x;

	compare(v);
	t->stage = TALK_ANSWERED;
	if (t->refused) {
		refuse(s, v);
		return;
	}
	for (unsigned i = 0; i < t->nresults; i++) {
		const struct talk_item *item = &t->results[i];
		uint32_t n;

		if (i >= in->nwrites || in->writes[i].len == 0 || item->len == 0)
			continue;
		must(item->len <= in->writes[i].len);
		n = item->len;
		if (s->h.pads_writes && n + pad_of(n) <= in->writes[i].len)
			n += pad_of(n);
		push(s, v, item->at, t->reply + item->at, n, &in->writes[i], lens[i]);
		memcpy(stream + len, t->reply + from, item->at - from);
		len += item->at - from;
		from = item->at + item->len + pad_of(item->len);
	}
	memcpy(stream + len, t->reply + from, t->reply_len - from);
	len += t->reply_len - from;
	for (unsigned i = 0; i < told; i++)
		header += 8 + 16 * (size_t)in->writes[i].n;
	in_room = in->has_room && len <= in->room.len &&
		  (s->h.always_room || header + len + 16 > s->peer_takes);
	if (!in_room && header + len > s->peer_takes && s->version == 1)
		print_no_way(v, header, len);
	if (in_room)
		push(s, v, HALF / 2, stream, len, &in->room, room);
	x = begin(s, in->xid, s->version == 1 ? in_room : in_room ? 11 : 13);
	if (s->version == 1)
		xdr_put_u32(&x, 0);
	for (unsigned i = 0; i < told; i++) {
		xdr_put_u32(&x, 1);
		put_returned(&x, v, &in->writes[i], lens[i]);
	}
	xdr_put_u32(&x, 0);
	if (in_room) {
		xdr_put_u32(&x, 1);
		put_returned(&x, v, &in->room, room);
		end(s, &x, invalidates(s, v));
		return;
	}
	if (s->version == 1 && in->has_room && s->h.tells_room &&
	    header + len + 4 + 16 * (size_t)in->room.n <= s->peer_takes) {
		xdr_put_u32(&x, 1); /* nothing of it was used */
		put_returned(&x, v, &in->room, room);
	} else if (s->version == 1) {
		xdr_put_u32(&x, 0);
	}
	say(s, &x, in->xid, false, stream, len, invalidates(s, v));
}

static void services(struct stranger *s)
{
	nsec_t now = memnet_now(s->net);

	for (struct service *v = s->services; v < s->services + 2 * TALKS; v++) {
		if (v->busy && !v->is_due && !v->ops && v->due <= now && s->conn && !s->closed) {
			v->is_due = true;
			answer(s, v);
		}
		if (v->busy && v->is_due && !v->ops) {
			free(v->body);
			v->busy = false;
		}
	}
}

nsec_t stranger_due(const struct stranger *s)
{
	nsec_t due = NSEC_NEVER;

	for (const struct service *v = s->services; v < s->services + 2 * TALKS; v++)
		if (v->busy && !v->is_due && !v->ops && v->due < due)
			due = v->due;
	return due;
}

/* --- the answer --- */

static void over(struct stranger *s, struct talk *t)
{
	s->last_xid = t->xid;
	t->stage = TALK_IDLE;
	if (t->reverse) {
		s->rdone++;
		return;
	}
	s->done++;
	t->xid = 0; /* it may be used again at once, and its place when its memory is fenced */
	t->stage = TALK_ANSWERED;
	withdraw_all(s, t);
	if (!t->fences)
		t->stage = TALK_IDLE;
}

/* What came back of @c is the chunk that was offered, filled from its beginning. */
static uint32_t returned(const struct wire *w, const struct wire_chunk *got, const struct chunk *c,
			 uint8_t *out)
{
	uint32_t len = 0;
	bool full = true;

	must(got->n == c->n);
	for (unsigned i = 0; i < c->n; i++) {
		const struct segment *seg = &w->segs[got->first + i];

		must(seg->handle == c->segs[i].handle && seg->offset == c->segs[i].offset);
		must(seg->length <= c->segs[i].length && (full || !seg->length));
		full = seg->length == c->segs[i].length;
		memcpy(out + len, c->at[i], seg->length);
		len += seg->length;
	}
	return len;
}

static bool names_its_own(const struct talk *t, const struct chunk *c, uint32_t handle)
{
	(void)t;
	for (unsigned i = 0; i < c->n; i++)
		if (c->segs[i].length && c->segs[i].handle == handle)
			return true;
	return false;
}

static void check_invalidated(const struct stranger *s, const struct talk *t, uint32_t handle)
{
	bool own = names_its_own(t, &t->body, handle) || names_its_own(t, &t->room, handle);

	if (!handle)
		return;
	for (unsigned i = 0; i < t->nitems; i++)
		own |= names_its_own(t, &t->reads[i], handle);
	for (unsigned i = 0; i < t->nwrites; i++)
		own |= names_its_own(t, &t->writes[i], handle);
	must(own && (s->version == 1 ? s->h.sets_r : handle == t->inv_handle));
}

static void take_reply(struct stranger *s, const struct wire *w, struct view stream,
		       uint32_t invalidated)
{
	struct talk *t = talk_of(s, w->xid, s->is_server, TALK_ANSWERED);
	static uint8_t whole[2 * TALK_BYTES], apart[TALK_BYTES], room[TALK_BYTES + 16384];
	uint32_t from = 0, len = 0;

	must(t && !t->refused);
	check_invalidated(s, t, invalidated);
	must(w->nwrites == t->nwrites || (t->reverse && !w->nwrites));
	if (w->is_external) {
		must(t->reply_cap);
		stream = view_of(room, returned(w, &w->room, &t->room, room));
	} else if (w->has_room) {
		must(returned(w, &w->room, &t->room, room) == 0);
	}
	for (unsigned i = 0; i < w->nwrites; i++) {
		uint32_t n = returned(w, &w->writes[i], &t->writes[i], apart);
		const struct talk_item *item = &t->results[i];

		if (s->is_padded && i < t->nresults && n == item->len + pad_of(item->len))
			n = item->len;
		must(n == (i < t->nresults && t->caps[i] ? item->len : 0));
		if (!n)
			continue;
		must(item->at - len <= stream.len - from);
		memcpy(whole + len, stream.data + from, item->at - len);
		from += item->at - len;
		len = item->at;
		memcpy(whole + len, apart, n);
		len += n;
		while (len % 4)
			whole[len++] = 0;
	}
	memcpy(whole + len, stream.data + from, stream.len - from);
	len += (uint32_t)(stream.len - from);
	must(len == t->reply_len);
	must(memcmp(whole, t->reply, len) == 0);
	over(s, t);
}

static void take_error(struct stranger *s, const struct wire *w)
{
	struct talk *t = talk_of(s, w->xid, s->is_server, TALK_ANSWERED);

	must(t && t->refused);
	s->refused++;
	over(s, t);
}

/* --- messages --- */

static void send_properties(struct stranger *s)
{
	struct xdr_out x = begin(s, 0x1234, 7);
	uint32_t props[][2] = {{1, s->h.inline_bytes},
			       {2, s->h.inline_bytes},
			       {5, 3},
			       {3, s->h.segment_bytes},
			       {4, 64}};
	unsigned n = s->h.segment_bytes ? 5 : 3;

	xdr_put_u32(&x, n);
	for (unsigned i = 0; i < n; i++) {
		xdr_put_u32(&x, props[i][0]);
		xdr_put_u32(&x, 4);
		xdr_put_u32(&x, props[i][1]);
	}
	end(s, &x, 0);
}

static void other_version(struct stranger *s, const struct wire *w)
{
	struct xdr_out x = begin(s, w->xid, 4);

	xdr_poke_u32(x.start + 4, w->vers);
	xdr_put_u32(&x, 1);
	xdr_put_u32(&x, 1);
	xdr_put_u32(&x, 1);
	end(s, &x, 0);
}

/* A part of a continued message. Return: whether it was the last; its octets are s->parts then. */
static bool gather(struct stranger *s, const struct wire *w, struct view *stream)
{
	if (!w->is_middle && !s->parts_len)
		return true;
	must(!s->parts_len || (s->parts_head.xid == w->xid && s->parts_head.kind == w->kind));
	must(s->parts_len + w->body.len <= 2 * TALK_BYTES);
	if (s->parts_len)
		must(s->parts_head.remaining == w->body.len + (w->is_middle ? w->remaining : 0));
	memcpy(s->parts + s->parts_len, w->body.data, w->body.len);
	s->parts_len += (uint32_t)w->body.len;
	s->parts_head = *w;
	if (w->is_middle)
		return false;
	*stream = view_of(s->parts, s->parts_len);
	s->parts_len = 0;
	return true;
}

static void take_call(struct stranger *s, const struct wire *w, struct view stream)
{
	unsigned n = 1;

	for (unsigned i = 0; i < TALKS && s->is_server && s->version == 1; i++)
		n += s->talks[i].stage == TALK_HEARD;
	/* RFC 8166 3.3.1: what was granted last may not have come yet. */
	must(s->version == 2 || !s->is_server || n <= (s->most_granted ? s->most_granted : 1));
	must(w->is_external || w->xid == xdr_peek_u32(stream.data));
	serve(s, w, stream.data, w->is_external ? 0 : (uint32_t)stream.len);
}

static void on_message(struct stranger *s, const struct fabric_event *ev)
{
	static struct wire w;
	struct view in = view_of(ev->cookie, ev->len), stream;

	must(in.len <= s->h.inline_bytes || !s->ready);
	must(wire_read(&w, in));
	s->received++;
	if (w.vers != s->version && s->is_server) {
		other_version(s, &w);
		return;
	}
	if (s->version == 2)
		s->limit = w.credit;
	stream = w.body;
	switch (w.kind) {
	case WIRE_PROPS:
		must(s->version == 2 && !s->ready);
		s->ready = true;
		s->peer_takes = w.takes < s->h.inline_bytes ? w.takes : s->h.inline_bytes;
		if (s->is_server)
			send_properties(s);
		break;
	case WIRE_CALL:
		s->ready = true;
		if (gather(s, &w, &stream))
			take_call(s, &w, stream);
		break;
	case WIRE_REPLY:
	case WIRE_ERROR:
		if (w.kind == WIRE_REPLY && !gather(s, &w, &stream))
			break;
		must(s->in_flight);
		s->in_flight--;
		if (s->version == 1) {
			must(w.credit);
			s->granted = w.credit;
		}
		if (w.kind == WIRE_REPLY)
			take_reply(s, &w, stream, ev->invalidated);
		else
			take_error(s, &w);
		break;
	case WIRE_GRANT:
	case WIRE_NONE:
		break;
	}
}

/* --- a connection --- */

static void private_data(const struct stranger *s, uint8_t out[8])
{
	const uint8_t size = (uint8_t)(s->h.inline_bytes / 1024 - 1);
	const uint8_t all[] = {0xf6, 0xab, 0x0e, 0x18, 1, s->h.sets_r, size, size};

	memcpy(out, all, 8);
}

static void hear_private_data(struct stranger *s, struct view in)
{
	uint32_t takes = 1024;

	if (in.len >= 8 && xdr_peek_u32(in.data) == 0xf6ab0e18) {
		takes = (in.data[7] + 1u) * 1024;
		s->peer_r = in.data[5] & 1;
	}
	s->peer_takes = takes < s->h.inline_bytes ? takes : s->h.inline_bytes;
	s->ready |= s->version == 1 && !s->is_server;
}

static struct fabric_conn_params params(const struct stranger *s, uint8_t pdata[8])
{
	private_data(s, pdata);
	return (struct fabric_conn_params){.private_data = pdata,
					   .private_data_len = s->h.no_private_data ? 0 : 8,
					   .max_recvs = RECVS,
					   .max_sends = 4096,
					   .max_exposures = 1024};
}

static void post_recv(struct stranger *s, uint8_t *at)
{
	if (s->conn && !s->closed)
		(void)!fabric_post_recv(s->conn, at, BUFFER, at);
}

static void post_all(struct stranger *s)
{
	for (unsigned i = 0; i < RECVS; i++)
		post_recv(s, s->memory + (size_t)i * BUFFER);
}

void stranger_connect(struct stranger *s, const struct fabric_addr *to)
{
	uint8_t pdata[8];
	const struct fabric_conn_params p = params(s, pdata);

	must(fabric_connect(s->fabric, to, &p, s, &s->conn) == 0);
	post_all(s);
}

static void on_request(struct stranger *s, struct fabric_event *ev)
{
	uint8_t pdata[8];
	const struct fabric_conn_params p = params(s, pdata);

	must(!s->conn);
	s->conn = ev->conn;
	hear_private_data(s, ev->private_data);
	must(fabric_prepare(s->conn, &p) == 0);
	post_all(s);
	must(fabric_accept(s->conn, &p, s) == 0);
}

static void on_op(const struct fabric_event *ev)
{
	struct talk *t = ev->cookie;

	if (ev->type == FABRIC_EV_WITHDRAWN) {
		if (--t->fences == 0 && t->stage == TALK_ANSWERED && t->xid == 0)
			t->stage = TALK_IDLE;
		return;
	}
	((struct service *)ev->cookie)->ops--;
}

static void on_connected(struct stranger *s, const struct fabric_event *ev)
{
	s->connected = true;
	if (s->is_server)
		return;
	hear_private_data(s, ev->private_data);
	if (s->version == 2) {
		s->peer_takes = 4096;
		send_properties(s);
	}
}

void stranger_turn(struct stranger *s)
{
	struct fabric_event ev;

	while (fabric_poll(s->fabric, &ev)) {
		switch (ev.type) {
		case FABRIC_EV_REQUEST:
			on_request(s, &ev);
			break;
		case FABRIC_EV_CONNECTED:
			on_connected(s, &ev);
			break;
		case FABRIC_EV_RECV:
			if (ev.status == 0) {
				on_message(s, &ev);
				post_recv(s, ev.cookie);
			}
			break;
		case FABRIC_EV_SEND:
			s->busy_sends[(size_t)((uint8_t *)ev.cookie - s->memory - SENDS_AT) /
				      BUFFER] = false;
			break;
		case FABRIC_EV_DISCONNECTED:
			s->closed = true;
			s->status = ev.status;
			s->why = ev.why ? ev.why : "-";
			break;
		case FABRIC_EV_SATED:
			break;
		default:
			on_op(&ev);
		}
	}
	services(s);
	if (s->conn && !s->closed)
		flush(s);
	fabric_flush(s->fabric);
}

void stranger_init(struct stranger *s, struct memnet *net, unsigned version, bool is_server,
		   const struct habits *h, struct rng *rng)
{
	memset(s, 0, sizeof(*s));
	s->net = net;
	s->rng = rng;
	s->version = version;
	s->is_server = is_server;
	s->h = *h;
	s->granted = 1;
	s->limit = 1;
	s->fabric = memnet_fabric(net);
	s->memory = malloc(ALL);
	s->parts = malloc(2 * TALK_BYTES);
	must(s->fabric && s->memory && s->parts);
	must(fabric_register(s->fabric, s->memory, ALL) == 0);
}

void stranger_fini(struct stranger *s)
{
	if (s->conn)
		fabric_destroy(s->conn);
	for (struct service *v = s->services; v < s->services + 2 * TALKS; v++)
		if (v->busy)
			free(v->body);
	fabric_unregister(s->fabric, s->memory);
	fabric_free(s->fabric);
	free(s->memory);
	free(s->parts);
}
