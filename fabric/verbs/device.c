/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "fabric/verbs/device.h"
#include "fabric/verbs/context.h"
#include "fabric/verbs/limits.h"
#include "fabric/verbs/memory.h"
#include "fabric/verbs/share_types.h"
#include "fabric/verbs/srq.h"
#include "fabric/verbs/types.h"
#include "fabric/verbs/window.h"

/*
 * Operation
 *
 * librdmacm opens each device once for the process. Each worker has a protection domain, a
 * completion channel and registrations of its own on the device, so that a peer of one worker
 * cannot reach memory of another. Devices of addresses known at start are prepared at start, others
 * when the first connection uses them.
 *
 * A device without windows of type 2 accepts a handle on any queue pair of its protection domain.
 * So each domain of connections (fabric_conn_params.domain: the clients of a route, or its servers)
 * has a struct verbs_dev, and so a protection domain, of its own.
 *
 * All workers share the descriptor of a device's asynchronous events. The worker that reads an
 * event stores its number at the connection or shared queue that the event is about. That object
 * still exists, because destroying a queue waits until its events are acknowledged. The failure of
 * a device concerns every worker, so it is reported like a removal (device_removal.c).
 */

static int set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

static void device_unwatch(struct verbs_dev *dev, struct loop_watch *w, bool *watched)
{
	if (*watched)
		dev->v->loop->ops->del(dev->v->loop, w);
	*watched = false;
}

/* Puts the completion queues that the channel reports into .hot. A queue is reported once after it
 * was armed. */
static void channel_ready(struct loop_watch *w, unsigned events)
{
	struct verbs_dev *dev = container_of(w, struct verbs_dev, watch);
	struct ibv_cq *cq;
	void *context;

	(void)events;
	while (ibv_get_cq_event(dev->channel, &cq, &context) == 0) {
		struct vcq *q = context;

		dev->v->counters.events++;
		q->events++;
		if (list_is_empty(&q->hot))
			list_add_tail(&dev->v->hot, &q->hot);
	}
	if (errno != EAGAIN && errno != EINTR)
		device_unwatch(dev, &dev->watch, &dev->watched);
}

static void leave_note_of_pair(struct verbs_dev *dev, struct verbs_conn *c, int type)
{
	if (type != IBV_EVENT_QP_LAST_WQE_REACHED) {
		atomic_store(&c->async, type);
	} else {
		/* For the worker of @c as well: share_leave() waits only on devices that have
		 * reported this event. */
		atomic_store(&dev->reports_last, true);
		atomic_store(&c->dev->reports_last, true);
		atomic_store(&c->last, true);
	}
	if (c->share)
		atomic_store(&c->share->noted, true);
}

static void leave_note_of_cq(const struct vcq *q, int type)
{
	if (q->conn)
		atomic_store(&q->conn->async, type);
	else
		atomic_store(&q->share->failed, true);
}

static void conn_close_note(struct verbs_dev *dev, const struct ibv_async_event *e)
{
	struct vshare *share;
	bool failed;

	switch (e->event_type) {
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		leave_note_of_pair(dev, e->element.qp->qp_context, (int)e->event_type);
		break;
	case IBV_EVENT_CQ_ERR:
		leave_note_of_cq(e->element.cq->cq_context, (int)e->event_type);
		break;
	case IBV_EVENT_SRQ_LIMIT_REACHED:
	case IBV_EVENT_SRQ_ERR:
		share = e->element.srq->srq_context;
		failed = e->event_type == IBV_EVENT_SRQ_ERR && !dev->qedr;
		atomic_store(failed ? &share->failed : &share->low, true);
		break;
	case IBV_EVENT_DEVICE_FATAL:
		context_failed(dev);
		break;
	default:
		break;
	}
}

void device_async(struct verbs_dev *dev)
{
	struct ibv_async_event e;

	while (ibv_get_async_event(dev->context, &e) == 0) {
		conn_close_note(dev, &e);
		ibv_ack_async_event(&e);
	}
}

static void async_ready(struct loop_watch *w, unsigned events)
{
	struct verbs_dev *dev = container_of(w, struct verbs_dev, async_watch);

	(void)events;
	device_async(dev);
	if (errno != EAGAIN && errno != EINTR)
		device_unwatch(dev, &dev->async_watch, &dev->async_watched);
}

