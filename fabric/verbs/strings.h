/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_STRINGS_H
#define FABRIC_VERBS_STRINGS_H

#include <infiniband/verbs.h>
#include <stdbool.h>

#include "base/err.h"

/** strings_completion - the cause of a connection's end for a completion with @status. Return: enum
 * err, with *@why in words (static storage). */
int strings_completion(enum ibv_wc_status status, bool is_recv, const char **why);

/** strings_reject - the cause of a refusal with @reason of the connection manager. Return: enum
 * err, with *@why in words. */
int strings_reject(bool iwarp, int reason, const char **why);

/**
 * strings_local - whether a failure of the connection manager is one of this machine, so that the
 * peer may be in order
 * @err: errno, of either sign
 *
 * Failures of this machine: ports, descriptors or memory are short, or a policy forbids the
 * address.
 * Return: ERR_LOCAL, with *@why set; otherwise @otherwise, and *@why is unchanged.
 */
int strings_local(int err, int otherwise, const char **why);

/** strings_async - the cause of a connection's end for a device's event @type about its queue pair.
 * Return: enum err, with *@why in words. */
int strings_async(int type, const char **why);

#endif
