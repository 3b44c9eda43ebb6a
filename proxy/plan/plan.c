/* SPDX-License-Identifier: BSD-2-Clause */
#include "proxy/plan/plan.h"

#include <assert.h>

#include "proxy/plan/nfs.h"
#include "xdr/cursor.h"

/*
 * Operation
 *
 * A payload stream has three ways to travel, cheapest first: behind its header
 * in one Send; cut over several Sends (version 2), as far as the peer's credits
 * and a cap cover it; fetched or placed by the responder with RDMA Read or Write
 * (the body chunk). For each message the plan takes the first that the target leg
 * can take; README.md has the table.
 *
 * Replies are the harder half, for their size is not known when the call goes
 * out. A version 1 responder whose reply outgrows its inline threshold fails
 * the RPC unless a Reply chunk is there, and uses one that is there even for a
 * reply of 100 octets. So the plan compares two figures: how much the requester
 * can take without any chunk of its own (takes), and how large the procedure's
 * reply can become at most (plan_reply_max). Only what lies above the
 * responder's threshold is worth a chunk.
 */

enum {
	/* Octets on the wire: what the two versions share, RFC 8166 section 4 and draft-07 6.4. */
	SEGMENT_OCTETS = 16,
	READ_SEGMENT_OCTETS = 4 + 4 + SEGMENT_OCTETS, /* "one follows", position, segment */
	CHUNK_COUNT_OCTETS = 4,
	V1_REPLY_OCTETS = 28, /* prefix 16, three empty lists */
	V2_REPLY_OCTETS = 20, /* prefix 16, empty Write list */
	V2_CHUNK_FOLLOWS_OCTETS = 4,
	UNKNOWN_REPLY = (1 << 20) + 8192, /* what servers return at once (decision 52) */
	NFS3_READLINK = 5,
	V2_MIDDLE_OCTETS = 20,	 /* prefix 16, octets remaining */
	V2_CALL_LIST_OCTETS = 4, /* RDMA2_CALL_EXTERNAL has one list more than RDMA2_CALL_INLINE */
};

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint32_t clamp_u32(uint64_t v)
{
	return (uint32_t)min_u64(v, UINT32_MAX);
}

/* Largest message we may send to @e, and largest it may send us. */
static uint64_t inline_to(const struct plan_end *e)
{
	return min_u64(e->limits.send_bytes, e->own_send_bytes);
}

static uint64_t inline_from(const struct plan_end *e)
{
	return min_u64(e->limits.recv_bytes, e->own_recv_bytes);
}

/* Segments that @length octets need at @e. A peer that takes segments of 0 octets takes none. */
static uint64_t segments_for(uint64_t length, const struct plan_end *e)
{
	uint32_t max = e->limits.segment_bytes;

	if (length == 0)
		return 1;
	return max ? length / max + (length % max != 0) : UINT32_MAX;
}

/* draft-07 5.2.5: what the peer can process of a message in the reverse direction.
 * Version 1 has simple messages only (rfc5666bis-01 8.3.3), whatever was negotiated. */
static enum rpc_reverse reverse_of(const struct plan_end *e)
{
	return e->version == 1 ? RPC_REV_SIMPLE : e->limits.reverse;
}

static bool takes_chunks(const struct plan_end *e, bool reverse)
{
	return !reverse || reverse_of(e) == RPC_REV_GENL;
}

static bool takes_continued(const struct plan_end *e, bool reverse)
{
	return e->limits.continuation && (!reverse || reverse_of(e) >= RPC_REV_CONT);
}

/* Octets of payload stream in one RDMA2_CALL_MIDDLE or RDMA2_REPLY_MIDDLE. */
static uint64_t middle_room(const struct plan_end *e)
{
	return (inline_to(e) - V2_MIDDLE_OCTETS) & ~UINT64_C(3);
}

/* Whether so much payload stream, more than fits inline behind @header, may be continued. */
static bool is_covered(uint64_t body_len, uint64_t header, const struct plan_end *e, bool reverse,
		       const struct plan_cover *cover)
{
	uint64_t room = middle_room(e), middles = header + body_len - inline_to(e) + room - 1;

	return takes_continued(e, reverse) && body_len <= cover->bytes &&
	       body_len <= e->limits.continue_bytes && 1 + middles / room <= cover->sends;
}

