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
 * A queue pair takes a Receive when the first octets of a message are there, so an idle connection
 * has none. The octets of a message that finds no Receive stay in the read-ahead and in the socket.
 * The user fills the queue each turn, so the queue is as deep as the load of one turn needs
 * (fabric/depth.h). Receives beyond that depth are returned to the user after some time.
 */

/** struct qp_event - a completion; embedded in the object that completes. */
struct qp_event {
	struct qp_event *next;
	void *cookie;
	uint8_t type; /* enum fabric_ev_type */
	int32_t status;
	uint32_t len;
	uint32_t invalidated; /* RECV: the handle invalidated, or 0 */
	uint32_t ref;	      /* other types: place of the operation or exposure in its table */
};

struct sums;

/** struct qp_recv - a Receive, posted or with a message. */
struct qp_recv {
	struct qp_recv *next;
	uint8_t *buf;
	uint32_t len;
	struct sums *sums; /* sums of the message in it; NULL: none */
	struct qp_event done;
};

struct recvq {
	uint32_t len; /* octets of each Receive */
	struct qp_recv *all, *free;
	struct qp_recv *first; /* posted Receives, the last posted first */
	struct qp_recv *back;  /* Receives whose return without a message is to be reported */
	uint32_t posted;
	uint32_t held;	 /* Receives in the queue and with connections */
	uint32_t left;	 /* .receives_left of the instance at the last flush */
	uint32_t most;	 /* .receives_most of the instance at the last flush */
	uint32_t window; /* most messages (.max_recvs) that one peer was ever allowed to send */
	struct fabric_depth depth;
};

/** recvq_init - an empty queue for Receives of @len octets. Return: 0 or ERR_NOMEM. */
int recvq_init(struct recvq *q, uint32_t len) WARN_UNUSED;

/** recvq_fini - free @q; posted buffers are their owner's again. */
void recvq_fini(struct recvq *q);

/** recvq_promise, recvq_release_promise - a connection begins, or ends, whose peer may send @n
 * messages at once. */
void recvq_promise(struct recvq *q, uint32_t n);
void recvq_release_promise(struct recvq *q, uint32_t n);

/** recvq_left - how many Receives are posted or could be. */
static inline uint64_t recvq_left(const struct recvq *q)
{
	return (uint64_t)q->left + q->posted;
}

/**
 * recvq_spare - number of Receives that are reserved for a connection with a read turn
 * (recv_sched.c)
 *
 * While only this number is left, a connection without read turn that holds Receives takes no
 * more. The number covers all messages that one peer may send, but is at most
 * 1/FABRIC_RECV_READER_DIV of all Receives.
 */
static inline uint32_t recvq_spare(const struct recvq *q)
{
	uint32_t turn = q->window + q->most / FABRIC_RECV_RESERVE_DIV,
		 half = q->most / FABRIC_RECV_READER_DIV;

	return turn < half ? turn : half;
}

/** recvq_wanted - how many more Receives should be posted. */
uint32_t recvq_wanted(const struct recvq *q);

/** recvq_post - add a Receive at @buf, which is borrowed until recvq_forget() or recvq_next_back().
 * Return: 0, or ERR_AGAIN: @q is full. */
int recvq_post(struct recvq *q, void *buf, void *cookie) WARN_UNUSED;

/** recvq_take - a Receive for a message, or NULL. */
struct qp_recv *recvq_take(struct recvq *q);

/** recvq_return - post @r, whose message is not delivered to the user, again. */
void recvq_return(struct recvq *q, struct qp_recv *r);

/** recvq_forget - free @r, whose buffer is the user's again. */
void recvq_forget(struct recvq *q, struct qp_recv *r);

/** recvq_period - a period has passed: adapts the depth. Return: whether the call is needed after
 * the next period, too. */
bool recvq_period(struct recvq *q);

/** recvq_next_back - removes the next Receive that is returned without a message, and sets
 * *@cookie.
 * Return: whether there is one. */
bool recvq_next_back(struct recvq *q, void **cookie);

#endif
