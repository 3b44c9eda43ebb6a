/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>

#include "base/mem.h"
#include "fabric/mem/range.h"
#include "fabric/mem/internal.h"

/* Registered memory. Only such memory may be posted and exposed, and it must stay registered until
 * the operation or exposure has ended. */

bool mem_range_owns(const struct mem_fabric *f, const void *p, size_t len)
{
	uintptr_t at = (uintptr_t)p;

	if (len == 0)
		return true;
	for (struct list *it = f->ranges.next; it != &f->ranges; it = it->next) {
		const struct mem_range *r = container_of(it, struct mem_range, link);
		uintptr_t base = (uintptr_t)r->base;

		if (at >= base && at - base <= r->len && len <= r->len - (at - base))
			return true;
	}
	return false;
}

int mem_range_register(struct fabric *base, void *p, size_t len)
{
	struct mem_fabric *f = mem_fabric_of(base);
	struct mem_range *r = mem_zalloc(sizeof(*r));

	if (!r)
		return ERR_NOMEM;
	r->base = p;
	r->len = len;
	list_add_tail(&f->ranges, &r->link);
	return 0;
}

static bool overlaps(const struct mem_range *r, const void *p, size_t len)
{
	uintptr_t a = (uintptr_t)r->base, b = (uintptr_t)p;

	return len && b < a + r->len && a < b + len;
}

static void assert_op_outside(const struct mem_op *op, const struct mem_range *r)
{
	for (unsigned i = 0; i < op->npieces; i++)
		assert(!overlaps(r, op->to[i].addr, op->to[i].len));
	for (unsigned i = 0; i < op->nsge; i++)
		assert(!overlaps(r, op->sge[i].addr, op->sge[i].len));
}

/* Memory that is posted or exposed must not go away. */
static void assert_unused(struct mem_conn *c, const struct mem_range *r)
{
	for (unsigned kind = 0; kind < MEM_WITHDRAW; kind++)
		for (struct list *it = c->flight[kind].next; it != &c->flight[kind]; it = it->next)
			assert_op_outside(container_of(it, struct mem_op, kin), r);
	for (uint32_t i = 0; c->exposures && i < c->max_exposures; i++) {
		const struct mem_exposure *e = &c->exposures[i];

		assert(!e->live || (!overlaps(r, e->addr, e->len) &&
				    !overlaps(r, e->window.addr, e->window.bytes)));
	}
}

void mem_range_unregister(struct fabric *base, void *p)
{
	struct mem_fabric *f = mem_fabric_of(base);

	list_for_each_safe(it, tmp, &f->ranges)
	{
		struct mem_range *r = container_of(it, struct mem_range, link);

		if (r->base != p)
			continue;
		for (struct list *jt = f->conns.next; jt != &f->conns; jt = jt->next)
			assert_unused(container_of(jt, struct mem_conn, link), r);
		for (uint32_t i = 0; f->share.ops && i < f->share.depth.most; i++)
			assert_op_outside(&f->share.ops[i], r);
		list_del(it);
		mem_free(r);
		return;
	}
	assert(0 && "fabric_unregister() of memory never registered");
}
