/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of a bout, and checks of their answers. */
#include "tests/session/bout.h"

#include <string.h>

static void random_octets(struct rng *r, uint8_t *at, uint32_t len)
{
	for (uint32_t i = 0; i < len; i += 8) {
		uint64_t word = rng_next(r);

		memcpy(at + i, &word, len - i < 8 ? len - i : 8);
	}
}

static uint32_t some_length(struct rng *r)
{
	static const uint32_t most[] = {1, 9, 100, 1100, 5000, 5000, 40000};

	return rng_below(r, most[rng_below(r, 7)]);
}

struct ask *bout_ask(struct bout *b, uint32_t xid, bool reverse)
{
	struct ask *of = b->asks + (reverse ? ASKS : 0);

	for (unsigned i = 0; i < (reverse ? ASKS_BACK : ASKS); i++)
		if (of[i].stage != ASK_IDLE && of[i].stage != ASK_ENDS && of[i].xid == xid)
			return &of[i];
	return NULL;
}

/* --- what is asked --- */

static void put_fill(struct party *p, struct ask *a)
{
	uint32_t len = 4 * rng_below(p->rng, chance(p->rng, 6) ? 500 : 8);

	random_octets(p->rng, a->call + a->call_len, len);
	a->call_len += len;
}

static void make_call(struct party *p, struct ask *a, unsigned most_items)
{
	const uint32_t words[] = {a->xid, 0, 2, 0x20000555, 1, 1, 0, 0, 0, 0};

	for (unsigned i = 0; i < 10; i++)
		xdr_poke_u32(a->call + 4 * (size_t)i, words[i]);
	a->call_len = sizeof(words);
	a->nitems = rng_below(p->rng, most_items + 1);
	for (unsigned i = 0; i < a->nitems; i++) {
		uint32_t len = some_length(p->rng);

		put_fill(p, a);
		if (a->call_len + len > ASK_STREAM / 2)
			len = 7;
		/* Version 1's pads are found by the count before the item. */
		if (p->version == 1 || chance(p->rng, 2)) {
			xdr_poke_u32(a->call + a->call_len, len);
			a->call_len += 4;
		}
		a->items[i].at = a->call_len;
		a->items[i].len = len;
		random_octets(p->rng, a->call + a->call_len, len);
		memset(a->call + a->call_len + len, 0, pad_of(len));
		a->call_len += len + pad_of(len);
	}
	put_fill(p, a);
}

static uint32_t reduce_call(const struct ask *a, uint8_t *out)
{
	uint32_t at = 0, len = 0;

	for (unsigned i = 0; i < a->nitems; i++) {
		memcpy(out + len, a->call + at, a->items[i].at - at);
		len += a->items[i].at - at;
		at = a->items[i].at + a->items[i].len + pad_of(a->items[i].len);
	}
	memcpy(out + len, a->call + at, a->call_len - at);
	return len + a->call_len - at;
}

/* --- memory --- */

/* Memory for a call that is being made. */
struct bed {
	uint8_t *next, *end, *marks;
};

static void lay(struct party *p, struct part *c, struct bed *bed, uint32_t len, unsigned access)
{
	uint32_t left = len;

	*c = (struct part){.cap = len, .seen = bed->marks};
	must(bed->next + len + 60 * ASK_PIECES < bed->end);
	if (access == FABRIC_REMOTE_WRITE) {
		memset(bed->marks, 0, len);
		bed->marks += len;
	}
	do {
		bool last = c->n + 1 == ASK_PIECES || chance(p->rng, 2);
		uint32_t here = last ? left : rng_below(p->rng, left + 1);

		if (!here && len && chance(p->rng, 2))
			continue;
		c->at[c->n] = bed->next += rng_below(p->rng, 60);
		c->segs[c->n] = (struct segment){.handle = 0x5555, .offset = 77};
		c->exposed[c->n] = here && fabric_expose(p->conn, bed->next, here, access,
							 &c->segs[c->n]) == 0;
		c->segs[c->n].length = here; /* the connection may have ended */
		c->n++;
		bed->next += here;
		left -= here;
	} while (left);
}

static void scatter(const struct part *c, const uint8_t *from, uint32_t len)
{
	for (unsigned i = 0; i < c->n && len; i++) {
		uint32_t n = c->segs[i].length < len ? c->segs[i].length : len;

		memcpy(c->at[i], from, n);
		from += n;
		len -= n;
	}
	must(len == 0);
}

