/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of a stranger, and checks of their answers. */
#include "tests/session/stranger_internal.h"

#include <string.h>

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
	uint32_t left, header = 44;

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
	size_t slot = (size_t)(t->reverse ? t - s->rtalks : t - s->talks);
	uint8_t *next = s->memory + SLOTS_AT + slot * SLOT;

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

/* Send the call of @t, with chunks. */
static void say_call(struct stranger *s, struct talk *t)
{
	static uint8_t stream[TALK_BYTES];
	struct xdr_out x;
	uint32_t len;
	bool again;

	choose(s, t);
	len = reduce_call(s, t, stream);
	do {
		expose_all(s, t, stream, len);
		t->inv_handle = s->version == 2 ? any_handle(s, t) : 0;
		x = stranger_begin_rpc(s, t->xid,
				       s->version == 2 ? (t->is_long ? 8 : 10) : t->is_long, false);
		put_lists(s, t, &x);
		must(xdr_out_len(&x) < s->peer_takes);
		again = !t->is_long && xdr_out_len(&x) + len > s->peer_takes &&
			(s->version == 1 || chance(s->rng, 2));
		if (again) { /* this form was not sent */
			t->is_long = true;
			stranger_drop(s, &x);
			withdraw_all(s, t);
		}
	} while (again);
	t->stage = TALK_SENT;
	t->is_continued = !t->is_long && xdr_out_len(&x) + len > s->peer_takes;
	if (t->is_long)
		stranger_end(s, &x, 0);
	else
		stranger_say(s, &x, t->xid, true, stream, len, 0);
	s->in_flight++;
}

bool stranger_call(struct stranger *s)
{
	struct talk *t = idle(s->talks, TALKS);

	if (!t || !may_call(s) || (s->version == 2 && s->in_flight == TALKS))
		return false;
	talk_make(t, s->rng, next_xid(s, s->talks, TALKS), false);
	say_call(s, t);
	return true;
}

bool stranger_call_back(struct stranger *s)
{
	struct talk *t = idle(s->rtalks, TALKS_BACK);
	struct xdr_out x;

	if (!t || !s->connected || !s->ready || s->closed ||
	    (s->version == 1 && s->in_flight >= s->granted))
		return false;
	/* As often as not that of a call which goes the other way. */
	s->last_xid = s->talks[rng_below(s->rng, TALKS)].xid;
	if (s->version == 1 && chance(s->rng, 2))
		s->last_xid = 0;
	if (s->has_chunks_back && chance(s->rng, 2)) {
		talk_make(t, s->rng, next_xid(s, s->rtalks, TALKS_BACK), false);
		t->reverse = true;
		say_call(s, t);
		return true;
	}
	talk_make(t, s->rng, next_xid(s, s->rtalks, TALKS_BACK), true);
	t->nwrites = t->reply_cap = 0;
	t->stage = TALK_SENT;
	x = stranger_begin_rpc(s, t->xid, s->version == 2 ? 10 : 0, false);
	if (s->version == 2)
		xdr_put_u32(&x, 0);
	xdr_put_empty_lists(&x);
	stranger_say(s, &x, t->xid, true, t->call, t->call_len, 0);
	s->in_flight++;
	return true;
}

/* --- the answer --- */

static void over(struct stranger *s, struct talk *t)
{
	s->last_xid = t->xid;
	if (t->reverse)
		s->rdone++;
	else
		s->done++;
	t->xid = 0; /* it may be used again at once, and its place when its memory is fenced */
	t->stage = TALK_ANSWERED;
	withdraw_all(s, t);
	if (!t->fences)
		t->stage = TALK_IDLE;
}

/* The returned chunk must be the chunk @c that was offered, filled from its beginning. */
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

void stranger_take_reply(struct stranger *s, const struct wire *w, struct view stream,
			 uint32_t invalidated)
{
	struct talk *t = stranger_talk(s, w->xid, s->is_server, TALK_ANSWERED);
	static uint8_t whole[2 * TALK_BYTES], apart[TALK_BYTES], room[TALK_BYTES + 16384];
	static const struct talk_item none;
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
		const struct talk_item *item = i < t->nresults ? &t->results[i] : &none;

		if (s->is_padded && n == item->len + pad_of(item->len))
			n = item->len;
		must(n == (t->caps[i] ? item->len : 0));
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

void stranger_take_error(struct stranger *s, const struct wire *w)
{
	struct talk *t = stranger_talk(s, w->xid, s->is_server, TALK_ANSWERED);

	/* A server's call that is continued gets memory at once, or is refused (decision 74). */
	must(t || (t = stranger_talk(s, w->xid, s->is_server, TALK_SENT)));
	must(t->stage == TALK_ANSWERED ? t->refused : t->reverse && t->is_continued);
	s->refused++;
	over(s, t);
}
