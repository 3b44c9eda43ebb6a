/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_TABLE_H
#define FABRIC_IWARP_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/pool.h"

/**
 * table.h - numbered objects of one kind, up to a maximum: their memory comes from a pool, in
 * chunks, as they are taken, so that a table nobody uses costs next to nothing
 *
 * With table_take() places are taken in turn, each time the next that is free: whatever is taken
 * has a serial number of its own, and its place is what the serial's lower bits say.
 */
enum { TABLE_CHUNK = 16, TABLE_ALL = (1 << TABLE_CHUNK) - 1 };

struct table_chunk {
	void *items;	/* NULL: none is taken */
	uint32_t taken; /* a bit each */
};

struct table {
	struct pool *pool; /* of chunks; borrowed */
	struct table_chunk *chunks;
	uint32_t item_bytes;
	uint32_t max, used;
	uint32_t mask;	 /* of a serial: the place */
	uint32_t serial; /* of the next */
	uint32_t full;	 /* chunks before that one have no free place */
};

/** table_pool - @pool gives chunks of items of @item_bytes. */
void table_pool(struct pool *pool, uint32_t item_bytes);

/** table_init - for @max objects. Return: 0 or ERR_NOMEM. */
int table_init(struct table *t, uint32_t max, struct pool *pool, uint32_t item_bytes) WARN_UNUSED;

/** table_fini - every object goes; idempotent. */
void table_fini(struct table *t);

/** table_take - an object with undefined contents, its *@serial told; NULL: all are taken, or there
 * is no memory. */
void *table_take(struct table *t, uint32_t *serial);

/** table_take_lowest - the same, but the first free place, whose memory is in use most: for
 * objects that nobody outside knows by their number. Not together with table_take(). */
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
