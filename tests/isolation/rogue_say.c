/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages and RDMA of both kinds of rogues, well-formed or not, and the memory for them.
 */
#include <string.h>

#include "tests/isolation/rogue.h"
#include "v1/header.h"
#include "v2/header.h"
#include "xdr/cursor.h"

enum { PROGRAM = 0x0e000103 };

static uint8_t *send_room(const struct rogue *r)
{
	return r->memory + (size_t)(ROGUE_RECVS + r->nsends % ROGUE_SENDS) * ROGUE_BUFFER;
}

static uint8_t *sink(const struct rogue *r)
{
	return r->memory + (size_t)(ROGUE_RECVS + ROGUE_SENDS) * ROGUE_BUFFER +
	       r->nreads % ROGUE_SINKS * ROGUE_SINK;
}

static uint8_t *plain(const struct rogue *r)
{
	return r->memory + (size_t)(ROGUE_RECVS + ROGUE_SENDS) * ROGUE_BUFFER +
	       (size_t)ROGUE_SINKS * ROGUE_SINK;
}

const uint8_t *rogue_plain(const struct rogue *r)
{
	return plain(r);
}

uint8_t *rogue_body_room(struct rogue *r, unsigned i)
{
	return plain(r) + ROGUE_PLAIN + (size_t)i * ROGUE_BODY;
}

void rogue_take_mark(struct rogue *r, unsigned mark)
{
	r->mark = mark;
	r->next_xid = mark_word32(mark, (uint32_t)rng_next(r->rng));
	for (size_t at = 0; at < ROGUE_PLAIN; at += 8) {
		uint64_t word = mark_word(mark, at * 0x9e3779b97f4a7c15u >> 20);

		memcpy(plain(r) + at, &word, 8);
	}
}

bool rogue_may_send(struct rogue *r)
{
	if (rogue_will(r, MISDEED_OVERRUN) && rogue_draw(r, 30))
		return true;
	if (r->version == 2)
		return (int32_t)(r->granted - r->sent) > 0;
	return r->server || r->in_flight < r->granted;
}

uint32_t rogue_credit(struct rogue *r)
{
	uint32_t grant = r->version == 1 ? ROGUE_GRANT_V1 : r->received + ROGUE_WINDOW;

	if (rogue_will(r, MISDEED_CONTROL) && rogue_draw(r, 10))
		return rogue_draw(r, 2) ? 0 : rng_below(r->rng, 1 + grant);
	return grant;
}

void rogue_send_off(struct rogue *r, const struct fabric_sge *sge, unsigned n, uint32_t invalidate)
{
	if (!r->connected || fabric_send(r->conn, sge, n, invalidate, NULL) < 0)
		return;
	r->nsends++;
	r->sends_out++;
	r->sent++;
	r->granted_received = r->received;
}

/* Send @len octets that are in the buffer of the next Send. */
static void send_room_off(struct rogue *r, size_t len, uint32_t invalidate)
{
	const struct fabric_sge sge = {send_room(r), (uint32_t)len};

	rogue_send_off(r, &sge, 1, invalidate);
}

static bool has_room(const struct rogue *r)
{
	return r->connected && r->sends_out < ROGUE_SENDS;
}

void rogue_send_words(struct rogue *r, const uint32_t *words, unsigned n, uint32_t invalidate)
{
	struct xdr_out x;

	if (!has_room(r))
		return;
	xdr_out_init(&x, send_room(r), ROGUE_BUFFER);
	for (unsigned i = 0; i < n; i++)
		xdr_put_u32(&x, words[i]);
	send_room_off(r, xdr_out_len(&x), invalidate);
}

void rogue_send_behind(struct rogue *r, const uint32_t *words, unsigned n, uint32_t at,
		       uint32_t bytes)
{
	struct fabric_sge sge[2] = {{NULL, at}, {plain(r), bytes}};
	struct xdr_out x;

	if (!has_room(r) || at > ROGUE_BUFFER)
		return;
	sge[0].addr = send_room(r);
	xdr_out_init(&x, send_room(r), at);
	for (unsigned i = 0; i < n; i++)
		xdr_put_u32(&x, words[i]);
	memset(send_room(r) + xdr_out_len(&x), 0, at - xdr_out_len(&x));
	rogue_send_off(r, sge, bytes ? 2 : 1, 0);
}

