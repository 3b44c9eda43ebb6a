/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "fabric/mem/internal.h"

bool mem_instance_owns(const struct mem_fabric *f, const void *p, size_t len)
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

static int register_memory(struct fabric *base, void *p, size_t len)
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
	for (uint32_t i = 0; c->exposures && i < c->max_exposures; i++)
		assert(!c->exposures[i].live ||
		       !overlaps(r, c->exposures[i].addr, c->exposures[i].len));
}

static void unregister_memory(struct fabric *base, void *p)
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

void mem_event_push(struct mem_conn *c, struct mem_event *e)
{
	assert(list_is_empty(&e->link));
	e->ev.conn = &c->base;
	list_add_tail(&mem_conn_fabric(c)->ready, &e->link);
}

/* Private data is good until the next poll, and not a moment longer. */
static void lend_private_data(struct mem_fabric *f, struct fabric_event *ev)
{
	memset(f->pd, MEMNET_POISON, sizeof(f->pd));
	if (ev->private_data.len)
		memcpy(f->pd, ev->private_data.data, ev->private_data.len);
	ev->private_data.data = f->pd;
}

static int poll_event(struct fabric *base, struct fabric_event *ev)
{
	struct mem_fabric *f = mem_fabric_of(base);
	struct list *item = list_pop(&f->ready);
	struct mem_event *e;

	memset(f->pd, MEMNET_POISON, sizeof(f->pd));
	if (!item)
		return 0;
	e = container_of(item, struct mem_event, link);
	*ev = e->ev;
	lend_private_data(f, ev);
	if (e->op && mem_shared_has(f, e->op))
		mem_shared_polled(f, e->op);
	else if (e->op)
		mem_op_polled(mem_conn_of(ev->conn), e->op);
	else if (ev->type != FABRIC_EV_DISCONNECTED)
		mem_conn_of(ev->conn)->told = true;
	return 1;
}

/* The instance has no time of its own: memnet_step() does all that is due. */
static nsec_t deadline(const struct fabric *base)
{
	(void)base;
	return NSEC_NEVER;
}

static void tick(struct fabric *base, nsec_t now)
{
	(void)base;
	(void)now;
}

static void free_instance(struct fabric *base)
{
	struct mem_fabric *f = mem_fabric_of(base);

	assert(list_is_empty(&f->conns));
	assert(!f->share.ops);
	assert(list_is_empty(&f->ready));
	for (struct list *it = f->net->listeners.next; it != &f->net->listeners; it = it->next) {
		struct fabric_listener *l = container_of(it, struct fabric_listener, link);

		for (struct list *jt = l->attached.next; jt != &l->attached; jt = jt->next)
			assert(container_of(jt, struct mem_attached, link)->f != f);
	}
	for (struct list *it; (it = list_pop(&f->ranges));)
		mem_free(container_of(it, struct mem_range, link));
	list_del(&f->link);
	mem_free(f);
}

static const struct fabric_ops mem_ops = {
	.name = "mem",
	.register_memory = register_memory,
	.unregister_memory = unregister_memory,
	.attach = mem_attach,
	.detach = mem_detach,
	.connect = mem_connect,
	.accept = mem_accept,
	.reject = mem_reject,
	.disconnect = mem_disconnect,
	.destroy = mem_destroy,
	.prepare = mem_prepare,
	.post_recv = mem_post_recv,
	.post_pieces = mem_post_pieces,
	.share_receives = mem_share_receives,
	.unshare_receives = mem_unshare_receives,
	.receives_wanted = mem_receives_wanted,
	.post_shared = mem_post_shared,
	.gave_back = mem_gave_back,
	.send = mem_send,
	.write = mem_write,
	.read = mem_read,
	.expose = mem_expose,
	.withdraw = mem_withdraw,
	.flush = mem_flush,
	.poll = poll_event,
	.deadline = deadline,
	.tick = tick,
	.free = free_instance,
};

struct fabric *memnet_fabric(struct memnet *net)
{
	struct mem_fabric *f = mem_zalloc(sizeof(*f));

	if (!f)
		return NULL;
	f->base.ops = &mem_ops;
	f->base.remote_inv = !net->cfg.no_remote_inv;
	f->base.tells_written = !net->cfg.no_written;
	f->base.shares_out = !net->cfg.shares_blindly;
	f->net = net;
	list_init(&f->conns);
	list_init(&f->ready);
	list_init(&f->dirty);
	list_init(&f->ranges);
	list_init(&f->share.free);
	list_init(&f->share.posted);
	list_init(&f->share.queue);
	list_init(&f->share.waiting);
	list_add_tail(&net->fabrics, &f->link);
	return &f->base;
}
