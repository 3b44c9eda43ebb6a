/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_RECV_SCHED_H
#define FABRIC_IWARP_RECV_SCHED_H

#include "fabric/iwarp/iwarp_internal.h"

/** recv_sched - which connections get the next shared Receives */

/** recv_sched_await - the message at hand of @c waits for a shared Receive: until one is posted, or
 * @c holds fewer. */
void recv_sched_await(struct iwarp_conn *c);

/** recv_sched_try - @c, which waits, tries again with the next flush. */
void recv_sched_try(struct iwarp_conn *c);

/** recv_sched_gave_back - fabric_ops.gave_back. */
void recv_sched_gave_back(struct fabric_conn *c);

/** recv_sched_look - call every IWARP_RECLAIM_INTERVAL: connections for which enough are left now try
 * again; looks at a limited number. */
void recv_sched_look(struct iwarp *iw);

/** recv_sched_turn - recv_sched_look() for a few connections; call with each flush. */
void recv_sched_turn(struct iwarp *iw);

#endif
