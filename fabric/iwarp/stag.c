/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/stag.h"

#include "fabric/fabric.h"

/* Finaliser of splitmix64: every input bit reaches every output bit. */
static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static uint32_t feistel_round(uint64_t key, uint32_t half)
{
	return (uint32_t)(mix(mix(key + half) ^ key) >> 48);
}

/* Four Feistel rounds over two halves of 16 bits: a keyed permutation, cheap both ways. */
static uint32_t scramble(const struct stag_table *t, uint32_t v)
{
	uint32_t l = v >> 16, r = v & 0xffff;

	for (int i = 0; i < 4; i++) {
		uint32_t next = l ^ feistel_round(t->keys[i], r);

		l = r;
		r = next;
	}
	return l << 16 | r;
}

static uint32_t unscramble(const struct stag_table *t, uint32_t v)
{
	uint32_t l = v >> 16, r = v & 0xffff;

	for (int i = 3; i >= 0; i--) {
		uint32_t prev = r ^ feistel_round(t->keys[i], l);

		r = l;
		l = prev;
	}
	return l << 16 | r;
}

void stag_pool(struct pool *pool)
{
	table_pool(pool, sizeof(struct exposure));
}

int stag_init(struct stag_table *t, uint32_t max, struct pool *pool, const uint64_t seed[4])
{
	*t = (struct stag_table){0};
	for (int i = 0; i < 4; i++)
		t->keys[i] = seed[i];
	return table_init(&t->slots, max, pool, sizeof(struct exposure));
}

void stag_fini(struct stag_table *t)
{
	table_fini(&t->slots);
	t->live = 0;
}

struct exposure *stag_add(struct stag_table *t, void *addr, uint32_t len, unsigned access)
{
	uint32_t serial, stag = 0;
	struct exposure *e = table_take(&t->slots, &serial);

	if (e)
		stag = scramble(t, serial);
	if (e && stag == 0) { /* 0 means "no handle" everywhere in the contract */
		table_put(&t->slots, serial & t->slots.mask);
		e = table_take(&t->slots, &serial);
		stag = e ? scramble(t, serial) : 0;
	}
	if (!e)
		return NULL;
	*e = (struct exposure){.addr = addr,
			       .len = len,
			       .stag = stag,
			       .place = serial & t->slots.mask,
			       .access = (uint8_t)access,
			       .owned = true};
	t->recent[stag % STAG_RECENT] = (uint16_t)e->place;
	t->live++;
	return e;
}

/* The slot with @stag, or NULL. */
static struct exposure *stag_slot_of(struct stag_table *t, uint32_t stag)
{
	struct exposure *e = stag_slot(t, t->recent[stag % STAG_RECENT]);

	if (e && e->stag == stag)
		return e;
	e = stag_slot(t, unscramble(t, stag) & t->slots.mask);
	return e && e->stag == stag ? e : NULL;
}

struct exposure *stag_find(struct stag_table *t, uint32_t stag)
{
	struct exposure *e = stag_slot_of(t, stag);

	return e && e->access ? e : NULL;
}

struct exposure *stag_owned(struct stag_table *t, uint32_t stag)
{
	struct exposure *e = stag_slot_of(t, stag);

	return e && e->owned ? e : NULL;
}

void stag_revoke(struct stag_table *t, struct exposure *e)
{
	e->access = 0;
	t->live--;
}

void stag_release(struct stag_table *t, struct exposure *e)
{
	table_put(&t->slots, e->place);
}

int stag_check(struct stag_table *t, uint32_t stag, uint64_t offset, uint32_t len, unsigned access,
	       struct exposure **found, struct ddp_term *term)
{
	bool write = access == FABRIC_REMOTE_WRITE;
	struct exposure *e = stag_find(t, stag);

	if (!e)
		*term = write ? TERM_DDP_INVALID_STAG : TERM_RDMA_INVALID_STAG;
	else if (!(e->access & access))
		*term = TERM_RDMA_ACCESS;
	else if (offset > UINT64_MAX - len)
		*term = write ? TERM_DDP_WRAP : TERM_RDMA_WRAP;
	else if (offset > e->len || len > e->len - offset)
		*term = write ? TERM_DDP_BOUNDS : TERM_RDMA_BOUNDS;
	else
		return *found = e, 0;
	return ERR_ACCESS;
}
