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

/** device - a device as one worker uses it: notifications */

/** device_get - @context as this instance uses it for connections of @domain, opened if needed.
 * NULL: failed (logged). */
struct verbs_dev *device_get(struct verbs *v, struct ibv_context *context, uint32_t domain);

/** device_adopt - the device that @id leads to is open now, so its removal must be noticed.
 * Return: false: it cannot be used, at least not yet. */
bool device_adopt(struct verbs *v, const struct rdma_cm_id *id) WARN_UNUSED;

/** device_free - takes @dev; closes the device for this instance. */
void device_free(struct verbs_dev *dev);

/** device_async - read all pending asynchronous events of the device. */
void device_async(struct verbs_dev *dev);

/** device_put - a connection no longer uses @dev. If the device was removed, the last connection
 * also frees what the worker has of the device. */
void device_put(struct verbs_dev *dev);

/** device_refuses - the device did not release memory that peers could reach, even without the
 * queue pair: it has failed. */
void device_refuses(struct verbs_dev *dev);

/** device_lost_key - a peer invalidated the registration that all connections send from: the
 * device is closed, and the next connection opens it again. */
void device_lost_key(struct verbs_dev *dev);

#endif
