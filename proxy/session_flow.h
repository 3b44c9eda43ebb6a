/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SESSION_FLOW_H
#define PROXY_SESSION_FLOW_H

#include "proxy/session.h"

/** session_flow - Reads and Writes outstanding on a leg of a session. */

/* The least window, and the time within which a peer takes what earns it a larger one. At three
 * times the least rate (deadlines.h) a peer takes the least window in 5 s. */
enum { FLOW_WINDOW = 256 << 10 };
#define FLOW_TIME NSEC_PER_SEC

/* A peer is fast if it takes FLOW_SAMPLE octets within FLOW_SAMPLE_TIME. */
enum { FLOW_SAMPLE = 8 << 20 };
#define FLOW_SAMPLE_TIME (8 * NSEC_PER_SEC)

/**
 * session_flow_window - octets of operations that may be under way before a stored result is held
 * back: twice what the peer has taken within FLOW_TIME, but FLOW_WINDOW at least. It begins with
 * OP_PIECE, so that a READ of that length takes one round trip.
 */
uint64_t session_flow_window(const struct session_flow *f, nsec_t now);

/**
 * session_flow_is_fast - whether the peer takes octets fast: it took the last sample of FLOW_SAMPLE
 * octets within FLOW_SAMPLE_TIME, and the sample that is measured now has not taken longer so far
 *
 * Only the time in which operations are outstanding counts. A sample is larger than what buffers on
 * the way usually take in the peer's stead.
 */
bool session_flow_is_fast(const struct session_flow *f, nsec_t now);

/** session_flow_is_full - whether so many octets are under way. */
static inline bool session_flow_is_full(const struct session_flow *f, nsec_t now)
{
	return f->octets >= session_flow_window(f, now);
}

/**
 * session_posted, session_completed - a Read or Write of @bytes was posted, or the oldest one
 * completed
 *
 * At most SESSION_OP_DEPTH are outstanding on one leg.
 */
void session_posted(struct session_flow *f, uint32_t bytes, nsec_t now);
void session_completed(struct session_flow *f, nsec_t now);

#endif
