/* SPDX-License-Identifier: BSD-2-Clause */
#include "v1/header.h"

#include "rpc/lists.h"
#include "xdr/cursor.h"

size_t v1_header_len(const struct rpc_msg *m)
{
	return V1_FIXED_BYTES + rpc_lists_len(m);
}

int v1_header_encode(const struct rpc_msg *m, uint32_t credit, uint8_t *buf, size_t cap,
		     size_t *len)
{
	struct xdr_out x;

	xdr_out_init(&x, buf, cap);
	xdr_put_prefix(&x, m->xid, V1_VERSION, credit, m->has_body_chunk ? V1_NOMSG : V1_MSG);
	rpc_lists_put(&x, m);
	if (x.failed)
		return ERR_NOSPACE;
	*len = xdr_out_len(&x);
	return 0;
}

int v1_error_encode(const struct v1_header *h, uint8_t *buf, size_t cap)
{
	struct xdr_out x;

	xdr_out_init(&x, buf, cap);
	xdr_put_prefix(&x, h->xid, h->vers, h->credit, V1_ERROR);
	xdr_put_u32(&x, h->err);
	if (h->err == V1_ERR_VERS) {
		xdr_put_u32(&x, h->low);
		xdr_put_u32(&x, h->high);
	}
	return x.failed ? ERR_NOSPACE : (int)xdr_out_len(&x);
}
