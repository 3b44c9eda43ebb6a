/* SPDX-License-Identifier: BSD-2-Clause */
#include "proxy/plan/plan.h"

#include "base/min.h"
#include "proxy/plan/nfs.h"
#include "proxy/plan/nfsreply.h"
#include "proxy/plan/segments.h"
#include "xdr/cursor.h"

/*
 * Operation
 *
 * A payload stream has three ways to travel, in the order of their cost:
 * - inline: behind its header, in one Send;
 * - continued, in version 2: in several Sends, as far as the peer's credits and a configured limit
 *   allow;
 * - in a body chunk: the responder fetches a call by RDMA Read, or places a reply by RDMA Write.
 *
 * For each message the plan takes the first way that the target leg can take. docs/rechunking.md
 * has the table.
 *
 * The length of a reply is not known when its call is sent, but the call has to offer the Reply
 * chunk. If a version 1 responder was offered none, an RPC fails whose reply is longer than the
 * responder's inline threshold. If it was offered one, it uses the chunk even for a reply of 100
 * octets. So the plan compares two lengths: the longest reply that the requester can take without a
 * chunk of its own (struct reply, .takes), and the longest that the procedure can return
 * (plan_reply_max()). A reply that is within the responder's threshold by either length needs no
 * Reply chunk.
 */

enum {
	UNKNOWN_REPLY = (1 << 20) + 8192, /* octets that servers return at once (decision 52) */
	/* Octets of a Reply chunk that the requester did not offer, in programs that filers serve:
	 * ntirpc asserts that a Reply chunk has at most 1 MiB. The chunk is longer if the call
	 * certainly asks for a longer reply. */
	UNASKED_CHUNK = (1 << 20) - REPLY_TELLTALE,
	/* Octets: more than the header of any reply of the extension with one item. */
	EXTENDED_HEADER = 128,
	EXTENDED_ITEM = 24, /* octets of an item of the extension beyond those of a Write chunk */
	/* Segments of a Reply chunk that the requester did not offer, as a rule. */
	REPLY_SEGMENTS = 2,
};

static uint64_t plan_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint32_t clamp_u32(uint64_t v)
{
	return (uint32_t)min_u64(v, UINT32_MAX);
}

/* Segments of at most @max octets for @length. A peer that takes segments of 0 octets takes
 * none. */
static uint64_t segments_for(uint64_t length, uint32_t max)
{
	if (length == 0)
		return 1;
	return max ? length / max + (length % max != 0) : UINT32_MAX;
}

/* Segments for the octets of one region of this gateway. */
static uint64_t segments_joined(uint64_t length, const struct plan_in *in)
{
	return segments_for(length, in->shape.most ? in->shape.most : in->to->limits.segment_bytes);
}

/* Segments for the Write chunk @c of a call. */
static uint64_t segments_written(const struct plan_in *in, const struct rpc_chunk *c)
{
	uint32_t runs[RPC_MAX_SEGMENTS];
	unsigned nruns = plan_runs(in->call, c, &in->shape, runs);
	uint64_t n = 0;

	for (unsigned i = 0; i < nruns; i++)
		n += in->shape.as_offered ? segments_for(runs[i], in->to->limits.segment_bytes)
					  : segments_joined(runs[i], in);
	return n;
}

/* draft-07 5.2.5: what the peer can process of a message in the reverse direction. */
static bool takes_chunks(const struct plan_end *e, bool reverse)
{
	return !reverse || e->limits.reverse == RPC_REV_GENL;
}

static bool takes_continued(const struct plan_end *e, bool reverse)
{
	return e->limits.continuation && (!reverse || e->limits.reverse >= RPC_REV_CONT);
}

/* Octets of payload stream in one part of a continued message. */
static uint64_t part_room(const struct plan_end *e)
{
	return (e->limits.send_bytes - e->traits->part_header) & ~UINT64_C(3);
}

/* Whether a payload stream of @body_len octets, which does not fit inline behind @header octets,
 * may be continued within @cover. */
