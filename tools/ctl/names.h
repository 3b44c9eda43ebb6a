/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CTL_NAMES_H
#define TOOLS_CTL_NAMES_H

#include <stddef.h>

#include "tools/ctl/options.h"

struct json_object;

/** names - names of RPC programs and procedures. */

/** names_choose - set @want from @program ("nfs3", "100003") and @procedure ("read", "6"), which
 * may be NULL. Return: NULL, or the unknown word. */
const char *names_choose(const char *program, const char *procedure, struct ctl_rpcs *want);

/** names_rpc - write the name of @rpc, an object of the gateway's answer, into @text: "nfs3 read".
 * Return: @text. */
const char *names_rpc(struct json_object *rpc, char *text, size_t size);

#endif
