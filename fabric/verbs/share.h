/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_SHARE_H
#define FABRIC_VERBS_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/loop.h"

struct fabric;
struct fabric_event;
struct verbs;

/** share_begin, share_end, share_wanted, share_post - share_receives, unshare_receives,
 * receives_wanted and post_shared of struct fabric_ops. */
int share_begin(struct fabric *f, uint32_t len) WARN_UNUSED;
void share_end(struct fabric *f);
uint32_t share_wanted(const struct fabric *f);
int share_post(struct fabric *f, void *buf, void *cookie) WARN_UNUSED;

/** share_flush - hand Receives posted to all shared queues of @v to the devices. share_tick - check
 * the depth of these queues, if that is due. */
void share_flush(struct verbs *v);
void share_tick(struct verbs *v, nsec_t now);

/** share_notes - act on the flags of shared queues that any worker has set after an event of a
 * device.
 * Return: whether fabric_poll() may have an event. */
bool share_notes(struct verbs *v);

/** share_event - fill @ev for a Receive that is returned without a message. Return: false: there is
 * none. */
bool share_event(struct verbs *v, struct fabric_event *ev);

#endif
