/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "fabric/verbs/listen.h"
#include "fabric/verbs/cm.h"
#include "fabric/verbs/conn.h"
#include "fabric/verbs/device.h"
#include "fabric/verbs/end.h"
#include "fabric/verbs/types.h"
#include "fabric/verbs/wakeup.h"

/*
 * Operation
 *
 * A listener has an event channel of its own, which the loops of all attached workers watch. The
 * worker that takes a request moves its identifier to its own channel, where it stays.
 *
 * - A listener on an address belongs to the device of that address. When the device is removed, the
 *   worker that notices this first releases the listener's identifier. From then on the workers try
 *   to listen again, once a second.
 * - The address of a bond (IPoIB) may move to another device. The connection manager reports that
 *   by ADDR_CHANGE. The identifier stays with the old device, so it is released in the same way,
 *   and the next one belongs to the device that has the address now.
 * - Connections of the old device are not ended. If the device no longer works, their retries fail.
 */

/* UNPOLLED_MAX: most requests that the user has not polled. Further requests stay with the kernel,
 * because otherwise a turn might serve nothing but requests. */
enum { BACKLOG = 1024, BURST = 32, UNPOLLED_MAX = 4, RETRY_MS = 1000 };

struct fabric_listener {
	struct rdma_event_channel *channel;
	struct fabric_addr addr;
	pthread_mutex_t lock; /* protects the fields below */
	struct rdma_cm_id *id;
	_Atomic nsec_t retry;
};

struct attachment {
	struct list link;
	struct loop_watch watch;
	struct verbs *v;
	struct fabric_listener *listener;
	void *owner;
};

static int listen_on(struct fabric_listener *l)
{
	struct sockaddr_storage ss = l->addr.ss;
	int one = 1;

	if (rdma_create_id(l->channel, &l->id, NULL, RDMA_PS_TCP))
		return ERR_IO;
	(void)rdma_set_option(l->id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &one, sizeof(one));
	if (ss.ss_family == AF_INET6)
		(void)rdma_set_option(l->id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &one,
				      sizeof(one));
	if (rdma_bind_addr(l->id, (struct sockaddr *)&ss) == 0 && rdma_listen(l->id, BACKLOG) == 0)
		return 0;
	one = errno;
	(void)rdma_destroy_id(l->id);
	l->id = NULL;
	errno = one;
	return ERR_IO;
}

static void note_port(struct fabric_listener *l)
{
	if (l->addr.ss.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&l->addr.ss)->sin6_port = rdma_get_src_port(l->id);
	else
		((struct sockaddr_in *)&l->addr.ss)->sin_port = rdma_get_src_port(l->id);
}

struct fabric_listener *verbs_listen(const struct fabric_addr *addr, int *err)
{
	struct fabric_listener *l = mem_zalloc(sizeof(*l));
	int flags, cause;

