/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/verbs/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "fabric/verbs/alive.h"
#include "fabric/verbs/cm.h"
#include "fabric/verbs/complete.h"
#include "fabric/verbs/conn_close.h"
#include "fabric/verbs/device.h"
#include "fabric/verbs/device_removal.h"
#include "fabric/verbs/device_select.h"
#include "fabric/verbs/drain.h"
#include "fabric/verbs/end.h"
#include "fabric/verbs/expose.h"
#include "fabric/verbs/listen.h"
#include "fabric/verbs/memory.h"
#include "fabric/verbs/post.h"
#include "fabric/verbs/queue.h"
#include "fabric/verbs/share.h"
#include "fabric/verbs/share_types.h"
#include "fabric/verbs/srq.h"
#include "fabric/verbs/submit.h"
#include "fabric/verbs/types.h"

/*
 * Operation
 *
 * The loop watches two kinds of descriptors for an instance: the channel of connection events, and
 * the completion channel of each device. Their callbacks only put objects into lists: connections
 * with an event into .active, completion queues to be polled into .hot (drain.c). fabric_poll()
 * returns an event that is there. If there is none, it polls one queue.
 *
 * Each connection has a completion queue of its own with room for all its operations, so the queue
 * cannot overflow. Completions left in it are dropped with the connection. Shared Receives have a
 * completion queue of their own (share.c).
 */

void verbs_config_default(struct verbs_config *cfg)
{
	*cfg = (struct verbs_config){
		.setup_timeout_ms = 10000,
		.linger_ms = 5000,
		.retry_count = 6,
		.rnr_retry_count = 0,
		.resolve_timeout_ms = 5000,
		.idle_ms = 15000,
		.ird = 32,
		.ord = 32,
		.receives = VERBS_RECEIVES_AUTO,
	};
}

static bool can_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int verbs_check(char *why)
{
	struct ibv_device **list;
	int n = 0;

	/*
	 * Objects of a removed device that cannot be destroyed any more (EIO) are freed by its user
	 * library: see ibv_open_device(3). The library reads this variable once, before it looks
	 * for devices.
	 */
	(void)setenv("RDMAV_ALLOW_DISASSOC_DESTROY", "1", 0);
	list = ibv_get_device_list(&n);
	if (list)
		ibv_free_device_list(list);
	if (!list || n == 0)
		snprintf(why, VERBS_WHY,
			 "no RDMA device: load the adapter's driver and ib_uverbs, or make a "
			 "software one (rdma link add rxe0 type rxe netdev DEV), or use iwarp, "
			 "which needs none");
	else if (!can_open("/dev/infiniband/rdma_cm"))
		snprintf(why, VERBS_WHY,
			 "/dev/infiniband/rdma_cm: %s: load rdma_ucm, give the service access to "
			 "it, or use iwarp, which needs no device",
			 strerror(errno));
	else
		return 0;
	return ERR_IO;
}

/* Events */

static bool report_setup(struct verbs_conn *c, struct fabric_event *ev)
{
	if (!c->request_due && !c->connected_due)
		return false;
	*ev = (struct fabric_event){.type = c->request_due ? FABRIC_EV_REQUEST
							   : FABRIC_EV_CONNECTED,
				    .private_data = view_of(c->pd, c->pd_len)};
	c->pd_len = 0;
	c->v->unpolled -= c->request_due;
	c->request_due = c->connected_due = false;
	return true;
}

static bool verbs_conn_event(struct verbs_conn *c, struct fabric_event *ev)
{
	if (c->broken && c->state < VERBS_LEAVING)
		conn_close_refused(c);
	if (report_setup(c, ev) || complete_event(c, ev)) {
		ev->conn = &c->base;
		return true;
	}
	if (c->state != VERBS_ENDED || c->end_reported)
		return false;
	c->end_reported = true;
	*ev = (struct fabric_event){.type = FABRIC_EV_DISCONNECTED,
				    .conn = &c->base,
				    .status = c->status,
				    .why = c->why,
				    .private_data = view_of(c->pd, c->pd_len)};
	return true;
}

static bool next_event(struct verbs *v, struct fabric_event *ev)
{
	if (v->nback && share_event(v, ev))
		return true;
	while (!list_is_empty(&v->active)) {
		struct verbs_conn *c = list_first(&v->active, struct verbs_conn, active);

		if (verbs_conn_event(c, ev))
			return true;
		list_del(&c->active);
	}
	return false;
}

static int verbs_op_poll(struct fabric *f, struct fabric_event *ev)
{
	struct verbs *v = verbs_of(f);

	for (;;) {
		struct list *hot;

		if (next_event(v, ev))
			return 1;
		hot = list_pop(&v->hot);
		if (hot)
			drain_look(container_of(hot, struct vcq, hot));
		else if (!share_notes(v))
			return 0;
	}
}

static void verbs_op_flush(struct fabric *f)
{
	struct verbs *v = verbs_of(f);
	struct list *item;

	(void)share_notes(v);
	share_flush(v);
	submit_all(v);
	while ((item = list_pop(&v->busy)))
		list_add_tail(&v->hot, item);
}

