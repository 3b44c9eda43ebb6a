/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/pool.h"

#include <assert.h>

#include "base/mem.h"

/* Slab header and free-list link; padded so that objects stay 16-octet aligned. */
struct link {
	struct link *next;
	uint64_t pad;
};

enum { SLAB_BYTES = 64 * 1024 };

void pool_init(struct pool *pool, size_t object_bytes, size_t max_objects)
{
	size_t size = object_bytes < sizeof(struct link) ? sizeof(struct link) : object_bytes;

	*pool = (struct pool){.object_bytes = (size + 15) & ~(size_t)15,
			      .max_objects = max_objects};
	pool->slab_objects = SLAB_BYTES / pool->object_bytes;
	if (pool->slab_objects == 0)
		pool->slab_objects = 1;
}

void pool_fini(struct pool *pool)
{
	struct link *slab = pool->slabs;

	while (slab) {
		struct link *next = slab->next;

		mem_free(slab);
		slab = next;
	}
	pool->slabs = pool->free_list = NULL;
	pool->total = pool->used = 0;
}

static int grow(struct pool *pool)
{
	size_t n = pool->slab_objects;
	struct link *slab;
	char *base;

	if (n > pool->max_objects - pool->total)
		n = pool->max_objects - pool->total;
	if (n == 0)
		return ERR_NOMEM;
	slab = mem_zalloc(sizeof(*slab) + n * pool->object_bytes);
	if (!slab)
		return ERR_NOMEM;
	slab->next = pool->slabs;
	pool->slabs = slab;
	base = (char *)(slab + 1);
	for (size_t i = n; i-- > 0;) {
		struct link *object = (struct link *)(void *)(base + i * pool->object_bytes);

		object->next = pool->free_list;
		pool->free_list = object;
	}
	pool->total += n;
	return 0;
}

void *pool_get(struct pool *pool)
{
	struct link *object;

	if (!pool->free_list && grow(pool) < 0)
		return NULL;
	object = pool->free_list;
	pool->free_list = object->next;
	pool->used++;
	return object;
}

void pool_put(struct pool *pool, void *object)
{
	struct link *l = object;

	assert(pool->used > 0);
	l->next = pool->free_list;
	pool->free_list = l;
	pool->used--;
}
