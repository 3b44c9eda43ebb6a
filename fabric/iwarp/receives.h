/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_RECEIVES_H
#define FABRIC_IWARP_RECEIVES_H

#include "fabric/iwarp/iwarp_internal.h"

/** receives - Receives that all connections share */

/** receives_share, receives_unshare, receives_wanted, receives_post - share_receives,
 * unshare_receives, receives_wanted and post_shared of struct fabric_ops. */
int receives_share(struct fabric *f, uint32_t len) WARN_UNUSED;
void receives_unshare(struct fabric *f);
uint32_t receives_wanted(const struct fabric *f);
int receives_post(struct fabric *f, void *buf, void *cookie) WARN_UNUSED;

/** receives_feed - resume connections that wait for a Receive, the one that has waited longest
 * first, until none is posted; call it with each flush. */
void receives_feed(struct iwarp *iw);

/** receives_back - fills @ev for a Receive that is returned without a message. Return: whether
 * there was one. */
bool receives_back(struct iwarp *iw, struct fabric_event *ev);

/** receives_period - callback of iwarp.period. */
void receives_period(struct timer *timer, nsec_t now);

/** receives_reclaim - callback of iwarp.reclaim: ends connections that hold a Receive for a message
 * that does not progress, while others wait. */
void receives_reclaim(struct timer *timer, nsec_t now);

#endif
