/* SPDX-License-Identifier: BSD-2-Clause */
#include "v2/parse.h"

int v2_parse_fail(struct v2_parse *p, int err, enum rpc_error_code code, uint32_t a)
{
	p->fault = (struct rpc_error){.code = code, .a = a};
	return err;
}
