/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_PLAN_SEGMENTS_H
#define PROXY_PLAN_SEGMENTS_H

#include "proxy/plan/plan.h"

/** segments - the segments of chunks: how regions are cut, and where octets lie in them. */

/**
 * plan_spread - map @length octets onto a chunk's segments, in order (draft-07 4.5.2.1)
 * @in:  the requester's segments, @n of them
 * @out: @n segments: the segments of @in. The length of each is the number of octets that lie in
 *       it; segments behind the last octet have length 0
 *
 * Return: 0 or ERR_TOOBIG when @length exceeds their sum.
 */
int plan_spread(const struct segment *in, unsigned n, uint64_t length, struct segment *out);

/**
 * plan_split - cut one exposed region into segments of at most @max octets
 *
 * Return: number of segments written to @out (at most @cap), or ERR_TOOBIG. A region of 0
 * octets gives 1 segment of length 0.
 */
int plan_split(const struct segment *region, uint32_t max, struct segment *out, unsigned cap);

/**
 * plan_runs - the lengths between the boundaries that the Write chunk @c of @call keeps
 * @runs: room for RPC_MAX_SEGMENTS
 *
 * Their sum is that of @c, and none is 0, unless @c has no octets. Return: how many.
 */
unsigned plan_runs(const struct rpc_msg *call, const struct rpc_chunk *c,
		   const struct plan_shape *shape, uint32_t *runs);

/** plan_cut - plan_split() of each of @nruns consecutive parts of @region. @runs has their lengths,
 * whose sum is the length of @region. Return: as plan_split(). */
int plan_cut(const struct segment *region, const uint32_t *runs, unsigned nruns, uint32_t max,
	     struct segment *out, unsigned cap);

/**
 * plan_strip_pad - length of the data item in a Read chunk of version 1
 * @views:     the reduced payload stream, in @nviews pieces
 * @chunk:     position and length as sent; @removed: octets of earlier chunks removed from the
 *             stream before this one, each rounded up to four
 *
 * Old peers send the XDR pad as well (rfc5666bis-01 4.4.4.1). The count word before the item shows
 * whether the peer did: if the count is 1 to 3 octets less than the chunk and rounds up to its
 * length, these octets are pad.
 * Return: the item's length without pad.
 */
uint64_t plan_strip_pad(const struct view *views, unsigned nviews, const struct rpc_chunk *chunk,
			uint64_t removed);

#endif
