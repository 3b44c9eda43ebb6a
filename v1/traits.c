/* SPDX-License-Identifier: BSD-2-Clause */
#include "v1/traits.h"

#include "v1/header.h"

enum {
	WORD = 4,
	/* RFC 8166 section 4: three lists, each ended by a word that is zero; a chunk's count; a handle, a
	 * length, an offset. */
	LISTS = 3 * WORD,
	COUNT = WORD,
	SEGMENT = 4 * WORD,
};

const struct rpc_traits v1_traits = {
	.counts_calls = true,
	.padded_reads = true,
	.unsure_lengths = true,
	.joined_bytes = 1 << 20, /* NFS-Ganesha asserts that none is longer */
	.call_header = V1_FIXED_BYTES + LISTS,
	.reply_header = V1_FIXED_BYTES + LISTS,
	.segment = SEGMENT,
	.read_segment = WORD + WORD + SEGMENT, /* one follows; position */
	.write_chunk = WORD + COUNT,
	/* Whether there is a Reply chunk is a word in any case; RDMA_NOMSG has the fields of RDMA_MSG. */
	.reply_chunk = COUNT,
	.reply_used = COUNT,
};
