/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/log.h"
#include "fabric/verbs/device_removal.h"
#include "fabric/verbs/context.h"
#include "fabric/verbs/device.h"
#include "fabric/verbs/end.h"
#include "fabric/verbs/share_types.h"
#include "fabric/verbs/srq.h"
#include "fabric/verbs/types.h"

/*
 * Operation
 *
 * The removal of a device is reported in three ways, in no guaranteed order:
 * - The connection manager reports it to each of its identifiers.
 * - The device has an asynchronous event, which one of the workers reads.
 * - Its entry in sysfs is gone. Each worker checks that every LOOK_MS, because the other two
 *   reports may be missing. A driver that cannot take a device from its users (rxe and siw) waits
 *   until they release it. If ib_uverbs was loaded after the connection manager, ib_core notifies
 *   ib_uverbs first, which waits (disable_device() in core/device.c).
 *
 * A worker that notices the removal ends its connections on the device and releases all objects
 * that it has there. The last worker releases the context as well, because otherwise the removal
 * would never end (context.c).
 */

void device_removal_lost(struct verbs_dev *dev)
{
	struct verbs *v = dev->v;

	if (dev->closed)
		return;
	log_warn("verbs.device", "device=%s why=\"failed or was removed\" connections=%u",
		 dev->name, dev->conns);
	v->counters.removals++;
	dev->closed = true;
	dev->conns++; /* keeps @dev until all its connections have ended */
	list_for_each_safe(it, tmp, &v->conns)
	{
		struct verbs_conn *c = container_of(it, struct verbs_conn, all);

		if (c->dev == dev)
			end_finish(c, ERR_LOCAL, "the RDMA device failed or was removed");
	}
	srq_close(dev);
	device_put(dev);
}

/* Only a device whose sysfs entry is gone is removed: a new device of the same name has another
 * entry. */
static void device_removal_look_at(struct verbs_dev *dev)
{
	bool gone = context_is_gone(dev);

	if (gone || (!dev->closed && (dev->lost_key || context_failures(dev) != dev->failures)))
		device_removal_lost(dev);
	if (gone && !dev->conns)
		device_free(dev);
}

void device_removal_tick(struct verbs *v, nsec_t now)
{
	if (now < v->look)
		return;
	list_for_each_safe(it, tmp, &v->devs)
	{
		device_removal_look_at(container_of(it, struct verbs_dev, link));
	}
	v->look = list_is_empty(&v->devs) ? NSEC_NEVER : now + LOOK_MS * NSEC_PER_MS;
}
