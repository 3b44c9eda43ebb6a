/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls at the responder of a bout, and its answers. */
#include "tests/session/bout.h"

#include <string.h>

/* --- what was asked --- */

/* Which item of the call the chunk at that Position is; ASK_ITEMS: none. */
static unsigned item_at(const struct ask *a, uint32_t position)
{
	for (unsigned i = 0; i < a->nitems; i++)
		if (a->items[i].at == position && a->items[i].len)
			return i;
	return ASK_ITEMS;
}

static bool has_chunk(const struct wire *w, uint32_t position)
{
	for (unsigned i = 0; i < w->nreads; i++)
		if (w->reads[i].position == position)
			return true;
	return false;
}

/* The octet of the reduced stream that follows place @at of the whole call. */
static void check_stream(const struct ask *a, const struct wire *w, const uint8_t *stream,
			 uint32_t len)
{
	uint32_t at = 0, from = 0;

	for (unsigned i = 0; i <= a->nitems; i++) {
		uint32_t end = i < a->nitems ? a->items[i].at : a->call_len;

		if (i < a->nitems && !has_chunk(w, end))
			continue; /* it is in its place */
		must(end - at <= len - from);
		must(memcmp(stream + from, a->call + at, end - at) == 0);
		from += end - at;
		at = end;
		if (i < a->nitems)
			at += a->items[i].len + pad_of(a->items[i].len);
	}
	must(from == len);
}

static uint32_t reduced_len(const struct ask *a, const struct wire *w)
{
	uint32_t len = a->call_len;

	for (unsigned i = 0; i < a->nitems; i++)
		if (has_chunk(w, a->items[i].at))
			len -= a->items[i].len + pad_of(a->items[i].len);
	return len;
}

/* Octets of the Read chunk: those of the item, or of the stream without the items. */
static const uint8_t *wanted(const struct duty *d, const struct wire_chunk *c)
{
	static uint8_t stream[ASK_STREAM];
	const struct ask *a = d->ask;
	unsigned item = c->position ? item_at(a, c->position) : ASK_ITEMS;
	uint32_t len = 0, at = 0;

	if (item < ASK_ITEMS) {
		must(c->len == a->items[item].len);
		return a->call + a->items[item].at;
	}
	must(c->position == 0 && c->len == reduced_len(a, &d->in));
	for (unsigned i = 0; i <= a->nitems; i++) {
		uint32_t end = i < a->nitems ? a->items[i].at : a->call_len;

		if (i < a->nitems && !has_chunk(&d->in, end))
			continue;
		memcpy(stream + len, a->call + at, end - at);
		len += end - at;
		at = end + (i < a->nitems ? a->items[i].len + pad_of(a->items[i].len) : 0);
	}
	return stream;
}

static uint8_t *take(struct duty *d, uint32_t len)
{
	uint8_t *at = d->memory + d->used;

	if (len > DUTY_BYTES - d->used)
		return NULL;
	d->used += len;
	return at;
}

/* RDMA Read of a part of segment @i of @c; @skip: octets of the chunk before the segment. */
static void fetch_part(struct party *p, struct duty *d, const struct wire_chunk *c, unsigned i,
		       uint32_t skip)
{
	struct segment seg = d->in.segs[c->first + i];
	uint32_t from = chance(p->rng, 2) ? 0 : rng_below(p->rng, seg.length + 1);
	uint32_t len =
		chance(p->rng, 3) ? rng_below(p->rng, seg.length - from + 1) : seg.length - from;
	const uint8_t *want = wanted(d, c) + skip + from;
	uint8_t *copy, *to;

	copy = take(d, len);
	to = copy ? take(d, len) : NULL;
	if (!to || d->nfetches == DUTY_FETCHES)
		return;
	memcpy(copy, want, len);
	seg.offset += from;
	seg.length = len;
	if (!len && chance(p->rng, 2))
		seg.handle = 0x999; /* a Read of no octets needs no handle */
	if (fabric_read(p->conn, to, &seg, d) < 0)
		return;
	d->ops++;
	d->reads++;
	d->fetches[d->nfetches++] = (struct fetch){to, copy, len};
}