static int open_dev(struct verbs_dev *dev)
{
	struct loop *loop = dev->v->loop;

	if (limits_ask(dev))
		return ERR_IO;
	dev->pd = ibv_alloc_pd(dev->context);
	dev->channel = ibv_create_comp_channel(dev->context);
	if (!dev->pd || !dev->channel || set_nonblocking(dev->channel->fd) ||
	    set_nonblocking(dev->context->async_fd))
		return ERR_IO;
	if (limits_try(dev))
		return ERR_IO;
	dev->refused = !dev->windows && dev->v->cfg.needs_windows;
	if (dev->refused)
		return ERR_CONFIG;
	/* Instances share the descriptor, and a loop may watch each only once. */
	dev->async_fd = fcntl(dev->context->async_fd, F_DUPFD_CLOEXEC, 0);
	if (dev->async_fd < 0)
		return ERR_IO;
	dev->watched = !loop->ops->add(loop, &dev->watch, dev->channel->fd, LOOP_READ, 0);
	dev->async_watched = !loop->ops->add(loop, &dev->async_watch, dev->async_fd, LOOP_READ, 0);
	if (!dev->watched || !dev->async_watched)
		return ERR_IO;
	return verbs_register(dev);
}

/* No object of the device is left in this worker. */
static void close_dev(struct verbs_dev *dev)
{
	struct list *item;

	srq_close(dev);
	device_unwatch(dev, &dev->watch, &dev->watched);
	device_unwatch(dev, &dev->async_watch, &dev->async_watched);
	if (dev->async_fd >= 0)
		close(dev->async_fd);
	dev->async_fd = -1;
	device_windows_free(dev);
	while ((item = list_pop(&dev->regions))) {
		struct vregion *r = container_of(item, struct vregion, link);

		(void)ibv_dereg_mr(r->mr);
		mem_free(r);
	}
	if (dev->channel)
		(void)ibv_destroy_comp_channel(dev->channel);
	if (dev->pd)
		(void)ibv_dealloc_pd(dev->pd);
	dev->channel = NULL;
	dev->pd = NULL;
}

static int use_shared(struct verbs_dev *dev)
{
	int err = dev->v->shares_receives ? srq_open(dev) : 0;

	if (err)
		log_error("verbs.device",
			  "device=%s why=\"this worker shares Receives, which the device cannot do "
			  "as "
			  "well as those before it: receive_queue = \\\"own\\\" helps\"",
			  dev->name);
	return err;
}

static void log_unusable(const struct verbs_dev *dev, int err)
{
	int cause = errno;

	if (dev->refused)
		log_error("verbs.device",
			  "device=%s cause=%s why=\"without Memory Windows of type 2 a handle is "
			  "valid for every client of a route: if they all trust each other, set "
			  "insecure_handles = \\\"allow\\\"\"",
			  dev->name, err_name(err));
	else
		log_error("verbs.device", "device=%s cause=%s why=\"cannot be used: %s\"",
			  dev->name, err_name(err), strerror(cause));
}

/* Brings @dev into use. If that fails, @dev is kept, because its removal must be noticed. */
static int use(struct verbs_dev *dev)
{
	int err = open_dev(dev);

	if (!err)
		err = use_shared(dev);
	dev->failures = context_failures(dev);
	dev->lost_key = false;
	dev->closed = err != 0;
	if (err) {
		log_unusable(dev, err);
		close_dev(dev);
		return err;
	}
	limits_log(dev);
	if (dev->share)
		srq_log(dev);
	return 0;
}

static struct verbs_dev *make_dev(struct verbs *v, struct ibv_context *context)
{
	struct verbs_dev *dev = mem_zalloc(sizeof(*dev));

	if (!dev)
		return NULL;
	dev->v = v;
	dev->context = context;
	dev->domain = VERBS_NO_DOMAIN;
	snprintf(dev->name, sizeof(dev->name), "%s", ibv_get_device_name(context->device));
	dev->async_fd = -1;
	dev->closed = true;
	dev->watch.ready = channel_ready;
	dev->async_watch.ready = async_ready;
	list_init(&dev->regions);
	list_add_tail(&v->devs, &dev->link);
	if (context_hold(dev)) {
		device_free(dev);
		return NULL;
	}
	return dev;
}

