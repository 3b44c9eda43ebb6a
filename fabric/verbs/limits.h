/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_LIMITS_H
#define FABRIC_VERBS_LIMITS_H

#include "base/err.h"

struct ibv_qp_cap;
struct verbs_dev;

/** limits - capabilities of a device */

/** limits_ask - fill @dev with the limits that the kernel reports. Return: 0 or ERR_IO. */
int limits_ask(struct verbs_dev *dev) WARN_UNUSED;

/** limits_try - reduce the limits of @dev to those that its user library supports, by trials. @dev
 * has a protection domain. Return: 0, or ERR_IO: the device cannot be used. */
int limits_try(struct verbs_dev *dev) WARN_UNUSED;

/** limits_inline - most octets that this code sends inline on a queue pair with @cap. */
unsigned limits_inline(const struct ibv_qp_cap *cap);

/** limits_exposures - how the device exposes memory, in a word. */
const char *limits_exposures(const struct verbs_dev *dev);

/** limits_handles - the scope of the device's handles, in a word. */
const char *limits_handles(const struct verbs_dev *dev);

/** limits_log - log event=verbs.device with what the device offers. */
void limits_log(const struct verbs_dev *dev);

#endif
