/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "fabric/verbs/expose.h"
#include "fabric/verbs/conn_close.h"
#include "fabric/verbs/device.h"
#include "fabric/verbs/memory.h"
#include "fabric/verbs/post.h"
#include "fabric/verbs/queue.h"
#include "fabric/verbs/types.h"
#include "fabric/verbs/wakeup.h"
#include "fabric/verbs/window.h"

/*
 * Operation
 *
 * 	FREE --expose--> LIVE --withdraw--> FENCING --completion--> FREE
 * 	                  `--the peer's message--> INVALIDATED --withdraw--^
 *
 * An exposure that the peer invalidated keeps its slot and its window until the user withdraws it,
 * so that no other exposure gets its handle before.
 *
 * - With windows, an exposure is a bind in the send queue. The bind takes effect before any later
 *   Send that names the handle. A local invalidate ends it. A bind that fails ends the connection.
 * - Without windows, an exposure is a registration, and ends when that is released.
 * - At the end of a connection all bound windows are deallocated, because a bound window must not
 *   outlive its queue pair.
 *
 * If a device refuses to release a window or registration, the peer may still reach the memory. The
 * connection ends, the exposure is HELD, and its withdrawal completes when the queue pair is gone.
 * If the device refuses even then, all connections of the device end (device_refuses()).
 */

static uint32_t *expose_bucket_of(const struct verbs_conn *c, uint32_t handle)
{
	return &c->buckets[(handle * 0x9e3779b1u) >> 7 & c->bucket_mask];
}

int expose_init(struct verbs_conn *c)
{
	uint32_t size = 16;

	while (size < c->max_exposures)
		size *= 2;
	c->bucket_mask = size - 1;
	c->exps = mem_zalloc((c->max_exposures + 1) * sizeof(*c->exps));
	c->buckets = mem_zalloc(size * sizeof(*c->buckets));
	if (!c->exps || !c->buckets)
		return ERR_NOMEM;
	memset(c->buckets, 0xff, size * sizeof(*c->buckets));
	c->free_exp = VEXP_NONE;
	for (uint32_t i = c->max_exposures; i-- > 0;) {
		c->exps[i].next = c->free_exp;
		c->free_exp = i;
	}
	return 0;
}

static uint32_t expose_find(const struct verbs_conn *c, uint32_t handle)
{
	uint32_t i = c->exps ? *expose_bucket_of(c, handle) : VEXP_NONE;

	while (i != VEXP_NONE && c->exps[i].handle != handle)
		i = c->exps[i].next;
	return i;
}

static void release(struct verbs_conn *c, uint32_t index)
{
	struct vexp *e = &c->exps[index];
	uint32_t *at = expose_bucket_of(c, e->handle);

	while (*at != index)
		at = &c->exps[*at].next;
	*at = e->next;
	if (e->state != VEXP_INVALIDATED)
		c->base.handles_live--;
	c->fenced[c->nfenced++ % VEXP_FENCED] = e->handle;
	*e = (struct vexp){.next = c->free_exp};
	c->free_exp = index;
}

/* Releases the window or registration of @e. @bound: the window may be bound, so it is deallocated
 * and not used again. Return: false: the device refuses. */
static bool give_up(struct verbs_conn *c, struct vexp *e, bool bound)
{
	if (e->mw && bound && device_window_drop(c->dev, e->mw))
		return false;
	if (e->mw && !bound)
		device_window_put(c->dev, e->mw);
	e->mw = NULL;
	if (e->mr && ibv_dereg_mr(e->mr))
		return false;
	e->mr = NULL;
	return true;
}

static void hold(struct verbs_conn *c, struct vexp *e)
{
	c->base.handles_live += e->state == VEXP_INVALIDATED;
	e->state = VEXP_HELD;
}

/* Ends the exposure at @index. Return: whether it is fenced now; if not, it is HELD and the
 * connection ends. */
