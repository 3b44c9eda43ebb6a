/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <string.h>

#include "fabric/mem/expose.h"
#include "fabric/mem/due.h"
#include "fabric/mem/internal.h"
#include "fabric/mem/op.h"
#include "fabric/mem/range.h"
#include "fabric/mem/shared.h"

/*
 * Operation. A handle is random, except for its low bits, which have the number of the slot XOR a
 * secret. It is valid on its own connection only. The offset at which a segment begins is random
 * and large, too, so that tests find users that do not keep all 64 bits.
 *
 * A withdraw fences at once or, by random choice and always while a Read is served, some time
 * later. Until WITHDRAWN the peer can still reach the memory. Withdraws complete in the order
 * posted. A slot is used again only after its owner has withdrawn the exposure, even if the peer
 * invalidated it before.
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
	assert(access &&
	       !(access & ~(unsigned)(FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE | FABRIC_SCRATCH)));
	assert(!(access & FABRIC_SCRATCH) || access == (FABRIC_REMOTE_WRITE | FABRIC_SCRATCH));
	assert(!addr || mem_range_owns(mem_conn_fabric(c), addr, len));
	if (memnet_fault_hits(net, MEMNET_EXPOSE_FAIL, &net->exposes) ||
	    mem_is_short(mem_conn_fabric(c)) ||
	    (mem_conn_fabric(c)->most_exposed &&
	     c->base.handles_live >= mem_conn_fabric(c)->most_exposed))
		return ERR_AGAIN;
	slot = list_pop(&c->free_exposures);
	if (!slot)
		return ERR_AGAIN;
	e = container_of(slot, struct mem_exposure, link);
	e->live = true;
	e->readers = 0;
	e->owned = true;
	e->written = (struct fabric_runs){.n = 0};
	e->window = (struct fabric_window){.bytes = 0};
	e->access = access;
	if (access & FABRIC_SCRATCH) /* shows in tests if the user relies on the old content */
		memset(addr, 0x5c, len);
	e->addr = addr;
	e->len = len;
	e->handle = new_handle(c, e);
	e->offset = memnet_random(net) >> 1;
	c->base.handles_live++;
	*seg = (struct segment){.handle = e->handle, .length = len, .offset = e->offset};
	return 0;
}

/* The slot that has @handle, or had it last; or NULL. */
static struct mem_exposure *mem_expose_slot_of(struct mem_conn *c, uint32_t handle)
{
	uint32_t number = (handle ^ c->handle_secret) & c->handle_mask;

	if (number >= c->max_exposures || c->exposures[number].handle != handle)
		return NULL;
	return &c->exposures[number];
}

struct mem_exposure *mem_exposure_find(struct mem_conn *c, uint32_t handle)
{
	struct mem_exposure *e = mem_expose_slot_of(c, handle);

	return e && e->live ? e : NULL;
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
	assert(!e->live && !e->owned);
	list_add_tail(&c->free_exposures, &e->link);
}

int mem_stream(struct fabric_conn *base, const struct fabric_piece *window, uint32_t len,
	       void *cookie, struct segment *seg)
{
	struct mem_conn *c = mem_conn_of(base);
	struct mem_exposure *e;
	int err;

	assert(base->fabric->streams && window->len > 0);
	assert(mem_range_owns(mem_conn_fabric(c), window->addr, window->len));
	err = mem_expose(base, NULL, len, FABRIC_REMOTE_WRITE, seg);
	if (err)
		return err;
	e = mem_expose_slot_of(c, seg->handle);
	fabric_window_init(&e->window, window->addr, window->len, len);
	e->placed.ev = (struct fabric_event){
		.type = FABRIC_EV_PLACED, .cookie = cookie, .handle = seg->handle};
	return 0;
}

void mem_went_on(struct fabric_conn *base, uint32_t handle, uint32_t len)
{
	struct mem_conn *c = mem_conn_of(base);
	struct mem_exposure *e = mem_expose_slot_of(c, handle);

	if (!e || !e->owned)
		return;
	/* If a Send still uses this memory, its checksum (mem_op_sum()) shows that. */
	memset(e->window.addr + e->window.tail, MEMNET_POISON, len);
	fabric_window_back(&e->window, len);
	mem_shared_room(c);
}

void mem_exposure_report(struct mem_event *placed, struct fabric_event *ev)
{
	struct mem_exposure *e = container_of(placed, struct mem_exposure, placed);

	fabric_window_report(&e->window, &e->written, ev);
	mem_shared_room(mem_conn_of(ev->conn));
}

/* No event reports octets that come while it is being withdrawn. */
void mem_exposure_streamed(struct mem_conn *c, struct mem_exposure *e, uint32_t from, uint32_t len)
{
	if (fabric_window_placed(&e->window, &e->written, from, len) && e->owned)
		mem_event_push(c, &e->placed);
}

void mem_exposure_written(struct mem_exposure *e, uint32_t from, uint32_t len)
{
	struct fabric_run gap;

	if (fabric_runs_add(&e->written, from, len, &gap))
		memset(e->addr + gap.from, 0, gap.end - gap.from);
}

/* Octets written, as a withdrawal returns them. */
static uint32_t written_in(const struct mem_conn *c, const struct mem_exposure *e)
{
	return c->base.fabric->reports_written ? fabric_runs_start(&e->written)
					       : FABRIC_WRITTEN_UNKNOWN;
}

static void mem_expose_fence(struct mem_conn *c, struct mem_exposure *e)
{
	e->live = false;
	c->base.handles_live--;
}

void mem_exposure_invalidate(struct mem_conn *c, struct mem_exposure *e)
{
	mem_expose_fence(c, e);
}

/* Completes the withdraws of @c whose time has come, in the order posted. */
static void complete_fences(struct mem_conn *c)
{
	while (!list_is_empty(&c->flight[MEM_WITHDRAW])) {
		struct mem_op *op = list_first(&c->flight[MEM_WITHDRAW], struct mem_op, kin);

		if (!op->ripe || op->exposure->readers)
			break;
		if (op->exposure->live)
			mem_expose_fence(c, op->exposure);
		op->done.ev.handle = op->exposure->handle;
		op->done.ev.written = written_in(c, op->exposure);
		mem_op_finish(op, 0);
		mem_shared_room(c);
	}
}

void mem_exposure_fenced(struct mem_op *op)
{
	op->ripe = true;
	complete_fences(op->due.conn);
}

void mem_exposure_unread(struct mem_conn *c, struct mem_exposure *e)
{
	e->readers--;
	complete_fences(c);
}

int mem_withdraw(struct fabric_conn *base, uint32_t handle, void *cookie, uint32_t *written)
{
	struct mem_conn *c = mem_conn_of(base);
	struct mem_exposure *e = mem_expose_slot_of(c, handle);
	bool closed = c->state == MEM_ENDED || c->closing;

	*written = 0;
	if (!e || !e->owned)
		return closed ? ERR_CLOSED : 1;
	e->owned = false;
	list_del(&e->placed.link);
	if (!closed && e->live && (e->readers || memnet_random(mem_conn_net(c)) % 4 == 0)) {
		mem_op_post(c, &e->fence, MEM_WITHDRAW, cookie);
		return 0;
	}
	if (e->live)
		mem_expose_fence(c, e);
	*written = written_in(c, e);
	mem_exposure_release(c, e);
	mem_shared_room(c);
	return closed ? ERR_CLOSED : 1;
}
