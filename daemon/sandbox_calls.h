/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_SANDBOX_CALLS_H
#define DAEMON_SANDBOX_CALLS_H

#include "config/config.h"

/**
 * sandbox_calls - from now on the kernel refuses (EPERM) what a gateway that serves does not ask of it, to all
 * threads
 *
 * Return: 1; 0: the kernel has no filters; or a negative errno.
 */
int sandbox_calls(const struct config *cfg) WARN_UNUSED;

/** sandbox_uses_devices - whether a route is over RDMA devices; a reload brings none. */
bool sandbox_uses_devices(const struct config *cfg);

#endif