static bool end_exposure(struct verbs_conn *c, uint32_t index, bool bound)
{
	if (give_up(c, &c->exps[index], bound)) {
		release(c, index);
		return true;
	}
	hold(c, &c->exps[index]);
	conn_close_begin(c, ERR_IO, "the device did not give up what the peer could reach");
	wake_conn(c);
	return false;
}

static int bind_window(struct verbs_conn *c, struct vexp *e, void *addr, uint32_t len,
		       unsigned access)
{
	struct ibv_mr *under = e->mr ? e->mr : memory_region(c->dev, addr, len);
	struct ibv_mw_bind_info info = {
		.mr = under, .addr = (uintptr_t)addr, .length = len, .mw_access_flags = access};
	int err;

	assert(under);
	err = post_bind(c, e->mw, e->handle, &info);
	if (err)
		return err;
	c->sq_reserved++;
	c->v->counters.binds++;
	return 0;
}

static int expose_window(struct verbs_conn *c, struct vexp *e, void *addr, uint32_t len,
			 unsigned access)
{
	int err;

	if (!queue_has_room_for_window(c))
		return ERR_AGAIN;
	e->mw = device_window_get(c->dev, &e->handle);
	if (!e->mw)
		return ERR_AGAIN;
	if (c->dev->rxe) {
		e->mr = memory_own_region(c, addr, len, IBV_ACCESS_MW_BIND, e->offset);
		if (!e->mr) {
			device_window_put(c->dev, e->mw);
			return ERR_AGAIN;
		}
	}
	err = bind_window(c, e, addr, len, access);
	if (err == 0)
		return 0;
	device_window_put(c->dev, e->mw);
	if (e->mr)
		(void)ibv_dereg_mr(e->mr);
	return err;
}

static int expose_region(struct verbs_conn *c, struct vexp *e, void *addr, uint32_t len,
			 unsigned access)
{
	e->offset = device_offset(c->dev, addr);
	e->mr = memory_own_region(c, addr, len, access, e->offset);
	if (!e->mr)
		return ERR_AGAIN;
	e->handle = e->mr->rkey;
	return 0;
}

int expose_add(struct fabric_conn *fc, void *addr, uint32_t len, unsigned access,
	       struct segment *seg)
{
	struct verbs_conn *c = vconn_of(fc);
	uint32_t index = c->free_exp, *bucket;
	unsigned flags = 0;
	struct vexp e = {.state = VEXP_LIVE, .offset = (uintptr_t)addr};
	int err;

	if (!len)
		return ERR_PROTO; /* no device exposes 0 octets */
	if (c->state != VERBS_OPEN || c->broken)
		return ERR_CLOSED;
	if (index == VEXP_NONE)
		return ERR_AGAIN;
	if (access & FABRIC_REMOTE_READ)
		flags |= IBV_ACCESS_REMOTE_READ;
	if (access & FABRIC_REMOTE_WRITE)
		flags |= IBV_ACCESS_REMOTE_WRITE;
	err = c->dev->windows ? expose_window(c, &e, addr, len, flags)
			      : expose_region(c, &e, addr, len, flags);
	if (err)
		return err;
	c->free_exp = c->exps[index].next;
	bucket = expose_bucket_of(c, e.handle);
	e.next = *bucket;
	*bucket = index;
	c->exps[index] = e;
	c->base.handles_live++;
	*seg = (struct segment){.handle = e.handle, .length = len, .offset = e.offset};
	return 0;
}

/* Whether @handle was withdrawn a short time ago. A message that invalidated the handle may be
 * polled after the withdrawal has completed, if Receives are shared: it comes from another
 * queue. */
static bool was_own(const struct verbs_conn *c, uint32_t handle)
{
	for (unsigned i = 0; i < VEXP_FENCED && i < c->nfenced; i++)
		if (c->fenced[i] == handle)
			return true;
	return false;
}

/* Some devices (mlx4, cxgb4) let a peer invalidate any key. If @handle is the key of the
 * registration that all Sends use, the device is closed and opened again (device_lost_key()). */
