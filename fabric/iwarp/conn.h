/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_CONN_H
#define FABRIC_IWARP_CONN_H

#include "fabric/iwarp/iwarp_internal.h"

/** conn - connections of an instance: memory, state, deadlines. */

/** iwarp_conn_new - a connection in @state on @fd. Takes @fd, also on failure. Return: owned by the
 * caller; NULL: no memory. */
struct iwarp_conn *iwarp_conn_new(struct iwarp *iw, int fd, enum iwarp_state state, void *owner);

/** iwarp_conn_free - takes @c: closes its socket, gives back all its memory, drops its events. */
void iwarp_conn_free(struct iwarp_conn *c);

/** iwarp_conn_queues - allocate the queue pair of @c, if @c has none. Return: as qp_init(). */
int iwarp_conn_queues(struct iwarp_conn *c, const struct fabric_conn_params *params) WARN_UNUSED;

/** iwarp_conn_deadline - .deadline of @c expires @ms from now; 0: never. */
void iwarp_conn_deadline(struct iwarp_conn *c, uint32_t ms);

/** iwarp_conn_activate - @c may have an event for fabric_poll(). */
void iwarp_conn_activate(struct iwarp_conn *c);

/** iwarp_conn_end - moves @c to IWARP_CLOSED: closes the socket and flushes all operations. @status
 * and @why (static storage) are for DISCONNECTED. */
void iwarp_conn_end(struct iwarp_conn *c, int status, const char *why);

/** iwarp_conn_end_read_turn - ends the read turn of @c (recv_sched.c); idempotent. */
static inline void iwarp_conn_end_read_turn(struct iwarp_conn *c)
{
	if (!c->qp.has_read_turn)
		return;
	c->qp.has_read_turn = false;
	list_del(&c->read_turn_link);
	c->iw->read_turn_count--;
	c->iw->read_turn_recvs -= c->qp.depths.max_recvs;
}

/** iwarp_draw - a random number. If the configuration has a seed, the sequence repeats. */
uint64_t iwarp_draw(struct iwarp *iw);

/** iwarp_now - the monotonic clock; read at set-up, on stalls and at ends, never per message. */
nsec_t iwarp_now(void);

#endif
