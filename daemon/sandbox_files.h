/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_SANDBOX_FILES_H
#define DAEMON_SANDBOX_FILES_H

#include "config/config.h"

/**
 * sandbox_files - from now on there are no files but those that a reload, the control socket's end and RDMA
 * devices need, for this thread and those it makes
 *
 * Return: the version of Landlock; 0: the kernel has none; or a negative errno.
 */
int sandbox_files(const struct config *cfg, const char *file) WARN_UNUSED;

#endif
