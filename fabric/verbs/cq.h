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

/** cq_init - set up @q, of @conn or of @share; no queue is made yet. */
void cq_init(struct vcq *q, struct verbs *v, struct verbs_conn *conn, struct vshare *share);

/** cq_make - make the queue. Workers use the device's completion vectors in turn, because with
 * one vector one CPU would take all interrupts. */
int cq_make(struct vcq *q, struct verbs_dev *dev, uint32_t depth) WARN_UNUSED;

/** cq_destroy - destroy the queue, if it was made; its events are acknowledged. */
void cq_destroy(struct vcq *q);

/** cq_poll - up to @most completions. Return: how many. */
int cq_poll(struct vcq *q, struct ibv_wc *wc, int most) WARN_UNUSED;

/** cq_arm - have the channel report the next completion. */
void cq_arm(struct vcq *q);

/** cq_failed - the queue cannot be relied on any more. */
void cq_failed(struct vcq *q);

#endif
