/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls to a stranger, and its answers. */
#include "tests/session/stranger_internal.h"

#include <stdlib.h>
#include <string.h>

/* --- at the responder --- */

void stranger_serve(struct stranger *s, const struct wire *w, const uint8_t *stream, uint32_t len)
{
	struct talk *t = stranger_talk(s, w->xid, !s->is_server, TALK_SENT);
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
	struct xdr_out x = stranger_begin(s, v->in.xid, 4);

	/* ERR_CHUNK; RDMA2_ERR_SYSTEM */
	xdr_put_u32(&x, s->version == 1 ? 2 : 100);
	stranger_end(s, &x, 0);
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
		       i < t->nresults ? t->results[i].len : 0, t->caps[i],
		       i < v->in.nwrites ? (unsigned long long)v->in.writes[i].len : 0);
	must(header == 0); /* there is no way for the reply */
}

static void answer(struct stranger *s, struct service *v)
{
	struct talk *t = v->talk;
	const struct wire *in = &v->in;
	static uint8_t stream[TALK_BYTES];
	uint32_t lens[WIRE_CHUNKS][WIRE_SEGS] = {{0}}, from = 0, len = 0, room[WIRE_SEGS] = {0};
	size_t header = s->is_early ? HEADER_1 + 16 : s->version == 1 ? HEADER_1 + 12 : 20;
	bool in_room, is_placed = false;
	unsigned told;
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
		is_placed = true;
		memcpy(stream + len, t->reply + from, item->at - from);
		len += item->at - from;
		from = item->at + item->len + pad_of(item->len);
	}
	memcpy(stream + len, t->reply + from, t->reply_len - from);
	len += t->reply_len - from;
	told = s->h.leaves_out && !is_placed ? 0 : in->nwrites;
	for (unsigned i = 0; i < told; i++)
		header += 8 + 16 * (size_t)in->writes[i].n;
	in_room = in->has_room && len <= in->room.len &&
		  (s->h.always_room || header + len + 16 > s->peer_takes);
	if (!in_room && header + len > s->peer_takes && s->version == 1)
		print_no_way(v, header, len);
	if (in_room)
		push(s, v, HALF / 2, stream, len, &in->room, room);
	x = stranger_begin_rpc(s, in->xid, s->version == 1 ? in_room : in_room ? 11 : 13, true);
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
		stranger_end(s, &x, invalidates(s, v));
		return;
	}
	if (s->version == 1 && in->has_room && s->h.tells_room &&
	    header + len + 4 + 16 * (size_t)in->room.n <= s->peer_takes) {
		xdr_put_u32(&x, 1); /* nothing of it was used */
		put_returned(&x, v, &in->room, room);
	} else if (s->version == 1) {
		xdr_put_u32(&x, 0);
	}
	stranger_say(s, &x, in->xid, false, stream, len, invalidates(s, v));
}

void stranger_services(struct stranger *s)
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
