/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/log.h"
#include "fabric/verbs/internal.h"
#include "fabric/verbs/share_internal.h"

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
 * ever (context.c).
 */

void gone_lost(struct verbs_dev *dev)
{
	struct verbs *v = dev->v;

	if (dev->closed)
		return;
	log_warn("verbs.device", "device=%s why=\"failed or was removed\" connections=%u",
		 dev->name, dev->conns);
	v->counters.removals++;
	dev->closed = true;
	dev->conns++; /* stays until all have ended */
	list_for_each_safe(it, tmp, &v->conns)
	{
		struct verbs_conn *c = container_of(it, struct verbs_conn, all);

		if (c->dev == dev)
			end_finish(c, ERR_LOCAL, "the RDMA device failed or was removed");
	}
	srq_close(dev);
	device_put(dev);
}

/* Only a device whose entry is gone is done with: a new one of its name has another. */
static void gone_look_at(struct verbs_dev *dev)
{
	bool gone = context_is_gone(dev);

	if (gone || (!dev->closed && (dev->lost_key || context_failures(dev) != dev->failures)))
		gone_lost(dev);
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
