/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_TXN_CUT_THROUGH_H
#define PROXY_TXN_CUT_THROUGH_H

#include "proxy/txn.h"

/** txn_cut_through - cut-through of large results */

/** txn_waits_for_speed - the result of @t can be neither stored nor cut through now, so @t waits
 * until another call of its queue ends. */
bool txn_waits_for_speed(const struct txn *t);

/** txn_choose_cut_through - right before @t may start, and only if it does not wait for speed:
 * decide whether a large result is stored, stored and sent early, or cut through. */
void txn_choose_cut_through(struct txn *t);

/** txn_write_memory - octets of memory for the @i-th Write chunk: the chunk's length, or a
 * window's. */
uint64_t txn_write_memory(const struct txn *t, unsigned i);

/** txn_is_streamed - whether the @i-th Write chunk is exposed as a stream: it is sent early or cut
 * through. */
bool txn_is_streamed(const struct txn *t, unsigned i);

/** txn_stream - expose @r, which has a window, to the responder. Return: as fabric_expose(). */
int txn_stream(struct txn *t, struct txn_region *r, struct segment *seg) WARN_UNUSED;

/** txn_has_window - whether one of the Write chunks of @t is a stream with memory. */
bool txn_has_window(const struct txn *t);

/** txn_passed_on - how many octets of the @i-th Write chunk, from its start, are passed on as they
 * come. The others are stored. */
uint32_t txn_passed_on(const struct txn *t, unsigned i);

/** txn_placed - the responder has written a piece of a stream: pass it on. */
void txn_placed(struct txn *t, const struct leg_out *out);

/** txn_cut_through_write - post as many Writes as possible; the rest waits in .cut_through_txns of
 * the requester's leg. */
void txn_cut_through_write(struct txn *t);

/** txn_cut_through_written - a Write that txn_cut_through_write() posted completed. */
void txn_cut_through_written(struct txn *t);

/** txn_cut_through_waits - the present step of @t has to wait: until all that came is posted, or
 * until Writes under way complete. */
bool txn_cut_through_waits(const struct txn *t);

/** txn_cut_through_stop - the window is withdrawn: drop the octets that are not posted yet. */
void txn_cut_through_stop(struct txn *t);

/** txn_cut_through_next - post what fits on @leg for the transactions in its .cut_through_txns, in
 * order. Return: the next transaction of which all is posted, or NULL. */
struct txn *txn_cut_through_next(struct session *s, struct leg *leg) WARN_UNUSED;

#endif