static bool is_covered(uint64_t body_len, uint64_t header, const struct plan_end *e, bool reverse,
		       const struct plan_cover *cover)
{
	uint64_t room = part_room(e), parts = header + body_len - e->limits.send_bytes + room - 1;

	return takes_continued(e, reverse) && body_len <= cover->bytes &&
	       body_len <= e->limits.continue_bytes && 1 + parts / room <= cover->sends;
}

/* The longest payload stream for which is_covered() is true; 0: none. */
static uint64_t most_covered(uint64_t header, const struct plan_end *e, bool reverse,
			     const struct plan_cover *cover)
{
	uint64_t most;

	if (!takes_continued(e, reverse) || cover->sends < 2 || header >= e->limits.send_bytes)
		return 0;
	most = e->limits.send_bytes - header + (cover->sends - 1) * part_room(e);
	return min_u64(most, min_u64(cover->bytes, e->limits.continue_bytes));
}

/* Octets by which the header of a reply with @n items of the extension is longer. */
static uint64_t extended_header(unsigned n)
{
	return 2 * 4 + n * (uint64_t)EXTENDED_ITEM;
}

/* Header octets of an inline reply that returns @in's Write chunks. The requester's reply has the
 * segments that it offered; the responder's (@by_responder) has those that the gateway offers. */
static uint64_t plan_reply_header(const struct plan_in *in, const struct rpc_traits *traits,
				  bool by_responder)
{
	const struct rpc_msg *call = in->call;
	uint64_t len = traits->reply_header;

	for (unsigned i = 0; i < call->nwrites; i++) {
		const struct rpc_chunk *c = &call->writes[i];
		bool is_empty = c->count == 0 && c->length == 0;
		uint64_t n = by_responder && !is_empty ? segments_written(in, c) : c->count;

		len += traits->write_chunk + n * traits->segment;
	}
	if (call->nwishes && !by_responder)
		len += extended_header(call->nwishes);
	return len;
}

static uint64_t less_header(uint64_t threshold, uint64_t header)
{
	return threshold > header ? threshold - header : 0;
}

/*
 * Octets of the Reply chunk that a responder needs if it cannot continue replies; 0: none. @takes:
 * the longest reply that the requester can take without a Reply chunk of its own; @known: the
 * longest that the procedure can return, 0: unknown.
 */
static uint64_t needed_reply(uint64_t takes, uint32_t known, uint64_t responder_inline)
{
	uint64_t want = known ? min_u64(takes, known) : takes;

	return want > responder_inline ? want : 0;
}

/* struct reply - what is known of a reply when its call goes out. */
struct reply {
	uint32_t known;	    /* octets that the procedure can return; 0 unknown */
	bool is_vague;	    /* .known is 0, or too large to be a bound */
	bool may_be_nfs;    /* the program is NFS, or not known: the call is in a chunk */
	bool is_guess;	    /* .known has names in it that NFS has no limit for */
	uint64_t offered;   /* the requester's Reply chunk; 0 none */
	uint64_t takes;	    /* octets that the requester takes inline */
	uint64_t most;	    /* octets that the requester takes continued */
	uint64_t responder; /* octets that the responder can send inline */
	bool is_placed;	    /* data go to Write chunks */
	/* Octets by which the requester's reply header is shorter than the responder's. */
	uint32_t spare;
};

/* Octets of the longest reply that the requester can take, in any form. */
static uint64_t plan_longest(const struct reply *r)
{
	return plan_max(r->offered, r->known ? min_u64(r->most, r->known) : r->most);
}

/* A Reply chunk of @chunk octets, more than the requester offered. It is cut to UNASKED_CHUNK if it
 * exceeds that by no more than REPLY_UNSURE, the room for a long verifier. */
static uint64_t unasked_chunk(uint64_t chunk)
{
	return chunk > UNASKED_CHUNK && chunk <= UNASKED_CHUNK + REPLY_UNSURE ? UNASKED_CHUNK
									      : chunk;
}

