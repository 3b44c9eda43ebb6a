/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdr/cursor.h"

#include <string.h>

static const uint8_t *cursor_take(struct xdr_in *x, size_t n)
{
	const uint8_t *p = x->pos;

	if (x->failed || xdr_in_left(x) < n) {
		x->failed = true;
		return NULL;
	}
	x->pos += n;
	return p;
}

uint32_t xdr_get_u32(struct xdr_in *x)
{
	const uint8_t *p = cursor_take(x, 4);

	return p ? xdr_peek_u32(p) : 0;
}

uint64_t xdr_get_u64(struct xdr_in *x)
{
	uint64_t high = xdr_get_u32(x);

	return high << 32 | xdr_get_u32(x);
}

bool xdr_get_bool(struct xdr_in *x)
{
	uint32_t v = xdr_get_u32(x);

	if (v > 1)
		x->failed = true;
	return v == 1 && !x->failed;
}

struct view xdr_get_opaque(struct xdr_in *x, uint32_t max)
{
	uint32_t len = xdr_get_u32(x);
	const uint8_t *p;

	if (len > max)
		x->failed = true;
	p = cursor_take(x, (size_t)len + xdr_pad(len));
	return p ? view_of(p, len) : view_of(NULL, 0);
}

void xdr_skip(struct xdr_in *x, size_t octets)
{
	cursor_take(x, octets);
}

struct segment xdr_get_segment(struct xdr_in *x)
{
	struct segment s = {.handle = xdr_get_u32(x)};

	s.length = xdr_get_u32(x);
	s.offset = xdr_get_u64(x);
	return s;
}

static uint8_t *room(struct xdr_out *x, size_t n)
{
	uint8_t *p = x->pos;

	if (x->failed || (size_t)(x->end - x->pos) < n) {
		x->failed = true;
		return NULL;
	}
	x->pos += n;
	return p;
}

void xdr_put_u32(struct xdr_out *x, uint32_t v)
{
	uint8_t *p = room(x, 4);

	if (!p)
		return;
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

void xdr_put_u64(struct xdr_out *x, uint64_t v)
{
	xdr_put_u32(x, (uint32_t)(v >> 32));
	xdr_put_u32(x, (uint32_t)v);
}

void xdr_put_opaque(struct xdr_out *x, struct view v)
{
	size_t padded = v.len + xdr_pad(v.len);
	uint8_t *p;

	xdr_put_u32(x, (uint32_t)v.len);
	p = room(x, padded);
	if (!p)
		return;
	if (v.len)
		memcpy(p, v.data, v.len);
	memset(p + v.len, 0, padded - v.len);
}

void xdr_put_segment(struct xdr_out *x, const struct segment *s)
{
	xdr_put_u32(x, s->handle);
	xdr_put_u32(x, s->length);
	xdr_put_u64(x, s->offset);
}