static void expose_all(struct party *p, struct ask *a, const uint8_t *stream, uint32_t len,
		       uint32_t room)
{
	uint8_t *slot = ask_memory(p, a);
	struct bed bed = {slot, slot + ASK_SLOT, a->marks};

	a->body.n = a->writes[ASK_ROOM].n = 0;
	a->writes[ASK_ROOM].cap = 0;
	if (a->is_long) {
		lay(p, &a->body, &bed, len, FABRIC_REMOTE_READ);
		scatter(&a->body, stream, len);
	}
	for (unsigned i = 0; i < a->nitems; i++) {
		uint32_t n = a->items[i].len + (p->pads_reads ? pad_of(a->items[i].len) : 0);

		lay(p, &a->reads[i], &bed, n, FABRIC_REMOTE_READ);
		scatter(&a->reads[i], a->call + a->items[i].at, n);
	}
	memset(bed.next, VIRGIN, (size_t)(bed.end - bed.next));
	for (unsigned i = 0; i < ASK_CHUNKS; i++) {
		a->writes[i].n = 0;
		if (i >= a->nwrites)
			a->writes[i].cap = 0;
		else if (a->writes[i].cap || chance(p->rng, 2))
			lay(p, &a->writes[i], &bed, a->writes[i].cap, FABRIC_REMOTE_WRITE);
	}
	if (room)
		lay(p, &a->writes[ASK_ROOM], &bed, room, FABRIC_REMOTE_WRITE);
	a->writes[ASK_ROOM].seen = a->room_marks;
	memset(a->room_marks, 0, ROOM_MOST);
}

static void withdraw(struct party *p, struct ask *a, struct part *c, unsigned i)
{
	if (!c->exposed[i])
		return;
	c->exposed[i] = false;
	if (p->conn && fabric_withdraw(p->conn, c->segs[i].handle, a, NULL) == 0)
		a->fences++;
}

static void withdraw_all(struct party *p, struct ask *a)
{
	for (unsigned i = 0; i < a->body.n; i++)
		withdraw(p, a, &a->body, i);
	for (unsigned i = 0; i < a->nitems; i++)
		for (unsigned k = 0; k < a->reads[i].n; k++)
			withdraw(p, a, &a->reads[i], k);
	for (unsigned i = 0; i <= ASK_ROOM; i++)
		for (unsigned k = 0; k < a->writes[i].n; k++)
			withdraw(p, a, &a->writes[i], k);
}

void ask_fenced(struct ask *a)
{
	if (--a->fences == 0 && a->stage == ASK_ENDS)
		a->stage = ASK_IDLE;
}

/* --- the message --- */

static void put_reads(struct xdr_out *x, const struct part *c, uint32_t position)
{
	for (unsigned i = 0; i < c->n; i++) {
		xdr_put_u32(x, 1);
		xdr_put_u32(x, position);
		xdr_put_segment(x, &c->segs[i]);
	}
}

static void put_array(struct xdr_out *x, const struct part *c)
{
	xdr_put_u32(x, c->n);
	for (unsigned i = 0; i < c->n; i++)
		xdr_put_segment(x, &c->segs[i]);
}

static uint32_t position_of(const struct ask *a, unsigned i)
{
	uint32_t right = a->items[i].at, last = a->nitems - 1;

	switch (a->malformed) {
	case POSITION_INSIDE:
		return i == last && i > 0 ? a->items[i - 1].at + 4 : i == last ? 36 : right;
	case POSITION_BEHIND:
		return i == last ? (a->call_len + 8) & ~3u : right;
	case POSITION_ODD:
		return i == last ? right + 1 : right;
	case POSITION_LOW:
		return i == 0 ? 24 : right;
	case POSITION_AGAIN:
		return i == last ? a->items[0].at : right;
	default:
		return right;
	}
}

static void put_wrap(struct xdr_out *x, bool is_read)
{
	const struct segment half = {0x1234, 0x80000000, 0}, rest = {0x1234, 0x80000010, 0};

	if (!is_read)
		xdr_put_u32(x, 2);
	for (unsigned i = 0; i < 2; i++) {
		if (is_read) {
			xdr_put_u32(x, 1);
			xdr_put_u32(x, 40);
		}
		xdr_put_segment(x, i ? &rest : &half);
	}
}