/*
 * The Reply chunk for a responder if the requester takes continued replies
 *
 * A version 2 requester offers a Reply chunk as long as the longest reply it expects (draft-07
 * 6.6.3).
 * - If no maximum of the procedure is known, the requester's chunk is the bound, even if it is no
 *   longer than what could come inline: behind another gateway the real requester may take no more.
 *   The chunk then has the length of that chunk or of what the requester takes inline, whichever is
 *   longer.
 * - If the bound fits inline, no chunk is offered.
 * - If a reply of this server was longer before (@slack), the chunk is as long as the longest reply
 *   that the requester can take in any form (draft-07 6.6.4).
 * - If the maximum of the procedure is much longer than the requester's chunk, the chunk is as long
 *   as the requester can take of it in any form: the rest can be continued (draft-07 6.6.4).
 * - Otherwise the requester has counted more exactly, and its length is kept.
 */
static uint64_t plan_bounded(const struct reply *r, uint32_t slack)
{
	uint64_t bound = r->is_vague ? r->offered : r->known;
	uint64_t inline_bound = r->is_vague ? r->takes : r->known;

	/* The requester's reply header is shorter by .spare, so with equal thresholds it takes a
	 * few octets more inline. */
	if (bound <= r->responder && !slack && inline_bound <= r->responder + r->spare)
		return 0;
	if (slack)
		return plan_longest(r);
	if (r->is_vague)
		return plan_max(r->offered, r->takes);
	if (r->offered + REPLY_UNSURE >= r->known)
		return r->offered;
	return unasked_chunk(plan_longest(r));
}

/* Whether the rest of the reply certainly fits inline beside Write chunks that take the data.
 * Some responders that are given both put the data into the Reply chunk. */
static bool is_needless(const struct reply *r)
{
	return r->is_placed && !r->is_vague && !r->is_guess && r->known <= r->responder;
}

/* The Reply chunk for a responder that uses any chunk it is offered, and needs one for what it
 * cannot send inline. */
static uint64_t needed_chunk(const struct reply *r, const struct plan_end *from, uint32_t slack)
{
	if (!r->offered)
		return unasked_chunk(needed_reply(r->most, r->known, r->responder));
	if (from->traits->continues)
		return plan_bounded(r, slack);
	return is_needless(r) ? 0 : r->offered;
}

/* The Reply chunk for a responder that can continue its replies. */
static uint64_t planned_chunk(const struct reply *r, const struct plan_end *from, bool reverse)
{
	if (r->offered || from->traits->continues || reverse)
		return r->offered;
	return r->is_vague && r->may_be_nfs ? r->takes : 0;
}

/* Find out the longest reply of the procedure. For a COMPOUND with operations that have no bound,
 * only the most that servers return at once is known, which is no bound. */
static void foresee_length(struct reply *r, const struct rpchdr *hdr, struct view args,
			   const struct rpc_msg *call)
{
	r->known = nfs_reply_max(hdr, args, call, &r->is_guess);
	r->is_vague =
		!r->known || (hdr->prog == PROG_NFS && hdr->vers == 4 && r->known > UNKNOWN_REPLY);
}

/* Find out what the responder can send inline, what the requester offered, and the longest reply
 * of the procedure. */
static void plan_foresee(struct reply *r, const struct plan_in *in)
{
	const struct rpchdr *hdr = in->hdr;
	const struct plan_end *to = in->to;

	*r = (struct reply){.is_vague = true, .is_placed = in->call->nwrites > 0};
	r->offered = in->call->has_reply ? in->call->reply.length : 0;
	r->responder = less_header(to->limits.recv_bytes, plan_reply_header(in, to->traits, true));
	r->may_be_nfs = hdr ? hdr->prog == PROG_NFS : in->call->has_body_chunk;
	if (hdr && in->call->nbody)
		foresee_length(r, hdr, in->call->body[0], in->call);
}

/* Whether the program of the call may be one that filers serve. If the call is in a body chunk, its
 * program is not known yet. */
static bool may_be_of_filers(const struct rpchdr *hdr)
{
	return !hdr || hdr->prog == PROG_NFS || hdr->prog == PROG_MOUNT || hdr->prog == PROG_NLM ||
	       hdr->prog == PROG_NFSACL || hdr->prog == PROG_RQUOTA;
}

