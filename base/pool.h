/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/list.h"

/**
 * struct pool - fixed-size objects that are recycled: after warm-up get and put do not call the
 * allocator
 *
 * One thread only. Grows one slab at a time up to a maximum. pool_trim() returns memory that the
 * load no longer needs.
 */
struct pool {
	size_t object_bytes; /* with the header of each object */
	size_t slab_objects;
	size_t max_objects;
	size_t total;			   /* number of objects in all slabs */
	size_t used;			   /* number of objects that are in use */
	size_t bytes;			   /* octets of heap */
	struct list partial, unused, full; /* slabs: partly free, all free, nothing free */
	/* slabs all free: now, and the fewest since the last pool_trim() */
	size_t nunused, least_unused;
};

/** pool_init - objects of @object_bytes, 16-octet aligned; at most @max_objects at once. */
void pool_init(struct pool *pool, size_t object_bytes, size_t max_objects);

/** pool_fini - frees every slab; objects still handed out become invalid. */
void pool_fini(struct pool *pool);

/** pool_get - an object with undefined contents, or NULL at the maximum or without memory. */
void *pool_get(struct pool *pool) WARN_UNUSED;

/** pool_put - takes @object, which came from this pool. */
void pool_put(struct pool *pool, void *object);

/** pool_trim - call at regular times: frees whole slabs that were not needed since the last
 * call, at most @most of them. Return: whether there are more, for a call soon. */
bool pool_trim(struct pool *pool, size_t most);

#endif
