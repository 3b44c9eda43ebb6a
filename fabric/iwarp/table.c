/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/table.h"

#include <assert.h>

#include "base/mem.h"

void table_pool(struct pool *pool, uint32_t item_bytes)
{
	pool_init(pool, (size_t)TABLE_CHUNK * item_bytes, UINT32_MAX / TABLE_CHUNK);
}

static uint32_t nchunks(const struct table *t)
{
	return (t->max + TABLE_CHUNK - 1) / TABLE_CHUNK;
}

int table_init(struct table *t, uint32_t max, struct pool *pool, uint32_t item_bytes)
{
	*t = (struct table){.pool = pool, .item_bytes = item_bytes, .max = max, .serial = 1};
	while (t->mask + 1 < max)
		t->mask = t->mask * 2 + 1;
	t->chunks = mem_zalloc(nchunks(t) * sizeof(*t->chunks));
	return t->chunks ? 0 : ERR_NOMEM;
}

void table_fini(struct table *t)
{
	for (uint32_t i = 0; t->chunks && i < nchunks(t); i++)
		if (t->chunks[i].items)
			pool_put(t->pool, t->chunks[i].items);
	mem_free(t->chunks);
	*t = (struct table){0};
}

/* Takes @place, which is free. Return: NULL: there is no memory. */
static void *take(struct table *t, uint32_t place)
{
	struct table_chunk *chunk = &t->chunks[place / TABLE_CHUNK];

	if (!chunk->items)
		chunk->items = pool_get(t->pool);
	if (!chunk->items)
		return NULL;
	chunk->taken |= 1u << place % TABLE_CHUNK;
	t->used++;
	return table_at(t, place);
}

void *table_take(struct table *t, uint32_t *serial)
{
	void *item;

	if (t->used == t->max)
		return NULL;
	while ((t->serial & t->mask) >= t->max || table_has(t, t->serial & t->mask))
		t->serial++;
	item = take(t, t->serial & t->mask);
	*serial = t->serial;
	t->serial += item != NULL;
	return item;
}

void *table_take_lowest(struct table *t, uint32_t *place)
{
	uint32_t i = t->full;

	if (t->used == t->max)
		return NULL;
	while (t->chunks[i].taken == TABLE_ALL)
		i++;
	t->full = i;
	*place = i * TABLE_CHUNK + (uint32_t)__builtin_ctz(~t->chunks[i].taken);
	return take(t, *place);
}

void table_put(struct table *t, uint32_t place)
{
	struct table_chunk *chunk = &t->chunks[place / TABLE_CHUNK];

	assert(table_has(t, place));
	chunk->taken &= ~(1u << place % TABLE_CHUNK);
	t->used--;
	if (place / TABLE_CHUNK < t->full)
		t->full = place / TABLE_CHUNK;
	if (chunk->taken)
		return;
	pool_put(t->pool, chunk->items);
	chunk->items = NULL;
}
