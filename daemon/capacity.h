/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_CAPACITY_H
#define DAEMON_CAPACITY_H

#include <stdio.h>

#include "config/config.h"

/**
 * capacity - how many workers and sessions a configuration gets on this machine, and how much
 * memory a session takes
 *
 * Computed from processors and memory_limit. Descriptors (daemon/descriptors.h) may allow fewer
 * sessions.
 */

/** capacity_cpus - processors that this process may use, within the limits of its container: at
 * least 1. */
unsigned capacity_cpus(void);

/**
 * capacity_print - report the capacity of a configuration
 * @begin:    starts each line on @out
 * @file:     name of the configuration
 * @out:      gets a line for the process and a line for each route
 * @warnings: gets a line for each route for which memory_limit allows only few sessions
 */
void capacity_print(const struct config *cfg, const char *begin, const char *file, FILE *out,
		    FILE *warnings);

/** capacity_log - log event=limit for each route for which memory allows only few sessions; each of
 * the @workers has @worker_bytes octets. */
void capacity_log(const struct config *cfg, uint32_t workers, uint64_t worker_bytes);

#endif
