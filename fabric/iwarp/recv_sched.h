/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_RECV_SCHED_H
#define FABRIC_IWARP_RECV_SCHED_H

#include "fabric/iwarp/iwarp_internal.h"

/** recv_sched - which connections get the next shared Receives */

/** recv_sched_await - the next message of @c found no shared Receive: puts @c into the list of
 * those that wait, unless @c is in one. */
void recv_sched_await(struct iwarp_conn *c);

/** recv_sched_try - a flush is to resume @c, which waits, as soon as a Receive is posted. */
void recv_sched_try(struct iwarp_conn *c);

/** recv_sched_gave_back - fabric_ops.gave_back. */
void recv_sched_gave_back(struct fabric_conn *c);

/** recv_sched_look - examine a limited number of connections whose user holds too many Receives,
 * and resume those that may take one now. Call it every IWARP_RECLAIM_INTERVAL while connections
 * wait. */
void recv_sched_look(struct iwarp *iw);

/** recv_sched_turn - recv_sched_look() for a few connections; call with each flush. */
void recv_sched_turn(struct iwarp *iw);

#endif
