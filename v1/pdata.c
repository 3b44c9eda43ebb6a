/* SPDX-License-Identifier: BSD-2-Clause */
#include "v1/pdata.h"

#include <string.h>

#include "xdr/cursor.h"

#define PDATA_MAGIC 0xf6ab0e18u
enum { PDATA_VERSION = 1, PDATA_R = 0x01 };

/* Section 4.2: n stands for (n + 1) * 1024 octets. */
static uint32_t decode_size(uint8_t n)
{
	return ((uint32_t)n + 1) * 1024;
}

static uint8_t encode_size(uint32_t bytes)
{
	if (bytes < V1_PDATA_MIN_SIZE)
		return 0;
	if (bytes > V1_PDATA_MAX_SIZE)
		bytes = V1_PDATA_MAX_SIZE;
	return (uint8_t)(bytes / 1024 - 1);
}

/*
 * Section 5.2: the identifier is searched for at any offset. Then the version is checked, and that
 * all octets are there. If a check fails, the octets may be another layer's, so the search goes on
 * behind them.
 */
void v1_pdata_parse(struct v1_pdata *p, struct view in)
{
	const uint8_t *d;

	*p = (struct v1_pdata){.send_bytes = V1_PDATA_MIN_SIZE, .recv_bytes = V1_PDATA_MIN_SIZE};
	for (size_t at = 0; at + V1_PDATA_BYTES <= in.len; at++) {
		d = in.data + at;
		if (xdr_peek_u32(d) != PDATA_MAGIC || d[4] != PDATA_VERSION)
			continue;
		/* Receivers MUST ignore the reserved bits: section 4. */
		p->present = true;
		p->remote_inv = d[5] & PDATA_R;
		p->send_bytes = decode_size(d[6]);
		p->recv_bytes = decode_size(d[7]);
		return;
	}
}

void v1_pdata_encode(uint8_t out[V1_PDATA_BYTES], const struct rpc_params *own)
{
	struct xdr_out x;

	xdr_out_init(&x, out, V1_PDATA_BYTES);
	xdr_put_u32(&x, PDATA_MAGIC);
	out[4] = PDATA_VERSION;
	out[5] = own->remote_inv ? PDATA_R : 0;
	out[6] = encode_size(own->send_bytes);
	out[7] = encode_size(own->recv_bytes);
}