/* Some of the octets, or all, or some of them twice. */
static void fetch(struct party *p, struct duty *d)
{
	for (unsigned i = 0; i < d->in.nreads; i++) {
		const struct wire_chunk *c = &d->in.reads[i];
		uint32_t skip = 0;

		for (unsigned k = 0; k < c->n; k++) {
			for (unsigned n = rng_below(p->rng, 3); n; n--)
				fetch_part(p, d, c, k, skip);
			skip += d->in.segs[c->first + k].length;
		}
	}
}

/* --- what is written --- */

static void add_job(struct duty *d, unsigned chunk, uint32_t from, uint32_t end, unsigned gen)
{
	if (d->njobs < DUTY_JOBS && end > from)
		d->jobs[d->njobs++] = (struct stroke){chunk, gen, from, end - from};
}

static void add_pieces(struct party *p, struct duty *d, unsigned chunk, uint32_t len, unsigned gen)
{
	unsigned n = 1 + rng_below(p->rng, 8), way = rng_below(p->rng, 4);

	for (unsigned i = 0; i < n; i++) {
		unsigned k = way == 0	? n - 1 - i
			     : way == 1 ? (i * 2 < n ? i * 2 : (i * 2 - n) | 1)
					: i;
		uint32_t from = (uint32_t)((uint64_t)len * (k % n) / n);

		add_job(d, chunk, from, (uint32_t)((uint64_t)len * (k % n + 1) / n), gen);
	}
}

static void add_anything(struct party *p, struct duty *d, unsigned chunk, uint32_t cap)
{
	for (unsigned n = rng_below(p->rng, 4); n; n--) {
		uint32_t from = rng_below(p->rng, cap), len = 1 + rng_below(p->rng, cap - from);

		add_job(d, chunk, from, from + len, rng_below(p->rng, GENS));
	}
}

static uint32_t chunk_cap(const struct duty *d, unsigned chunk)
{
	uint64_t len = d->to[chunk] ? d->to[chunk]->len : 0;

	return chunk == ASK_ROOM && len > ROOM_MOST ? ROOM_MOST : (uint32_t)len;
}

static void plan_chunk(struct party *p, struct duty *d, unsigned chunk, uint32_t len)
{
	uint32_t cap = chunk_cap(d, chunk);

	if (!cap)
		return;
	if (p->bout->warm) {
		add_job(d, chunk, 0, cap, 0);
		return;
	}
	if (chance(p->rng, 4))
		add_anything(p, d, chunk, cap);
	if (chance(p->rng, 6)) /* another content first */
		add_pieces(p, d, chunk, len, 1 + rng_below(p->rng, GENS - 1));
	if (len)
		add_pieces(p, d, chunk, len, 0);
	if (chunk != ASK_ROOM && chance(p->rng, 6))
		add_anything(p, d, chunk, cap);
}

/* Shuffles the jobs of different chunks; those of one chunk keep their order. */
static void shuffle(struct party *p, struct duty *d)
{
	for (unsigned n = 0; n < 3 * d->njobs; n++) {
		unsigned i = d->njobs > 1 ? rng_below(p->rng, d->njobs - 1) : 0;
		struct stroke j = d->jobs[i];

		if (d->njobs < 2 || j.chunk == d->jobs[i + 1].chunk)
			continue;
		d->jobs[i] = d->jobs[i + 1];
		d->jobs[i + 1] = j;
	}
}

static void note_written(struct ask *a, const struct stroke *j)
{
	uint8_t *seen = a->writes[j->chunk].seen + j->from;

	for (uint32_t i = 0; i < j->len; i++)
		seen[i] = (uint8_t)((seen[i] & 15) | 1u << j->gen | (j->gen + 1) << 4);
}

static void write_to(struct party *p, struct duty *d, const uint8_t *from, struct segment to)
{
	const struct fabric_sge sge = {from, to.length};
	int err = p->conn ? fabric_write(p->conn, &sge, 1, &to, d) : ERR_CLOSED;

	d->ops += err == 0;
}

