/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_POLL_LOOP_H
#define TESTS_POLL_LOOP_H

#include "base/loop.h"

/**
 * poll_loop - the smallest struct loop, for tests and small tools. It uses epoll(7), so
 * edge-triggered watches behave as in the daemon.
 */
struct poll_loop {
	struct loop loop;
	int epoll_fd;
	struct loop_watch **pending; /* watches of the round that is being dispatched */
	int pending_count;
};

/** poll_loop_init - Return: 0 or ERR_IO. */
int poll_loop_init(struct poll_loop *p) WARN_UNUSED;

void poll_loop_fini(struct poll_loop *p);

/** poll_loop_step - wait up to @timeout_ms (-1: no limit), and call the ready watches. Return:
 * their number. */
int poll_loop_step(struct poll_loop *p, int timeout_ms);

/** poll_loop_now - CLOCK_MONOTONIC. */
nsec_t poll_loop_now(void);

/** poll_loop_timeout - a fabric's deadline as poll_loop_step()'s argument, at most @max_ms. */
int poll_loop_timeout(nsec_t deadline, int max_ms);

#endif