/* Find out what the requester can take. */
static void plan_measure(struct reply *r, const struct plan_in *in)
{
	const struct plan_end *from = in->from;
	const struct rpc_traits *a = from->traits, *b = in->to->traits;
	uint64_t header = plan_reply_header(in, a, false);
	struct plan_cover cover = from->continued_most;

	r->takes = r->most = less_header(from->limits.send_bytes, header);
	r->spare = b->reply_header > a->reply_header ? b->reply_header - a->reply_header : 0;
	if (r->is_vague)
		cover.bytes = clamp_u32(min_u64(
			cover.bytes, may_be_of_filers(in->hdr) ? UNASKED_CHUNK : UNKNOWN_REPLY));
	if (!r->offered || r->known)
		r->most = plan_max(r->takes, most_covered(header, from, in->reverse, &cover));
}

/* Whether the longest reply fits inline, so that nothing else need be known. True for most
 * calls. */
static bool fits_inline(const struct reply *r)
{
	return r->known && !r->is_guess && !r->offered && r->known <= r->responder;
}

/* The Reply chunk for the responder, 0 none; @expected as in struct plan_call. */
static uint64_t reply_chunk(const struct plan_in *in, uint32_t *expected)
{
	const struct plan_end *from = in->from, *to = in->to;
	uint64_t chunk, reach;
	struct reply r;

	*expected = 0;
	if (!takes_chunks(to, in->reverse))
		return 0;
	plan_foresee(&r, in);
	if (!to->traits->continues && fits_inline(&r))
		return 0;
	plan_measure(&r, in);
	if (to->traits->continues)
		return planned_chunk(&r, from, in->reverse);
	chunk = needed_chunk(&r, from, 0);
	reach = plan_max(chunk, r.responder);
	if (r.is_guess && !r.is_vague && reach < plan_max(r.offered, r.most) &&
	    (from->traits->continues || !r.offered))
		*expected = clamp_u32(reach);
	/* Replies without names of unlimited length are not affected. */
	if (!to->slack || !r.is_guess)
		return chunk;
	r.known = r.known ? clamp_u32((uint64_t)r.known + to->slack) : 0;
	return needed_chunk(&r, from, to->slack);
}

static void plan_refuse(struct plan_call *out, enum rpc_error_code code, uint32_t a)
{
	*out = (struct plan_call){.form = PLAN_REFUSED, .error = {.code = code, .a = a}};
}

/* Most segments a requester could have used: what RPC_ERROR_SEGMENTS reports. */
static uint32_t segments_limit(const struct plan_end *to)
{
	uint64_t room = less_header(to->limits.send_bytes, to->traits->call_header) /
			to->traits->read_segment;

	return clamp_u32(min_u64(room, to->limits.segment_count));
}

static uint64_t segments_to_read(const struct plan_in *in)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < in->call->nreads; i++)
		n += segments_joined(in->call->reads[i].length, in);
	return n;
}

static uint64_t segments_to_write(const struct plan_in *in)
{
	const struct rpc_msg *call = in->call;
	uint64_t n = 0;

	for (unsigned i = 0; i < call->nwrites; i++)
		if (call->writes[i].count || call->writes[i].length)
			n += segments_written(in, &call->writes[i]);
	return n;
}

/* @joined: what would be Read chunks is in the payload stream. */
static uint64_t segments_in_call(const struct plan_in *in, bool joined)
{
	return segments_to_write(in) + (joined ? 0 : segments_to_read(in));
}

/* Other segments that the call may need: in a body chunk, and for a Reply chunk whose length is
 * not known yet. */
static uint64_t segments_besides(const struct plan_in *in)
{
	const struct rpc_msg *call = in->call;
	uint64_t reply = call->has_reply ? segments_joined(call->reply.length, in) : 0;
	uint64_t body =
		in->body_len > in->to->limits.send_bytes ? segments_joined(in->body_len, in) : 1;

	return body + (reply + 1 > REPLY_SEGMENTS ? reply + 1 : REPLY_SEGMENTS);
}

/* Whether the segments of @in leave half of each message for what is beside its header. */
static bool is_header_short(const struct plan_in *in)
{
	const struct rpc_traits *traits = in->to->traits;
	const struct rpc_limits *limits = &in->to->limits;
	uint64_t writes = in->call->nwrites * (uint64_t)traits->write_chunk +
			  segments_to_write(in) * traits->segment;
	uint64_t call = traits->call_header + writes + segments_to_read(in) * traits->read_segment +
			segments_besides(in) * traits->read_segment;

	return call <= limits->send_bytes / 2 &&
	       traits->reply_header + writes <= limits->recv_bytes / 2;
}

