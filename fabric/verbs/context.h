/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_CONTEXT_H
#define FABRIC_VERBS_CONTEXT_H

#include <stdbool.h>

#include "base/err.h"

struct verbs_dev;

/** context - the context of a device, which all workers of the process share. */

/** context_hold - @dev joins the users of its context; its .contexts are all contexts that are open
 * now. Return: 0 or ERR_NOMEM. */
int context_hold(struct verbs_dev *dev) WARN_UNUSED;

/** context_release - @dev leaves the users of its context; the last user releases a removed device. */
void context_release(struct verbs_dev *dev);

/** context_failures - number of failure events of its context. */
unsigned context_failures(const struct verbs_dev *dev);

/** context_failed - an event reported a failure: count it for all workers. */
void context_failed(struct verbs_dev *dev);

/** context_is_gone - whether its entry in sysfs is gone. */
bool context_is_gone(const struct verbs_dev *dev);

#endif
