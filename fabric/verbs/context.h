/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_CONTEXT_H
#define FABRIC_VERBS_CONTEXT_H

#include <stdbool.h>

#include "base/err.h"

struct verbs_dev;

/** context - the ibv_context of a device, which all workers of the process share. */

/** context_hold - count @dev as a user of its context, and set .contexts to a list of all devices
 * that are open now. Return: 0 or ERR_NOMEM. */
int context_hold(struct verbs_dev *dev) WARN_UNUSED;

/** context_release - @dev no longer uses its context. If the device was removed, the last user
 * closes the context's descriptors. */
void context_release(struct verbs_dev *dev);

/** context_failures - number of failure events of the context of @dev so far. */
unsigned context_failures(const struct verbs_dev *dev);

/** context_failed - count a failure event of the context of @dev, for all workers. */
void context_failed(struct verbs_dev *dev);

/** context_is_gone - whether the device was removed: its entry in sysfs is gone. */
bool context_is_gone(const struct verbs_dev *dev);

#endif
