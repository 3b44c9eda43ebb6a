/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_SANDBOX_H
#define DAEMON_SANDBOX_H

#include "config/config.h"

/**
 * sandbox - give up all privileges that a serving gateway does not need
 *
 * An attacker who takes over a worker with a crafted message can run no other program, cannot
 * write, create or remove files, can read only the configuration and files beside it, and cannot
 * signal or change another process. If the kernel lacks Landlock or filters, that part is omitted
 * and the log says so.
 */

struct sandbox {
	const struct config *cfg; /* borrowed: the configuration that is served */
	const char *file;	  /* where it was read and will be read again */
	int landlock;		  /* private: Landlock version */
};

/**
 * sandbox_before_devices - steps that must come before RDMA devices are opened
 *
 * The kernel serves an open device only while the process has exactly the credentials it had at
 * open. So privileges and files are given up first. As a result, no privilege is left to listen on
 * ports below 1024.
 *
 * Return: 0, or ERR_IO (logged): the kernel has the feature, but the call failed.
 */
int sandbox_before_devices(struct sandbox *s) WARN_UNUSED;

/** sandbox_before_threads - the remaining steps, irrevocable. Call while there is no other thread:
 * threads made later inherit the restrictions. Return: 0, or ERR_IO (logged). */
int sandbox_before_threads(struct sandbox *s) WARN_UNUSED;

#endif
