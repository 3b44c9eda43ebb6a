/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_DEVICE_H
#define FABRIC_VERBS_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct ibv_context;
struct rdma_cm_id;
struct verbs;
struct verbs_dev;

/** device - a device as one worker uses it */

/** device_get - the device with @context, as this instance uses it for connections of @domain.
 * Opens the device if needed. Return: owned by @v; NULL: the device cannot be used (logged). */
struct verbs_dev *device_get(struct verbs *v, struct ibv_context *context, uint32_t domain);

/** device_adopt - make the device that @id leads to one of @v's devices, so that its removal is
 * noticed. Return: false: the device cannot be used, at least not yet. */
bool device_adopt(struct verbs *v, const struct rdma_cm_id *id) WARN_UNUSED;

/** device_free - takes @dev; closes the device for this instance. */
void device_free(struct verbs_dev *dev);

/** device_async - read all pending asynchronous events of the device. */
void device_async(struct verbs_dev *dev);

/** device_put - a connection no longer uses @dev. If the device was removed, and that was its last
 * connection, the worker's objects of the device are freed. */
void device_put(struct verbs_dev *dev);

/** device_refuses - @dev did not release memory that a peer could reach, even after the queue pair
 * was destroyed: counts as a failure of the device, and all its connections end. */
void device_refuses(struct verbs_dev *dev);

/** device_lost_key - a peer invalidated the registration from which all connections send: all
 * connections of @dev end, and the next connection opens the device again. */
void device_lost_key(struct verbs_dev *dev);

#endif