/* The longest payload stream for which the same is true. */
static uint64_t most_covered(uint64_t header, const struct plan_end *e, bool reverse,
			     const struct plan_cover *cover)
{
	uint64_t most;

	if (!takes_continued(e, reverse) || cover->sends < 2 || header >= inline_to(e))
		return 0;
	most = inline_to(e) - header + (cover->sends - 1) * middle_room(e);
	return min_u64(most, min_u64(cover->bytes, e->limits.continue_bytes));
}

/* Header octets of an inline reply that returns @call's Write chunks. As seen by the requester
 * (@fresh NULL) they have its segments, by the responder those the gateway will cut. */
static uint64_t reply_header(const struct rpc_msg *call, unsigned version,
			     const struct plan_end *fresh)
{
	uint64_t len = version == 1 ? V1_REPLY_OCTETS : V2_REPLY_OCTETS;

	for (unsigned i = 0; i < call->nwrites; i++) {
		const struct rpc_chunk *c = &call->writes[i];
		uint64_t n = fresh && c->count ? segments_for(c->length, fresh) : c->count;

		len += 4 + CHUNK_COUNT_OCTETS + n * SEGMENT_OCTETS;
	}
	return len;
}

static uint64_t less_header(uint64_t threshold, uint64_t header)
{
	return threshold > header ? threshold - header : 0;
}

/*
 * The Reply chunk a version 1 responder needs, 0 none. @takes: the longest reply
 * the requester can take without one of its own; @known: the longest the
 * procedure can produce, 0 unknown.
 */
static uint64_t needed_reply(uint64_t takes, uint32_t known, uint64_t responder_inline)
{
	uint64_t want = known ? min_u64(takes, known) : takes;

	return want > responder_inline ? want : 0;
}

/* struct reply - what is known of a reply when its call goes out. */
struct reply {
	uint32_t known; /* octets that the procedure can return; 0 unknown */
	bool is_vague;	/* .known is nothing or so much that it is no bound */
	bool is_nfs;
	bool is_estimate;   /* .known has strings in it that NFS has no limit for */
	uint64_t offered;   /* the requester's Reply chunk; 0 none */
	uint64_t takes;	    /* what it takes inline */
	uint64_t most;	    /* ... and continued */
	uint64_t responder; /* what the responder can send inline */
};

/* The most that the requester could be given. */
static uint64_t longest(const struct reply *r)
{
	return max_u64(r->offered, r->known ? min_u64(r->most, r->known) : r->most);
}

/*
 * A version 2 requester's Reply chunk is as long as the longest reply it expects (draft-07 6.6.3). Where
 * nothing else is known that is the bound, even where it is no longer than what would come inline: the
 * requester of another gateway in front can take no more. Only when a responder's reply was longer is
 * the requester held to take all that it can (draft-07 6.6.4). What the procedure can return is given it in any
 * case.
 */
static uint64_t offered_by_v2(const struct reply *r, uint32_t slack)
{
	uint64_t bound = r->is_vague ? r->offered : r->known;
	uint64_t inline_bound = r->is_vague ? r->takes : r->known;

	/* Two thresholds that are the same leave a few octets more to version 2's shorter header. */
	if (bound <= r->responder && !slack &&
	    inline_bound <= r->responder + V1_REPLY_OCTETS - V2_REPLY_OCTETS)
		return 0;
	return r->is_vague && !slack ? max_u64(r->offered, r->takes) : longest(r);
}

static uint64_t to_v1(const struct reply *r, const struct plan_end *from, uint32_t slack)
{
	if (!r->offered)
		return needed_reply(from->version == 1 ? r->takes : r->most, r->known,
				    r->responder);
	return from->version == 1 ? r->offered : offered_by_v2(r, slack);
}

static uint64_t to_v2(const struct reply *r, const struct plan_end *from, bool reverse)
{
	if (r->offered || from->version != 1 || reverse)
		return r->offered;
	return r->is_vague && r->is_nfs ? r->takes : 0;
}

/* How long the procedure lets the reply be. Of a COMPOUND with operations that have no bound only the
 * most that servers return at once is known, which bounds nothing. */
