/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_CONTEXT_H
#define FABRIC_VERBS_CONTEXT_H

#include <stdbool.h>

#include "base/err.h"

struct verbs_dev;

/** context - a device as the process has it */

/** context_hold - @dev joins those that use its context; its .contexts are all that are open now. */
int context_hold(struct verbs_dev *dev) WARN_UNUSED;

/** context_release - @dev leaves them; the last one releases a removed device. */
void context_release(struct verbs_dev *dev);

/** context_failures - number of failure events of its context. */
unsigned context_failures(const struct verbs_dev *dev);

/** context_failed - an event reported a failure: count it for all workers. */
void context_failed(struct verbs_dev *dev);

/** context_is_gone - whether its entry in sysfs is gone. */
bool context_is_gone(const struct verbs_dev *dev);

#endif
