/* SPDX-License-Identifier: BSD-2-Clause */
/* Parser for headers of version 1 (RFC 8166 section 4) and version 2 (draft-07 section 6). */
#include <string.h>

#include "tests/session/stranger.h"

static uint32_t word(struct xdr_in *x)
{
	return xdr_get_u32(x);
}

static struct segment segment(struct xdr_in *x)
{
	struct segment s = {.handle = word(x)};

	s.length = word(x);
	s.offset = (uint64_t)word(x) << 32;
	s.offset |= word(x);
	return s;
}

static bool add(struct wire *w, struct wire_chunk *c, struct segment s)
{
	if (w->nsegs == WIRE_SEGS)
		return false;
	if (c->n == 0)
		c->first = w->nsegs;
	w->segs[w->nsegs++] = s;
	c->n++;
	c->len += s.length;
	return true;
}

/* Until a 0: position, segment. Those with one Position are one chunk. */
static bool reads(struct wire *w, struct xdr_in *x)
{
	uint32_t more;

	while ((more = word(x)) == 1) {
		uint32_t position = word(x);
		struct wire_chunk *c = w->nreads ? &w->reads[w->nreads - 1] : NULL;

		if (!c || c->position != position) {
			if (w->nreads == WIRE_CHUNKS)
				return false;
			c = &w->reads[w->nreads++];
			*c = (struct wire_chunk){.position = position};
		}
		if (!add(w, c, segment(x)))
			return false;
	}
	return more == 0 && !x->failed;
}

static bool array(struct wire *w, struct xdr_in *x, struct wire_chunk *c)
{
	uint32_t n = word(x);

	*c = (struct wire_chunk){0};
	while (n-- && !x->failed)
		if (!add(w, c, segment(x)))
			return false;
	return !x->failed;
}

static bool writes(struct wire *w, struct xdr_in *x)
{
	uint32_t more;

	while ((more = word(x)) == 1)
		if (w->nwrites == WIRE_CHUNKS || !array(w, x, &w->writes[w->nwrites++]))
			return false;
	return more == 0 && !x->failed;
}

static bool room(struct wire *w, struct xdr_in *x)
{
	uint32_t is = word(x);

	w->has_room = is == 1;
	return is <= 1 && !x->failed && (!is || array(w, x, &w->room));
}

static void rest(struct wire *w, struct xdr_in *x)
{
	w->body = view_of(x->pos, (size_t)(x->end - x->pos));
}

static bool direction(struct wire *w)
{
	uint32_t dir = w->body.len >= 8 ? xdr_peek_u32(w->body.data + 4) : 9;

	w->kind = dir == 0 ? WIRE_CALL : WIRE_REPLY;
	return dir <= 1 && xdr_peek_u32(w->body.data) == w->xid;
}

static bool version_1(struct wire *w, struct xdr_in *x, uint32_t proc)
{
	if (proc == 4) {
		w->kind = WIRE_ERROR;
		return true;
	}
	if (proc > 1 || !reads(w, x) || !writes(w, x) || !room(w, x))
		return false;
	rest(w, x);
	if (proc == 0)
		return direction(w);
	w->is_external = true;
	w->kind = w->nreads && w->reads[0].position == 0 ? WIRE_CALL : WIRE_REPLY;
	return w->body.len == 0;
}

static bool properties(struct wire *w, struct xdr_in *x)
{
	uint32_t n = word(x);

	w->kind = WIRE_PROPS;
	w->takes = 4096;
	while (n-- && !x->failed) {
		uint32_t id = word(x);
		struct view v = xdr_get_opaque(x, 4096);

		if (id == 2 && v.len == 4)
			w->takes = xdr_peek_u32(v.data);
	}
	return !x->failed;
}

static bool version_2(struct wire *w, struct xdr_in *x, uint32_t type)
{
	switch (type) {
	case 4:
		w->kind = WIRE_ERROR;
		return true;
	case 5:
		w->kind = WIRE_GRANT;
		return w->xid == 0;
	case 7:
		return properties(w, x);
	case 8:
	case 10:
		w->inv_handle = word(x);
		w->is_external = type == 8;
		if ((type == 8 && !reads(w, x)) || !reads(w, x) || !writes(w, x) || !room(w, x))
			return false;
		w->kind = WIRE_CALL;
		break;
	case 9:
	case 12:
		w->is_middle = true;
		w->remaining = word(x);
		w->kind = type == 9 ? WIRE_CALL : WIRE_REPLY;
		break;
	case 11:
	case 13:
		w->is_external = type == 11;
		if (!writes(w, x) || (type == 11 && !room(w, x)))
			return false;
		w->kind = WIRE_REPLY;
		break;
	default:
		return false;
	}
	rest(w, x);
	return !x->failed && (w->is_external ? w->body.len == 0 : w->body.len >= 4);
}

/* The early draft: a direction, and the lists of version 1. */
static bool early(struct wire *w, struct xdr_in *x, uint32_t type)
{
	uint32_t direction = word(x);

	return version_1(w, x, type) && direction == (w->kind == WIRE_CALL ? 0 : 1);
}

bool wire_read(struct wire *w, struct view in)
{
	struct xdr_in x;
	uint32_t type;

	memset(w, 0, sizeof(*w));
	xdr_in_init(&x, in);
	w->xid = word(&x);
	w->vers = word(&x);
	w->credit = word(&x);
	type = word(&x);
	if (x.failed)
		return false;
	if (w->vers == 2 && type <= 1)
		return early(w, &x, type);
	return w->vers == 1 || type == 4 ? version_1(w, &x, type) : version_2(w, &x, type);
}
