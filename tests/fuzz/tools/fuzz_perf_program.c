/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls and replies of rpcrdma-perf's program. The first octet chooses what is decoded, and whether
 * the data is in a chunk. What is parsed encodes to the same octets. */
#include <assert.h>
#include <string.h>

#include "tools/perf/program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_call(struct view body, bool reduced)
{
	uint8_t head[PERF_HEAD_MAX];
	struct perf_call c;
	size_t len;

	if (perf_call_decode(&c, body, reduced) < 0)
		return;
	(void)perf_reply_encode(&c, true, head);
	if (c.stat != PERF_SUCCESS || c.is_rpc_mismatch)
		return;
	assert(c.data.len == 0 || c.data.data + c.data.len <= body.data + body.len);
	len = perf_call_encode(&c, head);
	/* Credential and verifier need not be those of ours. */
	assert(len <= body.len);
	assert(!memcmp(head, body.data, PERF_CALL_HEAD - 16));
}

static void fuzz_reply(enum perf_op op, struct view body, bool reduced)
{
	struct perf_result r;

	if (perf_reply_decode(&r, op, body, reduced) == 0 && r.data.len > 0)
		assert(r.data.len == r.count && r.data.data + r.data.len <= body.data + body.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (data[0] & 0x80)
		fuzz_call(view_of(data + 1, size - 1), data[0] & 0x40);
	else
		fuzz_reply((enum perf_op)(data[0] & 3), view_of(data + 1, size - 1),
			   data[0] & 0x40);
	return 0;
}
