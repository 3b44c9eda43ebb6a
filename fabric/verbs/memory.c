/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/log.h"
#include "base/mem.h"
#include "fabric/verbs/memory.h"
#include "fabric/verbs/types.h"

/* Registers the user's memory on every device in use. */

/* Number of protection domains in which this worker has the memory registered, or will have. */
static unsigned pinning_domains(const struct verbs *v)
{
	unsigned n = 0;

	for (const struct list *it = v->devs.next; it != &v->devs; it = it->next)
		n += container_of(it, const struct verbs_dev, link)->pd != NULL;
	return n;
}

size_t memory_pinned(const struct verbs *v)
{
	size_t sum = 0;

	for (const struct list *it = v->ranges.next; it != &v->ranges; it = it->next)
		sum += container_of(it, const struct vrange, link)->len;
	return sum * pinning_domains(v);
}

/* Logs why memory could not be pinned, and the limit: the system counts memory as often as it is
 * registered. */
static void log_pinning(const struct verbs_dev *dev, size_t len)
{
	int cause = errno;
	struct rlimit limit = {0};

	(void)getrlimit(RLIMIT_MEMLOCK, &limit);
	log_error("verbs.memory",
		  "device=%s bytes=%zu domains=%u memlock_limit=%llu why=\"%s: the locked-memory "
		  "limit must "
		  "be %zu KiB and more for each worker (LimitMEMLOCK=, ulimit -l), or memory_limit "
		  "less\"",
		  dev->name, len, pinning_domains(dev->v), (unsigned long long)limit.rlim_cur,
		  strerror(cause), memory_pinned(dev->v) / 1024 + 1024);
}

static int register_range(struct verbs_dev *dev, struct vrange *range)
{
	struct vregion *r;
	int access = IBV_ACCESS_LOCAL_WRITE;

	for (struct list *it = dev->regions.next; it != &dev->regions; it = it->next)
		if (container_of(it, struct vregion, link)->range == range)
			return 0;
	if (dev->windows && !dev->rxe)
		access |= IBV_ACCESS_MW_BIND;
	r = mem_zalloc(sizeof(*r));
	if (!r)
		return ERR_NOMEM;
	r->range = range;
	r->mr = ibv_reg_mr(dev->pd, range->base, range->len, access);
	if (!r->mr) {
		log_pinning(dev, range->len);
		mem_free(r);
		return ERR_NOMEM;
	}
	list_add_tail(&dev->regions, &r->link);
	return 0;
}

int verbs_register(struct verbs_dev *dev)
{
	struct list *ranges = &dev->v->ranges;
	int err = 0;

	if (!dev->pd)
		return 0; /* the device registers its memory when it comes into use */
	for (struct list *it = ranges->next; it != ranges && !err; it = it->next)
		err = register_range(dev, container_of(it, struct vrange, link));
	return err;
}

static void forget_range(struct verbs_dev *dev, const struct vrange *range)
{
	list_for_each_safe(it, tmp, &dev->regions)
	{
		struct vregion *r = container_of(it, struct vregion, link);

		if (r->range != range)
			continue;
		(void)ibv_dereg_mr(r->mr);
		list_del(&r->link);
		mem_free(r);
	}
}

void memory_unregister(struct fabric *f, void *base)
{
	struct verbs *v = verbs_of(f);

	list_for_each_safe(it, tmp, &v->ranges)
	{
		struct vrange *range = container_of(it, struct vrange, link);

		if (range->base != base)
			continue;
		for (struct list *jt = v->devs.next; jt != &v->devs; jt = jt->next)
			forget_range(container_of(jt, struct verbs_dev, link), range);
		list_del(&range->link);
		mem_free(range);
	}
}

int memory_register(struct fabric *f, void *base, size_t len)
{
	struct verbs *v = verbs_of(f);
	struct vrange *range = mem_zalloc(sizeof(*range));
	int err = 0;

	if (!range)
		return ERR_NOMEM;
	range->base = base;
	range->len = len;
	list_add_tail(&v->ranges, &range->link);
	for (struct list *it = v->devs.next; it != &v->devs && !err; it = it->next)
		err = verbs_register(container_of(it, struct verbs_dev, link));
	if (err)
		memory_unregister(f, base);
	else
		log_info("verbs.memory", "bytes=%zu domains=%u pinned=%zu", len, pinning_domains(v),
			 memory_pinned(v));
	return err;
}

struct ibv_mr *memory_region(const struct verbs_dev *dev, const void *p, size_t len)
{
	uintptr_t at = (uintptr_t)p;

	for (const struct list *it = dev->regions.next; it != &dev->regions; it = it->next) {
		const struct vregion *r = container_of(it, const struct vregion, link);
		uintptr_t base = (uintptr_t)r->range->base;

		if (at >= base && at - base <= r->range->len && len <= r->range->len - (at - base))
			return r->mr;
	}
	return NULL;
}

struct ibv_mr *memory_own_region(struct verbs_conn *c, void *addr, uint32_t len, unsigned access,
				 uint64_t offset)
{
	c->v->counters.registrations++;
	return ibv_reg_mr_iova(c->dev->pd, addr, len, offset, (int)access | IBV_ACCESS_LOCAL_WRITE);
}
