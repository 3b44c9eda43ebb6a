/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "fabric/verbs/internal.h"

/*
 * Operation
 *
 * That a device goes is told in one of three ways, and in no order one may rely on:
 * - the connection manager says so to each of its identifiers;
 * - the device's asynchronous event, which one of the workers reads;
 * - its entry in sysfs is gone. A driver that cannot take a device from its users (rxe
 *   and siw) waits until they let go, in silence; and ib_core asks the part of it that
 *   waits (ib_uverbs) before the connection manager, if it was loaded after it
 *   (disable_device() in core/device.c). So each worker looks there once a second.
 *
 * A worker that learns of it ends its connections there and gives up all it has of the
 * device. The last one lets go of the context as well, or the removal would wait for
 * ever: librdmacm keeps a context open until it sees another device, and has no call
 * to close it. Its descriptors are made ones of /dev/null for that, which librdmacm may
 * close whenever it likes.
 *
 * Until then each device holds a list of devices that librdmacm gave it: without, librdmacm
 * would free a context that is used here without a connection. Whatever is on such a list
 * is open in this process, used or not, and is let go of in the same way.
 */

enum { LOOK_MS = 1000 };

/** struct shared - a context as the process has it, while workers use it. */
struct shared {
	struct list link;
	struct ibv_context *context;
	unsigned users;
	atomic_uint failures; /* events of them so far */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct list all = {&all, &all};

static struct shared *gone_find(const struct ibv_context *context)
{
	for (struct list *it = all.next; it != &all; it = it->next) {
		struct shared *s = container_of(it, struct shared, link);

		if (s->context == context)
			return s;
	}
	return NULL;
}

static struct shared *join(struct ibv_context *context)
{
	struct shared *s;

	pthread_mutex_lock(&lock);
	s = gone_find(context);
	if (!s) {
		s = mem_zalloc(sizeof(*s));
		if (s) {
			s->context = context;
			atomic_init(&s->failures, 0);
			list_add_tail(&all, &s->link);
		}
	}
	if (s)
		s->users++;
	pthread_mutex_unlock(&lock);
	return s;
}

static ino_t entry(const struct verbs_dev *dev)
{
	struct stat st;

	return stat(dev->context->device->dev_path, &st) ? 0 : st.st_ino;
}

/* Without sysfs the others' word must do. */
static bool is_gone(const struct verbs_dev *dev)
{
	return dev->entry ? entry(dev) != dev->entry : dev->closed;
}

int gone_hold(struct verbs_dev *dev)
{
	dev->shared = join(dev->context);
	if (!dev->shared)
		return ERR_NOMEM;
	dev->entry = entry(dev);
	/* This opens devices that nobody asked for, too. */
	dev->contexts = rdma_get_devices(NULL);
	for (int i = 0; dev->contexts && dev->contexts[i]; i++)
		device_know(dev->v, dev->contexts[i]);
	dev->v->look = nsec_min(dev->v->look, wake_now() + LOOK_MS * NSEC_PER_MS);
	return 0;
}

static void let_go(const struct ibv_context *context)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup3(null, context->cmd_fd, O_CLOEXEC) < 0 ||
	    dup3(null, context->async_fd, O_CLOEXEC) < 0)
		log_error("verbs.device", "errno=%d why=\"a removed device cannot be let go\"",
			  errno);
	if (null >= 0)
		close(null);
}

void gone_release(struct verbs_dev *dev)
{
	struct shared *s = dev->shared;

	if (!s)
		return;
	pthread_mutex_lock(&lock);
	if (--s->users == 0) {
		if (dev->closed && is_gone(dev))
			let_go(s->context);
		list_del(&s->link);
		mem_free(s);
	}
	pthread_mutex_unlock(&lock);
	if (dev->contexts)
		rdma_free_devices(dev->contexts);
	dev->shared = NULL;
}

unsigned gone_failures(const struct verbs_dev *dev)
{
	return atomic_load(&dev->shared->failures);
}

void gone_failed(struct verbs_dev *dev)
{
	atomic_fetch_add(&dev->shared->failures, 1);
	dev->v->look = 0;
}

/* Only a device whose entry is gone is done with: a new one of its name has another. */
static void gone_look_at(struct verbs_dev *dev)
{
	bool gone = is_gone(dev);

	if (gone || (!dev->closed && (dev->lost_key || gone_failures(dev) != dev->failures)))
		device_lost(dev);
	if (gone && !dev->conns)
		device_free(dev);
}

void gone_tick(struct verbs *v, nsec_t now)
{
	if (now < v->look)
		return;
	list_for_each_safe(it, tmp, &v->devs)
	{
		gone_look_at(container_of(it, struct verbs_dev, link));
	}
	v->look = list_is_empty(&v->devs) ? NSEC_NEVER : now + LOOK_MS * NSEC_PER_MS;
}