	*err = ERR_NOMEM;
	if (!l)
		return NULL;
	*err = ERR_IO;
	l->addr = *addr;
	l->retry = NSEC_NEVER;
	pthread_mutex_init(&l->lock, NULL);
	l->channel = rdma_create_event_channel();
	flags = l->channel ? fcntl(l->channel->fd, F_GETFL) : -1;
	if (flags >= 0 && fcntl(l->channel->fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
	    listen_on(l) == 0) {
		note_port(l);
		*err = 0;
		return l;
	}
	cause = errno;
	verbs_listener_free(l);
	errno = cause;
	return NULL;
}

void verbs_listener_addr(const struct fabric_listener *l, struct fabric_addr *addr)
{
	*addr = l->addr;
}

void verbs_listener_free(struct fabric_listener *l)
{
	if (!l)
		return;
	if (l->id)
		(void)rdma_destroy_id(l->id);
	if (l->channel)
		rdma_destroy_event_channel(l->channel);
	pthread_mutex_destroy(&l->lock);
	mem_free(l);
}

static void listen_lost(struct fabric_listener *l, const struct rdma_cm_id *id, const char *why)
{
	pthread_mutex_lock(&l->lock);
	if (l->id == id) {
		log_warn("verbs.listen", "why=\"%s\"", why);
		(void)rdma_destroy_id(l->id);
		l->id = NULL;
		l->retry = 0;
	}
	pthread_mutex_unlock(&l->lock);
}

static void take_request(struct attachment *a, const struct vevent *e)
{
	struct verbs *v = a->v;
	struct verbs_conn *c = conn_new(v, e->id, VERBS_REQUESTED, a->owner);

	if (!c || rdma_migrate_id(e->id, v->channel) || !device_adopt(v, e->id)) {
		v->counters.setup_failures++;
		if (c) {
			end_free(c);
			return;
		}
		(void)rdma_reject(e->id, NULL, 0);
		(void)rdma_destroy_id(e->id);
		return;
	}
	memcpy(c->pd, e->pd, e->pd_len);
	c->pd_len = e->pd_len;
	c->peer_ird = e->ird;
	c->peer_ord = e->ord;
	c->request_due = true;
	c->v->unpolled++;
	memcpy(&c->base.peer.ss, rdma_get_peer_addr(e->id), sizeof(struct sockaddr_in6));
	c->base.peer.len = sizeof(struct sockaddr_in6);
	wake_conn(c);
}

static void listen_ready(struct loop_watch *w, unsigned events)
{
	struct attachment *a = container_of(w, struct attachment, watch);
	struct vevent e;

	(void)events;
	for (int i = 0;
	     i < BURST && a->v->unpolled < UNPOLLED_MAX && cm_next(a->listener->channel, &e); i++) {
		if (e.type == RDMA_CM_EVENT_CONNECT_REQUEST)
			take_request(a, &e);
		else if (e.type == RDMA_CM_EVENT_DEVICE_REMOVAL)
			listen_lost(a->listener, e.id,
				    "the RDMA device was removed: listening again when one has the "
				    "address");
		else if (e.type == RDMA_CM_EVENT_ADDR_CHANGE)
			listen_lost(
				a->listener, e.id,
				"the address moved to another RDMA device: listening again there");
		/* Otherwise the event is about a request that no worker has taken yet: destroying
		 * it is enough. */
	}
}

int verbs_listen_attach(struct fabric *f, struct fabric_listener *l, void *owner)
{
	struct verbs *v = verbs_of(f);
	struct attachment *a = mem_zalloc(sizeof(*a));
	int err;

	if (!a)
		return ERR_NOMEM;
	a->v = v;
	a->listener = l;
	a->owner = owner;
	a->watch.ready = listen_ready;
	err = v->loop->ops->add(v->loop, &a->watch, l->channel->fd, LOOP_READ, 0);
	if (err) {
		mem_free(a);
		return err;
	}
	list_add_tail(&v->attachments, &a->link);
	return 0;
}

/* Frees requests that the user of @owner has not polled. */
static void drop_requests(struct verbs *v, const void *owner)
{
	list_for_each_safe(it, tmp, &v->conns)
	{
		struct verbs_conn *c = container_of(it, struct verbs_conn, all);

		if (c->request_due && c->base.owner == owner)
			end_free(c);
	}
}

void verbs_listen_detach(struct fabric *f, struct fabric_listener *l)
{
	struct verbs *v = verbs_of(f);

	list_for_each_safe(it, tmp, &v->attachments)
	{
		struct attachment *a = container_of(it, struct attachment, link);

		if (a->listener != l)
			continue;
		v->loop->ops->del(v->loop, &a->watch);
		list_del(&a->link);
		drop_requests(v, a->owner);
		mem_free(a);
	}
}

static bool listen_again(struct verbs *v, struct fabric_listener *l)
{
	if (listen_on(l))
		return false;
	if (device_adopt(v, l->id)) {
		log_info("verbs.listen", "device=%s why=\"an RDMA device has the address again\"",
			 l->id->verbs ? ibv_get_device_name(l->id->verbs->device) : "all");
		return true;
	}
	(void)rdma_destroy_id(l->id);
	l->id = NULL;
	return false;
}

static void try_again(struct verbs *v, struct fabric_listener *l, nsec_t now)
{
	pthread_mutex_lock(&l->lock);
	if (!l->id && now >= l->retry)
		l->retry = listen_again(v, l) ? NSEC_NEVER : now + RETRY_MS * NSEC_PER_MS;
	pthread_mutex_unlock(&l->lock);
}

void verbs_listen_tick(struct verbs *v, nsec_t now)
{
	for (struct list *it = v->attachments.next; it != &v->attachments; it = it->next) {
		struct attachment *a = container_of(it, struct attachment, link);

		if (now < a->listener->retry)
			continue;
		try_again(v, a->listener, now);
	}
}

nsec_t verbs_listen_deadline(const struct verbs *v)
{
	nsec_t next = NSEC_NEVER;

	for (const struct list *it = v->attachments.next; it != &v->attachments; it = it->next)
		next = nsec_min(next,
				container_of(it, const struct attachment, link)->listener->retry);
	return next;
}