static bool do_job(struct party *p, struct duty *d, const struct stroke *j)
{
	const struct wire_chunk *c = d->to[j->chunk];
	uint8_t *from = take(d, j->len);
	uint32_t at = 0;

	if (!from)
		return false;
	ask_octets(d->ask, j->chunk, j->from, j->len, j->gen, from);
	note_written(d->ask, j);
	for (unsigned i = 0; i < c->n; i++) {
		struct segment seg = d->in.segs[c->first + i];
		uint32_t begin = j->from > at ? j->from : at;
		uint32_t end =
			j->from + j->len < at + seg.length ? j->from + j->len : at + seg.length;

		if (begin < end) {
			seg.offset += begin - at;
			at += seg.length;
			seg.length = end - begin;
			write_to(p, d, from + (begin - j->from), seg);
		} else {
			at += seg.length;
		}
	}
	if (chance(p->rng, 10)) /* a Write of no octets is not checked */
		write_to(p, d, from, (struct segment){.handle = chance(p->rng, 2) ? 0x77 : 0});
	return true;
}

/* Octets of the chunk written from its beginning on. */
static uint32_t written(const struct ask *a, unsigned chunk)
{
	const struct part *c = &a->writes[chunk];
	uint32_t n = 0;

	while (n < (chunk == ASK_ROOM ? ROOM_MOST : c->cap) && c->seen[n] >> 4)
		n++;
	return n;
}

/* --- broken rules --- */

static const struct segment *any_segment(struct party *p, const struct wire *w,
					 const struct wire_chunk *of, unsigned n)
{
	const struct wire_chunk *c;

	if (!n)
		return NULL;
	c = &of[rng_below(p->rng, n)];
	return c->n ? &w->segs[c->first + rng_below(p->rng, c->n)] : NULL;
}

static void write_wrong(struct party *p, struct duty *d, const struct segment *seg, uint64_t offset,
			uint32_t len)
{
	uint8_t *from = take(d, len);

	if (seg && from) {
		memset(from, 0x99, len);
		write_to(p, d, from, (struct segment){seg->handle, len, offset});
	}
}

static void read_wrong(struct party *p, struct duty *d, const struct segment *seg, uint32_t len)
{
	uint8_t *to = take(d, len);

	if (!seg || !to || !p->conn)
		return;
	if (fabric_read(p->conn, to, &(struct segment){seg->handle, len, seg->offset}, d) < 0)
		return;
	d->ops++;
	d->reads++;
}

/* Before the chunk, behind it, or across its end. */
static void write_beyond(struct party *p, struct duty *d, const struct wire_chunk *c)
{
	const struct segment *first = &d->in.segs[c->first], *last = first + c->n - 1;

	switch (rng_below(p->rng, 3)) {
	case 0:
		write_wrong(p, d, first, first->offset - 1, 1);
		break;
	case 1:
		write_wrong(p, d, last, last->offset + last->length, 1);
		break;
	default:
		write_wrong(p, d, last, last->offset + last->length - 1, 2);
	}
}

static void other_words(struct party *p, uint32_t inv_handle)
{
	struct xdr_out x;

	if (p->version == 1) {
		const uint32_t words[] = {0xbbbb, 0, 2, 0x20000555, 1, 1, 0, 0, 0, 0};

		x = party_begin(p, 0xbbbb, 0);
		xdr_put_empty_lists(&x);
		for (unsigned i = 0; i < 10; i++)
			xdr_put_u32(&x, words[i]);
	} else {
		x = party_begin(p, 0, 5);
	}
	party_send(p, &x, inv_handle);
}

/* Before the answer. */
static void misbehave(struct party *p, struct duty *d)
{
	struct bout *b = p->bout;
	const struct wire *w = &d->in;
	const struct segment *to = any_segment(p, w, w->writes, w->nwrites);
	const struct segment *of = any_segment(p, w, w->reads, w->nreads);

	if (chunk_cap(d, 0) && bout_may_foul(b, WRITE_BEYOND, 300))
		write_beyond(p, d, d->to[0]);
	if (of && of->length && bout_may_foul(b, READ_BEYOND, 300))
		read_wrong(p, d, of, of->length + 70000);
	if (of && of->length && bout_may_foul(b, WRITE_TO_READ, 300))
		write_wrong(p, d, of, of->offset, 1);
	if (to && to->length && bout_may_foul(b, READ_OF_WRITE, 300))
		read_wrong(p, d, to, 1);
	if (w->nsegs && p->peer_r && bout_may_foul(b, INV_GRANT, 300))
		other_words(p, w->segs[0].handle);
}