static nsec_t verbs_op_deadline(const struct fabric *f)
{
	const struct verbs *v = container_of(f, const struct verbs, base);

	if (!list_is_empty(&v->active) || !list_is_empty(&v->hot) || !list_is_empty(&v->busy) ||
	    v->nback)
		return 0;
	return nsec_min(nsec_min(nsec_min(v->next, v->look), nsec_min(v->ask, v->period)),
			verbs_listen_deadline(v));
}

/* Acts on deadlines of connections that have passed. The list may change meanwhile: the end of a
 * connection polls a shared queue, which has messages of other connections, and these may set
 * deadlines. */
static void look_at_deadlines(struct verbs *v, nsec_t now)
{
	struct list due, *item;

	if (now < v->next)
		return;
	v->next = NSEC_NEVER;
	list_init(&due);
	while ((item = list_pop(&v->timed)))
		list_add_tail(&due, item);
	while ((item = list_pop(&due))) {
		struct verbs_conn *c = container_of(item, struct verbs_conn, timed);

		if (now < c->deadline) {
			v->next = nsec_min(v->next, c->deadline);
			list_add_tail(&v->timed, &c->timed);
		} else {
			cm_expired(c);
		}
	}
}

static void verbs_op_tick(struct fabric *f, nsec_t now)
{
	struct verbs *v = verbs_of(f);

	verbs_listen_tick(v, now);
	device_removal_tick(v, now);
	alive_tick(v, now);
	share_tick(v, now);
	look_at_deadlines(v, now);
}

static void verbs_op_free(struct fabric *f)
{
	struct verbs *v = verbs_of(f);
	struct list *item;

	while (!list_is_empty(&v->conns))
		end_free(list_first(&v->conns, struct verbs_conn, all));
	srq_free_all(v);
	while (!list_is_empty(&v->devs))
		device_free(list_first(&v->devs, struct verbs_dev, link));
	while ((item = list_pop(&v->ranges)))
		mem_free(container_of(item, struct vrange, link));
	if (v->watched)
		v->loop->ops->del(v->loop, &v->watch);
	if (v->channel)
		rdma_destroy_event_channel(v->channel);
	post_fini(v);
	mem_free(v);
}

static const struct fabric_ops verbs_ops = {
	.name = "verbs",
	.register_memory = memory_register,
	.unregister_memory = memory_unregister,
	.attach = verbs_listen_attach,
	.detach = verbs_listen_detach,
	.connect = cm_connect,
	.accept = cm_accept,
	.reject = cm_reject,
	.disconnect = end_disconnect,
	.destroy = end_destroy,
	.prepare = cm_prepare,
	.post_recv = post_recv,
	.post_pieces = post_pieces,
	.share_receives = share_begin,
	.unshare_receives = share_end,
	.receives_wanted = share_wanted,
	.post_shared = share_post,
	.send = post_send,
	.write = post_write,
	.read = post_read,
	.expose = expose_add,
	.withdraw = expose_withdraw,
	.flush = verbs_op_flush,
	.poll = verbs_op_poll,
	.deadline = verbs_op_deadline,
	.tick = verbs_op_tick,
	.conn_cost = queue_cost,
	.free = verbs_op_free,
};

static int open_channel(struct verbs *v)
{
	int flags;

	v->channel = rdma_create_event_channel();
	if (!v->channel)
		return ERR_IO;
	flags = fcntl(v->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(v->channel->fd, F_SETFL, flags | O_NONBLOCK))
		return ERR_IO;
	v->watched = !v->loop->ops->add(v->loop, &v->watch, v->channel->fd, LOOP_READ, 0);
	return v->watched ? 0 : ERR_IO;
}

void verbs_init(struct verbs *v, const struct verbs_config *cfg, struct loop *loop)
{
	static atomic_uint made;

	v->base.ops = &verbs_ops;
	v->base.pins = true;
	v->cfg = *cfg;
	v->cfg.uses = NULL; /* they were borrowed */
	v->cfg.nuses = 0;
	v->cfg.only = NULL;
	v->domain = cfg->nuses ? cfg->uses[0].domain : 0;
	v->loop = loop;
	v->number = atomic_fetch_add(&made, 1);
	v->watch.ready = cm_ready;
	v->next = v->look = v->ask = v->period = NSEC_NEVER;
	list_init(&v->devs);
	list_init(&v->conns);
	list_init(&v->active);
	list_init(&v->hot);
	list_init(&v->busy);
	list_init(&v->timed);
	list_init(&v->ranges);
	list_init(&v->attachments);
	list_init(&v->shares);
}

struct fabric *verbs_new(const struct verbs_config *cfg, struct loop *loop)
{
	struct verbs *v = mem_zalloc(sizeof(*v));
	char why[VERBS_WHY];

	if (!v)
		return NULL;
	verbs_init(v, cfg, loop);
	snprintf(why, sizeof(why), "%s",
		 "no RDMA device can be used: see the lines before "
		 "this one, give the service access to /dev/infiniband/uverbs*, or use iwarp, "
		 "which needs no device");
	if (post_init(v) || verbs_check(why) || open_channel(v) || device_select_open(v, cfg)) {
		log_error("verbs.failed", "why=\"%s\"", why);
		verbs_op_free(&v->base);
		return NULL;
	}
	return &v->base;
}

const struct verbs_counters *verbs_counters(const struct fabric *f)
{
	return &container_of(f, const struct verbs, base)->counters;
}
