/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2_PARSE_H
#define V2_PARSE_H

#include "rpc/msg.h"
#include "xdr/cursor.h"

/** struct v2_parse - one decode under way. */
struct v2_parse {
	struct xdr_in x;
	uint32_t max_segments;	/* most segments accepted in the header of a Call */
	struct rpc_error fault; /* after a failure: what to report to the sender */
};

/** v2_parse_fail - set the fault to report. Return: @err, for a decoder's return. */
int v2_parse_fail(struct v2_parse *p, int err, enum rpc_error_code code, uint32_t a);

#endif
