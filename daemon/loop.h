/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_LOOP_H
#define DAEMON_LOOP_H

#include <signal.h>

#include "base/loop.h"

/**
 * loop - the event loop of base/loop.h over libevent, one for each thread
 *
 * Only the thread that runs a loop may use it. The exception is loop_wake(), which other threads
 * and signal handlers may call.
 */

/** loop_new - returns owned, or NULL when descriptors or memory are short (logged). */
struct loop *loop_new(void);

/** loop_free - takes @loop, which may be NULL; every watch must have been deleted (asserted). */
void loop_free(struct loop *loop);

/** loop_now - CLOCK_MONOTONIC, in nanoseconds. */
nsec_t loop_now(void);

/**
 * loop_run_once - wait for events and hand them to their watches
 * @deadline: wait no longer; in the past (or 0): do not wait; NSEC_NEVER: no limit
 *
 * Returns after one batch of events, up to some milliseconds after the deadline, after loop_wake(),
 * or early without a reason. So the caller calls it in a loop of its own.
 * Return: 0, or ERR_IO (logged).
 */
int loop_run_once(struct loop *loop, nsec_t deadline) WARN_UNUSED;

/**
 * loop_poll_first - before each wait, busy-poll for up to @most while that pays
 * (daemon/loop_polling.h)
 *
 * With 0, which is also the default, the loop blocks at once.
 */
void loop_poll_first(struct loop *loop, nsec_t most);

struct event_base;

/** loop_base - the libevent base of @loop, for parts of libevent that are no watch
 * (daemon/resolver.c). */
struct event_base *loop_base(struct loop *loop);

/** loop_wake - make the loop_run_once() that is running, or the next one, return. */
void loop_wake(struct loop *loop);

/**
 * struct loop_signals - signals as events of a loop (signalfd)
 *
 * The signals stay blocked in all threads. Call loop_signals_init() before any other thread is
 * started: new threads inherit the mask.
 */
struct loop_signals {
	void (*caught)(struct loop_signals *signals, int signo); /* set by the caller */
	struct loop_watch watch;				 /* private from here on */
	struct loop *loop;
	int fd;
};

/** loop_signals_init - @signos: the signals, 0-terminated. Return: 0 or ERR_IO, ERR_NOMEM. */
int loop_signals_init(struct loop *loop, struct loop_signals *signals,
		      const int *signos) WARN_UNUSED;

/** loop_signals_fini - the signals stay blocked. */
void loop_signals_fini(struct loop_signals *signals);

#endif
