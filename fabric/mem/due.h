/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_MEM_DUE_H
#define FABRIC_MEM_DUE_H

#include "fabric/mem/internal.h"

uint64_t memnet_random(struct memnet *net);

/** memnet_fault_hits - count one more in @counter: is it the configured victim of @fault? */
bool memnet_fault_hits(struct memnet *net, enum memnet_fault fault, uint64_t *counter);

void memnet_due_init(struct mem_due *due, struct mem_conn *conn, enum mem_what what);

/** memnet_schedule - make @due happen at @at. */
void memnet_schedule(struct memnet *net, struct mem_due *due, nsec_t at);

/** memnet_after - @delay after @at, at most never. */
nsec_t memnet_after(nsec_t at, nsec_t delay);

/** memnet_soon - a random time from now, for something that does not use the wire. */
nsec_t memnet_soon(struct memnet *net);

/** memnet_wire - a random time when the wire of @c delivers, not before *@last, which it becomes. */
nsec_t memnet_wire(struct mem_conn *c, nsec_t *last);

/** memnet_wire_slow - likewise, and not before the other end has had @takes for it, from *@last on. */
nsec_t memnet_wire_slow(struct mem_conn *c, nsec_t *last, nsec_t takes);

/** memnet_here - likewise, before anything has gone over the wire. */
nsec_t memnet_here(struct mem_conn *c, nsec_t *last);

#endif
