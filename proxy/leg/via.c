/* SPDX-License-Identifier: BSD-2-Clause */
#include "proxy/leg/via.h"

#include <assert.h>

#include "xdr/cursor.h"

#define VIA_MAGIC 0x9c5d17e2u
enum { VIA_VERSION = 1, VIA_HEAD = 8, VIA_EACH = 4 };

/* Whether a list begins at @d, of which @len octets are there. */
static bool is_list(const uint8_t *d, size_t len)
{
	return xdr_peek_u32(d) == VIA_MAGIC && d[4] == VIA_VERSION && d[5] > 0 &&
	       d[5] <= VIA_MOST && VIA_HEAD + (size_t)d[5] * VIA_EACH <= len;
}

/* Octets of other layers may stand before and behind the list, as RFC 8797 5.2 allows for its
 * own. */
void via_parse(struct via *via, struct view in)
{
	*via = (struct via){.n = 0};
	for (size_t at = 0; at + VIA_HEAD <= in.len; at++) {
		const uint8_t *d = in.data + at;

		if (!is_list(d, in.len - at))
			continue;
		for (unsigned i = 0; i < d[5]; i++)
			via_add(via, xdr_peek_u32(d + VIA_HEAD + (size_t)i * VIA_EACH));
		return;
	}
}

size_t via_encode(uint8_t out[VIA_BYTES], const struct via *via)
{
	struct xdr_out x;

	if (via->n == 0)
		return 0;
	xdr_out_init(&x, out, VIA_BYTES);
	xdr_put_u32(&x, VIA_MAGIC);
	xdr_put_u32(&x, (uint32_t)VIA_VERSION << 24 | (uint32_t)via->n << 16);
	for (unsigned i = 0; i < via->n; i++)
		xdr_put_u32(&x, via->id[i]);
	return xdr_out_len(&x);
}

bool via_has(const struct via *via, uint32_t id)
{
	for (unsigned i = 0; i < via->n; i++)
		if (via->id[i] == id)
			return true;
	return false;
}

void via_add(struct via *via, uint32_t id)
{
	assert(via->n < VIA_MOST);
	via->id[via->n++] = id;
}