static void put_lists(struct party *p, struct ask *a, struct xdr_out *x)
{
	bool has_room = a->writes[ASK_ROOM].cap > 0 || a->malformed == ROOM_WRAPS;
	unsigned n = a->nwrites + (a->malformed == WRITES_WRAP) + (a->malformed == FALSE_COUNT);

	if (p->version == 2)
		xdr_put_u32(x, a->inv_handle);
	if (a->is_long)
		put_reads(x, &a->body, 0);
	if (p->version == 2 && a->is_long)
		xdr_put_u32(x, 0);
	if (a->malformed == READS_WRAP)
		put_wrap(x, true);
	for (unsigned i = 0; i < a->nitems; i++)
		put_reads(x, &a->reads[i], position_of(a, i));
	xdr_put_u32(x, 0);
	for (unsigned i = 0; i < n; i++) {
		xdr_put_u32(x, 1);
		if (i < a->nwrites)
			put_array(x, &a->writes[i]);
		else if (a->malformed == WRITES_WRAP)
			put_wrap(x, false);
		else
			xdr_put_u32(x, 0x10000000);
	}
	xdr_put_u32(x, 0);
	xdr_put_u32(x, has_room);
	if (a->malformed == ROOM_WRAPS)
		put_wrap(x, false);
	else if (has_room)
		put_array(x, &a->writes[ASK_ROOM]);
}

static uint32_t any_handle(struct party *p, const struct ask *a)
{
	for (unsigned i = 0; i <= ASK_ROOM; i++)
		if (a->writes[i].n && a->writes[i].segs[0].length && chance(p->rng, 2))
			return a->writes[i].segs[0].handle;
	return 0;
}

/* A handle that does not exist. */
static void break_handle(struct ask *a)
{
	for (unsigned i = 0; i <= ASK_ROOM; i++)
		for (unsigned k = 0; k < a->writes[i].n; k++)
			if (a->writes[i].segs[k].length) {
				a->writes[i].segs[k].handle ^= 0x10101;
				return;
			}
}

static enum malformed some_fault(struct party *p, const struct ask *a)
{
	enum malformed m;

	if (!chance(p->rng, 25) || p->bout->warm || a->reverse)
		return WELL_FORMED;
	m = (enum malformed)(1 + rng_below(p->rng, MALFORMED - 1));
	/* In version 1, Reads of an odd place are found when the call is parsed. */
	if ((m == POSITION_INSIDE || m == POSITION_BEHIND || m == POSITION_ODD ||
	     m == POSITION_LOW) &&
	    (!a->nitems || !a->items[a->nitems - 1].len || !a->items[0].len))
		return WELL_FORMED;
	if (m == POSITION_INSIDE && a->nitems > 1 && a->items[a->nitems - 2].len <= 8)
		return WELL_FORMED;
	if (m == POSITION_AGAIN && a->nitems < 3)
		return WELL_FORMED;
	if (m == READS_WRAP && a->nitems)
		return WELL_FORMED;
	return m;
}

static void choose(struct party *p, struct ask *a, uint32_t *room)
{
	uint32_t left = 300 << 10;

	a->nwrites = rng_below(p->rng, ASK_CHUNKS + 1);
	*room = chance(p->rng, 3) ? 24 + some_length(p->rng) : 0;
	for (unsigned i = 0; i < a->nwrites; i++) {
		uint32_t cap = chance(p->rng, 6) ? 0 : some_length(p->rng);

		if (p->bout->is_heavy && !chance(p->rng, 4))
			cap = ASK_LARGE / 2 + rng_below(p->rng, ASK_LARGE / 2);
		else if (chance(p->rng, 12))
			cap = ASK_LARGE - rng_below(p->rng, 3) * 4096;
		a->writes[i].cap = cap < left ? cap : 0;
		left -= a->writes[i].cap;
	}
	if (p->bout->warm) {
		a->nwrites = 1;
		a->writes[0].cap = ASK_LARGE;
		*room = 0;
	}
	a->is_long = chance(p->rng, p->bout->plan == REFUSE_LATE ? 2 : 6);
}

