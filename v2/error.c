/* SPDX-License-Identifier: BSD-2-Clause */
#include "v2/error.h"

/* The table that maps codes on the wire to neutral codes, and back. */
static const struct error_row {
	uint32_t wire;
	enum rpc_error_code code;
	unsigned words; /* words of the union's arm: rpc_error.a, then .b */
} rows[] = {
	{V2_ERR_VERS, RPC_ERROR_VERS, 2},
	{V2_ERR_BAD_XDR, RPC_ERROR_BAD_XDR, 0},
	{V2_ERR_BAD_PROPVAL, RPC_ERROR_BAD_PROPVAL, 0},
	{V2_ERR_INVAL_HTYPE, RPC_ERROR_INVAL_HTYPE, 0},
	{V2_ERR_INVAL_CONT, RPC_ERROR_INVAL_CONT, 0},
	{V2_ERR_READ_CHUNKS, RPC_ERROR_READ_CHUNKS, 1},
	{V2_ERR_WRITE_CHUNKS, RPC_ERROR_WRITE_CHUNKS, 1},
	{V2_ERR_SEGMENTS, RPC_ERROR_SEGMENTS, 1},
	{V2_ERR_WRITE_RESOURCE, RPC_ERROR_WRITE_RESOURCE, 2},
	{V2_ERR_REPLY_RESOURCE, RPC_ERROR_REPLY_RESOURCE, 1},
	{V2_ERR_VERS_MISMATCH, RPC_ERROR_VERS_MISMATCH, 0},
	{V2_ERR_SYSTEM, RPC_ERROR_SYSTEM, 0},
	/* Encoding only: a version 1 server does not tell the cause. */
	{V2_ERR_SYSTEM, RPC_ERROR_CHUNK, 0},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

int v2_error_decode(struct v2_parse *p, struct v2_hdr *h, struct rpc_msg *m)
{
	uint32_t wire = xdr_get_u32(&p->x);
	const struct error_row *row = rows;

	(void)m;
	h->error = (struct rpc_error){.code = RPC_ERROR_SYSTEM};
	while (row < rows + ROWS && row->wire != wire)
		row++;
	h->error_known = row < rows + ROWS;
	if (!h->error_known)
		return 0;
	h->error.code = row->code;
	if (row->words > 0)
		h->error.a = xdr_get_u32(&p->x);
	if (row->words > 1)
		h->error.b = xdr_get_u32(&p->x);
	return 0;
}

void v2_error_encode(struct xdr_out *x, const struct v2_hdr *h, const struct rpc_msg *m)
{
	const struct error_row *row = rows;

	(void)m;
	while (row < rows + ROWS - 1 && row->code != h->error.code)
		row++;
	xdr_put_u32(x, row->wire);
	if (row->words > 0)
		xdr_put_u32(x, h->error.a);
	if (row->words > 1)
		xdr_put_u32(x, h->error.b);
}
