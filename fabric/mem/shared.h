/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_MEM_SHARED_H
#define FABRIC_MEM_SHARED_H

#include "fabric/mem/internal.h"

/** mem_share_receives to mem_gave_back - share_receives, unshare_receives, receives_wanted,
 * post_shared and gave_back of struct fabric_ops. */
int mem_share_receives(struct fabric *base, uint32_t len);
void mem_unshare_receives(struct fabric *base);
uint32_t mem_receives_wanted(const struct fabric *base);
int mem_post_shared(struct fabric *base, void *buf, void *cookie);
void mem_gave_back(struct fabric_conn *conn);

/** mem_shared_flush - Receives posted before can be used, and connections that waited for one
 * continue. */
void mem_shared_flush(struct mem_fabric *f);

/** mem_shared_back - put @op, which finds no room in a stream, at the head of the operations that
 * wait at @target. */
void mem_shared_back(struct mem_conn *target, struct mem_op *op);

/** mem_shared_room - there may be room in a stream of @c, or the stream was withdrawn. */
void mem_shared_room(struct mem_conn *c);

/** mem_shared_wait - queue @op, which has arrived at @target, if it has to wait: for a Receive, or
 * behind operations that wait. Return: whether @op was queued. */
bool mem_shared_wait(struct mem_conn *target, struct mem_op *op);

/** mem_shared_next - remove the operation that can continue and has waited longest from its queue,
 * and set *@target to the connection at which it arrives. Return: NULL: there is none. */
struct mem_op *mem_shared_next(struct mem_fabric *f, struct mem_conn **target);

/** mem_shared_wake - connections that can continue try again, each over its own wire. */
void mem_shared_wake(struct mem_fabric *f);

/** mem_shared_forget - drop the operations that wait at @c. */
void mem_shared_forget(struct mem_conn *c);

/** mem_shared_pick - the first or the last Receive of the queue, at random; the queue is not empty.
 * The Receive stays there. */
struct mem_op *mem_shared_pick(struct mem_fabric *f);

/** mem_shared_take - @op leaves the queue with a message for @c. */
void mem_shared_take(struct mem_conn *c, struct mem_op *op);

/** mem_shared_repost - put the Receive @op, whose message will not be polled, back into the queue,
 * for the next message; messages that wait get it from the next flush on. */
void mem_shared_repost(struct mem_fabric *f, struct mem_op *op);

/** mem_shared_polled - the event of the Receive @op was polled: its memory is the user's again. */
void mem_shared_polled(struct mem_fabric *f, struct mem_op *op);

/** mem_shared_has - whether @op is a shared Receive of @f, not an operation of a connection. */
static inline bool mem_shared_has(const struct mem_fabric *f, const struct mem_op *op)
{
	return f->share.ops && op >= f->share.ops && op < f->share.ops + f->share.depth.most;
}

/** mem_shared_serves - whether messages for @c use shared Receives. */
static inline bool mem_shared_serves(const struct mem_conn *c)
{
	return mem_conn_fabric(c)->share.ops && c->recv_pieces < 2;
}

#endif
