/* SPDX-License-Identifier: BSD-2-Clause */
/* Contents of the strangers' calls and replies: of an unknown program, and of NFS, up to the
 * greatest lengths. */
#include "tests/session/stranger_internal.h"

#include <stdlib.h>
#include <string.h>

static void put_random(uint8_t *at, uint32_t len, struct rng *r)
{
	for (uint32_t i = 0; i < len; i += 8) {
		uint64_t w = rng_next(r);

		memcpy(at + i, &w, len - i < 8 ? len - i : 8);
	}
}

uint32_t talk_length(struct rng *r, bool small)
{
	static const uint32_t most[] = {9, 100, 1100, 5000, 40000};

	return rng_below(r, most[rng_below(r, small ? 3 : 5)]);
}

/* Filler, then items, each with its count, its octets and its pad. */
static uint32_t some_stream(uint8_t *at, uint32_t len, struct talk_item *items, unsigned *n,
			    unsigned most, struct rng *r)
{
	*n = rng_below(r, most + 1);
	for (unsigned i = 0; i <= *n; i++) {
		uint32_t words = rng_below(r, chance(r, 8) ? 600 : 12);

		put_random(at + len, 4 * words, r);
		len += 4 * words;
		if (i == *n)
			break;
		items[i] = (struct talk_item){.at = len + 4, .len = talk_length(r, false)};
		xdr_poke_u32(at + len, items[i].len);
		put_random(at + len + 4, items[i].len, r);
		memset(at + len + 4 + items[i].len, 0, pad_of(items[i].len));
		len += 4 + items[i].len + pad_of(items[i].len);
	}
	return len;
}

static void talk_any(struct talk *t, struct rng *r, uint32_t xid, bool reverse)
{
	uint32_t cred = 4 * rng_below(r, 20), words[] = {xid, 0, 2, 0x20000555, 1, 1, 1, cred};
	uint32_t len = sizeof(words);

	for (unsigned i = 0; i < 8; i++)
		xdr_poke_u32(t->call + 4 * (size_t)i, words[i]);
	put_random(t->call + len, cred, r);
	len += cred;
	xdr_poke_u32(t->call + len, 0);
	xdr_poke_u32(t->call + len + 4, 0);
	t->call_len = some_stream(t->call, len + 8, t->items, &t->nitems,
				  reverse ? 0 : TALK_ITEMS - 1, r);
	words[1] = 1;
	words[2] = words[3] = words[4] = words[5] = 0;
	for (unsigned i = 0; i < 6; i++)
		xdr_poke_u32(t->reply + 4 * (size_t)i, words[i]);
	t->reply_len = some_stream(t->reply, 24, t->results, &t->nresults,
				   reverse ? 0 : TALK_ITEMS - 1, r);
	if (!reverse)
		return;
	t->call_len = t->call_len < 700 ? t->call_len : 700;
	t->reply_len = t->reply_len < 700 ? t->reply_len : 700;
}

/* --- NFS --- */

/** struct page - a stream that is being written. */
struct page {
	uint8_t *at;
	uint32_t len;
	struct rng *r;
};

static void word(struct page *p, uint32_t v)
{
	xdr_poke_u32(p->at + p->len, v);
	p->len += 4;
}

static void any(struct page *p, uint32_t len)
{
	put_random(p->at + p->len, len, p->r);
	p->len += len;
}

static void opaque(struct page *p, uint32_t len)
{
	word(p, len);
	any(p, len);
	memset(p->at + p->len, 0, pad_of(len));
	p->len += pad_of(len);
}

static void item(struct page *p, struct talk_item *items, unsigned *n, uint32_t len)
{
	items[(*n)++] = (struct talk_item){.at = p->len + 4, .len = len};
	opaque(p, len);
}

static void begin_call(struct page *p, uint32_t xid, uint32_t vers, uint32_t proc)
{
	const uint32_t words[] = {xid, 0, 2, 100003, vers, proc, 1};

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		word(p, words[i]);
	opaque(p, 4 * rng_below(p->r, 101));
	word(p, 0);
	word(p, 0);
}

static void begin_reply(struct page *p, uint32_t xid)
{
	word(p, xid);
	word(p, 1);
	word(p, 0);
	word(p, 0);
	opaque(p, chance(p->r, 4) ? 400 : 0);
	word(p, 0);
}

/* How much of a capacity is returned: most often all of it. */
static uint32_t part(struct rng *r, uint32_t of)
{
	return chance(r, 4) ? rng_below(r, of + 1) : of;
}

static void attributes_3(struct page *p)
{
	bool there = !chance(p->r, 4);

	word(p, there);
	any(p, there ? 84 : 0);
}

static void note(struct talk *t, uint32_t op)
{
	size_t len = strlen(t->what);

	snprintf(t->what + len, sizeof(t->what) - len, " %u", op);
}

