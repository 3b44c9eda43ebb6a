/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_SANDBOX_H
#define DAEMON_SANDBOX_H

#include "config/config.h"

/**
 * sandbox - a process that has all it needs gives up the rest
 *
 * Whoever takes a worker over by a message finds neither another program to run, nor a file to write, to make or to
 * remove, nor files to read but the configuration's and its neighbours', nor another process to signal or to change. What the kernel does
 * not have (Landlock, filters) is left out, and the log says so.
 */

struct sandbox {
	const struct config *cfg; /* borrowed: what is served, */
	const char *file;	  /* and where that was read, and will be read again */
	int landlock;		  /* private: its version */
};

/**
 * sandbox_before_devices - what has to be given up before RDMA devices are opened, if routes use any
 *
 * The kernel serves an open device only as long as who opened it has the very credentials that it had then: so
 * privileges and files go first, and routes that listen on ports below 1024 have none to do so.
 *
 * Return: 0, or ERR_IO (logged): the kernel could, and did not.
 */
int sandbox_before_devices(struct sandbox *s) WARN_UNUSED;

/** sandbox_before_threads - the rest; for good, while there is no other thread: those made later inherit all of
 * it. Return: 0, or ERR_IO (logged). */
int sandbox_before_threads(struct sandbox *s) WARN_UNUSED;

#endif
