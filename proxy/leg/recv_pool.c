/* SPDX-License-Identifier: BSD-2-Clause */
#include "proxy/leg/recv_pool.h"

#include <assert.h>

#include "base/mem.h"
#include "rpc/msg.h"

/*
 * A chunk: a block of the arena, and the Receives cut from it. The block can be given back when all
 * its Receives are free. So that blocks become free, Receives are taken first from chunks that are
 * partly in use.
 *
 * Most Receives are taken again soon after they come back, so some are kept in the order in which
 * they came: the last first, because it is in the processor's cache. At every trim these go back to
 * their chunks as well.
 */
struct recv_pool_chunk {
	struct list link; /* in one of the pool's lists; in none while all are in use */
	uint8_t *block;
	struct list free;
	uint32_t free_count;
	struct leg_rbuf *bufs;
};

/* Allocate records for all Receives there may ever be. They are untouched until used, and nothing
 * is allocated under load. */
static int make_records(struct recv_pool *r, uint32_t nchunks, uint32_t each)
{
	r->chunk_store = mem_zalloc(nchunks * sizeof(r->chunk_store[0]));
	r->buf_store = mem_zalloc((size_t)nchunks * each * sizeof(r->buf_store[0]));
	r->msg = mem_zalloc(sizeof(*r->msg));
	if (!r->chunk_store || !r->buf_store || !r->msg) {
		mem_free(r->msg);
		mem_free(r->chunk_store);
		mem_free(r->buf_store);
		return ERR_NOMEM;
	}
	for (uint32_t i = 0; i < nchunks; i++) {
		r->chunk_store[i].bufs = &r->buf_store[(size_t)i * each];
		list_init(&r->chunk_store[i].free);
		list_add_tail(&r->unused, &r->chunk_store[i].link);
	}
	return 0;
}

static uint32_t per_chunk(const struct recv_pool *r)
{
	return BUDGET_BLOCK / r->bytes;
}

int recv_pool_init(struct recv_pool *r, struct fabric *f, struct buf_arena *arena, size_t share,
		   uint32_t bytes)
{
	uint32_t nchunks = share < BUDGET_BLOCK ? 1 : (uint32_t)(share / BUDGET_BLOCK);
	int err = fabric_share_receives(f, bytes, r);

	if (err < 0)
		return err;
	*r = (struct recv_pool){.fabric = f, .arena = arena, .bytes = bytes};
	r->most = f->receives_most = nchunks * per_chunk(r);
	list_init(&r->partial);
	list_init(&r->whole);
	list_init(&r->unused);
	err = make_records(r, nchunks, per_chunk(r));
	if (err < 0)
		fabric_unshare_receives(f);
	return err;
}

static void move_to(struct list *list, struct recv_pool_chunk *chunk)
{
	list_del(&chunk->link);
	list_add_head(list, &chunk->link);
}

static void free_chunk(struct recv_pool *r, struct recv_pool_chunk *chunk)
{
	r->free_count -= chunk->free_count;
	r->total -= chunk->free_count;
	list_init(&chunk->free);
	move_to(&r->unused, chunk);
	buf_free(r->arena, chunk->block);
	chunk->block = NULL;
}

void recv_pool_fini(struct recv_pool *r)
{
	fabric_unshare_receives(r->fabric); /* the fabric gives back all posted Receives */
	for (uint32_t i = 0; i < r->most / per_chunk(r); i++)
		buf_free(r->arena, r->chunk_store[i].block);
	mem_free(r->msg);
	mem_free(r->chunk_store);
	mem_free(r->buf_store);
}

/* @rb is already counted as free. */
void recv_pool_put_in_chunk(struct recv_pool *r, struct leg_rbuf *rb)
{
	struct recv_pool_chunk *chunk = rb->chunk;

	list_add_head(&chunk->free, &rb->link);
	chunk->free_count++;
	if (chunk->free_count == per_chunk(r))
		move_to(&r->whole, chunk);
	else if (chunk->free_count == 1)
		move_to(&r->partial, chunk);
}

