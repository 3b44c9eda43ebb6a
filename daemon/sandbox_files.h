/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_SANDBOX_FILES_H
#define DAEMON_SANDBOX_FILES_H

#include "config/config.h"

/**
 * sandbox_files - restrict this thread, and threads it makes, to the files that a reload, the
 * removal of the control socket and RDMA devices need
 *
 * Return: the version of Landlock; 0: the kernel has none; or a negative errno.
 */
int sandbox_files(const struct config *cfg, const char *file) WARN_UNUSED;

#endif
