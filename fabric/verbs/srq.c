/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/verbs/srq.h"
#include "fabric/verbs/cq.h"
#include "fabric/verbs/memory.h"
#include "fabric/verbs/share_types.h"

#include <assert.h>
#include <errno.h>

#include "base/log.h"
#include "base/mem.h"

/*
 * Operation
 *
 * Each worker has one shared receive queue on each device, and one completion queue for
 * what arrives in it. A Receive is in a slot from the post to the poll of its message:
 *
 *	FREE --post--> PENDING --flush--> POSTED --completion--> HELD --poll--> FREE
 *	                  ^                 |                     |
 *	                  |                 `-- the queue closes --+--> BACK --poll--> FREE
 *	                  `----- nobody wants the message ---------'
 *
 * There are as many slots as the queue has room for, and a HELD one keeps its place. So a Receive
 * can always be posted again. The completion queue has the same depth, so no peer can make it
 * overflow.
 */

enum {
	DEPTH_LEAST = 64,
	SIZE_MOST = 4096,
	POST_BATCH = 128,
	BUCKETS = 64, /* doubles */
};

/* Lists of slots */

static uint32_t pop(struct vshare *s, uint32_t *list)
{
	uint32_t slot = *list;

	if (slot != VSLOT_NONE)
		*list = s->slots[slot].next;
	return slot;
}

static void srq_push(struct vshare *s, uint32_t *list, uint32_t slot, enum vslot_state state)
{
	s->slots[slot].state = state;
	s->slots[slot].next = *list;
	*list = slot;
}

static void pend(struct vshare *s, uint32_t slot)
{
	srq_push(s, &s->pending, slot, VSLOT_PENDING);
	s->npending++;
}

static void come_back(struct vshare *s, uint32_t slot)
{
	srq_push(s, &s->back, slot, VSLOT_BACK);
	s->v->nback++;
}

void srq_put_back(struct vshare *s, uint32_t slot)
{
	s->nheld--;
	if (s->srq)
		pend(s, slot);
	else
		come_back(s, slot);
}

void srq_release(struct vshare *s, uint32_t slot)
{
	s->nheld--;
	srq_push(s, &s->free, slot, VSLOT_FREE);
}

/* The queue of a device */

static void destroy(struct vshare *s)
{
	if (s->dev)
		s->dev->share = NULL;
	s->dev = NULL;
	if (s->srq)
		(void)ibv_destroy_srq(s->srq);
	s->srq = NULL;
	cq_destroy(&s->cq);
	s->v->counters.receives_posted -= s->nposted;
	s->npending = s->nposted = 0;
	s->pending = VSLOT_NONE;
}

static void release_memory(struct vshare *s)
{
	list_del(&s->link);
	mem_free(s->slots);
	mem_free(s->buckets);
	mem_free(s);
}

static void reap(struct vshare *s)
{
	if (!s->srq && !s->users && s->back == VSLOT_NONE)
		release_memory(s);
}

static bool can(const struct verbs_dev *dev)
{
	/* Not on iWARP, where a message that finds no Receive ends the connection. */
	return dev->attr.max_srq > 0 && dev->attr.max_srq_wr > 0 && dev->attr.max_srq_sge > 0 &&
	       (!dev->iwarp || dev->v->cfg.receives == VERBS_RECEIVES_SHARED);
}

static uint32_t size_for(const struct verbs_dev *dev)
{
	int size = SIZE_MOST;

	if (size > dev->attr.max_srq_wr)
		size = dev->attr.max_srq_wr;
	if (size > dev->attr.max_cqe - 1)
		size = dev->attr.max_cqe - 1;
	return size > 0 ? (uint32_t)size : 1;
}

static int make_queues(struct vshare *s)
{
	struct ibv_srq_init_attr init = {.srq_context = s,
					 .attr = {.max_wr = s->size, .max_sge = 1}};

	if (cq_make(&s->cq, s->dev, s->size + 1))
		return ERR_NOMEM;
	s->srq = ibv_create_srq(s->dev->pd, &init);
	return s->srq && ibv_req_notify_cq(s->cq.cq, 0) == 0 ? 0 : ERR_NOMEM;
}

static int make(struct vshare *s)
{
	s->slots = mem_zalloc(s->size * sizeof(*s->slots));
	s->buckets = mem_zalloc(BUCKETS * sizeof(struct verbs_conn *));
	if (!s->slots || !s->buckets)
		return ERR_NOMEM;
	s->mask = BUCKETS - 1;
	for (uint32_t i = s->size; i-- > 0;)
		srq_push(s, &s->free, i, VSLOT_FREE);
	fabric_depth_init(&s->depth, DEPTH_LEAST, s->size);
	return make_queues(s);
}