void plan_shape(struct plan_in *in)
{
	const struct plan_end *to = in->to;
	uint32_t joined = to->traits->joined_bytes;

	in->shape = (struct plan_shape){.most = to->limits.segment_bytes};
	if (joined < in->shape.most) {
		in->shape.most = joined;
		if (segments_in_call(in, false) + segments_besides(in) > to->limits.segment_count)
			in->shape.most = to->limits.segment_bytes;
	}
	in->shape.as_offered = in->call->nwrites > 0;
	if (in->shape.as_offered &&
	    (segments_in_call(in, false) + segments_besides(in) > to->limits.segment_count ||
	     !is_header_short(in)))
		in->shape.as_offered = false;
	/* The call would be refused for its pads. */
	in->shape.joins_pads =
		!in->shape.as_offered && segments_in_call(in, false) > to->limits.segment_count;
}

/* draft-07 5.2.5 and 7.3.1, 7.3.2: what the reverse direction cannot carry at all. */
static bool plan_is_beyond_reverse(const struct plan_in *in, struct plan_call *out)
{
	if (takes_chunks(in->to, in->reverse))
		return false;
	if (in->call->nreads)
		plan_refuse(out, RPC_ERROR_READ_CHUNKS, 0);
	else if (in->call->nwrites)
		plan_refuse(out, RPC_ERROR_WRITE_CHUNKS, 0);
	else if (in->to->limits.reverse == RPC_REV_NONE)
		plan_refuse(out, RPC_ERROR_SYSTEM, 0);
	else
		return false;
	return true;
}

/*
 * Picks the form of a call whose chunks the target can take. @header: octets of
 * the inline form's header, Reply chunk included; @segments: in its chunks.
 */
static void pick_call_form(const struct plan_in *in, uint64_t header, uint64_t segments,
			   struct plan_call *out)
{
	const struct plan_end *to = in->to;
	uint64_t threshold = to->limits.send_bytes, body_len = in->body_len;
	uint64_t body_segments, external;
	bool takes_body, body_fits, only_way;

	if (segments > to->limits.segment_count || header >= threshold) {
		plan_refuse(out, RPC_ERROR_SEGMENTS, segments_limit(to));
		return;
	}
	out->form = PLAN_INLINE;
	if (header + body_len <= threshold)
		return;
	body_segments = segments_joined(body_len, in);
	external = header + body_segments * to->traits->read_segment + to->traits->call_chunk;
	takes_body =
		takes_chunks(to, in->reverse) && !to->limits.no_external && body_len <= UINT32_MAX;
	body_fits = segments + body_segments <= to->limits.segment_count && external <= threshold;
	only_way = !takes_body || !body_fits;
	out->form = PLAN_BODY_CHUNK;
	if (is_covered(body_len, header, to, in->reverse,
		       only_way ? &to->continued_most : &to->continued)) {
		out->form = PLAN_CONTINUED;
		out->only_way = only_way;
	} else if (!takes_body) {
		plan_refuse(out, RPC_ERROR_SYSTEM, 0);
	} else if (!body_fits) {
		plan_refuse(out, RPC_ERROR_SEGMENTS, segments_limit(to));
	}
}

static void pick_with_reply(const struct plan_in *in, uint32_t reply_bytes, bool joined,
			    struct plan_call *out)
{
	const struct plan_end *to = in->to;
	uint64_t header = in->header_len, segments = segments_in_call(in, joined);

	*out = (struct plan_call){.reply_bytes = reply_bytes};
	if (reply_bytes) {
		uint64_t n = segments_joined(reply_bytes, in);

		header += to->traits->reply_chunk + n * to->traits->segment;
		segments += n;
	}
	pick_call_form(in, header, segments, out);
}

/* A Reply chunk that only tells the responder the longest reply is left out, if the call would need
 * another form because of it. */
static void leave_out_if_dear(const struct plan_in *in, bool joined, struct plan_call *out)
{
	struct plan_call without;

	pick_with_reply(in, 0, joined, &without);
	if (without.form != out->form)
		*out = without;
}

