/* SPDX-License-Identifier: BSD-2-Clause */
#include "rtrext/structure.h"

enum { WORD = 4, GROUP_BYTES = 4 * WORD };

void rtr_structure_plain(struct rtr_structure *s, uint32_t bytes)
{
	*s = (struct rtr_structure){.bytes = bytes,
				    .groups = {{.count = 1, .length = bytes, .align = 1}},
				    .ngroups = 1};
}

static bool is_power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

static int get_group(struct xdr_in *x, struct rtr_segments *g)
{
	g->count = xdr_get_u32(x);
	g->length = xdr_get_u32(x);
	g->align = xdr_get_u32(x);
	g->flags = xdr_get_u32(x) & RTR_TARGETABLE;
	if (g->align == 0)
		g->align = 1;
	return x->failed || !g->count || !g->length || !is_power_of_two(g->align) ? ERR_PROP : 0;
}

int rtr_structure_decode(struct rtr_structure *s, struct view value)
{
	uint64_t bytes = 0, targets = 0;
	struct xdr_in x;
	uint32_t ngroups;

	*s = (struct rtr_structure){0};
	xdr_in_init(&x, value);
	s->bytes = xdr_get_u32(&x);
	ngroups = xdr_get_u32(&x);
	if (x.failed || ngroups == 0 || xdr_in_left(&x) != (uint64_t)ngroups * GROUP_BYTES)
		return ERR_PROP;
	if (ngroups > RTR_MAX_GROUPS)
		return ERR_TOOBIG;
	for (s->ngroups = 0; s->ngroups < ngroups; s->ngroups++) {
		struct rtr_segments *g = &s->groups[s->ngroups];

		if (get_group(&x, g))
			return ERR_PROP;
		/* Both factors fit 32 bits, so the sum of these few fits 64. */
		if ((uint64_t)g->count * g->length > UINT32_MAX)
			return ERR_PROP;
		bytes += (uint64_t)g->count * g->length;
		targets += g->flags & RTR_TARGETABLE ? g->count : 0;
	}
	if (bytes != s->bytes)
		return ERR_PROP;
	if (targets > RTR_MAX_TARGETS)
		return ERR_TOOBIG;
	s->targets = (uint32_t)targets;
	return 0;
}

void rtr_structure_encode(const struct rtr_structure *s, struct xdr_out *x)
{
	xdr_put_u32(x, s->bytes);
	xdr_put_u32(x, s->ngroups);
	for (unsigned i = 0; i < s->ngroups; i++) {
		xdr_put_u32(x, s->groups[i].count);
		xdr_put_u32(x, s->groups[i].length);
		xdr_put_u32(x, s->groups[i].align);
		xdr_put_u32(x, s->groups[i].flags);
	}
}

uint32_t rtr_structure_free(const struct rtr_structure *s, uint32_t at)
{
	uint32_t offset = 0, before = 0;

	for (unsigned i = 0; i < s->ngroups; i++) {
		const struct rtr_segments *g = &s->groups[i];

		if (g->flags & RTR_TARGETABLE) {
			uint32_t under = at > offset ? at - offset : 0;
			uint32_t skip = under / g->length + (under % g->length != 0);

			if (skip < g->count)
				return before + skip;
			before += g->count;
		}
		offset += g->count * g->length;
	}
	return s->targets;
}

bool rtr_structure_target(const struct rtr_structure *s, uint32_t n, struct rtr_target *t)
{
	uint32_t offset = 0;

	for (unsigned i = 0; i < s->ngroups; i++) {
		const struct rtr_segments *g = &s->groups[i];

		if (!(g->flags & RTR_TARGETABLE)) {
			offset += g->count * g->length;
			continue;
		}
		if (n < g->count) {
			*t = (struct rtr_target){offset + n * g->length, g->length, g->align};
			return true;
		}
		n -= g->count;
		offset += g->count * g->length;
	}
	return false;
}
