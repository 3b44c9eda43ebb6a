/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdr/cursor.h"

#include <string.h>

uint64_t xdr_get_u64(struct xdr_in *x)
{
	uint64_t high = xdr_get_u32(x);

	return high << 32 | xdr_get_u32(x);
}

struct segment xdr_get_segment(struct xdr_in *x)
{
	const uint8_t *p = xdr_take(x, 16);

	if (!p)
		return (struct segment){0};
	return (struct segment){.handle = xdr_peek_u32(p),
				.length = xdr_peek_u32(p + 4),
				.offset =
					(uint64_t)xdr_peek_u32(p + 8) << 32 | xdr_peek_u32(p + 12)};
}

void xdr_put_u64(struct xdr_out *x, uint64_t v)
{
	xdr_put_u32(x, (uint32_t)(v >> 32));
	xdr_put_u32(x, (uint32_t)v);
}

void xdr_put_opaque(struct xdr_out *x, struct view v)
{
	size_t padded = v.len + xdr_pad(v.len);

	xdr_put_u32(x, (uint32_t)v.len);
	if (!xdr_has_room(x, padded))
		return;
	if (v.len)
		memcpy(x->pos, v.data, v.len);
	memset(x->pos + v.len, 0, padded - v.len);
	x->pos += padded;
}

void xdr_put_segment(struct xdr_out *x, const struct segment *s)
{
	if (!xdr_has_room(x, 16))
		return;
	xdr_poke_u32(x->pos, s->handle);
	xdr_poke_u32(x->pos + 4, s->length);
	xdr_poke_u32(x->pos + 8, (uint32_t)(s->offset >> 32));
	xdr_poke_u32(x->pos + 12, (uint32_t)s->offset);
	x->pos += 16;
}
