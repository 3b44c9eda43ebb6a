/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_MEM_SHARED_H
#define FABRIC_MEM_SHARED_H

#include "fabric/mem/internal.h"

/** mem_share_receives to mem_gave_back - share_receives, unshare_receives, receives_wanted, post_shared
 * and gave_back of struct fabric_ops. */
int mem_share_receives(struct fabric *base, uint32_t len);
void mem_unshare_receives(struct fabric *base);
uint32_t mem_receives_wanted(const struct fabric *base);
int mem_post_shared(struct fabric *base, void *buf, void *cookie);
void mem_gave_back(struct fabric_conn *conn);

/** mem_shared_flush - Receives posted before can be used, and connections that waited for one
 * continue. */
void mem_shared_flush(struct mem_fabric *f);

/** mem_shared_back - @op finds no room in a stream: put it at the head of the operations that wait
 * at @target. */
void mem_shared_back(struct mem_conn *target, struct mem_op *op);

/** mem_shared_room - there may be room in a stream of @c, or the stream was withdrawn. */
void mem_shared_room(struct mem_conn *c);

/** mem_shared_wait - @op has arrived at @target. Return: whether it has to wait, for a Receive or
 * behind operations that wait; then it was queued. */
bool mem_shared_wait(struct mem_conn *target, struct mem_op *op);

/** mem_shared_next - take the operation that has waited longest, of those that can continue, out of
 * its queue; *@target is set to the connection at which it arrives. Return: NULL: there is none. */
struct mem_op *mem_shared_next(struct mem_fabric *f, struct mem_conn **target);

/** mem_shared_wake - connections that can continue try again, each over its own wire. */
void mem_shared_wake(struct mem_fabric *f);

/** mem_shared_forget - operations that wait at @c will not be delivered. */
void mem_shared_forget(struct mem_conn *c);

/** mem_shared_pick - any Receive of a queue that is not empty; it stays there. */
struct mem_op *mem_shared_pick(struct mem_fabric *f);

/** mem_shared_take - @op leaves the queue with a message for @c. */
void mem_shared_take(struct mem_conn *c, struct mem_op *op);

/** mem_shared_repost - the message in @op will not be polled: the Receive is for the next
 * message, or from the next flush on for one that waits. */
void mem_shared_repost(struct mem_fabric *f, struct mem_op *op);

/** mem_shared_polled - @op is the user's again. */
void mem_shared_polled(struct mem_fabric *f, struct mem_op *op);

/** mem_shared_has - whether @op is one of the instance's, not of a connection. */
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