/* The longest Reply chunk beside @segments other segments and @bytes other octets of the same Send.
 * Return: 0 if it is no longer than what the responder can send inline. */
static uint64_t longest_reply_chunk(const struct plan_in *in, uint64_t segments, uint64_t bytes)
{
	const struct plan_end *to = in->to;
	uint32_t each = in->shape.most ? in->shape.most : to->limits.segment_bytes;
	uint64_t left = less_header(to->limits.send_bytes, bytes + to->traits->reply_chunk) /
			to->traits->segment;
	uint64_t chunk = min_u64(left, less_header(to->limits.segment_count, segments)) * each;

	return chunk > to->limits.recv_bytes ? chunk : 0;
}

/* The Reply chunk for a call that does not fit with one of @offer octets; 0: none. A long call may
 * need segments for its payload stream. */
static uint32_t shortened_reply(const struct plan_in *in, uint32_t offer, bool joined)
{
	const struct rpc_traits *traits = in->to->traits;
	uint64_t segments = segments_in_call(in, joined), body = segments_joined(in->body_len, in);
	uint64_t chunk = longest_reply_chunk(in, segments, in->header_len + in->body_len);

	if (!chunk)
		chunk = longest_reply_chunk(in, segments + body,
					    in->header_len + traits->call_chunk +
						    body * traits->read_segment);
	return (uint32_t)min_u64(chunk, offer);
}

/* Pick the form of the call, with a Reply chunk of @offer octets if that is possible. */
static void pick_offering(const struct plan_in *in, uint32_t offer, uint32_t expected, bool joined,
			  struct plan_call *out)
{
	const struct plan_end *to = in->to;
	uint32_t may_offer = to->no_reply_chunk ? 0 : offer;

	pick_with_reply(in, may_offer, joined, out);
	out->expected = to->no_reply_chunk ? 0 : expected;
	if (may_offer && to->traits->continues && !in->call->has_reply)
		leave_out_if_dear(in, joined, out);
	/* If the Reply chunk makes the segments too many, and the responder can continue its Reply
	 * (draft-07 6.6.4): a shorter chunk, or none. */
	if (out->form == PLAN_REFUSED && may_offer && to->traits->continues)
		pick_with_reply(in, shortened_reply(in, may_offer, joined), joined, out);
	if (out->form == PLAN_REFUSED && may_offer && to->traits->continues)
		pick_with_reply(in, 0, joined, out);
	out->offer = offer;
}

void plan_call_form(const struct plan_in *in, struct plan_call *out)
{
	uint32_t expected;
	uint64_t offer;

	if (plan_is_beyond_reverse(in, out))
		return;
	offer = reply_chunk(in, &expected);
	pick_offering(in, clamp_u32(offer), expected, false, out);
}

bool plan_is_short(const struct rpchdr *hdr, struct view call, const struct rpc_traits *traits,
		   const struct rpc_limits *limits)
{
	struct reply r = {.responder = less_header(limits->recv_bytes, traits->reply_header)};

	if (call.len > limits->send_bytes)
		return false;
	foresee_length(&r, hdr, call, NULL);
	return traits->continues ? !r.is_vague : fits_inline(&r);
}

void plan_call_again(const struct plan_in *in, const struct plan_call *earlier,
		     struct plan_call *out)
{
	if (!plan_is_beyond_reverse(in, out))
		pick_offering(in, earlier->offer, earlier->expected, false, out);
}

bool plan_call_joined(const struct plan_in *in, const struct plan_call *earlier,
		      struct plan_call *out)
{
	if (!in->to->is_far || in->call->nreads != 1 || plan_is_beyond_reverse(in, out))
		return false;
	pick_offering(in, earlier->offer, earlier->expected, true, out);
	/* A call that has to wait for credits loses a round trip as well. */
	return out->form == PLAN_INLINE || (out->form == PLAN_CONTINUED && !out->only_way);
}

