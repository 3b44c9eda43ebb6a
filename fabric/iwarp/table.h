/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_TABLE_H
#define FABRIC_IWARP_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/pool.h"

/**
 * table.h - numbered objects of one kind, up to a maximum
 *
 * Their memory comes from a pool, in chunks, as they are taken: an unused table costs next to
 * nothing.
 *
 * table_take() takes the next free place in turn. Each object taken has a serial number of its own;
 * the lower bits of the serial are its place.
 */
enum { TABLE_CHUNK = 16, TABLE_ALL = (1 << TABLE_CHUNK) - 1 };

struct table_chunk {
	void *items;	/* NULL: no object of the chunk is taken */
	uint32_t taken; /* one bit for each object */
};

struct table {
	struct pool *pool; /* pool of chunks; borrowed */
	struct table_chunk *chunks;
	uint32_t item_bytes;
	uint32_t max, used;
	uint32_t mask;	 /* bits of a serial that are the place */
	uint32_t serial; /* serial of the next object */
	uint32_t full;	 /* first chunk that may have a free place */
};

/** table_pool - initializes @pool for chunks of items of @item_bytes. */
void table_pool(struct pool *pool, uint32_t item_bytes);

/** table_init - for @max objects. Return: 0 or ERR_NOMEM. */
int table_init(struct table *t, uint32_t max, struct pool *pool, uint32_t item_bytes) WARN_UNUSED;

/** table_fini - frees all objects; idempotent. */
void table_fini(struct table *t);

/** table_take - an object with undefined contents, and its *@serial; NULL: all are taken, or
 * there is no memory. */
void *table_take(struct table *t, uint32_t *serial);

/**
 * table_take_lowest - the same, but at the first free place, whose memory is most likely in the
 * cache
 *
 * For objects whose number is not visible outside. Do not use it together with table_take().
 */
void *table_take_lowest(struct table *t, uint32_t *place);

/** table_put - the object at @place can be taken again. */
void table_put(struct table *t, uint32_t place);

/** table_has - whether the object at @place is taken. */
static inline bool table_has(const struct table *t, uint32_t place)
{
	return place < t->max && (t->chunks[place / TABLE_CHUNK].taken & 1u << place % TABLE_CHUNK);
}

/** table_at - the object at @place, which is taken. */
static inline void *table_at(const struct table *t, uint32_t place)
{
	return (char *)t->chunks[place / TABLE_CHUNK].items +
	       (size_t)(place % TABLE_CHUNK) * t->item_bytes;
}

#endif
