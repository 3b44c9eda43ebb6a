/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_V2_RANDOM_MSG_H
#define TESTS_V2_RANDOM_MSG_H

#include "rpc/msg.h"
#include "tests/rng.h"

/** Random messages for property tests: all valid forms with up to @max_segments. */

static inline void random_chunk(struct rng *r, struct rpc_msg *m, struct rpc_chunk *c,
				unsigned least, unsigned max_segments)
{
	unsigned count = least + rng_below(r, 3);

	c->first = (uint16_t)m->nsegs;
	c->count = 0;
	c->length = 0;
	while (count-- && m->nsegs < max_segments) {
		struct segment s = {
			.handle = (uint32_t)rng_next(r) | 1,
			.length = rng_below(r, 100000),
			.offset = rng_next(r),
		};

		if (rpc_msg_add_segment(m, c, &s) != 0)
			return;
	}
}

static inline void random_call_chunks(struct rng *r, struct rpc_msg *m, unsigned max_segments)
{
	uint32_t position = 0;

	for (unsigned n = rng_below(r, 4); n && m->nsegs < max_segments; n--) {
		position += 4 + 4 * rng_below(r, 1000);
		m->reads[m->nreads] = (struct rpc_chunk){.position = position};
		random_chunk(r, m, &m->reads[m->nreads++], 1, max_segments);
	}
	for (unsigned n = rng_below(r, 4); n; n--) {
		m->writes[m->nwrites] = (struct rpc_chunk){0};
		random_chunk(r, m, &m->writes[m->nwrites++], 0, max_segments);
	}
	m->has_reply = rng_below(r, 2) == 0;
	if (m->has_reply) {
		m->reply = (struct rpc_chunk){0};
		random_chunk(r, m, &m->reply, 0, max_segments);
	}
}

/** random_msg - @body's first word must be @xid in network order. */
static inline void random_msg(struct rng *r, struct rpc_msg *m, uint32_t xid, enum rpc_dir dir,
			      struct view body, unsigned max_segments)
{
	rpc_msg_reset(m, xid, dir);
	m->has_body_chunk = rng_below(r, 4) == 0;
	if (m->has_body_chunk) {
		m->body_chunk = (struct rpc_chunk){0};
		random_chunk(r, m, &m->body_chunk, dir == RPC_CALL ? 1 : 0, max_segments);
	} else {
		m->body[0] = body;
		m->nbody = 1;
	}
	if (dir == RPC_CALL) {
		random_call_chunks(r, m, max_segments);
		if (m->nsegs && rng_below(r, 2))
			m->inv_handle = m->segs[rng_below(r, m->nsegs)].handle;
		return;
	}
	for (unsigned n = rng_below(r, 4); n; n--) {
		m->writes[m->nwrites] = (struct rpc_chunk){0};
		random_chunk(r, m, &m->writes[m->nwrites++], 0, max_segments);
	}
}

static inline bool same_chunk(const struct rpc_msg *ma, const struct rpc_chunk *a,
			      const struct rpc_msg *mb, const struct rpc_chunk *b)
{
	if (a->position != b->position || a->count != b->count || a->length != b->length)
		return false;
	for (unsigned i = 0; i < a->count; i++) {
		const struct segment *sa = &ma->segs[a->first + i], *sb = &mb->segs[b->first + i];

		if (sa->handle != sb->handle || sa->length != sb->length ||
		    sa->offset != sb->offset)
			return false;
	}
	return true;
}

/** same_chunks - whether two messages are equal apart from the body. */
static inline bool same_chunks(const struct rpc_msg *a, const struct rpc_msg *b)
{
	if (a->xid != b->xid || a->dir != b->dir || a->has_body_chunk != b->has_body_chunk ||
	    a->nreads != b->nreads || a->nwrites != b->nwrites || a->has_reply != b->has_reply ||
	    a->inv_handle != b->inv_handle || a->nsegs != b->nsegs)
		return false;
	for (unsigned i = 0; i < a->nreads; i++) {
		if (!same_chunk(a, &a->reads[i], b, &b->reads[i]))
			return false;
	}
	for (unsigned i = 0; i < a->nwrites; i++) {
		if (!same_chunk(a, &a->writes[i], b, &b->writes[i]))
			return false;
	}
	if (a->has_reply && !same_chunk(a, &a->reply, b, &b->reply))
		return false;
	return !a->has_body_chunk || same_chunk(a, &a->body_chunk, b, &b->body_chunk);
}

#endif
