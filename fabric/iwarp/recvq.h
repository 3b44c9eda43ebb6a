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
 * A queue pair takes one when the first octets of a message are there, and not before: an idle
 * connection has none. What finds none stays where it is, in the read-ahead and then in the
 * socket. The queue is as deep as the load of one turn needs (fabric/depth.h), for it is filled
 * each turn; what is too much comes back after a while.
 */

/** struct qp_event - a completion; lies in what completes. */
struct qp_event {
	struct qp_event *next;
	void *cookie;
	uint8_t type; /* enum fabric_ev_type */
	int32_t status;
	uint32_t len;
	uint32_t invalidated; /* RECV: a handle */
	uint32_t ref;	      /* the others: its place in its table */
};

/** struct qp_recv - a Receive, posted or with a message. */
struct qp_recv {
	struct qp_recv *next;
	uint8_t *buf;
	uint32_t len;
	struct qp_event done;
};

struct recvq {
	uint32_t len; /* of each */
	struct qp_recv *all, *free;
	struct qp_recv *first; /* posted, the last one first */
	struct qp_recv *back;  /* to be told that they come back */
	uint32_t posted;
	uint32_t held; /* by the queue and by connections */
	uint32_t
		left; /* more than these could be posted: of the user, as of the last flush; of so many in all */
	uint32_t most;
	uint32_t window; /* the most that any one peer was ever promised */
	struct fabric_depth depth;
};

/** recvq_init - of Receives of @len octets. Return: 0 or ERR_NOMEM. */
int recvq_init(struct recvq *q, uint32_t len) WARN_UNUSED;

/** recvq_fini - what is posted is its owner's again. */
void recvq_fini(struct recvq *q);

/** recvq_promise, recvq_release_promise - a connection whose peer may send @n messages. */
void recvq_promise(struct recvq *q, uint32_t n);
void recvq_release_promise(struct recvq *q, uint32_t n);

/** recvq_left - how many are posted, or could be. */
static inline uint64_t recvq_left(const struct recvq *q)
{
	return (uint64_t)q->left + q->posted;
}

/** recvq_spare - beside so many nobody has more because of what he keeps already: who has his turn at the last of them
 * finds all that he may be sent, where half of all is enough for that (lines.c). */
static inline uint32_t recvq_spare(const struct recvq *q)
{
	uint32_t turn = q->window + q->most / FABRIC_LAST, half = q->most / FABRIC_READS;

	return turn < half ? turn : half;
}

/** recvq_wanted - how many more should be posted. */
uint32_t recvq_wanted(const struct recvq *q);

/** recvq_post - Return: 0, or ERR_AGAIN: it is full. */
int recvq_post(struct recvq *q, void *buf, void *cookie) WARN_UNUSED;

/** recvq_take - one for a message, or NULL. */
struct qp_recv *recvq_take(struct recvq *q);

/** recvq_return - nobody will look at what is in @r: it is for the next message. */
void recvq_return(struct recvq *q, struct qp_recv *r);

/** recvq_forget - @r is the user's again. */
void recvq_forget(struct recvq *q, struct qp_recv *r);

/** recvq_period - a while went by. Return: whether the next need be told. */
bool recvq_period(struct recvq *q);

/** recvq_next_back - one that comes back without a message. */
bool recvq_next_back(struct recvq *q, void **cookie);

#endif
