/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_QUEUE_H
#define FABRIC_VERBS_QUEUE_H

#include <stddef.h>

#include "base/err.h"
#include "fabric/verbs/types.h"

struct fabric;
struct fabric_conn_params;
struct verbs_conn;

/** queue - queue pairs */

/** queue_depths - allocate the records of @c's queues for the depths of @p, once. Return: 0,
 * ERR_TOOBIG or ERR_NOMEM. */
int queue_depths(struct verbs_conn *c, const struct fabric_conn_params *p) WARN_UNUSED;

/** queue_cost - .conn_cost of struct fabric_ops. */
size_t queue_cost(const struct fabric *f, const struct fabric_conn_params *p);

/** queue_make - make the queue pair of @c, whose device is known, and hand over the Receives posted
 * before. Return: 0; ERR_NOMEM, or ERR_LOCAL if the device is short of something else or cannot be
 * used, with errno; a second call does nothing. */
int queue_make(struct verbs_conn *c) WARN_UNUSED;

/** queue_put_back - give back shared Receives with messages that were not polled. */
void queue_put_back(struct verbs_conn *c);

/** queue_free - free the memory of @c's queues; the queue pair no longer exists. */
void queue_free(struct verbs_conn *c);

/** queue_has_room - whether the send queue has room for @n operations of the user. */
static inline bool queue_has_room(const struct verbs_conn *c, uint32_t n)
{
	return c->sq_posted - c->sq_freed + c->sq_reserved + n <= c->sq_size;
}

/** queue_has_room_for_window - whether the send queue has room for a bind and its invalidate,
 * beside all operations that the user may post. */
static inline bool queue_has_room_for_window(const struct verbs_conn *c)
{
	return c->extras_posted - c->extras_freed + c->sq_reserved + 2 + c->max_sends < c->sq_size;
}

#endif