static void misbehave_late(struct party *p, struct duty *d)
{
	const struct wire *w = &d->in;
	const struct segment *of = any_segment(p, w, w->reads, w->nreads);
	unsigned chunk = rng_below(p->rng, ASK_CHUNKS + 1);
	uint32_t cap = chunk_cap(d, chunk);

	if (cap && bout_may_foul(p->bout, WRITE_AFTER, 40)) {
		struct stroke j = {chunk, rng_below(p->rng, GENS), rng_below(p->rng, cap), 1};

		j.len += rng_below(p->rng, cap - j.from);
		if (d->ask->stage == ASK_ANSWERED && d->ask->xid == d->xid) {
			d->ask->is_late = true;
			(void)do_job(p, d, &j);
		}
	}
	if (of && of->length && bout_may_foul(p->bout, READ_AFTER, 40))
		read_wrong(p, d, of, of->length);
}

/* --- answers --- */

static void put_returned(struct xdr_out *x, const struct duty *d, const struct wire_chunk *c,
			 uint32_t len)
{
	xdr_put_u32(x, c->n);
	for (unsigned i = 0; i < c->n; i++) {
		struct segment seg = d->in.segs[c->first + i];

		seg.length = seg.length < len && i + 1 < c->n ? seg.length : len;
		len -= seg.length;
		xdr_put_segment(x, &seg);
	}
}

static void send_error(struct party *p, uint32_t xid, uint32_t code)
{
	struct xdr_out x = party_begin(p, xid, 4);

	xdr_put_u32(&x, code);
	if (code == 6)
		xdr_put_u32(&x, 1);
	party_send(p, &x, 0);
}

static void refuse(struct party *p, struct duty *d)
{
	d->ask->refused = true;
	send_error(p, d->ask->xid, p->version == 1 ? 2 : 100);
}

/* Octets of the chunk that the reply reports. */
static uint32_t choose_told(struct party *p, struct duty *d, unsigned chunk)
{
	struct ask *a = d->ask;
	uint32_t most = written(a, chunk), cap = chunk_cap(d, chunk);

	if (chance(p->rng, 5))
		most = rng_below(p->rng, most + 1);
	if (most < cap && bout_may_foul(p->bout, TOLD_MORE, 60)) {
		a->is_foul = true;
		most += 1 + rng_below(p->rng, cap - most + (chance(p->rng, 4) ? 2 : 0));
	}
	return most;
}

static uint32_t any_inv(struct party *p, struct duty *d)
{
	const struct wire *w = &d->in;

	if (bout_may_foul(p->bout, INV_OTHER, 200))
		for (const struct duty *o = p->duties; o < p->duties + DUTIES; o++)
			if (o != d && o->busy && o->in.nsegs)
				return o->in.segs[rng_below(p->rng, o->in.nsegs)].handle;
	if (chance(p->rng, 2))
		return 0;
	if (p->version == 2)
		return w->inv_handle;
	return p->peer_r && w->nsegs ? w->segs[rng_below(p->rng, w->nsegs)].handle : 0;
}

/* Whether the requester can take the reply for certain. */
static bool is_takeable(const struct party *p, const struct ask *a)
{
	const struct party *req = a->reverse ? &p->bout->server : &p->bout->client;
	size_t header = 28, room = 4 + 16 * (size_t)a->writes[ASK_ROOM].n;
	size_t takes = req->inline_bytes < 4096 ? req->inline_bytes : 4096;

	for (unsigned i = 0; i < a->nwrites; i++)
		header += 8 + 16 * (size_t)a->writes[i].n;
	return header + a->reply_len <= takes ||
	       (a->reply_len <= a->writes[ASK_ROOM].cap && header + room <= takes);
}

