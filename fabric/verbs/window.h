/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_WINDOW_H
#define FABRIC_VERBS_WINDOW_H

#include <stdint.h>

#include "base/err.h"

struct ibv_mw;
struct verbs_dev;

/** window - a device's free Memory Windows */

/** device_offset - the offset for the first octet of a registration at @addr: random, or the
 * address if the device supports no other. */
uint64_t device_offset(struct verbs_dev *dev, const void *addr);

/** device_window_get - a free window and, in *@key, the next key to bind it with; NULL: none. */
struct ibv_mw *device_window_get(struct verbs_dev *dev, uint32_t *key);

/** device_window_put - takes @mw, which is no longer bound, back to the free windows. */
void device_window_put(struct verbs_dev *dev, struct ibv_mw *mw);

/** device_window_drop - deallocate @mw, even if it is bound. Return: 0; ERR_IO: the device refused,
 * and @mw is still the caller's. */
int device_window_drop(struct verbs_dev *dev, struct ibv_mw *mw) WARN_UNUSED;

/** device_windows_free - deallocate all free windows. */
void device_windows_free(struct verbs_dev *dev);

#endif
