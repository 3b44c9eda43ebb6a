/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/loop_heap.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <event2/event.h>

#include "base/mem.h"

/*
 * Operation. libevent keeps two words for every descriptor number, for each worker that has ever
 * used it, and never frees them.
 * - All threads share slabs of such objects, behind a lock. The lock is taken only when a watch is
 *   added or removed.
 * - Larger objects come from the heap, with their size in front.
 * - Small objects have no header. Their address tells them apart: it is an odd multiple of eight.
 */
struct small {
	union {
		struct small *next; /* while it is free */
		uint8_t octets[16];
	};
};

enum { SLAB_SMALLS = 4095 };

struct slab {
	struct slab *next;
	struct small smalls[SLAB_SMALLS];
};

struct large {
	_Alignas(16) size_t bytes;
};

static struct {
	pthread_mutex_t lock;
	struct slab *slabs;
	struct small *free;
	size_t used; /* number of small objects in use */
} heap = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_small(const void *p)
{
	return (uintptr_t)p & 8;
}

static void add_slab(void)
{
	struct slab *slab = mem_map(sizeof(*slab));

	if (!slab)
		return;
	slab->next = heap.slabs;
	heap.slabs = slab;
	for (size_t i = SLAB_SMALLS; i-- > 0;) {
		slab->smalls[i].next = heap.free;
		heap.free = &slab->smalls[i];
	}
}

static void free_slabs(void)
{
	while (heap.slabs) {
		struct slab *slab = heap.slabs;

		heap.slabs = slab->next;
		mem_unmap(slab, sizeof(*slab));
	}
	heap.free = NULL;
}

static void *small_alloc(void)
{
	struct small *s;

	pthread_mutex_lock(&heap.lock);
	if (!heap.free)
		add_slab();
	s = heap.free;
	if (s) {
		heap.free = s->next;
		heap.used++;
	}
	pthread_mutex_unlock(&heap.lock);
	return s;
}

static void small_free(struct small *s)
{
	pthread_mutex_lock(&heap.lock);
	s->next = heap.free;
	heap.free = s;
	if (--heap.used == 0) /* the last loop was freed */
		free_slabs();
	pthread_mutex_unlock(&heap.lock);
}

static void *heap_alloc(size_t bytes)
{
	struct large *l;

	if (bytes <= sizeof(struct small))
		return small_alloc();
	l = mem_zalloc(sizeof(*l) + bytes);
	if (!l)
		return NULL;
	l->bytes = bytes;
	return l + 1;
}

static void heap_free(void *p)
{
	if (is_small(p))
		small_free(p);
	else if (p)
		mem_free((struct large *)p - 1);
}

static size_t size_of(const void *p)
{
	return is_small(p) ? sizeof(struct small) : ((const struct large *)p - 1)->bytes;
}

static void *heap_realloc(void *p, size_t bytes)
{
	void *moved = heap_alloc(bytes);

	if (moved && p) {
		memcpy(moved, p, size_of(p) < bytes ? size_of(p) : bytes);
		heap_free(p);
	}
	return moved;
}

static void begin(void)
{
	event_set_mem_functions(heap_alloc, heap_realloc, heap_free);
}

void loop_heap_use(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, begin);
}
