/* SPDX-License-Identifier: BSD-2-Clause */
/* Any octets as the beginning of a call, cut anywhere: plan_reply_max() and plan_strip_pad() read
 * nothing beyond them, and answer within what they promise. */
#include <stdint.h>
#include <stdlib.h>

#include "proxy/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view whole = view_of(data, size),
		    halves[2] = {view_of(data, size / 3),
				 view_of(data + size / 3, size - size / 3)};
	struct rpc_chunk chunk;
	struct rpchdr hdr;

	if (size == 0)
		return 0;
	chunk = (struct rpc_chunk){.position = data[0] * 4u, .length = data[size - 1]};
	for (uint64_t removed = 0; removed < 16; removed += 8) {
		uint64_t item = plan_strip_pad(&whole, 1, &chunk, removed);

		if (item > chunk.length || chunk.length - item > 3 ||
		    item != plan_strip_pad(halves, 2, &chunk, removed))
			abort();
	}
	if (rpchdr_peek(&hdr, whole) != 0 || hdr.mtype != 0)
		return 0;
	/* A Write chunk never makes the rest of a reply longer, nor the reply known or unknown but
	 * for what it carries. */
	if (plan_reply_max(&hdr, whole, 0) &&
	    plan_reply_max(&hdr, whole, 1) > plan_reply_max(&hdr, whole, 0))
		abort();
	return 0;
}