/*
 * While a device is being added, libibverbs (44) can meet it before its character device is
 * there, and takes that of another instead (find_uverbs_sysfs() in ibdev_nl.c).
 */
static bool is_itself(const struct ibv_context *context)
{
	char path[2 * IBV_SYSFS_PATH_MAX], name[IBV_SYSFS_NAME_MAX];
	FILE *file;
	bool same = true;

	snprintf(path, sizeof(path), "%s/ibdev", context->device->dev_path);
	file = fopen(path, "re");
	if (!file)
		return true; /* not known */
	if (fgets(name, sizeof(name), file)) {
		name[strcspn(name, "\n")] = '\0';
		same = strcmp(name, ibv_get_device_name(context->device)) == 0;
	}
	fclose(file);
	return same;
}

/* A window is valid for its connection alone, so such a device needs no domain. A device that was
 * never used has none yet. */
static bool serves(const struct verbs_dev *dev, uint32_t domain)
{
	return dev->windows || dev->domain == domain || dev->domain == VERBS_NO_DOMAIN;
}

static struct verbs_dev *device_find(struct verbs *v, const struct ibv_context *context,
				     uint32_t domain)
{
	for (struct list *it = v->devs.next; it != &v->devs; it = it->next) {
		struct verbs_dev *dev = container_of(it, struct verbs_dev, link);

		if (dev->context == context && serves(dev, domain))
			return dev;
	}
	return NULL;
}

static bool is_known(const struct verbs *v, const struct ibv_context *context, bool in_use)
{
	for (const struct list *it = v->devs.next; it != &v->devs; it = it->next) {
		const struct verbs_dev *dev = container_of(it, const struct verbs_dev, link);

		if (dev->context == context && (!in_use || !dev->closed))
			return true;
	}
	return false;
}

/* context_hold() opens devices that no address leads to, and their removal must be noticed, too.
 * They are behind the requested ones in the list. */
static void know_others(struct verbs_dev *dev)
{
	for (struct list *it = &dev->link; it != &dev->v->devs; it = it->next) {
		const struct verbs_dev *d = container_of(it, struct verbs_dev, link);

		for (int i = 0; d->contexts && d->contexts[i]; i++)
			if (!is_known(dev->v, d->contexts[i], false))
				(void)make_dev(dev->v, d->contexts[i]);
	}
}

static struct verbs_dev *device_new(struct verbs *v, struct ibv_context *context)
{
	struct verbs_dev *dev = make_dev(v, context);

	if (dev)
		know_others(dev);
	return dev;
}

struct verbs_dev *device_get(struct verbs *v, struct ibv_context *context, uint32_t domain)
{
	struct verbs_dev *dev = device_find(v, context, domain);

	if (dev && !dev->closed)
		return dev;
	if (!is_itself(context))
		return NULL;
	if (!dev)
		dev = device_new(v, context);
	if (!dev)
		return NULL;
	dev->domain = domain;
	/* The device is new, or has failed and may work again. It is not brought into use while it
	 * has connections, which are ending. */
	return dev->refused || dev->conns || use(dev) ? NULL : dev;
}

bool device_adopt(struct verbs *v, const struct rdma_cm_id *id)
{
	struct ibv_context **list;

	if (!id->verbs || is_known(v, id->verbs, true) || device_get(v, id->verbs, v->domain))
		return true;
	/* Makes librdmacm look again. */
	list = rdma_get_devices(NULL);
	if (list)
		rdma_free_devices(list);
	return false;
}

void device_free(struct verbs_dev *dev)
{
	close_dev(dev);
	list_del(&dev->link);
	context_release(dev);
	mem_free(dev);
}

void device_refuses(struct verbs_dev *dev)
{
	log_error("verbs.device",
		  "device=%s why=\"it does not give up memory that peers could reach: all "
		  "connections through it end\"",
		  dev->name);
	context_failed(dev);
}

void device_lost_key(struct verbs_dev *dev)
{
	log_error("verbs.device",
		  "device=%s why=\"it let a peer invalidate the key of all registered memory: all "
		  "connections through it end\"",
		  dev->name);
	dev->lost_key = true;
	dev->v->look = 0;
}

void device_put(struct verbs_dev *dev)
{
	if (--dev->conns == 0 && dev->closed)
		close_dev(dev);
}
