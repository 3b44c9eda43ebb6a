/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_IDLE_H
#define DAEMON_IDLE_H

#include "base/loop.h"
#include "daemon/inherit.h"

/**
 * idle - sockets of the service manager that no route listens on
 *
 * The manager keeps them open, so that the kernel takes connections for them, which nobody would ever answer. Those are
 * closed at once, by the main thread, while this process serves. While it does not, clients wait for the next one.
 */
struct idle_socket;

struct idle {
	struct loop *loop;	 /* borrowed */
	struct inherit *inherit; /* borrowed */
	struct idle_socket *all; /* owned; as many as inherit has */
	unsigned n;
	nsec_t again; /* what failed for want of descriptors is tried again */
};

/** idle_begin - from now on; inherit_add() is over. Return: 0 or ERR_NOMEM. */
int idle_begin(struct idle *idle, struct loop *loop, struct inherit *inherit) WARN_UNUSED;

/** idle_follow - routes came or went: a line of the log for each socket that has become idle. Nothing before idle_begin(). */
void idle_follow(struct idle *idle);

/** idle_tick - after each wake-up. Return: when it is due again. */
nsec_t idle_tick(struct idle *idle, nsec_t now);

/** idle_end - clients are turned away no more. Idempotent. */
void idle_end(struct idle *idle);

#endif
