/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>

#include "fabric/mem/internal.h"

/*
 * Operation. A handle is random but for the low bits, which hide the number of
 * its slot; it is looked up only in the connection it was made for. The offset a
 * segment begins at is random, too, and large: users must carry all 64 bits.
 *
 * Withdrawing fences at once, or (drawn, and always while a Read is served) a
 * moment later. Until WITHDRAWN the peer can still reach the memory; withdraws
 * complete in the order posted.
 */

static uint32_t new_handle(struct mem_conn *c, const struct mem_exposure *e)
{
	uint32_t number = (uint32_t)(e - c->exposures), handle;

	do {
		handle = (uint32_t)memnet_random(mem_conn_net(c)) & ~c->handle_mask;
		handle |= (number ^ c->handle_secret) & c->handle_mask;
	} while (handle == 0);
	return handle;
}

int mem_expose(struct fabric_conn *base, void *addr, uint32_t len, unsigned access,
	       struct segment *seg)
{
	struct mem_conn *c = mem_conn_of(base);
	struct memnet *net = mem_conn_net(c);
	struct mem_exposure *e;
	struct list *slot;

	if (c->state == MEM_ENDED || c->closing)
		return ERR_CLOSED;
	assert(c->exposures);
	assert(access && !(access & ~(unsigned)(FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE)));
	assert(mem_instance_owns(mem_conn_fabric(c), addr, len));
	if (memnet_fault_hits(net, MEMNET_EXPOSE_FAIL, &net->exposes))
		return ERR_AGAIN;
	slot = list_pop(&c->free_exposures);
	if (!slot)
		return ERR_AGAIN;
	e = container_of(slot, struct mem_exposure, link);
	e->live = true;
	e->readers = 0;
	e->written = 0;
	e->access = access;
	e->addr = addr;
	e->len = len;
	e->handle = new_handle(c, e);
	e->offset = memnet_random(net) >> 1;
	c->base.handles_live++;
	*seg = (struct segment){.handle = e->handle, .length = len, .offset = e->offset};
	return 0;
}

struct mem_exposure *mem_exposure_find(struct mem_conn *c, uint32_t handle)
{
	uint32_t number = (handle ^ c->handle_secret) & c->handle_mask;
	struct mem_exposure *e;

	if (number >= c->max_exposures)
		return NULL;
	e = &c->exposures[number];
	return e->live && e->handle == handle ? e : NULL;
}

struct mem_exposure *mem_exposure_check(struct mem_conn *c, const struct segment *remote,
					unsigned access)
{
	struct mem_exposure *e = mem_exposure_find(c, remote->handle);
	uint64_t skip;

	if (!e || !(e->access & access) || remote->offset < e->offset)
		return NULL;
	skip = remote->offset - e->offset;
	if (skip > e->len || remote->length > e->len - skip)
		return NULL;
	return e;
}

void mem_exposure_release(struct mem_conn *c, struct mem_exposure *e)
{
	assert(!e->live);
	list_add_tail(&c->free_exposures, &e->link);
}

static bool is_withdrawn(const struct mem_exposure *e)
{
	return !list_is_empty(&e->fence.kin) || !list_is_empty(&e->fence.done.link);
}

static void fence(struct mem_conn *c, struct mem_exposure *e)
{
	e->live = false;
	c->base.handles_live--;
}

void mem_exposure_invalidate(struct mem_conn *c, struct mem_exposure *e)
{
	fence(c, e);
	if (!is_withdrawn(e))
		mem_exposure_release(c, e);
}

/* Withdraws whose time has come complete, in the order posted. */
static void complete_fences(struct mem_conn *c)
{
	while (!list_is_empty(&c->flight[MEM_WITHDRAW])) {
		struct mem_op *op = list_first(&c->flight[MEM_WITHDRAW], struct mem_op, kin);

		if (!op->ripe || op->exposure->readers)
			break;
		if (op->exposure->live)
			fence(c, op->exposure);
		mem_op_finish(op, 0);
	}
}

void mem_fence_due(struct mem_due *due)
{
	container_of(due, struct mem_op, due)->ripe = true;
	complete_fences(due->conn);
}

void mem_exposure_unread(struct mem_conn *c, struct mem_exposure *e)
{
	e->readers--;
	complete_fences(c);
}

uint32_t mem_written(const struct fabric_conn *base, uint32_t handle)
{
	const struct mem_exposure *e =
		mem_exposure_find(mem_conn_of((struct fabric_conn *)base), handle);

	return e && base->fabric->tells_written ? e->written : FABRIC_WRITTEN_UNKNOWN;
}

int mem_withdraw(struct fabric_conn *base, uint32_t handle, void *cookie)
{
	struct mem_conn *c = mem_conn_of(base);
	struct mem_exposure *e;

	if (c->state == MEM_ENDED)
		return ERR_CLOSED;
	e = mem_exposure_find(c, handle);
	if (c->closing) {
		if (e)
			mem_exposure_invalidate(c, e);
		return ERR_CLOSED;
	}
	if (!e || is_withdrawn(e))
		return 1;
	if (e->readers || memnet_random(mem_conn_net(c)) % 4 == 0) {
		mem_post(c, &e->fence, MEM_WITHDRAW, cookie);
		return 0;
	}
	fence(c, e);
	mem_exposure_release(c, e);
	return 1;
}
