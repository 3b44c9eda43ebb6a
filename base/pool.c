/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/pool.h"

#include <assert.h>

#include "base/mem.h"

/*
 * Operation. Slabs are pages of their own, because memory freed between other heap allocations
 * would stay with the allocator. Before each object a word names its slab; while the object is
 * free, another word links it to the free objects of that slab. Slabs with some free objects are
 * used before slabs that are all free. So whole slabs stay unused when the load falls, and
 * pool_trim() frees those that stayed unused since it was last called.
 */
struct slab {
	/* in .partial or .unused of the pool; self-linked when all objects are in use */
	struct list link;
	struct object *free_list;
	size_t used, total;
};

/* Padded so that the object behind it stays 16-octet aligned. */
struct object {
	struct slab *slab;
	struct object *next;
};

enum { SLAB_BYTES = 64 * 1024 };

static size_t slab_header(void)
{
	return (sizeof(struct slab) + 15) & ~(size_t)15;
}

void pool_init(struct pool *pool, size_t object_bytes, size_t max_objects)
{
	*pool = (struct pool){.object_bytes =
				      ((object_bytes + 15) & ~(size_t)15) + sizeof(struct object),
			      .max_objects = max_objects};
	pool->slab_objects = (SLAB_BYTES - slab_header()) / pool->object_bytes;
	if (pool->slab_objects == 0)
		pool->slab_objects = 1;
	list_init(&pool->partial);
	list_init(&pool->unused);
	list_init(&pool->full);
}

static size_t slab_bytes(const struct pool *pool, const struct slab *slab)
{
	return slab_header() + slab->total * pool->object_bytes;
}

static void free_slab(struct pool *pool, struct slab *slab)
{
	size_t bytes = slab_bytes(pool, slab);

	pool->total -= slab->total;
	pool->bytes -= bytes;
	mem_unmap(slab, bytes);
}

static void free_slabs(struct pool *pool, struct list *slabs)
{
	struct list *it;

	while ((it = list_pop(slabs)))
		free_slab(pool, container_of(it, struct slab, link));
}

void pool_fini(struct pool *pool)
{
	free_slabs(pool, &pool->partial);
	free_slabs(pool, &pool->unused);
	free_slabs(pool, &pool->full);
	pool->used = pool->nunused = pool->least_unused = 0;
}

static struct slab *slab_new(struct pool *pool)
{
	size_t n = pool->slab_objects;
	struct slab *slab;
	char *at;

	if (n > pool->max_objects - pool->total)
		n = pool->max_objects - pool->total;
	if (n == 0)
		return NULL;
	slab = mem_map(slab_header() + n * pool->object_bytes);
	if (!slab)
		return NULL;
	slab->total = n;
	at = (char *)slab + slab_header();
	for (size_t i = n; i-- > 0;) {
		struct object *object = (struct object *)(void *)(at + i * pool->object_bytes);

		*object = (struct object){slab, slab->free_list};
		slab->free_list = object;
	}
	pool->total += n;
	pool->bytes += slab_bytes(pool, slab);
	return slab;
}

/* A slab that has a free object; it is removed from its list. */
static struct slab *slab_for_get(struct pool *pool)
{
	struct list *it = list_pop(&pool->partial);

	if (it)
		return container_of(it, struct slab, link);
	it = list_pop(&pool->unused);
	if (!it)
		return slab_new(pool);
	pool->nunused--;
	if (pool->nunused < pool->least_unused)
		pool->least_unused = pool->nunused;
	return container_of(it, struct slab, link);
}

void *pool_get(struct pool *pool)
{
	struct slab *slab = slab_for_get(pool);
	struct object *object;

	if (!slab)
		return NULL;
	object = slab->free_list;
	slab->free_list = object->next;
	slab->used++;
	pool->used++;
	list_add_head(slab->free_list ? &pool->partial : &pool->full, &slab->link);
	return object + 1;
}

void pool_put(struct pool *pool, void *object)
{
	struct object *o = (struct object *)object - 1;
	struct slab *slab = o->slab;

	assert(pool->used > 0 && slab->used > 0);
	if (slab->used-- == slab->total) {
		list_del(&slab->link);
		list_add_tail(&pool->partial, &slab->link);
	}
	o->next = slab->free_list;
	slab->free_list = o;
	pool->used--;
	if (slab->used > 0)
		return;
	list_del(&slab->link);
	list_add_head(&pool->unused, &slab->link);
	pool->nunused++;
}

bool pool_trim(struct pool *pool, size_t most)
{
	for (; most > 0 && pool->least_unused > 0; most--, pool->least_unused--) {
		struct slab *slab = container_of(pool->unused.prev, struct slab, link);

		list_del(&slab->link);
		pool->nunused--;
		free_slab(pool, slab);
	}
	if (pool->least_unused > 0)
		return true;
	pool->least_unused = pool->nunused;
	return false;
}
