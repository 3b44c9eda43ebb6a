/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROBE_DEVICE_TRY_H
#define TOOLS_PROBE_DEVICE_TRY_H

#include "base/loop.h"
#include "fabric/verbs/verbs.h"
#include "tools/probe/device.h"

/** device_try - make all trials of @t on @device, whose address is @at. @timeout limits each
 * wait. */
void device_try(struct device_trials *t, struct loop *loop, const char *device,
		const struct fabric_addr *at, nsec_t timeout);

#endif
