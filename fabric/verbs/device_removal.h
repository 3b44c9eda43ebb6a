/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_DEVICE_REMOVAL_H
#define FABRIC_VERBS_DEVICE_REMOVAL_H

#include "base/loop.h"

struct verbs;
struct verbs_dev;

/** device_removal - what happens when a device fails or is removed. */

/** device_removal_lost - @dev failed or was removed: ends its connections. Its objects are freed
 * with the last of them. */
void device_removal_lost(struct verbs_dev *dev);

/** device_removal_tick - every LOOK_MS: check whether the devices in use still exist. */
void device_removal_tick(struct verbs *v, nsec_t now);

#endif