void rogue_send_msg(struct rogue *r, const struct rpc_msg *m, struct view body, uint32_t invalidate)
{
	struct v2_hdr h = {.xid = m->xid,
			   .vers = V2_VERSION,
			   .credit = rogue_credit(r),
			   .htype = v2_msg_htype(m)};
	uint8_t *to;
	size_t len = 0;

	if (!has_room(r))
		return;
	to = send_room(r);
	if (r->version == 2 && rogue_will(r, MISDEED_EXTENDED) &&
	    rogue_send_extended(r, m, body, to))
		return;
	if (r->version == 2) {
		int n = v2_encode(&h, m, to, ROGUE_BUFFER);

		len = n > 0 ? (size_t)n : 0;
	} else if (v1_header_encode(m, h.credit, to, ROGUE_BUFFER, &len) < 0) {
		len = 0;
	}
	if (len == 0 || len + body.len > ROGUE_BUFFER)
		return;
	if (body.len)
		memcpy(to + len, body.data, body.len);
	send_room_off(r, len + body.len, invalidate);
}

void rogue_body(struct rogue *r, uint8_t *at, uint32_t len, uint32_t xid, bool call)
{
	const uint32_t words[6] = {xid, !call, call ? 2 : 0, call ? PROGRAM : 0, call, call};
	struct xdr_out x;

	memcpy(at, plain(r), len);
	xdr_out_init(&x, at, len);
	for (unsigned i = 0; i < 6; i++)
		xdr_put_u32(&x, words[i]);
}

void rogue_begin_parts(struct rogue *r, uint32_t xid, uint32_t total)
{
	r->part_xid = xid;
	r->part_left = total;
	r->part_begun = false;
	r->drip_at = NSEC_NEVER;
}

void rogue_send_part(struct rogue *r, uint32_t len)
{
	const uint32_t htype = r->server ? V2_REPLY_MIDDLE : V2_CALL_MIDDLE;
	struct xdr_out x;
	uint8_t *at;

	if (!r->part_begun && len < 64)
		len = 64;
	if (len > r->part_left)
		len = r->part_left;
	if (!has_room(r) || !rogue_may_send(r) || len == 0)
		return;
	xdr_out_init(&x, send_room(r), ROGUE_BUFFER);
	xdr_put_u32(&x, r->part_xid);
	xdr_put_u32(&x, V2_VERSION);
	xdr_put_u32(&x, rogue_credit(r));
	xdr_put_u32(&x, htype);
	xdr_put_u32(&x, r->part_left - len);
	at = send_room(r) + xdr_out_len(&x);
	if (r->part_begun)
		memcpy(at, plain(r), len);
	else
		rogue_body(r, at, len, r->part_xid, !r->server);
	r->part_begun = true;
	r->part_left -= len;
	send_room_off(r, xdr_out_len(&x) + len, 0);
}

bool rogue_any_segment(struct rogue *r, struct segment *s)
{
	const struct rogue_call *c = &r->calls[rng_below(r->rng, ROGUE_CALLS)];
	const struct rogue_heard *h = r->heard;

	if (h && h->n && rogue_will(r, MISDEED_FOREIGN) && rogue_draw(r, 10))
		*s = h->segs[rng_below(r->rng, h->n < 64 ? h->n : 64)];
	else if (c->used && c->m.nsegs && !rogue_draw(r, 4))
		*s = c->m.segs[rng_below(r->rng, c->m.nsegs)];
	else if (r->nstale)
		*s = r->stale[rng_below(r->rng, r->nstale < ROGUE_STALE ? r->nstale : ROGUE_STALE)];
	else
		return false;
	return true;
}

void rogue_outdated(struct rogue *r, const struct rpc_msg *m)
{
	for (unsigned i = 0; i < m->nsegs && i < 4; i++)
		r->stale[r->nstale++ % ROGUE_STALE] = m->segs[i];
}

void rogue_write(struct rogue *r, const struct segment *s, uint32_t from, uint32_t len)
{
	while (len && r->connected) {
		const struct segment to = {.handle = s->handle, .offset = s->offset + from};
		uint32_t n = len < ROGUE_PLAIN ? len : ROGUE_PLAIN;
		const struct fabric_sge sge = {plain(r), n};

		if (fabric_write(r->conn, &sge, 1, &to, NULL) < 0)
			return;
		from += n;
		len -= n;
	}
}

void rogue_read(struct rogue *r, const struct segment *s, uint32_t from, uint32_t len)
{
	struct segment what = *s;

	if (!r->connected || r->reads_out == ROGUE_SINKS)
		return;
	what.offset += from;
	what.length = len < ROGUE_SINK ? len : ROGUE_SINK;
	if (fabric_read(r->conn, sink(r), &what, NULL) < 0)
		return;
	r->nreads++;
	r->reads_out++;
}

uint32_t rogue_size(struct rogue *r, bool large)
{
	switch (rng_below(r->rng, large ? 8 : 5)) {
	case 0:
		return 1 + rng_below(r->rng, 8);
	case 1:
	case 2:
		return 1 + rng_below(r->rng, 2000);
	case 3:
		return 4096;
	case 4:
		return 1 + rng_below(r->rng, 30000);
	case 5:
		return 65536;
	case 6:
		return 1 << 20;
	default:
		return 1 + rng_below(r->rng, 8 << 20);
	}
}
