/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdr/rpchdr.h"

#include "xdr/cursor.h"

int rpchdr_peek(struct rpchdr *h, struct view body)
{
	struct xdr_in x;
	uint32_t rpcvers;

	*h = (struct rpchdr){0};
	xdr_in_init(&x, body);
	h->xid = xdr_get_u32(&x);
	h->mtype = xdr_get_u32(&x);
	if (x.failed)
		return ERR_SHORT;
	if (h->mtype == 1)
		return 0;
	if (h->mtype != 0)
		return ERR_XDR;
	rpcvers = xdr_get_u32(&x);
	h->prog = xdr_get_u32(&x);
	h->vers = xdr_get_u32(&x);
	h->proc = xdr_get_u32(&x);
	if (x.failed)
		return ERR_SHORT;
	return rpcvers == 2 ? 0 : ERR_XDR;
}
