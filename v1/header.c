/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: decode() takes the four fixed words, then by type the three chunk
 * lists (rpc/lists.h) into the message's chunk tables, and only then looks at the RPC message
 * behind them: its direction decides what the lists mean.
 *
 *   RDMA_MSG, RDMA_MSGP   inline     msg_type of the RPC header         -> call or reply
 *   RDMA_NOMSG            external   Position-Zero Read chunk present   -> call, else reply
 */
#include "v1/header.h"

#include "rpc/lists.h"
#include "xdr/cursor.h"

static int decode_error(struct v1_header *h, struct xdr_in *x)
{
	h->err = xdr_get_u32(x);
	if (h->err == V1_ERR_VERS) {
		h->low = xdr_get_u32(x);
		h->high = xdr_get_u32(x);
	}
	return x->failed ? ERR_SHORT : 0;
}

int v1_header_decode(struct v1_header *h, struct rpc_msg *m, bool *dir_known, struct view in)
{
	const uint8_t *fixed;
	struct xdr_in x;
	int rc;

	*h = (struct v1_header){0};
	*dir_known = false;
	xdr_in_init(&x, in);
	fixed = xdr_take(&x, V1_FIXED_BYTES);
	if (!fixed)
		return ERR_SHORT;
	h->xid = xdr_peek_u32(fixed);
	h->vers = xdr_peek_u32(fixed + 4);
	h->credit = xdr_peek_u32(fixed + 8);
	h->proc = xdr_peek_u32(fixed + 12);
	if (h->proc == V1_ERROR)
		return decode_error(h, &x);
	if (h->vers != V1_VERSION)
		return ERR_VERS;
	if (h->proc == V1_DONE)
		return 0;
	if (h->proc > V1_ERROR)
		return ERR_TYPE;
	rpc_msg_reset(m, h->xid, RPC_CALL);
	if (h->proc == V1_MSGP)
		xdr_skip(&x, 8); /* rdma_align, rdma_thresh */
	rc = rpc_lists_get(&x, m);
	if (rc)
		return rc;
	/* Octets behind the lists are ignored: an RDMA_NOMSG message has none there. */
	if (h->proc == V1_NOMSG)
		return rpc_lists_external(m, dir_known);
	return rpc_lists_inline(m, xdr_in_rest(&x), dir_known);
}
