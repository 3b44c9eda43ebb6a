/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_RECVQ_H
#define FABRIC_IWARP_RECVQ_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "fabric/depth.h"
#include "fabric/fabric.h"

/**
 * recvq.h - the Receives that all connections of an instance share
 *
 * A queue pair takes a Receive when the first octets of a message are there, not before: an idle
 * connection has none. A message that finds none stays in the read-ahead and then in the socket.
 * The queue is as deep as the load of one turn needs (fabric/depth.h), because it is filled each
 * turn. Surplus Receives come back after a while.
 */

/** struct qp_event - a completion; embedded in the object that completes. */
struct qp_event {
	struct qp_event *next;
	void *cookie;
	uint8_t type; /* enum fabric_ev_type */
	int32_t status;
	uint32_t len;
	uint32_t invalidated; /* RECV: the handle invalidated, or 0 */
	uint32_t ref;	      /* other types: its place in its table */
};

struct sums;

/** struct qp_recv - a Receive, posted or with a message. */
struct qp_recv {
	struct qp_recv *next;
	uint8_t *buf;
	uint32_t len;
	struct sums *sums; /* of its message; NULL: none */
	struct qp_event done;
};

struct recvq {
	uint32_t len; /* octets of each Receive */
	struct qp_recv *all, *free;
	struct qp_recv *first; /* posted Receives, the last posted first */
	struct qp_recv *back;  /* Receives whose return without a message is to be reported */
	uint32_t posted;
	uint32_t held; /* Receives in the queue and with connections */
	uint32_t left; /* the user's .receives_left and .receives_most, as of the last flush */
	uint32_t most;
	uint32_t window; /* most messages that any one peer was ever allowed to send */
	struct fabric_depth depth;
};

/** recvq_init - of Receives of @len octets. Return: 0 or ERR_NOMEM. */
int recvq_init(struct recvq *q, uint32_t len) WARN_UNUSED;

/** recvq_fini - what is posted is its owner's again. */
void recvq_fini(struct recvq *q);

/** recvq_promise, recvq_release_promise - a connection whose peer may send @n messages begins,
 * and ends. */
void recvq_promise(struct recvq *q, uint32_t n);
void recvq_release_promise(struct recvq *q, uint32_t n);

/** recvq_left - how many Receives are posted or could be. */
static inline uint64_t recvq_left(const struct recvq *q)
{
	return (uint64_t)q->left + q->posted;
}

/**
 * recvq_spare - Receives reserved for the connection that has a read turn (recv_sched.c)
 *
 * A connection that holds some takes no more while only these are left. They cover all that the
 * connection with the read turn may be sent, if half of all Receives are enough for that.
 */
static inline uint32_t recvq_spare(const struct recvq *q)
{
	uint32_t turn = q->window + q->most / FABRIC_RECV_RESERVE_DIV,
		 half = q->most / FABRIC_RECV_READER_DIV;

	return turn < half ? turn : half;
}

/** recvq_wanted - how many more should be posted. */
uint32_t recvq_wanted(const struct recvq *q);

/** recvq_post - Return: 0, or ERR_AGAIN: it is full. */
int recvq_post(struct recvq *q, void *buf, void *cookie) WARN_UNUSED;

/** recvq_take - a Receive for a message, or NULL. */
struct qp_recv *recvq_take(struct recvq *q);

/** recvq_return - @r is not delivered to the user: it is for the next message. */
void recvq_return(struct recvq *q, struct qp_recv *r);

/** recvq_forget - @r is the user's again. */
void recvq_forget(struct recvq *q, struct qp_recv *r);

/** recvq_period - a period has passed. Return: whether the end of the next one has to be
 * reported, too. */
bool recvq_period(struct recvq *q);

/** recvq_next_back - the next Receive that comes back without a message. Return: whether there
 * is one. */
bool recvq_next_back(struct recvq *q, void **cookie);

#endif
