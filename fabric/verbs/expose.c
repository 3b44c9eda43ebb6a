/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "fabric/verbs/internal.h"

/*
 * Operation
 *
 *	FREE --expose--> LIVE --withdraw--> FENCING --completion--> FREE
 *	                   `--- the peer's message invalidates ------^
 *
 * With windows, an exposure is a bind in the send queue: it is in force before any
 * later Send that names it, and a local invalidate behind it takes it back. A bind
 * that fails ends the connection, as any failing work request does. Without
 * windows it is a registration, and gone when that is.
 *
 * At the end of a connection whatever was bound is given up as a whole: a window
 * that is not free must not outlive its queue pair.
 */

static uint32_t *bucket_of(const struct verbs_conn *c, uint32_t handle)
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

static uint32_t find(const struct verbs_conn *c, uint32_t handle)
{
	uint32_t i = c->exps ? *bucket_of(c, handle) : VEXP_NONE;

	while (i != VEXP_NONE && c->exps[i].handle != handle)
		i = c->exps[i].next;
	return i;
}

static void release(struct verbs_conn *c, uint32_t index)
{
	struct vexp *e = &c->exps[index];
	uint32_t *at = bucket_of(c, e->handle);

	while (*at != index)
		at = &c->exps[*at].next;
	*at = e->next;
	if (e->mr)
		(void)ibv_dereg_mr(e->mr);
	*e = (struct vexp){.next = c->free_exp};
	c->free_exp = index;
	c->base.handles_live--;
}

static int bind_window(struct verbs_conn *c, struct vexp *e, void *addr, uint32_t len,
		       unsigned access)
{
	struct ibv_mr *under = e->mr ? e->mr : device_region(c->dev, addr, len);
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

static struct ibv_mr *own_region(struct verbs_conn *c, void *addr, uint32_t len, unsigned access)
{
	c->v->counters.registrations++;
	return ibv_reg_mr(c->dev->pd, addr, len, (int)access | IBV_ACCESS_LOCAL_WRITE);
}

static int expose_window(struct verbs_conn *c, struct vexp *e, void *addr, uint32_t len,
			 unsigned access)
{
	int err;

	if (!queue_has_room(c, 2))
		return ERR_AGAIN;
	e->mw = device_window_get(c->dev, &e->handle);
	if (!e->mw)
		return ERR_AGAIN;
	if (c->dev->rxe) {
		e->mr = own_region(c, addr, len, IBV_ACCESS_MW_BIND);
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
	e->mr = own_region(c, addr, len, access);
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
	struct vexp e = {.state = VEXP_LIVE};
	int err;

	if (!len)
		return ERR_PROTO; /* no device binds or registers nothing */
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
	bucket = bucket_of(c, e.handle);
	e.next = *bucket;
	*bucket = index;
	c->exps[index] = e;
	c->base.handles_live++;
	*seg = (struct segment){.handle = e.handle, .length = len, .offset = (uintptr_t)addr};
	return 0;
}

uint32_t expose_written(const struct fabric_conn *fc, uint32_t handle)
{
	(void)fc, (void)handle; /* no device tells */
	return FABRIC_WRITTEN_UNKNOWN;
}

/* Its window is free again, of itself. What has none is a registration: adapters that let a peer
 * invalidate that (cxgb4, qedr) tell so, too. */
static void unbound(struct verbs_conn *c, uint32_t index)
{
	if (c->exps[index].mw) {
		c->sq_reserved--;
		device_window_put(c->dev, c->exps[index].mw);
	}
	release(c, index);
}

void expose_invalidated(struct verbs_conn *c, uint32_t handle)
{
	uint32_t index = find(c, handle);

	if (index == VEXP_NONE || c->exps[index].state != VEXP_LIVE)
		return;
	c->v->counters.remote_invalidates++;
	unbound(c, index);
}

void expose_fenced(struct verbs_conn *c, uint32_t index, int status)
{
	struct vexp *e = &c->exps[index];

	if (e->state != VEXP_FENCING)
		return; /* expose_end() was there before */
	if (status) {
		device_window_drop(c->dev, e->mw);
		release(c, index);
		return;
	}
	device_window_put(c->dev, e->mw);
	release(c, index);
}

static int invalidate(struct verbs_conn *c, uint32_t index, void *cookie)
{
	struct vop *op = post_invalidate(c, c->exps[index].handle, cookie);

	if (!op)
		return ERR_CLOSED;
	c->sq_reserved--;
	op->exposure = index;
	c->exps[index].state = VEXP_FENCING;
	c->v->counters.invalidates++;
	return 0;
}

int expose_withdraw(struct fabric_conn *fc, uint32_t handle, void *cookie)
{
	struct verbs_conn *c = vconn_of(fc);
	uint32_t index;

	if (c->state == VERBS_ENDED)
		return ERR_CLOSED;
	index = find(c, handle);
	if (index == VEXP_NONE || c->exps[index].state != VEXP_LIVE)
		return c->state == VERBS_OPEN ? 1 : ERR_CLOSED;
	if (c->dev->windows && c->state == VERBS_OPEN && !c->broken)
		if (invalidate(c, index, cookie) == 0)
			return 0;
	/* No work request will do it any more: the window itself goes. */
	if (c->dev->windows) {
		device_window_drop(c->dev, c->exps[index].mw);
		c->sq_reserved--;
	}
	release(c, index);
	return c->state == VERBS_OPEN && !c->broken ? 1 : ERR_CLOSED;
}

void expose_end(struct verbs_conn *c)
{
	for (uint32_t i = 0; c->exps && i < c->max_exposures; i++) {
		if (c->exps[i].state == VEXP_FREE)
			continue;
		if (c->exps[i].mw)
			device_window_drop(c->dev, c->exps[i].mw);
		release(c, i);
	}
	c->sq_reserved = 0;
}
