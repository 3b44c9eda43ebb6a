/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_DEVICE_SELECT_H
#define FABRIC_VERBS_DEVICE_SELECT_H

#include "base/err.h"

struct verbs;
struct verbs_config;

/** device_select - the devices to which configured addresses lead. */

/** device_select_open - open the devices of the addresses in @cfg->uses; all devices if there are
 * none, or an address leads to no device. Return: 0, or ERR_IO: no device can be used, or one of
 * the requested devices was rejected. */
int device_select_open(struct verbs *v, const struct verbs_config *cfg) WARN_UNUSED;

#endif