int srq_open(struct verbs_dev *dev)
{
	struct vshare *s;

	if (!can(dev)) {
		errno = EOPNOTSUPP;
		return ERR_CONFIG;
	}
	s = mem_zalloc(sizeof(*s));
	if (!s)
		return ERR_NOMEM;
	s->v = dev->v;
	s->dev = dev;
	s->size = size_for(dev);
	s->free = s->pending = s->back = VSLOT_NONE;
	atomic_init(&s->low, false);
	atomic_init(&s->failed, false);
	atomic_init(&s->noted, false);
	cq_init(&s->cq, dev->v, NULL, s);
	list_add_tail(&dev->v->shares, &s->link);
	dev->share = s;
	if (make(s) == 0)
		return 0;
	destroy(s);
	release_memory(s);
	return ERR_NOMEM;
}

void srq_close(struct verbs_dev *dev)
{
	struct vshare *s = dev->share;

	if (!s)
		return;
	destroy(s);
	for (uint32_t i = 0; i < s->size; i++)
		if (s->slots[i].state == VSLOT_PENDING || s->slots[i].state == VSLOT_POSTED)
			come_back(s, i);
	reap(s);
}

void srq_free_all(struct verbs *v)
{
	list_for_each_safe(it, tmp, &v->shares)
	{
		struct vshare *s = container_of(it, struct vshare, link);

		destroy(s);
		release_memory(s);
	}
	v->nback = 0;
}

void srq_unuse(struct vshare *s)
{
	s->users--;
	reap(s);
}

/* Posting */

static void hand_over(struct vshare *s)
{
	struct ibv_recv_wr wr[POST_BATCH], *bad;
	struct ibv_sge sge[POST_BATCH];
	uint32_t n = 0;

	for (; n < POST_BATCH && s->pending != VSLOT_NONE; n++) {
		uint32_t slot = pop(s, &s->pending);
		const struct ibv_mr *mr = memory_region(s->dev, s->slots[slot].buf, s->v->recv_len);

		assert(mr);
		s->slots[slot].state = VSLOT_POSTED;
		sge[n] = (struct ibv_sge){.addr = (uintptr_t)s->slots[slot].buf,
					  .length = s->v->recv_len,
					  .lkey = mr->lkey};
		wr[n] = (struct ibv_recv_wr){.wr_id = slot, .sg_list = &sge[n], .num_sge = 1};
		if (n)
			wr[n - 1].next = &wr[n];
	}
	s->npending -= n;
	s->nposted += n;
	s->v->counters.receives_posted += n;
	s->v->counters.posts++;
	if (ibv_post_srq_recv(s->srq, wr, &bad))
		atomic_store(&s->failed, true);
}

static void srq_arm(struct vshare *s)
{
	struct ibv_srq_attr attr = {.srq_limit = fabric_depth_limit(&s->depth)};

	if (s->depth.want >= s->depth.promised || s->depth.want >= s->depth.most)
		attr.srq_limit = 0;
	if (attr.srq_limit == s->armed || (attr.srq_limit && s->nposted <= attr.srq_limit))
		return;
	if (ibv_modify_srq(s->srq, &attr, IBV_SRQ_LIMIT))
		log_warn("verbs.receives", "device=%s limit=%u errno=%d why=\"not armed\"",
			 s->dev->name, attr.srq_limit, errno);
	s->armed = attr.srq_limit;
}

void srq_flush(struct vshare *s)
{
	if (s->npending) {
		fabric_depth_see(&s->depth, s->nposted);
		while (s->npending)
			hand_over(s);
		fabric_depth_see(&s->depth, s->nposted);
	}
	srq_arm(s);
}

uint32_t srq_missing(const struct vshare *s)
{
	uint32_t out = s->npending + s->nposted, room = s->size - out - s->nheld;
	uint32_t n = s->srq ? fabric_depth_missing(&s->depth, out) : 0;

	return n < room ? n : room;
}

int srq_post(struct vshare *s, void *buf, void *cookie)
{
	uint32_t slot;

	if (!srq_missing(s))
		return ERR_AGAIN;
	slot = pop(s, &s->free);
	s->slots[slot].buf = buf;
	s->slots[slot].cookie = cookie;
	pend(s, slot);
	return 0;
}

bool srq_next_back(struct vshare *s, void **cookie)
{
	uint32_t slot = pop(s, &s->back);

	if (slot == VSLOT_NONE)
		return false;
	*cookie = s->slots[slot].cookie;
	srq_push(s, &s->free, slot, VSLOT_FREE);
	s->v->nback--;
	reap(s);
	return true;
}

void srq_log(const struct verbs_dev *dev)
{
	log_info("verbs.receives", "device=%s receives=%s most=%u", dev->name,
		 dev->share ? "shared" : "own", dev->share ? dev->share->size : 0);
}
