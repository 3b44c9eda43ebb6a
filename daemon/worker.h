/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_WORKER_H
#define DAEMON_WORKER_H

#include "daemon/gateway.h"
#include "daemon/loop.h"

/**
 * worker - one thread with its own loop, fabric instances, memory and sessions. Workers share only
 * the listening sockets and the gateway's tables.
 *
 * Only the main thread calls these functions. A request to a running worker is a flag and a
 * wake-up.
 */
struct worker;

enum worker_state {
	WORKER_RUNNING,
	WORKER_DRAINING, /* no longer accepts; detached from the listeners */
	WORKER_ENDED,	 /* its thread has ended */
	WORKER_FAILED,	 /* its thread has ended because its loop failed (logged) */
};

/**
 * worker_new - a worker that is set up, attached to every listener, but not running
 * @gw:     borrowed until worker_free()
 * @parent: woken when the worker's state changes
 *
 * Return: owned, or NULL (logged).
 */
struct worker *worker_new(const struct gateway *gw, unsigned index, struct loop *parent);

/** worker_start - run the worker in a thread of its own. Return: 0 or ERR_NOMEM (logged). */
int worker_start(struct worker *w) WARN_UNUSED;

/** worker_drain - stop accepting. Clients that have connected are still served, and calls in flight
 * finish, within drain_timeout. */
void worker_drain(struct worker *w);

/** worker_stop - end now; calls in flight are lost. */
void worker_stop(struct worker *w);

/** worker_report - log the legs of every session and the counters. */
void worker_report(struct worker *w);

/** worker_wake - make the worker look for changes that other threads published. */
void worker_wake(struct worker *w);

struct worker_query;

/** worker_give_query, worker_has_answered - hand @q to the worker, which owns @q until
 * worker_has_answered() is true. A worker has one query at a time. It wakes its parent when it has
 * answered. */
void worker_give_query(struct worker *w, struct worker_query *q);
bool worker_has_answered(struct worker *w);

enum worker_state worker_state(const struct worker *w);

/** worker_free - takes @w, which may be NULL; stops it and waits for its thread. */
void worker_free(struct worker *w);

#endif
