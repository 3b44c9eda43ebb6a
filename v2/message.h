/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2_MESSAGE_H
#define V2_MESSAGE_H

#include "v2/header.h"

/** Rows of the header type table (struct v2_type): the six types that convey RPC messages
 * (sections 6.3.5 to 6.3.10). Decoders return 0, or an error with p->fault set; lack of room for an
 * encoder shows in the cursor. */
int v2_call_external_decode(struct v2_parse *p, struct v2_hdr *h, struct rpc_msg *m);
int v2_call_inline_decode(struct v2_parse *p, struct v2_hdr *h, struct rpc_msg *m);
int v2_reply_external_decode(struct v2_parse *p, struct v2_hdr *h, struct rpc_msg *m);
int v2_reply_inline_decode(struct v2_parse *p, struct v2_hdr *h, struct rpc_msg *m);
int v2_middle_decode(struct v2_parse *p, struct v2_hdr *h, struct rpc_msg *m);

void v2_call_external_encode(struct xdr_out *x, const struct v2_hdr *h, const struct rpc_msg *m);
void v2_call_inline_encode(struct xdr_out *x, const struct v2_hdr *h, const struct rpc_msg *m);
void v2_reply_external_encode(struct xdr_out *x, const struct v2_hdr *h, const struct rpc_msg *m);
void v2_reply_inline_encode(struct xdr_out *x, const struct v2_hdr *h, const struct rpc_msg *m);
void v2_middle_encode(struct xdr_out *x, const struct v2_hdr *h, const struct rpc_msg *m);

/** v2_msg_htype - the type of @m's only or last Send: EXTERNAL with a body chunk, else INLINE. */
uint32_t v2_msg_htype(const struct rpc_msg *m);

/** Octets of headers: of a MIDDLE message (the prefix and rdma_remaining), and of INLINE messages
 * without chunks (the prefix, a Call's handle, a word for each list). */
enum {
	V2_MIDDLE_BYTES = V2_PREFIX_BYTES + 4,
	V2_BARE_CALL_BYTES = V2_PREFIX_BYTES + 4 + XDR_EMPTY_LISTS,
	V2_BARE_REPLY_BYTES = V2_PREFIX_BYTES + 4
};

/* Private: for v2_msg_header_len(). */
size_t v2_msg_header_len_of_chunks(const struct rpc_msg *m);

/** v2_msg_header_len - octets of the header of @m's only or last Send. */
static inline size_t v2_msg_header_len(const struct rpc_msg *m)
{
	if (!rpc_msg_lists_are_empty(m))
		return v2_msg_header_len_of_chunks(m);
	return m->dir == RPC_CALL ? V2_BARE_CALL_BYTES : V2_BARE_REPLY_BYTES;
}

#endif
