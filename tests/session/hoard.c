/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/session/hoard.h"

#include "proxy/leg/leg.h"

unsigned hoard_receives(struct hoard *h, struct recvs *pool, unsigned n)
{
	h->pool = pool;
	while (h->nrbufs < n && h->nrbufs < HOARD_MOST && (h->rbufs[h->nrbufs] = recvs_take(pool)))
		h->nrbufs++;
	return h->nrbufs;
}

void hoard_release(struct hoard *h, unsigned n)
{
	while (n-- > 0 && h->nrbufs > 0)
		recvs_put(h->pool, h->rbufs[--h->nrbufs]);
}

void hoard_unwaited(struct hoard *h, struct buf_arena *arena)
{
	h->arena = arena;
	while (h->nblocks < HOARD_MOST &&
	       (h->blocks[h->nblocks] = buf_alloc(arena, 4096, BUF_ASIDE)))
		h->nblocks++;
}

void hoard_end(struct hoard *h)
{
	hoard_release(h, h->nrbufs);
	while (h->nblocks > 0)
		buf_free(h->arena, h->blocks[--h->nblocks]);
}
