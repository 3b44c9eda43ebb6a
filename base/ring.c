/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/ring.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

/* Each record begins with its length. */
typedef uint32_t ring_len;

int ring_init(struct ring *r, size_t bytes)
{
	assert(bytes > sizeof(ring_len) && (bytes & (bytes - 1)) == 0);
	*r = (struct ring){.at = mem_map(bytes), .bytes = bytes};
	atomic_init(&r->in, 0);
	atomic_init(&r->out, 0);
	atomic_init(&r->lost, 0);
	return r->at ? 0 : ERR_NOMEM;
}

void ring_fini(struct ring *r)
{
	mem_unmap(r->at, r->bytes);
	r->at = NULL;
}

static size_t copy_in(struct ring *r, size_t at, const void *from, size_t len)
{
	size_t begin = at & (r->bytes - 1), first = r->bytes - begin;

	if (first > len)
		first = len;
	if (len) {
		memcpy(r->at + begin, from, first);
		memcpy(r->at, (const uint8_t *)from + first, len - first);
	}
	return at + len;
}

static void copy_out(const struct ring *r, size_t at, void *to, size_t len)
{
	size_t begin = at & (r->bytes - 1), first = r->bytes - begin;

	if (first > len)
		first = len;
	memcpy(to, r->at + begin, first);
	memcpy((uint8_t *)to + first, r->at, len - first);
}

bool ring_put(struct ring *r, const struct view *pieces, unsigned n)
{
	size_t in = atomic_load_explicit(&r->in, memory_order_relaxed);
	size_t used = in - atomic_load_explicit(&r->out, memory_order_acquire), len = 0;
	ring_len head;

	for (unsigned i = 0; i < n; i++)
		len += pieces[i].len;
	assert(len > 0 && len <= UINT32_MAX);
	if (len + sizeof(head) > r->bytes - used) {
		atomic_fetch_add_explicit(&r->lost, 1, memory_order_relaxed);
		return false;
	}
	head = (ring_len)len;
	in = copy_in(r, in, &head, sizeof(head));
	for (unsigned i = 0; i < n; i++)
		in = copy_in(r, in, pieces[i].data, pieces[i].len);
	atomic_store_explicit(&r->in, in, memory_order_release);
	return true;
}

size_t ring_next(struct ring *r)
{
	size_t out = atomic_load_explicit(&r->out, memory_order_relaxed);
	ring_len head;

	if (atomic_load_explicit(&r->in, memory_order_acquire) == out)
		return 0;
	copy_out(r, out, &head, sizeof(head));
	return head;
}

size_t ring_take(struct ring *r, void *to, size_t size)
{
	size_t out = atomic_load_explicit(&r->out, memory_order_relaxed), len = ring_next(r);

	assert(len > 0);
	if (size > len)
		size = len;
	copy_out(r, out + sizeof(ring_len), to, size);
	atomic_store_explicit(&r->out, out + sizeof(ring_len) + len, memory_order_release);
	return size;
}

size_t ring_lost(struct ring *r)
{
	return atomic_load_explicit(&r->lost, memory_order_relaxed);
}