static void send_reply(struct party *p, struct duty *d)
{
	struct ask *a = d->ask;
	const struct wire *w = &d->in;
	unsigned more = bout_may_foul(p->bout, MORE_CHUNKS, 300);
	bool in_room = d->in_room || bout_may_foul(p->bout, NO_ROOM, 300);
	unsigned listed = w->nwrites;
	uint32_t inv = any_inv(p, d), xid = a->xid;
	struct xdr_out x;

	if (bout_may_foul(p->bout, REPLY_OTHER, 300))
		xid += 0x5000000;
	while (listed && !a->writes[listed - 1].told && chance(p->rng, 2))
		listed--; /* those at the end that were not used are left out */
	x = party_begin(p, xid, p->version == 1 ? in_room : in_room ? 11 : 13);
	if (p->version == 1)
		xdr_put_u32(&x, 0);
	for (unsigned i = 0; i < listed + more; i++) {
		xdr_put_u32(&x, 1);
		put_returned(&x, d, &w->writes[i < w->nwrites ? i : 0], a->writes[i].told);
	}
	xdr_put_u32(&x, 0);
	if (in_room) {
		xdr_put_u32(&x, 1);
		if (w->has_room) {
			put_returned(&x, d, &w->room, a->writes[ASK_ROOM].told);
		} else {
			xdr_put_u32(&x, 1);
			xdr_put_segment(&x, &(struct segment){0x4444, 100, 0});
		}
		party_send(p, &x, inv);
	} else {
		if (p->version == 1)
			xdr_put_u32(&x, 0);
		party_say(p, &x, xid, false, a->reply, a->reply_len, inv);
	}
	if (bout_may_foul(p->bout, REPLY_TWICE, 300) && !in_room) {
		struct xdr_out y = party_begin(p, xid, p->version == 1 ? 0 : 13);

		if (p->version == 1)
			xdr_put_u32(&y, 0);
		xdr_put_u32(&y, 0);
		if (p->version == 1)
			xdr_put_u32(&y, 0);
		party_say(p, &y, xid, false, a->reply, 24, 0);
	}
}

/* Whether the form of the call is one that a version 2 responder may refuse before it looks at the
 * call. */
static uint32_t refusal(const struct party *p, const struct duty *d)
{
	return p->version == 2 && d->in.is_external ? 6 : 0; /* READ_CHUNKS */
}

static void refuse_form(struct party *p, struct duty *d)
{
	d->ask->stage = ASK_SENT;
	d->ask->may_fail = p->bout->is_choosy = true;
	d->answered = true;
	send_error(p, d->xid, refusal(p, d));
}

static void answer(struct party *p, struct duty *d)
{
	struct ask *a = d->ask;

	d->answered = true;
	if (a->stage != ASK_HEARD || a->xid != d->xid) { /* its requester has given up */
		must(p->bout->last != FAIR || p->bout->has_timeout);
		return;
	}
	if (refusal(p, d) && bout_may_foul(p->bout, REFUSE_LATE, 10)) {
		refuse_form(p, d);
		return;
	}
	a->stage = ASK_ANSWERED;
	if (d->refuses) {
		refuse(p, d);
		return;
	}
	for (unsigned i = 0; i < a->nwrites; i++)
		a->writes[i].told = i < d->in.nwrites ? choose_told(p, d, i) : 0;
	if (d->in_room) {
		a->writes[ASK_ROOM].told = a->reply_len;
		if (written(a, ASK_ROOM) < a->reply_len) { /* no memory for all its Writes */
			refuse(p, d);
			return;
		}
		if (chunk_cap(d, ASK_ROOM) > a->reply_len &&
		    bout_may_foul(p->bout, TOLD_MORE, 60)) {
			a->is_foul = true;
			a->writes[ASK_ROOM].told +=
				1 + rng_below(p->rng, chunk_cap(d, ASK_ROOM) - a->reply_len);
		}
	}
	a->may_fail = !is_takeable(p, a);
	send_reply(p, d);
}

/* --- duties --- */

static void random_reply(struct party *p, struct duty *d)
{
	struct ask *a = d->ask;
	const uint32_t words[] = {a->xid, 1, 0, 0, 0, 0};
	uint32_t room = chunk_cap(d, ASK_ROOM);
	uint32_t most = p->version == 2 && !a->reverse && chance(p->rng, 8) ? 12000 : 600;
	size_t header = 160;

	for (unsigned i = 0; i < d->in.nwrites; i++)
		header += 8 + 16 * (size_t)d->in.writes[i].n;
	d->in_room = room >= 24 && chance(p->rng, 2);
	if (d->in_room)
		most = room < ASK_STREAM ? room : ASK_STREAM;
	else if (p->version == 1 && header + most > p->peer_takes)
		most = 24;
	a->reply_len = 24 + (rng_below(p->rng, most - 24 + 1) & ~3u);
	for (unsigned i = 0; i < 6; i++)
		xdr_poke_u32(a->reply + 4 * (size_t)i, words[i]);
	for (uint32_t i = 24; i < a->reply_len; i += 4)
		xdr_poke_u32(a->reply + i, (uint32_t)rng_next(p->rng));
	a->by_room = d->in_room;
}