static void version_3(struct talk *t, struct page *c, struct page *a)
{
	static const uint32_t procs[] = {1, 3, 5, 6, 6, 6, 7, 7, 16, 17};
	uint32_t proc = procs[rng_below(c->r, 10)], n = talk_length(c->r, false);
	bool fails = chance(c->r, 12);

	snprintf(t->what, sizeof(t->what), "NFSv3 %u of %u", proc, n);
	begin_call(c, t->xid, 3, proc);
	opaque(c, rng_below(c->r, 65));
	if (proc == 3)
		opaque(c, 1 + rng_below(c->r, 200));
	if (proc == 6 || proc == 7)
		any(c, 8);
	if (proc == 16 || proc == 17)
		any(c, 16);
	if (proc == 17)
		word(c, n / 2);
	if (proc >= 6)
		word(c, n);
	if (proc == 7) {
		word(c, 2);
		item(c, t->items, &t->nitems, n);
	}
	begin_reply(a, t->xid);
	word(a, fails ? 70 : 0);
	if (proc == 3 && !fails)
		opaque(a, rng_below(a->r, 65));
	if (proc == 1)
		any(a, fails ? 0 : 84);
	else
		attributes_3(a);
	if (fails || proc == 1)
		return;
	if (proc == 3)
		attributes_3(a);
	if (proc == 5)
		item(a, t->results, &t->nresults, part(a->r, 4096));
	if (proc == 6) {
		n = part(a->r, n);
		word(a, n);
		word(a, 1);
		item(a, t->results, &t->nresults, n);
	}
	if (proc == 7) {
		word(a, n);
		word(a, 2);
		any(a, 8);
	}
	if (proc == 16 || proc == 17) {
		any(a, 8);
		any(a, n > 112 ? (n - 112) & ~3u : 0);
		word(a, 0);
		word(a, 1);
	}
}

static void operation_4(struct talk *t, struct page *c, struct page *a)
{
	static const uint32_t ops[] = {9, 10, 25, 25, 25, 26, 27, 38, 3, 15};
	uint32_t op = ops[rng_below(c->r, 10)], n = talk_length(c->r, false);

	if (t->nresults == TALK_ITEMS - 1 || t->nitems == TALK_ITEMS - 1)
		op = 10;
	note(t, op);
	word(c, op);
	word(a, op);
	word(a, 0);
	switch (op) {
	case 9: /* GETATTR: change, owner, owner_group, supported_attrs */
		word(c, 2);
		word(c, 1 | 1 << 3);
		word(c, 3 << 4);
		word(a, 2);
		any(a, 8);
		opaque(a, part(a->r, 8 + 16 + 2 * (4 + 1024)));
		break;
	case 10:
		opaque(a, part(a->r, 128));
		break;
	case 25:
		any(c, 24);
		word(c, n);
		word(a, 1);
		item(a, t->results, &t->nresults, part(a->r, n));
		break;
	case 26: /* READDIR */
		n %= 8192;
		any(c, 16);
		word(c, n / 2);
		word(c, n);
		word(c, 0);
		any(a, 8);
		any(a, n > 16 ? (n - 16) & ~3u : 0);
		word(a, 0);
		word(a, 1);
		break;
	case 27:
		item(a, t->results, &t->nresults, part(a->r, 4096));
		break;
	case 38:
		any(c, 24);
		word(c, 2);
		item(c, t->items, &t->nitems, n);
		word(a, n);
		word(a, 2);
		any(a, 8);
		break;
	case 3:
		word(c, 31);
		any(a, 8);
		break;
	default: /* LOOKUP */
		opaque(c, 1 + rng_below(c->r, 255));
	}
}

static void version_4(struct talk *t, struct page *c, struct page *a)
{
	uint32_t tag = rng_below(c->r, 20), n = 1 + rng_below(c->r, 6);

	snprintf(t->what, sizeof(t->what), "NFSv4");
	begin_call(c, t->xid, 4, 1);
	begin_reply(a, t->xid);
	word(a, 0);
	opaque(c, tag);
	opaque(a, tag);
	word(c, 0);
	word(c, n + 1);
	word(a, n + 1);
	word(c, 22); /* PUTFH */
	opaque(c, rng_below(c->r, 129));
	word(a, 22);
	word(a, 0);
	while (n-- > 0)
		operation_4(t, c, a);
}

void talk_make(struct talk *t, struct rng *r, uint32_t xid, bool reverse)
{
	struct page call = {t->call, 0, r}, reply = {t->reply, 0, r};

	t->xid = xid;
	t->reverse = reverse;
	t->refused = false;
	t->what[0] = 0;
	t->nitems = t->nresults = 0;
	if (reverse || chance(r, 2)) {
		t->refused = !reverse && chance(r, 40);
		talk_any(t, r, xid, reverse);
		return;
	}
	if (chance(r, 2))
		version_3(t, &call, &reply);
	else
		version_4(t, &call, &reply);
	t->call_len = call.len;
	t->reply_len = reply.len;
}

void talk_init(struct talk *t)
{
	*t = (struct talk){.call = malloc(TALK_BYTES), .reply = malloc(TALK_BYTES)};
	must(t->call && t->reply);
}

void talk_fini(struct talk *t)
{
	free(t->call);
	free(t->reply);
}
