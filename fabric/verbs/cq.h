/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_CQ_H
#define FABRIC_VERBS_CQ_H

#include <stdint.h>

#include "base/err.h"

struct ibv_wc;
struct vcq;
struct verbs;
struct verbs_conn;
struct verbs_dev;
struct vshare;

/** cq - completion queues */

/** cq_init - initialize @q, of @conn or of @share (the other is NULL), without a completion
 * queue. */
void cq_init(struct vcq *q, struct verbs *v, struct verbs_conn *conn, struct vshare *share);

/** cq_make - make the completion queue of @q, for @depth completions. Return: 0 or ERR_NOMEM.
 * Workers use different completion vectors of the device, so that not one CPU takes all
 * interrupts. */
int cq_make(struct vcq *q, struct verbs_dev *dev, uint32_t depth) WARN_UNUSED;

/** cq_destroy - acknowledge the events of the completion queue and destroy it, if it was made. */
void cq_destroy(struct vcq *q);

/** cq_poll - take up to @most completions to @wc. Return: how many. */
int cq_poll(struct vcq *q, struct ibv_wc *wc, int most) WARN_UNUSED;

/** cq_arm - have the channel report the next completion. */
void cq_arm(struct vcq *q);

/** cq_failed - mark the queue as failed, because completions may be missing: its connection ends,
 * or the device of the shared queue counts as lost. */
void cq_failed(struct vcq *q);

#endif
