/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef XDR_CURSOR_H
#define XDR_CURSOR_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/view.h"

/**
 * Bounded XDR cursors (RFC 4506). The error is sticky: after a read past the end
 * every further read returns zero, so a codec checks once at the end of a
 * structure. Big-endian values never leave these functions.
 */
enum { XDR_EMPTY_LISTS = 3 * 4 }; /* octets of xdr_get_empty_lists() */

struct xdr_in {
	const uint8_t *pos, *end;
	bool failed;
};

struct xdr_out {
	uint8_t *start, *pos, *end;
	bool failed;
};

/** xdr_in_init - read from @v, which must outlive the cursor. */
static inline void xdr_in_init(struct xdr_in *x, struct view v)
{
	*x = (struct xdr_in){.pos = v.data, .end = v.data + v.len};
}

/** xdr_in_left - octets not yet read. */
static inline size_t xdr_in_left(const struct xdr_in *x)
{
	return (size_t)(x->end - x->pos);
}

/** xdr_pad - octets of XDR roundup that follow @len octets: 0 to 3. */
static inline uint32_t xdr_pad(uint64_t len)
{
	return (uint32_t)(-len & 3);
}

/** xdr_peek_u32 - the big-endian word at @p, which must hold four octets. */
static inline uint32_t xdr_peek_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

/** xdr_take - the next @n octets, which count as read; NULL and sticky failure at the end. */
static inline const uint8_t *xdr_take(struct xdr_in *x, size_t n)
{
	const uint8_t *p = x->pos;

	if (x->failed || xdr_in_left(x) < n) {
		x->failed = true;
		return NULL;
	}
	x->pos = p + n;
	return p;
}

/** xdr_get_u32, xdr_get_u64 - the next word; 0 and sticky failure at the end. (Inline, because
 * each message has some forty words of headers.) */
static inline uint32_t xdr_get_u32(struct xdr_in *x)
{
	const uint8_t *p = xdr_take(x, 4);

	return p ? xdr_peek_u32(p) : 0;
}

uint64_t xdr_get_u64(struct xdr_in *x);

/** xdr_get_bool - an XDR bool or optional discriminator; a value other than 0 or 1 fails. */
static inline bool xdr_get_bool(struct xdr_in *x)
{
	uint32_t v = xdr_get_u32(x);

	if (v > 1)
		x->failed = true;
	return v == 1;
}

/** xdr_get_empty_lists - whether the next three words are zero: three lists, or optional chunks,
 * are empty. If they are, they count as read; if not, nothing is read. Most messages have three
 * empty lists. */
static inline bool xdr_get_empty_lists(struct xdr_in *x)
{
	static const uint8_t none[XDR_EMPTY_LISTS];

	if (x->failed || xdr_in_left(x) < sizeof(none) || memcmp(x->pos, none, sizeof(none)) != 0)
		return false;
	x->pos += sizeof(none);
	return true;
}

/** xdr_get_opaque - counted octets with their pad; fails if longer than @max. Borrowed view. */
static inline struct view xdr_get_opaque(struct xdr_in *x, uint32_t max)
{
	uint32_t len = xdr_get_u32(x);
	const uint8_t *p;

	if (len > max)
		x->failed = true;
	p = xdr_take(x, (size_t)len + xdr_pad(len));
	return p ? view_of(p, len) : view_of(NULL, 0);
}

/** xdr_skip - step over @octets (already padded by the caller). */
static inline void xdr_skip(struct xdr_in *x, size_t octets)
{
	(void)xdr_take(x, octets);
}

/** xdr_get_segment - handle, length, offset: the layout versions 1 and 2 share. */
struct segment xdr_get_segment(struct xdr_in *x);

/** xdr_in_rest - view of everything not yet read. */
static inline struct view xdr_in_rest(const struct xdr_in *x)
{
	return view_of(x->pos, xdr_in_left(x));
}

/** xdr_out_init - write to @buf of @cap octets. */
static inline void xdr_out_init(struct xdr_out *x, uint8_t *buf, size_t cap)
{
	*x = (struct xdr_out){.start = buf, .pos = buf, .end = buf + cap};
}

/** xdr_out_len - octets written so far. */
static inline size_t xdr_out_len(const struct xdr_out *x)
{
	return (size_t)(x->pos - x->start);
}

/** xdr_has_room - whether there is room for @n more octets; sticky failure if not. */
static inline bool xdr_has_room(struct xdr_out *x, size_t n)
{
	if (!x->failed && (size_t)(x->end - x->pos) >= n)
		return true;
	x->failed = true;
	return false;
}

/** xdr_poke_u32 - @v as the big-endian word at @p. */
static inline void xdr_poke_u32(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

/** xdr_put_* - append; a write past the end changes nothing and fails stickily. */
static inline void xdr_put_u32(struct xdr_out *x, uint32_t v)
{
	if (!xdr_has_room(x, 4))
		return;
	xdr_poke_u32(x->pos, v);
	x->pos += 4;
}

/** xdr_put_prefix - the four words with which the header of every version begins. */
static inline void xdr_put_prefix(struct xdr_out *x, uint32_t xid, uint32_t vers, uint32_t credit,
				  uint32_t type)
{
	if (!xdr_has_room(x, 16))
		return;
	xdr_poke_u32(x->pos, xid);
	xdr_poke_u32(x->pos + 4, vers);
	xdr_poke_u32(x->pos + 8, credit);
	xdr_poke_u32(x->pos + 12, type);
	x->pos += 16;
}

/** xdr_put_empty_lists - what xdr_get_empty_lists() reads. */
static inline void xdr_put_empty_lists(struct xdr_out *x)
{
	if (!xdr_has_room(x, XDR_EMPTY_LISTS))
		return;
	memset(x->pos, 0, XDR_EMPTY_LISTS);
	x->pos += XDR_EMPTY_LISTS;
}

void xdr_put_u64(struct xdr_out *x, uint64_t v);
void xdr_put_opaque(struct xdr_out *x, struct view v);
void xdr_put_segment(struct xdr_out *x, const struct segment *s);

#endif