static nsec_t later(struct party *p)
{
	static const uint32_t most[] = {1, 1, 1000, 300000, 300000, 3000000};
	uint32_t n = most[rng_below(p->rng, 6)];

	if (chance(p->rng, 400) && !p->bout->warm)
		return bout_place.now() + rng_below(p->rng, 4000) * NSEC_PER_MS;
	return bout_place.now() + 1 + rng_below(p->rng, n);
}

static void plan(struct party *p, struct duty *d)
{
	struct ask *a = d->ask;

	for (unsigned i = 0; i <= ASK_ROOM; i++) {
		d->to[i] = i < d->in.nwrites && i < ASK_CHUNKS ? &d->in.writes[i] : NULL;
		must(chunk_cap(d, i) == a->writes[i].cap || i == ASK_ROOM || !d->to[i]);
		for (uint32_t k = 0; k < (i == ASK_ROOM ? ROOM_MOST : a->writes[i].cap); k++)
			a->writes[i].seen[k] &= 15;
	}
	if (d->in.has_room)
		d->to[ASK_ROOM] = &d->in.room;
	random_reply(p, d);
	if (d->in_room)
		plan_chunk(p, d, ASK_ROOM, a->reply_len);
	for (unsigned i = 0; i < ASK_CHUNKS; i++) {
		uint32_t cap = chunk_cap(d, i);
		uint32_t len = chance(p->rng, 3) ? rng_below(p->rng, cap + 1) : cap;

		plan_chunk(p, d, i, chance(p->rng, 8) ? 0 : len);
	}
	d->refuses = chance(p->rng, 15) && !p->bout->warm;
}

void party_serve(struct party *p, const struct wire *w, struct view stream)
{
	struct ask *a = bout_ask(p->bout, w->xid, !p->is_server);
	struct duty *d = p->duties;

	if (!a || a->stage != ASK_SENT) { /* a call that was sent twice, or its answer crossed */
		must(p->bout->last != FAIR || p->bout->has_timeout);
		return;
	}
	must(!a->malformed);
	while (d->busy)
		must(++d < p->duties + DUTIES);
	*d = (struct duty){.busy = true, .ask = a, .xid = a->xid, .in = *w, .memory = d->memory};
	a->stage = ASK_HEARD;
	d->due = later(p);
	if (!w->is_external)
		check_stream(a, w, stream.data, (uint32_t)stream.len);
	for (unsigned i = 0; i < w->nreads; i++)
		(void)wanted(d, &w->reads[i]);
	if (chance(p->rng, 10) && refusal(p, d) && !p->bout->warm) {
		refuse_form(p, d);
		return;
	}
	plan(p, d);
	shuffle(p, d);
	fetch(p, d);
}

static void finish(struct duty *d)
{
	for (unsigned i = 0; i < d->nfetches && !d->failed; i++)
		must(memcmp(d->fetches[i].at, d->fetches[i].want, d->fetches[i].len) == 0);
	d->busy = false;
}

static void step(struct party *p, struct duty *d)
{
	d->due = later(p);
	if (d->answered) {
		if (!d->ops)
			finish(d);
		else
			misbehave_late(p, d);
		return;
	}
	misbehave(p, d);
	for (unsigned n = 1 + rng_below(p->rng, 3); n && d->at < d->njobs; n--)
		if (!do_job(p, d, &d->jobs[d->at++]))
			d->at = d->njobs;
	/* A Read behind the reply would find nothing. */
	if (d->at == d->njobs && !d->reads && (chance(p->rng, 3) || p->bout->warm) &&
	    party_has_room(p)) {
		answer(p, d);
		misbehave_late(p, d);
	}
}

void party_duties(struct party *p)
{
	nsec_t now = bout_place.now();

	for (struct duty *d = p->duties; d < p->duties + DUTIES && p->conn && !p->closed; d++)
		if (d->busy && d->due <= now)
			step(p, d);
}
