/* SPDX-License-Identifier: BSD-2-Clause */
#include "v2/peer_rejections.h"

#include "v2/credit_cover.h"
#include "v2/message.h"

static struct v2_sent *place(struct v2_conn *c, enum rpc_dir dir, uint32_t xid)
{
	return dir == RPC_CALL ? &c->sent[xid % V2_SENT] : &c->sent_replies[xid % V2_SENT_REPLIES];
}

static const struct v2_sent *find(const struct v2_conn *c, enum rpc_dir dir, uint32_t xid)
{
	const struct v2_sent *sent =
		dir == RPC_CALL ? &c->sent[xid % V2_SENT] : &c->sent_replies[xid % V2_SENT_REPLIES];

	return sent->htype && sent->xid == xid ? sent : NULL;
}

/* Segments of the Call in flight with that XID; 0: there is none, or another Call replaced the
 * entry. */
static uint32_t segments_of(const struct v2_conn *c, uint32_t xid)
{
	const struct v2_asked *asked = &c->asked[xid % V2_SENT];

	return asked->xid == (uint16_t)(xid / V2_SENT) ? asked->segments : 0;
}

/* A message of type INLINE removes the entry of its XID. The number of segments of a Call is always
 * kept. */
void v2_peer_rejections_keep(struct v2_conn *c, const struct rpc_msg *m, uint32_t htype)
{
	struct v2_sent *sent = place(c, m->dir, m->xid);
	uint32_t parts;
	uint16_t stale = 0;

	if (m->dir == RPC_CALL)
		c->asked[m->xid % V2_SENT] =
			(struct v2_asked){(uint16_t)(m->xid / V2_SENT), (uint16_t)m->nsegs};
	if (sent->xid == m->xid && sent->htype == V2_CALL_MIDDLE && sent->type_errors)
		stale = (uint16_t)(sent->parts - sent->type_errors);
	if (htype == V2_CALL_INLINE || htype == V2_REPLY_INLINE) {
		if (sent->xid == m->xid)
			*sent = (struct v2_sent){0};
		return;
	}
	parts = v2_credit_cover_sends(c, m, v2_msg_header_len(m) + rpc_msg_body_len(m));
	*sent = (struct v2_sent){.xid = m->xid,
				 .htype = (uint8_t)htype,
				 .bytes = (uint32_t)rpc_msg_body_len(m),
				 .parts = (uint16_t)parts,
				 .after = c->credit.sent + parts,
				 .stale = stale};
}

bool v2_peer_rejections_is_stale(struct v2_conn *c, const struct v2_hdr *h)
{
	struct v2_sent *sent = place(c, RPC_CALL, h->xid);

	if (sent->xid != h->xid || !sent->stale ||
	    (h->error.code != RPC_ERROR_INVAL_HTYPE && h->error.code != RPC_ERROR_BAD_XDR))
		return false;
	sent->stale--;
	return true;
}

static bool was_continued(const struct v2_conn *c, enum rpc_dir dir, uint32_t xid)
{
	const struct v2_sent *sent = find(c, dir, xid);

	return sent && (sent->htype == V2_CALL_MIDDLE || sent->htype == V2_REPLY_MIDDLE);
}

bool v2_peer_rejections_is_reply(const struct v2_conn *c, const struct v2_hdr *h)
{
	return h->error.code == RPC_ERROR_INVAL_CONT && was_continued(c, RPC_REPLY, h->xid) &&
	       !was_continued(c, RPC_CALL, h->xid);
}

void v2_peer_rejections_answered(struct v2_conn *c, uint32_t xid)
{
	struct v2_sent *sent = place(c, RPC_CALL, xid);

	if (segments_of(c, xid))
		c->asked[xid % V2_SENT].segments = 0;
	if (!find(c, RPC_CALL, xid))
		return;
	if (sent->htype == V2_CALL_MIDDLE)
		v2_credit_answered(&c->credit, sent->parts, sent->after);
	sent->answered = true;
}

void v2_peer_rejections_limits(struct v2_conn *c)
{
	struct rpc_limits *peer = &c->t.peer;

	if (c->lacks_middle && c->t.own.role == RPC_INITIATOR)
		peer->continuation = false;
	peer->no_external = c->lacks_external;
	if (c->continue_bytes && c->continue_bytes < peer->continue_bytes)
		peer->continue_bytes = c->continue_bytes;
	if (c->segment_count && c->segment_count < peer->segment_count)
		peer->segment_count = c->segment_count;
}

/* Whether a Call of that XID may have been one of the types that are remembered, before another
 * Call in flight replaced its entry. XID 0 is that of every GRANT, so a report with it may be about
 * a GRANT. */
