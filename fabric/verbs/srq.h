/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_SRQ_H
#define FABRIC_VERBS_SRQ_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct verbs;
struct verbs_dev;
struct vshare;

/** srq_open - make the shared queue of @dev, which comes into use. Return: 0; ERR_CONFIG: the
 * device cannot share Receives; ERR_NOMEM. */
int srq_open(struct verbs_dev *dev) WARN_UNUSED;

/** srq_close - destroy the shared queue of @dev. Its Receives are returned to the user by
 * events. */
void srq_close(struct verbs_dev *dev);

/** srq_log - log whether Receives on the device are shared. */
void srq_log(const struct verbs_dev *dev);

/** srq_free_all - free all queues of @v, without events. */
void srq_free_all(struct verbs *v);

/** srq_missing - how many more Receives the queue wants and has room for. */
uint32_t srq_missing(const struct vshare *s);

/** srq_post - add a Receive, which the next srq_flush() gives to the device. Return: 0, or
 * ERR_AGAIN: none is missing. */
int srq_post(struct vshare *s, void *buf, void *cookie) WARN_UNUSED;

/** srq_flush - hand posted Receives to the device, and have it report when the queue runs low. */
void srq_flush(struct vshare *s);

/** srq_put_back - post the Receive in @slot again; its message is not delivered. */
void srq_put_back(struct vshare *s, uint32_t slot);

/** srq_release - the buffer in @slot is the user's again. */
void srq_release(struct vshare *s, uint32_t slot);

/** srq_next_back - the cookie of the next Receive that is returned without a message. May free @s.
 * Return: false: there is none. */
bool srq_next_back(struct vshare *s, void **cookie);

/** srq_unuse - a connection no longer uses @s. May free @s, if it is closed. */
void srq_unuse(struct vshare *s);

#endif
