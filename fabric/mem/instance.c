/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "fabric/mem/conn.h"
#include "fabric/mem/expose.h"
#include "fabric/mem/internal.h"
#include "fabric/mem/listen.h"
#include "fabric/mem/op.h"
#include "fabric/mem/post.h"
#include "fabric/mem/range.h"
#include "fabric/mem/shared.h"

/* Copies private data to .pd of the instance, where they are valid until the next poll. */
static void lend_private_data(struct mem_fabric *f, struct fabric_event *ev)
{
	memset(f->pd, MEMNET_POISON, sizeof(f->pd));
	if (ev->private_data.len)
		memcpy(f->pd, ev->private_data.data, ev->private_data.len);
	ev->private_data.data = f->pd;
}

/* The completion of @op was polled: its slot and memory are free again. */
static void op_polled(struct mem_conn *c, struct mem_op *op)
{
	c->nposted--;
	mem_op_guard(op, false);
	op->npieces = 0;
	op->nsge = 0;
	switch (op->kind) {
	case MEM_RECV:
		list_add_tail(&c->free_recvs, &op->link);
		break;
	case MEM_WITHDRAW:
		mem_exposure_release(c, op->exposure);
		break;
	default:
		list_add_tail(&c->free_ops, &op->link);
	}
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
		op_polled(mem_conn_of(ev->conn), e->op);
	else if (ev->type == FABRIC_EV_PLACED)
		mem_exposure_report(e, ev);
	else if (ev->type != FABRIC_EV_DISCONNECTED)
		mem_conn_of(ev->conn)->polled = true;
	return 1;
}

static void flush(struct fabric *base)
{
	struct mem_fabric *f = mem_fabric_of(base);
	struct list *dirty;

	mem_shared_flush(f);
	while ((dirty = list_pop(&f->dirty))) {
		struct mem_conn *c = container_of(dirty, struct mem_conn, dirty);

		mem_post_flush(c);
		mem_conn_send_bye(c);
	}
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
	.register_memory = mem_range_register,
	.unregister_memory = mem_range_unregister,
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
	.stream = mem_stream,
	.went_on = mem_went_on,
	.withdraw = mem_withdraw,
	.flush = flush,
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
	f->base.reports_written = f->base.streams = !net->cfg.no_written;
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
