/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_SANDBOX_CALLS_H
#define DAEMON_SANDBOX_CALLS_H

#include "config/config.h"

/**
 * sandbox_calls - make the kernel refuse (EPERM), in all threads, every system call that a serving
 * gateway does not need
 *
 * Return: 1; 0: the kernel has no filters; or a negative errno.
 */
int sandbox_calls(const struct config *cfg) WARN_UNUSED;

/** sandbox_uses_devices - whether a route uses RDMA devices. A reload cannot add the first one. */
bool sandbox_uses_devices(const struct config *cfg);

#endif
