/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_VRING_H
#define FABRIC_VERBS_VRING_H

#include <stdint.h>

#include "base/err.h"

struct vop;
struct vring;

/** vring - operations of a queue, until they were polled */

/** vring_init - with room for @depth records. Return: 0 or ERR_NOMEM. */
int vring_init(struct vring *r, uint32_t depth) WARN_UNUSED;

/** vring_add - the record, all zeros, of one more operation; owned by @r until it was polled. */
struct vop *vring_add(struct vring *r);

#endif
