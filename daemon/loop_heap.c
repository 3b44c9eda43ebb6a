/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/loop_heap.h"

#include <pthread.h>
#include <string.h>

#include <event2/event.h>

#include "base/mem.h"
#include "base/pool.h"

/*
 * Operation. All threads share one pool of small objects, behind a lock: it is for watches that are
 * added and removed, and for nothing else. What is larger is of the heap. Before each object
 * stands its size.
 */
enum { SMALL = 32 };

struct object {
	_Alignas(16) size_t bytes;
};

static struct {
	pthread_mutex_t lock;
	struct pool pool;
} heap = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *heap_alloc(size_t bytes)
{
	struct object *o;

	if (bytes <= SMALL) {
		pthread_mutex_lock(&heap.lock);
		o = pool_get(&heap.pool);
		pthread_mutex_unlock(&heap.lock);
	} else {
		o = mem_zalloc(sizeof(*o) + bytes);
	}
	if (!o)
		return NULL;
	o->bytes = bytes;
	return o + 1;
}

static void heap_free(void *p)
{
	struct object *o;

	if (!p)
		return;
	o = (struct object *)p - 1;
	if (o->bytes > SMALL) {
		mem_free(o);
		return;
	}
	pthread_mutex_lock(&heap.lock);
	pool_put(&heap.pool, o);
	if (heap.pool.used == 0) /* the last loop is gone */
		pool_fini(&heap.pool);
	pthread_mutex_unlock(&heap.lock);
}

static void *heap_realloc(void *p, size_t bytes)
{
	const struct object *old = p ? (const struct object *)p - 1 : NULL;
	void *moved = heap_alloc(bytes);

	if (moved && old) {
		memcpy(moved, p, old->bytes < bytes ? old->bytes : bytes);
		heap_free(p);
	}
	return moved;
}

static void begin(void)
{
	pool_init(&heap.pool, sizeof(struct object) + SMALL, SIZE_MAX / 2 / SMALL);
	event_set_mem_functions(heap_alloc, heap_realloc, heap_free);
}

void loop_heap_use(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, begin);
}