static void foresee(struct reply *r, const struct rpchdr *hdr, const struct rpc_msg *in)
{
	*r = (struct reply){.is_vague = true};
	if (!hdr || !in->nbody)
		return;
	r->is_nfs = hdr->prog == PROG_NFS;
	r->is_estimate = r->is_nfs && (hdr->vers == 4 || hdr->proc == NFS3_READLINK);
	r->known = plan_reply_max(hdr, in->body[0], in);
	r->is_vague =
		!r->known || (hdr->prog == PROG_NFS && hdr->vers == 4 && r->known > UNKNOWN_REPLY);
}

/* The Reply chunk for the responder, 0 none; @expected as in struct plan_call. */
static uint64_t reply_chunk(struct reply *r, const struct rpc_msg *in, const struct plan_end *from,
			    const struct plan_end *to, bool reverse, uint32_t *expected)
{
	uint64_t header = reply_header(in, from->version, NULL), chunk, reach;
	struct plan_cover cover = from->continued_most;

	*expected = 0;
	if (!takes_chunks(to, reverse))
		return 0;
	r->offered = in->has_reply ? in->reply.length : 0;
	r->takes = r->most = less_header(inline_to(from), header);
	r->responder = less_header(inline_from(to), reply_header(in, to->version, to));
	if (!r->known)
		cover.bytes = clamp_u32(min_u64(cover.bytes, UNKNOWN_REPLY));
	if (!r->offered || r->known)
		r->most = max_u64(r->takes, most_covered(header, from, reverse, &cover));
	if (to->version != 1)
		return to_v2(r, from, reverse);
	chunk = to_v1(r, from, 0);
	reach = max_u64(chunk, r->responder);
	if (r->is_estimate && !r->is_vague && reach < max_u64(r->offered, r->most) &&
	    !(from->version == 1 && r->offered))
		*expected = clamp_u32(reach);
	if (!to->slack)
		return chunk;
	r->known = r->known ? clamp_u32((uint64_t)r->known + to->slack) : 0;
	return to_v1(r, from, to->slack);
}

static void refuse(struct plan_call *out, enum rpc_error_code code, uint32_t a)
{
	*out = (struct plan_call){.form = PLAN_REFUSED, .error = {.code = code, .a = a}};
}

/* Most segments a requester could have used: what RPC_ERROR_SEGMENTS reports. */
static uint32_t segments_limit(const struct plan_end *to)
{
	uint64_t room = less_header(inline_to(to), V1_REPLY_OCTETS) / READ_SEGMENT_OCTETS;

	return clamp_u32(min_u64(room, to->limits.segment_count));
}

static uint64_t segments_in_call(const struct rpc_msg *in, const struct plan_end *to)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < in->nreads; i++)
		n += segments_for(in->reads[i].length, to);
	for (unsigned i = 0; i < in->nwrites; i++)
		if (in->writes[i].count)
			n += segments_for(in->writes[i].length, to);
	return n;
}

/* draft-07 5.2.5 and 7.3.1, 7.3.2: what the reverse direction cannot carry at all. */
static bool is_beyond_reverse(const struct rpc_msg *in, const struct plan_end *to, bool reverse,
			      struct plan_call *out)
{
	if (!reverse || takes_chunks(to, reverse))
		return false;
	if (in->nreads)
		refuse(out, RPC_ERROR_READ_CHUNKS, 0);
	else if (in->nwrites)
		refuse(out, RPC_ERROR_WRITE_CHUNKS, 0);
	else if (reverse_of(to) == RPC_REV_NONE)
		refuse(out, RPC_ERROR_SYSTEM, 0);
	else
		return false;
	return true;
}

/*
 * Picks the form of a call whose chunks the target can take. @header: octets of
 * the inline form's header, Reply chunk included; @segments: in its chunks.
 */
