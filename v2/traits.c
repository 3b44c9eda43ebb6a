/* SPDX-License-Identifier: BSD-2-Clause */
#include "v2/traits.h"

#include "v2/message.h"

enum {
	WORD = 4,
	/* Sections 6.3.5 to 6.3.10, 6.4. The handle to invalidate; the lists, each with a zero word
	 * at its end; the count of a chunk; handle, length and offset of a segment. */
	LIST = WORD,
	COUNT = WORD,
	SEGMENT = 4 * WORD,
};

const struct rpc_traits v2_traits = {
	.continues = true,
	.negotiates = true,
	.resends = true,
	.refuses_forms = true,
	.names_inv = true,
	.places = true,
	.joined_bytes = UINT32_MAX, /* the peer announces it in property 3 (draft-07 5.2.3) */
	.call_header = V2_PREFIX_BYTES + WORD + 3 * LIST,
	.reply_header = V2_PREFIX_BYTES + LIST,
	.part_header = V2_MIDDLE_BYTES,
	.segment = SEGMENT,
	.read_segment = WORD + WORD + SEGMENT, /* word "one follows", Position, segment */
	.write_chunk = WORD + COUNT,
	/* RDMA2_CALL_INLINE has a field for the Reply chunk, RDMA2_REPLY_INLINE has none. */
	.reply_chunk = COUNT,
	.reply_used = WORD + COUNT,
	/* RDMA2_CALL_EXTERNAL has one list more. */
	.call_chunk = LIST,
};
