/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <stdint.h>

#include "base/err.h"

/**
 * The part of an event loop that a fabric needs, so that no fabric includes an event library:
 * daemon/loop.c implements it over libevent, tests over poll(2).
 *
 * An edge-triggered watch gets one call for each readiness and must read or write until EAGAIN. It
 * is added once for the whole life of a descriptor, so steady traffic costs no epoll_ctl(2).
 */
enum { LOOP_READ = 1, LOOP_WRITE = 2 };

struct loop_watch {
	/* Called from the loop, never from within add or del. */
	void (*ready)(struct loop_watch *watch, unsigned events);
	void *backend; /* the loop's own data */
};

struct loop;

struct loop_ops {
	/* Watch @fd for @events; @edge 1 edge-triggered, 0 level-triggered. */
	int (*add)(struct loop *loop, struct loop_watch *watch, int fd, unsigned events, int edge);
	/* No call of @watch follows. To be called before @fd is closed. */
	void (*del)(struct loop *loop, struct loop_watch *watch);
};

struct loop {
	const struct loop_ops *ops;
};

/* A time or a duration in nanoseconds; times are of a monotonic clock. NSEC_NEVER is later than any
 * time. */
typedef uint64_t nsec_t;
#define NSEC_NEVER UINT64_MAX
#define NSEC_PER_MS ((nsec_t)1000000)
#define NSEC_PER_SEC ((nsec_t)1000000000)

static inline nsec_t nsec_min(nsec_t a, nsec_t b)
{
	return a < b ? a : b;
}

#endif
