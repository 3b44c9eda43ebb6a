/* SPDX-License-Identifier: BSD-2-Clause */
#include "proxy/plan/segments.h"

#include <assert.h>

#include "base/min.h"
#include "xdr/cursor.h"

/* Octets of the segment that Linux clients offer behind data whose length is no multiple of four. */
enum { PAD_SEGMENT = 4 };

int plan_spread(const struct segment *in, unsigned n, uint64_t length, struct segment *out)
{
	for (unsigned i = 0; i < n; i++) {
		uint32_t here = (uint32_t)min_u64(in[i].length, length);

		out[i] = in[i];
		out[i].length = here;
		length -= here;
	}
	return length ? ERR_TOOBIG : 0;
}

int plan_split(const struct segment *region, uint32_t max, struct segment *out, unsigned cap)
{
	struct segment rest = *region;
	unsigned n = 0;

	assert(max > 0);
	do {
		uint32_t here = rest.length < max ? rest.length : max;

		if (n == cap)
			return ERR_TOOBIG;
		out[n] = rest;
		out[n++].length = here;
		rest.offset += here;
		rest.length -= here;
	} while (rest.length);
	return (int)n;
}

/* Octets of the segment of its own that @c has for XDR's pad; 0: it has none. */
static uint32_t pad_segment(const struct rpc_msg *call, const struct rpc_chunk *c)
{
	uint32_t last = c->count > 1 ? call->segs[c->first + c->count - 1].length : 0;

	return last <= PAD_SEGMENT ? last : 0;
}

unsigned plan_runs(const struct rpc_msg *call, const struct rpc_chunk *c,
		   const struct plan_shape *shape, uint32_t *runs)
{
	uint32_t pad = shape->joins_pads ? 0 : pad_segment(call, c);
	unsigned n = 0;

	if (shape->as_offered && c->count > 1) {
		for (unsigned i = 0; i < c->count; i++)
			if (call->segs[c->first + i].length)
				runs[n++] = call->segs[c->first + i].length;
		return n;
	}
	if (c->length > pad)
		runs[n++] = (uint32_t)c->length - pad;
	if (pad || n == 0)
		runs[n++] = pad;
	return n;
}

int plan_cut(const struct segment *region, const uint32_t *runs, unsigned nruns, uint32_t max,
	     struct segment *out, unsigned cap)
{
	struct segment run = *region;
	unsigned n = 0;

	for (unsigned i = 0; i < nruns; i++) {
		int more;

		run.length = runs[i];
		more = plan_split(&run, max, out + n, cap - n);
		if (more < 0)
			return more;
		n += (unsigned)more;
		run.offset += runs[i];
	}
	return (int)n;
}

/* The word at @offset of the stream, which may straddle views. */
static bool word_at(const struct view *views, unsigned nviews, uint64_t offset, uint32_t *word)
{
	uint8_t octets[4];
	unsigned have = 0;

	for (unsigned i = 0; i < nviews && have < 4; i++) {
		while (have < 4 && offset < views[i].len)
			octets[have++] = views[i].data[offset++];
		offset -= min_u64(offset, views[i].len);
	}
	*word = have == 4 ? xdr_peek_u32(octets) : 0;
	return have == 4;
}

uint64_t plan_strip_pad(const struct view *views, unsigned nviews, const struct rpc_chunk *chunk,
			uint64_t removed)
{
	uint32_t count;

	if (chunk->length % 4 != 0 || chunk->position < removed + 4)
		return chunk->length;
	if (!word_at(views, nviews, chunk->position - removed - 4, &count))
		return chunk->length;
	return count < chunk->length && count + (uint64_t)xdr_pad(count) == chunk->length
		       ? count
		       : chunk->length;
}
