/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_SHARE_CONN_H
#define FABRIC_VERBS_SHARE_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct verbs_conn;
struct vshare;

/** share_join - add @c, whose queue pair exists now, to the connections of its device's shared
 * queue.
 * Return: 0 or ERR_NOMEM. */
int share_join(struct verbs_conn *c) WARN_UNUSED;

/** share_leave - stop @c's queue pair from taking Receives; call it before destroying the queue
 * pair. Return: whether its completions are to be processed first, by drain_shared(). */
bool share_leave(struct verbs_conn *c) WARN_UNUSED;

/** share_find - the connection whose queue pair has the number @pair, or NULL. */
struct verbs_conn *share_find(const struct vshare *s, uint32_t pair);

/** share_set_timer - set how long the peer of @c waits before it tries again, after its message
 * found no Receive. Without effect until @c's queue pair accepts the setting. */
void share_set_timer(struct verbs_conn *c);

#endif
