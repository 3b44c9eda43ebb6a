/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CTL_RPC_H
#define TOOLS_CTL_RPC_H

#include "tools/ctl/show.h"

/** rpc_show - print an RPC that has ended, step by step, as a line of a table. */
void rpc_show(struct show *s, struct json_object *rpc);

#endif
