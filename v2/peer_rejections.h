/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2_PEER_REJECTIONS_H
#define V2_PEER_REJECTIONS_H

#include "v2/conn.h"

/**
 * peer_rejections - messages that the peer reported it does not take: respected for the life of the
 * connection
 *
 * An RDMA2_ERROR tells neither the type nor the length of the message it is about, and not even its
 * direction. So messages of ours that can draw one of these errors are remembered by XID. A report
 * about no message of ours sets no limit.
 */

/* Private: for v2_peer_rejections_remember(). */
void v2_peer_rejections_keep(struct v2_conn *c, const struct rpc_msg *m, uint32_t htype);

/** v2_peer_rejections_remember - the first Send of @m, of type @htype, is about to go out. .credit
 * does not count this Send yet. */
static inline void v2_peer_rejections_remember(struct v2_conn *c, const struct rpc_msg *m,
					       uint32_t htype)
{
	/* Nothing is kept of an inline Reply, and usually of no earlier one with its XID either. */
	if (htype != V2_REPLY_INLINE || c->sent_replies[m->xid % V2_SENT_REPLIES].xid == m->xid)
		v2_peer_rejections_keep(c, m, htype);
}

/** v2_peer_rejections_answered - a Reply to our Call @xid came: update the estimate of the peer's
 * credits. */
void v2_peer_rejections_answered(struct v2_conn *c, uint32_t xid);

/** v2_peer_rejections_apply - apply a report to the forms that may still be sent. Return: 0, or an
 * error: no form is left. */
int v2_peer_rejections_apply(struct v2_conn *c, const struct v2_hdr *h) WARN_UNUSED;

/**
 * v2_peer_rejections_is_stale - whether a report may be about an earlier form of a Call
 *
 * A peer that does not know RDMA2_CALL_MIDDLE answers each RDMA2_CALL_MIDDLE (7.1.3). It answers
 * the last part, too, because that is a malformed Call by itself (7.2.1). After the first report
 * the Call is sent in another form. A later report is about the earlier form, or, if the peer
 * answered only the first part, about the other form.
 */
bool v2_peer_rejections_is_stale(struct v2_conn *c, const struct v2_hdr *h);

/** v2_peer_rejections_may_report - whether a Report Error with @xid can be about a Transmit Request
 * of this end: one that was sent and not answered, or whose entry was overwritten since. */
bool v2_peer_rejections_may_report(const struct v2_conn *c, uint32_t xid);

/** v2_peer_rejections_is_reply - whether a report is about a Reply of this end. */
bool v2_peer_rejections_is_reply(const struct v2_conn *c, const struct v2_hdr *h);

/** v2_peer_rejections_limits - call after the peer's properties were applied: limits that its
 * refusals have set still hold. */
void v2_peer_rejections_limits(struct v2_conn *c);

#endif
