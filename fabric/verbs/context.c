/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "fabric/verbs/context.h"
#include "fabric/verbs/types.h"
#include "fabric/verbs/wakeup.h"

/*
 * Operation
 *
 * A context (struct ibv_context) is a device that librdmacm has opened for the process. librdmacm
 * closes a context only when it sees a new device, and has no call to close one. An open descriptor
 * delays the removal of the device. So the last worker that releases the context of a removed
 * device replaces the context's descriptors by /dev/null, which librdmacm may close at any time.
 *
 * Until then each struct verbs_dev holds a list of devices from librdmacm. Without this list
 * librdmacm would free a context that no connection uses. Every device in such a list is open in
 * this process, used or not, and is released in the same way.
 */

/** struct shared - state of a context that all its users, the workers, share. */
struct shared {
	struct list link;
	struct ibv_context *context;
	unsigned users;
	atomic_uint failures; /* failure events of the context so far */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct list all = {&all, &all};

static struct shared *context_find(const struct ibv_context *context)
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
	s = context_find(context);
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

/* Without sysfs only the other two reports of device_removal.c tell of a removal. */
bool context_is_gone(const struct verbs_dev *dev)
{
	return dev->entry ? entry(dev) != dev->entry : dev->closed;
}

int context_hold(struct verbs_dev *dev)
{
	dev->shared = join(dev->context);
	if (!dev->shared)
		return ERR_NOMEM;
	dev->entry = entry(dev);
	dev->contexts = rdma_get_devices(NULL);
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

void context_release(struct verbs_dev *dev)
{
	struct shared *s = dev->shared;

	if (!s)
		return;
	pthread_mutex_lock(&lock);
	if (--s->users == 0) {
		if (dev->closed && context_is_gone(dev))
			let_go(s->context);
		list_del(&s->link);
		mem_free(s);
	}
	pthread_mutex_unlock(&lock);
	if (dev->contexts)
		rdma_free_devices(dev->contexts);
	dev->shared = NULL;
}

unsigned context_failures(const struct verbs_dev *dev)
{
	return atomic_load(&dev->shared->failures);
}

void context_failed(struct verbs_dev *dev)
{
	atomic_fetch_add(&dev->shared->failures, 1);
	dev->v->look = 0;
}
