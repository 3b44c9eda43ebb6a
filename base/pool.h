/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/list.h"

/**
 * struct pool - fixed-size objects that are recycled: after warm-up get and put
 * touch no allocator. One thread only. Grows a slab at a time up to a maximum;
 * what the load needs no more goes back with pool_trim().
 */
struct pool {
	size_t object_bytes; /* with what is kept about each */
	size_t slab_objects;
	size_t max_objects;
	size_t total;			   /* objects in all slabs */
	size_t used;			   /* handed out now */
	size_t bytes;			   /* of heap */
	struct list partial, unused, full; /* slabs: some of it is free, all, nothing */
	size_t nunused, least_unused;	   /* now, and since pool_trim() was called last */
};

/** pool_init - objects of @object_bytes, 16-octet aligned; at most @max_objects at once. */
void pool_init(struct pool *pool, size_t object_bytes, size_t max_objects);

/** pool_fini - frees every slab; objects still handed out become invalid. */
void pool_fini(struct pool *pool);

/** pool_get - an object with undefined contents, or NULL at the maximum or without memory. */
void *pool_get(struct pool *pool) WARN_UNUSED;

/** pool_put - takes @object, which came from this pool. */
void pool_put(struct pool *pool, void *object);

/** pool_trim - at regular times: give back whole slabs that nobody needed since the last time, at
 * most @most of them. Return: whether there are more, for a call soon. */
bool pool_trim(struct pool *pool, size_t most);

#endif