static void pick_call_form(uint64_t body_len, const struct plan_end *to, uint64_t header,
			   uint64_t segments, bool reverse, struct plan_call *out)
{
	uint64_t body_segments = segments_for(body_len, to);
	uint64_t external = header + body_segments * READ_SEGMENT_OCTETS +
			    (to->version == 1 ? 0 : V2_CALL_LIST_OCTETS);
	bool takes_body =
		takes_chunks(to, reverse) && !to->limits.no_external && body_len <= UINT32_MAX;
	bool body_fits =
		segments + body_segments <= to->limits.segment_count && external <= inline_to(to);
	bool only_way = !takes_body || !body_fits;

	out->form = PLAN_BODY_CHUNK;
	if (segments > to->limits.segment_count || header >= inline_to(to)) {
		refuse(out, RPC_ERROR_SEGMENTS, segments_limit(to));
		return;
	}
	if (header + body_len <= inline_to(to)) {
		out->form = PLAN_INLINE;
	} else if (is_covered(body_len, header, to, reverse,
			      only_way ? &to->continued_most : &to->continued)) {
		out->form = PLAN_CONTINUED;
		out->only_way = only_way;
	} else if (!takes_body) {
		refuse(out, RPC_ERROR_SYSTEM, 0);
	} else if (!body_fits) {
		refuse(out, RPC_ERROR_SEGMENTS, segments_limit(to));
	}
}

static void pick_with_reply(const struct rpc_msg *in, size_t body_len, const struct plan_end *to,
			    uint64_t header, uint32_t reply_bytes, bool reverse,
			    struct plan_call *out)
{
	uint64_t segments = segments_in_call(in, to);

	*out = (struct plan_call){.reply_bytes = reply_bytes};
	if (reply_bytes) {
		uint64_t n = segments_for(reply_bytes, to);

		header += CHUNK_COUNT_OCTETS + n * SEGMENT_OCTETS;
		segments += n;
	}
	pick_call_form(body_len, to, header, segments, reverse, out);
}

/* A Reply chunk that only tells a bound is not worth another form of the call. */
static void leave_out_if_dear(const struct rpc_msg *in, size_t body_len, const struct plan_end *to,
			      uint64_t header, bool reverse, struct plan_call *out)
{
	struct plan_call without;

	pick_with_reply(in, body_len, to, header, 0, reverse, &without);
	if (without.form != out->form)
		*out = without;
}

void plan_call_form(const struct rpc_msg *in, size_t body_len, const struct rpchdr *hdr,
		    const struct plan_end *from, const struct plan_end *to, size_t hdr_inline_len,
		    bool reverse, struct plan_call *out)
{
	struct reply reply;
	uint32_t expected;
	uint64_t offer;

	*out = (struct plan_call){.form = PLAN_INLINE};
	if (is_beyond_reverse(in, to, reverse, out))
		return;
	foresee(&reply, hdr, in);
	offer = reply_chunk(&reply, in, from, to, reverse, &expected);
	if (to->no_reply_chunk)
		offer = expected = 0;
	pick_with_reply(in, body_len, to, hdr_inline_len, clamp_u32(offer), reverse, out);
	out->expected = expected;
	if (offer && to->version != 1 && !in->has_reply)
		leave_out_if_dear(in, body_len, to, hdr_inline_len, reverse, out);
	/* A version 2 responder can continue its Reply (draft-07 6.6.4): a chunk too many is left out. */
	if (out->form == PLAN_REFUSED && offer && to->version != 1)
		pick_with_reply(in, body_len, to, hdr_inline_len, 0, reverse, out);
}

void plan_reply_form(const struct rpc_msg *call, size_t body_len, const struct plan_end *to,
		     size_t hdr_inline_len, bool reverse, struct plan_reply *out)
{
	uint64_t threshold = inline_to(to), external = hdr_inline_len;

	/* RDMA2_REPLY_EXTERNAL has the chunk behind a discriminator, version 1 its own always. */
	if (call->has_reply)
		external += CHUNK_COUNT_OCTETS + (uint64_t)call->reply.count * SEGMENT_OCTETS;
	if (call->has_reply && to->version != 1)
		external += V2_CHUNK_FOLLOWS_OCTETS;
	*out = (struct plan_reply){.form = PLAN_REFUSED};
	if (hdr_inline_len >= threshold)
		/* Cannot even say which Write chunks were filled: draft-07 7.4.1. */
		out->error.code = RPC_ERROR_SYSTEM;
	else if (hdr_inline_len + body_len <= threshold)
		out->form = PLAN_INLINE;
	else if (call->has_reply && body_len <= call->reply.length && external <= threshold)
		out->form = PLAN_BODY_CHUNK;
	else if (is_covered(body_len, hdr_inline_len, to, reverse, &to->continued_most))
		out->form = PLAN_CONTINUED;
	else
		out->error = (struct rpc_error){.code = RPC_ERROR_REPLY_RESOURCE,
						.a = clamp_u32(body_len)};
}

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
