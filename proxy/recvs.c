/* SPDX-License-Identifier: BSD-2-Clause */
#include "proxy/recvs.h"

#include <assert.h>

#include "base/mem.h"

enum { PATIENCE = 2 /* times in a row without progress, in recvs_stuck() */ };

/* A block of the arena and the Receives cut from it; goes back when all are free. */
struct recvs_chunk {
	struct list link; /* those with a block, or those without */
	uint8_t *block;
	uint32_t free_count;
	struct leg_rbuf *bufs;
};

/* Records for all there may ever be: untouched until then, and never allocated under load. */
static int make_records(struct recvs *r, uint32_t nchunks, uint32_t each)
{
	r->chunk_store = mem_zalloc(nchunks * sizeof(r->chunk_store[0]));
	r->buf_store = mem_zalloc((size_t)nchunks * each * sizeof(r->buf_store[0]));
	if (!r->chunk_store || !r->buf_store) {
		mem_free(r->chunk_store);
		mem_free(r->buf_store);
		return ERR_NOMEM;
	}
	for (uint32_t i = 0; i < nchunks; i++) {
		r->chunk_store[i].bufs = &r->buf_store[(size_t)i * each];
		list_add_tail(&r->unused, &r->chunk_store[i].link);
	}
	return 0;
}

static uint32_t per_chunk(const struct recvs *r)
{
	return BUDGET_BLOCK / r->bytes;
}

int recvs_init(struct recvs *r, struct fabric *f, struct buf_arena *arena, uint32_t bytes)
{
	uint64_t share = buf_zone_bytes(arena, BUF_ZONE_FIXED) / BUDGET_SHARED;
	uint32_t nchunks = (uint32_t)(share / BUDGET_BLOCK);
	int err = fabric_share_receives(f, bytes, r);

	if (err < 0)
		return err;
	*r = (struct recvs){.fabric = f, .arena = arena, .bytes = bytes};
	r->most = nchunks * per_chunk(r);
	list_init(&r->chunks);
	list_init(&r->unused);
	list_init(&r->free);
	err = make_records(r, nchunks, per_chunk(r));
	if (err < 0)
		fabric_unshare_receives(f);
	return err;
}

/* All of its Receives are in the free list. */
static void free_chunk(struct recvs *r, struct recvs_chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->free_count; i++)
		list_del(&chunk->bufs[i].link);
	r->free_count -= chunk->free_count;
	r->total -= per_chunk(r);
	list_del(&chunk->link);
	list_add_head(&r->unused, &chunk->link);
	buf_free(r->arena, chunk->block);
}

void recvs_fini(struct recvs *r)
{
	struct list *it;

	fabric_unshare_receives(r->fabric); /* those posted are back */
	while ((it = list_pop(&r->chunks)))
		buf_free(r->arena, container_of(it, struct recvs_chunk, link)->block);
	mem_free(r->chunk_store);
	mem_free(r->buf_store);
}

static void put_free(struct recvs *r, struct leg_rbuf *rb)
{
	list_add_head(&r->free, &rb->link);
	r->free_count++;
	rb->chunk->free_count++;
}

/* A quarter of the memory for connections stays out of it: what must not wait needs some. */
static bool may_grow(const struct recvs *r)
{
	size_t spare = buf_zone_bytes(r->arena, BUF_ZONE_FIXED) / 4;

	return !list_is_empty(&r->unused) &&
	       buf_available(r->arena, BUF_FIXED) >= BUDGET_BLOCK + spare;
}

static void grow(struct recvs *r)
{
	uint32_t n = per_chunk(r);
	struct recvs_chunk *chunk;
	uint8_t *block = may_grow(r) ? buf_alloc(r->arena, BUDGET_BLOCK, BUF_FIXED) : NULL;

	if (!block)
		return;
	chunk = container_of(list_pop(&r->unused), struct recvs_chunk, link);
	chunk->block = block;
	chunk->free_count = 0;
	list_add_head(&r->chunks, &chunk->link);
	r->total += n;
	for (uint32_t i = 0; i < n; i++) {
		chunk->bufs[i].data = chunk->block + (size_t)i * r->bytes;
		chunk->bufs[i].chunk = chunk;
		put_free(r, &chunk->bufs[i]);
	}
}

struct leg_rbuf *recvs_take(struct recvs *r)
{
	struct leg_rbuf *rb;

	if (list_is_empty(&r->free))
		grow(r);
	if (list_is_empty(&r->free))
		return NULL;
	rb = list_first(&r->free, struct leg_rbuf, link);
	list_del(&rb->link);
	r->free_count--;
	rb->chunk->free_count--;
	return rb;
}

void recvs_put(struct recvs *r, struct leg_rbuf *rb)
{
	list_del(&rb->link);
	put_free(r, rb);
	r->given_back++;
}

void recvs_fill(struct recvs *r)
{
	uint32_t wanted = fabric_receives_wanted(r->fabric);
	struct leg_rbuf *rb;

	while (wanted-- > 0 && (rb = recvs_take(r))) {
		if (fabric_post_shared(r->fabric, rb->data, rb) < 0) {
			put_free(r, rb);
			return;
		}
		r->posted++;
	}
}

void recvs_arrived(struct recvs *r)
{
	assert(r->posted > 0);
	r->posted--;
}

bool recvs_tight(const struct recvs *r)
{
	uint32_t left = r->most - r->total + r->free_count + r->posted;

	return left < r->most / 4 || (r->free_count < per_chunk(r) && !may_grow(r));
}

/* One chunk stays, or a load that comes and goes would take it again each time. */
void recvs_trim(struct recvs *r)
{
	uint32_t n = per_chunk(r);

	list_for_each_safe(it, tmp, &r->chunks)
	{
		struct recvs_chunk *chunk = container_of(it, struct recvs_chunk, link);

		if (r->free_count >= 2 * n && chunk->free_count == n)
			free_chunk(r, chunk);
	}
}

bool recvs_stuck(struct recvs *r)
{
	bool starved = r->posted == 0 && r->free_count == 0 && r->total > 0 &&
		       fabric_receives_wanted(r->fabric) > 0;

	r->times = starved && r->given_back == r->mark ? r->times + 1 : 0;
	r->mark = r->given_back;
	if (r->times < PATIENCE)
		return false;
	r->times = 0;
	return true;
}
