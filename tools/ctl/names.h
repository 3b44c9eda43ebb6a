/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CTL_NAMES_H
#define TOOLS_CTL_NAMES_H

#include <stddef.h>

#include "tools/ctl/options.h"

struct json_object;

/** names - of RPC programs and procedures, for people. */

/** names_choose - @program ("nfs3", "100003"), @procedure ("read", "6"), either may be NULL, into @want. Return:
 * NULL, or the word that is not known. */
const char *names_choose(const char *program, const char *procedure, struct ctl_rpcs *want);

/** names_rpc - "nfs3 read": what the gateway tells of @rpc, into @text. Return: @text. */
const char *names_rpc(struct json_object *rpc, char *text, size_t size);

#endif