static void say_call(struct party *p, struct ask *a, bool has_chunks)
{
	static uint8_t stream[ASK_STREAM];
	uint32_t len = reduce_call(a, stream), room = 0;
	struct xdr_out x;
	bool again;

	a->nwrites = 0;
	a->is_long = false;
	if (has_chunks)
		choose(p, a, &room);
	a->malformed = has_chunks ? some_fault(p, a) : WELL_FORMED;
	do {
		expose_all(p, a, stream, len, room);
		a->inv_handle = p->version == 2 ? any_handle(p, a) : 0;
		if (has_chunks && bout_may_foul(p->bout, BAD_HANDLE, 400))
			break_handle(a);
		x = party_begin(p, a->xid, p->version == 2 ? (a->is_long ? 8 : 10) : a->is_long);
		put_lists(p, a, &x);
		must(!x.failed);
		again = xdr_out_len(&x) + (a->is_long ? 0 : len) > p->peer_takes &&
			(p->version == 1 || xdr_out_len(&x) + 60 > p->peer_takes);
		if (!again)
			break;
		party_drop(p, &x);
		withdraw_all(p, a);
		if (a->is_long) { /* too many segments */
			a->nwrites = a->nwrites ? a->nwrites - 1 : 0;
			room = 0;
		}
		must(has_chunks);
		a->is_long = true;
	} while (again);
	a->stage = ASK_SENT;
	a->is_continued = !a->is_long && xdr_out_len(&x) + len > p->peer_takes;
	if (a->is_long)
		party_send(p, &x, 0);
	else
		party_say(p, &x, a->xid, true, stream, len, 0);
	p->in_flight++;
}

static bool may_ask(const struct party *p)
{
	if (!p->connected || !p->ready || p->closed || !party_has_room(p))
		return false;
	return p->version == 2 ? p->nqueue < 20
			       : p->in_flight < (p->granted < 24 ? p->granted : 24);
}

bool party_ask(struct party *p)
{
	struct bout *b = p->bout;
	unsigned n;
	struct ask *a = ask_range(p, &n);
	bool has_chunks = !p->is_server || (b->client.version == 2 && b->server.version == 2);

	if (!may_ask(p))
		return false;
	while (n && a->stage != ASK_IDLE)
		n--, a++;
	if (!n)
		return false;
	a->xid = b->next_xid++;
	a->refused = a->may_fail = a->is_foul = a->is_late = a->by_room = false;
	a->began = bout_place.now();
	a->fences = 0;
	make_call(p, a, !has_chunks || b->warm ? 0 : ASK_ITEMS);
	if (!has_chunks && a->call_len > 700)
		a->call_len = 700;
	say_call(p, a, has_chunks);
	return true;
}

/* --- broken rules --- */

static void send_again(struct party *p, uint32_t xid)
{
	const uint32_t words[] = {xid, 0, 2, 0x20000555, 1, 1, 0, 0, 0, 0};
	struct xdr_out x = party_begin(p, xid, p->version == 2 ? 10 : 0);

	if (p->version == 2)
		xdr_put_u32(&x, 0);
	xdr_put_empty_lists(&x);
	for (unsigned i = 0; i < 10; i++)
		xdr_put_u32(&x, words[i]);
	party_send(p, &x, 0);
}

static void take_away(struct party *p, struct ask *a)
{
	unsigned chunk = rng_below(p->rng, ASK_CHUNKS + 1), item = rng_below(p->rng, ASK_ITEMS);
	struct part *c =
		chance(p->rng, 2) || item >= a->nitems ? &a->writes[chunk] : &a->reads[item];

	if (c->n)
		withdraw(p, a, c, rng_below(p->rng, c->n));
}

void party_foul(struct party *p)
{
	struct bout *b = p->bout;
	unsigned n;
	struct ask *a = ask_range(p, &n);

	if (!p->connected || p->closed || !p->ready)
		return;
	if (bout_may_foul(b, HANG_UP, 9000)) {
		if (chance(p->rng, 2))
			fabric_disconnect(p->conn);
		else
			party_hang_up(p);
		p->closed = true;
		return;
	}
	a += rng_below(p->rng, n);
	if ((a->stage != ASK_SENT && a->stage != ASK_HEARD) || !party_has_room(p))
		return;
	if (a->stage == ASK_HEARD && bout_may_foul(b, SAME_XID, 3000))
		send_again(p, a->xid);
	else if (bout_may_foul(b, TAKE_AWAY, 1500))
		take_away(p, a);
}

/* --- answers --- */

static void over(struct party *p, struct ask *a)
{
	struct bout *b = p->bout;

	if (a->reverse)
		b->rdone++;
	else
		b->done++;
	a->stage = ASK_ENDS;
	withdraw_all(p, a);
	if (!a->fences)
		a->stage = ASK_IDLE;
}

static uint8_t octet_at(const struct part *c, uint32_t at)
{
	unsigned i = 0;

	while (at >= c->segs[i].length)
		at -= c->segs[i++].length;
	return c->at[i][at];
}

