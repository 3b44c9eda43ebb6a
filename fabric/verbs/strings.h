/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_STRINGS_H
#define FABRIC_VERBS_STRINGS_H

#include <infiniband/verbs.h>
#include <stdbool.h>

#include "base/err.h"

/** strings_completion - meaning of a completion's status for the connection. Return: enum err. */
int strings_completion(enum ibv_wc_status status, bool is_recv, const char **why);

/** strings_reject - why a request was refused. Return: enum err. */
int strings_reject(bool iwarp, int reason, const char **why);

/**
 * strings_local - whether a failure of connection management with @err, an errno of either sign, is
 * this machine's own shortage (ports, descriptors, memory) or policy, and says nothing about the
 * peer. Return: ERR_LOCAL, with @why set; otherwise @otherwise, and @why is unchanged.
 */
int strings_local(int err, int otherwise, const char **why);

/** strings_async - meaning of a device's event about a queue pair. Return: enum err. */
int strings_async(int type, const char **why);

#endif
