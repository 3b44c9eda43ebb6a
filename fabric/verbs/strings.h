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
 * strings_setup - the cause for which a step of a connection's set-up failed, and what an operator
 * can do about it
 * @err: errno, of either sign
 *
 * ERR_LOCAL is a failure of this machine, so the peer may be in order: ports, descriptors or memory
 * are short, or a policy forbids the address.
 * Return: enum err, with *@why set; @otherwise, with *@why unchanged, if @err says no more than
 *         that the step failed.
 */
int strings_setup(int err, int otherwise, const char **why);

/** strings_async - the cause of a connection's end for a device's event @type about its queue pair.
 * Return: enum err, with *@why in words. */
int strings_async(int type, const char **why);

#endif