void plan_reply_form(const struct plan_in *in, struct plan_reply *out)
{
	const struct rpc_msg *call = in->call;
	const struct plan_end *to = in->to;
	uint64_t threshold = to->limits.send_bytes, external = in->header_len;

	if (call->has_reply)
		external +=
			to->traits->reply_used + (uint64_t)call->reply.count * to->traits->segment;
	*out = (struct plan_reply){.form = PLAN_REFUSED};
	if (in->header_len >= threshold)
		/* A message without payload stream cannot even say which Write chunks were filled:
		 * draft-07 7.4.1. */
		out->error.code = RPC_ERROR_SYSTEM;
	else if (in->header_len + in->body_len <= threshold)
		out->form = PLAN_INLINE;
	else if (call->has_reply && in->body_len <= call->reply.length && external <= threshold)
		out->form = PLAN_BODY_CHUNK;
	else if (is_covered(in->body_len, in->header_len, to, in->reverse, &to->continued_most))
		out->form = PLAN_CONTINUED;
	else
		out->error = (struct rpc_error){.code = RPC_ERROR_REPLY_RESOURCE,
						.a = clamp_u32(in->body_len)};
}

/* Find the last Write chunk that is not empty; 0: none. Return: false if a chunk before it is
 * empty. */
static bool writes_in_use(const struct rpc_msg *call, unsigned *n)
{
	*n = call->nwrites;
	while (*n > 0 && call->writes[*n - 1].length == 0)
		(*n)--;
	for (unsigned i = 0; i < *n; i++)
		if (call->writes[i].length == 0)
			return false;
	return true;
}

/* Whether the reply's header and payload stream certainly fit before the data in a Receive. */
static bool is_stream_short(const struct plan_in *in, const struct plan_receives *own)
{
	struct reply r;

	plan_foresee(&r, in);
	/* A responder that cannot send a message as long as the Receive may be unable to put data
	 * behind the payload stream. */
	return !r.is_vague && !r.is_guess && r.known + (uint64_t)EXTENDED_HEADER <= own->bytes &&
	       own->bytes <= in->to->limits.recv_bytes;
}

/* Whether the result of Write chunk @c may be asked for by Send alone: then no chunk tells the
 * responder its length. A length of whole words covers the pad that servers may write behind the
 * result (rfc5666bis-01 4.4.5.2). */
static bool may_be_unbounded(const struct rpc_chunk *c, const struct plan_receives *own)
{
	return c->length <= own->data && c->length % 4 == 0;
}

/* Whether a reply for which the requester offered a Reply chunk fits the responder's Send beside
 * @nwrites items of the extension, which has no Reply chunk. */
static bool fits_extended(const struct plan_in *in, unsigned nwrites)
{
	struct reply r;

	if (!in->call->has_reply)
		return true;
	plan_foresee(&r, in);
	return (r.is_vague ? r.offered : r.known) + extended_header(nwrites) <= r.responder;
}

bool plan_extends(const struct plan_in *in, const struct plan_call *plan,
		  const struct plan_receives *own, enum plan_ask *ask)
{
	unsigned nwrites;

	*ask = PLAN_ASK_NOTHING;
	if (in->reverse || plan->form == PLAN_REFUSED || plan->reply_bytes ||
	    !writes_in_use(in->call, &nwrites) || nwrites > RPC_MAX_WISHES)
		return false;
	if (nwrites == 0)
		return in->call->nreads > 0;
	if (own->data == 0 || !fits_extended(in, nwrites))
		return false;
	*ask = nwrites == 1 && may_be_unbounded(&in->call->writes[0], own) &&
			       is_stream_short(in, own)
		       ? PLAN_ASK_SENT
		       : PLAN_ASK_EITHER;
	return true;
}

enum plan_item plan_item(const struct rpc_wish *wish, uint64_t length, uint64_t offered,
			 bool may_send)
{
	bool by_send = wish->way == RPC_BY_SEND || wish->way == RPC_BY_EITHER ||
		       (wish->way == RPC_BY_SIZE && length <= wish->most);

	if (length == 0)
		return PLAN_ITEM_NONE;
	if (by_send && may_send)
		return PLAN_ITEM_SENT;
	return wish->way != RPC_BY_SEND && length <= offered ? PLAN_ITEM_WRITTEN
							     : PLAN_ITEM_REFUSED;
}
