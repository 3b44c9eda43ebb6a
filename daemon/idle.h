/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_IDLE_H
#define DAEMON_IDLE_H

#include "base/loop.h"
#include "daemon/inherit.h"

/**
 * idle - listening sockets of the service manager that no route uses
 *
 * The manager keeps these sockets open, so the kernel completes connections that nobody would
 * answer. While this process serves, the main thread resets such connections at once. While it does
 * not serve, clients wait for the next process.
 */
struct idle_socket;

struct idle {
	struct loop *loop;	 /* borrowed */
	struct inherit *inherit; /* borrowed */
	struct idle_socket *all; /* owned; as many as .inherit has */
	unsigned n;
	nsec_t again; /* when to try again after descriptors were short */
};

/** idle_begin - begin to reset connections; no inherit_add() may follow. Return: 0 or ERR_NOMEM. */
int idle_begin(struct idle *idle, struct loop *loop, struct inherit *inherit) WARN_UNUSED;

/** idle_follow - after routes were added or removed; logs each socket that has become unused. No
 * effect before idle_begin(). */
void idle_follow(struct idle *idle);

/** idle_tick - call after each wake-up. Return: when to call again. */
nsec_t idle_tick(struct idle *idle, nsec_t now);

/** idle_end - stop resetting connections. Idempotent. */
void idle_end(struct idle *idle);

#endif