static void look_at_arena(struct verbs_conn *c, uint32_t handle)
{
	const struct verbs_dev *dev = c->dev;

	for (const struct list *it = dev->regions.next; it != &dev->regions; it = it->next) {
		const struct ibv_mr *mr = container_of(it, const struct vregion, link)->mr;

		if (handle == mr->rkey || handle == mr->lkey) {
			device_lost_key(c->dev);
			return;
		}
	}
}

bool expose_may_invalidate(struct verbs_conn *c, uint32_t handle)
{
	if (expose_find(c, handle) != VEXP_NONE || was_own(c, handle))
		return true;
	look_at_arena(c, handle);
	return false;
}

/* An exposure without a window is a registration: adapters that let a peer invalidate that (cxgb4,
 * qedr) report it as well. */
void expose_invalidated(struct verbs_conn *c, uint32_t handle)
{
	uint32_t index = expose_find(c, handle);

	if (index == VEXP_NONE || c->exps[index].state != VEXP_LIVE)
		return;
	c->v->counters.remote_invalidates++;
	c->exps[index].state = VEXP_INVALIDATED;
	c->base.handles_live--;
	if (c->exps[index].mw) /* the window is no longer bound: no work request is needed */
		c->sq_reserved--;
}

void expose_fenced(struct verbs_conn *c, uint32_t index, int status)
{
	/* In any other state expose_end() has completed the withdrawal. */
	if (c->exps[index].state == VEXP_FENCING)
		(void)end_exposure(c, index, status != 0);
}

static int expose_invalidate(struct verbs_conn *c, uint32_t index, void *cookie)
{
	struct vop *op = post_invalidate(c, c->exps[index].handle, cookie);

	if (!op)
		return ERR_CLOSED;
	c->sq_reserved--;
	op->exposure = index;
	op->inv = c->exps[index].handle;
	c->exps[index].state = VEXP_FENCING;
	c->v->counters.invalidates++;
	return 0;
}

/* Fences the exposure at @index by deallocating its window or registration, because no work request
 * can be posted any more. */
static int expose_give_up(struct verbs_conn *c, uint32_t index, void *cookie)
{
	struct vexp *e = &c->exps[index];
	uint32_t handle = e->handle;
	bool live = e->state == VEXP_LIVE;

	if (live && e->mw)
		c->sq_reserved--;
	if (!end_exposure(c, index, live)) {
		post_held(c, index, handle, cookie);
		return 0;
	}
	return c->state == VERBS_OPEN && !c->broken ? 1 : ERR_CLOSED;
}

int expose_withdraw(struct fabric_conn *fc, uint32_t handle, void *cookie, uint32_t *written)
{
	struct verbs_conn *c = vconn_of(fc);
	uint32_t index;

	*written = FABRIC_WRITTEN_UNKNOWN; /* no device can tell */
	if (c->state == VERBS_ENDED)
		return ERR_CLOSED;
	index = expose_find(c, handle);
	if (index == VEXP_NONE ||
	    (c->exps[index].state != VEXP_LIVE && c->exps[index].state != VEXP_INVALIDATED))
		return c->state == VERBS_OPEN ? 1 : ERR_CLOSED;
	if (c->exps[index].state == VEXP_LIVE && c->dev->windows && c->state == VERBS_OPEN &&
	    !c->broken)
		if (expose_invalidate(c, index, cookie) == 0)
			return 0;
	return expose_give_up(c, index, cookie);
}

static void expose_lost(struct verbs_conn *c, struct vexp *e)
{
	device_refuses(c->dev);
	e->mw = NULL;
	e->mr = NULL;
}

void expose_end(struct verbs_conn *c)
{
	bool is_last = !c->id || !c->id->qp;

	for (uint32_t i = 0; c->exps && i < c->max_exposures; i++) {
		struct vexp *e = &c->exps[i];

		if (e->state == VEXP_FREE)
			continue;
		if (!give_up(c, e, true)) {
			hold(c, e);
			if (!is_last)
				continue;
			expose_lost(c, e);
		}
		release(c, i);
	}
	c->sq_reserved = 0;
}
