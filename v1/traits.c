/* SPDX-License-Identifier: BSD-2-Clause */
#include "v1/traits.h"

#include "v1/header.h"

enum {
	WORD = 4,
	/* RFC 8166 section 4. Three lists, each with a zero word at its end; the count of a chunk;
	 * handle, length and offset of a segment. */
	LISTS = 3 * WORD,
	COUNT = WORD,
	SEGMENT = 4 * WORD,
};

const struct rpc_traits v1_traits = {
	.counts_calls = true,
	.padded_reads = true,
	.unsure_lengths = true,
	.joined_bytes = 1 << 20, /* NFS-Ganesha asserts that no segment is longer */
	.call_header = V1_FIXED_BYTES + LISTS,
	.reply_header = V1_FIXED_BYTES + LISTS,
	.segment = SEGMENT,
	.read_segment = WORD + WORD + SEGMENT, /* word "one follows", Position, segment */
	.write_chunk = WORD + COUNT,
	/* The word for the presence of a Reply chunk is always there; RDMA_NOMSG has the fields of
	 * RDMA_MSG. */
	.reply_chunk = COUNT,
	.reply_used = COUNT,
};
