/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_DEVICE_REMOVAL_H
#define FABRIC_VERBS_DEVICE_REMOVAL_H

#include "base/loop.h"

struct verbs;
struct verbs_dev;

/** device_removal - what happens when a device fails or is removed. */

/** device_removal_lost - @dev failed or was removed: its connections end, its objects are freed with the
 * last. */
void device_removal_lost(struct verbs_dev *dev);

/** device_removal_tick - check whether the devices in use still exist, if that is due (LOOK_MS). */
void device_removal_tick(struct verbs *v, nsec_t now);

#endif
