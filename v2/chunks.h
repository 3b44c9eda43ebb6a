/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2_CHUNKS_H
#define V2_CHUNKS_H

#include "v2/header.h"

/**
 * Chunk lists (sections 4.5 and 8.3). Every v2_get_* returns 0 or an error with p->fault set:
 * RDMA2_ERR_BAD_XDR for what cannot be parsed or is out of order, RDMA2_ERR_SEGMENTS, _READ_CHUNKS
 * or _WRITE_CHUNKS for more than this end accepts.
 */

/** v2_get_call_chunk - rdma_call: one or more Read segments, all at Position zero. */
int v2_get_call_chunk(struct v2_parse *p, struct rpc_msg *m);

/** v2_get_reads - rdma_reads: data item chunks by rising Position, none at zero. */
int v2_get_reads(struct v2_parse *p, struct rpc_msg *m);

/** v2_get_writes - a list of Write chunks. */
int v2_get_writes(struct v2_parse *p, struct rpc_msg *m);

/** v2_get_write_chunk - an optional Write chunk into @c; @present: whether there is one. */
int v2_get_write_chunk(struct v2_parse *p, struct rpc_msg *m, struct rpc_chunk *c, bool *present);

/** v2_has_handle - whether a segment of @m, the decoded header, has @handle (section 6.5). */
bool v2_has_handle(const struct rpc_msg *m, uint32_t handle);

/** v2_put_* - append the lists of @m, or the chunk @c, to @x; lack of room shows in the cursor. */
void v2_put_read_chunk(struct xdr_out *x, const struct rpc_msg *m, const struct rpc_chunk *c);
void v2_put_reads(struct xdr_out *x, const struct rpc_msg *m);
void v2_put_writes(struct xdr_out *x, const struct rpc_msg *m);
void v2_put_write_chunk(struct xdr_out *x, const struct rpc_msg *m, const struct rpc_chunk *c);

/** v2_*_len - octets that the encoded lists of @m take, their terminating words included. */
size_t v2_reads_len(const struct rpc_msg *m);
size_t v2_writes_len(const struct rpc_msg *m);

enum {
	V2_WORD = 4,
	V2_READ_SEGMENT_BYTES = 24, /* discriminator, Position, segment */
	V2_SEGMENT_BYTES = 16,
};

#endif
