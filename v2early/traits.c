/* SPDX-License-Identifier: BSD-2-Clause */
#include "v2early/traits.h"

#include "v2early/header.h"

enum {
	WORD = 4,
	/* Section 4.2: the direction; three lists, each ended by a word that is zero; a chunk's count; a
	 * handle, a length, an offset. */
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
	.read_segment = WORD + WORD + SEGMENT, /* one follows; position */
	.write_chunk = WORD + COUNT,
	/* Whether there is a Reply chunk is a word in any case; RDMA2_NOMSG has the fields of RDMA2_MSG. */
	.reply_chunk = COUNT,
	.reply_used = COUNT,
};
