/* SPDX-License-Identifier: BSD-2-Clause */
#include "v2early/traits.h"

#include "v2early/header.h"

enum {
	WORD = 4,
	/* Section 4.2. The direction; three lists, each with a zero word at its end; the count of a
	 * chunk; handle, length and offset of a segment. */
	DIRECTION = WORD,
	LISTS = 3 * WORD,
	COUNT = WORD,
	SEGMENT = 4 * WORD,
};

const struct rpc_traits early_traits = {
	.counts_calls = true,
	.places = true,
	.joined_bytes = 1 << 20, /* as in version 1 */
	.call_header = EARLY_FIXED_BYTES + DIRECTION + LISTS,
	.reply_header = EARLY_FIXED_BYTES + DIRECTION + LISTS,
	.segment = SEGMENT,
	.read_segment = WORD + WORD + SEGMENT, /* word "one follows", Position, segment */
	.write_chunk = WORD + COUNT,
	/* The word for the presence of a Reply chunk is always there; RDMA2_NOMSG has the fields of
	 * RDMA2_MSG. */
	.reply_chunk = COUNT,
	.reply_used = COUNT,
};
