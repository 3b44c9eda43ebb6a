/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_WORKER_H
#define DAEMON_WORKER_H

#include "daemon/gateway.h"
#include "daemon/loop.h"

/**
 * worker - one thread with its own loop, fabric instances, memory and sessions;
 * workers share nothing but the listening sockets and the gateway's tables.
 *
 * Everything here is called by the main thread. What is asked of a running
 * worker is a flag and a wake-up.
 */
struct worker;

enum worker_state {
	WORKER_RUNNING,
	WORKER_DRAINING, /* no longer accepts: its part in the listeners is given up */
	WORKER_ENDED,	 /* its thread is over */
	WORKER_FAILED,	 /* the same, because its loop broke (logged) */
};

/**
 * worker_new - a worker that is set up, attached to every listener, but not running
 * @gw:     borrowed until worker_free()
 * @parent: woken when the worker's state changes
 *
 * Return: owned, or NULL (logged).
 */
struct worker *worker_new(const struct gateway *gw, unsigned index, struct loop *parent);

/** worker_start - run it in a thread of its own. Return: 0 or ERR_NOMEM (logged). */
int worker_start(struct worker *w) WARN_UNUSED;

/** worker_drain - stop accepting; let in who has connected, let calls in flight finish, bounded by drain_timeout. */
void worker_drain(struct worker *w);

/** worker_stop - end now, whatever is in flight. */
void worker_stop(struct worker *w);

/** worker_report - log the legs of every session and the counters. */
void worker_report(struct worker *w);

/** worker_wake - it looks for what others made known. */
void worker_wake(struct worker *w);

struct inquiry;

/** worker_inquire - @q is the worker's until worker_has_answered(); one at a time. It wakes its parent
 * when it is done. */
void worker_inquire(struct worker *w, struct inquiry *q);
bool worker_has_answered(struct worker *w);

enum worker_state worker_state(const struct worker *w);

/** worker_free - takes @w, which may be NULL; stops it and waits for its thread. */
void worker_free(struct worker *w);

#endif