/* The chunk that the reply returns is that of the call. Return: its length. */
static uint32_t returned(const struct wire *w, const struct wire_chunk *got, const struct part *c)
{
	uint64_t len = 0;
	bool full = true;

	must(got->n == c->n);
	for (unsigned i = 0; i < c->n; i++) {
		const struct segment *seg = &w->segs[got->first + i];

		must(seg->handle == c->segs[i].handle && seg->offset == c->segs[i].offset);
		must(seg->length <= c->segs[i].length && (full || !seg->length));
		full = seg->length == c->segs[i].length;
		len += seg->length;
	}
	must(len <= c->cap);
	return (uint32_t)len;
}

static void check_chunk(const struct ask *a, unsigned chunk, uint32_t len)
{
	const struct part *c = &a->writes[chunk];

	for (uint32_t i = 0; i < c->cap; i++) {
		uint8_t octet = octet_at(c, i), last = c->seen[i] >> 4, usual[256];
		bool is_any;

		if (i % sizeof(usual) == 0)
			ask_octets(a, chunk, i,
				   c->cap - i < sizeof(usual) ? c->cap - i : sizeof(usual), 0,
				   usual);
		if ((octet == usual[i % sizeof(usual)] && last == 1) ||
		    (i >= len && octet == VIRGIN))
			continue;
		is_any = octet == VIRGIN || ask_is_allowed(a, chunk, i, octet);
		/* The requester's own fabric fills gaps of many Writes with zeros. */
		if (i >= len && (is_any || (!octet && !c->seen[i])))
			continue;
		if (last && (ask_octet(a, chunk, i, last - 1) == octet || (a->is_late && is_any)))
			continue;
		if (!last && a->is_foul && (is_any || !octet || a->bout->no_written))
			continue;
		printf("xid %x chunk %u octet %u of %u: %02x, seen %02x\n", a->xid, chunk, i, len,
		       octet, c->seen[i]);
		must(false); /* an octet is not what was written */
	}
}

static bool is_own(const struct part *c, uint32_t handle)
{
	for (unsigned i = 0; i < c->n; i++)
		if (c->segs[i].length && c->segs[i].handle == handle)
			return true;
	return false;
}

static void check_invalidated(const struct party *p, const struct ask *a, uint32_t handle)
{
	bool own = is_own(&a->body, handle);

	if (!handle)
		return;
	for (unsigned i = 0; i < a->nitems; i++)
		own |= is_own(&a->reads[i], handle);
	for (unsigned i = 0; i <= ASK_ROOM; i++)
		own |= is_own(&a->writes[i], handle);
	must(own && (p->version == 1 ? p->sets_r : handle == a->inv_handle));
}

void party_take_reply(struct party *p, const struct wire *w, struct view stream,
		      uint32_t invalidated)
{
	struct ask *a = bout_ask(p->bout, w->xid, p->is_server);

	must(a && a->stage == ASK_ANSWERED && !a->refused && !a->malformed);
	p->bout->replies++;
	check_invalidated(p, a, invalidated);
	must(w->nwrites == a->nwrites || (a->reverse && !w->nwrites));
	for (unsigned i = 0; i < w->nwrites; i++) {
		uint32_t n = returned(w, &w->writes[i], &a->writes[i]);

		must(n == a->writes[i].told);
		check_chunk(a, i, n);
	}
	if (w->is_external) {
		uint32_t n = returned(w, &w->room, &a->writes[ASK_ROOM]);

		must(n == a->reply_len || a->is_foul);
		for (uint32_t i = 0; i < n; i++)
			must(octet_at(&a->writes[ASK_ROOM], i) == a->reply[i] || a->is_foul);
	} else {
		must(stream.len == a->reply_len || a->is_foul);
		must(a->is_foul || a->is_late || memcmp(stream.data, a->reply, a->reply_len) == 0);
	}
	over(p, a);
}

void party_take_error(struct party *p, const struct wire *w)
{
	struct ask *a = bout_ask(p->bout, w->xid, p->is_server);
	bool is_fair;

	p->bout->errors++;
	if (!a) { /* of a call that was sent twice */
		must(p->bout->last != FAIR);
		return;
	}
	is_fair = a->malformed || a->refused || a->may_fail || (a->reverse && a->is_continued) ||
		  p->bout->last != FAIR || p->bout->is_choosy;
	if (!is_fair)
		printf("xid %x stage %u writes %u items %u is_long %d room %u len %u\n", a->xid,
		       a->stage, a->nwrites, a->nitems, a->is_long, a->writes[ASK_ROOM].cap,
		       a->call_len);
	must(is_fair);
	over(p, a);
}
