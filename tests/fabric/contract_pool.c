/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fabric/contract.h"

#include <string.h>

#include "base/mem.h"

/* Messages and shared Receives, followed. */

struct pool *pool_new(struct fabric *f, uint8_t *mem)
{
	struct pool *pool = mem_zalloc(sizeof(*pool));

	pool->f = f;
	pool->mem = mem + POOL_AT;
	pool->allow = UINT32_MAX;
	assert_int_equal(fabric_share_receives(f, POOL_LEN, pool), 0);
	assert_ptr_equal(f->receives, pool);
	return pool;
}

void pool_free(struct pool *pool)
{
	if (!pool)
		return;
	fabric_unshare_receives(pool->f);
	assert_null(pool->f->receives);
	memset(pool->mem, 0x11, (size_t)POOL_RECVS * POOL_LEN);
	mem_free(pool);
}

void pool_refill(struct pool *pool)
{
	uint32_t n = fabric_receives_wanted(pool->f);

	if (n > pool->allow)
		n = pool->allow;
	for (uint32_t i = 0; i < POOL_RECVS && n; i++) {
		if (pool->is_posted[i])
			continue;
		assert_int_equal(fabric_post_shared(pool->f, pool->mem + (size_t)i * POOL_LEN,
						    &pool->is_posted[i]),
				 0);
		pool->is_posted[i] = true;
		pool->posted++;
		n--;
		if (pool->allow != UINT32_MAX)
			pool->allow--;
	}
}

/* The contents of a message follow from its sender and its number. */
static uint64_t key(const struct side *s, uint32_t n)
{
	return (uint64_t)n * 2 * CONTRACT_PAIRS + (uint32_t)s->pair * 2 +
	       (s == &s->t->pair[s->pair]->b);
}

static void heard(struct side *s, size_t off, const struct fabric_event *ev)
{
	struct side *from = s->peer;

	assert_ptr_equal(s->conn, ev->conn);
	assert_false(s->disconnected);
	assert_true(s->heard < from->said);
	assert_int_equal(ev->len, from->said_len[s->heard % SAY_MEMORY]);
	check(s, off, ev->len, key(from, s->heard));
	s->invalidated = ev->invalidated;
	s->heard++;
	s->heard_all = s->heard >= s->awaited;
}

void pool_record(struct pool *pool, const struct fabric_event *ev)
{
	bool *is_posted = ev->cookie;
	size_t i = (size_t)(is_posted - pool->is_posted);

	assert_true(is_posted >= pool->is_posted && i < POOL_RECVS);
	assert_true(*is_posted);
	*is_posted = false;
	pool->posted--;
	if (ev->conn) {
		assert_int_equal(ev->status, 0);
		heard(ev->conn->owner, POOL_AT + i * POOL_LEN, ev);
	} else {
		assert_int_equal(ev->status, ERR_FLUSHED);
		pool->came_back++;
	}
	memset(pool->mem + i * POOL_LEN, 0x22, POOL_LEN); /* it is ours */
}

int say_inv(struct side *s, uint32_t len, uint32_t handle)
{
	uint32_t slot = s->said % CONTRACT_DEPTH;
	size_t off = SAY_AT + ((size_t)s->pair * CONTRACT_DEPTH + slot) * POOL_LEN;
	int n;

	assert_true(len <= POOL_LEN);
	if (s->said >= CONTRACT_DEPTH && !s->ops[s->said_op[slot]].done)
		return ERR_AGAIN; /* its octets are still the provider's */
	fill(s, off, len, key(s, s->said));
	n = do_send_inv(s, off, len, handle);
	if (n < 0)
		return n;
	s->said_op[slot] = n;
	s->said_len[s->said++ % SAY_MEMORY] = len;
	return n;
}

int say(struct side *s, uint32_t len)
{
	return say_inv(s, len, 0);
}

void hear(struct side *s, uint32_t n)
{
	s->awaited = n;
	s->heard_all = s->heard >= n;
	until(s->t, &s->heard_all);
}

void talk(struct side *s, uint32_t n)
{
	while (n) {
		uint32_t some = n < CONTRACT_DEPTH / 2 ? n : CONTRACT_DEPTH / 2;
		int last = 0;

		for (uint32_t i = 0; i < some; i++) {
			last = say(s, 16 + i);
			assert_true(last >= 0);
		}
		hear(s->peer, s->peer->heard + some);
		succeed(s, last);
		n -= some;
	}
}

struct pool *run_dry(struct contract *t, struct pair *p)
{
	struct pool *pool = t->pool[1];

	pump(t);
	pool->allow = 0;
	talk(&p->a, pool->posted);
	assert_int_equal(pool->posted, 0);
	return pool;
}
