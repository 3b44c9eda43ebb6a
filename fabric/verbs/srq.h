/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_SRQ_H
#define FABRIC_VERBS_SRQ_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct verbs;
struct verbs_dev;
struct vshare;

/** srq_open - the queue of a device that comes into use. */
int srq_open(struct verbs_dev *dev) WARN_UNUSED;

/** srq_close - close it; its Receives come back. */
void srq_close(struct verbs_dev *dev);

/** srq_log - log whether Receives on the device are shared. */
void srq_log(const struct verbs_dev *dev);

/** srq_free_all - free all queues of @v, without events. */
void srq_free_all(struct verbs *v);

/** srq_missing - how many more Receives the queue wants and has room for. */
uint32_t srq_missing(const struct vshare *s);

/** srq_post - add a Receive. Return: 0, or ERR_AGAIN: none is missing. */
int srq_post(struct vshare *s, void *buf, void *cookie) WARN_UNUSED;

/** srq_flush - hand what was posted to the device. */
void srq_flush(struct vshare *s);

/** srq_put_back - post the Receive in @slot again; its message is not delivered. */
void srq_put_back(struct vshare *s, uint32_t slot);

/** srq_release - the buffer in @slot is the user's again. */
void srq_release(struct vshare *s, uint32_t slot);

/** srq_next_back - the next Receive that comes back; may free @s. Return: false: there is none. */
bool srq_next_back(struct vshare *s, void **cookie);

/** srq_unuse - a connection no longer uses @s. */
void srq_unuse(struct vshare *s);

#endif
