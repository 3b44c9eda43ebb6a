/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/stag.h"

#include "base/mem.h"
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

int stag_init(struct stag_table *t, uint32_t max, const uint64_t seed[4])
{
	*t = (struct stag_table){.max = max, .free_head = STAG_NO_SLOT, .free_tail = STAG_NO_SLOT};
	t->slots = mem_zalloc(max * sizeof(*t->slots));
	if (!t->slots)
		return ERR_NOMEM;
	for (int i = 0; i < 4; i++)
		t->keys[i] = seed[i];
	while (t->index_bits < 24 && 1u << t->index_bits < max)
		t->index_bits++;
	for (uint32_t i = 0; i < max; i++)
		stag_release(t, &t->slots[i]);
	return 0;
}

void stag_fini(struct stag_table *t)
{
	mem_free(t->slots);
	t->slots = NULL;
	t->max = t->live = 0;
	t->free_head = t->free_tail = STAG_NO_SLOT;
}

struct exposure *stag_add(struct stag_table *t, void *addr, uint32_t len, unsigned access)
{
	uint32_t index = t->free_head;
	struct exposure *e;

	if (index == STAG_NO_SLOT)
		return NULL;
	e = &t->slots[index];
	t->free_head = e->next_free;
	if (t->free_head == STAG_NO_SLOT)
		t->free_tail = STAG_NO_SLOT;
	do { /* 0 means "no handle" all over the contract */
		e->generation++;
		e->stag = scramble(t, e->generation << t->index_bits | index);
	} while (e->stag == 0);
	e->addr = addr;
	e->len = len;
	e->access = (uint8_t)access;
	e->tx_refs = 0;
	e->written = e->reached = 0;
	e->leaving = false;
	t->live++;
	return e;
}

struct exposure *stag_find(struct stag_table *t, uint32_t stag)
{
	uint32_t index = unscramble(t, stag) & ((1u << t->index_bits) - 1);

	if (index >= t->max || !t->slots[index].access || t->slots[index].stag != stag)
		return NULL;
	return &t->slots[index];
}

void stag_revoke(struct stag_table *t, struct exposure *e)
{
	e->access = 0;
	e->leaving = true;
	t->live--;
}

void stag_release(struct stag_table *t, struct exposure *e)
{
	uint32_t index = (uint32_t)(e - t->slots);

	e->leaving = false;
	e->next_free = STAG_NO_SLOT;
	if (t->free_tail == STAG_NO_SLOT)
		t->free_head = index;
	else
		t->slots[t->free_tail].next_free = index;
	t->free_tail = index;
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
