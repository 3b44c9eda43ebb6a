/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdr/rpchdr.h"

#include "xdr/cursor.h"

enum { REPLY_WORDS = 2, CALL_WORDS = 6 };

/* This runs once or twice for each relayed message, so the length is checked only once. */
int rpchdr_peek(struct rpchdr *h, struct view body)
{
	const uint8_t *p = body.data;

	*h = (struct rpchdr){0};
	if (body.len < (size_t)4 * REPLY_WORDS)
		return ERR_SHORT;
	h->xid = xdr_peek_u32(p);
	h->mtype = xdr_peek_u32(p + 4);
	if (h->mtype == 1)
		return 0;
	if (h->mtype != 0)
		return ERR_XDR;
	if (body.len < (size_t)4 * CALL_WORDS)
		return ERR_SHORT;
	h->prog = xdr_peek_u32(p + 12);
	h->vers = xdr_peek_u32(p + 16);
	h->proc = xdr_peek_u32(p + 20);
	return xdr_peek_u32(p + 8) == 2 ? 0 : ERR_XDR;
}
