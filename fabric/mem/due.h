/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_MEM_DUE_H
#define FABRIC_MEM_DUE_H

#include "fabric/mem/internal.h"

/** memnet_random - the next random number of the network's seed. */
uint64_t memnet_random(struct memnet *net);

/** memnet_fault_hits - add one to @counter. Return: whether @fault is the configured fault and is
 * to happen now. */
bool memnet_fault_hits(struct memnet *net, enum memnet_fault fault, uint64_t *counter);

/** memnet_due_init - set up @due for @what on @conn; nothing is scheduled yet. */
void memnet_due_init(struct mem_due *due, struct mem_conn *conn, enum mem_what what);

/** memnet_schedule - make @due happen at @at. */
void memnet_schedule(struct memnet *net, struct mem_due *due, nsec_t at);

/** memnet_after - the time @delay after @at; NSEC_NEVER if that overflows. */
nsec_t memnet_after(nsec_t at, nsec_t delay);

/** memnet_soon - a random time a little later than now, for something that does not use the
 * wire. */
nsec_t memnet_soon(struct memnet *net);

/** memnet_wire - a random time at which the wire of @c delivers, not before *@last. Sets *@last to
 * that time. */
nsec_t memnet_wire(struct mem_conn *c, nsec_t *last);

/** memnet_wire_slow - as memnet_wire(), but at the earliest @takes ns after *@last: the time that a
 * slow end takes. */
nsec_t memnet_wire_slow(struct mem_conn *c, nsec_t *last, nsec_t takes);

/** memnet_here - as memnet_wire(), for something that happens at this end before it uses the
 * wire. */
nsec_t memnet_here(struct mem_conn *c, nsec_t *last);

#endif
