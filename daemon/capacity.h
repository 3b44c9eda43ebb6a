/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_CAPACITY_H
#define DAEMON_CAPACITY_H

#include <stdio.h>

#include "config/config.h"

/**
 * capacity - what a configuration comes to on this machine: workers, sessions, and memory of a session
 *
 * It goes by processors and memory_limit. Descriptors (daemon/descriptors.h) may allow fewer sessions still.
 */

/** capacity_cpus - processors that this process may run on, a container's part of the machine: at least 1. */
unsigned capacity_cpus(void);

/** capacity_print - a line for the process and one for each route to @out, each behind @begin; to @warnings a line for
 * each route that memory_limit feeds few sessions of. @file: the configuration's name. */
void capacity_print(const struct config *cfg, const char *begin, const char *file, FILE *out,
		    FILE *warnings);

/** capacity_log - event=limit for each of these routes, where @workers have @worker_bytes each. */
void capacity_log(const struct config *cfg, uint32_t workers, uint64_t worker_bytes);

#endif
