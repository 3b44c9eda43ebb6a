/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/perf/env.h"

#include <stdarg.h>
#include <stdio.h>

#include "proxy/plan/segments.h"

void perf_error(struct perf_errors *e, const char *fmt, ...)
{
	char text[sizeof(e->first)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (e->count++ == 0)
		snprintf(e->first, sizeof(e->first), "%s", text);
	if (e->is_silent || e->count > PERF_ERRORS_TOLD)
		return;
	fprintf(stderr, "rpcrdma-perf: %s\n", text);
	if (e->count == PERF_ERRORS_TOLD)
		fprintf(stderr, "rpcrdma-perf: further errors are counted only\n");
}

int perf_spread_chunk(const struct rpc_msg *from, const struct rpc_chunk *c, uint64_t length,
		      struct rpc_msg *to, struct rpc_chunk *out)
{
	struct segment segs[RPC_MAX_SEGMENTS];
	int err = plan_spread(&from->segs[c->first], c->count, length, segs);

	*out = (struct rpc_chunk){.first = (uint16_t)to->nsegs};
	for (unsigned i = 0; i < c->count && err == 0; i++)
		err = rpc_msg_add_segment(to, out, &segs[i]);
	return err;
}