static void forget_recent(struct recv_pool *r)
{
	while (r->recent_count > 0)
		recv_pool_put_in_chunk(r, r->recent[--r->recent_count]);
}

/* Whether the pool can take one more block. .unused has a record for each block of the pool's share
 * of the arena, and sessions leave that share free. */
static bool may_grow(const struct recv_pool *r)
{
	return !list_is_empty(&r->unused) && buf_available(r->arena, BUF_CONN) >= BUDGET_BLOCK;
}

static void recv_pool_grow(struct recv_pool *r)
{
	uint32_t n = per_chunk(r);
	struct recv_pool_chunk *chunk;
	uint8_t *block = may_grow(r) ? buf_alloc(r->arena, BUDGET_BLOCK, BUF_CONN) : NULL;

	if (!block)
		return;
	chunk = container_of(list_pop(&r->unused), struct recv_pool_chunk, link);
	chunk->block = block;
	chunk->free_count = 0;
	r->total += n;
	r->free_count += n;
	for (uint32_t i = 0; i < n; i++) {
		chunk->bufs[i].data = chunk->block + (size_t)i * r->bytes;
		chunk->bufs[i].chunk = chunk;
		recv_pool_put_in_chunk(r, &chunk->bufs[i]);
	}
}

struct leg_rbuf *recv_pool_take_of_chunk(struct recv_pool *r)
{
	struct recv_pool_chunk *chunk;
	struct leg_rbuf *rb;

	if (r->free_count == 0)
		recv_pool_grow(r);
	if (r->free_count == 0)
		return NULL;
	r->free_count--;
	chunk = list_first(list_is_empty(&r->partial) ? &r->whole : &r->partial,
			   struct recv_pool_chunk, link);
	rb = container_of(list_pop(&chunk->free), struct leg_rbuf, link);
	if (--chunk->free_count == 0)
		list_del(&chunk->link);
	else
		move_to(&r->partial, chunk);
	return rb;
}

/* Receives that the pool could grow by. */
static uint32_t room(const struct recv_pool *r)
{
	return may_grow(r) ? r->most - r->total : 0;
}

static void post_wanted(struct recv_pool *r)
{
	uint32_t wanted = fabric_receives_wanted(r->fabric);
	struct leg_rbuf *rb;

	while (wanted-- > 0 && (rb = recv_pool_take(r))) {
		if (fabric_post_shared(r->fabric, rb->data, rb) < 0) {
			recv_pool_put_free(r, rb);
			return;
		}
		r->posted++;
	}
}

void recv_pool_fill(struct recv_pool *r)
{
	post_wanted(r);
	r->fabric->receives_left = r->free_count + room(r);
}

void recv_pool_arrived(struct recv_pool *r)
{
	assert(r->posted > 0);
	r->posted--;
}

bool recv_pool_is_low_growing(const struct recv_pool *r)
{
	uint32_t more = room(r);

	return more + r->free_count + r->posted <= (more + r->total) / 4;
}

/* One free chunk stays; otherwise a load that comes and goes would take it again each time. */
void recv_pool_trim(struct recv_pool *r)
{
	forget_recent(r);
	while (!list_is_empty(&r->whole) && r->free_count >= 2 * per_chunk(r))
		free_chunk(r, list_first(&r->whole, struct recv_pool_chunk, link));
}

/* A turn that has used up all posted Receives is no such case: at its end free Receives are posted,
 * or more are made. */
bool recv_pool_is_exhausted(const struct recv_pool *r)
{
	return r && r->posted + r->free_count == 0 && room(r) == 0;
}

bool recv_pool_is_starving(const struct recv_pool *r)
{
	if (!r->fabric->shares_out)
		return recv_pool_is_low(r);
	return r->fabric->recv_starving || recv_pool_is_exhausted(r);
}
