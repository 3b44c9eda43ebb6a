/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_STREAM_H
#define FABRIC_IWARP_STREAM_H

#include "fabric/iwarp/iwarp_internal.h"

/** stream - a connection from the end of its set-up to its own end. */

/** stream_open - the set-up of @c is complete: IWARP_OPEN begins, and CONNECTED is due. */
void stream_open(struct iwarp_conn *c);

/** stream_refuse - as stream_open(), but the first octets are a Terminate with @term, and the user
 * gets DISCONNECTED with @err instead of CONNECTED. */
void stream_refuse(struct iwarp_conn *c, int err, struct ddp_term term);

/** stream_ready, stream_expired - callbacks of struct iwarp_wake from IWARP_OPEN on: the socket has
 * @events, or .deadline has passed. */
void stream_ready(struct iwarp_conn *c, unsigned events);
void stream_expired(struct iwarp_conn *c);

/** stream_stalled - callback of struct iwarp_wake: .stall has expired at @at. Ends @c if the
 * message that the peer has begun makes too little progress. */
void stream_stalled(struct iwarp_conn *c, nsec_t at);

/** stream_press - no shared Receive is left, and connections wait for one: end those that hold one
 * for a message that makes too little progress. */
void stream_press(struct iwarp *iw);

/** stream_read, stream_write - move octets from the socket to the queue pair, or from the queue
 * pair to the socket, until one of them blocks or the connection's share of the turn is used up. */
void stream_read(struct iwarp_conn *c);

/** stream_yield - @c continues at the end of a flush (stream_go_on()). */
void stream_yield(struct iwarp_conn *c);

/**
 * stream_go_on - continue with connections in `yielded`: at least one, and as many as the turn's
 * budget allows. Then another turn begins.
 * Return: whether the turn that ends used up its budget.
 */
bool stream_go_on(struct iwarp *iw);

/** stream_resume - try again to process the message of @c that waits for a Receive. */
void stream_resume(struct iwarp_conn *c);

/** stream_probe - callback of iwarp.probe. */
void stream_probe(struct timer *timer, nsec_t now);

void stream_write(struct iwarp_conn *c);

/** stream_disconnect - begin an orderly end: IWARP_CLOSING. */
void stream_disconnect(struct iwarp_conn *c);

#endif
