/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_LOOP_H
#define DAEMON_LOOP_H

#include <signal.h>

#include "base/loop.h"

/**
 * loop - the event loop of base/loop.h over libevent, one a thread
 *
 * A loop belongs to the thread that runs it; only loop_wake() may be called from
 * another one (and from a signal handler).
 */

/** loop_new - returns owned, or NULL when descriptors or memory are short (logged). */
struct loop *loop_new(void);

/** loop_free - takes @loop, which may be NULL; every watch must have been deleted (asserted). */
void loop_free(struct loop *loop);

/** loop_now - CLOCK_MONOTONIC, in nanoseconds. */
nsec_t loop_now(void);

/**
 * loop_run_once - wait for events and hand them to their watches
 * @deadline: wait no longer; in the past (or 0): look, do not wait; NSEC_NEVER: no limit
 *
 * Returns after one batch of events, at the deadline or some milliseconds after it,
 * after loop_wake(), or early for no reason: the caller is a loop of its own.
 * Return: 0, or ERR_IO (logged).
 */
int loop_run_once(struct loop *loop, nsec_t deadline) WARN_UNUSED;

/**
 * loop_look_first - before a wait, look for up to @most for what comes next, while that pays (daemon/loop_patience.h)
 *
 * Without, and with 0, it sleeps at once.
 */
void loop_look_first(struct loop *loop, nsec_t most);

struct event_base;

/** loop_base - libevent's own of it, for those parts of libevent that are no watch (daemon/resolver.c). */
struct event_base *loop_base(struct loop *loop);

/** loop_wake - make a loop_run_once() that is running, or else the next one, return. */
void loop_wake(struct loop *loop);

/**
 * struct loop_signals - signals as events of a loop (signalfd)
 *
 * They stay blocked for the process' threads: call loop_signals_init() before any
 * other thread is started, so that these inherit the mask.
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