static bool is_displaced(const struct v2_sent *sent, uint32_t xid)
{
	return xid && sent->htype && sent->xid != xid && !sent->answered;
}

bool v2_peer_rejections_may_report(const struct v2_conn *c, uint32_t xid)
{
	const struct v2_sent *sent = find(c, RPC_CALL, xid);

	if (!sent)
		return is_displaced(&c->sent[xid % V2_SENT], xid);
	return sent->htype == (uint8_t)V2_RTR_REQUEST && !sent->answered;
}

/*
 * Section 7.1.3: a type that the peer does not know is not sent again. The peer is REQUIRED to know
 * every type (section 6.1), so this is a courtesy. A report with XID 0 is about a GRANT: without
 * GRANTs there are no credits, so the connection ends. A report about a type that has no
 * alternative is left to the user, who knows whether a call with this XID is in flight.
 */
static int apply_type(struct v2_conn *c, uint32_t xid)
{
	struct v2_sent *sent = place(c, RPC_CALL, xid);

	if (!find(c, RPC_CALL, xid))
		return xid ? 0 : ERR_TYPE;
	c->lacks_external |= sent->htype == V2_CALL_EXTERNAL;
	c->lacks_middle |= sent->htype == V2_CALL_MIDDLE;
	c->lacks_rtr |= sent->htype == (uint8_t)V2_RTR_REQUEST;
	if (sent->type_errors < sent->parts)
		sent->type_errors++;
	return 0;
}

/* A peer that has rejected a Transmit Request, with any report about its form, gets no further
 * Transmit Requests (docs/rtrext-profile.md, section 8). */
static void apply_form(struct v2_conn *c, const struct v2_hdr *h)
{
	const struct v2_sent *sent = find(c, RPC_CALL, h->xid);

	c->lacks_rtr |= sent && sent->htype == (uint8_t)V2_RTR_REQUEST;
}

/*
 * Section 7.1.4: no property announces the longest continued message that a receiver accepts
 * (draft-feedback.md), so only refusals show it. From now on the limit is half of the length that
 * was refused, so few refusals follow.
 */
static void apply_continuation(struct v2_conn *c, const struct v2_hdr *h)
{
	enum rpc_dir dir = v2_peer_rejections_is_reply(c, h) ? RPC_REPLY : RPC_CALL;
	const struct v2_sent *sent = find(c, dir, h->xid);

	if (!sent || !was_continued(c, dir, h->xid))
		return;
	if (!c->continue_bytes || sent->bytes / 2 < c->continue_bytes)
		c->continue_bytes = sent->bytes / 2 ? sent->bytes / 2 : 1;
}

/* Section 7.3.3: the most segments that the peer accepts. Ignored: a limit of 0, a report about no
 * Call of this end, and a report about a Call that had no more segments than this limit. */
static void apply_segments(struct v2_conn *c, const struct v2_hdr *h)
{
	uint32_t most = h->error.a;

	if (most && most < segments_of(c, h->xid) && (!c->segment_count || most < c->segment_count))
		c->segment_count = most;
}

int v2_peer_rejections_apply(struct v2_conn *c, const struct v2_hdr *h)
{
	int err = 0;

	switch (h->error.code) {
	case RPC_ERROR_INVAL_HTYPE:
		err = apply_type(c, h->xid);
		break;
	case RPC_ERROR_BAD_XDR:
	/* directions, or too many of them; _WRITE_RESOURCE is not about the form */
	case RPC_ERROR_WRITE_CHUNKS:
		apply_form(c, h);
		break;
	case RPC_ERROR_INVAL_CONT:
		apply_form(c, h);
		apply_continuation(c, h);
		break;
	case RPC_ERROR_READ_CHUNKS: /* 7.3.1: not even a Call chunk */
		apply_form(c, h);
		if (find(c, RPC_CALL, h->xid) && h->error.a == 0)
			c->lacks_external |= find(c, RPC_CALL, h->xid)->htype == V2_CALL_EXTERNAL;
		break;
	case RPC_ERROR_SEGMENTS:
		apply_form(c, h);
		apply_segments(c, h);
		break;
	case RPC_ERROR_VERS: /* section 7.1.1 */
		return h->error.a <= V2_VERSION && h->error.b >= V2_VERSION ? 0 : ERR_VERS;
	case RPC_ERROR_VERS_MISMATCH: /* section 7.1.2 */
		return ERR_VERS;
	default:
		break;
	}
	v2_peer_rejections_limits(c);
	return err;
}
